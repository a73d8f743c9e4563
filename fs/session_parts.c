/* SPDX-License-Identifier: MIT */
/*
 * session_parts.c - what a mount consists of, in the order in which it is made.
 *
 * Owns that order and its reverse: the engine is opened first and closed last; then come callers,
 * conversations, nodes, notifications; the device in between. No lock: one thread, before and after
 * the loops.
 */
#include "session_parts.h"

#include "caller/caller.h"
#include "change.h"
#include "clock.h"
#include "core/listing.h"
#include "core/notify.h"
#include "core/page.h"
#include "core/parking.h"
#include "err.h"
#include "mount/mount.h"
#include "pass/pass.h"
#include "scope.h"
#include "talk/talk.h"
#include "views/views.h"

#include <errno.h>
#include <string.h>

int session_fail(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_IO, "%s", what);
}

int session_fail_sys(struct rye_err *err, int sys, const char *what)
{
	return rye_fail_sys(err, sys, "%s", what);
}

void session_warn(struct front *front, const char *text)
{
	journal_log(front->journal, RYE_LOG_WARN, "mount", text);
}

/* A refused message, for stderr of a foreground daemon. */
static void session_parts_complain(void *arg, const char *line)
{
	struct front *front = arg;
	char text[1024];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
	journal_log(front->journal, RYE_LOG_INFO, "refused", text);
}

static void wake_sweep(void *arg, int64_t due_ns)
{
	struct front *front = arg;

	parking_sweep_by(front->parking, due_ns);
}

static int open_callers(struct front *front)
{
	struct callers_env env = {
		.rye = front->rye,
		.owner = front->uid,
		.trust_any = front->opt->trust_any,
		.wake = wake_sweep,
		.arg = front,
	};

	return callers_open(&env, &front->callers);
}

static void sweep_all(void *arg)
{
	struct front *front = arg;
	/* first: what it finds are replies, too */
	int64_t next = talks_count_old(front->talks);

	if (next)
		parking_sweep_by(front->parking, next);
	next = callers_sweep(front->callers);
	if (next)
		parking_sweep_by(front->parking, next);
	named_sweep(front->named);
}

static int open_talks(struct front *front)
{
	struct talks_env env = {
		.rye = front->rye,
		.callers = front->callers,
		.parking = front->parking,
		.mountpoint = front->opt->mountpoint,
		.wait_s = front->opt->wait_s,
		.invalidate = notify_talk,
		.arg = front,
		.complain = session_parts_complain,
	};

	return talks_open(&env, &front->talks);
}

/* 0 or -errno, and the part that could not be made. */
static int open_parts(struct front *front, const char **ret_part)
{
	int r;

	if ((r = nodes_open(front->init.epoch, &front->nodes)))
		*ret_part = "the table of nodes";
	else if ((r = notify_open(front, &front->notify)))
		*ret_part = "the notify threads";
	else if ((r = shelf_open(&front->shelf)))
		*ret_part = "the shelf of listings";
	else if ((r = pass_open(front, &front->pass)))
		*ret_part = "spaces/";
	else if ((r = open_callers(front)))
		*ret_part = "the table of callers";
	else if ((r = parking_open(&front->parking)))
		*ret_part = "the parking thread";
	else if ((r = asides_open(&front->asides)))
		*ret_part = "the lanes of requests";
	else if ((r = searches_open(front, &front->searches)))
		*ret_part = "the search thread";
	else if ((r = catalogues_open(front, &front->catalogues)))
		*ret_part = "the catalogue's thread";
	else if ((r = open_talks(front)))
		*ret_part = "conversations";
	else if ((r = named_start(front, &front->named)))
		*ret_part = "the table of calls";
	return r;
}

/* Whatever the errno says: it is this machine's trouble, not a denial by the mount. */
static int part_failed(struct rye_err *err, int sys, const char *part)
{
	rye_fail_sys(err, sys, "cannot make %s", part);
	err->code = RYE_IO;
	return -(int)RYE_IO;
}

