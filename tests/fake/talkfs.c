/* SPDX-License-Identifier: MIT */
/*
 * talkfs.c - a mount of nothing but conversations, with a fake engine (fake/engine.c), for the
 * kernel facts and client matrix of `run` apart from items, trust and tools.
 *
 * talkfs MOUNTPOINT [WAIT_SECONDS]: files run, other (two items), output, errors. Stays in the
 * foreground until it is unmounted or gets SIGTERM. Like the real front: OPEN is refused, a
 * fresh node per lookup, no attribute or entry timeout, loops with two threads.
 */
#include "caller/caller.h"
#include "core/ctl.h"
#include "core/parking.h"
#include "core/reply.h"
#include "talk/talk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
	struct file *next, **link;
	struct talk *talk;
	struct rye_blob *blob;
	struct own_origin origin; /* of blob */
	ino_t ino;
};

struct job {
	struct job *next;
	struct notify_pages inval;
	_Atomic int told;
	_Atomic int refs;
};

static struct {
	struct fuse_session *session;
	struct callers *callers;
	struct talks *talks;
	struct parking *parking;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first, **last;
	struct file *files;
	_Atomic unsigned long late;
} fs = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .last = &fs.first };

static const char *const names[] = { "run", "other", "output", "errors" };

static void told(struct job *job)
{
	if (!job->told++)
		job->inval.done(job->inval.done_arg);
	if (--job->refs == 0)
		free(job);
}

static void *patience(void *arg)
{
	struct job *job = arg;

	usleep(20000); /* the time that the front waits for the kernel */
	if (!job->told)
		fs.late++;
	told(job);
	return NULL;
}

static void *notifier(void *arg)
{
	for (;;) {
		struct job *job;
		pthread_attr_t attr;
		pthread_t thread;

		pthread_mutex_lock(&fs.lock);
		while (!fs.first)
			pthread_cond_wait(&fs.more, &fs.lock);
		job = fs.first;
		fs.first = job->next;
		if (!fs.first)
			fs.last = &fs.first;
		pthread_mutex_unlock(&fs.lock);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		/* a thread for each notification: slow, but simple enough for a test */
		job->refs++;
		if (pthread_create(&thread, &attr, patience, job) != 0)
			job->refs--;
		fuse_lowlevel_notify_inval_inode(fs.session, job->inval.ino, job->inval.from,
						 job->inval.len);
		told(job);
	}
	return NULL;
}

static void invalidate(void *arg, const struct notify_pages *inval)
{
	struct job *job = calloc(1, sizeof(*job));

	job->inval = *inval;
	job->refs = 1;
	pthread_mutex_lock(&fs.lock);
	*fs.last = job;
	fs.last = &job->next;
	pthread_cond_signal(&fs.more);
	pthread_mutex_unlock(&fs.lock);
}

static void complain(void *arg, const char *line)
{
	fprintf(stderr, "talkfs: %s", line);
}

static struct file *file_of(fuse_ino_t ino)
{
	return (struct file *)(uintptr_t)ino;
}

static void stat_of(fuse_ino_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	st->st_uid = getuid();
	st->st_gid = getgid();
	st->st_mode = S_IFDIR | 0755;
	st->st_ino = 1;
	if (ino == FUSE_ROOT_ID)
		return;
	st->st_ino = file_of(ino)->ino;
	st->st_mode = S_IFREG | 0400;
	if (file_of(ino)->talk)
		talk_stat(file_of(ino)->talk, st);
	else
		st->st_size = (off_t)file_of(ino)->blob->len;
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	conn->want &= ~(unsigned)(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA);
	conn->want |= FUSE_CAP_EXPLICIT_INVAL_DATA;
}

static struct file *make(size_t which, struct caller *who)
{
	struct file *file = calloc(1, sizeof(*file));
	struct talk_target target = { RYE_RUN, RYE_TOOL, which == 0 ? "fake/run" : "fake/other" };

	file->ino = 100 + which;
	if (which < 2)
		file->talk = talk_new(fs.talks, &target, who);
	else
		file->blob = which == 2 ?
				     own_output(fs.talks, who, "tool:fake/run", &file->origin) :
				     own_errors(fs.talks, who, CTL_ERRORS_KEY, &file->origin);
	if (file->talk)
		talk_bind(file->talk, (fuse_ino_t)(uintptr_t)file);
	pthread_mutex_lock(&fs.lock);
	file->next = fs.files;
	file->link = &fs.files;
	if (file->next)
		file->next->link = &file->next;
	fs.files = file;
	pthread_mutex_unlock(&fs.lock);
	return file;
}

