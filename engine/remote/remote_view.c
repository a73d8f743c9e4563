/* SPDX-License-Identifier: MIT */
/*
 * What a mount shows of a remote: a table of files, each made of configuration, the pin, and what the
 * project's .ai/state/remotes/NAME has of the last contact. Reads files alone.
 */
#include "remote/remote_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "clock.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One look at a remote. */
struct view_look {
	const struct item_env *env;
	struct remote remote;
	json_t *contact; /* NULL: it was never tried */
};

static void view_look_done(struct view_look *look)
{
	remote_done(&look->remote);
	json_decref(look->contact);
}
#define auto_look __attribute__((cleanup(view_look_done)))

static int view_look(const struct item_env *env, const char *remote, struct view_look *ret,
		     struct rye_err *err)
{
	int r = remote_find(env, remote, &ret->remote, err);

	ret->env = env;
	if (!r)
		ret->contact = contact_read(env, remote);
	return r;
}

/* "3 s" since that time; "": it is not told. */
static void put_age(const char *stamp, struct rye_buf *out)
{
	struct timespec then, now;
	long long s;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!clock_iso_read(stamp, &then))
		return;
	s = now.tv_sec > then.tv_sec ? (long long)(now.tv_sec - then.tv_sec) : 0;
	if (s < 120)
		buf_addf(out, " %lld s ago", s);
	else if (s < 7200)
		buf_addf(out, " %lld min ago", s / 60);
	else
		buf_addf(out, " at %s", stamp);
}

static int put_status(const struct view_look *look, struct rye_buf *out, struct rye_err *err)
{
	const json_t *error = json_object_get(look->contact, "error");
	__attribute__((cleanup(pin_done))) struct pin pin = { 0 };
	struct rye_err why = { 0 };

	(void)err;
	if (pin_load(look->env, look->remote.name, &pin, &why)) {
		buf_addf(out, "unpinned: %s\n", why.msg);
	} else if (error) {
		buf_adds(out, "unreachable, tried");
		put_age(json_str(look->contact, "failed"), out);
		buf_addf(out, ": %s\n", json_str(error, "message"));
	} else if (*json_str(look->contact, "reached")) {
		buf_adds(out, "reachable,");
		put_age(json_str(look->contact, "reached"), out);
		buf_adds(out, "\n");
	} else {
		buf_adds(out, "never tried\n");
	}
	return 0;
}

static int put_info(const struct view_look *look, struct rye_buf *out, struct rye_err *err)
{
	const struct remote *remote = &look->remote;
	auto_json json_t *doc = json_object();

	(void)err;
	json_sets(doc, "name", remote->name);
	json_sets(doc, "url", remote->url);
	json_sets(doc, "project_path", remote->project);
	json_object_set(doc, "push", remote->push);
	json_object_set(doc, "secrets", remote->secrets);
	json_object_set(doc, "labels", remote->labels);
	json_object_set(doc, "node", json_object_get(look->contact, "info"));
	json_object_set(doc, "reached", json_object_get(look->contact, "reached"));
	json_put(out, doc, true);
	return 0;
}

/* What was sent there last. */
#define PUSHED_FILE "pushed.json"
#define PUSHED_MAX (1u << 20)

static int put_pushed(const struct view_look *look, struct rye_buf *out, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(look->env, look->remote.name, false);
	auto_blob struct rye_blob *text = NULL;
	int r = dir < 0 ? dir : io_read_at(dir, PUSHED_FILE, PUSHED_MAX, &text);

	if (r == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "%s: nothing was pushed", look->remote.name);
	if (r < 0)
		return rye_fail_sys(err, -r, "state/remotes/%s/" PUSHED_FILE, look->remote.name);
	buf_add(out, text->data, text->len);
	return 0;
}

