/* SPDX-License-Identifier: MIT */
/*
 * Placeholders of directives (docs/items.md), in three passes over the text: {env:…}, then
 * {input:…}, then ${inputs.…}. What a pass inserts is not looked at again by that pass, but by
 * the later ones. Values are spelled as Python spells them. Linear in text and result, which
 * the output buffer's cap bounds. Pure; environment values come from the caller.
 */
#include "item/item.h"

#include "scope.h"
#include "str.h"

#include <ctype.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* The letters beyond ASCII that may stand in a key; made when the first such byte is met. */
struct interpolate_words {
	pcre2_code *code;
	pcre2_match_data *match;
};

static void words_done(struct interpolate_words *words)
{
	pcre2_match_data_free(words->match);
	pcre2_code_free(words->code);
}

#define auto_words __attribute__((cleanup(words_done)))

struct interpolate_pass {
	const struct interp *in;
	struct interpolate_words *words;
	struct rye_buf *out;
};

/* One placeholder behind its opening: key, then '}', "?}", or a separator and a default. */
struct form {
	struct rye_span key, fallback;
	bool optional, has_fallback;
	size_t len; /* up to and with its '}' */
};

typedef bool (*value_fn)(struct interpolate_pass *pass, const struct form *form);

struct syntax {
	const char *open;
	const char *separators;
	bool may_be_optional;
	value_fn value; /* appends it; false: the placeholder stays */
};

/* Bytes of the non-ASCII letter or digit at s, or 0. */
static size_t other_word(struct interpolate_words *words, struct rye_span s)
{
	PCRE2_SIZE at;
	uint32_t cp;
	size_t n = utf8_next(s, &cp);
	int code;

	if (!n)
		return 0;
	if (!words->code) {
		words->code = pcre2_compile((PCRE2_SPTR) "\\w", PCRE2_ZERO_TERMINATED,
					    PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &at,
					    NULL);
		words->match = pcre2_match_data_create(1, NULL);
	}
	if (!words->code || !words->match)
		return 0;
	return pcre2_match(words->code, (PCRE2_SPTR)s.ptr, n, 0, 0, words->match, NULL) > 0 ? n : 0;
}

static size_t key_len(struct interpolate_words *words, struct rye_span s)
{
	size_t at = 0;

	while (at < s.len) {
		unsigned char c = (unsigned char)s.ptr[at];
		size_t n = isalnum(c) || c == '_' ? 1 : 0;

		if (c >= 0x80)
			n = other_word(words, span_skip(s, at));
		if (!n)
			break;
		at += n;
	}
	return at;
}

static bool form_at(struct interpolate_words *words, const struct syntax *syntax, struct rye_span s,
		    struct form *ret)
{
	size_t n = key_len(words, s);
	const char *close;

	*ret = (struct form){ .key = { s.ptr, n } };
	if (!n || n >= s.len)
		return false;
	if (syntax->may_be_optional && s.ptr[n] == '?') {
		ret->optional = true;
		n++;
	} else if (strchr(syntax->separators, s.ptr[n]) && s.ptr[n]) {
		close = memchr(s.ptr + n, '}', s.len - n);
		if (!close)
			return false;
		ret->has_fallback = true;
		ret->fallback.ptr = s.ptr + n + 1;
		ret->fallback.len = (size_t)(close - ret->fallback.ptr);
		n = (size_t)(close - s.ptr);
	}
	ret->len = n + 1;
	return n < s.len && s.ptr[n] == '}';
}

static bool fall_back(struct interpolate_pass *pass, const struct form *form)
{
	buf_addspan(pass->out, form->fallback); /* empty for an optional one */
	return form->has_fallback || form->optional;
}

static bool env_value(struct interpolate_pass *pass, const struct form *form)
{
	auto_free char *name = span_dup(form->key);
	const char *value = name && pass->in->env ? pass->in->env(pass->in->env_arg, name) : NULL;

	if (!value)
		return fall_back(pass, form);
	buf_adds(pass->out, value);
	return true;
}

static bool input_value(struct interpolate_pass *pass, const struct form *form)
{
	const json_t *value = json_object_getn(pass->in->inputs, form->key.ptr, form->key.len);

	if (!value)
		return fall_back(pass, form);
	json_python_str(pass->out, value);
	return true;
}

