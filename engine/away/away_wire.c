/* SPDX-License-Identifier: MIT */
/*
 * The frames of one run: ORDER, FOLLOW of what grows, CANCEL once, and the files that tell its end. What
 * has come is written at once, so a follower that begins anew goes on where its files end. One thread.
 */
#include "away/away_inner.h"

#include "base/io.h"
#include "board/board.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* So long the node may take to answer what it can answer at once. */
#define WIRE_ANSWER_MS 30000
/* Behind so long a silence the node is asked whether it is there, and then given as long again. */
#define WIRE_SILENT_MS 15000

/* Of a stream that has begun. data NULL: none is expected. *ret: the REPLY. */
struct wire_answer {
	uint32_t stream;
	int (*data)(void *arg, struct rye_span bytes, struct rye_err *err);
	void *arg;
	json_t *reply; /* NULL: it has not come yet */
};

static int wire_fault(struct away *away, const struct conn_frame *frame, struct rye_err *err)
{
	away->faulted = true;
	return frame_fault_read(frame, err);
}

static int wire_step(struct away *away, struct wire_answer *answer, const struct conn_frame *frame,
		     struct rye_err *err)
{
	if (frame->type == FRAME_ERR)
		return wire_fault(away, frame, err);
	if (frame->type == FRAME_DATA)
		return answer->data ? answer->data(answer->arg, frame_span(frame), err) : 0;
	if (frame->type != FRAME_REPLY)
		return rye_fail(err, RYE_IO, "the answer has a frame of type %d, which is none",
				(int)frame->type);
	answer->reply = frame_json(frame, err);
	return answer->reply ? 0 : -(int)err->code;
}

int away_send(struct away *away, struct rye_err *err)
{
	const struct rye_span order = { away->envelope->data, away->envelope->len };
	struct wire_answer answer = { .stream = conn_stream(away->link.conn) };
	int64_t until = clock_ms() + WIRE_ANSWER_MS;
	int r = conn_send(away->link.conn, FRAME_ORDER, answer.stream, order, err);

	while (!r && !answer.reply) {
		auto_frame struct conn_frame frame = { 0 };

		r = conn_recv(away->link.conn, until, &frame, err);
		if (!r && (frame.stream == answer.stream || !frame.stream))
			r = wire_step(away, &answer, &frame, err);
	}
	if (r)
		return err->code == RYE_BUSY ? rye_wrap(err, "%s", away->remote.name) : r;
	json_decref(away->stands);
	away->stands = answer.reply;
	away->accepted = true;
	return 0;
}

bool away_over(const struct away *away)
{
	return board_is_over(json_str(away->stands, "state"));
}

/* ---- what grows ---- */

static int wire_live(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct away *away = arg;

	(void)err;
	if (!away->live)
		away_tell(away, "running");
	away->live += (int64_t)bytes.len;
	away->ask->live(away->ask->live_arg, bytes);
	return 0;
}

static int wire_story(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct away *away = arg;
	int r = io_write_all(away->transcript, bytes.ptr, bytes.len);

	if (!away->story && !away->live)
		away_tell(away, "running");
	if (r < 0)
		return rye_fail_sys(err, -r, "transcript.jsonl");
	away->story += (int64_t)bytes.len;
	return 0;
}

static int wire_follow(struct away *away, const char *file, int64_t offset, uint32_t *ret_stream,
		       struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s, s:s, s:I}", "run", away->id, "file", file,
					   "offset", (json_int_t)offset);

	*ret_stream = conn_stream(away->link.conn);
	return body ? conn_send_json(away->link.conn, FRAME_FOLLOW, *ret_stream, body, err) :
		      memory_fail(err);
}

/* Once. Its REPLY says how the run stands; that it is over already is no fault. */
static int wire_cancel(struct away *away, struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s}", "run", away->id);

	away->cancelled = true;
	return conn_send_json(away->link.conn, FRAME_CANCEL, conn_stream(away->link.conn), body,
			      err);
}

