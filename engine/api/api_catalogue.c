/* SPDX-License-Identifier: MIT */
/*
 * The catalogue: what a reader has to know of each item to use the workspace, its
 * reference, one line and its parameters, as a page and as JSON.
 *
 * Made of verified items alone; of a refused one its reference and the reason are told, nothing of
 * its text. Every item is loaded for the first one, so it is made on a thread that may wait, when it
 * is asked for; the next one takes over what it says of the items that are what they were. Bounded:
 * behind CATALOGUE_MAX bytes the items are counted and not loaded.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "memory.h"
#include "str.h"

#include <stdio.h>
#include <string.h>

/* Of one form: some 20 000 items. More than that is for searching, not for reading. */
#define CATALOGUE_MAX (4u << 20)
/* Of one item; one with more parameters is named without them. */
#define CATALOGUE_ITEM_MAX (8u << 10)
/* More refused items are counted: what mends them all is in the doctor's list. */
#define CATALOGUE_REFUSED 1000
/* Characters of an item's line: what is told beyond the first sentence is in the item. */
#define CATALOGUE_LINE 240

/* Of one item, where its two texts lie in the catalogue. They stand in a blob in the order of the
 * walk, each followed by the path of its file and a NUL. */
struct catalogue_row {
	uint64_t version; /* of struct rye_entry */
	uint32_t kind, page, page_len, data, data_len; /* where, and bytes */
};

struct catalogue {
	struct rye *rye;
	const _Atomic int *stop;
	enum rye_kind kind;
	const char *dir;
	const struct rye_catalogue *old; /* or NULL */
	size_t at; /* in old->rows: no row before it will be wanted */
	struct rye_buf *page, *data, *rows; /* of the items that verify */
	bool listed; /* an item is in data */
	struct rye_buf *bad_page, *bad_data; /* of the refused ones */
	bool headed; /* the kind's heading is there */
	size_t more; /* items behind CATALOGUE_MAX */
	size_t refused; /* some of them told */
};

/* One line without what could be taken for markup of ours. */
static void catalogue_put_line(struct rye_buf *buf, struct rye_span text)
{
	struct rye_span all = span_trim(text), line = SPAN("");
	size_t n;

	span_line(&all, &line);
	n = line.len > CATALOGUE_LINE ? utf8_start(line.ptr, CATALOGUE_LINE) : line.len;
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

/* ---- what the last catalogue says ---- */

/* As the walk tells them: by names, so that a slash is less than all else. */
static int catalogue_order(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (*a == '/' ? 0 : (unsigned char)*a) - (*b == '/' ? 0 : (unsigned char)*b);
}

/* What the old catalogue says of this version of the item. False: nothing. */
static bool catalogue_find(struct catalogue *c, const char *path, uint64_t version,
			   struct catalogue_row *ret)
{
	const struct rye_blob *rows = c->old ? c->old->rows : NULL;
	int order = -1;

	while (rows && order < 0 && c->at < rows->len) {
		const char *name = rows->data + c->at + sizeof(*ret);

		memcpy(ret, rows->data + c->at, sizeof(*ret));
		order = ret->kind == c->kind ? catalogue_order(name, path) :
					       (int)ret->kind - (int)c->kind;
		if (order <= 0)
			c->at += sizeof(*ret) + strlen(name) + 1;
	}
	return !order && version && ret->version == version;
}

static void catalogue_keep(struct catalogue *c, const char *path, const struct catalogue_row *row)
{
	buf_add(c->rows, (const char *)row, sizeof(*row));
	buf_add(c->rows, path, strlen(path) + 1);
}

/* Its heading and the comma are there; the rest of row is where its texts begin. */
static void catalogue_begin(struct catalogue *c, struct catalogue_row *row)
{
	if (!c->headed)
		buf_addf(c->page, "\n## %s\n\n", rye_kind_dir(c->kind));
	buf_adds(c->data, c->listed ? ",\n  " : "\n  ");
	c->headed = c->listed = true;
	row->kind = c->kind;
	row->page = (uint32_t)c->page->len;
	row->data = (uint32_t)c->data->len;
}

static void catalogue_end(struct catalogue *c, const char *path, struct catalogue_row *row)
{
	row->page_len = (uint32_t)c->page->len - row->page;
	row->data_len = (uint32_t)c->data->len - row->data;
	catalogue_keep(c, path, row);
}

static void catalogue_copy(struct catalogue *c, const char *path, const struct catalogue_row *old)
{
	struct catalogue_row row = { .version = old->version };

	catalogue_begin(c, &row);
	buf_add(c->page, c->old->page->data + old->page, old->page_len);
	buf_add(c->data, c->old->data->data + old->data, old->data_len);
	catalogue_end(c, path, &row);
}

/* ---- items ---- */

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
	json_put(c->data, row, false);
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
	buf_adds(c->bad_data, c->bad_data->len ? ",\n  " : "\n  ");
	json_put(c->bad_data, row, false);
}

