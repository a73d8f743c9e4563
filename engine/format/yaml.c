/* SPDX-License-Identifier: MIT */
/*
 * YAML documents → JSON, from libyaml's events and with our own stack: nesting, nodes and
 * bytes are counted after alias expansion, so a small text cannot mean a huge value. An alias
 * shares the anchored value (documents are frozen); merge keys make a new mapping. Duplicate
 * keys: the last wins. Keys that are not text are spelled as JSON spells them. Pure, no lock.
 */
#include "format/format.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <yaml.h>

struct frame {
	json_t *value; /* the container being filled */
	json_t *merges; /* mappings named by "<<", in the order in which they apply */
	char *key; /* of the pair whose value comes next */
	bool merge_key; /* that pair's key is "<<" */
	char *anchor;
	size_t nodes, bytes; /* the loader's counts when the container began */
};

struct loader {
	yaml_parser_t parser;
	struct frame stack[RYE_YAML_DEPTH];
	int depth;
	json_t *anchors; /* name → value */
	json_t *costs; /* name → [nodes, bytes] */
	json_t *root;
	size_t nodes, bytes;
	bool message; /* a message to a control file, not an item */
	struct rye_err *err;
};

static int fail_at(struct loader *ld, const yaml_event_t *event, const char *what)
{
	return rye_fail(ld->err, RYE_UNPARSABLE, "%s (line %zu, column %zu)", what,
			event->start_mark.line + 1, event->start_mark.column + 1);
}

static void frame_done(struct frame *frame)
{
	json_decref(frame->value);
	json_decref(frame->merges);
	free(frame->key);
	free(frame->anchor);
	memset(frame, 0, sizeof(*frame));
}

static int yaml_count(struct loader *ld, const yaml_event_t *event, size_t nodes, size_t bytes)
{
	ld->nodes += nodes;
	ld->bytes += bytes;
	if (ld->nodes > RYE_YAML_NODES)
		return rye_fail(ld->err, RYE_UNPARSABLE,
				"YAML has more than %d nodes after alias expansion (line %zu)",
				RYE_YAML_NODES, event->start_mark.line + 1);
	if (ld->bytes > RYE_YAML_BYTES)
		return rye_fail(ld->err, RYE_UNPARSABLE,
				"YAML has more than %u bytes after alias expansion (line %zu)",
				RYE_YAML_BYTES, event->start_mark.line + 1);
	return 0;
}

/* Remembers a finished value under its anchor, with what it cost. */
static void anchor_set(struct loader *ld, const char *name, json_t *value, const struct frame *at)
{
	if (!name)
		return;
	json_object_set(ld->anchors, name, value);
	json_object_set_new(ld->costs, name,
			    json_pack("[I, I]", (json_int_t)(ld->nodes - at->nodes),
				      (json_int_t)(ld->bytes - at->bytes)));
}

static int set_key(struct loader *ld, const yaml_event_t *event, json_t *key)
{
	struct frame *top = &ld->stack[ld->depth - 1];
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (json_is_string(key) && strlen(json_string_value(key)) != json_string_length(key))
		return fail_at(ld, event, "a key has a NUL");
	if (json_is_object(key) || json_is_array(key))
		return fail_at(ld, event, "a key is a list or a mapping, wanted a scalar");
	if (json_is_string(key))
		buf_adds(&text, json_string_value(key));
	else if (json_is_real(key))
		json_python_float(&text, json_real_value(key));
	else
		json_put(&text, key, false);
	top->key = buf_steal(&text);
	return top->key ? 0 : fail_at(ld, event, "out of memory");
}

/* What "<<" names: a mapping, or a list of mappings of which the first one wins. */
static int add_merge(struct loader *ld, const yaml_event_t *event, json_t *value)
{
	struct frame *top = &ld->stack[ld->depth - 1];
	size_t n = json_is_array(value) ? json_array_size(value) : 1;

	if (!top->merges)
		top->merges = json_array();
	for (size_t i = n; i-- > 0;) {
		json_t *source = json_is_array(value) ? json_array_get(value, i) : value;

		if (!json_is_object(source))
			return fail_at(ld, event, "a merge key wants a mapping");
		if (yaml_count(ld, event, json_object_size(source), 0))
			return -1;
		json_array_append(top->merges, source);
	}
	return 0;
}

