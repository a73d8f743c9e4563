/* SPDX-License-Identifier: MIT */
/*
 * fake/engine.c - stands in for the engine behind a mount of nothing but conversations (talkfs.c).
 *
 * {"command":"…"} runs by /bin/sh in a session of its own, its output is the reply's; any
 * other message is answered at once with itself. {"fail":…} fails. YAML is read as the engine
 * reads it, into JSON; what it cannot read fails. Every other message that came is
 * written to $FAKE_LOG, one a line, so that a test sees what really ran, how often, in which
 * order. Linked with --wrap; the real functions are not called.
 */
#include "fake/rye_wraps.h"
#include "parse/parse.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 65536

struct rye_call {
	_Atomic unsigned refs;
	rye_done_fn fn;
	void *arg;
	char *message;
	_Atomic int cancel;
	_Atomic pid_t group;
	char broken[480]; /* why the message could not be read, or "" */
	struct rye_call *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct rye_call *queue, **queue_end = &queue;
static bool started;

static void log_line(const char *line)
{
	const char *path = getenv("FAKE_LOG");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", line);
	close(fd);
}

/* The command of a message, unescaped in place, or NULL. */
static char *command_of(char *message)
{
	char *from = strstr(message, "\"command\""), *to, *begin;

	from = from ? strchr(from + 9, ':') : NULL;
	from = from ? strchr(from, '"') : NULL;
	if (!from)
		return NULL;
	begin = to = ++from;
	while (*from && *from != '"') {
		if (*from == '\\' && *++from == 'n')
			*from = '\n';
		*to++ = *from++;
	}
	*to = '\0';
	return begin;
}

static void escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 3 < size; from++) {
		if (*from == '"' || *from == '\\' || *from == '\n')
			to[n++] = '\\';
		to[n++] = *from == '\n' ? 'n' : *from;
	}
	to[n] = '\0';
}

static void finish(struct rye_call *call, enum rye_code code, const char *reply, const char *output)
{
	struct rye_outcome outcome = {
		.code = code,
		.reply = rye_blob_new(reply, strlen(reply)),
		.output = rye_blob_new(output, strlen(output)),
		.message = *call->broken  ? call->broken :
			   code == RYE_OK ? "" :
					    "the fake tool failed",
	};

	call->fn(call->arg, &outcome);
	rye_blob_unref(outcome.reply);
	rye_blob_unref(outcome.output);
	__wrap_rye_call_unref(call);
}

static pid_t spawn(const char *command, int out)
{
	pid_t pid = vfork();

	if (pid == 0) {
		setsid();
		dup2(out, 1);
		dup2(out, 2);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return pid;
}

static void run(struct rye_call *call)
{
	char output[OUTPUT_MAX] = "", escaped[2 * OUTPUT_MAX], reply[2 * OUTPUT_MAX + 128];
	char *copy = strdup(call->message), *command = copy ? command_of(copy) : NULL;
	enum rye_code code = RYE_OK;
	int pipes[2], status = 0;
	size_t len = 0;
	ssize_t n;

	if (!command || pipe2(pipes, O_CLOEXEC) < 0)
		abort();
	call->group = spawn(command, pipes[1]);
	if (call->cancel)
		kill(-call->group, SIGKILL);
	close(pipes[1]);
	while ((n = read(pipes[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(pipes[0]);
	waitpid(call->group, &status, 0);
	call->group = 0;
	if (call->cancel)
		code = (enum rye_code)call->cancel;
	else if (status)
		code = RYE_TOOL_FAILED;
	escape(escaped, sizeof(escaped), output);
	snprintf(reply, sizeof(reply), "{\"status\":\"%s\",\"output\":\"%s\"}\n",
		 code == RYE_OK ? "success" : "error", escaped);
	free(copy);
	finish(call, code, reply, output);
}

static void *run_thread(void *arg)
{
	run(arg);
	return NULL;
}

static void answer_broken(struct rye_call *call)
{
	char escaped[1000], reply[1100];

	escape(escaped, sizeof(escaped), call->broken);
	snprintf(reply, sizeof(reply), "{\"status\":\"error\",\"error\":\"%s\"}\n", escaped);
	finish(call, RYE_INVALID, reply, call->broken);
}

static void answer(struct rye_call *call)
{
	size_t size = strlen(call->message) * 2 + 128;
	char *reply = malloc(size), *escaped = malloc(size);
	bool fail = strstr(call->message, "\"fail\"") != NULL;

	escape(escaped, size - 100, call->message);
	snprintf(reply, size, "{\"status\":\"%s\",\"echo\":\"%s\"}\n", fail ? "error" : "success",
		 escaped);
	finish(call, fail ? RYE_TOOL_FAILED : RYE_OK, reply, call->message);
	free(reply);
	free(escaped);
}

static void *worker(void *arg)
{
	for (;;) {
		struct rye_call *call;

		pthread_mutex_lock(&lock);
		while (!queue)
			pthread_cond_wait(&more, &lock);
		call = queue;
		queue = call->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&lock);
		if (*call->broken)
			answer_broken(call);
		else
			answer(call);
	}
	return NULL;
}

static void enqueue(struct rye_call *call)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	*queue_end = call;
	queue_end = &call->next;
	if (!started && pthread_create(&thread, NULL, worker, NULL) == 0)
		started = true;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static char *message_of(const struct rye_request *req, struct rye_call *call)
{
	struct rye_err err = { 0 };
	json_t *doc;
	char *text;

	if (req->form == RYE_FORM_JSON)
		return strndup(req->message.ptr, req->message.len);
	doc = message_read(req->message, req->form, &err);
	snprintf(call->broken, sizeof(call->broken), "%.400s", err.msg);
	text = doc ? json_dumps(doc, JSON_COMPACT) : strdup("");
	json_decref(doc);
	return text;
}

void __wrap_rye_start(struct rye *rye, const struct rye_request *req, rye_done_fn fn, void *arg,
		      struct rye_call **ret)
{
	struct rye_call *call = calloc(1, sizeof(*call));
	pthread_attr_t attr;
	pthread_t thread;

	if (!call)
		abort();
	call->refs = 2;
	call->fn = fn;
	call->arg = arg;
	call->message = message_of(req, call);
	if (!call->message)
		abort();
	if (!*call->broken)
		log_line(call->message);
	*ret = call;
	if (!strstr(call->message, "\"command\"")) {
		enqueue(call);
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run_thread, call) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

void __wrap_rye_call_cancel(struct rye_call *call, enum rye_code code)
{
	pid_t group;

	call->cancel = (int)code;
	group = call->group;
	if (group > 0)
		kill(-group, SIGKILL);
}

bool __wrap_rye_call_detach(struct rye_call *call, char thread_id[64])
{
	snprintf(thread_id, 64, "fake-thread");
	return true;
}

void __wrap_rye_call_unref(struct rye_call *call)
{
	if (!call || --call->refs > 0)
		return;
	free(call->message);
	free(call);
}
