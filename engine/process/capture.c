/* SPDX-License-Identifier: MIT */
/*
 * The life of one process as seen by the worker thread that owns it: one ppoll loop over at
 * most six descriptors and one deadline, no timers, no sleeping. Nothing here is shared and
 * no lock is held. It must not trust the process: it may never read, never stop writing,
 * ignore SIGTERM, or leave children behind that keep the pipes open.
 */
#include "process/process.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* One read; a pipe holds 64 KiB. */
#define CHUNK (64 << 10)
/*
 * Milliseconds for which only the end is waited for: most runs write little and end soon, and each
 * line they print would wake the worker, on their processor or on an idle one.
 */
#define QUIET_MS 3
/* Between two events that tell how much it has printed. */
#define PROGRESS_MS 1000

enum slot { SLOT_IN, SLOT_OUT, SLOT_ERR, SLOT_END, SLOT_CONTROL, SLOT_CANCEL, SLOT__MAX };
enum phase { PHASE_RUN, PHASE_TERM, PHASE_KILLED, PHASE_DRAIN };

struct state {
	struct capture_ask *ask;
	struct captured *got;
	struct pollfd fds[SLOT__MAX];
	size_t fed;
	enum phase phase;
	int64_t start, deadline; /* monotonic ms; 0: none */
	int64_t progress; /* when the listener was told of progress last */
	bool quiet, ended; /* quiet: the outputs are not listened to yet */
	char word[32]; /* read from the control channel so far */
	size_t nword;
};