/* Something was sent there: without reading what. */
static bool has_pushed(const struct view_look *look)
{
	auto_close int dir = remote_state_dir(look->env, look->remote.name, false);

	return dir >= 0 && faccessat(dir, PUSHED_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static const struct view_file {
	const char *name;
	bool (*there)(const struct view_look *look); /* for a listing; NULL: it always is */
	int (*put)(const struct view_look *look, struct rye_buf *out, struct rye_err *err);
} view_files[] = {
	{ "info.json", NULL, put_info },
	{ "pushed", has_pushed, put_pushed },
	{ "status", NULL, put_status },
};

int remote_view_names(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
		      struct rye_err *err)
{
	auto_look struct view_look look = { .env = env };
	int r = remote_find(env, remote, &look.remote, err);

	for (size_t i = 0; i < ARRAY_SIZE(view_files) && !r; i++)
		if ((!view_files[i].there || view_files[i].there(&look)) &&
		    fn(arg, view_files[i].name))
			break;
	return r;
}

#define FOREIGN_DIR "foreign/"

/* foreign/ID.json: the row as the node told it last. */
static int view_foreign(const struct item_env *env, const char *remote, const char *name,
			struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *rows = remote_foreign(env, remote);
	char id[ID_UUID_MAX];
	size_t n = strcspn(name, ".");
	const json_t *row;

	snprintf(id, sizeof(id), "%.*s", (int)MIN_OF(n, sizeof(id) - 1), name);
	row = strcmp(name + n, ".json") ? NULL : json_object_get(rows, id);
	if (!row)
		return rye_fail(err, RYE_NOT_FOUND, "remotes/%s has no file " FOREIGN_DIR "%s",
				remote, name);
	*ret = json_blob(row, true);
	return *ret ? 0 : memory_fail(err);
}

int remote_view_foreign(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
			struct rye_err *err)
{
	auto_json json_t *rows = remote_foreign(env, remote);
	char name[ID_UUID_MAX + 8];
	const char *id;
	json_t *row;

	(void)err;
	json_object_foreach(rows, id, row) {
		snprintf(name, sizeof(name), "%.*s.json", ID_UUID_MAX - 1, id);
		if (fn(arg, name))
			break;
	}
	return 0;
}

int remote_view_file(const struct item_env *env, const char *remote, const char *name,
		     struct rye_blob **ret, struct rye_err *err)
{
	auto_look struct view_look look = { .env = env };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	unsigned long since = memory_failures();
	size_t i = 0;
	int r;

	if (!strncmp(name, FOREIGN_DIR, strlen(FOREIGN_DIR)))
		return view_foreign(env, remote, name + strlen(FOREIGN_DIR), ret, err);
	while (i < ARRAY_SIZE(view_files) && strcmp(view_files[i].name, name) != 0)
		i++;
	if (i == ARRAY_SIZE(view_files))
		return rye_fail(err, RYE_NOT_FOUND, "remotes/%s has no file %s", remote, name);
	r = view_look(env, remote, &look, err);
	if (!r)
		r = view_files[i].put(&look, &text, err);
	r = memory_result(since, r, err);
	if (r)
		return r;
	*ret = buf_blob(&text);
	return *ret ? 0 : memory_fail(err);
}

int remote_view_threads(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
			struct rye_err *err)
{
	auto_close int state = remote_state_dir(env, remote, false);
	auto_close int dir = state < 0 ? -1 :
					 io_open_beneath(state, "outbox", O_RDONLY | O_DIRECTORY);
	auto_dir DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	(void)err;
	if (!list)
		return 0;
	steal_fd(&dir);
	while ((entry = readdir(list)))
		if (*entry->d_name != '.' && fn(arg, entry->d_name))
			break;
	return 0;
}

void remote_view_forget(const struct item_env *env, const char *id)
{
	auto_json json_t *names = NULL;
	const json_t *name;
	size_t i;

	/* orders have the ids of UUIDs: what has another form is no file's name here */
	if (strchr(id, '/') || remote_names(env, &names, NULL))
		return;
	json_array_foreach(names, i, name) {
		auto_close int state = remote_state_dir(env, json_string_value(name), false);
		auto_close int dir =
			state < 0 ? -1 : io_open_beneath(state, "outbox", O_RDONLY | O_DIRECTORY);

		if (dir >= 0)
			unlinkat(dir, id, 0);
	}
}

/* ---- is it as it was? ---- */

static uint64_t stamp_names(const struct item_env *env)
{
	auto_json json_t *names = NULL;
	uint64_t hash = HASH_BASIS;
	const json_t *name;
	size_t i;

	if (remote_names(env, &names, NULL))
		return 0;
	json_array_foreach(names, i, name)
		hash = hash_add(hash_text(hash, json_string_value(name)), '/');
	return hash | 1;
}

/* What was there, and when a name in it came or went: every file of these is replaced, none is changed. */
static uint64_t stamp_marks(const struct marks *marks)
{
	uint64_t hash = HASH_BASIS;

	for (size_t i = 0; i < marks->n; i++) {
		const struct stat *st = &marks->v[i].st;

		hash = hash_add(hash_text(hash, marks->v[i].path), marks->v[i].there);
		if (!marks->v[i].there)
			continue;
		hash = hash_add(hash_add(hash, st->st_dev), st->st_ino);
		hash = hash_add(hash_add(hash, (uint64_t)st->st_mtim.tv_sec),
				(uint64_t)st->st_mtim.tv_nsec);
		hash = hash_add(hash_add(hash, (uint64_t)st->st_ctim.tv_sec),
				(uint64_t)st->st_ctim.tv_nsec);
	}
	return marks->unfit ? 0 : hash | 1;
}

uint64_t remote_view_stamp(const struct item_env *env, const char *remote)
{
	static const char *const places[] = { "", "/outbox" };
	const struct space *project = &env->spaces->v[0];
	struct marks marks = { 0 };
	char path[128];
	uint64_t stamp;

	if (!*remote)
		return stamp_names(env);
	if (!remote_name_ok(remote))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "state/remotes/%s%s", remote, places[i]);
		space_mark(project, path, false, &marks);
	}
	/* which runs are foreign */
	space_mark(project, "state/threads", false, &marks);
	stamp = stamp_marks(&marks);
	marks_done(&marks);
	return stamp;
}
