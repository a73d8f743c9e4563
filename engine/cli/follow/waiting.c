/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the engine from a program that a person may interrupt. Signals are blocked in
 * every thread and read from a descriptor; the first one cancels the run, whose outcome is
 * still waited for, so that no process of it is left behind. A run whose output is printed as
 * it comes is cancelled too when standard output's reader has gone.
 */
#include "cli/follow/follow.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

/* What is followed is looked at so often. */
#define WAITING_STEP_MS 100

struct waiting {
	struct rye_outcome outcome; /* written by done, read after `event` has fired */
	int event;
	struct cli_stream *stream; /* NULL: nothing is printed before the end */
	struct follow follow; /* step NULL: nothing is shown meanwhile */
	struct progress progress; /* where nothing else is shown */
	int gone; /* eventfd: standard output's reader has gone; -1: not looked at */
};

/* ---- output as it comes, on the thread that tells events ---- */

/*
 * What begins like a JSON object may be the tool's whole answer: of that, the plain output is
 * known only at the end.
 */
static bool waiting_is_plain(struct cli_stream *stream, struct rye_span text)
{
	if (!stream->begun) {
		text = span_trim(text);
		stream->begun = text.len;
		stream->plain = text.len && *text.ptr != '{';
	}
	return stream->plain;
}

/* A write to a pipe without a reader must fail with EPIPE, not kill this process: the run is
 * cancelled first. */
static void block_pipe_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void waiting_print(struct waiting *waiting, struct rye_span text)
{
	struct cli_stream *stream = waiting->stream;

	if (text.len && isatty(STDOUT_FILENO))
		progress_off(&waiting->progress);
	if (stream->forked)
		forked_print(stream->forked, text);
	else
		said_put(&stream->said, text);
	stream->printed += text.len;
}

static void waiting_flush(struct waiting *waiting)
{
	if (fflush(stdout) && errno == EPIPE)
		(void)!eventfd_write(waiting->gone, 1);
}

/* Standard error, which is printed only of a tool that passes its command's output on there. */
static void print_live(struct waiting *waiting, struct rye_span text)
{
	struct cli_stream *stream = waiting->stream;
	size_t len = strlen(CLI_LIVE_LINE);

	if (stream->live == CLI_LIVE_UNKNOWN) {
		bool said = text.len >= len && !memcmp(text.ptr, CLI_LIVE_LINE, len);

		stream->live = said && !stream->printed ? CLI_LIVE_YES : CLI_LIVE_NO;
		if (said)
			text = span_skip(text, len);
	}
	if (stream->live != CLI_LIVE_YES)
		return;
	waiting_print(waiting, text);
	buf_addspan(&stream->held, text);
	waiting_flush(waiting);
}

static void print_event(void *arg, const struct rye_event *event)
{
	struct waiting *waiting = arg;
	struct cli_stream *stream = waiting->stream;

	if (event->number == 1)
		block_pipe_signal();
	if (event->type == RYE_EVENT_STATE && stream->forked && event->bytes.len)
		forked_begun(stream->forked, event->bytes);
	if (event->type != RYE_EVENT_OUTPUT || stream->mute)
		return;
	if (event->stream == RYE_STDERR)
		print_live(waiting, event->bytes);
	if (event->stream == RYE_STDERR || stream->live == CLI_LIVE_YES)
		return;
	if (!waiting_is_plain(stream, event->bytes)) {
		if (!stream->begun) /* blank so far */
			buf_addspan(&stream->held, event->bytes);
		return;
	}
	if (stream->held.len)
		waiting_print(waiting, (struct rye_span){ stream->held.data, stream->held.len });
	waiting_print(waiting, event->bytes);
	buf_done(&stream->held);
	waiting_flush(waiting);
}

static void on_outcome(void *arg, const struct rye_outcome *outcome)
{
	struct waiting *waiting = arg;
	uint64_t one = 1;

	waiting->outcome = *outcome;
	waiting->outcome.reply = outcome->reply ? rye_blob_ref(outcome->reply) : NULL;
	waiting->outcome.output = outcome->output ? rye_blob_ref(outcome->output) : NULL;
	waiting->outcome.trace = outcome->trace ? rye_blob_ref(outcome->trace) : NULL;
	waiting->outcome.instead = NULL; /* no verb asks for it */
	waiting->outcome.message = strdup(outcome->message ? outcome->message : "");
	if (write(waiting->event, &one, sizeof(one)) < 0)
		perror("ryefs: eventfd");
}

/* What ends the waiting: a signal; standard output's reader has gone; the person leaves a thread to
 * itself, of which *ret_seen knows nothing. False: nothing of it. */
static bool waiting_ends(struct waiting *waiting, struct pollfd fds[4], int *ret_seen)
{
	struct forked *forked = waiting->stream ? waiting->stream->forked : NULL;
	struct signalfd_siginfo info;

	if (fds[2].revents) {
		fds[2].fd = -1;
		*ret_seen = SIGPIPE;
		return true;
	}
	if (fds[1].revents & POLLIN && read(fds[1].fd, &info, sizeof(info)) > 0) {
		*ret_seen = (int)info.ssi_signo;
		if (!forked || info.ssi_signo != SIGINT || !forked_signal(forked))
			return true;
		*ret_seen = forked->cancelled ? SIGINT : 0;
		fds[3].fd = STDIN_FILENO;
		return false;
	}
	if (!forked || !fds[3].revents)
		return false;
	if (fds[3].revents & ~POLLIN)
		fds[3].fd = -1; /* the terminal has gone */
	return forked_left(forked);
}

