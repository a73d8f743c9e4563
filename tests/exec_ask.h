/* SPDX-License-Identifier: MIT */
#pragma once
/* exec_ask.h - asking the exec layer of an exec_place, and what it said. */
#include "exec_place.h"

#include <pthread.h>

/* What one call came to; reply is the parsed one. */
struct exec_said {
	enum rye_code code;
	json_t *reply;
	char *output, *trace;
	char message[960];
	int64_t us;
};

struct exec_waiter {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct exec_said said;
	int told;
};

static inline void exec_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct exec_waiter *w = arg;

	pthread_mutex_lock(&w->lock);
	w->said.code = outcome->code;
	w->said.reply = json_loads(outcome->reply->data, JSON_ALLOW_NUL, NULL);
	w->said.output = strdup(outcome->output->data);
	w->said.trace = outcome->trace ? strdup(outcome->trace->data) : NULL;
	snprintf(w->said.message, sizeof(w->said.message), "%s", outcome->message);
	w->told++;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static inline void exec_begin(struct exec_place *p, const struct rye_request *req,
			      struct exec_waiter *w, struct rye_call **ret)
{
	*w = (struct exec_waiter){ 0 };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->cond, NULL);
	exec_start(p->exec, req, exec_on_done, w, ret);
}

static inline struct exec_said exec_end(struct exec_waiter *w, struct rye_call *call)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 200;
	pthread_mutex_lock(&w->lock);
	while (!w->told && !r)
		r = pthread_cond_timedwait(&w->cond, &w->lock, &until);
	pthread_mutex_unlock(&w->lock);
	if (r)
		fail_msg("no answer within 200 seconds");
	rye_call_unref(call);
	assert_int_equal(w->told, 1);
	assert_non_null(w->said.reply);
	return w->said;
}

static inline void exec_said_done(struct exec_said *said)
{
	json_decref(said->reply);
	free(said->output);
	free(said->trace);
}

#define auto_said __attribute__((cleanup(exec_said_done)))

static inline struct exec_said exec_ask(struct exec_place *p, const struct rye_request *req)
{
	struct exec_waiter w;
	struct rye_call *call;
	struct exec_said said;

	exec_begin(p, req, &w, &call);
	said = exec_end(&w, call);
	assert_int_equal(said.code == RYE_OK, strcmp(json_str(said.reply, "status"), "error") != 0);
	return said;
}

/* Writing `json` to the item's run. */
static inline struct exec_said exec_run(struct exec_place *p, const char *id, const char *json)
{
	const struct rye_request req = { .verb = RYE_RUN,
					 .kind = RYE_TOOL,
					 .id = id,
					 .message = span_of(json) };

	return exec_ask(p, &req);
}

/* Writing `json` to the execute primitive (or another verb without an item). */
static inline struct exec_said exec_prim(struct exec_place *p, enum rye_verb verb, const char *json)
{
	const struct rye_request req = { .verb = verb, .id = "", .message = span_of(json) };

	return exec_ask(p, &req);
}