/* What the daemon before this one died of, and its last words; from here on ours are kept, too. */
static void tell_before(struct front *front, struct handover *handover)
{
	struct handover_mount old = handover_mount(handover);
	const char *line = handover_before(handover);
	char text[1024], at[24];

	front->death = *handover_death(handover);
	if (old.lives) {
		snprintf(text, sizeof(text),
			 "took over from process %d, which serves those that were inside until "
			 "they have left",
			 (int)old.daemon);
		journal_log(front->journal, RYE_LOG_INFO, "mount", text);
	} else if (front->death.times) {
		clock_stamp(front->death.at_s, at);
		snprintf(text, sizeof(text),
			 "the daemon before this one %s, at %s; mounted again, time %d; what "
			 "it ran has ended%s",
			 front->death.why, at, front->death.times,
			 *line ? "; its last words:" : ", and it had said nothing");
		journal_log(front->journal, RYE_LOG_WARN, "mount", text);
	}
	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		snprintf(text, sizeof(text), "| %.*s", (int)n, line);
		journal_log(front->journal, RYE_LOG_INFO, "mount", text);
	}
	journal_copy(front->journal, handover_line, handover);
}

int session_parts_open(struct front *front, struct handover *handover, struct rye_err *err)
{
	struct rye_options options = front->opt->engine;
	const char *part = "";
	int r;

	r = journal_open(&(struct journal_how){ "log", front->opt->foreground, front->opt->debug },
			 &front->journal);
	if (r == 0)
		r = journal_open(&(struct journal_how){ .name = "changes" }, &front->changes);
	if (r)
		return part_failed(err, -r, ".ryefs/log");
	if (handover)
		tell_before(front, handover);
	options.log = journal_log;
	options.log_arg = front->journal;
	if (rye_open(&options, &front->rye, err))
		return -(int)err->code;
	front->offers = rye_offers_open(front->rye, front->opt->skills);
	if (!front->offers)
		return part_failed(err, ENOMEM, "skills/");
	r = open_parts(front, &part);
	if (r)
		return part_failed(err, -r, part);
	front->root = fixed_root(front);
	if (!front->root)
		return part_failed(err, ENOMEM, "the root directory");
	parking_sweep(front->parking, sweep_all, front); /* what it sweeps is there now */
	return 0;
}

/* "fsname=" takes the rest of the option up to a comma: those in the path are escaped. */
static void session_parts_add_name(struct fuse_args *args, const char *source)
{
	char text[2 * 4096 + 16] = "fsname=";
	size_t n = strlen(text);

	for (const char *p = source; *p && n < sizeof(text) - 3; p++) {
		if (*p == ',' || *p == '\\')
			text[n++] = '\\';
		text[n++] = *p;
	}
	text[n] = 0;
	fuse_opt_add_arg(args, "-o");
	fuse_opt_add_arg(args, text);
}

/* Where another daemon's mount is to be followed. */
static int mount_again(struct front *front, const struct handover *handover, struct rye_err *err)
{
	return front->init.epoch ? kept_mount(front->session, handover, err) :
				   beneath_mount(front->session, front->opt, err);
}

int session_mount(struct front *front, const struct handover *handover, struct rye_err *err)
{
	/* libfuse takes its words out of the list */
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

	for (int i = 0; i < front->opt->args.argc; i++)
		fuse_opt_add_arg(&args, front->opt->args.argv[i]);
	fuse_opt_add_arg(&args, "-osubtype=ryefs,nosuid,nodev,default_permissions");
	session_parts_add_name(&args, front->opt->source);
	front->session = fuse_session_new(&args, &ops_table, sizeof(ops_table), front);
	fuse_opt_free_args(&args);
	if (!front->session)
		return session_fail(err, "libfuse refuses the options");
	rye_watch(front->rye, change_seen, front);
	if (front->opt->again_fd >= 0) {
		if (mount_again(front, handover, err))
			return -(int)err->code;
	} else if (fuse_session_mount(front->session, front->opt->mountpoint)) {
		return mountpoint_failed(front->opt, err);
	}
	front->mount_id = mountpoint_id(front->opt->mountpoint);
	if (device_attach(front->session))
		return session_fail(err, "out of memory");
	journal_bind(front->journal, front);
	journal_bind(front->changes, front);
	return 0;
}

