/* SPDX-License-Identifier: MIT */
/*
 * The mapping of a finished process to a tool's answer. Pure: no descriptors, no lock. What a
 * tool prints is outside bytes: it is parsed strictly first, and only when that fails once
 * more with the tokens replaced that Python writes and JSON does not know.
 */
#include "process/process.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>

/*
 * Bytes of the well-formed beginning of a character that is broken off: at least 1. *ret_cut:
 * more bytes could complete it.
 */
static size_t broken_length(struct rye_span s, bool *ret_cut)
{
	unsigned char c = (unsigned char)s.ptr[0], low = 0x80, high = 0xbf;
	size_t want = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : 2, n = 1;

	*ret_cut = false;

	if (c < 0xc2 || c > 0xf4)
		return 1;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	while (n < want && n < s.len) {
		unsigned char next = (unsigned char)s.ptr[n];

		if (next < low || next > high)
			break;
		low = 0x80;
		high = 0xbf;
		n++;
	}
	*ret_cut = n < want && n == s.len;
	return n;
}

size_t result_mend(struct rye_span bytes, bool end, struct rye_buf *ret)
{
	struct rye_span left = bytes;
	uint32_t cp;

	if (utf8_valid(bytes)) {
		buf_addspan(ret, bytes);
		return bytes.len;
	}
	while (left.len) {
		size_t n = utf8_next(left, &cp);
		bool cut = false;

		if (n) {
			buf_add(ret, left.ptr, n);
		} else {
			n = broken_length(left, &cut);
			if (cut && !end)
				break;
			buf_adds(ret, "\xef\xbf\xbd");
		}
		left = span_skip(left, n);
	}
	return bytes.len - left.len;
}

json_t *result_text(struct rye_span bytes)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (utf8_valid(bytes))
		return json_stringn_nocheck(bytes.ptr ? bytes.ptr : "", bytes.len);
	result_mend(bytes, true, &text);
	return text.failed ? json_string("") : json_stringn_nocheck(text.data, text.len);
}

static bool token_at(struct rye_span s, size_t i, const char *token)
{
	size_t n = strlen(token);

	return s.len - i >= n && !memcmp(s.ptr + i, token, n);
}

/* Digits without point or exponent that no 64-bit integer holds. */
static size_t big_integer(struct rye_span s, size_t i)
{
	size_t n = i;

	while (n < s.len && isdigit((unsigned char)s.ptr[n]))
		n++;
	if (n - i < 19 || (n < s.len && strchr(".eE", s.ptr[n]) && s.ptr[n]))
		return 0;
	return n - i;
}

struct mend {
	struct rye_buf text;
	bool changed, in_string;
};

/* One step of the second reading: how many bytes were consumed. */
static size_t mend_step(struct mend *mend, struct rye_span s, size_t i)
{
	static const char *const tokens[] = { "NaN", "-Infinity", "Infinity" };
	size_t n;

	if (mend->in_string) {
		if (s.ptr[i] == '\\' && i + 1 < s.len) {
			/* A lone surrogate: Python writes it, JSON readers refuse it. */
			if (token_at(s, i, "\\ud") || token_at(s, i, "\\uD"))
				mend->changed = true;
			buf_add(&mend->text, s.ptr + i, 2);
			return 2;
		}
		mend->in_string = s.ptr[i] != '"';
		buf_addc(&mend->text, s.ptr[i]);
		return 1;
	}
	for (size_t t = 0; t < ARRAY_SIZE(tokens); t++) {
		if (!token_at(s, i, tokens[t]))
			continue;
		mend->changed = true;
		buf_adds(&mend->text, "null");
		return strlen(tokens[t]);
	}
	n = isdigit((unsigned char)s.ptr[i]) ? big_integer(s, i) : 0;
	if (n) {
		mend->changed = true;
		buf_add(&mend->text, s.ptr + i, n);
		buf_adds(&mend->text, ".0");
		return n;
	}
	mend->in_string = s.ptr[i] == '"';
	buf_addc(&mend->text, s.ptr[i]);
	return 1;
}

