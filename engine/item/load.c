/* SPDX-License-Identifier: MIT */
/*
 * rye_load: located, read once, verified, parsed; the same bytes throughout. A loaded item is
 * frozen before another thread sees it. No lock is held here: opening and reading user files may
 * take as long as they like.
 */
#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "item/item_inner.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust.h"

#include <errno.h>
#include <stdatomic.h>

struct rye_item *rye_item_ref(const struct rye_item *item)
{
	struct rye_item *counted = (struct rye_item *)item;

	if (item)
		atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
	return counted;
}

void rye_item_unref(struct rye_item *item)
{
	if (!item || atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(item->id);
	free(item->path);
	free(item->abspath);
	rye_blob_unref(item->raw);
	rye_blob_unref(item->text);
	json_decref(item->meta);
	free(item);
}

/* ---- one located file ---- */

/* Integrity is softened for items of project and user space only, never for config. */
static bool may_soften(const struct item_env *env, const struct space *space, enum rye_kind kind)
{
	return env->dev_mode && space->type != RYE_SYSTEM && kind != RYE_CONFIG;
}

static int load_read_file(const char *abspath, int fd, struct rye_blob **ret, struct stat *st,
			  struct rye_err *err)
{
	int r = io_read_fd(fd, RYE_ITEM_MAX, ret, st);

	if (r == -EFBIG)
		return rye_fail(err, RYE_TOO_BIG,
				"%s is bigger than %u MiB, the most an item may be", abspath,
				RYE_ITEM_MAX >> 20);
	return r < 0 ? rye_fail_sys(err, -r, "cannot read %s", abspath) : 0;
}

/* What loading and glancing have in common. ret->raw and ret->abspath belong to the caller. */
struct fetched {
	struct rye_blob *raw;
	char *abspath;
	struct stat st;
	struct verified verified;
};

static void fetched_done(struct fetched *f)
{
	rye_blob_unref(f->raw);
	rye_blob_unref(f->verified.text);
	free(f->abspath);
}

/* 0, or the refusal; *ret is filled as far as it came. */
static int load_fetch(const struct item_env *env, enum rye_kind kind, const struct located *at,
		      struct fetched *ret, struct rye_err *err)
{
	struct verify_ask ask = { .kind = kind,
				  .id = at->id,
				  .ext = at->ext,
				  .unsigned_ok = at->unsigned_ok,
				  .known = at->known,
				  .bundled = at->space->type == RYE_SYSTEM,
				  .users = at->space->type == RYE_USER };
	int r;

	ret->abspath = space_abspath(at->space, at->path);
	if (!ret->abspath)
		return memory_fail(err);
	r = load_read_file(ret->abspath, at->fd, &ret->raw, &ret->st, err);
	if (r < 0)
		return r;
	ask.path = ret->abspath;
	ask.raw = (struct rye_span){ ret->raw->data, ret->raw->len };
	ask.compat = env->compat;
	ask.dev = may_soften(env, at->space, kind);
	r = verify_bytes(env, &ask, &ret->verified, err);
	item_store_count(env->store, ret->verified.known);
	return r;
}

static int load_parse(struct rye_item *item, struct rye_err *err)
{
	const struct parser *parser = parse_row(item->kind, item->ext);

	if (!parser) {
		item->meta = json_object();
		return item->meta ? 0 : memory_fail(err);
	}
	if (rye_kind_has(item->kind, RYE_KIND_ELEMENT))
		item->meta = parse_shaped(item->body, &item->shape, &item->parse);
	else
		item->meta = parse_item(parser, item->body, item->abspath, &item->parse);
	/* what a directive may do is in its metadata; other kinds can be read without theirs */
	if (item->parse.code != RYE_OK && rye_kind_has(item->kind, RYE_KIND_ELEMENT)) {
		rye_wrap(&item->parse, "%s", item->abspath);
		if (err)
			*err = item->parse;
		return -(int)item->parse.code;
	}
	if (!item->meta)
		item->meta = json_object();
	return item->meta ? 0 : memory_fail(err);
}

static int load_build(enum rye_kind kind, const struct located *at, struct fetched *f,
		      struct rye_item **ret, struct rye_err *err)
{
	auto_item struct rye_item *item = memory_note(calloc(1, sizeof(*item)));
	int r;

	if (!item)
		return memory_fail(err);
	atomic_init(&item->refs, 1);
	item->kind = kind;
	item->space = at->space;
	item->ext = at->ext;
	item->id = memory_note(strdup(at->id));
	item->path = memory_note(strdup(at->path));
	item->abspath = steal(&f->abspath);
	item->raw = steal(&f->raw);
	item->text = f->verified.text ? steal(&f->verified.text) : rye_blob_ref(item->raw);
	item->shebang = f->verified.shebang;
	item->body = f->verified.body;
	item->shape = f->verified.shape;
	item->verdict = f->verified.verdict;
	item->st = f->st;
	if (!item->id || !item->path)
		return memory_fail(err);
	r = load_parse(item, err);
	if (!r && kind == RYE_TOOL)
		parsed_tool(&item->parsed, &item->tool);
	if (!r)
		*ret = steal(&item);
	return r;
}

/* What was verified, or parsed, with a part of its metadata missing is no item. */
static int load_located(const struct item_env *env, enum rye_kind kind, struct located *at,
			struct rye_item **ret, struct rye_err *err)
{
	__attribute__((cleanup(fetched_done))) struct fetched f = { 0 };
	auto_item struct rye_item *item = NULL;
	auto_close int fd = at->fd;
	unsigned long since = memory_failures();
	int r = load_fetch(env, kind, at, &f, err);

	if (r < 0)
		return memory_result(since, r, err);
	if (at->ambiguous)
		log_line(env->log, RYE_LOG_WARN, "item", "%s: ambiguous, %s wins", f.abspath,
			 at->ext);
	r = memory_result(since, load_build(kind, at, &f, &item, err), err);
	if (!r)
		*ret = steal(&item);
	return r;
}

static uint64_t trust_now(const struct item_env *env)
{
	auto_trust struct trust *trust = trust_get(env->trust);

	return trust->generation;
}

/*
 * The file that was found, opened or only looked at. What the store has of it is not verified again,
 * and if it is not open, not opened. 1: it is no longer there. at->fd is taken.
 */
static int recall_or_load(const struct item_env *env, const struct path_ask *ask,
			  struct located *at, struct rye_item **ret, struct rye_err *err)
{
	struct store_moment now = { .trust = trust_now(env) };
	struct rye_item *held = item_store_recall(env->store, ask, &at->st, now.trust);
	int r = held || at->fd >= 0 ? 1 : space_open_file(at, err);

	if (r <= 0)
		return r < 0 ? r : 1;
	if (held) {
		if (at->fd >= 0)
			close(at->fd);
		*ret = held;
		return 0;
	}
	clock_gettime(CLOCK_REALTIME, &now.time);
	r = load_located(env, ask->kind, at, ret, err);
	if (!r && !ask->passing)
		item_store_keep(env->store, *ret, &now);
	return r;
}

static int load_by_id(const struct item_env *env, const struct item_ask *ask, struct rye_item **ret,
		      struct rye_err *err)
{
	struct path_ask file = { .kind = ask->kind };
	struct located at;
	int r = space_locate(env->spaces, ask, &at, err);

	if (r < 0)
		return r;
	if (ask->ret_ambiguous)
		*ask->ret_ambiguous = at.ambiguous;
	file.space = at.space;
	file.path = at.path;
	return recall_or_load(env, &file, &at, ret, err);
}

int rye_load(const struct item_env *env, const struct item_ask *ask, struct rye_item **ret,
	     struct rye_err *err)
{
	struct item_ask where = *ask;
	int r;

	where.unopened = env->store;
	r = load_by_id(env, &where, ret, err);
	/* replaced between two looks: what is open stays */
	return r <= 0 ? r : load_by_id(env, ask, ret, err);
}

/* ---- named files ---- */

/* "tools/a/b.py" → id "a/b"; a file outside the kind's directory goes by its whole path. */
static int name_path(enum rye_kind kind, const char *path, struct located *at, struct rye_err *err)
{
	const char *below = path_below(path, rye_kind_dir(kind));
	const char *id = below && *below ? below : path, *leaf, *dot, *known;
	int r = id_check(span_of(path), err);

	if (r < 0)
		return r;
	leaf = space_stem(id);
	dot = strrchr(leaf, '.');
	if (!dot || dot == leaf)
		dot = leaf + strlen(leaf);
	known = kind_extension_of(kind, leaf);
	at->ext = known ? known : dot;
	snprintf(at->path, sizeof(at->path), "%s", path);
	snprintf(at->id, sizeof(at->id), "%.*s", (int)(dot - id), id);
	return 0;
}

int rye_load_path(const struct item_env *env, const struct path_ask *ask, struct rye_item **ret,
		  struct rye_err *err)
{
	struct located at = { .space = ask->space,
			      .fd = -1,
			      .unsigned_ok = ask->unsigned_ok,
			      .known = ask->known };
	int r = name_path(ask->kind, ask->path, &at, err);

	if (r < 0)
		return r;
	r = ask->passing ? -1 : space_stat_file(&at);
	if (r < 0)
		r = space_open_file(&at, err);
	if (r < 0)
		return r;
	r = r ? recall_or_load(env, ask, &at, ret, err) : 1;
	return r <= 0 ? r :
			rye_fail_sys(err, ENOENT, "cannot open %s/.ai/%s", ask->space->root,
				     ask->path);
}

/* ---- glances ---- */

int item_glance(const struct item_env *env, const struct item_ask *ask, struct glance *ret,
		struct rye_err *err)
{
	__attribute__((cleanup(fetched_done))) struct fetched f = { 0 };
	struct located at;
	int r = space_locate(env->spaces, ask, &at, err);
	auto_close int fd = r < 0 ? -1 : at.fd;

	if (r < 0)
		return r;
	*ret = (struct glance){ .space = at.space, .ext = at.ext };
	snprintf(ret->id, sizeof(ret->id), "%s", at.id);
	snprintf(ret->path, sizeof(ret->path), "%s", at.path);
	r = load_fetch(env, ask->kind, &at, &f, &ret->why);
	ret->verdict = f.verified.verdict;
	ret->st = f.st;
	if (r < 0)
		ret->verdict.code = ret->why.code;
	return 0;
}
