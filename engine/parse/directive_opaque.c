/* SPDX-License-Identifier: MIT */
/*
 * Opaque blocks of a directive: text that is not XML inside <template>, <example> and <raw>. Found
 * textually, outside comments and CDATA sections only, so that a mention of `<template>` in a
 * comment cannot swallow what follows. One pass, linear in the text. Pure; called by
 * parse_directive.c.
 */
#include "parse/parse_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

struct opaque {
	struct rye_span xml;
	struct rye_buf *out;
	json_t *templates; /* placeholder → text */
	json_t *names; /* tag and text → placeholder */
	bool unclosed[3]; /* no closing tag of that row from here on */
	size_t done; /* copied to out so far */
};

static const char *const tags[] = { "template", "example", "raw" };

/* Row of the opaque tag that begins at `at` (a '<'), or -1. */
static int tag_at(struct rye_span xml, size_t at)
{
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		struct rye_span rest = span_skip(xml, at + 1);
		size_t n = strlen(tags[i]);

		if (span_starts(rest, tags[i]) && rest.len > n && strchr(" \t\r\n>/", rest.ptr[n]))
			return (int)i;
	}
	return -1;
}

/* Offset behind the '>' of the tag at `at`; 0: it has none. */
static size_t tag_end(struct rye_span xml, size_t at)
{
	char quote = 0;

	for (; at < xml.len; at++) {
		char c = xml.ptr[at];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '>')
			return at + 1;
	}
	return 0;
}

/* Offset of "</tag" + blanks + ">" at or after `at`; -1: none. */
static ssize_t find_closing(struct rye_span xml, size_t at, const char *tag)
{
	char open[16] = "</";
	ssize_t hit = (ssize_t)at - 1;

	memcpy(open + 2, tag, strlen(tag) + 1);
	while ((hit = span_find(xml, (size_t)hit + 1, open)) >= 0) {
		size_t end = (size_t)hit + strlen(open);

		while (end < xml.len && strchr(" \t\r\n", xml.ptr[end]))
			end++;
		if (end < xml.len && xml.ptr[end] == '>')
			return hit;
	}
	return -1;
}

static void put_placeholder(struct opaque *o, int row, struct rye_span text)
{
	auto_buf struct rye_buf key = RYE_BUF_INIT;
	const char *known;
	char name[48];

	buf_addf(&key, "%s ", tags[row]);
	buf_addspan(&key, text);
	if (key.failed) {
		o->out->failed = true;
		return;
	}
	known = json_string_value(json_object_get(o->names, key.data));
	if (!known) {
		snprintf(name, sizeof(name), "__opaque_%s_%zu__", tags[row],
			 json_object_size(o->templates));
		json_sets(o->names, key.data, name);
		json_set(o->templates, name, json_stringn(text.ptr, text.len));
	}
	buf_adds(o->out, known ? known : name);
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\n')
			buf_addc(o->out, '\n');
}

/* The block at `at`; returns where to go on. */
static size_t step_block(struct opaque *o, size_t at, int row)
{
	size_t inner = tag_end(o->xml, at);
	ssize_t end;

	if (!inner)
		return o->xml.len; /* a tag without an end: not XML, whatever follows */
	if (o->xml.ptr[inner - 2] == '/')
		return inner;
	end = o->unclosed[row] ? -1 : find_closing(o->xml, inner, tags[row]);
	if (end < 0) {
		o->unclosed[row] = true;
		return inner;
	}
	buf_add(o->out, o->xml.ptr + o->done, inner - o->done);
	put_placeholder(o, row, (struct rye_span){ o->xml.ptr + inner, (size_t)end - inner });
	o->done = (size_t)end;
	return (size_t)end + 1;
}

/* Behind the comment or CDATA section at `at`, or 0 when there is none or it does not end. */
static size_t skip_section(struct rye_span xml, size_t at)
{
	struct rye_span rest = span_skip(xml, at);
	ssize_t end = 0;

	if (span_starts(rest, "<!--"))
		end = span_find(xml, at + 4, "-->");
	else if (span_starts(rest, "<![CDATA["))
		end = span_find(xml, at + 9, "]]>");
	if (end < 0)
		return xml.len;
	return end ? (size_t)end + 3 : 0;
}

static void directive_opaque_scan(struct opaque *o)
{
	size_t at = 0;

	while (at < o->xml.len && !o->out->failed) {
		const char *hit = memchr(o->xml.ptr + at, '<', o->xml.len - at);
		size_t behind;
		int row;

		if (!hit)
			break;
		at = (size_t)(hit - o->xml.ptr);
		behind = skip_section(o->xml, at);
		row = behind ? -1 : tag_at(o->xml, at);
		at = behind ? behind : row >= 0 ? step_block(o, at, row) : at + 1;
		if (json_object_size(o->templates) > RYE_XML_NODES)
			o->out->failed = true;
	}
	buf_add(o->out, o->xml.ptr + o->done, o->xml.len - o->done);
}

json_t *directive_opaque(struct rye_span xml, struct rye_buf *out, struct rye_err *err)
{
	struct opaque o = { .xml = xml, .out = out };

	o.templates = json_object();
	o.names = json_object();
	directive_opaque_scan(&o);
	json_decref(o.names);
	if (out->failed)
		rye_fail(err, RYE_UNPARSABLE, "the element has too many opaque blocks");
	return o.templates;
}