void session_known(struct front *front)
{
	if (front->relay && !kept_known(front))
		front->reloads = false;
	if (front->init.epoch)
		change_epoch(front);
}

void session_stop_parked(struct front *front)
{
	if (front->stopped)
		return;
	front->stopped = true;
	parking_close(front->parking);
	searches_stop(front->searches);
	catalogues_stop(front->catalogues);
	if (front->talks)
		talks_close(front->talks);
}

void session_stop_notices(struct front *front)
{
	if (front->notify)
		notify_end(front->notify);
}

bool session_on_top(const struct front *front)
{
	return !front->mount_id || mountpoint_id(front->opt->mountpoint) == front->mount_id;
}

void session_unmount(struct front *front)
{
	if (front->journal)
		journal_bind(front->journal, NULL);
	if (front->changes)
		journal_bind(front->changes, NULL);
	session_stop_parked(front);
	if (!front->session)
		return;
	if (front->opt->again_fd >= 0 || !session_on_top(front))
		beneath_unmount(front->session, front->opt, front->mount_id);
	else
		fuse_session_unmount(front->session);
}

void session_parts_close(struct front *front)
{
	session_unmount(front);
	/* until here the engine may tell of a change, which looks for nodes */
	if (front->rye)
		rye_close(front->rye);
	rye_offers_close(front->offers);
	shelf_close(front->shelf);
	nodes_close(front->nodes);
	searches_free(front->searches);
	catalogues_free(front->catalogues);
	notify_free(front->notify);
	if (front->talks)
		talks_free(front->talks);
	named_free(front->named);
	if (front->callers)
		callers_close(front->callers);
	asides_free(front->asides);
	parking_free(front->parking);
	ring_free(front->ring);
	pass_close(front->pass);
	if (front->session)
		fuse_session_destroy(front->session);
	journal_close(front->journal);
	journal_close(front->changes);
}

static void suggest_exclude(const struct front *front)
{
	auto_free char *git = NULL;
	auto_free char *line = mountpoint_exclude(front->opt, &git);

	if (line)
		fprintf(stderr,
			"ryefs: the mount lies in a git work tree; to keep it out: "
			"echo '%s' >> '%s'\n",
			line, git);
}

static void say_uring(struct front *front)
{
	char text[160];

	if (!front->opt->io_uring || front->uring == URING_ON)
		return;
	snprintf(text, sizeof(text), "io_uring is not used, requests come by /dev/fuse: %s",
		 dot_uring(front));
	journal_log(front->journal, RYE_LOG_INFO, "mount", text);
}

void session_summary(struct front *front, const struct rye_counts *counts)
{
	struct text text = { 0 };
	auto_blob struct rye_blob *line = NULL;

	dot_summary(counts, &text);
	dot_remedy(front, counts, "; most mended by: ", &text);
	line = text_blob(&text);
	if (line)
		fprintf(stderr, "ryefs: %s\n", line->data);
	suggest_exclude(front);
	if (front->answer_open)
		journal_log(front->journal, RYE_LOG_INFO, "mount",
			    "this kernel asks at every open: reading is slower");
	say_uring(front);
	if (atomic_load(&front->lookups_alone))
		journal_log(
			front->journal, RYE_LOG_WARN, "mount",
			"this libfuse begins a mount in a way that is not known here: names of "
			"one directory are looked up one at a time, and wait for a search there");
}
