/* SPDX-License-Identifier: MIT */
/*
 * Starting a warm interpreter and asking it for children. Only the pools' own thread and, for
 * stopping, warm_close call this; each wait has a bound, because the interpreter could be
 * stuck in an import. Everything the interpreter is started with comes from a plan.
 */
#include "warm/warm_inner.h"

#include "process/process.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Imports take tens of milliseconds; a machine under load takes more. */
#define START_MS 10000
/* Its children end at once when their control sockets are closed; one that hangs takes its time. */
#define STOP_MS 1000
/* One packet of the loader's text. */
#define PIECE (32 << 10)

static size_t warm_loader_at(const struct plan *plan)
{
	const struct program *program = program_of(plan);

	if (program->params_env)
		return 0;
	for (size_t i = 2;
	     program->argv && program->argv[0] && program->argv[1] && program->argv[i]; i++)
		if (!strcmp(program->argv[i - 1], "-c") &&
		    !strcmp(program->argv[i], program->loader))
			return i;
	return 0;
}

static const char *warm_text_name(const struct plan *plan)
{
	const struct program *program = program_of(plan);
	return strstr(program->loader, "\"compiled\"") ? program->argv[warm_loader_at(plan) + 1] :
							 NULL;
}

/* One packet, with up to four descriptors. */
struct packet {
	char kind[2];
	struct rye_span text;
	const int *fds;
	size_t nfds;
};

