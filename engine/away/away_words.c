/* SPDX-License-Identifier: MIT */
/*
 * What is said to a remote thread here: the runner listens as that of a model does, sends each word on as a
 * WORD, and tells its speaker what the run's own runner has answered there: that is a line of the file
 * BOARD_ANSWERS, which is followed once something was said. Without a connection a word is refused, never kept:
 * the process that said it may do something else. One thread.
 */
#include "away/away_inner.h"

#include "board/board.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"
#include "str.h"
#include "thread/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORDS_LINE 4096 /* of one, as a model's runner takes it */
#define WORDS_PEERS 16
/* Answers are kept for words whose number is not known yet. */
#define WORDS_ANSWERS 64

/* A process that has said something, or is about to. */
struct word_peer {
	int fd; /* -1: the place is free */
	uint32_t stream; /* of its WORD; 0: none yet */
	int64_t word; /* its number there; 0: not known yet */
};

struct away_words {
	int ears; /* epoll: the listener, those that have connected, the thread's stop */
	int listen;
	char path[108];
	struct word_peer peers[WORDS_PEERS];
	uint32_t stream; /* of BOARD_ANSWERS; 0: it is not followed */
	struct rye_buf line; /* what has come of the next answer */
	json_t *answers; /* {"n": sentence}, of words whose speaker is not known yet */
};

