/* SPDX-License-Identifier: MIT */
/*
 * info.json, verify, and what `run` reads as when there is nothing else to tell: what is known of an
 * item, readable for refused ones, too, since that is when one asks. Nothing of a refused item's
 * content is told: its metadata is unverified.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "err.h"
#include "item/item.h"
#include "memory.h"
#include "str.h"

#include <stdio.h>

#define SOURCES_MAX 64

void subject_done(struct subject *subject)
{
	loaded_done(&subject->loaded);
	free(subject->glance);
}

static void take_loaded(struct subject *subject)
{
	const struct rye_item *item = subject->loaded.item;

	subject->verdict = &item->verdict;
	subject->space = item->space;
	subject->id = item->id;
	subject->path = item->path;
	subject->ext = item->ext;
}

/* What cannot even be looked at (a link to nowhere, a FIFO) has its name and the reason. */
static void only_the_name(const struct space *space, const struct index_item *item,
			  struct glance *ret)
{
	*ret = (struct glance){ .space = space, .ext = item->ext };
	snprintf(ret->id, sizeof(ret->id), "%s", item->id);
	snprintf(ret->path, sizeof(ret->path), "%s/%.900s%s", rye_kind_dir(item->kind), item->id,
		 item->ext);
}

static int take_glance(struct rye *rye, const struct rye_ask *ask, struct subject *subject,
		       struct rye_err *err)
{
	struct item_ask where = { .kind = ask->kind, .id = ask->id };
	struct glance *glance = calloc(1, sizeof(*glance));
	struct index_item item;
	bool listed;

	subject->glance = glance;
	if (!glance)
		return memory_fail(err);
	/* The index knows the winner; a bad file in front of it may be no item at all. */
	listed = rye->built && index_item(rye->index, ask->kind, ask->id, &item);
	if (listed) {
		index_state_done(&item.state);
		where.only = &rye->spaces->v[item.space];
	}
	if (item_glance(&rye->items, &where, glance, err)) {
		if (!listed)
			return -(int)err->code;
		only_the_name(where.only, &item, glance);
		glance->verdict.code = subject->why.code;
	}
	subject->verdict = &glance->verdict;
	subject->space = glance->space;
	subject->id = glance->id;
	subject->path = glance->path;
	subject->ext = glance->ext;
	return 0;
}

int subject_get(struct rye *rye, const struct rye_ask *ask, struct subject *ret,
		struct rye_err *err)
{
	struct rye_err local;

	*ret = (struct subject){ 0 };
	if (engine_load(rye, ask->kind, ask->id, &ret->loaded, &ret->why) == 0) {
		ret->why = (struct rye_err){ 0 };
		take_loaded(ret);
		return 0;
	}
	if (ret->why.code == RYE_NOT_FOUND) {
		if (err)
			*err = ret->why;
		return -(int)ret->why.code;
	}
	return take_glance(rye, ask, ret, err ? err : &local);
}

static struct reason about_of(const struct subject *subject, enum rye_kind kind)
{
	return (struct reason){ kind, subject->id, subject->space->root, subject->space->type };
}

void subject_reason(const struct subject *subject, enum rye_kind kind, char line[REASON_MAX])
{
	const struct reason about = about_of(subject, kind);

	reason_line(&about, &subject->why, line);
}

/* ---- info.json ---- */

static json_t *shadows(struct rye *rye, const struct rye_ask *ask)
{
	struct index_source sources[SOURCES_MAX];
	size_t n = index_sources(engine_index(rye), ask->kind, ask->id, sources, SOURCES_MAX);
	json_t *list = json_array();

	for (size_t i = 1; i < n; i++) {
		const struct space *space = &rye->spaces->v[sources[i].space];
		json_t *one =
			json_pack("{s:s, s:s}", "space", space->full, "extension", sources[i].ext);

		json_array_append_new(list, one);
	}
	return list;
}

static void view_info_set_text(json_t *info, const char *key, const char *text)
{
	if (text && *text)
		json_sets(info, key, text);
}

static void put_verdict(json_t *info, enum rye_kind kind, const struct subject *subject)
{
	const struct reason about = about_of(subject, kind);
	const struct verdict *v = subject->verdict;
	char line[1200];

	json_sets(info, "verdict",
		  subject->why.code ? rye_code_name(subject->why.code) : config_verdict(v));
	if (subject->why.code) {
		json_sets(info, "reason", subject->why.msg);
		reason_remedy(&about, &subject->why, line, sizeof(line));
		view_info_set_text(info, "mend", line);
	}
	if (v->dev)
		json_set(info, "dev_mode", json_true());
	view_info_set_text(info, "signer", v->fingerprint);
	view_info_set_text(info, "owner", v->owner);
	view_info_set_text(info, "signed_at", v->signed_at);
	view_info_set_text(info, "registry_provider", v->provider);
	view_info_set_text(info, "registry_username", v->provider_user);
	view_info_set_text(info, "hash", v->hash);
	view_info_set_text(info, "sha256", v->sha256);
	view_info_set_text(info, "coverage", v->coverage);
	json_set(info, "bound", json_boolean(v->bound));
	view_info_set_text(info, "notice", v->notice);
}

/*
 * Declared metadata; the text itself is what the other files are for. A YAML, TOML or JSON file
 * is metadata throughout, kept under "data".
 */
