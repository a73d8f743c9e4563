/* SPDX-License-Identifier: MIT */
/*
 * What stands in a model's text where its server does not take it apart: reasoning in tags, and calls
 * of tools. Such models are told in the prompt which tools there are and how to call one; values are
 * texts, those whose schema says otherwise are read as JSON.
 * No lock: an answer belongs to one thread.
 */
#include "wire/wire_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

/*
 * ---- reasoning ----
 * At the beginning of the content: only a leading pair counts, later ones are text. A tag may come
 * in pieces; what may become one is held in the answer until more has come.
 */

#define THINK_BEGIN "<think>"
#define THINK_END "</think>"

static void think_tell(struct answer *answer, enum block_kind kind, struct rye_span text)
{
	if (text.len)
		answer_text(answer, answer_run(answer, kind), text);
}

static size_t count_blanks(struct rye_span text)
{
	size_t n = 0;

	while (n < text.len && strchr(" \t\r\n", text.ptr[n]))
		n++;
	return n;
}

/* Is the text the beginning of the tag, or the other way round? */
static bool may_be(struct rye_span text, const char *tag)
{
	size_t n = MIN_OF(text.len, strlen(tag));

	return !memcmp(text.ptr, tag, n);
}

/* How many of the last bytes may be the beginning of the closing tag. */
static size_t tail_of(struct rye_span text)
{
	size_t n = MIN_OF(text.len, strlen(THINK_END) - 1);

	while (n && memcmp(text.ptr + text.len - n, THINK_END, n) != 0)
		n--;
	return n;
}

/* One step; how many bytes it has dealt with, 0: more has to come. */
static size_t think_lead(struct answer *answer, struct rye_span text)
{
	size_t blanks = count_blanks(text);
	struct rye_span rest = span_skip(text, blanks);

	if (!rest.len || (rest.len < strlen(THINK_BEGIN) && may_be(rest, THINK_BEGIN)))
		return 0;
	if (!span_starts(rest, THINK_BEGIN)) {
		answer->think = THINK_OFF;
		think_tell(answer, BLOCK_TEXT, text);
		return text.len;
	}
	answer->think = THINK_INSIDE;
	return blanks + strlen(THINK_BEGIN);
}

static size_t think_inside(struct answer *answer, struct rye_span text)
{
	ssize_t end = span_find(text, 0, THINK_END);
	size_t n = end < 0 ? text.len - tail_of(text) : (size_t)end;

	think_tell(answer, BLOCK_REASONING, (struct rye_span){ text.ptr, n });
	if (end < 0)
		return n;
	answer->think = THINK_TAIL;
	return n + strlen(THINK_END);
}

static size_t think_step(struct answer *answer, struct rye_span text)
{
	size_t blanks;

	switch (answer->think) {
	case THINK_LEAD:
		return think_lead(answer, text);
	case THINK_INSIDE:
		return think_inside(answer, text);
	case THINK_TAIL:
		blanks = count_blanks(text);
		if (blanks < text.len)
			answer->think = THINK_OFF;
		return blanks;
	default:
		think_tell(answer, BLOCK_TEXT, text);
		return text.len;
	}
}

void think_feed(struct answer *answer, struct rye_span text)
{
	auto_buf struct rye_buf all = answer->held;
	size_t at = 0, n = 1;

	answer->held = RYE_BUF_INIT;
	buf_addspan(&all, text);
	while (n && at < all.len) {
		n = think_step(answer, (struct rye_span){ all.data + at, all.len - at });
		at += n;
	}
	buf_add(&answer->held, all.data ? all.data + at : "", all.len - at);
}

void think_end(struct answer *answer)
{
	auto_buf struct rye_buf all = answer->held;
	enum block_kind kind = answer->think == THINK_INSIDE ? BLOCK_REASONING : BLOCK_TEXT;

	answer->held = RYE_BUF_INIT;
	if (all.len)
		think_tell(answer, kind, buf_span(&all));
}

