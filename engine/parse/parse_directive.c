/* SPDX-License-Identifier: MIT */
/*
 * Directives (docs/items.md): preamble, one XML element in a fence, body. Where the element
 * stands is decided by directive_shape(), the same for verifying and for parsing; here it is
 * read. When the XML is at fault the map still has name, version, preamble and body, never
 * permissions. Pure.
 */
#include "format/format.h"
#include "parse/parse.h"
#include "parse/parse_inner.h"

#include "str.h"

#include <strings.h>

static void set_span(json_t *map, const char *key, struct rye_span s)
{
	s = span_strip_unicode(s);
	json_set(map, key, json_stringn(s.ptr ? s.ptr : "", s.len));
}

static json_t *parse_directive_declared(const json_t *node, bool with_default)
{
	const json_t *attrs = json_object_get(node, "attrs");
	const json_t *type = json_object_get(attrs, "type");
	json_t *value = json_object_get(attrs, "default");
	json_t *map = json_object();

	json_sets(map, "name", json_str(attrs, "name"));
	json_sets(map, "type", type ? json_string_value(type) : "string");
	json_set(map, "required", json_boolean(!strcasecmp(json_str(attrs, "required"), "true")));
	if (with_default && value)
		json_object_set(map, "default", value);
	if (*xml_text(node))
		json_sets(map, "description", xml_text(node));
	return map;
}

/* <inputs> of <input>, <outputs> of <output>; absent when there are none. */
static void put_declarations(const json_t *root, json_t *map, const char *plural, const char *tag)
{
	const json_t *kids = json_object_get(xml_kid(root, plural), "kids");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(kids); i++)
		if (!strcmp(xml_tag(json_array_get(kids, i)), tag))
			json_array_append_new(list,
					      parse_directive_declared(json_array_get(kids, i),
								       !strcmp(tag, "input")));
	if (json_array_size(list))
		json_object_set(map, plural, list);
	json_decref(list);
}

static void put_actions(const json_t *root, json_t *map)
{
	const json_t *kids = json_object_get(root, "kids");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);

		if (!strcmp(xml_tag(kid), "metadata"))
			continue;
		if (directive_primary(xml_tag(kid)))
			json_array_append_new(list, directive_action(kid, false));
		directive_actions(kid, list);
	}
	if (json_array_size(list))
		json_object_set(map, "actions", list);
	json_decref(list);
}

static void root_attributes(const json_t *root, json_t *map)
{
	static const char *const names[] = { "name", "version", "extends" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *value = json_object_get(json_object_get(root, "attrs"), names[i]);

		if (value)
			json_object_set(map, names[i], value);
	}
}

static int read_element(const json_t *root, json_t *map, struct rye_err *err)
{
	const json_t *description = xml_kid(root, "description");
	int r;

	if (strcmp(xml_tag(root), "directive"))
		return rye_fail(err, RYE_UNPARSABLE,
				"the root element is <%.80s>, wanted <directive>", xml_tag(root));
	if (json_object_get(description, "text"))
		json_sets(map, "description", xml_text(description));
	json_sets(map, "category", "");
	r = directive_metadata(xml_kid(root, "metadata"), map, err);
	if (r) {
		json_object_del(map, "permissions");
		json_object_del(map, "acknowledged_risks");
		return r;
	}
	put_declarations(root, map, "inputs", "input");
	put_declarations(root, map, "outputs", "output");
	put_actions(root, map);
	return 0;
}

static void read_xml(struct rye_span xml, json_t *map, struct rye_err *err)
{
	auto_buf struct rye_buf cut = RYE_BUF_INIT;
	struct rye_err fault = { 0 };
	auto_json json_t *root = NULL;

	json_object_set_new(map, "templates", directive_opaque(xml, &cut, &fault));
	if (!fault.code)
		root = xml_parse((struct rye_span){ cut.data, cut.len }, &fault);
	root_attributes(root, map);
	if (!fault.code)
		read_element(root, map, &fault);
	if (fault.code && err)
		*err = fault;
}

json_t *parse_shaped(struct rye_span text, const struct directive_shape *shape, struct rye_err *err)
{
	json_t *map;

	if (text_guard(text, err))
		return NULL;
	map = json_object();
	set_span(map, "content", shape->xml);
	set_span(map, "preamble", shape->preamble);
	set_span(map, "body", shape->body);
	read_xml(shape->xml, map, err);
	return map;
}

json_t *parse_directive(struct rye_span text, struct rye_err *err)
{
	struct directive_shape shape;

	return directive_shape(text, &shape, err) ? NULL : parse_shaped(text, &shape, err);
}