static int make_pipe(int pair[2], int ours)
{
	if (pipe2(pair, O_CLOEXEC) < 0)
		return errno;
	return fcntl(pair[ours], F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
}

int pipes_open(struct pipes *pipes, bool input, struct rye_err *err)
{
	int r = 0;

	*pipes = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (input) {
		r = make_pipe(pipes->in, 1);
	} else {
		pipes->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = pipes->in[0] < 0 ? errno : 0;
	}
	if (!r)
		r = make_pipe(pipes->out, 0);
	if (!r)
		r = make_pipe(pipes->err, 0);
	if (!r)
		return 0;
	pipes_close(pipes);
	return rye_fail_sys(err, r, "cannot make a pipe");
}

int pipes_spawn(struct pipes *pipes, struct spawn_ask *ask, struct capture_ask *how,
		struct rye_err *err)
{
	int r;

	ask->in = pipes->in[0];
	ask->out = pipes->out[1];
	ask->err = pipes->err[1];
	r = spawn(ask, &how->child, err);
	if (r) {
		pipes_close(pipes);
		return r;
	}
	pipes_close_child(pipes);
	how->group = how->child.pid;
	how->in = pipes->in[1];
	how->out = pipes->out[0];
	how->err = pipes->err[0];
	return 0;
}

static void capture_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void pipes_close_child(struct pipes *pipes)
{
	capture_shut(&pipes->in[0]);
	capture_shut(&pipes->out[1]);
	capture_shut(&pipes->err[1]);
}

void pipes_close(struct pipes *pipes)
{
	pipes_close_child(pipes);
	capture_shut(&pipes->in[1]);
	capture_shut(&pipes->out[0]);
	capture_shut(&pipes->err[0]);
}

int sealed_open(const struct rye_blob *text)
{
	auto_close int fd = memfd_create("rye-tool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : io_write_all(fd, text->data, text->len);

	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r ? r : steal_fd(&fd);
}

static void signal_group(const struct state *state, int number)
{
	if (state->ask->group > 1)
		kill(-state->ask->group, number);
}

/* Asks the group to end; what is left of it when the grace is over is killed. */
static void begin_end(struct state *state)
{
	signal_group(state, SIGTERM);
	signal_group(state, SIGCONT);
	events_state(state->ask->events, RYE_STATE_ENDING);
	state->phase = PHASE_TERM;
	state->deadline = clock_ms() + RYE_KILL_GRACE_MS;
}

static void on_deadline(struct state *state)
{
	switch (state->phase) {
	case PHASE_RUN:
		state->got->timed_out = true;
		begin_end(state);
		break;
	case PHASE_TERM:
		signal_group(state, SIGKILL);
		state->phase = PHASE_KILLED;
		state->deadline = 0;
		break;
	default: /* drained long enough: another process still holds the pipes */
		state->got->background = true;
		capture_shut(&state->fds[SLOT_OUT].fd);
		capture_shut(&state->fds[SLOT_ERR].fd);
	}
}

static void capture_feed(struct state *state)
{
	struct rye_span left = { state->ask->input.ptr + state->fed,
				 state->ask->input.len - state->fed };
	ssize_t n = left.len ? write(state->fds[SLOT_IN].fd, left.ptr, left.len) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		state->fed += (size_t)n;
	/* EPIPE: it does not read its input, which is no error. */
	if (n < 0 || state->fed == state->ask->input.len)
		capture_shut(&state->fds[SLOT_IN].fd);
}

/* Where the next read may go: doubling from 4 KiB, so that short outputs stay small. */
static size_t reserve_read(struct rye_buf *buf)
{
	size_t left = buf->cap - buf->len, more = buf->len + 4096;
	size_t have = buf->size > buf->len ? buf->size - buf->len - 1 : 0;

	if (more > CHUNK)
		more = CHUNK;
	if (more > left)
		more = left;
	if (have < 1024 && more && !buf_reserve(buf, more))
		return 0;
	have = buf->size > buf->len ? buf->size - buf->len - 1 : 0;
	return have < left ? have : left;
}

/* Beyond the cap bytes are counted, not kept. Bounded: the deadline is looked at between. */
static void read_output(int *fd, struct rye_buf *buf, uint64_t *total)
{
	char spare[CHUNK];
	ssize_t n = 0;

	for (int i = 0; i < 16; i++) {
		size_t want = reserve_read(buf);

		n = want ? read(*fd, buf->data + buf->len, want) : read(*fd, spare, CHUNK);
		if (n <= 0)
			break;
		*total += (uint64_t)n;
		if (want)
			buf->data[buf->len += (size_t)n] = 0;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		capture_shut(fd);
}

/* Reads one stream and tells the listener what is kept of it. */
static void read_stream(struct state *state, enum rye_stream stream)
{
	struct captured *got = state->got;
	struct rye_buf *buf = stream == RYE_STDOUT ? &got->out : &got->err;
	int *fd = &state->fds[stream == RYE_STDOUT ? SLOT_OUT : SLOT_ERR].fd;
	size_t before = buf->len;

	if (*fd < 0)
		return;
	read_output(fd, buf, stream == RYE_STDOUT ? &got->out_bytes : &got->err_bytes);
	if (buf->len > before)
		events_output(state->ask->events, stream,
			      (struct rye_span){ buf->data + before, buf->len - before });
}

static void tell_progress(struct state *state)
{
	int64_t now = clock_ms();

	if (!state->ask->events || now - state->progress < PROGRESS_MS)
		return;
	state->progress = now;
	events_progress(state->ask->events, state->got->out_bytes + state->got->err_bytes);
}

static void read_outputs(struct state *state)
{
	if (state->quiet) {
		state->fds[SLOT_OUT].fd = state->ask->out;
		state->fds[SLOT_ERR].fd = state->ask->err;
		state->quiet = false;
	}
	read_stream(state, RYE_STDOUT);
	read_stream(state, RYE_STDERR);
	tell_progress(state);
}

/*
 * It has ended: its outputs are read for a moment longer, then left to the processes that hold
 * them.
 */
static void capture_on_end(struct state *state)
{
	struct capture_ask *ask = state->ask;
	struct captured *got = state->got;

	state->ended = true;
	/* While it is a zombie no other group can get its number. */
	if (got->timed_out || got->cancelled)
		signal_group(state, SIGKILL);
	/* One that has answered on its control socket is left to its owner, which ends it later. */
	if (ask->child.pidfd >= 0 && state->word[0] != 'D')
		spawn_reap(&ask->child, &got->ended);
	state->fds[SLOT_END].fd = -1;
	state->fds[SLOT_CONTROL].fd = -1;
	state->fds[SLOT_CANCEL].fd = -1;
	capture_shut(&state->fds[SLOT_IN].fd);
	state->phase = PHASE_DRAIN;
	state->deadline = clock_ms() + RYE_DRAIN_MS;
	read_outputs(state);
}

static void capture_wait_status(int status, struct ended *ret)
{
	*ret = (struct ended){ .code = -1 };
	if (WIFEXITED(status))
		ret->code = WEXITSTATUS(status);
	else if (WIFSIGNALED(status))
		ret->signal = WTERMSIG(status);
}

/* "D<exit code>\n" of the interpreter itself, or "X<wait status>\n" of its parent. */
static void on_control(struct state *state)
{
	ssize_t n = read(state->ask->control, state->word + state->nword,
			 sizeof(state->word) - 1 - state->nword);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		state->nword += (size_t)n;
		state->word[state->nword] = 0;
		if (!strchr(state->word, '\n') && state->nword < sizeof(state->word) - 1)
			return;
	} else if (state->ask->child.pidfd >= 0) { /* our own child: its end will tell */
		state->word[0] = 0;
		state->fds[SLOT_CONTROL].fd = -1;
		return;
	}
	if (state->word[0] == 'D')
		state->got->ended.code = atoi(state->word + 1) & 0xff;
	else if (state->word[0] == 'X')
		capture_wait_status(atoi(state->word + 1), &state->got->ended);
	else /* both are gone */
		state->got->ended = (struct ended){ .code = -1, .signal = SIGKILL };
	capture_on_end(state);
}

static void on_cancel(struct state *state)
{
	state->fds[SLOT_CANCEL].fd = -1;
	state->got->cancelled = true;
	if (state->phase == PHASE_RUN)
		begin_end(state);
}

static void capture_handle(struct state *state)
{
	const struct pollfd *fds = state->fds;

	if (fds[SLOT_OUT].revents || fds[SLOT_ERR].revents)
		read_outputs(state);
	if (fds[SLOT_IN].fd >= 0 && fds[SLOT_IN].revents)
		capture_feed(state);
	if (fds[SLOT_CANCEL].fd >= 0 && fds[SLOT_CANCEL].revents)
		on_cancel(state);
	if (fds[SLOT_CONTROL].fd >= 0 && fds[SLOT_CONTROL].revents)
		on_control(state);
	else if (fds[SLOT_END].fd >= 0 && fds[SLOT_END].revents)
		capture_on_end(state);
}

static bool is_finished(const struct state *state)
{
	return state->ended && state->fds[SLOT_OUT].fd < 0 && state->fds[SLOT_ERR].fd < 0;
}

static void wait_once(struct state *state)
{
	int64_t now = clock_ms(), left = state->deadline ? state->deadline - now : INT64_MAX;
	int64_t quiet = state->quiet ? state->start + QUIET_MS - now : INT64_MAX;
	int64_t most = left < quiet ? left : quiet;
	struct timespec ts = { most / 1000, most % 1000 * 1000000 };

	if (left <= 0)
		on_deadline(state);
	else if (quiet <= 0)
		read_outputs(state);
	else if (ppoll(state->fds, SLOT__MAX, most < INT64_MAX ? &ts : NULL, NULL) > 0)
		capture_handle(state);
}

void capture(struct capture_ask *ask, struct captured *ret)
{
	struct state state = {
		.ask = ask,
		.got = ret,
		.fds = { { ask->in, POLLOUT, 0 },
			 { -1, POLLIN, 0 },
			 { -1, POLLIN, 0 },
			 { ask->child.pidfd, POLLIN, 0 },
			 { ask->control, POLLIN, 0 },
			 { ask->cancel, POLLIN, 0 } },
		.start = clock_ms(),
		.quiet = true,
	};

	*ret = (struct captured){ .out.cap = ask->cap, .err.cap = ask->cap };
	if (ask->timeout_ms > 0)
		state.deadline = state.start + ask->timeout_ms;
	state.progress = state.start;
	events_state(ask->events, RYE_STATE_STARTED);
	if (ask->in >= 0)
		capture_feed(&state);
	while (!is_finished(&state))
		wait_once(&state);
	ret->ms = clock_ms() - state.start;
}

void captured_done(struct captured *captured)
{
	buf_done(&captured->out);
	buf_done(&captured->err);
}
