/* SPDX-License-Identifier: MIT */
/* Event streams: each case at every split of its bytes. */
#include "http/http.h"
#include "rye_test.h"
#include "str.h"

static void note(void *arg, const struct sse_event *event)
{
	buf_addf(arg, "%s/%s/", event->type, event->id);
	buf_addspan(arg, event->data);
	buf_addc(arg, ';');
}

static void wants_at_every_split(const char *stream, const char *wanted)
{
	struct rye_span all = span_of(stream);

	for (size_t cut = 0; cut <= all.len; cut++) {
		auto_buf struct rye_buf got = RYE_BUF_INIT;
		struct sse sse = SSE_INIT;

		buf_adds(&got, "");
		assert_true(sse_feed(&sse, (struct rye_span){ all.ptr, cut }, note, &got));
		assert_true(sse_feed(&sse, span_skip(all, cut), note, &got));
		sse_end(&sse, note, &got);
		assert_string_equal(got.data, wanted);
		sse_done(&sse);
	}
}

static void MCP15_line_ends_and_lines_of_data(void **state)
{
	(void)state;
	wants_at_every_split("data: a\n\ndata:b\r\n\r\ndata: c\r\r", "//a;//b;//c;");
	wants_at_every_split("data: a\ndata\ndata:  b\n\n", "//a\n\n b;");
	wants_at_every_split("data: {\r\ndata: \"a\": 1\r\ndata: }\r\n\r\n", "//{\n\"a\": 1\n};");
	wants_at_every_split("event: e\nid: 7\nother: x\ndata: a\n\ndata: b\n\n", "e/7/a;/7/b;");
	wants_at_every_split("\xef\xbb\xbf"
			     "data: a\n\n",
			     "//a;");
	wants_at_every_split("data:\n\n", "//;");
}

static void MCP16_comments_and_no_last_blank_line(void **state)
{
	(void)state;
	wants_at_every_split(": comment\n\nevent: e\n\ndata: a\n\n", "//a;");
	wants_at_every_split(":\r\n:data: no\r\n\r\ndata: a\r\n: in between\r\ndata: b\r\n\r\n",
			     "//a\nb;");
	wants_at_every_split("data: a\n\ndata: b", "//a;//b;");
	wants_at_every_split("data: a\n", "//a;");
	wants_at_every_split("id: 1\n", "");
}

static void retry_is_a_number(void **state)
{
	static const struct {
		const char *line;
		int64_t ms;
	} rows[] = { { "retry: 10\n", 10 },
		     { "retry: 1x\n", -1 },
		     { "retry:\n", -1 },
		     { "retry: 99999999999999999999\n", -1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sse sse = SSE_INIT;
		auto_buf struct rye_buf got = RYE_BUF_INIT;

		sse_feed(&sse, span_of(rows[i].line), note, &got);
		assert_int_equal(sse.retry_ms, rows[i].ms);
		sse_done(&sse);
	}
}

static void an_event_without_end(void **state)
{
	static char piece[1 << 20];
	struct sse sse = SSE_INIT;
	auto_buf struct rye_buf got = RYE_BUF_INIT;
	bool more = true;

	(void)state;
	memset(piece, 'x', sizeof(piece));
	for (int i = 0; i < 40 && more; i++)
		more = sse_feed(&sse, (struct rye_span){ piece, sizeof(piece) }, note, &got);
	assert_false(more);
	assert_int_equal(got.len, 0);
	sse_done(&sse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(MCP15_line_ends_and_lines_of_data),
		cmocka_unit_test(MCP16_comments_and_no_last_blank_line),
		cmocka_unit_test(retry_is_a_number),
		cmocka_unit_test(an_event_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
