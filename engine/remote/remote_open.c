/* SPDX-License-Identifier: MIT */
/*
 * A connection to a remote, with both ends known: only to an address that the person has confirmed, only
 * to the key that is pinned. Waits at most REMOTE_CONNECT_MS.
 */
#include "remote/remote_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#include <string.h>

void remote_link_done(struct remote_link *link)
{
	conn_close(link->conn);
	pin_done(&link->pin);
	json_decref(link->ready);
	json_decref(link->heads);
	*link = (struct remote_link){ 0 };
}

int remote_told(const char *name, struct rye_err *err)
{
	char said[sizeof(err->msg)];

	memcpy(said, err->msg, sizeof(said));
	if (err->code == RYE_TIMEOUT)
		return rye_fail(err, RYE_UNREACHABLE, "%s: nothing was heard within %d s", name,
				REMOTE_CONNECT_MS / 1000);
	if (err->code == RYE_DENIED) /* what the node says of us is the rest of a sentence */
		return rye_fail(err, RYE_DENIED, "%s %.880s", name, said);
	if (err->code == RYE_TOO_BIG || err->code == RYE_UNPARSABLE)
		return rye_fail(err, RYE_UNREACHABLE,
				"%s: what answers there is no node of ryefs, or something is "
				"printed before it",
				name);
	return rye_wrap(err, "%s", name);
}

static int check_url(const struct remote *remote, const struct pin *pin, struct rye_err *err)
{
	if (!strcmp(pin->url, remote->url))
		return 0;
	return rye_fail(err, RYE_KEY_CHANGED,
			"%s is at %.200s, and was at %.200s when you pinned its key; if that is "
			"right: ryefs remote add --again %s",
			remote->name, remote->url, pin->url, remote->name);
}

static int check_key(const char *name, const struct card *card, const struct pin *pin,
		     struct rye_err *err)
{
	if (!strcmp(card->sign.fp, pin->key.fp) &&
	    !memcmp(card->sign.bytes, pin->key.bytes, KEY_LEN))
		return 0;
	return rye_fail(err, RYE_KEY_CHANGED,
			"%s shows key %s, pinned is %s; if that is right: ryefs remote add "
			"--again %s",
			name, card->sign.fp, pin->key.fp, name);
}

/* Whose card is it, and is that key there? */
static int meet(const char *url, int64_t until, struct conn **ret, struct hello *ret_hello,
		struct card *ret_card, struct rye_err *err)
{
	auto_conn struct conn *conn = NULL;
	int r = conn_open(url, &conn, err);

	if (r < 0)
		return r;
	conn_limit(conn, FRAME_SHY);
	r = hello_node(conn, until, ret_hello, ret_card, err);
	if (!r)
		*ret = steal(&conn);
	return r;
}

/* AUTH and READY; early: HEADS between them. The node has proven by now which one it is. */
static int link_auth(const struct remote *remote, const struct hello *hello,
		     const struct key_secret *key, bool early, struct remote_link *link,
		     struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s}", "project", remote->project);
	const struct conn_ask ask = { .type = FRAME_HEADS,
				      .body = body,
				      .until = clock_ms() + REMOTE_CONNECT_MS };
	uint32_t stream = early ? conn_stream(link->conn) : 0;
	int r = hello_show(link->conn, hello, key, err);

	if (!r && early)
		r = conn_send_json(link->conn, FRAME_HEADS, stream, body, err);
	if (!r)
		r = hello_ready(link->conn, ask.until, &link->ready, err);
	/* what it refuses is told when it is asked again */
	if (!r && early && conn_answer(link->conn, &ask, stream, &link->heads, NULL))
		link->heads = NULL;
	return r;
}

static int link_up(const struct item_env *env, const struct remote *remote, bool early,
		   struct remote_link *link, struct rye_err *err)
{
	int64_t until = clock_ms() + REMOTE_CONNECT_MS;
	auto_key struct key_secret key = { 0 };
	struct hello hello = { 0 };
	struct card card;
	int r = keystore_load(env->spaces, &key, err);

	if (r < 0)
		return r;
	r = meet(remote->url, until, &link->conn, &hello, &card, err);
	if (r < 0)
		return remote_told(remote->name, err);
	r = check_key(remote->name, &card, &link->pin, err);
	if (r < 0)
		return r;
	r = link_auth(remote, &hello, &key, early, link, err);
	if (r < 0)
		return remote_told(remote->name, err);
	conn_limit(link->conn, FRAME_MAX);
	return 0;
}

static int link_open(const struct item_env *env, const struct remote *remote, bool early,
		     struct remote_link *ret, struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	struct rye_err why = { 0 };
	int r = pin_load(env, remote->name, &link.pin, &why);

	if (!r)
		r = check_url(remote, &link.pin, &why);
	if (!r)
		r = link_up(env, remote, early, &link, &why);
	contact_note(env, remote->name, r < 0 ? &why : NULL, NULL);
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	remote_late(env, remote, &link);
	*ret = link;
	link = (struct remote_link){ 0 };
	return 0;
}

int remote_open_conn(const struct item_env *env, const struct remote *remote,
		     struct remote_link *ret, struct rye_err *err)
{
	return link_open(env, remote, false, ret, err);
}

int remote_open_push(const struct item_env *env, const struct remote *remote,
		     struct remote_link *ret, struct rye_err *err)
{
	return link_open(env, remote, true, ret, err);
}

int remote_card(const char *name, const char *url, struct card *ret, struct rye_err *err)
{
	auto_conn struct conn *conn = NULL;
	struct hello hello = { 0 };
	struct rye_err own = { 0 };

	err = err ? err : &own;
	if (meet(url, clock_ms() + REMOTE_CONNECT_MS, &conn, &hello, ret, err) < 0)
		return remote_told(name, err);
	return 0;
}
