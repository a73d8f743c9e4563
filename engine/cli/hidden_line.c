/* SPDX-License-Identifier: MIT */
/*
 * A line from the terminal that is not shown while it is typed. However that ends, also by a
 * signal, the terminal is as it was before: signals wait until then. To be called before there are
 * other threads, which a signal might reach instead.
 */
#include "cli/cli.h"

#include "scope.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* What a terminal keeps of one line, its end included; the rest is lost. */
#define LINE_MAX_TTY 4096

static bool input_waits(int timeout_ms)
{
	struct pollfd more = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&more, 1, timeout_ms) > 0;
}

/* With the terminal set. */
static enum hidden_line line_read(int signals, struct rye_buf *ret)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	ssize_t n;

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		;
	if (fds[1].revents || !buf_reserve(ret, LINE_MAX_TTY))
		return HIDDEN_NONE;
	n = read(STDIN_FILENO, ret->data, LINE_MAX_TTY);
	if (n <= 0 || ret->data[n - 1] != '\n')
		return HIDDEN_NONE;
	ret->len = (size_t)n - 1;
	return n == LINE_MAX_TTY || input_waits(20) ? HIDDEN_CUT : HIDDEN_LINE;
}

enum hidden_line hidden_line(const char *prompt, struct rye_buf *ret)
{
	enum hidden_line got = HIDDEN_NONE;
	struct termios before, hidden;
	auto_close int signals = -1;
	sigset_t ends, old;

	sigemptyset(&ends);
	for (size_t i = 0; i < 5; i++)
		sigaddset(&ends, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP }[i]);
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return HIDDEN_NONE;
	pthread_sigmask(SIG_BLOCK, &ends, &old);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	hidden = before;
	hidden.c_lflag = (hidden.c_lflag & ~(tcflag_t)ECHO) | ECHONL | ICANON | ISIG;
	if (signals >= 0 && tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0) {
		fputs(prompt, stderr);
		got = line_read(signals, ret);
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	}
	if (got == HIDDEN_NONE)
		fputs("\n", stderr);
	/* a signal that came meanwhile does now what it always does */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return got;
}
