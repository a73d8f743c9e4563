/* SPDX-License-Identifier: MIT */
/*
 * Servers that stay: a call takes an idle process of its server, or starts one, has it alone, and
 * gives it back; calls that overlap have one each. The same with what a server at an address has
 * told of itself, its session above all. The keeper thread ends those that no call wanted
 * for a while, that died, or that were changed: another signed item has another key, and the old
 * ones are wanted by no call any more.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "http/http.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

/* Servers whose era is remembered. */
#define MCP_KNOWN 32
/* Between two looks at idle servers. */
#define MCP_LOOK_MS 1000

struct mcp_known {
	char key[SHA_HEX];
	enum mcp_era era;
};

struct mcp {
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	struct mcp_kept *idle, *dropped; /* idle: the one used last is first */
	struct mcp_known known[MCP_KNOWN];
	size_t next_known;
	struct mcp_ground ground;
	pthread_t keeper;
	bool running, stopping;
	bool asleep; /* the keeper thread: until it is signalled */
};

struct mcp *mcp_open(struct boxes *boxes, struct strays *strays, struct http *http)
{
	struct mcp *mcp = calloc(1, sizeof(*mcp));

	if (!mcp)
		return NULL;
	mcp->ground.boxes = boxes;
	mcp->ground.strays = strays;
	mcp->ground.http = http;
	pthread_mutex_init(&mcp->lock, NULL);
	clock_cond_init(&mcp->work);
	return mcp;
}

struct mcp_ground *mcp_ground(struct mcp *mcp)
{
	return &mcp->ground;
}

void mcp_state_done(struct mcp_state *state)
{
	json_decref(state->server);
	json_decref(state->tools);
	*state = (struct mcp_state){ 0 };
}

/* ---- the keeper ---- */

static bool kept_alive(const struct mcp_kept *kept)
{
	return kept->wire->http || mcp_process_alive((const struct mcp_process *)kept);
}

/* With the lock held: out of the list of idle ones, into *list. */
static void unlist_idle(struct mcp_kept **at, struct mcp_kept **list)
{
	struct mcp_kept *kept = *at;

	*at = kept->next;
	kept->next = *list;
	*list = kept;
}

/* With the lock held: what is to be ended now; NULL: nothing. */
static struct mcp_kept *choose_ending(struct mcp *mcp)
{
	struct mcp_kept *list = steal(&mcp->dropped), **at = &mcp->idle;
	int64_t now = clock_ms();
	size_t n[2] = { 0, 0 };

	while (*at) {
		bool remote = (*at)->wire->http;
		int64_t stay = remote ? RYE_MCP_REMOTE_S : RYE_IDLE_S;

		if (mcp->stopping || ++n[remote] > RYE_MCP_IDLE ||
		    (*at)->used_ms < now - stay * 1000 || !kept_alive(*at))
			unlist_idle(at, &list);
		else
			at = &(*at)->next;
	}
	return list;
}

static struct mcp_kept *keeper_wait(struct mcp *mcp)
{
	struct mcp_kept *list;

	GUARD(&mcp->lock);
	while (!(list = choose_ending(mcp)) && !mcp->stopping) {
		mcp->asleep = !mcp->idle;
		if (mcp->idle)
			clock_cond_wait(&mcp->work, &mcp->lock,
					clock_ns() + MCP_LOOK_MS * NS_PER_MS);
		else
			pthread_cond_wait(&mcp->work, &mcp->lock);
	}
	mcp->asleep = false;
	return list;
}

static void end_all(struct mcp *mcp, struct mcp_kept *list)
{
	struct mcp_kept *processes = NULL;
	int64_t until = clock_ms() + RYE_MCP_TELL_MS;

	while (list) {
		struct mcp_kept *next = list->next;

		if (list->wire->http) {
			mcp_remote_end(mcp->ground.http, mcp_remote_of(list), until);
		} else {
			list->next = processes;
			processes = list;
		}
		list = next;
	}
	mcp_processes_end(&mcp->ground, processes);
}

static void *keeper_main(void *arg)
{
	struct mcp *mcp = arg;
	struct mcp_kept *list;

	while ((list = keeper_wait(mcp)))
		end_all(mcp, list);
	return NULL;
}