static bool catalogue_full(const struct catalogue *c)
{
	const size_t room = CATALOGUE_MAX - 4 * CATALOGUE_ITEM_MAX;

	return c->page->len + c->bad_page->len > room || c->data->len + c->bad_data->len > room;
}

/* 0: it is refused, or gone. */
static uint64_t catalogue_version(const struct catalogue *c, const char *path)
{
	struct rye_stat st;
	struct rye_err ignored;

	if (rye_lookup(c->rye, c->kind, path, &st, &ignored) || st.verdict != RYE_OK)
		return 0;
	return st.version;
}

static void catalogue_add(struct catalogue *c, const char *id, const char *path)
{
	auto_subject struct subject subject = { 0 };
	const struct rye_ask ask = { c->kind, id, RYE_VIEW_INFO, NULL };
	struct catalogue_row row = { .version = catalogue_version(c, path) };
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
	/* the version of another text than the one that was loaded stands for nothing */
	if (row.version != catalogue_version(c, path))
		row.version = 0;
	catalogue_begin(c, &row);
	catalogue_put_item(c, &subject, path);
	catalogue_end(c, path, &row);
}

static int catalogue_walk(struct catalogue *c, const char *dir, struct rye_err *err);

static int catalogue_on_entry(void *arg, const struct rye_entry *entry)
{
	struct catalogue *c = arg;
	const char *ext = entry->is_dir ? NULL : kind_extension_of(c->kind, entry->name);
	char path[RYE_ID_MAX + RYE_NAME_MAX + 2], id[sizeof(path)];
	struct catalogue_row old;
	struct rye_err ignored;
	bool told;
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
	told = entry->has_verdict && !rye_unwatched(c->rye, c->kind, path);
	if (told && entry->verdict != RYE_OK)
		catalogue_put_refused(c, id, entry->reason);
	else if (catalogue_full(c))
		c->more++;
	else if (told && catalogue_find(c, path, entry->version, &old))
		catalogue_copy(c, path, &old);
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

static void catalogue_open(struct catalogue *c)
{
	buf_adds(c->page,
		 "# Catalogue\n\n"
		 "Each item that verifies: its reference, what it is, its parameters. "
		 "`item_id` is for `execute`;\n"
		 "the files are `tools/…`, `directives/…`, `knowledge/…`. The same as JSON: "
		 "`index.json`.\n");
	buf_adds(c->data, "{\"items\": [");
}

static void catalogue_close(struct catalogue *c)
{
	size_t untold = c->refused - MIN_OF(c->refused, (size_t)CATALOGUE_REFUSED);

	if (c->bad_page->len)
		buf_adds(c->page, "\n## refused\n\n");
	buf_addspan(c->page, (struct rye_span){ c->bad_page->data, c->bad_page->len });
	if (untold)
		buf_addf(c->page, "\n… and %zu more refused ones: `.ryefs/doctor`.\n", untold);
	if (c->more)
		buf_addf(c->page, "\n… and %zu more, which `ls search/WORDS` finds.\n", c->more);
	buf_adds(c->data, "\n], \"refused\": [");
	buf_addspan(c->data, (struct rye_span){ c->bad_data->data, c->bad_data->len });
	buf_addf(c->data, "\n], \"more\": %zu, \"more_refused\": %zu}\n", c->more, untold);
}

void rye_catalogue_done(struct rye_catalogue *catalogue)
{
	rye_blob_unref(catalogue->page);
	rye_blob_unref(catalogue->data);
	rye_blob_unref(catalogue->rows);
}

int rye_catalogue(struct rye *rye, const _Atomic int *stop, const struct rye_catalogue *old,
		  struct rye_catalogue *ret, struct rye_err *err)
{
	auto_buf struct rye_buf page = RYE_BUF_INIT, data = RYE_BUF_INIT, rows = RYE_BUF_INIT,
				bad_page = RYE_BUF_INIT, bad_data = RYE_BUF_INIT;
	struct catalogue c = { .rye = rye,
			       .stop = stop,
			       .old = old,
			       .page = &page,
			       .data = &data,
			       .rows = &rows,
			       .bad_page = &bad_page,
			       .bad_data = &bad_data };
	unsigned long since = memory_failures();
	int r = 0;

	buf_adds(&rows, "");
	catalogue_open(&c);
	for (int kind = 0; !r && kind < RYE_KIND__MAX; kind++) {
		if (!rye_kind_has((enum rye_kind)kind, RYE_KIND_RUNS))
			continue;
		c.kind = (enum rye_kind)kind;
		c.headed = false;
		r = catalogue_walk(&c, "", err);
	}
	catalogue_close(&c);
	r = memory_result(since, r, err);
	if (r)
		return r;
	*ret = (struct rye_catalogue){ buf_blob(&page), buf_blob(&data), buf_blob(&rows) };
	if (ret->page && ret->data && ret->rows)
		return 0;
	rye_catalogue_done(ret);
	return rye_fail(err, RYE_IO, "out of memory");
}