static void drop(struct file *file)
{
	pthread_mutex_lock(&fs.lock);
	*file->link = file->next;
	if (file->next)
		file->next->link = file->link;
	pthread_mutex_unlock(&fs.lock);
	if (file->talk)
		talk_forget(file->talk);
	rye_blob_unref(file->blob);
	free(file);
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct fuse_entry_param entry = { 0 };
	struct caller *who;
	struct file *file;
	size_t i = 0;

	while (i < 4 && strcmp(names[i], name) != 0)
		i++;
	if (i == 4) {
		reply_errno(req, ENOENT);
		return;
	}
	who = caller_identify(fs.callers, ctx->pid, ctx->uid);
	file = make(i, who);
	caller_unref(who);
	entry.ino = (fuse_ino_t)(uintptr_t)file;
	stat_of(entry.ino, &entry.attr);
	if (fuse_reply_entry(req, &entry) < 0)
		drop(file);
}

static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	fuse_reply_none(req);
	drop(file_of(ino));
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	stat_of(ino, &st);
	if (ino != FUSE_ROOT_ID && file_of(ino)->talk)
		talk_getattr(file_of(ino)->talk, req, fi != NULL, &st);
	else
		reply_attr(req, &st, 0);
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	struct stat st;

	if (to_set & FUSE_SET_ATTR_SIZE && ino != FUSE_ROOT_ID && file_of(ino)->talk)
		talk_truncate(file_of(ino)->talk, attr->st_size);
	stat_of(ino, &st);
	reply_attr(req, &st, 0);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct rye_blob *blob;
	size_t begin;

	if (file_of(ino)->talk) {
		talk_read(file_of(ino)->talk, req, size, off);
		return;
	}
	if (file_of(ino)->origin.disputed) {
		reply_errno(req, EBUSY);
		return;
	}
	own_was_read(fs.talks, "tool:fake/run", file_of(ino)->origin.from);
	/* the kernel may send the FORGET, which the other thread serves, before the call that
	 * answers returns */
	blob = rye_blob_ref(file_of(ino)->blob);
	begin = (size_t)off < blob->len ? (size_t)off : blob->len;
	reply_bytes(req, blob->data + begin, size < blob->len - begin ? size : blob->len - begin);
	rye_blob_unref(blob);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct talk_write write = {
		.bytes = { buf, size },
		.off = off,
		.append = fi->flags & O_APPEND,
		.paged = fi->writepage,
	};

	talk_write(file_of(ino)->talk, req, &write);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_reply_err(req, ENOSYS);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	char buf[4096];
	size_t len = 0;

	for (size_t i = (size_t)off; i < 4; i++) {
		struct stat st = { .st_ino = 100 + i, .st_mode = S_IFREG };

		len += fuse_add_direntry(req, buf + len, sizeof(buf) - len, names[i], &st,
					 (off_t)i + 1);
	}
	fuse_reply_buf(req, buf, len);
}

static const struct fuse_lowlevel_ops ops = {
	.init = on_init,
	.lookup = on_lookup,
	.forget = on_forget,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.read = on_read,
	.write = on_write,
	.open = on_open,
	.flush = NULL,
	.opendir = on_open,
	.readdir = on_readdir,
};

static void serve(const char *mountpoint)
{
	char name[] = "talkfs", option[] = "-ofsname=talkfs", check[] = "-odefault_permissions";
	char trace[] = "-d", *debug = getenv("TALKFS_DEBUG") ? trace : check;
	char *argv[] = { name, option, debug, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t thread;

	fs.session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!fs.session || fuse_set_signal_handlers(fs.session) < 0 ||
	    fuse_session_mount(fs.session, mountpoint) < 0)
		exit(1);
	pthread_create(&thread, NULL, notifier, NULL);
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, 4);
	fuse_session_loop_mt(fs.session, config);
	parking_close(fs.parking);
	talks_close(fs.talks);
	fuse_session_unmount(fs.session);
	while (fs.files)
		drop(fs.files);
	talks_free(fs.talks);
	parking_free(fs.parking);
	callers_close(fs.callers);
	fuse_loop_cfg_destroy(config);
	fuse_opt_free_args(&args);
	fprintf(stderr, "talkfs: late %lu\n", fs.late);
	/* the notifier still runs: leave the session to the end of the process */
}

int main(int argc, char **argv)
{
	struct callers_env callers_env = { .owner = getuid() };
	struct talks_env env = { .invalidate = invalidate, .complain = complain };

	if (argc < 2 || callers_open(&callers_env, &fs.callers) < 0)
		return 2;
	if (parking_open(&fs.parking) < 0)
		return 2;
	env.callers = fs.callers;
	env.parking = fs.parking;
	env.wait_s = argc > 2 ? atoi(argv[2]) : 0;
	if (talks_open(&env, &fs.talks) < 0)
		return 2;
	serve(argv[1]);
	return 0;
}