static const struct syntax passes[] = {
	{ "{env:", ":", false, env_value },
	{ "{input:", ":|", true, input_value },
	{ "${inputs.", "", false, input_value },
};

static void run_pass(struct interpolate_pass *pass, const struct syntax *syntax,
		     struct rye_span text)
{
	const char *close = memrchr(text.ptr, '}', text.len);
	size_t at = 0, last = close ? (size_t)(close - text.ptr) : 0, n = strlen(syntax->open);
	ssize_t hit;

	/* behind the last brace there is no placeholder: searching for one would be quadratic */
	while (!pass->out->failed && (hit = span_find(text, at, syntax->open)) >= 0) {
		struct form form;
		size_t from = (size_t)hit + n;

		if (from > last)
			break;
		buf_add(pass->out, text.ptr + at, (size_t)hit - at);
		at = (size_t)hit;
		if (form_at(pass->words, syntax, span_skip(text, from), &form) &&
		    syntax->value(pass, &form)) {
			at = from + form.len;
		} else {
			buf_adds(pass->out, syntax->open);
			at = from;
		}
	}
	buf_add(pass->out, text.ptr + at, text.len - at);
}

void interp_text(const struct interp *in, struct rye_span text, struct rye_buf *out)
{
	auto_words struct interpolate_words words = { 0 };
	auto_buf struct rye_buf held = RYE_BUF_INIT;

	for (size_t i = in->env ? 0 : 1; i < ARRAY_SIZE(passes); i++) {
		struct rye_buf next = RYE_BUF_INIT;
		struct interpolate_pass pass = { .in = in, .words = &words, .out = &next };

		if (span_find(text, 0, passes[i].open) < 0)
			continue;
		next.cap = out->cap;
		run_pass(&pass, &passes[i], text);
		buf_done(&held);
		held = next;
		if (held.failed) {
			out->failed = true;
			return;
		}
		text = (struct rye_span){ held.data, held.len };
	}
	buf_addspan(out, text);
}

static json_t *interp_string(const struct interp *in, const json_t *value)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	interp_text(in, (struct rye_span){ json_string_value(value), json_string_length(value) },
		    &out);
	return out.failed ? NULL : json_stringn(out.data, out.len);
}

/* The object's own strings interpolated; everything else as it is. New; NULL: too big. */
static json_t *interp_strings(const struct interp *in, const json_t *object)
{
	auto_json json_t *copy = json_copy((json_t *)object);
	const char *key;
	json_t *value;

	json_object_foreach(copy, key, value) {
		if (json_is_string(value) && !json_set(copy, key, interp_string(in, value)))
			return NULL;
	}
	return steal(&copy);
}

static json_t *interp_action(const struct interp *in, const json_t *action)
{
	auto_json json_t *copy = interp_strings(in, action);
	const json_t *params = json_object_get(copy, "params");

	if (params && !json_set(copy, "params", interp_strings(in, params)))
		return NULL;
	return steal(&copy);
}

static json_t *interp_actions(const struct interp *in, const json_t *actions)
{
	auto_json json_t *list = json_array();
	struct interp inputs_only = { .inputs = in->inputs };

	for (size_t i = 0; i < json_array_size(actions); i++) {
		json_t *action = interp_action(&inputs_only, json_array_get(actions, i));

		if (!action)
			return NULL;
		json_array_append_new(list, action);
	}
	return steal(&list);
}

json_t *interp_map(const struct interp *in, const json_t *map, struct rye_err *err)
{
	static const char *const texts[] = { "body", "content" };
	auto_json json_t *copy = json_copy((json_t *)map);
	const json_t *actions = json_object_get(map, "actions");
	bool ok = copy;

	for (size_t i = 0; ok && i < ARRAY_SIZE(texts); i++) {
		const json_t *value = json_object_get(map, texts[i]);

		if (json_is_string(value))
			ok = json_set(copy, texts[i], interp_string(in, value));
	}
	if (ok && actions)
		ok = json_set(copy, "actions", interp_actions(in, actions));
	if (ok)
		return steal(&copy);
	rye_fail(err, RYE_TOO_BIG, "the directive is too big with its inputs filled in");
	return NULL;
}
