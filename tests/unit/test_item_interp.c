/* SPDX-License-Identifier: MIT */
/* Placeholders: what the table interp.test cannot hold: sizes, times, whole maps (T77). */
#include "clock.h"
#include "item/item.h"

#include "rye_json.h"

static const char *env(void *arg, const char *name)
{
	return strcmp(name, "EV") ? NULL : arg;
}

/* T77: what is filled in of a map, and what is not. */
static void T77_parts_that_stay(void **state)
{
	auto_json json_t *map = json_loads(
		"{\"preamble\": \"{input:a}\", \"description\": \"{input:a}\", \"outputs\": "
		"[{\"name\": \"{input:a}\"}], \"templates\": {\"t\": \"{input:a}\"}, \"body\": "
		"\"{input:a} {env:EV}\", \"content\": \"{input:a}\", \"actions\": [{\"primary\": "
		"\"execute\", \"item_id\": \"{input:a}{env:EV}\", \"params\": {\"p\": "
		"\"${inputs.a}\", \"q\": {\"deep\": \"{input:a}\"}}}]}",
		0, NULL);
	auto_json json_t *inputs = json_loads("{\"a\": \"A\"}", 0, NULL);
	auto_json json_t *before = json_deep_copy(map);
	struct interp in = { .inputs = inputs, .env = env, .env_arg = (void *)"e" };
	struct rye_err err;

	same_json(interp_map(&in, map, &err),
		  "{\"preamble\": \"{input:a}\", \"description\": \"{input:a}\", \"outputs\": "
		  "[{\"name\": \"{input:a}\"}], \"templates\": {\"t\": \"{input:a}\"}, \"body\": "
		  "\"A e\", \"content\": \"A\", \"actions\": [{\"primary\": \"execute\", "
		  "\"item_id\": \"A{env:EV}\", \"params\": {\"p\": \"A\", \"q\": {\"deep\": "
		  "\"{input:a}\"}}}]}");
	assert_true(json_equal(map, before));
}

/* A long value named often ends at the buffer's cap, not in memory. */
static void expansion_is_capped(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT, value = RYE_BUF_INIT;
	struct rye_buf out = { .cap = 1 << 20 };
	auto_json json_t *inputs = json_object();
	struct interp in = { .inputs = inputs };

	for (int i = 0; i < 100000; i++) {
		buf_adds(&text, "{input:a}");
		buf_addc(&value, 'x');
	}
	json_sets(inputs, "a", value.data);
	interp_text(&in, (struct rye_span){ text.data, text.len }, &out);
	assert_true(out.failed);
	buf_done(&out);
}

/* Openings without an end, and keys of foreign letters, in linear time. */
static void hostile_text(void **state)
{
	auto_json json_t *inputs = json_object();
	struct interp in = { .inputs = inputs, .env = env };
	auto_buf struct rye_buf text = RYE_BUF_INIT, out = RYE_BUF_INIT;
	int64_t start = clock_own_us();

	for (int i = 0; i < 200000; i++)
		buf_adds(&text, "{input:a:{env:ä:${inputs.é");
	interp_text(&in, (struct rye_span){ text.data, text.len }, &out);
	assert_false(out.failed);
	assert_int_equal(out.len, text.len);
	buf_adds(&text, "}");
	buf_clear(&out);
	interp_text(&in, (struct rye_span){ text.data, text.len }, &out);
	assert_false(out.failed);
	assert_true(clock_own_us() - start < 10 * 1000000);
}

static void nothing_to_do(void **state)
{
	struct interp in = { 0 };
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	interp_text(&in, SPAN(""), &out);
	interp_text(&in, (struct rye_span){ NULL, 0 }, &out);
	assert_int_equal(out.len, 0);
	interp_text(&in, SPAN("{input:a:d} {env:A:d}"), &out);
	assert_string_equal(out.data, "d {env:A:d}");
}

/* What tells a place or the user may be read, what holds a key may not. */
static void variables_that_may_be_read(void **state)
{
	static const struct {
		const char *name;
		bool may;
	} rows[] = {
		{ "HOME", true },
		{ "LC_TEST", true },
		{ "RYE_TEST", true },
		{ "MINE", true },
		{ "MINE_TOO", false },
		{ "MIN", false },
		{ "YOUR", false },
		{ "OTHER", false },
		{ "RYE_TEST_KEY", false },
		{ "RYE_TEST_SECRET", false },
		{ "RYE_TEST_TOKEN", false },
		{ "RYE_SIGNING_TEST", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got;

		setenv(rows[i].name, "value", 1);
		got = interp_environ((void *)"A:MINE:B", rows[i].name);
		if (rows[i].may ? !got || strcmp(got, "value") : got != NULL)
			fail_msg("%s is %s", rows[i].name, got ? got : "not to be had");
		unsetenv(rows[i].name);
	}
	assert_null(interp_environ(NULL, "RYE_TEST"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T77_parts_that_stay),
		cmocka_unit_test(expansion_is_capped),
		cmocka_unit_test(hostile_text),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(variables_that_may_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
