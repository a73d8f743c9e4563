/* SPDX-License-Identifier: MIT */
/*
 * SKILL.md of an item that is no skill: metadata with the fields of the specification alone, the text as
 * everybody reads it, then how it is used. What is signed is quoted so that it stays inside of its field.
 */
#include "offer/offer_inner.h"

#include "item/item.h"
#include "memory.h"
#include "str.h"

/* One line of a text, quoted as YAML and JSON want it; at most so many characters. */
static void put_line(struct rye_buf *out, struct rye_span text, size_t most)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *value = NULL;
	bool blank = true;
	uint32_t cp;

	for (size_t n; text.len && most && (n = utf8_next(text, &cp)); text = span_skip(text, n)) {
		bool space = cp <= ' ' || utf8_unseen(cp);

		if (space && blank)
			continue;
		buf_add(&line, space ? " " : text.ptr, space ? 1 : n);
		blank = space;
		most--;
	}
	value = json_stringn(line.data ? line.data : "", line.len);
	json_put(out, value, false);
}

static void put_cell(struct rye_buf *out, const char *text)
{
	buf_adds(out, " ");
	for (; *text; text++) {
		if (*text == '|')
			buf_adds(out, "\\|");
		else
			buf_add(out, *text == '\n' || *text == '\r' ? " " : text, 1);
	}
	buf_adds(out, " |");
}

/* ---- inputs ---- */

/* The properties of its schema, or NULL; *ret_doc is what to release. */
static const json_t *properties(struct rye *rye, const struct rye_skill *skill, json_t **ret_doc)
{
	const struct rye_ask ask = { skill->kind, skill->id, RYE_VIEW_SCHEMA, NULL };
	auto_blob struct rye_blob *text = NULL;
	struct rye_err ignored = { 0 };

	if (rye_kind_has(skill->kind, RYE_KIND_PARAMETERS) &&
	    rye_view(rye, &ask, &text, &ignored) == 0)
		*ret_doc = json_parse((struct rye_span){ text->data, text->len }, 0, "schema",
				      &ignored);
	return json_object_get(*ret_doc, "properties");
}

static void put_about(struct rye_buf *out, const struct rye_skill *skill, const json_t *info,
		      const json_t *inputs)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *about = json_str(info, "description"), *key;
	const char *title = json_str(json_object_get(info, "meta"), "title");
	json_t *value;
	size_t n = 0;

	buf_adds(&text, *about ? about : *title ? title : skill->id);
	/* the item's author ended a sentence, or did not */
	if (json_object_size(inputs) && text.len && !strchr(".!?:;", text.data[text.len - 1]))
		buf_addc(&text, '.');
	json_object_foreach((json_t *)inputs, key, value)
		buf_addf(&text, "%s%s", n++ ? ", " : " Inputs: ", key);
	buf_adds(&text, n ? "." : "");
	put_line(out, buf_span(&text), SKILL_ABOUT_MAX);
}

static void put_front(struct rye_buf *out, const struct rye_skill *skill, const char *name,
		      const json_t *info, const json_t *inputs)
{
	auto_buf struct rye_buf ref = RYE_BUF_INIT;

	buf_addf(&ref, "%s:%s", rye_kind_name(skill->kind), skill->id);
	buf_addf(out, "---\nname: %s\ndescription: ", name);
	put_about(out, skill, info, inputs);
	buf_adds(out, "\nmetadata:\n  ryefs-item: ");
	put_line(out, buf_span(&ref), 2 * SKILL_PATH_MAX);
	buf_adds(out, "\n  ryefs-signer: ");
	put_line(out, span_of(json_str(info, "signer")), 16);
	buf_adds(out, "\n---\n");
}

static void put_default(struct rye_buf *out, const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (json_is_string(value))
		buf_adds(&text, json_string_value(value));
	else if (value)
		json_put(&text, value, false);
	buf_adds(&text, "");
	put_cell(out, text.data ? text.data : "");
}

static void put_inputs(struct rye_buf *out, const char *title, const json_t *doc,
		       const json_t *inputs)
{
	const char *key;
	json_t *value;

	buf_addf(out, "\n## %s\n\n| name | type | required | default | |\n|---|---|---|---|---|\n",
		 title);
	json_object_foreach((json_t *)inputs, key, value) {
		buf_adds(out, "|");
		put_cell(out, key);
		put_cell(out, json_str(value, "type"));
		put_cell(out, json_lists(json_object_get(doc, "required"), key) ? "yes" : "");
		put_default(out, json_object_get(value, "default"));
		put_cell(out, json_str(value, "description"));
		buf_adds(out, "\n");
	}
}

