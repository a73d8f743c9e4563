/* SPDX-License-Identifier: MIT */
/*
 * What a box's veil lies over: signing keys, secrets, records of threads, trust, what git runs by
 * itself, private files, the sockets of threads and tokens of `ryefs mcp`, and the services of the
 * session and the machine for tools that may not use the network. Called by the worker that makes a
 * box. No lock, no state.
 */
#include "sandbox/sandbox_inner.h"

#include "hash.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a tool that may write there could otherwise make before us. */
static void make_reserved(const char *root, const char *const *names, mode_t mode)
{
	for (; *names; names++) {
		auto_free char *path = NULL;

		if (asprintf(&path, "%s%s", root, *names) >= 0)
			mkdir(path, mode);
	}
}

/* Records and trust of one space change through the engine alone. */
static void veil_protect(const char *root, bool state, struct veil_rows *rows)
{
	veil_rows_below(rows, VEIL_ANCHOR, root, ".ai");
	veil_rows_below(rows, VEIL_ANCHOR, root, ".ai/config");
	veil_rows_below(rows, VEIL_FREEZE, root, ".ai/state");
	/* what may only read a database may hold a lock of it, and every writer waits */
	if (!state)
		veil_rows_below(rows, VEIL_HIDE, root, ".ai/state/threads");
	veil_rows_below(rows, VEIL_FREEZE, root, ".ai/config/keys");
}

static void protect_all(const struct veil_want *want, struct veil_rows *rows)
{
	static const char *const state[] = { "/.ai/state", "/.ai/state/threads", NULL };
	static const char *const keys[] = { "/.ai", "/.ai/config", "/.ai/config/keys", NULL };
	static const char *const secrets[] = { "/.ai/secrets", NULL };

	for (size_t i = 0; i < want->spaces->n; i++) {
		const struct space *space = &want->spaces->v[i];

		if (space->type == RYE_PROJECT)
			make_reserved(space->root, state, 0700);
		if (want->write && space->type == RYE_USER && spaces_nested(want->spaces, space)) {
			make_reserved(space->root, keys, 0755);
			make_reserved(space->root, secrets, 0700);
		}
		if (space->type != RYE_SYSTEM)
			veil_protect(space->root, want->shown & SHOW_STATE, rows);
	}
}

/* Where programs listen that do what they are asked outside of the sandbox, for everybody. */
static const char *const machine[] = {
	"/run/dbus",	   "/run/systemd/private", "/run/docker.sock",
	"/run/containerd", "/run/podman",	   "/run/libvirt",
	"/run/screen",	   "/tmp/.X11-unix",	   "/tmp/.ICE-unix",
};

/*
 * And for the user that is logged in; they come and go with a session. The first ones are ours: what
 * writes to a thread's socket raises its limits, what reads a token runs everything, so no tool sees
 * them.
 */
#define SESSION_PATHS 6
#define SESSION_OWN 2
#define SESSION_PATH_MAX 256

struct session_list {
	char v[SESSION_PATHS][SESSION_PATH_MAX];
};

static void session_paths(struct session_list *ret)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *agent = getenv("SSH_AUTH_SOCK");
	const char *tmux = getenv("TMUX_TMPDIR");
	unsigned uid = geteuid();

	/* thread/thread_socket.c takes the one or the other, mcp/server/serve_token.c the first */
	snprintf(ret->v[0], SESSION_PATH_MAX, "%s%s", runtime ? runtime : "",
		 runtime ? "/ryefs" : "");
	snprintf(ret->v[1], SESSION_PATH_MAX, "/tmp/ryefs-%u", uid);
	snprintf(ret->v[2], SESSION_PATH_MAX, "/run/user/%u", uid);
	snprintf(ret->v[3], SESSION_PATH_MAX, "%s", runtime ? runtime : "");
	snprintf(ret->v[4], SESSION_PATH_MAX, "%s/tmux-%u", tmux ? tmux : "/tmp", uid);
	snprintf(ret->v[5], SESSION_PATH_MAX, "%s", agent ? agent : "");
}

/*
 * A thread that starts later would make them, and a tool that runs already would see it: what is to be
 * hidden has to be there. In a runtime directory that is another user's nothing is made.
 */
static void make_own(const struct session_list *session)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (runtime && lstat(runtime, &st) == 0 && st.st_uid == geteuid())
		mkdir(session->v[0], 0700);
	mkdir(session->v[1], 0700);
}

static bool veil_beneath(const char *path, const char *dir)
{
	return path && path_below(path, dir);
}

/*
 * What a run needs must stay where it is. In /tmp everybody may plant a link: it would not be the
 * link that is hidden.
 */
static bool may_hide(const struct veil_want *want, const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0 || S_ISLNK(st.st_mode))
		return false;
	if (*dir != '/' || !dir[1] || veil_beneath(want->tmpdir, dir) ||
	    veil_beneath(want->served, dir))
		return false;
	for (size_t i = 0; i < want->spaces->n; i++)
		if (veil_beneath(want->spaces->v[i].root, dir))
			return false;
	return true;
}

