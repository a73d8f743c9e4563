/* SPDX-License-Identifier: MIT */
/*
 * The catalogue: what a reader who wants to use the workspace has to know of each item, its
 * reference, one line and its parameters, as a page and as JSON.
 *
 * Made of verified items alone; of a refused one its reference and the reason are told, nothing of
 * its text. Every item is loaded for it, so it is made on a thread that may wait, when it is asked
 * for. Bounded: behind CATALOGUE_MAX bytes the items are counted and not loaded.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "str.h"

#include <stdio.h>

/* Of one form: some 20 000 items. More than that is for searching, not for reading. */
#define CATALOGUE_MAX (4u << 20)
/* Of one item; one with more parameters is named without them. */
#define CATALOGUE_ITEM_MAX (8u << 10)
/* More refused items are counted: what mends them all is in the doctor's list. */
#define CATALOGUE_REFUSED 1000
/* Characters of an item's line: what is told beyond the first sentence is in the item. */
#define CATALOGUE_LINE 240

struct catalogue {
	struct rye *rye;
	const _Atomic int *stop;
	enum rye_kind kind;
	const char *dir;
	struct rye_buf *page, *data; /* of the items that verify */
	struct rye_buf *bad_page, *bad_data; /* of the refused ones */
	bool headed; /* the kind's heading is there */
	size_t more; /* items behind CATALOGUE_MAX */
	size_t refused; /* some of them told */
};