static const char *first_key(const json_t *inputs)
{
	return json_object_iter_key(json_object_iter((json_t *)inputs));
}

/* A tool is run; of the others the text itself is what is wanted. */
static int put_body(struct rye *rye, const struct rye_skill *skill, const char *query,
		    const json_t *info, struct rye_buf *out, struct rye_err *err)
{
	const struct rye_ask ask = { skill->kind, skill->id, RYE_VIEW_RENDERED, query };
	auto_blob struct rye_blob *text = NULL;
	int r;

	if (skill->kind == RYE_TOOL) {
		buf_addf(out, "%s\n\nTo run it: `ryefs execute tool:%s",
			 json_str(info, "description"), skill->id);
		return 0;
	}
	r = rye_view(rye, &ask, &text, err);
	if (r)
		return r;
	buf_add(out, text->data, text->len);
	if (text->len && text->data[text->len - 1] != '\n')
		buf_adds(out, "\n");
	return 0;
}

static void put_use(const struct rye_skill *skill, const json_t *doc, const json_t *inputs,
		    struct rye_buf *out)
{
	bool tool = skill->kind == RYE_TOOL;
	size_t n = json_object_size(inputs);

	if (tool)
		buf_addf(out, "%s`\n", n ? " NAME=VALUE ..." : "");
	if (!n)
		return;
	put_inputs(out, tool ? "Parameters" : "Inputs", doc, inputs);
	if (!tool)
		buf_addf(out,
			 "\nTo fill them in, read `" SKILL_TEXT "?%s=VALUE` in this folder; "
			 "`&` stands between two.\n",
			 first_key(inputs));
}

int offer_text(struct rye *rye, const struct rye_skill *skill, const char *name, const char *query,
	       struct rye_blob **ret, struct rye_err *err)
{
	const struct rye_ask ask = { skill->kind, skill->id, RYE_VIEW_INFO, NULL };
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_blob struct rye_blob *told = NULL;
	auto_json json_t *info = NULL, *doc = NULL;
	const json_t *inputs = properties(rye, skill, &doc);
	int r = rye_view(rye, &ask, &told, err);

	if (r)
		return r;
	info = json_parse((struct rye_span){ told->data, told->len }, 0, "info", err);
	if (!info)
		return -(int)RYE_IO;
	put_front(&out, skill, name, info, inputs);
	r = put_body(rye, skill, query, info, &out, err);
	if (r)
		return r;
	put_use(skill, doc, inputs, &out);
	*ret = out.failed ? NULL : rye_blob_new(out.data, out.len);
	return *ret ? 0 : memory_fail(err);
}

/* ---- $ARGUMENTS ---- */

int offer_fill(const struct rye_blob *text, const char *query, struct rye_blob **ret,
	       struct rye_err *err)
{
	static const char mark[] = "$ARGUMENTS";
	struct rye_span rest = { text->data, text->len };
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_json json_t *inputs = inputs_query(query, err), *front = NULL;
	struct rye_span body = rest;
	const char *value;
	int r = inputs ? skill_front(rest, &front, &body, err) : -(int)RYE_INVALID;

	if (r)
		return r;
	value = json_string_value(json_object_get(inputs, "arguments"));
	if (!value || json_object_size(inputs) != 1)
		return rye_fail(err, RYE_INVALID,
				"a skill has one input: " SKILL_TEXT "?arguments=TEXT");
	buf_add(&out, rest.ptr, (size_t)(body.ptr - rest.ptr));
	while (body.len) {
		const char *at = memmem(body.ptr, body.len, mark, strlen(mark));
		size_t n = at ? (size_t)(at - body.ptr) : body.len;

		buf_add(&out, body.ptr, n);
		buf_adds(&out, at ? value : "");
		body = span_skip(body, at ? n + strlen(mark) : n);
	}
	*ret = out.failed ? NULL : rye_blob_new(out.data, out.len);
	return *ret ? 0 : memory_fail(err);
}
