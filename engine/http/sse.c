/* SPDX-License-Identifier: MIT */
/*
 * The reader of event streams, by the rules of the HTML standard ("Server-sent events"). Pure;
 * fuzzed (fuzz_sse): however the bytes are cut, the events are the same.
 */
#include "http/http.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

static void tell_event(struct sse *sse, sse_fn fn, void *arg)
{
	if (sse->has_data) {
		const struct sse_event event = {
			.type = sse->type.len ? sse->type.data : "",
			.id = sse->id.len ? sse->id.data : "",
			.data = { sse->data.data ? sse->data.data : "", sse->data.len },
		};

		fn(arg, &event);
	}
	buf_clear(&sse->data);
	buf_clear(&sse->type);
	sse->has_data = false;
}

static void set_text(struct rye_buf *buf, struct rye_span value)
{
	buf_clear(buf);
	buf_addspan(buf, value);
}

/* Digits alone; what no int64 of milliseconds holds is not said. */
static void set_retry(struct sse *sse, struct rye_span value)
{
	int64_t ms = 0;

	if (!value.len || value.len > 12)
		return;
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return;
		ms = ms * 10 + (value.ptr[i] - '0');
	}
	sse->retry_ms = ms;
}

static void take_field(struct sse *sse, struct rye_span name, struct rye_span value)
{
	if (span_eq(name, "data")) {
		if (sse->has_data)
			buf_addc(&sse->data, '\n');
		buf_addspan(&sse->data, value);
		sse->has_data = true;
	} else if (span_eq(name, "event")) {
		set_text(&sse->type, value);
	} else if (span_eq(name, "id")) {
		if (!memchr(value.ptr, 0, value.len))
			set_text(&sse->id, value);
	} else if (span_eq(name, "retry")) {
		set_retry(sse, value);
	}
}

static void take_line(struct sse *sse, struct rye_span line, sse_fn fn, void *arg)
{
	ssize_t colon;
	struct rye_span value;

	if (!sse->begun && span_starts(line, "\xef\xbb\xbf"))
		line = span_skip(line, 3);
	sse->begun = true;
	if (!line.len) {
		tell_event(sse, fn, arg);
		return;
	}
	colon = span_find(line, 0, ":");
	if (colon < 0) {
		take_field(sse, line, SPAN(""));
		return;
	}
	value = span_skip(line, (size_t)colon + 1);
	if (value.len && value.ptr[0] == ' ')
		value = span_skip(value, 1);
	take_field(sse, (struct rye_span){ line.ptr, (size_t)colon }, value);
}

static void end_line(struct sse *sse, sse_fn fn, void *arg)
{
	take_line(sse, (struct rye_span){ sse->line.data ? sse->line.data : "", sse->line.len }, fn,
		  arg);
	buf_clear(&sse->line);
}

bool sse_feed(struct sse *sse, struct rye_span bytes, sse_fn fn, void *arg)
{
	while (bytes.len && !sse->too_big) {
		size_t plain = 0;

		if (sse->after_cr && bytes.ptr[0] == '\n')
			bytes = span_skip(bytes, 1);
		sse->after_cr = false;
		while (plain < bytes.len && bytes.ptr[plain] != '\r' && bytes.ptr[plain] != '\n')
			plain++;
		buf_add(&sse->line, bytes.ptr, plain);
		sse->too_big = sse->line.len + sse->data.len > RYE_SSE_EVENT_MAX ||
			       sse->line.failed || sse->data.failed;
		if (sse->too_big || plain == bytes.len)
			break;
		sse->after_cr = bytes.ptr[plain] == '\r';
		bytes = span_skip(bytes, plain + 1);
		end_line(sse, fn, arg);
	}
	return !sse->too_big;
}

void sse_end(struct sse *sse, sse_fn fn, void *arg)
{
	if (sse->too_big)
		return;
	if (sse->line.len)
		end_line(sse, fn, arg);
	tell_event(sse, fn, arg);
}

void sse_done(struct sse *sse)
{
	buf_done(&sse->line);
	buf_done(&sse->data);
	buf_done(&sse->type);
	buf_done(&sse->id);
}
