/* SPDX-License-Identifier: MIT */
/*
 * What is asked of a remote by a word: by a mount's files `push` and `ctl`, by the bundled tool. One row each. For a
 * thread that may wait: most of them connect. No lock.
 */
#include "remote/remote_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct acting {
	const struct item_env *env;
	const struct remote *remote;
	const json_t *doc; /* the request */
	const char *id; /* of a run; "": the word takes none */
};

static int acting_open(const struct acting *acting, struct remote_link *ret, struct rye_err *err)
{
	return remote_open_conn(acting->env, acting->remote, ret, err);
}

static int act_push(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	int r = remote_open_push(acting->env, acting->remote, &link, err);

	return r ? r :
		   remote_push(acting->env, acting->remote, &link,
			       json_flag(acting->doc, "force", false), ret, err);
}

static int act_connect(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_json json_t *info = NULL;
	char line[200];
	int r = remote_look(acting->env, acting->remote, &info, err);

	if (r)
		return r;
	remote_sentence(info, line, sizeof(line));
	*ret = json_pack("{s:s, s:s, s:O}", "remote", acting->remote->name, "status", line, "info",
			 info);
	return *ret ? 0 : memory_fail(err);
}

static int act_threads(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	auto_json json_t *runs = NULL;
	int r = acting_open(acting, &link, err);

	if (!r)
		r = remote_runs(acting->env, acting->remote, link.conn, &runs, err);
	if (r)
		return r;
	*ret = json_pack("{s:s, s:O}", "remote", acting->remote->name, "threads", runs);
	return *ret ? 0 : memory_fail(err);
}

static int act_gc(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	auto_json json_t *body =
		json_pack("{s:b}", "dry_run", json_flag(acting->doc, "dry_run", false));
	struct conn_ask ask = { .type = FRAME_GC, .body = body };
	int r = acting_open(acting, &link, err);

	if (r)
		return r;
	r = conn_ask(link.conn, &ask, ret, err);
	return r ? rye_wrap(err, "%s", acting->remote->name) : 0;
}

static int act_pull(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	int r = acting_open(acting, &link, err);

	if (!r)
		r = remote_pull_left(acting->env, acting->remote, link.conn, acting->id, err);
	if (r)
		return r;
	*ret = json_pack("{s:s, s:s}", "remote", acting->remote->name, "id", acting->id);
	return *ret ? 0 : memory_fail(err);
}

/* The order, into the outbox; the thread that follows it is its caller's to begin. */
static int act_adopt(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	int r = acting_open(acting, &link, err);

	return r ? r : remote_adopt(acting->env, acting->remote, &link, acting->id, ret, err);
}

/* Nothing is asked of the node: what it keeps of the run goes there in its own time. */
static int act_forget(const struct acting *acting, json_t **ret, struct rye_err *err)
{
	int r = remote_order_forget(acting->env, acting->remote->name, acting->id, err);

	if (r)
		return r;
	*ret = json_pack("{s:s, s:s}", "remote", acting->remote->name, "id", acting->id);
	return *ret ? 0 : memory_fail(err);
}

static const struct remote_word {
	const char *word;
	bool id; /* a run's id belongs to it */
	int (*act)(const struct acting *acting, json_t **ret, struct rye_err *err);
} act_rows[] = {
	{ "adopt", true, act_adopt },	  { "connect", false, act_connect },
	{ "forget", true, act_forget },	  { "gc", false, act_gc },
	{ "pull", true, act_pull },	  { "push", false, act_push },
	{ "status", false, act_connect }, { "threads", false, act_threads },
};

static const struct remote_word *find_row(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(act_rows); i++)
		if (!strcmp(act_rows[i].word, word))
			return &act_rows[i];
	return NULL;
}

int remote_act_read(struct rye_span line, json_t **ret, struct rye_err *err)
{
	struct rye_span word = span_trim(line), id;
	size_t n = 0;

	if (span_starts(word, "{")) {
		*ret = json_parse(word, 0, "message", err);
		return *ret ? 0 : -(int)err->code;
	}
	while (n < word.len && (unsigned char)word.ptr[n] > ' ')
		n++;
	id = span_trim(span_skip(word, n));
	word.len = n;
	*ret = json_pack("{s:s%}", "action", word.ptr ? word.ptr : "", word.len);
	if (*ret && !find_row(json_str(*ret, "action"))) {
		rye_fail(err, RYE_INVALID, "'%.40s' is none of " RYE_REMOTE_WORDS,
			 json_str(*ret, "action"));
		json_decref(*ret);
		*ret = NULL;
		return -(int)RYE_INVALID;
	}
	if (*ret && id.len)
		json_object_set_new(*ret, "id", json_stringn(id.ptr, id.len));
	return *ret && (!id.len || json_object_get(*ret, "id")) ?
		       0 :
		       rye_fail(err, RYE_INVALID, "a word is to be UTF-8");
}

int remote_act(const struct item_env *env, const char *name, const json_t *doc, json_t **ret,
	       struct rye_err *err)
{
	auto_remote struct remote remote = { 0 };
	const char *word = json_str(doc, "action"), *id = json_str(doc, "id");
	const struct remote_word *row = find_row(word);
	struct acting acting = { env, &remote, doc, id };
	int r;

	if (!row)
		return rye_fail(err, RYE_INVALID, "'%.40s' is none of " REMOTE_WORDS, word);
	if (row->id && !id_is_uuid(id))
		return rye_fail(err, RYE_INVALID, "%s ID: '%.80s' is no id of a run elsewhere",
				word, id);
	if (!row->id && *id)
		return rye_fail(err, RYE_INVALID, "%s takes no id", word);
	r = remote_find(env, name, &remote, err);
	return r ? r : row->act(&acting, ret, err);
}
