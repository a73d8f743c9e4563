/* SPDX-License-Identifier: MIT */
/*
 * What all parts of a running thread ask and tell: that it has ended and how, whether it is to stop,
 * how much time is left, events of its transcript. Of the runner's one thread; no lock.
 */
#include "agent/agent_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* Error texts of providers and tools are longer than an error's own. */
#define END_TEXT_MAX 4096

void agent_ends(struct agent *agent, const char *status, enum rye_code code, const char *format,
		...)
{
	char text[END_TEXT_MAX];

	if (agent->state == AGENT_ENDED)
		return;
	STR_FORMAT(text, format);
	agent->state = AGENT_ENDED;
	snprintf(agent->status, sizeof(agent->status), "%s", status);
	agent->code = code;
	agent->error = *text ? memory_note(strdup(text)) : NULL;
}

void agent_fails(struct agent *agent, const struct rye_err *err)
{
	agent_ends(agent, "error", err->code, "%s", err->msg);
}

bool agent_stopped(const struct agent *agent)
{
	struct pollfd fd = { .fd = agent->ask->stop, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

int64_t agent_left_ms(const struct agent *agent)
{
	int64_t until;

	if (!agent->limits.set[LIMIT_DURATION])
		return -1;
	until = agent->start_ms +
		(int64_t)((agent->limits.value[LIMIT_DURATION] - agent->before.elapsed_seconds) *
			  1000);
	until -= clock_ms();
	return until > 0 ? until : 0;
}

int agent_write_limits(const struct agent *agent, const struct limits *limits, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *doc = limits_json(limits);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r;

	json_put(&text, doc, true);
	if (text.failed || memory_check(since, NULL))
		return memory_fail(err);
	r = io_replace_at(agent->ask->dir, RECORD_LIMITS, (struct rye_span){ text.data, text.len },
			  0600);
	return r ? rye_fail_sys(err, -r, "cannot write " RECORD_LIMITS) : 0;
}

void agent_warn(struct agent *agent, const char *format, ...)
{
	char text[END_TEXT_MAX];

	STR_FORMAT(text, format);
	json_array_append_new(agent->warnings, json_string(text));
	log_line(&agent->log, RYE_LOG_WARN, "agent", "%s", text);
}

int agent_owes(struct agent *agent, double delta, struct rye_err *err)
{
	int r;

	agent->owed += delta;
	r = budget_spend(agent->budget, agent->thread_id, agent->owed, err);
	if (!r)
		agent->owed = 0;
	return r;
}

/* Behind one that found no room all others wait: what is read back must be in its order. */
static void event_keep(struct agent *agent, const char *type, json_t *payload)
{
	agent->gap = true;
	if (payload && strcmp(type, "token_delta") != 0)
		json_array_append_new(agent->unlogged,
				      json_pack("{s:s, s:O}", "type", type, "payload", payload));
}

void agent_event(struct agent *agent, const char *type, json_t *payload)
{
	auto_json json_t *held = payload;
	struct rye_err err = { 0 };

	if (!agent->transcript)
		return;
	if (!agent->gap && !chronicle_event(agent->transcript, type, json_incref(held), &err))
		return;
	if (!agent->gap)
		agent_fails(agent, &err);
	event_keep(agent, type, held);
}

bool agent_falls_back(struct agent *agent)
{
	const struct provider *next = agent->fallback;

	if (!next)
		return false;
	agent_warn(agent, "%s has refused, %s goes on", agent->provider->model, next->model);
	agent_event(agent, "model_fallback",
		    json_pack("{s:s, s:s, s:s}", "refused", agent->provider->model, "model",
			      next->model, "provider", next->id));
	agent->refused = agent->provider;
	agent->provider = steal(&agent->fallback);
	agent->json.model = next->model;
	json_sets((json_t *)agent->json.more, "provider", next->id);
	return agent->state == AGENT_RUNNING;
}
