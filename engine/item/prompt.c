/* SPDX-License-Identifier: MIT */
/*
 * The prompt a model gets for a directive: instruction, opening tag, preamble, body,
 * <returns>, the call that returns results, closing tag; parts are joined by an empty line.
 * Nothing of the metadata is in it and nothing is escaped, as the format has it. Pure.
 */
#include "item/item.h"

#include "scope.h"
#include "str.h"

/* Used where no bundle has the knowledge item rye/agent/core/DirectiveInstruction. */
static const char default_instruction[] =
	"You carry out the directive that follows. It is your task, not a text to discuss.\n"
	"\n"
	"- Begin with step 1 now. Do not announce, summarise or explain the plan, and do not "
	"narrate what you are doing.\n"
	"- Do the steps in their order, each to its end, as they are written. Use the tools they "
	"name.\n"
	"- Print what stands in `<render>` exactly as it is, with nothing before or after it.\n"
	"- Do what stands in `<instruction>` without printing or mentioning it.\n"
	"- Where a step says to stop, ask or wait, do so, and go on only with the answer.\n"
	"- Do not execute this same directive again; you are inside it.\n"
	"- If a step cannot be done, say which one and why, and return that instead of a result "
	"you do not have.";

const char *prompt_instruction(void)
{
	return default_instruction;
}

json_t *prompt_instruction_of(const struct item_env *env)
{
	struct item_ask ask = { .kind = RYE_KNOWLEDGE,
				.id = "rye/agent/core/DirectiveInstruction" };
	auto_item struct rye_item *own = NULL;
	struct rye_err ignored = { 0 };

	if (rye_load(env, &ask, &own, &ignored) == 0 && *json_str(own->meta, "body"))
		return json_incref(json_object_get(own->meta, "body"));
	return json_string(default_instruction);
}

static void prompt_part(struct rye_buf *out, struct rye_span text)
{
	if (!text.len)
		return;
	if (out->len)
		buf_adds(out, "\n\n");
	buf_addspan(out, text);
}

static void part_buf(struct rye_buf *out, const struct rye_buf *text)
{
	out->failed |= text->failed;
	prompt_part(out, (struct rye_span){ text->data, text->len });
}

static bool prompt_open_tag(struct rye_buf *out, const json_t *meta)
{
	auto_buf struct rye_buf tag = RYE_BUF_INIT;
	const char *name = json_str(meta, "name"), *description = json_str(meta, "description");

	if (*name)
		buf_addf(&tag, "<directive name=\"%s\">", name);
	else if (*description)
		buf_adds(&tag, "<directive>");
	if (*description)
		buf_addf(&tag, "\n<description>%s</description>", description);
	part_buf(out, &tag);
	return tag.len;
}

/* Without level-1 headings and header lines of any age. */
static void put_preamble(struct rye_buf *out, struct rye_span text)
{
	auto_buf struct rye_buf kept = RYE_BUF_INIT;
	struct rye_span line;

	while (span_line(&text, &line)) {
		struct rye_span bare = span_strip_unicode(line);

		if (span_starts(bare, "<!-- rye:signed:") || span_starts(bare, "# "))
			continue;
		buf_addspan(&kept, line);
		buf_addc(&kept, '\n');
	}
	out->failed |= kept.failed;
	prompt_part(out, span_strip_unicode((struct rye_span){ kept.data, kept.len }));
}

typedef void (*output_fn)(struct rye_buf *out, const char *name, const char *description);

/* Every named output, declared as a list or as an object; how many there are. */
static size_t each_output(const json_t *outputs, output_fn fn, struct rye_buf *out)
{
	size_t n = 0;
	const char *key;
	json_t *value;

	for (size_t i = 0; i < json_array_size(outputs); i++) {
		const json_t *output = json_array_get(outputs, i);
		const char *name = json_str(output, "name");

		if (!*name)
			continue;
		fn(out, name, json_str(output, "description"));
		n++;
	}
	json_object_foreach((json_t *)outputs, key, value) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		json_python_str(&text, value);
		fn(out, key, json_truthy(value) && text.data ? text.data : "");
		n++;
	}
	return n;
}

static void returns_line(struct rye_buf *out, const char *name, const char *description)
{
	if (*description)
		buf_addf(out, "  <output name=\"%s\">%s</output>\n", name, description);
	else
		buf_addf(out, "  <output name=\"%s\" />\n", name);
}

static void call_entry(struct rye_buf *out, const char *name, const char *description)
{
	if (out->data[out->len - 1] != '{')
		buf_adds(out, ", ");
	buf_addf(out, "\"%s\": \"<%s>\"", name, *description ? description : name);
}

static void put_returns(struct rye_buf *out, const json_t *outputs)
{
	auto_buf struct rye_buf block = RYE_BUF_INIT, call = RYE_BUF_INIT;

	buf_adds(&block, "<returns>\n");
	if (!each_output(outputs, returns_line, &block))
		return;
	buf_adds(&block, "</returns>");
	part_buf(out, &block);
	buf_adds(&call, "When you have completed all steps, return structured results:\n"
			"`rye_execute(item_type=\"tool\", "
			"item_id=\"rye/agent/threads/directive_return\", parameters={");
	each_output(outputs, call_entry, &call);
	buf_adds(&call, "})`");
	part_buf(out, &call);
}

static void put_part_body(struct rye_buf *out, const json_t *meta, const struct interp *in)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	interp_text(in, span_of(json_str(meta, "body")), &text);
	out->failed |= text.failed;
	prompt_part(out, span_strip_unicode((struct rye_span){ text.data, text.len }));
}

void prompt_put(const json_t *meta, const struct interp *in, const char *instruction,
		struct rye_buf *out)
{
	bool tagged;

	prompt_part(out, span_of(instruction ? instruction : default_instruction));
	tagged = prompt_open_tag(out, meta);
	put_preamble(out, span_of(json_str(meta, "preamble")));
	put_part_body(out, meta, in);
	put_returns(out, json_object_get(meta, "outputs"));
	if (tagged)
		prompt_part(out, SPAN("</directive>"));
}

int render_prompt(const struct rye_item *directive, const struct interp *in,
		  const char *instruction, struct rye_blob **ret, struct rye_err *err)
{
	static const struct interp none;
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_json json_t *values = NULL;
	struct interp filled = in ? *in : none;
	struct rye_blob *blob;
	int r = inputs_fill(directive, filled.inputs, &values, err);

	if (r)
		return r;
	filled.inputs = values;
	prompt_put(directive->meta, &filled, instruction, &out);
	blob = buf_blob(&out);
	if (!blob)
		return rye_fail(err, RYE_TOO_BIG,
				"the prompt is too big with its inputs filled in");
	*ret = blob;
	return 0;
}