/* ---- calls ---- */

void text_calls_describe(const json_t *tools, struct rye_buf *out)
{
	const json_t *tool;
	size_t i;

	buf_adds(out, "You can call tools. To call one, write exactly this, one line a parameter, "
		      "and end your answer behind the last call:\n\n"
		      "<invoke name=\"NAME\">\n"
		      "<parameter name=\"KEY\">VALUE</parameter>\n"
		      "</invoke>\n\n"
		      "A value that is no text is written as JSON. The results come in the next "
		      "message. The tools, with the JSON Schema of their parameters:\n");
	json_array_foreach(tools, i, tool) {
		buf_addf(out, "\n%s: %s\n", json_str(tool, "name"), json_str(tool, "description"));
		json_put(out, json_object_get(tool, "schema"), true);
	}
}

/* What stands between `begin` NAME `">` and `end`; *text moves behind it. False: no more. */
struct tagged {
	struct rye_span name, value;
};

static bool next_tagged(struct rye_span *text, const char *begin, const char *end,
			struct tagged *ret)
{
	ssize_t at = span_find(*text, 0, begin), quote, close;

	if (at < 0)
		return false;
	*text = span_skip(*text, (size_t)at + strlen(begin));
	quote = span_find(*text, 0, "\">");
	close = quote < 0 ? -1 : span_find(*text, (size_t)quote, end);
	if (close < 0)
		return false;
	ret->name = (struct rye_span){ text->ptr, (size_t)quote };
	ret->value = (struct rye_span){ text->ptr + quote + 2, (size_t)(close - quote - 2) };
	*text = span_skip(*text, (size_t)close + strlen(end));
	return true;
}

static json_t *parameter_value(struct rye_span text, const json_t *schema)
{
	const char *type = json_str(schema, "type");
	struct rye_span value = span_trim(text);
	json_t *read = NULL;

	if (*type && strcmp(type, "string") != 0)
		read = json_parse(value, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS, "value", NULL);
	return read ? read : json_stringn_nocheck(value.ptr, value.len);
}

static void take_invoke(struct answer *answer, const struct tagged *invoke)
{
	const json_t *tools = answer->request ? answer->request->tools : NULL;
	auto_free char *name = span_dup(invoke->name);
	const json_t *schema =
		json_object_get(json_find(tools, "name", name ? name : ""), "schema");
	const json_t *properties = json_object_get(schema, "properties");
	struct answer_block *block = answer_add(answer, BLOCK_CALL);
	auto_json json_t *arguments = json_object();
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_span rest = invoke->value;
	struct tagged parameter;

	if (!block || !name)
		return;
	while (next_tagged(&rest, "<parameter name=\"", "</parameter>", &parameter)) {
		auto_free char *key = span_dup(parameter.name);

		if (key)
			json_set(arguments, key,
				 parameter_value(parameter.value,
						 json_object_get(properties, key)));
	}
	json_put(&text, arguments, false);
	answer_call(answer, block, "", name);
	answer_args(answer, block, buf_span(&text));
	answer_done(answer, block);
}

void text_calls_find(struct answer *answer)
{
	size_t n = answer->n;
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	struct rye_span rest;
	struct tagged invoke;

	if (answer_has(answer, BLOCK_CALL) || answer->stop == STOP_REFUSAL)
		return;
	for (size_t i = 0; i < n; i++)
		if (answer->v[i].kind == BLOCK_TEXT)
			buf_add(&all, answer->v[i].text.data, answer->v[i].text.len);
	rest = buf_span(&all);
	while (answer->n < RYE_PROVIDER_BLOCKS &&
	       next_tagged(&rest, "<invoke name=\"", "</invoke>", &invoke))
		take_invoke(answer, &invoke);
	if (answer->n > n && answer->stop == STOP_END)
		answer->stop = STOP_TOOL;
}