static bool send_packet(int fd, const struct packet *packet)
{
	struct iovec parts[] = { { (void *)packet->kind, strlen(packet->kind) },
				 { (void *)packet->text.ptr, packet->text.len } };
	union {
		char room[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	size_t size = packet->nfds * sizeof(int);

	if (packet->nfds) {
		message.msg_control = control.room;
		message.msg_controllen = CMSG_SPACE(size);
		CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&message)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&message)->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), packet->fds, size);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) ==
	       (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

static bool warm_parent_introduce(const struct plan_base *base, const struct warm_parent *parent,
				  const struct plan *plan)
{
	const struct program *program = program_of(plan);
	struct rye_span left = { program->loader, strlen(program->loader) };
	struct packet first = { .text = span_of(warm_child) };
	struct packet piece = { .kind = "L" }, names = { .kind = "M" };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int nest = boxes_nest(base->boxes);

	if (!send_packet(parent->socket, &first))
		return false;
	while (left.len) {
		piece.text = left;
		piece.text.len = left.len < PIECE ? left.len : PIECE;
		if (!send_packet(parent->socket, &piece))
			return false;
		left.ptr += piece.text.len;
		left.len -= piece.text.len;
	}
	buf_addf(&text, "[%d,%d,", SYS_landlock_restrict_self, RYE_WARM_TEXTS);
	if (json_is_array(program->preload))
		json_put(&text, program->preload, false);
	else
		buf_adds(&text, "[]");
	buf_addc(&text, ']');
	names.text = (struct rye_span){ text.data, text.len };
	names.fds = &nest;
	names.nfds = nest >= 0;
	return !text.failed && text.len < PIECE && send_packet(parent->socket, &names);
}

/* The program itself comes as the first packet: it would fill every listing of processes. */
static const char bootstrap[] =
	"import os; exec(os.read(3, 1 << 17)) # ryefs: interpreter that waits for calls";

/* flags of the plan, then -c and the bootstrap instead of the loader and what follows it */
static char **parent_argv(const struct plan *plan, size_t loader)
{
	const struct program *program = program_of(plan);
	char **argv = calloc(loader + 2, sizeof(*argv));

	if (!argv)
		return NULL;
	memcpy(argv, program->argv, loader * sizeof(*argv));
	argv[loader] = (char *)bootstrap;
	return argv;
}

/* The environment without what belongs to one call, with the box's directory. */
static char **parent_env(const struct plan *plan, const char *tmpdir, char **ret_row, char *mark)
{
	char **v = calloc(plan->env.n + 3, sizeof(*v));
	size_t n = 0;

	*ret_row = NULL;
	if (!v || (tmpdir && asprintf(ret_row, "TMPDIR=%s", tmpdir) < 0))
		return v;
	for (size_t i = 0; i < plan->env.n; i++)
		if (strncmp(plan->env.v[i], "RYE_TOOL_FD=", 12) &&
		    !(tmpdir && !strncmp(plan->env.v[i], "TMPDIR=", 7)))
			v[n++] = plan->env.v[i];
	if (*ret_row)
		v[n++] = *ret_row;
	/* of no run: its children stay recognisable when this process is killed (leftovers.c) */
	v[n++] = mark;
	return v;
}

/* Streams that cannot be sought, as a call's are: what is learnt of them stays true. */
static int warm_parent_begin(struct warm_parent *parent, const struct plan *plan, int theirs,
			     struct rye_err *err)
{
	const struct program *program = program_of(plan);
	size_t loader = warm_loader_at(plan);
	auto_free char **argv = parent_argv(plan, loader);
	auto_free char *row = NULL;
	char mark[48];
	auto_free char **envp = parent_env(plan, parent->box->tmpdir, &row, mark);
	struct spawn_ask ask = {
		.path = program->path,
		.argv = argv,
		.envp = envp,
		.cwd = "/",
		.extra = theirs,
		.extra_at = 3,
		.box = parent->box,
	};
	struct pipes pipes;
	int r;

	if (!argv || !envp || (parent->box->tmpdir && !row))
		return rye_fail_sys(err, ENOMEM, "warm interpreter");
	strays_mark(0, mark);
	r = pipes_open(&pipes, true, err);
	if (r)
		return r;
	ask.in = pipes.in[0];
	ask.out = pipes.out[1];
	ask.err = pipes.err[1];
	r = spawn(&ask, &parent->child, err);
	pipes_close(&pipes);
	return r;
}

static void warm_parent_stop(const struct plan_base *base, struct warm_parent *parent, bool busy)
{
	struct pollfd end = { parent->child.pidfd, POLLIN, 0 };
	struct ended ended;

	if (parent->socket >= 0)
		close(parent->socket);
	parent->socket = -1;
	if (parent->child.pidfd >= 0) {
		/* Killed here it would leave its children to the daemon, which does not wait for them. */
		if (!parent->made || poll(&end, 1, STOP_MS) != 1)
			spawn_kill(&parent->child);
		spawn_reap(&parent->child, &ended);
	}
	box_give(base->boxes, parent->box, busy);
	parent->box = NULL;
}

static int warm_parent_start(const struct plan_base *base, const struct plan *plan,
			     struct warm_parent *ret, struct rye_err *err)
{
	struct warm_parent parent = { .child = { -1, -1 }, .socket = -1 };
	auto_close int theirs = -1;
	struct timeval patience = { START_MS / 1000, 0 };
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rye_fail_sys(err, errno, "warm interpreter");
	parent.socket = pair[0];
	theirs = pair[1];
	setsockopt(parent.socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	r = box_take(base->boxes, plan->confine, &parent.box, err);
	if (!r)
		r = warm_parent_begin(&parent, plan, theirs, err);
	if (!r && !warm_parent_introduce(base, &parent, plan))
		r = rye_fail(err, RYE_IO, "warm interpreter: it does not listen");
	if (r) {
		warm_parent_stop(base, &parent, false);
		return r;
	}
	*ret = parent;
	return 0;
}

/* The number it answers; -1: none. */
static int read_number(int fd)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	char text[32];
	ssize_t n;

	if (poll(&ready, 1, START_MS) != 1)
		return -1;
	n = recv(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = 0;
	return atoi(text);
}

/* Signals go to the group of this number: with 1 they would go to every process. */
static pid_t read_pid(int fd)
{
	pid_t pid = read_number(fd);

	return pid > 1 ? pid : -1;
}

static bool warm_parent_teach(struct warm_parent *parent, struct warm_text *text)
{
	auto_close int source = sealed_open(text->source);
	auto_buf struct rye_buf name = RYE_BUF_INIT;
	struct packet what = { .kind = "T", .fds = &source, .nfds = 1 };
	unsigned number = parent->taught + 1;
	int answer;

	text->number = 0;
	buf_addf(&name, "%u%c%s", number, 0, text->path);
	if (source < 0 || name.failed || name.len > PIECE)
		return true;
	what.text = (struct rye_span){ name.data, name.len };
	if (!send_packet(parent->socket, &what))
		return false;
	answer = read_number(parent->socket);
	if (answer == (int)number)
		text->number = parent->taught = number;
	return answer >= 0;
}

static void drop_worker(struct warm_worker *worker)
{
	int *fds[] = { &worker->control, &worker->in, &worker->out, &worker->err };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	if (worker->tmpdir)
		rmdir(worker->tmpdir);
	free(steal(&worker->tmpdir));
}

static bool make_tmpdir(struct warm_parent *parent, struct warm_worker *worker)
{
	parent->made++;
	if (!parent->box->tmpdir)
		return true;
	if (asprintf(&worker->tmpdir, "%s/%u", parent->box->tmpdir, parent->made) < 0) {
		worker->tmpdir = NULL;
		return false;
	}
	return mkdir(worker->tmpdir, 0700) == 0;
}

static bool warm_parent_fork(struct warm_parent *parent, bool rehearse, struct warm_worker *ret)
{
	struct warm_worker worker = WARM_WORKER_NONE;
	struct packet four;
	struct pipes pipes;
	int pair[2];

	if (pipes_open(&pipes, true, NULL))
		return false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		pipes_close(&pipes);
		return false;
	}
	worker.control = pair[0];
	worker.in = pipes.in[1];
	worker.out = pipes.out[0];
	worker.err = pipes.err[0];
	four = (struct packet){ .nfds = 4 };
	four.kind[0] = rehearse ? 'R' : 'F';
	four.fds = (int[]){ pipes.in[0], pipes.out[1], pipes.err[1], pair[1] };
	if (make_tmpdir(parent, &worker) && send_packet(parent->socket, &four))
		worker.pid = read_pid(parent->socket);
	pipes_close_child(&pipes);
	close(pair[1]);
	if (worker.pid <= 0) {
		drop_worker(&worker);
		return false;
	}
	worker.taught = parent->taught;
	*ret = worker;
	return true;
}

static bool warm_parent_send(struct warm_worker *worker, const struct warm_job *job)
{
	size_t loader = warm_loader_at(job->plan);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct packet what = { .fds = &job->source, .nfds = job->source >= 0 };

	buf_addf(&text, "%s%c%s%c%s%c", job->plan->cwd, 0, job->mark + strlen("RYE_RUN="), 0,
		 worker->tmpdir ? worker->tmpdir : "", 0);
	if (worker->text)
		buf_addf(&text, "%u", worker->text);
	buf_addf(&text, "%c-c", 0);
	for (char **arg = program_of(job->plan)->argv + loader + 1; *arg; arg++) {
		buf_addc(&text, 0);
		buf_adds(&text, *arg);
	}
	what.text = (struct rye_span){ text.data, text.len };
	return !text.failed && text.len <= PIECE && send_packet(worker->control, &what);
}

const struct warm_protocol warm_python = {
	.name = "python-function",
	.ready = RYE_WARM_READY,
	.idle_s = RYE_IDLE_S,
	.loader_at = warm_loader_at,
	.text_name = warm_text_name,
	.start = warm_parent_start,
	.fork = warm_parent_fork,
	.teach = warm_parent_teach,
	.send = warm_parent_send,
	.stop = warm_parent_stop,
};
