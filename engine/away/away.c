/* SPDX-License-Identifier: MIT */
/*
 * A remote thread from its orders to its end. Before the node has the order a failure is the end; once it
 * has, a cut is not: the same order is sent again, and what came out meanwhile follows. What the thread was
 * asked to do there goes on without us.
 */
#include "away/away_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"
#include "thread/thread.h"

#include <poll.h>

/* Between two tries to connect again, at first and at most. */
#define AWAY_AGAIN_MS 500
#define AWAY_AGAIN_MAX_MS 30000

bool away_stopped(const struct away *away)
{
	struct pollfd stop = { .fd = away->ask->stop, .events = POLLIN };

	return poll(&stop, 1, 0) > 0;
}

static void put_withheld(const struct away *away, struct rye_buf *line)
{
	json_t *name;
	size_t i;

	json_array_foreach(away->withheld, i, name)
		buf_addf(line, "%s%s",
			 i ? ", " : "; asked for and not sent: ", json_string_value(name));
	if (json_array_size(away->withheld))
		buf_adds(line, ": what may be sent there is listed under secrets: in "
			       "config/remotes/remotes.yaml");
}

void away_tell(const struct away *away, const char *state)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	char now[40];

	clock_iso_us(now);
	buf_addf(&line, "%s %s, heard %s", away->remote.name, state, now);
	put_withheld(away, &line);
	buf_addc(&line, '\n');
	/* of this moment: one that is lost with the machine's power is told again by the next */
	if (!line.failed)
		io_remember_at(away->ask->dir, REMOTE_FILE,
			       (struct rye_span){ line.data, line.len }, 0600);
}

static int away_connect(struct away *away, struct rye_err *err)
{
	remote_link_done(&away->link);
	return remote_open_push(away->items, &away->remote, &away->link, err);
}

/* Until the run is over there, or the connection is cut. */
static int away_go(struct away *away, struct away_end *ret, struct rye_err *err)
{
	int r = away->link.conn ? 0 : away_connect(away, err);

	away->cancelled = false; /* an earlier connection may have lost it */
	away->faulted = false;
	if (!r)
		r = away_send(away, err);
	if (r)
		return r;
	away_tell(away, json_str(away->stands, "state"));
	if (!away_over(away))
		r = away_follow(away, err);
	if (!r && !away_over(away))
		r = away_send(away, err); /* the same again: how it stands now */
	if (!r)
		away_tell(away, json_str(away->stands, "state"));
	return r ? r : away_take(away, ret, err);
}

/*
 * A connection that is no more is worth another try, and so is a node whose database does not answer now, or that wants
 * to greet anew, since its entry of us has changed: what it was asked is on the board, or is asked again under the same
 * id.
 */
bool away_is_cut(const struct away *away, const struct rye_err *err)
{
	return away->accepted && (err->code == RYE_UNREACHABLE || err->code == RYE_TIMEOUT ||
				  err->code == RYE_BUSY || (away->faulted && err->code == RYE_IO));
}

/* False: it is to end. What is said meanwhile is answered. */
static bool away_pause(struct away *away, int64_t ms)
{
	int64_t end = clock_ms() + ms;

	while (!away_stopped(away) && clock_ms() < end) {
		struct pollfd ears = { .fd = words_ears(away), .events = POLLIN };

		if (poll(&ears, 1, (int)(end - clock_ms())) > 0)
			words_hear(away, NULL);
	}
	return !away_stopped(away);
}

static int away_carry_out(struct away *away, struct away_end *ret, struct rye_err *err)
{
	int64_t pause = AWAY_AGAIN_MS;
	int r = away_open(away, err);

	if (!r)
		r = words_open(away, err);
	/* one that is taken up is asked for until it can be reached */
	if (!r && !away->again)
		r = away_connect(away, err);
	if (!r)
		r = away_order(away, err);
	if (!r && !away->again)
		r = away_note(away, err);
	if (r)
		return r;
	for (;;) {
		r = away_go(away, ret, err);
		if (!r || !away_is_cut(away, err))
			break;
		away_tell(away, "cannot be reached");
		if (away->link.conn && !away->faulted)
			pause = AWAY_AGAIN_MS; /* it was there: this is a new cut */
		words_cut(away,
			  "the connection was cut before it was answered: it may have been heard");
		remote_link_done(&away->link);
		/* told to end while it cannot be told: it is left as it is there */
		if (!away_pause(away, pause))
			break;
		pause = pause * 2 < AWAY_AGAIN_MAX_MS ? pause * 2 : AWAY_AGAIN_MAX_MS;
		*err = (struct rye_err){ 0 };
	}
	if (r && !away->accepted)
		away_order_drop(away);
	return r;
}

static void away_failed(const struct away *away, const struct rye_err *err, struct away_end *ret)
{
	/* what is refused names what mends it, and nothing may stand behind that */
	bool unsent = !away->accepted && err->code == RYE_UNREACHABLE;
	auto_json json_t *doc = json_object();

	json_sets(doc, "status", "error");
	json_sets(doc, "code", rye_code_name(err->code));
	json_set(doc, "error",
		 json_sprintf("%s%s", err->msg, unsent ? "; the order was not sent" : ""));
	ret->outcome.code = err->code;
	rye_blob_unref(ret->outcome.reply);
	ret->outcome.reply = json_blob(doc, false);
	snprintf(ret->status, sizeof(ret->status), "error");
}

void away_run(const struct away_ask *ask, struct away_end *ret)
{
	struct away away = { .ask = ask,
			     .id = json_str(ask->doc, "thread_id"),
			     .request = json_object_get(ask->doc, "request"),
			     .transcript = -1 };
	struct rye_err err = { 0 };

	*ret = (struct away_end){ .status = "" };
	if (away_carry_out(&away, ret, &err)) {
		away.open = away.accepted;
		if (*away.remote.name)
			away_tell(&away, away.open ? "is no longer followed" : "was not sent it");
		if (away.open)
			remote_lost_note(away.items, away.remote.name, &away.order, NULL);
		away_failed(&away, &err, ret);
	}
	if (!strcmp(ret->status, "continued")) {
		away.handed = !away_hand_over(&away, &err);
		if (!away.handed)
			away_failed(&away, &err, ret);
	}
	if (!away.open)
		money_settle(&away, ret->status);
	words_close(&away);
	away_close(&away);
}