/* Nothing came for long: the other machine may have gone without a word. */
static int wire_silent(struct away *away, bool *asked, struct rye_err *err)
{
	if (*asked)
		return rye_fail(err, RYE_UNREACHABLE, "%s has not answered for %d s",
				away->remote.name, WIRE_SILENT_MS / 1000);
	*err = (struct rye_err){ 0 };
	*asked = true;
	return conn_send(away->link.conn, FRAME_PING, conn_stream(away->link.conn), SPAN(""), err);
}

static int wire_receive(struct away *away, struct wire_answer *answers, size_t n, bool *asked,
			struct rye_err *err)
{
	const struct conn_until until = { clock_ms() + WIRE_SILENT_MS, words_ears(away) };
	auto_frame struct conn_frame frame = { 0 };
	int r = conn_recv_also(away->link.conn, &until, &frame, err);

	if (r == -(int)RYE_TIMEOUT)
		return wire_silent(away, asked, err);
	if (r == -(int)RYE_INTERRUPTED) {
		*err = (struct rye_err){ 0 };
		return words_hear(away, err);
	}
	*asked = false;
	if (!r && words_frame(away, &frame, err))
		return 0;
	for (size_t i = 0; !r && i < n; i++)
		if (frame.stream == answers[i].stream)
			r = wire_step(away, &answers[i], &frame, err);
	if (!r && !frame.stream && frame.type == FRAME_ERR)
		r = wire_fault(away, &frame, err);
	return r;
}

/* What of a run is followed: a tool has the first alone. */
#define WIRE_FOLLOWED 3

static int wire_follow_all(struct away *away, struct wire_answer answers[WIRE_FOLLOWED], size_t n,
			   struct rye_err *err)
{
	int r = wire_follow(away, "live", away->live, &answers[0].stream, err);

	buf_clear(&away->news);
	if (!r && n > 1)
		r = wire_follow(away, "transcript.jsonl", away->story, &answers[1].stream, err);
	if (!r && n > 2)
		r = wire_follow(away, BOARD_NEWS, 0, &answers[2].stream, err);
	return r;
}

static size_t wire_ended(const struct wire_answer answers[WIRE_FOLLOWED], size_t n)
{
	size_t ended = 0;

	for (size_t i = 0; i < n; i++)
		ended += answers[i].reply != NULL;
	return ended;
}

int away_follow(struct away *away, struct rye_err *err)
{
	struct wire_answer answers[WIRE_FOLLOWED] = { { .data = wire_live, .arg = away },
						      { .data = wire_story, .arg = away },
						      { .data = away_news, .arg = away } };
	size_t n = away->transcript < 0 ? 1 : WIRE_FOLLOWED;
	bool asked = false;
	int r = wire_follow_all(away, answers, n, err);

	while (!r && wire_ended(answers, n) < n) {
		if (!away->cancelled && away_stopped(away))
			r = wire_cancel(away, err);
		if (!r)
			r = wire_receive(away, answers, n, &asked, err);
	}
	if (!r) {
		json_decref(away->stands);
		away->stands = json_incref(answers[0].reply);
	}
	for (size_t i = 0; i < n; i++)
		json_decref(answers[i].reply);
	return r;
}

/* ---- what is there at the end ---- */

static int wire_keep(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct rye_buf *text = arg;

	buf_add(text, bytes.ptr, bytes.len);
	return text->failed ? rye_fail(err, RYE_TOO_BIG, "a file of the run is too big") : 0;
}

int away_fetch(struct away *away, const char *name, struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *body =
		json_pack("{s:s, s:s, s:i}", "run", away->id, "file", name, "offset", 0);
	auto_json json_t *reply = NULL;
	const struct conn_ask ask = { .type = FRAME_FOLLOW,
				      .body = body,
				      .until = clock_ms() + WIRE_ANSWER_MS,
				      .data = wire_keep,
				      .arg = &text };
	int r = conn_ask(away->link.conn, &ask, &reply, err);

	if (r)
		return r;
	if (!text.len)
		return rye_fail(err, RYE_NOT_FOUND, "the run has no file %s", name);
	*ret = buf_blob(&text);
	return *ret ? 0 : memory_fail(err);
}
