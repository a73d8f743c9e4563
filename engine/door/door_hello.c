/* SPDX-License-Identifier: MIT */
/*
 * Before the first question: the node shows its card and proves that it has that card's key, the client proves to have
 * a principal's. Until then nothing is answered and no frame may be long.
 */
#include "door/door_inner.h"

#include "clock.h"
#include "memory.h"

#include <string.h>

/* A client that connects and says nothing is waited for so long. */
#define GREET_MS 30000

static int send_hello(struct door_session *session, const struct hello *hello, struct rye_err *err)
{
	const struct node_dir *node = session->node;
	auto_json json_t *doc = NULL;
	json_t *card = card_make(&node->key, node->card.box, node->card.made);
	char proof[KEY_SIG_TEXT];

	hello_prove(hello, HELLO_NODE, &node->key, proof);
	doc = json_pack("{s:i, s:s, s:o, s:s}", "version", HELLO_VERSION, "nonce", hello->node,
			"card", card, "proof", proof);
	if (!doc)
		return memory_fail(err);
	return conn_send_json(session->conn, FRAME_HELLO, 0, doc, err);
}

/* The key of the client, which it has. */
static int take_auth(struct door_session *session, const struct hello *hello, int64_t until,
		     struct key_public *ret, struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	struct hello_auth auth;
	int r = conn_recv(session->conn, until, &frame, err);

	if (!r)
		r = hello_auth_read(&frame, &auth, err);
	if (r < 0)
		return r;
	if (!hello_proven(hello, HELLO_CLIENT, auth.key.bytes, auth.proof))
		return rye_fail(err, RYE_DENIED, "says that you have not the key %s", auth.key.fp);
	*ret = auth.key;
	return 0;
}

static int send_ready(struct door_session *session, struct rye_err *err)
{
	const struct principal *who = &session->who;
	auto_json json_t *doc = json_pack("{s:s, s:s, s:o}", "fp", who->key.fp, "owner", who->owner,
					  "limits", principal_json(who));

	if (!doc)
		return memory_fail(err);
	return conn_send_json(session->conn, FRAME_READY, 0, doc, err);
}

static int find_principal(struct door_session *session, const char *as,
			  const struct key_public *key, struct rye_err *err)
{
	int r;

	if (as && strcmp(as, key->fp) != 0)
		return rye_fail(err, RYE_DENIED,
				"lets only the key %s in this way, and yours is %s", as, key->fp);
	r = principal_load(session->node, key->fp, &session->who, err);
	if (r == -(int)RYE_DENIED)
		principal_asked(session->node, key);
	return r;
}

int door_greet(struct door_session *session, const char *as, struct rye_err *err)
{
	int64_t until = clock_ms() + GREET_MS;
	auto_frame struct conn_frame frame = { 0 };
	struct hello hello = { 0 };
	struct key_public key;
	int r;

	conn_limit(session->conn, FRAME_SHY);
	memcpy(hello.fp, session->node->key.pub.fp, KEY_FP);
	hello_nonce(hello.node);
	r = conn_recv(session->conn, until, &frame, err);
	if (!r)
		r = hello_client_read(&frame, &hello, err);
	if (!r)
		r = send_hello(session, &hello, err);
	if (!r)
		r = take_auth(session, &hello, until, &key, err);
	if (!r)
		r = find_principal(session, as, &key, err);
	if (!r)
		r = send_ready(session, err);
	conn_limit(session->conn, FRAME_MAX);
	return r;
}
