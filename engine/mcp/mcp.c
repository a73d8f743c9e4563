/* SPDX-License-Identifier: MIT */
/*
 * Servers that stay: a call takes an idle process of its server or starts one, has it alone, and
 * gives it back; calls that overlap have one each. The keeper thread ends those that no call wanted
 * for a while, that died, or that were changed: another signed item has another key, and the old
 * processes are wanted by no call any more.
 */
#include "mcp/mcp_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Servers whose era is remembered. */
#define MCP_KNOWN 32
/* Between two looks at idle processes. */
#define MCP_LOOK_MS 1000

struct mcp_known {
	char key[SHA_HEX];
	enum mcp_era era;
};

struct mcp {
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	struct mcp_process *idle, *dropped; /* idle: the one used last is first */
	struct mcp_known known[MCP_KNOWN];
	size_t next_known;
	struct boxes *boxes; /* frozen, as the log */
	const struct log *log;
	pthread_t keeper;
	bool running, stopping;
};

struct mcp *mcp_open(struct boxes *boxes, const struct log *log)
{
	struct mcp *mcp = calloc(1, sizeof(*mcp));
	pthread_condattr_t attr;

	if (!mcp)
		return NULL;
	mcp->boxes = boxes;
	mcp->log = log;
	pthread_mutex_init(&mcp->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mcp->work, &attr);
	pthread_condattr_destroy(&attr);
	return mcp;
}

struct boxes *mcp_boxes(struct mcp *mcp)
{
	return mcp->boxes;
}

/* ---- the keeper ---- */

/* With the lock held: out of the list of idle ones, into *list. */
static void unlist_idle(struct mcp_process **at, struct mcp_process **list)
{
	struct mcp_process *process = *at;

	*at = process->next;
	process->next = *list;
	*list = process;
}

/* With the lock held: what is to be ended now; NULL: nothing. */
static struct mcp_process *choose_ending(struct mcp *mcp)
{
	struct mcp_process *list = steal(&mcp->dropped), **at = &mcp->idle;
	int64_t before = clock_ms() - RYE_IDLE_S * 1000LL;

	for (size_t n = 0; *at;) {
		if (mcp->stopping || ++n > RYE_MCP_IDLE || (*at)->used_ms < before ||
		    !mcp_process_alive(*at))
			unlist_idle(at, &list);
		else
			at = &(*at)->next;
	}
	return list;
}

static struct mcp_process *keeper_wait(struct mcp *mcp)
{
	struct mcp_process *list;
	struct timespec until;

	GUARD(&mcp->lock);
	while (!(list = choose_ending(mcp)) && !mcp->stopping) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += MCP_LOOK_MS / 1000;
		if (mcp->idle)
			pthread_cond_timedwait(&mcp->work, &mcp->lock, &until);
		else
			pthread_cond_wait(&mcp->work, &mcp->lock);
	}
	return list;
}

static void *keeper_main(void *arg)
{
	struct mcp *mcp = arg;
	struct mcp_process *list;

	while ((list = keeper_wait(mcp)))
		mcp_processes_end(mcp->boxes, list);
	return NULL;
}

/* With the lock held. */
static void keeper_ensure(struct mcp *mcp)
{
	sigset_t all, before;

	if (!mcp->running) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		mcp->running = pthread_create(&mcp->keeper, NULL, keeper_main, mcp) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_cond_signal(&mcp->work);
}

void mcp_drop(struct mcp *mcp, struct mcp_process *process)
{
	if (!process)
		return;
	GUARD(&mcp->lock);
	process->next = mcp->dropped;
	mcp->dropped = process;
	keeper_ensure(mcp);
}

static void put_idle(struct mcp *mcp, struct mcp_process *process)
{
	process->used_ms = clock_ms();
	GUARD(&mcp->lock);
	process->next = mcp->idle;
	mcp->idle = process;
	keeper_ensure(mcp);
}

static struct mcp_process *find_idle(struct mcp *mcp, const char *key)
{
	struct mcp_process *found = NULL;

	GUARD(&mcp->lock);
	for (struct mcp_process **at = &mcp->idle; *at && !found; at = &(*at)->next) {
		if (strcmp((*at)->key, key) || !mcp_process_alive(*at))
			continue;
		unlist_idle(at, &found);
		break;
	}
	return found;
}

void mcp_close(struct mcp *mcp)
{
	struct mcp_process *list;

	if (!mcp)
		return;
	{
		GUARD(&mcp->lock);
		mcp->stopping = true;
		pthread_cond_signal(&mcp->work);
	}
	if (mcp->running)
		pthread_join(mcp->keeper, NULL);
	list = choose_ending(mcp);
	mcp_processes_end(mcp->boxes, list);
	pthread_cond_destroy(&mcp->work);
	pthread_mutex_destroy(&mcp->lock);
	free(mcp);
}

/* ---- eras ---- */

static enum mcp_era known_era(struct mcp *mcp, const struct mcp_spec *spec)
{
	if (spec->era != MCP_AUTO)
		return spec->era;
	GUARD(&mcp->lock);
	for (size_t i = 0; i < MCP_KNOWN; i++)
		if (!strcmp(mcp->known[i].key, spec->key))
			return mcp->known[i].era;
	return MCP_AUTO;
}

static void note_era(struct mcp *mcp, const struct mcp_spec *spec, enum mcp_era era)
{
	size_t at = 0;

	if (era == MCP_AUTO)
		return;
	GUARD(&mcp->lock);
	while (at < MCP_KNOWN && strcmp(mcp->known[at].key, spec->key))
		at++;
	if (at == MCP_KNOWN)
		at = mcp->next_known++ % MCP_KNOWN;
	memcpy(mcp->known[at].key, spec->key, SHA_HEX);
	mcp->known[at].era = era;
}

/* ---- calls ---- */

static void call_stdio(struct mcp *mcp, const struct mcp_ask *ask, struct mcp_answer *ret)
{
	struct mcp_stdio stdio = { .peer = { .wire = &mcp_wire_stdio, .ask = ask }, .mcp = mcp };
	struct rye_err err = { 0 };

	stdio.peer.known = known_era(mcp, ask->spec);
	stdio.process = find_idle(mcp, ask->spec->key);
	ret->kept = stdio.process;
	if (!stdio.process && mcp_process_start(mcp->boxes, ask->spec, &stdio.process, &err)) {
		ret->fault = MCP_FAULT_SPAWN;
		ret->text = strdup(err.msg);
		return;
	}
	stdio.peer.state = &stdio.process->state;
	mcp_session_call(&stdio.peer, ret);
	note_era(mcp, ask->spec, ret->era);
	ret->pid = stdio.process->child.pid;
	if (stdio.process->broken || !stdio.process->state.open)
		mcp_drop(mcp, stdio.process);
	else
		put_idle(mcp, stdio.process);
}

void mcp_call(struct mcp *mcp, const struct mcp_ask *ask, struct mcp_answer *ret)
{
	*ret = (struct mcp_answer){ .fault = MCP_FINE };
	call_stdio(mcp, ask, ret);
}

void mcp_answer_done(struct mcp_answer *answer)
{
	json_decref(answer->result);
	json_decref(answer->error);
	json_decref(answer->server);
	free(answer->text);
}

void mcp_spec_done(struct mcp_spec *spec)
{
	for (char **word = spec->argv; word && *word; word++)
		free(*word);
	free(spec->argv);
	free(spec->id);
	free(spec->path);
	free(spec->cwd);
	env_done(&spec->env);
}
