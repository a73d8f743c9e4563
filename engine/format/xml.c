/* SPDX-License-Identifier: MIT */
/*
 * XML by expat, into JSON nodes. Document types are refused, so there are no entities to
 * define, expand or fetch; nodes and nesting are bounded (RYE_XML_NODES, RYE_XML_DEPTH).
 * Pure; only directives are XML here.
 */
#include "format/format.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <expat.h>

struct xml {
	XML_Parser parser;
	json_t *root;
	json_t *open[RYE_XML_DEPTH]; /* borrowed from root */
	struct rye_buf text; /* of the innermost element, until its first child or end */
	int depth, nodes;
	bool collecting; /* text still belongs to open[depth - 1] */
	const char *refusal; /* ours, as opposed to expat's */
};

static void xml_refuse(struct xml *x, const char *why)
{
	if (!x->refusal)
		x->refusal = why;
	XML_StopParser(x->parser, XML_FALSE);
}

/* The text before the first child is complete. */
static void xml_settle(struct xml *x)
{
	struct rye_span s = span_strip_unicode((struct rye_span){ x->text.data, x->text.len });

	if (!x->collecting)
		return;
	x->collecting = false;
	if (x->text.len)
		json_object_set_new(x->open[x->depth - 1], "text", json_stringn(s.ptr, s.len));
}

static json_t *attributes(const char **pairs)
{
	json_t *attrs = json_object();

	for (; *pairs; pairs += 2)
		json_sets(attrs, pairs[0], pairs[1]);
	return attrs;
}

static void xml_on_start(void *arg, const char *tag, const char **attrs)
{
	struct xml *x = arg;
	json_t *node;

	if (x->refusal)
		return;
	if (x->depth == RYE_XML_DEPTH) {
		xml_refuse(x, "elements are nested too deep");
		return;
	}
	x->nodes += 1 + XML_GetSpecifiedAttributeCount(x->parser) / 2;
	if (x->nodes > RYE_XML_NODES) {
		xml_refuse(x, "there are too many elements and attributes");
		return;
	}
	node = json_pack("{s:s, s:o, s:[]}", "tag", tag, "attrs", attributes(attrs), "kids");
	if (!node) {
		xml_refuse(x, "a name or an attribute cannot be represented");
		return;
	}
	if (x->depth) {
		xml_settle(x);
		json_array_append_new(json_object_get(x->open[x->depth - 1], "kids"), node);
	} else {
		x->root = node;
	}
	x->open[x->depth++] = node;
	buf_clear(&x->text);
	x->collecting = true;
}

static void xml_on_end(void *arg, const char *tag)
{
	struct xml *x = arg;

	if (x->refusal)
		return; /* expat may still report the end of an element we refused */
	xml_settle(x);
	x->depth--;
}

static void on_text(void *arg, const char *ptr, int len)
{
	struct xml *x = arg;

	if (x->collecting && !x->refusal)
		buf_add(&x->text, ptr, (size_t)len);
}

static void on_doctype(void *arg, const char *name, const char *sys, const char *pub, int internal)
{
	xml_refuse(arg, "document types are not allowed");
}

static int xml_run(struct xml *x, struct rye_span text, struct rye_err *err)
{
	enum XML_Status status = XML_Parse(x->parser, text.ptr, (int)text.len, 1);

	if (x->refusal)
		return rye_fail(err, RYE_UNPARSABLE, "Invalid XML: %s: line %lu", x->refusal,
				XML_GetCurrentLineNumber(x->parser));
	if (status == XML_STATUS_OK && !x->text.failed)
		return 0;
	return rye_fail(err, RYE_UNPARSABLE, "Invalid XML: %s: line %lu, column %lu",
			XML_ErrorString(XML_GetErrorCode(x->parser)),
			XML_GetCurrentLineNumber(x->parser), XML_GetCurrentColumnNumber(x->parser));
}

json_t *xml_parse(struct rye_span text, struct rye_err *err)
{
	struct xml x = { .parser = XML_ParserCreateNS("UTF-8", '|') };

	if (!x.parser) {
		memory_fail(err);
		return NULL;
	}
	XML_SetUserData(x.parser, &x);
	XML_SetElementHandler(x.parser, xml_on_start, xml_on_end);
	XML_SetCharacterDataHandler(x.parser, on_text);
	XML_SetStartDoctypeDeclHandler(x.parser, on_doctype);
	if (text.len <= RYE_ITEM_MAX)
		xml_run(&x, text, err);
	else
		rye_fail(err, RYE_TOO_BIG, "XML is too big");
	XML_ParserFree(x.parser);
	buf_done(&x.text);
	return x.root;
}

const json_t *xml_kid(const json_t *node, const char *tag)
{
	const json_t *kids = json_object_get(node, "kids");

	for (size_t i = 0; i < json_array_size(kids); i++)
		if (!strcmp(xml_tag(json_array_get(kids, i)), tag))
			return json_array_get(kids, i);
	return NULL;
}

const char *xml_tag(const json_t *node)
{
	return json_str(node, "tag");
}

const char *xml_text(const json_t *node)
{
	return json_str(node, "text");
}
