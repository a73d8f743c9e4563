/* SPDX-License-Identifier: MIT */
/*
 * ryefs umount, ryefs reload: an idle mount is simply unmounted. When something holds it, its daemon is
 * asked to end (it cancels the runs it waits for, which frees their writers); what still holds
 * it after that keeps a detached remainder that vanishes with the holder.
 */
#include "cli/cli.h"

#include "clock.h"
#include "connection.h"
#include "mountinfo.h"
#include "scope.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/sysmacros.h>

#define PATIENCE_MS 5000 /* runs get RYE_KILL_GRACE_MS to end, the daemon some more */
#define LOOK_MS 20
#define RELOAD_MS 20000 /* a big workspace is opened, on a busy machine */

/* The daemon's pid as the mount itself tells it; 0: it does not. */
static pid_t daemon_pid(const char *path)
{
	auto_json json_t *stats = mounts_stats(path);

	return (pid_t)json_int(stats, "pid", 0);
}

/* A pidfd of the daemon, or -1. It answers once more behind that: the number was not another's by then. */
static int daemon_of(const char *path)
{
	pid_t pid = daemon_pid(path);
	auto_close int fd = pid > 1 ? pidfd_open(pid, 0) : -1;

	return fd >= 0 && daemon_pid(path) == pid ? steal_fd(&fd) : -1;
}

static bool gone_within(struct cli *cli, const char *path, int patience_ms)
{
	int64_t until = clock_ms() + patience_ms;
	struct progress progress;
	bool there;

	progress_start(&progress, cli, "its runs are being ended");
	while ((there = mounts_has(path)) && clock_ms() < until) {
		progress_wait(&progress);
		poll(NULL, 0, LOOK_MS);
	}
	progress_end(&progress);
	return !there;
}

/* Absolute, also where the daemon is dead and the path itself cannot be looked at. */
static char *verb_umount_absolute(const char *word)
{
	char *path = realpath(word, NULL);
	auto_free char *copy = NULL, *parent = NULL;
	char *slash, *joined = NULL;

	if (path)
		return path;
	copy = strdup(word);
	for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = 0;
	slash = copy ? strrchr(copy, '/') : NULL;
	if (slash)
		*slash = 0;
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	if (!parent || asprintf(&joined, "%s/%s", strcmp(parent, "/") ? parent : "",
				slash ? slash + 1 : copy) < 0)
		return NULL;
	return joined;
}

/* Another user's could not be unmounted anyway, and are no business of this one. */
static int say_mount(void *arg, const struct mountinfo *mount)
{
	struct rye_buf *list = arg;

	if (mountinfo_is_ours(mount) && mount->owner == getuid())
		buf_addf(list, "%s%s", list->len ? ", " : "; mounted are ", mount->point);
	return 0;
}

static int not_mounted(struct cli *cli)
{
	auto_buf struct rye_buf list = RYE_BUF_INIT;

	mountinfo_each(say_mount, &list);
	return cli_complain(cli, CLI_NOT_FOUND, NULL, "%s is not a mount of ryefs%s", cli->argv[0],
			    list.len ? list.data : "");
}

/* Of a silent daemon: aborts the connection, which frees the processes that wait for it. Of a dead
 * one: kills the tools it has left behind. True when the daemon answers. */
static bool daemon_answers(const char *path)
{
	enum connection_state state = connection_probe(path, CONNECTION_PATIENCE_MS);
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(path, &mount);

	if (state == CONNECTION_SILENT && line)
		connection_abort(minor(mount.dev), path);
	if (state == CONNECTION_DEAD && line)
		rye_end_leftovers(0, mount.source);
	return state == CONNECTION_ANSWERS;
}

static int unmounted(struct cli *cli, const char *path)
{
	rye_death_forget(path);
	return out_success(cli, "unmounted", path, NULL);
}

int verb_umount(struct cli *cli)
{
	auto_free char *path = verb_umount_absolute(cli->argv[0]);
	auto_close int daemon = -1;
	bool alive;

	if (!path || !mounts_has(path))
		return not_mounted(cli);
	alive = daemon_answers(path);
	if (mounts_detach(path, false))
		return unmounted(cli, path);
	daemon = alive ? daemon_of(path) : -1;
	if (daemon >= 0 && !pidfd_send_signal(daemon, SIGTERM, NULL, 0) &&
	    gone_within(cli, path, PATIENCE_MS))
		return unmounted(cli, path);
	if (!mounts_detach(path, true))
		return cli_complain(cli, CLI_DENIED,
				    "sudo ryefs umount, or the user who mounted it",
				    "cannot unmount %s", path);
	cli_note(cli, "%s was in use; it is gone from here, and wholly when its last user ends",
		 path);
	return unmounted(cli, path);
}

/* By another daemon than this one. */
static bool taken_over(struct cli *cli, const char *path, pid_t before)
{
	int64_t until = clock_ms() + RELOAD_MS;
	struct progress progress;
	pid_t now;

	progress_start(&progress, cli, "the next daemon begins");
	while ((now = daemon_pid(path)) == before && clock_ms() < until) {
		progress_wait(&progress);
		poll(NULL, 0, LOOK_MS);
	}
	progress_end(&progress);
	return now > 0 && now != before;
}

int verb_reload(struct cli *cli)
{
	auto_free char *path = verb_umount_absolute(cli->argv[0]), *mend = NULL;
	bool there = path && mounts_has(path);
	bool answers = there && daemon_answers(path);
	auto_json json_t *stats = answers ? mounts_stats(path) : NULL;
	auto_close int daemon = answers ? daemon_of(path) : -1;

	if (!there)
		return not_mounted(cli);
	mend = mend_with("ryefs umount %s", path);
	if (daemon < 0)
		return cli_complain(cli, CLI_DENIED, mend, "%s does not answer you", path);
	if (!json_flag(stats, "reloads", false))
		return cli_complain(
			cli, CLI_DENIED, mend,
			"%s cannot be taken over: that takes a mount in the background, "
			"and root where it has io_uring; unmount it and mount it again",
			path);
	if (pidfd_send_signal(daemon, SIGUSR2, NULL, 0) ||
	    !taken_over(cli, path, (pid_t)json_int(stats, "pid", 0)))
		return cli_complain(cli, CLI_FAILED, NULL,
				    "%s stays with its daemon: the program could not take over "
				    "(.ryefs/log says more; of root's mounts Linux 6.5 is wanted)",
				    path);
	return out_success(cli, "reloaded", path, NULL);
}
