/* SPDX-License-Identifier: MIT */
/*
 * From a verified item to what a search looks at. Fields: title and name stand for each other and
 * for the file's stem, tags count with the category, the preview is the beginning of the text;
 * behind the fields the whole body follows. Pure.
 */
#include "search/search.h"

#include "item/item.h"
#include "memory.h"
#include "scope.h"
#include "search/search_inner.h"
#include "space/space.h"
#include "str.h"

#include <stddef.h>

#define PREVIEW_CHARS 200
/* Of one body: what lies behind is not found, memory stays bounded. */
#define DOC_BODY_MAX (256u << 10)

const char *doc_text(const struct rye_item *item, const char *const names[])
{
	for (; *names; names++) {
		const char *text = json_string_value(meta_get(item, *names));

		if (text && *text)
			return text;
	}
	return "";
}

/* At most n characters from the start. */
static struct rye_span first_chars(struct rye_span text, size_t n)
{
	size_t len = 0, step;
	uint32_t cp;

	while (n-- && len < text.len) {
		step = utf8_next(span_skip(text, len), &cp);
		len += step ? step : 1;
	}
	return (struct rye_span){ text.ptr, len < text.len ? len : text.len };
}

static struct rye_span document_body_of(const struct rye_item *item)
{
	const char *key = rye_kind_has(item->kind, RYE_KIND_ELEMENT) ? "content" : "body";
	const char *text = rye_kind_has(item->kind, RYE_KIND_PROCESS) ?
				   NULL :
				   json_string_value(json_object_get(item->meta, key));

	return text && *text ? span_of(text) : item->body;
}

struct rye_span doc_preview(const struct rye_item *item)
{
	return first_chars(document_body_of(item), PREVIEW_CHARS);
}

/*
 * The format's preview of a tool is the beginning of its file, most of which is the signature
 * line: what counts is the rest of those characters.
 */
static struct rye_span matched_preview(const struct rye_item *item)
{
	struct rye_span file = { item->text->data, item->text->len }, start;
	size_t header = (size_t)(item->body.ptr - item->text->data);

	if (!rye_kind_has(item->kind, RYE_KIND_PROCESS))
		return doc_preview(item);
	start = first_chars(file, PREVIEW_CHARS);
	return header < start.len ? span_skip(start, header) : SPAN("");
}

struct draft {
	struct rye_buf text;
	struct rye_span sieve; /* empty: the body is in text */
	struct doc doc; /* last, for it ends in its text */
};

static void document_put_field(struct draft *draft, enum doc_field field, struct rye_span text)
{
	size_t start = draft->text.len;

	query_lower(text, &draft->text);
	draft->doc.start[field] = (uint32_t)start;
	draft->doc.len[field] = (uint32_t)(draft->text.len - start);
	buf_addc(&draft->text, ' ');
}

static void put_category(struct draft *draft, const struct rye_item *item)
{
	static const char *const names[] = { "category", NULL };
	const json_t *tags = meta_get(item, "tags");
	auto_buf struct rye_buf all = RYE_BUF_INIT;

	buf_adds(&all, doc_text(item, names));
	for (size_t i = 0; i < json_array_size(tags); i++) {
		const char *tag = json_string_value(json_array_get(tags, i));

		if (tag)
			buf_addf(&all, " %s", tag);
	}
	document_put_field(draft, DOC_CATEGORY, (struct rye_span){ all.data, all.len });
}

static struct rye_blob *document_finish(struct draft *draft, const char *title, const char *id)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_buf *text = &draft->text;

	draft->doc.all = draft->doc.title = (uint32_t)text->len;
	buf_add(text, title, strlen(title) + 1);
	draft->doc.id = (uint32_t)text->len;
	buf_add(text, id, strlen(id) + 1);
	draft->doc.sieve = (uint32_t)text->len;
	draft->doc.sieve_len = (uint32_t)draft->sieve.len;
	buf_addspan(text, draft->sieve);
	buf_add(&out, (const char *)&draft->doc, offsetof(struct doc, text));
	buf_addspan(&out, (struct rye_span){ text->data, text->len });
	out.failed |= text->failed;
	buf_done(text);
	return buf_blob(&out);
}

static struct rye_span first_bytes(struct rye_span body)
{
	return (struct rye_span){ body.ptr, body.len < DOC_BODY_MAX ? body.len : DOC_BODY_MAX };
}

struct rye_blob *doc_make(const struct rye_item *item)
{
	static const char *const names[] = { "name", NULL };
	static const char *const about[] = { "description", "tool_description", NULL };
	static const char *const titles[] = { "title", NULL };
	const char *name = rye_kind_has(item->kind, RYE_KIND_PROCESS) ? "" : doc_text(item, names);
	const char *title = doc_text(item, titles), *stem = space_stem(item->id);
	struct rye_span body = first_bytes(item->body);
	struct draft draft = { 0 };

	document_put_field(&draft, DOC_TITLE, span_of(*title ? title : *name ? name : stem));
	document_put_field(&draft, DOC_NAME, span_of(*name ? name : stem));
	document_put_field(&draft, DOC_DESCRIPTION, span_of(doc_text(item, about)));
	put_category(&draft, item);
	document_put_field(&draft, DOC_PREVIEW, matched_preview(item));
	query_lower(body, &draft.text);
	return document_finish(&draft, *title ? title : *name ? name : stem, item->id);
}

struct rye_blob *doc_make_attached(const struct rye_item *item, const struct attached *attached)
{
	struct rye_span body = first_bytes(attached->body);
	struct draft draft = { 0 };

	document_put_field(&draft, DOC_TITLE, span_of(item->id));
	document_put_field(&draft, DOC_NAME, span_of(item->id));
	document_put_field(&draft, DOC_DESCRIPTION, span_of(attached->about));
	document_put_field(&draft, DOC_CATEGORY, SPAN(""));
	document_put_field(&draft, DOC_PREVIEW, first_chars(body, PREVIEW_CHARS));
	query_lower(body, &draft.text);
	return document_finish(&draft, item->id, item->id);
}

struct rye_blob *doc_without_body(struct rye_blob *whole)
{
	const struct doc *doc = doc_of(whole);
	size_t fields = (size_t)doc->start[DOC_PREVIEW] + doc->len[DOC_PREVIEW] + 1;
	size_t size = sieve_size(doc->all);
	auto_free unsigned char *sieve = NULL;
	struct draft draft = { .doc = *doc };

	if (doc->all - fields <= size)
		return rye_blob_ref(whole);
	sieve = memory_note(calloc(1, size));
	if (!sieve)
		return NULL;
	sieve_fill(sieve, size, (struct rye_span){ doc->text, doc->all });
	draft.sieve = (struct rye_span){ (const char *)sieve, size };
	buf_add(&draft.text, doc->text, fields);
	return document_finish(&draft, doc->text + doc->title, doc->text + doc->id);
}

struct rye_blob *doc_refused(const char *id, enum rye_code code)
{
	const char *stem = space_stem(id);
	struct draft draft = { .doc.code = (uint8_t)code };

	document_put_field(&draft, DOC_TITLE, span_of(stem));
	document_put_field(&draft, DOC_NAME, span_of(stem));
	document_put_field(&draft, DOC_DESCRIPTION, SPAN(""));
	document_put_field(&draft, DOC_CATEGORY, space_category(id));
	document_put_field(&draft, DOC_PREVIEW, SPAN(""));
	return document_finish(&draft, stem, id);
}