static bool ears_add(const struct away_words *words, int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(words->ears, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Of what epoll tells: a place among the peers, or one of these. */
enum { EAR_LISTEN = WORDS_PEERS, EAR_STOP };

int words_open(struct away *away, struct rye_err *err)
{
	struct away_words *words = memory_note(calloc(1, sizeof(*words)));
	const json_t *options = json_object_get(away->ask->doc, "options");

	if (!words)
		return memory_fail(err);
	away->words = words;
	for (size_t i = 0; i < WORDS_PEERS; i++)
		words->peers[i].fd = -1;
	words->answers = json_object();
	words->ears = epoll_create1(EPOLL_CLOEXEC);
	words->listen = threads_hear(json_str(options, "project"), away->id, words->path, err);
	if (words->listen < 0)
		return words->listen;
	if (words->ears < 0 || !ears_add(words, words->listen, EAR_LISTEN) ||
	    !ears_add(words, away->ask->stop, EAR_STOP))
		return rye_fail_sys(err, errno, "cannot listen");
	return 0;
}

static void peer_answer(struct word_peer *peer, const char *sentence)
{
	(void)!send(peer->fd, sentence, strlen(sentence), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(peer->fd);
	*peer = (struct word_peer){ .fd = -1 };
}

void words_cut(struct away *away, const char *why)
{
	struct away_words *words = away->words;

	if (!words)
		return;
	for (size_t i = 0; i < WORDS_PEERS; i++)
		if (words->peers[i].stream)
			peer_answer(&words->peers[i], why);
	words->stream = 0;
	buf_clear(&words->line);
	json_object_clear(words->answers);
}

void words_close(struct away *away)
{
	struct away_words *words = away->words;

	if (!words)
		return;
	for (size_t i = 0; i < WORDS_PEERS; i++)
		if (words->peers[i].fd >= 0)
			peer_answer(&words->peers[i], "the thread ends: it has no turn any more");
	if (words->listen >= 0) {
		unlink(words->path);
		close(words->listen);
	}
	auto_close_(&words->ears);
	buf_done(&words->line);
	json_decref(words->answers);
	free(words);
	away->words = NULL;
}

int words_ears(const struct away *away)
{
	return away->words->ears;
}

/* ---- a word on its way ---- */

static int words_follow(struct away *away, struct rye_err *err)
{
	struct away_words *words = away->words;
	auto_json json_t *body =
		json_pack("{s:s, s:s, s:i}", "run", away->id, "file", BOARD_ANSWERS, "offset", 0);

	if (words->stream)
		return 0;
	words->stream = conn_stream(away->link.conn);
	return conn_send_json(away->link.conn, FRAME_FOLLOW, words->stream, body, err);
}

/* A killed one is to end also where no worker has it yet. */
static int word_kill(struct away *away, struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s}", "run", away->id);

	return conn_send_json(away->link.conn, FRAME_CANCEL, conn_stream(away->link.conn), body,
			      err);
}

static int word_send(struct away *away, struct word_peer *peer, struct rye_span text,
		     struct rye_err *err)
{
	auto_json json_t *body =
		json_pack("{s:s, s:s%}", "run", away->id, "text", text.ptr, text.len);
	int r;

	if (!body) {
		peer_answer(peer, "it is no UTF-8");
		return 0;
	}
	r = words_follow(away, err);
	if (r)
		return r;
	peer->stream = conn_stream(away->link.conn);
	r = conn_send_json(away->link.conn, FRAME_WORD, peer->stream, body, err);
	if (r || !span_eq(text, "kill"))
		return r;
	peer_answer(peer, "ok");
	return word_kill(away, err);
}

/* More money is held here first. True: there is not as much, and the speaker was told so. */
static bool word_costs(struct away *away, struct word_peer *peer, const char *text, size_t n)
{
	static const char spend[] = "limit spend=";
	char value[32] = "";
	struct rye_err err = { 0 };

	if (n <= sizeof(spend) || strncmp(text, spend, sizeof(spend) - 1) != 0)
		return false;
	n -= sizeof(spend) - 1;
	memcpy(value, text + sizeof(spend) - 1, MIN_OF(n, sizeof(value) - 1));
	if (!money_change(away, strtod(value, NULL), &err))
		return false;
	peer_answer(peer, err.msg);
	return true;
}

static int word_take(struct away *away, struct word_peer *peer, struct rye_err *err)
{
	auto_buf struct rye_buf why = RYE_BUF_INIT;
	char line[WORDS_LINE];
	ssize_t n = recv(peer->fd, line, sizeof(line), MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0 || peer->stream) {
		close(peer->fd); /* it has gone, or says more than one thing */
		*peer = (struct word_peer){ .fd = -1 };
		return 0;
	}
	if ((size_t)n > sizeof(line)) {
		peer_answer(peer, "at most 4096 bytes can be said at once");
		return 0;
	}
	if (away->link.conn && away->accepted && word_costs(away, peer, line, (size_t)n))
		return 0;
	if (away->link.conn && away->accepted)
		return word_send(away, peer, span_trim((struct rye_span){ line, (size_t)n }), err);
	buf_addf(&why,
		 "%s cannot be reached now: say it again once it can; " MEND_WITH
		 "ryefs remote status %s",
		 away->remote.name, away->remote.name);
	peer_answer(peer, why.failed ? "it cannot be reached" : why.data);
	return 0;
}

static void words_accept(struct away_words *words)
{
	int fd = accept4(words->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t i = 0;

	while (i < WORDS_PEERS && words->peers[i].fd >= 0)
		i++;
	if (fd < 0)
		return;
	if (i == WORDS_PEERS || !peer_own(fd) || !ears_add(words, fd, i)) {
		close(fd);
		return;
	}
	words->peers[i].fd = fd;
}

int words_hear(struct away *away, struct rye_err *err)
{
	struct away_words *words = away->words;
	struct epoll_event events[WORDS_PEERS];
	int n = epoll_wait(words->ears, events, WORDS_PEERS, 0), r = 0;

	for (int i = 0; i < n && !r; i++) {
		uint64_t what = events[i].data.u64;

		if (what == EAR_STOP)
			epoll_ctl(words->ears, EPOLL_CTL_DEL, away->ask->stop, NULL);
		else if (what == EAR_LISTEN)
			words_accept(words);
		else if (words->peers[what].fd >= 0)
			r = word_take(away, &words->peers[what], err);
	}
	return r;
}

/* ---- answers ---- */

/* The word is known, and so is what became of it. */
static void words_match(struct away_words *words)
{
	for (size_t i = 0; i < WORDS_PEERS; i++) {
		struct word_peer *peer = &words->peers[i];
		char n[24];
		const json_t *answer;

		snprintf(n, sizeof(n), "%lld", (long long)peer->word);
		answer = peer->word ? json_object_get(words->answers, n) : NULL;
		if (answer)
			peer_answer(peer,
				    *json_string_value(answer) ? json_string_value(answer) : "ok");
	}
}

static void words_line(struct away_words *words, struct rye_span line)
{
	auto_json json_t *doc = json_parse(line, 0, BOARD_ANSWERS, NULL);
	char n[24];

	snprintf(n, sizeof(n), "%lld", (long long)json_int(doc, "word", 0));
	if (json_object_size(words->answers) >= WORDS_ANSWERS)
		json_object_clear(words->answers); /* said over other connections */
	json_sets(words->answers, n, json_str(doc, "error"));
}

static void words_told(struct away_words *words, struct rye_span bytes)
{
	const char *end;

	buf_add(&words->line, bytes.ptr, bytes.len);
	while (words->line.len && (end = memchr(words->line.data, '\n', words->line.len))) {
		size_t len = (size_t)(end - words->line.data);

		words_line(words, (struct rye_span){ words->line.data, len });
		memmove(words->line.data, end + 1, words->line.len - len - 1);
		words->line.len -= len + 1;
	}
}

static void word_sent(struct word_peer *peer, const struct conn_frame *frame)
{
	struct rye_err why = { 0 };
	auto_json json_t *doc = frame->type == FRAME_ERR ? NULL : frame_json(frame, &why);

	if (frame->type == FRAME_ERR)
		frame_fault_read(frame, &why);
	peer->word = json_int(doc, "word", 0);
	if (!peer->word)
		peer_answer(peer, *why.msg ? why.msg : "the node did not take it");
}

int words_frame(struct away *away, const struct conn_frame *frame, struct rye_err *err)
{
	struct away_words *words = away->words;
	bool ours = words->stream && frame->stream == words->stream;

	(void)err;
	if (ours && frame->type == FRAME_DATA)
		words_told(words, frame_span(frame));
	for (size_t i = 0; i < WORDS_PEERS; i++) {
		struct word_peer *peer = &words->peers[i];

		if (peer->fd < 0 || !peer->stream || peer->stream != frame->stream)
			continue;
		ours = true;
		word_sent(peer, frame);
	}
	if (ours)
		words_match(words);
	return ours;
}