static int hex4(struct rye_span s, size_t i)
{
	int value = 0;

	for (size_t k = i; k < i + 4; k++) {
		const char *digits = "0123456789abcdef";
		int c = k < s.len ? tolower((unsigned char)s.ptr[k]) : 0;
		const char *at = c ? strchr(digits, c) : NULL;

		if (!at)
			return -1;
		value = value * 16 + (int)(at - digits);
	}
	return value;
}

/* Escaped surrogates that are not a pair become U+FFFD; in place, the length stays. */
static void mend_surrogates(struct rye_buf *text)
{
	struct rye_span s = { text->data, text->len };

	for (size_t i = 0; i + 1 < s.len; i++) {
		int first, second;

		if (s.ptr[i] != '\\')
			continue;
		first = s.ptr[i + 1] == 'u' ? hex4(s, i + 2) : -1;
		if (first >= 0xd800 && first < 0xe000) {
			second = token_at(s, i + 6 < s.len ? i + 6 : s.len, "\\u") ?
					 hex4(s, i + 8) :
					 -1;
			if (first < 0xdc00 && second >= 0xdc00 && second < 0xe000)
				i += 10;
			else
				memcpy(text->data + i + 2, "fffd", 4);
		}
		i++;
	}
}

static json_t *parse_mended(struct rye_span text, json_t *warnings)
{
	struct mend mend = { 0 };
	json_t *doc = NULL;

	for (size_t i = 0; i < text.len;)
		i += mend_step(&mend, text, i);
	if (mend.changed && !mend.text.failed) {
		mend_surrogates(&mend.text);
		doc = json_parse((struct rye_span){ mend.text.data, mend.text.len },
				 JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "output",
				 NULL);
	}
	if (doc)
		json_array_append_new(
			warnings,
			json_string("the output is not strict JSON: NaN and Infinity were read as "
				    "null, integers beyond 64 bits as floats"));
	buf_done(&mend.text);
	return doc;
}

/* The whole output as one JSON value, or NULL. A byte order mark makes it text. */
static json_t *parse_output(struct rye_span text, json_t *warnings)
{
	json_t *doc;

	text = span_trim(text);
	if (!text.len || !text.ptr)
		return NULL;
	doc = json_parse(text, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "output", NULL);
	if (doc || !strchr("{[\"NI-0123456789", text.ptr[0]))
		return doc;
	return parse_mended(text, warnings);
}

static json_t *raw_data(const struct captured *got)
{
	json_t *data = json_object();

	json_set(data, "stdout", result_text((struct rye_span){ got->out.data, got->out.len }));
	json_set(data, "stderr", result_text((struct rye_span){ got->err.data, got->err.len }));
	json_set(data, "return_code", json_integer(got->ended.code));
	return data;
}

static void note_truncation(const struct captured *got, json_t *data)
{
	if (got->out_bytes > got->out.len) {
		json_set(data, "truncated", json_true());
		json_set(data, "stdout_bytes", json_integer((json_int_t)got->out_bytes));
	}
	if (got->err_bytes > got->err.len) {
		json_set(data, "truncated", json_true());
		json_set(data, "stderr_bytes", json_integer((json_int_t)got->err_bytes));
	}
}

/* An object that says something is the answer; any other value goes beside the raw output. */
static json_t *result_make_data(const struct captured *got, json_t *doc)
{
	json_t *data;

	if (json_is_object(doc) && json_object_size(doc))
		return json_incref(doc);
	data = raw_data(got);
	if (doc && !json_is_object(doc) && !json_is_null(doc))
		json_set(data, "result", json_incref(doc));
	return data;
}

static bool says_success(const json_t *doc)
{
	const json_t *flag = json_object_get(doc, "success");

	return flag ? json_truthy(flag) : strcmp(json_str(doc, "status"), "error") != 0;
}

