/* SPDX-License-Identifier: MIT */
/*
 * A server's process: started in a box of its own, of no run, because it lives longer than the call
 * that started it; so nothing in it may use the mount. Ended the way the protocol wants: end of
 * input, then signals to its group. The thread that has the process calls; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

static int process_spawn(struct mcp_process *process, const struct mcp_spec *spec,
			 struct rye_err *err)
{
	auto_env struct env env = { 0 };
	struct spawn_ask ask = { .path = spec->path,
				 .argv = spec->argv,
				 .cwd = spec->cwd,
				 .extra = -1,
				 .box = process->box };
	struct pipes pipes;
	char mark[48];
	int r;

	/* Of no run: by the mark it is found when this daemon is killed, and what it leaves behind. */
	strays_mark(process->mark, mark);
	env_copy(&env, &spec->env);
	env_put(&env, "RYE_RUN", mark + strlen("RYE_RUN="));
	if (process->box->tmpdir)
		env_put(&env, "TMPDIR", process->box->tmpdir);
	if (env.failed)
		return rye_fail_sys(err, ENOMEM, "environment");
	r = pipes_open(&pipes, true, err);
	if (r)
		return r;
	ask.envp = env.v;
	ask.in = pipes.in[0];
	ask.out = pipes.out[1];
	ask.err = pipes.err[1];
	r = spawn(&ask, &process->child, err);
	if (r) {
		pipes_close(&pipes);
		return r;
	}
	pipes_close_child(&pipes);
	process->in = pipes.in[1];
	process->out = pipes.out[0];
	process->err = pipes.err[0];
	return 0;
}

static void process_free(struct boxes *boxes, struct mcp_process *process)
{
	int fds[] = { process->in, process->out, process->err };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (process->box)
		box_give(boxes, process->box, false);
	mcp_lines_done(&process->lines);
	buf_done(&process->log);
	mcp_state_done(&process->kept.state);
	free(process->id);
	free(process);
}

/* Numbers of runs are far below. */
#define SERVER_MARK (1ull << 63)

int mcp_process_start(struct mcp *mcp, const struct mcp_spec *spec, struct mcp_kept **ret,
		      struct rye_err *err)
{
	struct mcp_ground *ground = mcp_ground(mcp);
	struct mcp_process *process = calloc(1, sizeof(*process));
	int r;

	if (!process)
		return rye_fail_sys(err, ENOMEM, "%s", spec->id);
	process->kept.wire = &mcp_wire_stdio;
	memcpy(process->kept.key, spec->key, SHA_HEX);
	process->in = process->out = process->err = -1;
	process->child = (struct child){ -1, -1 };
	process->id = strdup(spec->id);
	process->mark = SERVER_MARK + atomic_fetch_add(&ground->started, 1);
	r = box_take_home(ground->boxes, spec->confine, spec->home, &process->box, err);
	if (!r)
		r = process_spawn(process, spec, err);
	if (r) {
		process_free(ground->boxes, process);
		return r;
	}
	*ret = &process->kept;
	return 0;
}

bool mcp_process_alive(const struct mcp_process *process)
{
	struct pollfd end = { process->child.pidfd, POLLIN, 0 };

	return poll(&end, 1, 0) == 0;
}

/* ---- what it prints to standard error ---- */

static void cut_log(struct rye_buf *log)
{
	if (log->len <= RYE_MCP_LOG)
		return;
	memmove(log->data, log->data + log->len - RYE_MCP_LOG, RYE_MCP_LOG + 1);
	log->len = RYE_MCP_LOG;
}

void mcp_process_log(struct mcp_process *process)
{
	char bytes[4096];
	ssize_t n = 0;

	/* Bounded: one that floods it is looked at again after its other output. */
	for (int i = 0; i < 32 && process->err >= 0; i++) {
		n = read(process->err, bytes, sizeof(bytes));
		if (n <= 0)
			break;
		buf_add(&process->log, bytes, (size_t)n);
		cut_log(&process->log);
	}
	if (process->err >= 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))) {
		close(process->err);
		process->err = -1;
	}
}

/* npm begins with what is wrong, in two lines, and ends with where its log lies. */
#define NPM_LINES 2

static bool is_npm_line(struct rye_span line)
{
	return span_starts(line, "npm error ") || span_starts(line, "npm ERR! ");
}

char *mcp_process_last_words(const struct mcp_process *process, const char *noise)
{
	struct rye_span text = { process->log.data, process->log.len }, line, last = { "", 0 };
	auto_buf struct rye_buf npm = RYE_BUF_INIT;
	size_t n = 0;

	while (text.len && span_line(&text, &line)) {
		line = span_trim(line);
		if (!line.len)
			continue;
		last = line;
		n = is_npm_line(line) ? n + 1 : 0;
		if (n == 1)
			buf_clear(&npm);
		if (n && n <= NPM_LINES)
			buf_addf(&npm, "%s%.*s", n > 1 ? "; " : "", (int)line.len, line.ptr);
	}
	if (n > NPM_LINES)
		return buf_steal(&npm);
	if (!last.len)
		last = span_of(noise);
	return span_dup(last);
}

bool mcp_process_barred(const struct mcp_process *process)
{
	static const char *const signs[] = { "EROFS",  "Read-only file system",
					     "EACCES", "Permission denied",
					     "EPERM",  "Operation not permitted" };

	for (size_t i = 0; i < ARRAY_SIZE(signs) && process->log.data; i++)
		if (strstr(process->log.data, signs[i]))
			return true;
	return false;
}

/* ---- its end ---- */

/* Where another thread has taken its end, its number may be another process's by now. */
static bool is_unreaped(const struct mcp_process *process)
{
	siginfo_t info = { 0 };

	return waitid(P_PIDFD, (id_t)process->child.pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void signal_server(const struct mcp_process *process, int number)
{
	if (is_unreaped(process))
		kill(-process->child.pid, number);
}

static void wait_for_all(struct mcp_kept *list, int64_t ms)
{
	int64_t until = clock_ms() + ms;

	for (; list; list = list->next) {
		struct pollfd end = { mcp_process_of(list)->child.pidfd, POLLIN, 0 };
		int64_t left = until - clock_ms();

		(void)!poll(&end, 1, (int)MAX_OF(left, 0));
	}
}

void mcp_processes_end(struct mcp_ground *ground, struct mcp_kept *list)
{
	for (struct mcp_kept *at = list; at; at = at->next) {
		struct mcp_process *process = mcp_process_of(at);

		if (process->in >= 0)
			close(process->in);
		process->in = -1;
	}
	wait_for_all(list, RYE_KILL_GRACE_MS);
	for (struct mcp_kept *at = list; at; at = at->next)
		signal_server(mcp_process_of(at), SIGTERM);
	wait_for_all(list, RYE_KILL_GRACE_MS);
	while (list) {
		struct mcp_process *process = mcp_process_of(list);
		pid_t pid = process->child.pid;
		struct ended ended;

		list = list->next;
		/* What it has started goes with it. */
		signal_server(process, SIGKILL);
		spawn_reap(&process->child, &ended);
		strays_settle(ground->strays, pid, process->mark);
		process_free(ground->boxes, process);
	}
}