/* One line without what could be taken for markup of ours. */
static void catalogue_put_line(struct rye_buf *buf, struct rye_span text)
{
	struct rye_span all = span_trim(text), line = SPAN("");
	size_t n = 0;

	span_line(&all, &line);
	while (n < line.len && n < CATALOGUE_LINE)
		n++;
	while (n > 0 && n < line.len && ((unsigned char)line.ptr[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		buf_addc(buf, (unsigned char)line.ptr[i] < 0x20 ? ' ' : line.ptr[i]);
	if (n < line.len)
		buf_adds(buf, "…");
}

static struct rye_span catalogue_about(const struct rye_item *item)
{
	static const char *const titles[] = { "title", "name", NULL };
	const json_t *text = meta_description(item);

	if (json_is_string(text) && json_string_length(text))
		return span_of(json_string_value(text));
	return span_of(doc_text(item, titles));
}

/* `name` (type, required): the words of its description are in schema.json. */
static void catalogue_put_parameters(struct rye_buf *page, json_t *list, const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const char *name, *before = " — parameters: ";

	json_object_foreach(properties, name, property) {
		const char *type = json_str(property, "type");
		bool required = json_lists(json_object_get(schema, "required"), name);
		json_t *one = json_object();

		buf_addf(page, "%s`%s` (%s%s)", before, name, *type ? type : "any",
			 required ? ", required" : "");
		before = ", ";
		json_sets(one, "name", name);
		json_sets(one, "type", *type ? type : "any");
		json_set(one, "required", json_boolean(required));
		json_array_append_new(list, one);
	}
}

/* Comma, newline, the object on one line. */
static void catalogue_put_object(struct rye_buf *data, const json_t *object)
{
	buf_adds(data, data->len ? ",\n  " : "\n  ");
	json_put(data, object, false);
}

/* A long item is told without its parameters. */
static void catalogue_put_item(struct catalogue *c, const struct subject *subject, const char *path)
{
	const struct rye_item *item = subject->loaded.item;
	auto_buf struct rye_buf page = { .cap = CATALOGUE_ITEM_MAX };
	auto_buf struct rye_buf line = { .cap = CATALOGUE_ITEM_MAX };
	auto_json json_t *row = json_object();
	json_t *list = json_array();
	auto_json json_t *schema = rye_kind_has(c->kind, RYE_KIND_PARAMETERS) ? meta_schema(item) :
										NULL;

	catalogue_put_line(&line, catalogue_about(item));
	catalogue_put_parameters(&page, list, schema);
	json_set(row, "item_id", json_sprintf("%s:%s", rye_kind_name(c->kind), subject->id));
	json_set(row, "path", json_sprintf("%s/%s", rye_kind_dir(c->kind), path));
	json_sets(row, "description", line.data ? line.data : "");
	if (schema && !page.failed)
		json_set(row, "parameters", json_incref(list));
	json_decref(list);
	buf_addf(c->page, "- `%s:%s`%s%s%s\n", rye_kind_name(c->kind), subject->id,
		 line.len ? " " : "", line.data ? line.data : "",
		 page.failed || !page.data ? "" : page.data);
	catalogue_put_object(c->data, row);
}

static void catalogue_put_refused(struct catalogue *c, const char *id, const char *reason)
{
	auto_json json_t *row = NULL;

	if (c->refused++ >= CATALOGUE_REFUSED)
		return;
	row = json_object();
	json_set(row, "item_id", json_sprintf("%s:%s", rye_kind_name(c->kind), id));
	json_sets(row, "reason", reason);
	buf_addf(c->bad_page, "- `%s:%s` %s\n", rye_kind_name(c->kind), id, reason);
	catalogue_put_object(c->bad_data, row);
}

static bool catalogue_full(const struct catalogue *c)
{
	const size_t room = CATALOGUE_MAX - 4 * CATALOGUE_ITEM_MAX;

	return c->page->len + c->bad_page->len > room || c->data->len + c->bad_data->len > room;
}

static void catalogue_add(struct catalogue *c, const char *id, const char *path)
{
	auto_subject struct subject subject = { 0 };
	const struct rye_ask ask = { c->kind, id, RYE_VIEW_INFO, NULL };
	char reason[REASON_MAX];
	struct rye_err err;

	/* one that has gone meanwhile is not told */
	if (subject_get(c->rye, &ask, &subject, &err))
		return;
	if (!subject.loaded.item) {
		subject_reason(&subject, c->kind, reason);
		catalogue_put_refused(c, subject.id, reason);
		return;
	}
	if (!c->headed)
		buf_addf(c->page, "\n## %s\n\n", rye_kind_dir(c->kind));
	c->headed = true;
	catalogue_put_item(c, &subject, path);
}

static int catalogue_walk(struct catalogue *c, const char *dir, struct rye_err *err);

static int catalogue_on_entry(void *arg, const struct rye_entry *entry)
{
	struct catalogue *c = arg;
	const char *ext = entry->is_dir ? NULL : kind_extension_of(c->kind, entry->name);
	char path[RYE_ID_MAX + RYE_NAME_MAX + 2], id[sizeof(path)];
	struct rye_err ignored;
	int n;

	if (c->stop && *c->stop)
		return 1;
	n = snprintf(path, sizeof(path), "%s%s%s", c->dir, *c->dir ? "/" : "", entry->name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	if (entry->is_dir)
		return catalogue_walk(c, path, &ignored) == -(int)RYE_CANCELLED;
	if (!ext)
		return 0;
	snprintf(id, sizeof(id), "%.*s", n - (int)strlen(ext), path);
	if (entry->has_verdict && entry->verdict != RYE_OK && !rye_unwatched(c->rye, c->kind, path))
		catalogue_put_refused(c, id, entry->reason);
	else if (catalogue_full(c))
		c->more++;
	else
		catalogue_add(c, id, path);
	return 0;
}

static int catalogue_walk(struct catalogue *c, const char *dir, struct rye_err *err)
{
	const char *above = c->dir;
	const struct rye_walk walk = { c->kind, dir, false, catalogue_on_entry, c };
	int r;

	c->dir = dir;
	r = rye_list(c->rye, &walk, err);
	c->dir = above;
	if (c->stop && *c->stop)
		return rye_fail(err, RYE_CANCELLED, "given up");
	return r == -(int)RYE_NOT_FOUND ? 0 : r;
}

static void catalogue_compose(const struct catalogue *c, struct rye_buf *page, struct rye_buf *data)
{
	size_t untold = c->refused - MIN_OF(c->refused, (size_t)CATALOGUE_REFUSED);

	buf_adds(page, "# Catalogue\n\n"
		       "Each item that verifies: its reference, what it is, its parameters. "
		       "`item_id` is for `execute`;\n"
		       "the files are `tools/…`, `directives/…`, `knowledge/…`. The same as JSON: "
		       "`index.json`.\n");
	buf_addspan(page, (struct rye_span){ c->page->data, c->page->len });
	if (c->bad_page->len)
		buf_adds(page, "\n## refused\n\n");
	buf_addspan(page, (struct rye_span){ c->bad_page->data, c->bad_page->len });
	if (untold)
		buf_addf(page, "\n… and %zu more refused ones: `.ryefs/doctor`.\n", untold);
	if (c->more)
		buf_addf(page, "\n… and %zu more, which `ls search/WORDS` finds.\n", c->more);
	buf_adds(data, "{\"items\": [");
	buf_addspan(data, (struct rye_span){ c->data->data, c->data->len });
	buf_adds(data, "\n], \"refused\": [");
	buf_addspan(data, (struct rye_span){ c->bad_data->data, c->bad_data->len });
	buf_addf(data, "\n], \"more\": %zu, \"more_refused\": %zu}\n", c->more, untold);
}

int rye_catalogue(struct rye *rye, const _Atomic int *stop, struct rye_catalogue *ret,
		  struct rye_err *err)
{
	auto_buf struct rye_buf page = RYE_BUF_INIT, data = RYE_BUF_INIT, bad_page = RYE_BUF_INIT,
				bad_data = RYE_BUF_INIT, all_page = RYE_BUF_INIT,
				all_data = RYE_BUF_INIT;
	struct catalogue c = { .rye = rye,
			       .stop = stop,
			       .page = &page,
			       .data = &data,
			       .bad_page = &bad_page,
			       .bad_data = &bad_data };
	int r = 0;

	for (int kind = 0; !r && kind < RYE_KIND__MAX; kind++) {
		if (!rye_kind_has((enum rye_kind)kind, RYE_KIND_RUNS))
			continue;
		c.kind = (enum rye_kind)kind;
		c.headed = false;
		r = catalogue_walk(&c, "", err);
	}
	if (r)
		return r;
	catalogue_compose(&c, &all_page, &all_data);
	*ret = (struct rye_catalogue){ buf_blob(&all_page), buf_blob(&all_data) };
	if (ret->page && ret->data)
		return 0;
	rye_blob_unref(ret->page);
	rye_blob_unref(ret->data);
	return rye_fail(err, RYE_IO, "out of memory");
}
