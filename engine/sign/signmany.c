/* SPDX-License-Identifier: MIT */
/*
 * Signing what a pattern names. The names are collected first, so that progress can be told
 * and that signing (which replaces files) does not walk into its own temporary files. Links
 * are not followed: each file is signed where it lies.
 */
#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust.h"

#include <fcntl.h>

/* Files of one signing; far above any workspace, and a bound for a directory bomb. */
#define MATCHES_MAX 200000

/* Never items, though they may have an extension of one; nor are names with a dot in front. */
static bool is_skipped(const char *name)
{
	static const char *const names[] = {
		"__pycache__", "node_modules",	    "dist",	     "build", "package.json",
		"yarn.lock",   "package-lock.json", "pnpm-lock.yaml"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return name[0] == '.';
}

struct signmany_walk {
	enum rye_kind kind;
	const char *glob; /* of what is signed by people; NULL: everything */
	json_t *paths; /* below .ai */
	char path[1024];
	int depth;
};

/* Keys are trusted, not signed; transcripts are signed by the key for what models write. */
static bool is_person(enum rye_kind kind, const char *below)
{
	if (kind == RYE_CONFIG)
		return strncmp(below, "keys/", 5) != 0;
	return kind != RYE_KNOWLEDGE || strncmp(below, "agent/threads/", 14);
}

static bool id_matches(const struct signmany_walk *walk)
{
	const char *below = walk->path + strlen(rye_kind_dir(walk->kind)) + 1;
	const char *slash = strrchr(below, '/'), *name = slash ? slash + 1 : below;
	const char *ext = kind_extension_of(walk->kind, name);
	const char *text = walk->glob && !strchr(walk->glob, '/') ? name : below;
	char glob[1200];

	if (!ext || id_check(span_of(below), NULL) < 0 || !is_person(walk->kind, below))
		return false;
	if (!walk->glob)
		return true;
	snprintf(glob, sizeof(glob), "%s%s", walk->glob, str_ends(walk->glob, ext) ? "" : ext);
	return glob_match(glob, text);
}

/* Of manifests what lies deeper are the files that they list. */
static int deepest(enum rye_kind kind)
{
	return rye_kind_has(kind, RYE_KIND_MANIFEST) ? 1 : RYE_DEPTH_MAX;
}

static void signmany_visit(struct signmany_walk *walk, int fd);

static void visit_entry(struct signmany_walk *walk, int dir, const char *name)
{
	size_t n = strlen(walk->path);
	struct stat st;
	int fd;

	if (is_skipped(name) || n + strlen(name) + 2 > sizeof(walk->path) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	snprintf(walk->path + n, sizeof(walk->path) - n, "/%s", name);
	if (S_ISDIR(st.st_mode) && walk->depth < deepest(walk->kind)) {
		fd = io_open_mounted(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		if (fd >= 0)
			signmany_visit(walk, fd);
	} else if (S_ISREG(st.st_mode) && json_array_size(walk->paths) < MATCHES_MAX &&
		   id_matches(walk)) {
		json_array_append_new(walk->paths, json_string(walk->path));
	}
	walk->path[n] = 0;
}

/* Takes fd over. */
static void signmany_visit(struct signmany_walk *walk, int fd)
{
	auto_dir DIR *dir = memory_note(fdopendir(fd));
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	walk->depth++;
	while ((entry = readdir(dir)))
		visit_entry(walk, dirfd(dir), entry->d_name);
	walk->depth--;
}

static int signmany_by_path(const void *a, const void *b)
{
	return strcmp(json_string_value(*(json_t *const *)a),
		      json_string_value(*(json_t *const *)b));
}

static json_t *sorted(json_t *list)
{
	size_t n = json_array_size(list);
	auto_free json_t **v = memory_note(calloc(n ? n : 1, sizeof(json_t *)));
	json_t *out = json_array();

	for (size_t i = 0; v && i < n; i++)
		v[i] = json_array_get(list, i);
	if (v)
		qsort(v, n, sizeof(*v), signmany_by_path);
	for (size_t i = 0; v && i < n; i++)
		json_array_append(out, v[i]);
	json_decref(list);
	return out;
}

json_t *sign_find(const struct space *space, enum rye_kind kind, const char *glob)
{
	struct signmany_walk walk = { .kind = kind, .glob = glob, .paths = json_array() };
	int fd = -1;

	snprintf(walk.path, sizeof(walk.path), "%s", rye_kind_dir(kind));
	if (space_fd(space) >= 0)
		fd = io_open_mounted(space_fd(space), walk.path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0 && walk.paths)
		signmany_visit(&walk, fd);
	else if (fd >= 0)
		close(fd);
	return sorted(walk.paths);
}

/* ---- one reply for a glob ---- */

static json_t *failure(const char *id, const json_t *reply)
{
	json_t *one = json_pack("{s:s, s:s, s:[]}", "item", id, "error", json_str(reply, "error"),
				"details");
	const json_t *issues = json_object_get(reply, "issues");

	if (!issues)
		issues = json_object_get(reply, "details");
	for (size_t i = 0; one && i < 2 && i < json_array_size(issues); i++)
		json_array_append(json_object_get(one, "details"), json_array_get(issues, i));
	return one;
}

static char *signmany_id_of(enum rye_kind kind, const char *path)
{
	const char *below = path + strlen(rye_kind_dir(kind)) + 1;
	const char *ext = kind_extension_of(kind, below);

	return memory_note(strndup(below, strlen(below) - strlen(ext)));
}

struct sign_lists {
	json_t *done, *failed, *unchanged, *left; /* ids; of the failed objects */
};

static void lists_done(struct sign_lists *lists)
{
	json_decref(lists->done);
	json_decref(lists->failed);
	json_decref(lists->unchanged);
	json_decref(lists->left);
}

/* "completed" only when no item was refused; the lists tell of each either way. */
static int answer_all(const struct sign_lists *lists, json_t **ret_reply, struct rye_err *err)
{
	size_t bad = json_array_size(lists->failed), good = json_array_size(lists->done);
	size_t same = json_array_size(lists->unchanged), left = json_array_size(lists->left);
	size_t n = good + bad + same + left;
	auto_buf struct rye_buf more = RYE_BUF_INIT;
	char summary[160];
	int r = 0;

	buf_adds(&more, "");
	if (bad)
		buf_addf(&more, ", %zu failed", bad);
	if (same)
		buf_addf(&more, ", %zu good already", same);
	if (left)
		buf_addf(&more, ", %zu left: another key signed them, name them to sign them",
			 left);
	snprintf(summary, sizeof(summary), "Signed %zu/%zu items%s", good, n,
		 more.failed ? "" : more.data);
	if (bad)
		r = sign_refuse(ret_reply, RYE_INVALID, err, "%s", summary);
	else
		*ret_reply = json_pack("{s:s}", "status", "completed");
	json_object_set(*ret_reply, "signed", lists->done);
	json_object_set(*ret_reply, "failed", lists->failed);
	json_object_set(*ret_reply, "unchanged", lists->unchanged);
	json_object_set(*ret_reply, "left", lists->left);
	json_set(*ret_reply, "total", json_integer((json_int_t)n));
	json_sets(*ret_reply, "summary", summary);
	return *ret_reply ? r : sign_refuse(ret_reply, RYE_IO, err, "out of memory");
}

static json_t *list_for(const struct sign_lists *lists, const char *status)
{
	if (!strcmp(status, "unchanged"))
		return lists->unchanged;
	return strcmp(status, "left") ? lists->done : lists->left;
}

static int sign_all(const struct item_env *env, const struct sign_ask *ask, const json_t *paths,
		    json_t **ret_reply, struct rye_err *err)
{
	__attribute__((cleanup(lists_done))) struct sign_lists lists = { json_array(), json_array(),
									 json_array(),
									 json_array() };
	auto_key struct key_secret own = { 0 };
	struct sign_ask one = *ask;
	struct rye_err why = { 0 };

	one.many = true;
	if (!one.key && keystore_signer(env, &own, &why))
		return sign_refuse(ret_reply, why.code, err, "%s", why.msg);
	one.key = one.key ? one.key : &own;
	for (size_t i = 0; i < json_array_size(paths); i++) {
		const char *path = json_string_value(json_array_get(paths, i));
		auto_free char *id = signmany_id_of(ask->kind, path);
		auto_json json_t *reply = NULL;

		if (!id)
			return sign_refuse(ret_reply, RYE_IO, err, "out of memory");
		if (sign_path(env, &one, path, &reply, NULL) < 0)
			json_array_append_new(lists.failed, failure(id, reply));
		else
			json_array_append_new(list_for(&lists, json_str(reply, "status")),
					      json_string(id));
	}
	if (json_array_size(lists.done) && !ask->key)
		sign_share(env, ask->space, &own);
	return answer_all(&lists, ret_reply, err);
}

int sign_request(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
		 struct rye_err *err)
{
	auto_json json_t *paths = NULL;
	unsigned long since = memory_failures();

	if (!sign_is_glob(ask->id) || ask->space->type == RYE_SYSTEM)
		return sign_item(env, ask, ret_reply, err);
	paths = sign_find(ask->space, ask->kind, ask->id);
	if (memory_check(since, err))
		return sign_refuse(ret_reply, RYE_IO, err, "out of memory");
	if (!json_array_size(paths))
		return sign_refuse(ret_reply, RYE_NOT_FOUND, err,
				   "No %ss found matching pattern: %s", rye_kind_name(ask->kind),
				   ask->id);
	return sign_all(env, ask, paths, ret_reply, err);
}

/* ---- many, with progress ---- */

struct batch {
	const struct item_env *env;
	const struct sign_many *ask;
	struct key_secret key;
	size_t done, good, total;
	bool unread; /* a directory was told that cannot be read */
	int stop;
};

static void batch_done(struct batch *batch)
{
	key_wipe(&batch->key);
}

/* For the caller's message: what is covered for the first time, and every warning. */
static void put_remarks(const json_t *reply, struct rye_buf *out)
{
	const json_t *warning;
	size_t i;

	buf_adds(out, json_str(reply, "newly_covered"));
	json_array_foreach(json_object_get(reply, "warnings"), i, warning)
		buf_addf(out, "%s%s", out->len ? "; " : "", json_string_value(warning));
}

static void sign_one(struct batch *batch, enum rye_kind kind, const char *path)
{
	const struct sign_ask ask = { .kind = kind,
				      .space = batch->ask->space,
				      .key = &batch->key,
				      .many = batch->ask->many,
				      .again = batch->ask->again,
				      .take = batch->ask->take,
				      .dry = batch->ask->dry };
	auto_free char *id = signmany_id_of(kind, path);
	auto_free char *abspath = space_abspath(ask.space, path);
	auto_json json_t *reply = NULL;
	auto_buf struct rye_buf said = RYE_BUF_INIT;
	struct rye_err why = { 0 };
	bool skipped;
	struct rye_verdict verdict = { .kind = kind,
				       .id = id ? id : path,
				       .path = abspath ? abspath : path,
				       .space = ask.space->label };

	if (!id || !abspath || sign_path(batch->env, &ask, path, &reply, &why) == 0)
		put_remarks(reply, &said);
	if (!id || !abspath || said.failed)
		memory_fail(&why);
	verdict.code = why.code;
	verdict.message = why.code != RYE_OK ? why.msg : said.data ? said.data : "";
	batch->done++;
	batch->good += why.code == RYE_OK && !strcmp(json_str(reply, "status"), "signed");
	skipped = !said.len && !strcmp(json_str(reply, "status"), "unchanged");
	verdict.left = !strcmp(json_str(reply, "status"), "left");
	batch->stop = batch->ask->fn(batch->ask->arg, skipped ? NULL : &verdict, batch->done,
				     batch->total);
}

/* An id without a star is that item, found as any other request finds it. */
static int add_one(struct batch *batch, enum rye_kind kind, const char *id, json_t *paths,
		   struct rye_err *err)
{
	const struct item_ask where = { .kind = kind, .id = id, .only = batch->ask->space };
	struct located at;
	int r = space_locate(batch->env->spaces, &where, &at, err);

	if (r < 0)
		return r;
	close(at.fd);
	json_array_append_new(paths, json_string(at.path));
	return 0;
}

static int signmany_collect(struct batch *batch, json_t *paths[RYE_KIND__MAX], struct rye_err *err)
{
	const char *pattern = batch->ask->pattern, *id = NULL;
	enum rye_kind only = pattern ? id_split(pattern, &id) : RYE_KIND__MAX;

	if (pattern && only == RYE_KIND__MAX && sign_is_glob(pattern) && !strchr(pattern, ':'))
		id = pattern; /* of every kind */
	else if (pattern && only == RYE_KIND__MAX)
		return rye_fail(err, RYE_NOT_FOUND, "Item not found: %.200s", pattern);
	if (pattern && !sign_is_glob(id)) {
		paths[only] = json_array();
		return add_one(batch, only, id, paths[only], err);
	}
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (only == RYE_KIND__MAX || kind == (int)only)
			paths[kind] = sign_find(batch->ask->space, (enum rye_kind)kind, id);
	return 0;
}

static int sign_unread(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct batch *batch = arg;

	(void)done;
	(void)total;
	batch->unread = true;
	batch->stop = batch->ask->fn(batch->ask->arg, verdict, batch->done, batch->total);
	return batch->stop;
}

/* Of an item that is named its file says so. */
static void find_unread(struct batch *batch)
{
	const char *pattern = batch->ask->pattern, *glob = pattern;
	enum rye_kind only = pattern ? id_split(pattern, &glob) : RYE_KIND__MAX;
	unsigned kinds = only == RYE_KIND__MAX ? (1u << RYE_KIND__MAX) - 1 : 1u << only;

	if (!pattern || sign_is_glob(pattern))
		space_unread(batch->ask->space, kinds, only == RYE_KIND__MAX ? pattern : glob,
			     sign_unread, batch);
}

static void sign_each(struct batch *batch, json_t *paths[RYE_KIND__MAX])
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		batch->total += json_array_size(paths[kind]);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		for (size_t i = 0; i < json_array_size(paths[kind]) && !batch->stop; i++)
			sign_one(batch, (enum rye_kind)kind,
				 json_string_value(json_array_get(paths[kind], i)));
}

int sign_many(const struct item_env *env, const struct sign_many *ask, struct rye_err *err)
{
	__attribute__((cleanup(batch_done))) struct batch batch = { .env = env, .ask = ask };
	json_t *paths[RYE_KIND__MAX] = { 0 };
	unsigned long since = memory_failures();
	int r;

	if (ask->space->type == RYE_SYSTEM)
		return rye_fail(err, RYE_READ_ONLY,
				"System space items are immutable and cannot be signed. Copy to "
				"project or user space first.");
	r = ask->dry ? 0 : keystore_signer(env, &batch.key, err);
	if (!r)
		r = signmany_collect(&batch, paths, err);
	r = memory_result(since, r, err);
	if (!r)
		find_unread(&batch);
	if (!r)
		sign_each(&batch, paths);
	if (batch.good && !ask->dry)
		sign_share(env, ask->space, &batch.key);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		json_decref(paths[kind]);
	if (!r && !batch.total && !batch.unread)
		r = rye_fail(err, RYE_NOT_FOUND, "nothing to sign%s%.200s",
			     ask->pattern ? " matches " : "", ask->pattern ? ask->pattern : "");
	return r;
}