static json_t *view_info_declared(const struct rye_item *item)
{
	static const char *const text[] = { "body", "content", "raw", "preamble" };
	json_t *whole = json_object_get(item->meta, "data"), *meta;

	if (json_object_size(item->meta) == 1 && json_is_object(whole))
		return json_copy(whole);
	meta = json_copy(item->meta);
	for (size_t i = 0; meta && i < ARRAY_SIZE(text); i++)
		json_object_del(meta, text[i]);
	return meta;
}

static void put_meta(json_t *info, const struct rye_item *item)
{
	json_set(info, "version", json_deep_copy(meta_get(item, "version")));
	json_set(info, "description", json_deep_copy(meta_description(item)));
	json_set(info, "category", json_deep_copy(meta_get(item, "category")));
	json_set(info, "meta", view_info_declared(item));
	if (item->parse.code)
		json_sets(info, "meta_error", item->parse.msg);
}

int view_info(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	      struct rye_err *err)
{
	auto_subject struct subject subject = { 0 };
	auto_json json_t *info = json_object();
	char path[4096];
	int r = subject_get(rye, ask, &subject, err);

	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/.ai/%s", subject.space->root, subject.path);
	json_sets(info, "id", subject.id);
	json_sets(info, "kind", rye_kind_name(ask->kind));
	json_sets(info, "space", subject.space->full);
	json_sets(info, "path", path);
	put_verdict(info, ask->kind, &subject);
	if (subject.loaded.item)
		put_meta(info, subject.loaded.item);
	json_set(info, "shadows", shadows(rye, ask));
	*ret = json_blob(info, true);
	return *ret ? 0 : memory_fail(err);
}

/* ---- verify ---- */

int view_verify(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		struct rye_err *err)
{
	auto_subject struct subject subject = { 0 };
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	char line[REASON_MAX];
	int r = subject_get(rye, ask, &subject, err);

	if (r)
		return r;
	if (subject.why.code) {
		subject_reason(&subject, ask->kind, line);
		buf_addf(&buf, "%s\n", line);
	} else {
		const struct verdict *v = subject.verdict;

		if (*v->fingerprint)
			buf_addf(&buf, "ok signed by %s (%s) at %s, coverage %s", v->fingerprint,
				 v->owner, v->signed_at, v->coverage);
		else
			buf_adds(&buf, "ok unsigned");
		if (*v->notice && (*v->fingerprint || v->dev))
			buf_addf(&buf, "; %s", v->notice);
		if (subject.loaded.item && subject.loaded.item->parse.code)
			buf_addf(&buf, "; its metadata cannot be read: %s",
				 subject.loaded.item->parse.msg);
		buf_addc(&buf, '\n');
	}
	*ret = buf_blob(&buf);
	return *ret ? 0 : memory_fail(err);
}

/* ---- usage ---- */

static void put_kind(struct rye_buf *buf, const struct subject *subject, enum rye_kind kind)
{
	const json_t *text = meta_description(subject->loaded.item);

	buf_addf(buf, "%s %s", rye_kind_name(kind), subject->id);
	if (json_is_string(text)) {
		struct rye_span all = span_trim(span_of(json_string_value(text))), line;

		if (span_line(&all, &line))
			buf_addf(buf, ": %.*s", (int)line.len, line.ptr);
	}
	buf_addc(buf, '\n');
}

static void put_parameter(struct rye_buf *buf, const json_t *schema, const char *name,
			  const json_t *property)
{
	const json_t *fallback = json_object_get(property, "default");
	const char *type = json_str(property, "type"), *text = json_str(property, "description");

	buf_addf(buf, "  %s (%s", name, *type ? type : "any");
	if (json_lists(json_object_get(schema, "required"), name))
		buf_adds(buf, ", required");
	if (fallback) {
		buf_adds(buf, ", default ");
		json_put(buf, fallback, false);
	}
	buf_addf(buf, ")%s%.*s\n", *text ? " " : "", (int)strcspn(text, "\n"), text);
}

static void put_parameters(struct rye_buf *buf, const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties");
	const char *name;
	json_t *property;

	if (!json_object_size(properties)) {
		buf_adds(buf, "It takes no parameters: write {} or an empty line.\n");
		return;
	}
	buf_adds(buf, "Parameters:\n");
	json_object_foreach(properties, name, property)
		put_parameter(buf, schema, name, property);
}

static void put_usage(struct rye_buf *buf, const struct subject *subject, enum rye_kind kind)
{
	auto_json json_t *schema = NULL;

	put_kind(buf, subject, kind);
	buf_adds(buf, "Write one JSON object to this file, read the reply here.\n");
	if (!rye_kind_has(kind, RYE_KIND_PARAMETERS))
		return;
	schema = meta_schema(subject->loaded.item);
	put_parameters(buf, schema);
}

int view_usage(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	       struct rye_err *err)
{
	auto_subject struct subject subject = { 0 };
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	char line[REASON_MAX];
	int r = subject_get(rye, ask, &subject, err);

	if (r)
		return r;
	if (subject.loaded.item) {
		put_usage(&buf, &subject, ask->kind);
	} else {
		subject_reason(&subject, ask->kind, line);
		buf_addf(&buf, "%s %s is refused: %s\n", rye_kind_name(ask->kind), subject.id,
			 line);
	}
	*ret = buf_blob(&buf);
	return *ret ? 0 : memory_fail(err);
}
