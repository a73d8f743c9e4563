/* SPDX-License-Identifier: MIT */
/*
 * Where the events of a stream go besides the listener: a file of the project, a WebSocket, nowhere.
 * A sink that fails says so in its row and gets no more; the stream and the others go on. Of one
 * run, on its worker; no lock.
 */
#include "http/http_inner.h"

#include "base/io.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Bytes that one stream writes to a file. */
#define SINK_FILE_MAX (1ull << 30)

struct sink {
	const struct sink_plan *plan;
	int fd; /* -1: no file, or none any more */
	struct websocket *ws;
	struct rye_buf waiting; /* lines that are not written yet */
	unsigned lines;
	uint64_t events, bytes;
	struct rye_err err;
};

struct sinks {
	struct http *http;
	struct sinks_ask ask;
	size_t n;
	struct sink v[];
};

static int sink_dial(struct sinks *sinks, struct sink *sink, struct rye_err *err)
{
	const struct upgrade_ask ask = { sink->plan->target, sinks->ask.ca_file,
					 sinks->ask.until_ms, sinks->ask.cancel,
					 sink->plan->strange };

	return websocket_open(sinks->http, &ask, &sink->ws, err);
}

static int sink_open(struct sinks *sinks, struct sink *sink, struct rye_err *err)
{
	auto_close int root = -1;

	if (sink->plan->type == SINK_WEBSOCKET)
		return sink_dial(sinks, sink, err);
	if (sink->plan->type != SINK_FILE)
		return 0;
	root = open(sinks->ask.project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sink->fd = root < 0 ? -errno : io_append_beneath(root, sink->plan->target);
	return sink->fd >= 0 ? 0 : rye_fail_sys(err, -sink->fd, "sinks: %s", sink->plan->target);
}

int sinks_open(struct http *http, const struct sinks_ask *ask, struct sinks **ret,
	       struct rye_err *err)
{
	struct sinks *sinks = calloc(1, sizeof(*sinks) + ask->n * sizeof(sinks->v[0]));
	int r = 0;

	if (!sinks)
		return rye_fail(err, RYE_IO, "sinks: out of memory");
	sinks->http = http;
	sinks->ask = *ask;
	sinks->n = ask->n;
	for (size_t i = 0; i < ask->n; i++)
		sinks->v[i] =
			(struct sink){ .plan = &ask->plans[i], .fd = -1, .waiting = RYE_BUF_INIT };
	for (size_t i = 0; !r && i < ask->n; i++)
		r = sink_open(sinks, &sinks->v[i], err);
	if (r)
		json_decref(sinks_close(sinks));
	else
		*ret = sinks;
	return r;
}

/* ---- files ---- */

static void sink_flush(struct sink *sink)
{
	int r = sink->waiting.failed ? -ENOMEM : 0;

	if (!r && sink->waiting.len)
		r = io_write_all(sink->fd, sink->waiting.data, sink->waiting.len);
	if (r)
		rye_fail_sys(&sink->err, -r, "%s", sink->plan->target);
	sink->bytes += sink->waiting.len;
	sink->lines = 0;
	buf_clear(&sink->waiting);
}

/* One line for an event: JSON as it is, if that is one line; any other text as a JSON string. */
static void add_line(struct rye_buf *out, struct rye_span data, bool raw)
{
	auto_json json_t *doc = NULL;
	bool spread = memchr(data.ptr, '\n', data.len);

	if (!raw)
		doc = json_loadb(data.ptr, data.len, JSON_DECODE_ANY, NULL);
	if (raw || (doc && !spread)) {
		buf_addspan(out, data);
	} else {
		if (!doc)
			doc = json_stringn(data.ptr, data.len);
		if (doc)
			json_put(out, doc, false);
	}
	buf_addc(out, '\n');
}

static void sink_put_file(struct sink *sink, struct rye_span data)
{
	add_line(&sink->waiting, data, sink->plan->raw);
	if (sink->bytes + sink->waiting.len > SINK_FILE_MAX)
		rye_fail(&sink->err, RYE_TOO_BIG, "%s: more than %llu bytes", sink->plan->target,
			 SINK_FILE_MAX);
	else if (++sink->lines >= sink->plan->flush_every)
		sink_flush(sink);
}

/* ---- WebSockets ---- */

/* A connection that broke is made again, and the event sent over the new one. */
static void sink_put_websocket(struct sinks *sinks, struct sink *sink, struct rye_span data)
{
	for (unsigned i = 0; i <= sink->plan->attempts; i++) {
		sink->err = (struct rye_err){ 0 };
		if (!sink->ws && sink_dial(sinks, sink, &sink->err)) {
			if (sink->err.code != RYE_TOOL_FAILED)
				return;
			continue;
		}
		if (!websocket_send(sink->ws, data, &sink->err)) {
			sink->bytes += data.len;
			return;
		}
		websocket_close(steal(&sink->ws));
		if (sink->err.code != RYE_TOOL_FAILED)
			return;
	}
}

void sinks_put(struct sinks *sinks, struct rye_span data)
{
	for (size_t i = 0; sinks && i < sinks->n; i++) {
		struct sink *sink = &sinks->v[i];

		if (sink->err.code)
			continue;
		if (sink->plan->type == SINK_FILE)
			sink_put_file(sink, data);
		else if (sink->plan->type == SINK_WEBSOCKET)
			sink_put_websocket(sinks, sink, data);
		sink->events += !sink->err.code;
	}
}

/* ---- the end ---- */

static json_t *sink_row(const struct sink *sink)
{
	static const char *const names[] = {
		[SINK_RETURN] = "return",
		[SINK_NULL] = "null",
		[SINK_FILE] = "file",
		[SINK_WEBSOCKET] = "websocket",
	};
	json_t *row = json_object();

	json_sets(row, "type", names[sink->plan->type]);
	json_set(row, "events", json_integer((json_int_t)sink->events));
	if (sink->plan->type == SINK_FILE)
		json_sets(row, "path", sink->plan->target);
	if (sink->plan->target)
		json_set(row, "bytes", json_integer((json_int_t)sink->bytes));
	if (sink->err.code)
		json_sets(row, "error", sink->err.msg);
	return row;
}

json_t *sinks_close(struct sinks *sinks)
{
	json_t *rows = json_array();

	for (size_t i = 0; sinks && i < sinks->n; i++) {
		struct sink *sink = &sinks->v[i];

		if (sink->fd >= 0 && !sink->err.code)
			sink_flush(sink);
		if (sink->fd >= 0)
			close(sink->fd);
		websocket_close(sink->ws);
		json_array_append_new(rows, sink_row(sink));
		buf_done(&sink->waiting);
	}
	free(sinks);
	return rows;
}