static int waiting_await(struct waiting *waiting, struct rye_call *call, int signal_fd)
{
	struct pollfd fds[] = { { waiting->event, POLLIN, 0 },
				{ signal_fd, POLLIN, 0 },
				{ waiting->gone, POLLIN, 0 },
				{ -1, POLLIN, 0 } };
	struct follow *follow = &waiting->follow;
	eventfd_t n;
	int seen = 0;

	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), follow->step ? WAITING_STEP_MS : -1) < 0 &&
		    errno != EINTR)
			return seen;
		/* read, not only seen: what the worker wrote before it is then ours */
		if (fds[0].revents && eventfd_read(waiting->event, &n) == 0)
			return seen;
		if (follow->step && !follow->step(follow->arg)) {
			follow->step = NULL;
			rye_call_cancel(call, RYE_INTERRUPTED);
		}
		if (waiting_ends(waiting, fds, &seen))
			rye_call_cancel(call, RYE_INTERRUPTED);
	}
}

static bool waiting_step(void *arg)
{
	progress_wait(arg);
	return true;
}

/* Where the caller shows nothing itself, how long it has lasted. */
static void waiting_show(struct waiting *waiting, struct cli *cli, const char *doing)
{
	if (waiting->follow.step)
		return;
	progress_start(&waiting->progress, cli, doing ? doing : "waiting");
	if (waiting->progress.cli)
		waiting->follow = (struct follow){ waiting_step, &waiting->progress };
}

static int open_fds(struct waiting *waiting, int *ret_signal_fd)
{
	sigset_t set;

	cli_signals(&set);
	waiting->event = eventfd(0, EFD_CLOEXEC);
	*ret_signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return waiting->event < 0 || *ret_signal_fd < 0 ? -errno : 0;
}

int call_wait(struct cli *cli, const struct cli_call *what, struct called *ret)
{
	struct waiting waiting = { .event = -1, .stream = what->stream, .gone = -1 };
	struct rye_request req = { .verb = what->verb,
				   .kind = RYE_KIND__MAX,
				   .id = "",
				   .uid = getuid() };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_call *call = NULL;
	auto_close int signal_fd = -1, gone = what->stream ? eventfd(0, EFD_CLOEXEC) : -1;

	json_put(&text, what->message, false);
	if (!what->message || text.failed)
		return cli_complain(cli, CLI_FAILED, NULL, "the message is no text, or too long");
	req.message = buf_span(&text);
	if (open_fds(&waiting, &signal_fd) < 0 || (what->stream && gone < 0))
		return cli_complain(cli, CLI_FAILED, NULL, "no descriptor is left to wait with");
	waiting.gone = gone;
	if (what->stream && what->stream->forked)
		waiting.follow = (struct follow){ forked_step, what->stream->forked };
	waiting_show(&waiting, cli, what->doing);
	if (what->stream)
		req.events = (struct rye_event_listener){ print_event, &waiting };
	rye_start(cli->rye, &req, on_outcome, &waiting, &call);
	ret->signal = waiting_await(&waiting, call, signal_fd);
	progress_end(&waiting.progress);
	rye_call_unref(call);
	close(waiting.event);
	if (what->stream && what->stream->forked)
		forked_end(what->stream->forked);
	ret->outcome = waiting.outcome;
	ret->reply = json_loadb(ret->outcome.reply->data, ret->outcome.reply->len, 0, NULL);
	return CLI_OK;
}

int call_fail(struct cli *cli, const struct called *called, const char *ref)
{
	const struct rye_outcome *outcome = &called->outcome;
	struct rye_err err = { .code = outcome->code };

	snprintf(err.msg, sizeof(err.msg), "%s",
		 *outcome->message ? outcome->message : rye_code_name(outcome->code));
	return cli_fail(cli, &err, ref);
}

static void outcome_done(struct rye_outcome *outcome)
{
	free((char *)outcome->message);
	rye_outcome_done(outcome);
}

void call_done(struct called *called)
{
	outcome_done(&called->outcome);
	json_decref(called->reply);
}

int call_thread_wait(struct cli *cli, const char *id, const struct follow *follow, int *ret_signal)
{
	struct waiting waiting = { .event = -1,
				   .gone = -1,
				   .follow = follow ? *follow : (struct follow){ 0 } };
	const struct rye_listener listener = { on_outcome, &waiting };
	struct rye_call *call = NULL;
	auto_close int signal_fd = -1;
	struct rye_err err = { 0 };
	int sys = open_fds(&waiting, &signal_fd);

	if (sys < 0)
		rye_fail_sys(&err, -sys, "cannot wait for thread %s", id);
	waiting_show(&waiting, cli, "the thread goes on");
	if (sys >= 0 && !rye_thread_wait(cli->rye, id, &listener, &call, &err))
		*ret_signal = waiting_await(&waiting, call, signal_fd);
	progress_end(&waiting.progress);
	if (call)
		rye_call_unref(call);
	close(waiting.event);
	outcome_done(&waiting.outcome);
	return err.code == RYE_OK ? CLI_OK : cli_fail(cli, &err, NULL);
}