static void hide_services(const struct veil_want *want, const struct session_list *session,
			  struct veil_rows *rows)
{
	size_t n = want->services ? SESSION_OWN : SESSION_PATHS;

	for (size_t i = 0; i < ARRAY_SIZE(machine) && !want->services; i++)
		if (may_hide(want, machine[i]))
			veil_rows_add(rows, VEIL_HIDE, machine[i]);
	for (size_t i = 0; i < n; i++)
		if (may_hide(want, session->v[i]))
			veil_rows_add(rows, VEIL_HIDE, session->v[i]);
}

/* Keys and secrets, and what of the project is the person's own. */
static void hide_private(const struct veil_want *want, struct veil_rows *rows)
{
	const char *const dirs[] = { want->spaces->key_dir, want->spaces->secret_dir };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (dirs[i])
			veil_rows_add(rows, VEIL_HIDE, dirs[i]);
	if (want->write && !(want->shown & SHOW_GIT))
		veil_rows_git(rows, want->spaces->v[0].root, ".git");
	privates_rows(veil_watch_privates(want->watch), want, rows);
}

static uint64_t add_stamp(uint64_t hash, int dir, const char *path)
{
	struct stat st;

	return hash_add(hash, *path && !fstatat(dir, path, &st, 0) ? veil_identity(&st) : 0);
}

/* Names of a space's .ai, and what is veiled in these. */
static uint64_t space_stamp(struct veil_watch *watch, uint64_t hash, size_t i)
{
	static const char *const names[] = { "config", "state", NULL };
	static const char *const below[] = { "config/keys", "state/threads" };
	const struct space *space = &veil_watch_spaces(watch)->v[i];
	struct veil_names found;
	char path[4096];

	/* by its path: the descriptor may stand for one that was replaced */
	snprintf(path, sizeof(path), "%s/.ai", space->root);
	veil_watch_names(watch, i, path, names, &found);
	hash = hash_add(hash, found.hash);
	for (size_t j = 0; j < ARRAY_SIZE(below); j++)
		hash = found.there >> j & 1 ? add_stamp(hash, space_fd(space), below[j]) :
					      hash_add(hash, 0);
	return hash;
}

uint64_t veil_stamp(struct veil_watch *watch)
{
	const struct spaces *spaces = veil_watch_spaces(watch);
	uint64_t hash = spaces->key_dir ? add_stamp(1, AT_FDCWD, spaces->key_dir) : 1;
	struct session_list session;

	if (spaces->secret_dir)
		hash = add_stamp(hash, AT_FDCWD, spaces->secret_dir);
	session_paths(&session);
	for (size_t i = 0; i < SESSION_PATHS; i++)
		hash = add_stamp(hash, AT_FDCWD, session.v[i]);
	for (size_t i = 0; i < spaces->n && spaces->v[i].type != RYE_SYSTEM; i++)
		hash = space_stamp(watch, hash, i);
	return hash;
}

/* Is it a directory that every box hides, or does it lie in one? */
static bool lies_hidden(const char *dir, const char *hidden)
{
	auto_free char *real = hidden && *hidden ? realpath(hidden, NULL) : NULL;

	return real && veil_beneath(dir, real);
}

bool veil_hides(const struct spaces *spaces, const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	auto_free char *real = NULL;
	struct session_list session;
	bool hidden;

	session_paths(&session);
	make_own(&session);
	real = dir ? realpath(dir, NULL) : NULL;
	if (!real)
		return false;
	hidden = lies_hidden(real, spaces->key_dir) || lies_hidden(real, spaces->secret_dir);
	for (size_t i = 0; i < SESSION_OWN; i++)
		hidden |= lies_hidden(real, session.v[i]);
	return hidden;
}

static bool lies_in_shm(const char *path)
{
	static const char shm[] = "/dev/shm/";
	auto_free char *real = realpath(path, NULL);

	return real && !strncmp(real, shm, sizeof(shm) - 1);
}

bool veil_may_own_shm(const struct spaces *spaces, const char *tmpdir)
{
	for (size_t i = 0; i < spaces->n; i++)
		if (lies_in_shm(spaces->v[i].root))
			return false;
	return !lies_in_shm(tmpdir);
}

int veil_spaces(const struct veil_want *want, struct veil *ret)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows rows = { 0 };
	struct veil_ask ask = { .rows = &rows,
				.shm = want->shm,
				.shut = true,
				.tmpdir = want->tmpdir,
				.home = want->home,
				.served = want->served,
				.root = geteuid() == 0 };
	struct session_list session;
	uint64_t before;
	int r;

	if (want->write)
		ask.project = want->spaces->v[0].root;
	/* Nothing is outside of it. */
	if (want->write && !strcmp(ask.project, "/"))
		ask.shut = false;
	session_paths(&session);
	make_own(&session);
	protect_all(want, &rows);
	before = veil_watch_stamp(want->watch);
	hide_private(want, &rows);
	hide_services(want, &session, &rows);
	veil_rows_aliases(&rows);
	r = !rows.failed ? veil_make(&ask, ret) : rows.sys ? -rows.sys : -ENOMEM;
	/* What came meanwhile makes it stale. */
	if (!r)
		ret->stamp = before;
	return r;
}
