/* SPDX-License-Identifier: MIT */
/*
 * Lockfiles: the chain that a version of a tool had when it was locked, with the hash of each
 * element. execution.yaml says `lockfiles: enforce` (one that is there has to fit) or `create` (the
 * same, and the first good run writes one). They forbid and allow nothing that a signature does
 * not; so they are not signed themselves. Called by the worker that plans a run; no lock.
 */
#include "plan/plan_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <errno.h>
#include <string.h>

#define LOCKFILE_MAX (1u << 20)

/* Below .ai. */
static char *lockfile_name(const struct link *tool)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_addf(&path, "lockfiles/%s@%s.lock.json", tool->item->id, tool->meta.version);
	return buf_steal(&path);
}

static int lockfile_mismatch(const char *id, const char *path, struct rye_err *err)
{
	return rye_fail(err, RYE_MODIFIED,
			"Lockfile integrity mismatch for %s. Re-sign and delete stale lockfile.\n"
			"  Lockfile: %s",
			id, path);
}

static const struct link *link_of(const struct chain *chain, const char *id)
{
	for (size_t i = 0; i < chain->n; i++)
		if (!strcmp(chain->v[i].item->id, id))
			return &chain->v[i];
	return NULL;
}

static bool link_is_locked(const struct link *link, const json_t *row)
{
	return !strcmp(json_str(row, "integrity"), link->item->verdict.hash);
}

static int lockfile_compare(const struct chain *chain, const json_t *doc, const char *path,
			    struct rye_err *err)
{
	const json_t *rows = json_object_get(doc, "resolved_chain"), *row;
	const struct link *tool = &chain->v[0];
	size_t i;

	if (!link_is_locked(tool, json_object_get(doc, "root")))
		return lockfile_mismatch(tool->item->id, path, err);
	json_array_foreach(rows, i, row) {
		const char *id = json_str(row, "item_id");
		const struct link *link = link_of(chain, id);

		if (!link)
			return rye_fail(err, RYE_MODIFIED,
					"Lockfile chain element not found: %s\n  Lockfile: %s", id,
					path);
		if (!link_is_locked(link, row))
			return lockfile_mismatch(id, path, err);
	}
	/* An element that was put between those of the lock is as strange as another one. */
	return json_array_size(rows) == chain->n ? 0 : lockfile_mismatch(tool->item->id, path, err);
}

static int lockfile_read(const struct space *space, const char *name, json_t **ret,
			 struct rye_err *err)
{
	struct rye_blob *blob = NULL;
	int r = space->fd < 0 ? -ENOENT : io_read_at(space->fd, name, LOCKFILE_MAX, &blob);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r)
		return rye_fail_sys(err, -r, "%s/.ai/%s", space->root, name);
	*ret = json_parse((struct rye_span){ blob->data, blob->len }, 0, name, err);
	rye_blob_unref(blob);
	return *ret ? 0 : -RYE_INVALID;
}

int lockfile_check(struct planner *planner, struct rye_err *err)
{
	const struct spaces *spaces = planner->base->items->spaces;
	const char *mode = json_str(planner->limits, "lockfiles");
	auto_free char *name = NULL;

	if (!*mode)
		return 0;
	if (strcmp(mode, "enforce") && strcmp(mode, "create"))
		return rye_fail(err, RYE_INVALID,
				"execution.yaml: lockfiles: enforce or create is wanted, not %s",
				mode);
	name = lockfile_name(&planner->chain->v[0]);
	if (!name)
		return memory_fail(err);
	for (size_t i = 0; i < spaces->n; i++) {
		auto_json json_t *doc = NULL;
		auto_buf struct rye_buf path = RYE_BUF_INIT;
		int r = lockfile_read(&spaces->v[i], name, &doc, err);

		space_mark(&spaces->v[i], name, false, planner->marks);
		if (r || !doc) {
			if (r)
				return r;
			continue;
		}
		buf_addf(&path, "%s/.ai/%s", spaces->v[i].root, name);
		r = lockfile_compare(planner->chain, doc, path.data ? path.data : name, err);
		if (!r)
			planner->lockfile = buf_steal(&path);
		return r;
	}
	planner->lock = !strcmp(mode, "create");
	return 0;
}

static json_t *lockfile_document(const struct chain *chain)
{
	const struct link *tool = &chain->v[0];
	json_t *rows = chain_detail(chain), *row;
	char now[40];
	size_t i;

	json_array_foreach(rows, i, row) {
		json_object_del(row, "provider_id");
		json_object_del(row, "signer");
	}
	clock_iso_us(now);
	return json_pack("{s:i, s:s, s:{s:s, s:s, s:s}, s:o, s:n, s:n}", "lockfile_version", 1,
			 "generated_at", now, "root", "tool_id", tool->item->id, "version",
			 tool->meta.version, "integrity", tool->item->verdict.hash,
			 "resolved_chain", rows, "registry", "verified_deps");
}

char *lockfile_write(const struct planner *planner, struct rye_err *err)
{
	const struct space *project = &planner->base->items->spaces->v[0];
	auto_json json_t *doc = lockfile_document(planner->chain);
	auto_free char *name = lockfile_name(&planner->chain->v[0]), *text = NULL, *dir = NULL;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	int r;

	text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	dir = name ? memory_note(strndup(name, (size_t)(strrchr(name, '/') - name))) : NULL;
	if (!text || !dir) {
		memory_fail(err);
		return NULL;
	}
	r = io_mkdirs_at(project->fd, dir, 0777);
	if (!r)
		r = io_replace_at(project->fd, name, span_of(text), 0666);
	buf_addf(&path, "%s/.ai/%s", project->root, name);
	if (r) {
		rye_fail_sys(err, -r, "%s", path.data ? path.data : name);
		return NULL;
	}
	return buf_steal(&path);
}
