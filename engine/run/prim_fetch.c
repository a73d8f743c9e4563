/* SPDX-License-Identifier: MIT */
/*
 * The primitive `fetch` (also `load`): one verified item as it lies in its file, optionally
 * copied into another space under its full id; or, by query, what the search hook answers.
 * A copy is a write: it is refused to children of runs and where signing is switched off, and
 * never replaces anything unless the request says so. On a worker; no lock.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "item/item.h"
#include "memory.h"
#include "parse/parse.h"
#include "process/process.h"
#include "scope.h"
#include "space/space.h"

#include <string.h>

static bool prim_fetch_has(const json_t *doc, const char *key)
{
	const json_t *value = json_object_get(doc, key);

	return value && !json_is_null(value);
}

/* Which mode, and that nothing of the other one is there; the texts are the format's. */
static int check_mode(const json_t *doc, bool *ret_query, struct rye_err *err)
{
	static const char *const of_query[] = { "scope",  "limit",   "offset", "sort_by",
						"fields", "filters", "fuzzy",  "proximity" };
	static const char *const of_id[] = { "destination", "version", "overwrite" };
	const char *const *foreign;
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	bool id = prim_fetch_has(doc, "item_id"), query = prim_fetch_has(doc, "query");
	size_t n;

	if (id && query)
		return rye_fail(err, RYE_INVALID, "Provide item_id or query, not both");
	if (!id && !query)
		return rye_fail(err, RYE_INVALID, "Provide item_id or query+scope");
	foreign = query ? of_id : of_query;
	n = query ? ARRAY_SIZE(of_id) : ARRAY_SIZE(of_query);
	for (size_t i = 0; i < n; i++)
		if (prim_fetch_has(doc, foreign[i]))
			buf_addf(&names, "%s%s", names.len ? ", " : "", foreign[i]);
	*ret_query = query;
	if (!names.len)
		return 0;
	return rye_fail(err, RYE_INVALID, "Invalid params for %s mode: %s", query ? "query" : "ID",
			names.data);
}

static int read_space(const json_t *doc, const char *key, enum rye_space *ret, struct rye_err *err)
{
	static const char *const names[] = { "project", "user", "system" };
	const char *text = json_str(doc, key);

	*ret = RYE_SPACE__MAX;
	if (!prim_fetch_has(doc, key))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			*ret = (enum rye_space)i;
	if (*ret != RYE_SPACE__MAX)
		return 0;
	return rye_fail(err, RYE_INVALID, "Unknown %s: '%.100s'. Must be project, user or system.",
			key, text);
}

/* The first space of a type from which to search; bundles are searched together. */
static const struct space *prim_fetch_space_of(const struct run *run, enum rye_space type)
{
	const struct spaces *spaces = run->exec->env.items->spaces;

	for (size_t i = 0; i < spaces->n; i++)
		if (spaces->v[i].type == type)
			return &spaces->v[i];
	return NULL;
}

static int prim_fetch_load(struct run *run, enum rye_space source, struct rye_item **ret,
			   struct rye_err *err)
{
	struct item_ask ask = { .kind = run->request.kind, .id = run->request.id };
	const struct space *space = source == RYE_SPACE__MAX ? NULL :
							       prim_fetch_space_of(run, source);

	if (source == RYE_SYSTEM)
		ask.from = space;
	else
		ask.only = space;
	if (source != RYE_SPACE__MAX && !space)
		return rye_fail(err, RYE_NOT_FOUND, "Item not found: %s", ask.id);
	return rye_load(run->exec->env.items, &ask, ret, err);
}

static void reply_item(struct run *run, const struct rye_item *item)
{
	json_t *doc = run->reply.doc, *facts = run->reply.metadata;
	const json_t *version = meta_get(item, "version");

	run->reply.code = RYE_OK;
	json_sets(doc, "status", "success");
	json_set(doc, "content",
		 result_text((struct rye_span){ item->text->data, item->text->len }));
	json_sets(facts, "name", space_stem(item->id));
	json_sets(facts, "path", item->abspath);
	json_sets(facts, "extension", item->ext);
	if (json_is_string(version))
		json_object_set(facts, "version", (json_t *)version);
	json_set(facts, "canonical_ref",
		 json_sprintf("%s:%s", rye_kind_name(item->kind), item->id));
	json_sets(doc, "path", item->abspath);
	json_sets(doc, "source", item->space->label);
	json_sets(doc, "mode", "id");
	run->reply.output = memory_note(strndup(item->text->data, item->text->len));
	if (item->verdict.notice[0])
		json_array_append_new(run->reply.warnings, json_string(item->verdict.notice));
	if (item->parse.code)
		json_array_append_new(run->reply.warnings,
				      json_sprintf("its metadata cannot be read: %s",
						   item->parse.msg));
}

/* ---- copies ---- */

static int check_direction(const struct rye_item *item, enum rye_space to, struct rye_err *err)
{
	if (to != RYE_SYSTEM && item->space->type != to)
		return 0;
	return rye_fail(
		err, RYE_INVALID,
		"cannot copy from %s to %s: items go from system or project to user, and from "
		"system or user to project",
		item->space->label, to == RYE_SYSTEM ? "system" : item->space->label);
}

static bool is_same(int fd, const struct rye_item *item)
{
	auto_blob struct rye_blob *there = NULL;
	struct stat st;

	return io_read_fd(fd, item->raw->len, &there, &st) == 0 && there->len == item->raw->len &&
	       !memcmp(there->data, item->raw->data, there->len);
}