static char *result_text_of(const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (value && json_truthy(value))
		json_python_str(&text, value);
	else
		buf_adds(&text, "");
	return buf_steal(&text);
}

/* Stderr when it failed by exit status, else what the answer itself says; never empty. */
static char *make_error(const struct captured *got, const json_t *doc)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *said = NULL;
	auto_json json_t *err = NULL;

	if (got->ended.code != 0) {
		err = result_text((struct rye_span){ got->err.data, got->err.len });
		said = result_text_of(err);
	}
	if ((!said || !*said) && json_is_object(doc)) {
		free(steal(&said));
		said = result_text_of(json_object_get(doc, "error"));
	}
	if ((!said || !*said) && json_is_object(doc)) {
		free(steal(&said));
		said = result_text_of(json_object_get(doc, "stderr"));
	}
	if (said && *said)
		return steal(&said);
	if (got->ended.signal)
		buf_addf(&text, "Tool killed by signal %d", got->ended.signal);
	else if (got->ended.code != 0)
		buf_addf(&text, "Tool exited with code %d", got->ended.code);
	else
		buf_adds(&text, "Tool reported failure");
	return buf_steal(&text);
}

/* "1", "0.5": seconds as Rust prints a float. */
static void put_seconds(struct rye_buf *out, int64_t ms)
{
	if (ms % 1000)
		buf_addf(out, "%.10g", (double)ms / 1000);
	else
		buf_addf(out, "%lld", (long long)(ms / 1000));
}

static void timed_out(const struct captured *got, int64_t timeout_ms, struct result *ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "Command timed out after ");
	put_seconds(&text, timeout_ms);
	buf_adds(&text, " seconds\n");
	buf_addspan(&text, (struct rye_span){ got->err.data, got->err.len });
	ret->code = RYE_TIMEOUT;
	ret->data = raw_data(got);
	json_set(ret->data, "stderr", result_text((struct rye_span){ text.data, text.len }));
	json_set(ret->data, "return_code", json_integer(-1));
	ret->error = buf_steal(&text);
}

void result_of(const struct captured *got, int64_t timeout_ms, struct result *ret)
{
	auto_json json_t *doc = NULL;
	bool failed;

	*ret = (struct result){ .warnings = json_array() };
	if (got->timed_out) {
		timed_out(got, timeout_ms, ret);
		note_truncation(got, ret->data);
		return;
	}
	if (got->cancelled) {
		ret->code = RYE_CANCELLED;
		ret->data = raw_data(got);
		ret->error = memory_note(strdup("Run was cancelled"));
		note_truncation(got, ret->data);
		return;
	}
	doc = parse_output((struct rye_span){ got->out.data, got->out.len }, ret->warnings);
	failed = got->ended.code != 0 || !says_success(doc);
	ret->data = result_make_data(got, doc);
	ret->code = failed ? RYE_TOOL_FAILED : RYE_OK;
	ret->error = failed ? make_error(got, doc) : memory_note(strdup(""));
	ret->retryable = json_flag(doc, "retryable", false);
	ret->exit = got->ended.code;
	if (json_is_object(doc) && json_object_size(doc) && !json_object_get(doc, "success"))
		json_array_append_new(ret->warnings,
				      json_string("the result has no member \"success\"; it counts "
						  "as success unless the exit status says no"));
	if (got->ended.signal && ret->data)
		json_set(ret->data, "signal", json_integer(got->ended.signal));
	note_truncation(got, ret->data);
}

void result_unspawned(const struct rye_err *err, struct result *ret)
{
	*ret = (struct result){
		.code = err->code,
		.exit = -1,
		.data = json_pack("{s:s, s:s, s:i}", "stdout", "", "stderr", err->msg,
				  "return_code", -1),
		.warnings = json_array(),
		.error = strdup(err->msg),
	};
}

void result_done(struct result *result)
{
	json_decref(result->data);
	json_decref(result->warnings);
	free(result->error);
	*result = (struct result){ 0 };
}
