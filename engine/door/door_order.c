/* SPDX-License-Identifier: MIT */
/*
 * ORDER, WORD, CANCEL, LIST: a principal's runs on the board. The door looks at an order's signature, so that
 * no stranger's lies there; its worker does so again, by itself. On the door's thread.
 */
#include "door/door_inner.h"

#include "clock.h"
#include "memory.h"
#include "order/order.h"
#include "pack/pack.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <time.h>

/* Of what is said to a run at once. */
#define WORD_MAX (64u << 10)

int session_board(struct door_session *session, struct rye_err *err)
{
	return session->board ? 0 : node_board(session->node, &session->board, err);
}

static void run_time(json_t *into, const char *name, int64_t ms)
{
	char text[40];

	if (!ms)
		return;
	clock_iso_at(ms * 1000, text);
	json_sets(into, name, text);
}

static void run_text(json_t *into, const char *name, const struct rye_blob *text)
{
	if (text)
		json_set(into, name, json_stringn(text->data, text->len));
}

json_t *run_json(const struct board_run *run)
{
	json_t *doc = json_object();

	json_sets(doc, "id", run->id);
	json_sets(doc, "state", run->state);
	json_set(doc, "gen", json_integer(run->gen));
	json_set(doc, "cancel", json_boolean(run->cancel));
	if (*run->worker)
		json_sets(doc, "worker", run->worker);
	run_time(doc, "made", run->made);
	run_time(doc, "heard", run->heard);
	run_time(doc, "ended", run->ended);
	run_text(doc, "receipt", run->receipt);
	run_text(doc, "late", run->late);
	return doc;
}

/* The REPLY of each: the run as it stands now. */
static int reply_run(struct door_session *session, uint32_t stream, const char *id,
		     struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	struct board_run run;
	int r = board_find(session->board, session->who.key.fp, id, &run, err);

	if (r)
		return r;
	doc = run_json(&run);
	if (!board_is_over(run.state))
		door_worker(session->node);
	board_run_done(&run);
	return session_reply(session, stream, doc, err);
}

/* ---- ORDER ---- */

static int order_ours(struct door_session *session, const struct order *order, struct rye_err *err)
{
	const struct order_want want = { .key = session->who.key.bytes,
					 .node = session->node->card.sign.fp,
					 .now = (int64_t)time(NULL) };

	if (strcmp(order->asker, session->who.key.fp) != 0)
		return rye_fail(err, RYE_DENIED, "the order is of the key %s, and yours is %s",
				order->asker, session->who.key.fp);
	return order_check(order, &want, err);
}

/* What is sealed is a column of its own, which is emptied when the run is over. */
static int order_submit(struct door_session *session, const struct order *order,
			struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *envelope = json_copy(order->envelope);
	auto_buf struct rye_buf body = RYE_BUF_INIT, labels = RYE_BUF_INIT;
	struct board_order row = { .id = order->id,
				   .principal = session->who.key.fp,
				   .sha = order->sha,
				   .sealed = order->sealed,
				   .manifest = order->manifest,
				   .again = order->again,
				   .queued = session->who.queued,
				   .jobs = session->who.jobs };
	struct board_run run;
	struct depot *depot;
	int r;

	json_object_del(envelope, "sealed");
	json_canonical(&body, envelope);
	if (order->labels)
		json_canonical(&labels, order->labels);
	else
		buf_adds(&labels, "[]");
	if (body.failed || labels.failed || memory_check(since, err))
		return memory_fail(err);
	row.body = body.data;
	row.labels = labels.data;
	r = *order->manifest ? session_depot(session, &depot, err) : 0;
	/* a collection of garbage that has begun before sees it, too */
	if (!r && *order->manifest)
		r = depot_touch(depot, session->who.key.fp, order->manifest, err);
	return r ? r : board_submit(session->board, &row, &run, err);
}

int door_order(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_order struct order order = { .made = 0 };
	int r = order_read(frame_span(frame), &order, err);

	if (!r)
		r = order_ours(session, &order, err);
	if (!r)
		r = session_board(session, err);
	if (!r)
		r = order_submit(session, &order, err);
	return r ? r : reply_run(session, frame->stream, order.id, err);
}

/* ---- words ---- */

int frame_run(const struct conn_frame *frame, json_t **ret, struct rye_err *err)
{
	json_t *doc = frame_json(frame, err);

	if (!doc)
		return -(int)err->code;
	if (!id_is_uuid(json_str(doc, "run"))) {
		json_decref(doc);
		return rye_fail(err, RYE_INVALID, "\"run\" is to be the id of a run");
	}
	*ret = doc;
	return 0;
}

int door_word(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = NULL, *reply = NULL;
	const char *text;
	int64_t n = 0;
	int r = frame_run(frame, &doc, err);

	if (r)
		return r;
	text = json_str(doc, "text");
	if (!*text || strlen(text) > WORD_MAX)
		return rye_fail(err, RYE_INVALID, "\"text\" is to be of 1 to %u bytes", WORD_MAX);
	r = session_board(session, err);
	if (!r)
		r = board_say(session->board, session->who.key.fp, json_str(doc, "run"), text, &n,
			      err);
	if (r)
		return r;
	door_worker(session->node);
	reply = json_pack("{s:I}", "word", (json_int_t)n);
	return session_reply(session, frame->stream, reply, err);
}

int door_cancel(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	struct board_run run;
	int r = frame_run(frame, &doc, err);

	if (!r)
		r = session_board(session, err);
	if (!r)
		r = board_cancel(session->board, session->who.key.fp, json_str(doc, "run"), &run,
				 err);
	return r ? r : reply_run(session, frame->stream, json_str(doc, "run"), err);
}

/* ---- LIST ---- */

static int list_one(void *arg, const struct board_run *run)
{
	json_t *runs = arg;

	return json_array_append_new(runs, run_json(run));
}

/* Of one of them the order itself. */
static int list_order(struct door_session *session, const char *id, json_t *reply,
		      struct rye_err *err)
{
	auto_buf struct rye_buf body = RYE_BUF_INIT;
	int r = board_body(session->board, session->who.key.fp, id, &body, err);

	if (r)
		return r;
	return json_set(reply, "order", json_stringn(body.data, body.len)) ? 0 : memory_fail(err);
}

int door_list(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = frame_json(frame, err), *reply = json_object();
	json_t *runs = json_array();
	int r;

	if (!json_set(reply, "runs", runs))
		return memory_fail(err);
	if (!doc)
		return -(int)err->code;
	r = session_board(session, err);
	if (!r && *json_str(doc, "run"))
		r = list_order(session, json_str(doc, "run"), reply, err);
	else if (!r)
		r = board_list(session->board, session->who.key.fp, json_int(doc, "before", 0),
			       list_one, runs, err);
	return r ? r : session_reply(session, frame->stream, reply, err);
}