/* Whether the copy may be made; *ret_there: an equal one is there, nothing is left to do. */
static int check_vacant(const struct run *run, const struct rye_item *item,
			const struct space *space, bool *ret_there, struct rye_err *err)
{
	struct item_ask ask = { .kind = item->kind, .id = item->id, .only = space };
	struct located at = { .fd = -1 };
	struct rye_err ignored = { 0 };
	bool same;

	if (space_locate(run->exec->env.items->spaces, &ask, &at, &ignored))
		return ignored.code == RYE_NOT_FOUND ?
			       0 :
			       rye_fail(err, ignored.code, "%s", ignored.msg);
	same = !strcmp(at.path, item->path);
	*ret_there = same && is_same(at.fd, item);
	close(at.fd);
	if (*ret_there || (same && json_is_true(json_object_get(run->request.doc, "overwrite"))))
		return 0;
	return rye_fail(err, RYE_INVALID, "%s/.ai/%s exists already: %s", space->root, at.path,
			same ? "say \"overwrite\": true to replace it" :
			       "the same id with another extension would hide one of them");
}

static int write_copy(struct run *run, const struct rye_item *item, const struct space *space,
		      struct rye_err *err)
{
	int r = space_write(space, item->path, (struct rye_span){ item->raw->data, item->raw->len },
			    item->st.st_mode & 0777);

	if (r < 0)
		return rye_fail_sys(err, -r, "cannot write %s/.ai/%s", space->root, item->path);
	run_touched(run, space, item->path);
	run_wait_told(run);
	return 0;
}

static int prim_fetch_copy(struct run *run, const struct rye_item *item, enum rye_space to,
			   struct rye_err *err)
{
	const struct space *space = prim_fetch_space_of(run, to);
	bool there = false;
	int r = check_direction(item, to, err);

	if (!r)
		r = run_may(run, ACT_COPY, item->kind, item->id, err);
	if (!r && !space)
		r = rye_fail(err, RYE_NOT_FOUND, "there is no such space");
	if (!r)
		r = check_vacant(run, item, space, &there, err);
	if (!r)
		r = memory_check(run->reply.memory, err);
	if (!r && !there)
		r = write_copy(run, item, space, err);
	if (r || there)
		return r;
	json_sets(run->reply.doc, "copied_to", space->label);
	json_set(run->reply.doc, "destination_path",
		 json_sprintf("%s/.ai/%s", space->root, item->path));
	return 0;
}

/* ---- the two modes ---- */

static int by_id(struct run *run, struct rye_err *err)
{
	const json_t *doc = run->request.doc;
	auto_item struct rye_item *item = NULL;
	enum rye_space source, to;
	int r = request_ref(doc, &run->request, err);

	if (!r)
		r = read_space(doc, "source", &source, err);
	if (!r)
		r = read_space(doc, "destination", &to, err);
	if (!r && run->request.kind == RYE_KIND__MAX)
		r = run_find_kind(run->exec->env.items, run->request.id, &run->request.kind, err);
	if (!r)
		r = prim_fetch_load(run, source, &item, err);
	if (!r)
		r = run_may(run, ACT_READ, item->kind, item->id, err);
	if (!r && to != RYE_SPACE__MAX)
		r = prim_fetch_copy(run, item, to, err);
	if (!r)
		reply_item(run, item);
	return r;
}

static int by_query(struct run *run, struct rye_err *err)
{
	const struct exec_hooks *hooks = run->exec->env.hooks;
	const struct exec_search ask = { run->request.doc, &run->call->cancel, &run->asker };
	auto_json json_t *found = NULL;
	int r;

	if (!hooks || !hooks->search)
		return rye_fail(err, RYE_UNSUPPORTED, "search is not available here");
	r = hooks->search(hooks->arg, &ask, &found, err);
	if (r == -(int)RYE_CANCELLED && call_cancelled(run->call))
		return rye_fail(err, call_cancelled(run->call), "the search was given up");
	if (r)
		return r;
	run->reply.code = RYE_OK;
	json_object_update(run->reply.doc, found);
	json_object_set_new(run->reply.doc, "mode", json_string("query"));
	if (!json_object_get(run->reply.doc, "status"))
		json_sets(run->reply.doc, "status", "success");
	return 0;
}

static void prim_fetch_fail(struct run *run, struct rye_err *err)
{
	const struct request *request = &run->request;

	if (err->code == RYE_NOT_FOUND && request->id)
		rye_fail(err, RYE_NOT_FOUND, "Item not found: %.900s", request->id);
	run_fail(run, err);
	if (request->id && request->kind != RYE_KIND__MAX) {
		json_sets(run->reply.doc, "item_type", rye_kind_name(request->kind));
		json_set(run->reply.doc, "item_ref",
			 json_sprintf("%s:%s", rye_kind_name(request->kind), request->id));
	}
}

void prim_fetch(struct run *run)
{
	struct rye_err err = { 0 };
	bool query = false;
	int r;

	run->request.verb = RYE_FETCH;
	run->request.kind = RYE_KIND__MAX;
	r = request_message(run->ask, &run->request, &err);
	if (!r)
		r = check_mode(run->request.doc, &query, &err);
	if (!r)
		r = request_project(run->request.doc, run->exec->base.project, &err);
	if (!r)
		r = query ? by_query(run, &err) : by_id(run, &err);
	if (r)
		prim_fetch_fail(run, &err);
}