/* Takes value (a new reference) to where it belongs: root, list element, key or pair. */
static int yaml_put(struct loader *ld, const yaml_event_t *event, json_t *taken)
{
	auto_json json_t *value = taken;
	struct frame *top = ld->depth ? &ld->stack[ld->depth - 1] : NULL;
	int r = 0;

	if (!value)
		return fail_at(ld, event, "out of memory");
	if (!top) {
		ld->root = steal(&value);
		return 0;
	}
	if (json_is_array(top->value))
		return json_array_append(top->value, value) ? fail_at(ld, event, "out of memory") :
							      0;
	if (!top->key && !top->merge_key)
		return set_key(ld, event, value);
	if (top->merge_key)
		r = add_merge(ld, event, value);
	else if (ld->message && json_object_get(top->value, top->key))
		r = rye_fail(ld->err, RYE_UNPARSABLE,
			     "the name %.80s stands there twice (line %zu)", top->key,
			     event->start_mark.line + 1);
	else if (json_object_set(top->value, top->key, value))
		r = fail_at(ld, event, "out of memory");
	top->merge_key = false;
	free(steal(&top->key));
	return r;
}

static bool wants_key(const struct loader *ld)
{
	const struct frame *top = ld->depth ? &ld->stack[ld->depth - 1] : NULL;

	return top && json_is_object(top->value) && !top->key && !top->merge_key;
}

/*
 * In a message a date, 12:30 and a number that a double would round stay the text that was
 * written, and a parameter called "no" keeps its name.
 */
static json_t *as_written(const struct loader *ld, struct rye_span text, json_t *taken)
{
	auto_json json_t *value = taken;
	bool odd = json_is_string(value) ||
		   (json_is_number(value) && memchr(text.ptr, ':', text.len)) ||
		   (json_is_real(value) && !memchr(text.ptr, '.', text.len));

	if (value && (wants_key(ld) || odd))
		return json_stringn(text.ptr, text.len);
	return steal(&value);
}

static int on_scalar(struct loader *ld, const yaml_event_t *event)
{
	struct rye_span text = { (const char *)event->data.scalar.value,
				 event->data.scalar.length };
	const char *tag = (const char *)event->data.scalar.tag;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct frame before = { .nodes = ld->nodes, .bytes = ld->bytes };
	json_t *value;

	if (yaml_count(ld, event, 1, text.len))
		return -1;
	if (wants_key(ld) && plain && !tag && span_eq(text, "<<")) {
		ld->stack[ld->depth - 1].merge_key = true;
		return 0;
	}
	value = yaml_scalar(text, tag, plain);
	if (ld->message && plain && !tag)
		value = as_written(ld, text, value);
	if (!value)
		return rye_fail(ld->err, RYE_UNPARSABLE,
				"a scalar does not fit its tag %.80s (line %zu)", tag ? tag : "",
				event->start_mark.line + 1);
	anchor_set(ld, (const char *)event->data.scalar.anchor, value, &before);
	return yaml_put(ld, event, value);
}

static int on_alias(struct loader *ld, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	json_t *value = json_object_get(ld->anchors, name), *cost;

	if (!value)
		return rye_fail(ld->err, RYE_UNPARSABLE,
				"alias *%.80s names nothing that is complete (line %zu)", name,
				event->start_mark.line + 1);
	cost = json_object_get(ld->costs, name);
	if (yaml_count(ld, event, (size_t)json_integer_value(json_array_get(cost, 0)),
		       (size_t)json_integer_value(json_array_get(cost, 1))))
		return -1;
	return yaml_put(ld, event, json_incref(value));
}

static bool tag_fits(const char *tag, bool list)
{
	static const char *const lists[] = { "seq", "omap", "pairs", NULL };
	static const char *const maps[] = { "map", "set", NULL };
	static const char common[] = "tag:yaml.org,2002:";

	if (!tag || !strcmp(tag, "!"))
		return true;
	if (strncmp(tag, common, sizeof(common) - 1))
		return false;
	for (const char *const *name = list ? lists : maps; *name; name++)
		if (!strcmp(tag + sizeof(common) - 1, *name))
			return true;
	return false;
}