/* With the lock held: more of one sort wait than may. */
static bool idle_is_crowded(const struct mcp *mcp)
{
	size_t n[2] = { 0, 0 };

	for (const struct mcp_kept *kept = mcp->idle; kept; kept = kept->next)
		n[kept->wire->http]++;
	return n[false] > RYE_MCP_IDLE || n[true] > RYE_MCP_IDLE;
}

/* With the lock held. A server that has only become idle is no reason to wake a keeper thread that
 * looks again by itself: each call would pay for that. */
static void keeper_ensure(struct mcp *mcp)
{
	if (!mcp->running) {
		HOLD_SIGNALS();
		mcp->running = pthread_create(&mcp->keeper, NULL, keeper_main, mcp) == 0;
	}
	if (mcp->asleep || mcp->dropped || idle_is_crowded(mcp))
		pthread_cond_signal(&mcp->work);
}

void mcp_drop(struct mcp *mcp, struct mcp_kept *kept)
{
	if (!kept)
		return;
	GUARD(&mcp->lock);
	kept->next = mcp->dropped;
	mcp->dropped = kept;
	keeper_ensure(mcp);
}

static void put_idle(struct mcp *mcp, struct mcp_kept *kept)
{
	kept->used_ms = clock_ms();
	GUARD(&mcp->lock);
	kept->next = mcp->idle;
	mcp->idle = kept;
	keeper_ensure(mcp);
}

static struct mcp_kept *find_idle(struct mcp *mcp, const char *key)
{
	struct mcp_kept *found = NULL;

	GUARD(&mcp->lock);
	for (struct mcp_kept **at = &mcp->idle; *at && !found; at = &(*at)->next) {
		if (strcmp((*at)->key, key) || !kept_alive(*at))
			continue;
		unlist_idle(at, &found);
		break;
	}
	return found;
}

void mcp_close(struct mcp *mcp)
{
	if (!mcp)
		return;
	{
		GUARD(&mcp->lock);
		mcp->stopping = true;
		pthread_cond_signal(&mcp->work);
	}
	if (mcp->running)
		pthread_join(mcp->keeper, NULL);
	end_all(mcp, choose_ending(mcp));
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

void mcp_call(struct mcp *mcp, const struct mcp_ask *ask, struct mcp_answer *ret)
{
	bool http = ask->spec->transport == MCP_HTTP;
	struct mcp_peer peer = { .wire = http ? &mcp_wire_http : &mcp_wire_stdio,
				 .mcp = mcp,
				 .kept = find_idle(mcp, ask->spec->key),
				 .ask = ask,
				 .known = known_era(mcp, ask->spec) };

	*ret = (struct mcp_answer){ .fault = MCP_FINE, .kept = peer.kept };
	if (!peer.kept && peer.wire->start(mcp, ask->spec, &peer.kept, &peer.err)) {
		mcp_session_fault(ret, http ? MCP_FAULT_HTTP : MCP_FAULT_SPAWN, "%s", peer.err.msg);
		return;
	}
	peer.state = &peer.kept->state;
	mcp_session_call(&peer, ret);
	note_era(mcp, ask->spec, ret->era);
	ret->pid = http ? 0 : mcp_process_of(peer.kept)->child.pid;
	ret->body = peer.body;
	ret->challenge = peer.challenge;
	if (peer.kept->broken || !peer.kept->state.open)
		mcp_drop(mcp, peer.kept);
	else
		put_idle(mcp, peer.kept);
}

void mcp_answer_done(struct mcp_answer *answer)
{
	json_decref(answer->result);
	json_decref(answer->error);
	json_decref(answer->changed);
	json_decref(answer->server);
	json_decref(answer->challenge);
	free(answer->body);
	free(answer->text);
}

const char *mcp_server_name(const struct mcp_spec *spec)
{
	const char *slash = strrchr(spec->id, '/');

	return slash ? slash + 1 : spec->id;
}

void mcp_spec_done(struct mcp_spec *spec)
{
	for (char **word = spec->argv; word && *word; word++)
		free(*word);
	free(spec->argv);
	mcp_headers_free(spec->headers);
	free(spec->url);
	free(spec->id);
	free(spec->path);
	free(spec->cwd);
	free(spec->home);
	env_done(&spec->env);
}