static int yaml_on_start(struct loader *ld, const yaml_event_t *event, bool list)
{
	const yaml_char_t *tag = list ? event->data.sequence_start.tag :
					event->data.mapping_start.tag;
	const yaml_char_t *anchor = list ? event->data.sequence_start.anchor :
					   event->data.mapping_start.anchor;
	struct frame *top;

	if (ld->depth == RYE_YAML_DEPTH)
		return fail_at(ld, event, "YAML is nested too deep");
	if (wants_key(ld))
		return fail_at(ld, event, "a key is a list or a mapping, wanted a scalar");
	if (!tag_fits((const char *)tag, list))
		return rye_fail(ld->err, RYE_UNPARSABLE, "unknown tag %.80s (line %zu)", tag,
				event->start_mark.line + 1);
	top = &ld->stack[ld->depth++];
	top->value = list ? json_array() : json_object();
	top->anchor = anchor ? memory_note(strdup((const char *)anchor)) : NULL;
	top->nodes = ld->nodes;
	top->bytes = ld->bytes;
	return yaml_count(ld, event, 1, 0);
}

/* Own pairs over merged ones. */
static json_t *merged(const struct frame *frame)
{
	json_t *whole = json_object(), *source;
	size_t i;

	json_array_foreach(frame->merges, i, source) {
		json_object_update(whole, source);
	}
	json_object_update(whole, frame->value);
	return whole;
}

static int yaml_on_end(struct loader *ld, const yaml_event_t *event)
{
	struct frame frame = ld->stack[--ld->depth];
	int r;

	memset(&ld->stack[ld->depth], 0, sizeof(frame));
	if (frame.merges) {
		json_t *whole = merged(&frame);

		json_decref(frame.value);
		frame.value = whole;
	}
	if (frame.value)
		anchor_set(ld, frame.anchor, frame.value, &frame);
	r = yaml_put(ld, event, steal(&frame.value));
	frame_done(&frame);
	return r;
}

static int yaml_on_event(struct loader *ld, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(ld, event);
	case YAML_ALIAS_EVENT:
		return on_alias(ld, event);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return yaml_on_start(ld, event, event->type == YAML_SEQUENCE_START_EVENT);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return yaml_on_end(ld, event);
	case YAML_DOCUMENT_START_EVENT:
		return ld->root ? fail_at(ld, event, "a second document, wanted one") : 0;
	default:
		return 0;
	}
}

static int parser_failed(struct loader *ld)
{
	const yaml_parser_t *p = &ld->parser;

	return rye_fail(ld->err, RYE_UNPARSABLE, "%s%s%s (line %zu, column %zu)",
			p->context ? p->context : "", p->context ? ": " : "",
			p->problem ? p->problem : "out of memory", p->problem_mark.line + 1,
			p->problem_mark.column + 1);
}

static int run_events(struct loader *ld)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	int r = 0;

	while (!r && type != YAML_STREAM_END_EVENT) {
		yaml_event_t event;

		if (!yaml_parser_parse(&ld->parser, &event))
			return parser_failed(ld);
		type = event.type;
		r = yaml_on_event(ld, &event);
		yaml_event_delete(&event);
	}
	return r;
}

static json_t *load_document(struct rye_span text, bool message, struct rye_err *err)
{
	struct loader ld = { .message = message, .err = err };
	int r;

	if (text_guard(text, err))
		return NULL;
	if (!yaml_parser_initialize(&ld.parser)) {
		memory_fail(err);
		return NULL;
	}
	ld.anchors = json_object();
	ld.costs = json_object();
	yaml_parser_set_encoding(&ld.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&ld.parser, (const unsigned char *)(text.ptr ? text.ptr : ""),
				     text.len);
	r = run_events(&ld);
	while (ld.depth)
		frame_done(&ld.stack[--ld.depth]);
	yaml_parser_delete(&ld.parser);
	json_decref(ld.anchors);
	json_decref(ld.costs);
	if (r) {
		json_decref(ld.root);
		return NULL;
	}
	return ld.root ? ld.root : json_null();
}

json_t *parse_yaml(struct rye_span text, struct rye_err *err)
{
	return load_document(text, false, err);
}

json_t *parse_yaml_message(struct rye_span text, struct rye_err *err)
{
	return load_document(text, true, err);
}
