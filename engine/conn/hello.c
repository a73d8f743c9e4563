/* SPDX-License-Identifier: MIT */
/*
 * Whose key each end has: HELLO, AUTH, READY. Each side signs the nonces of both, so a signature that
 * was seen once is good for nothing else; the word in front says whose it is. No state.
 */
#include "conn/conn.h"

#include "memory.h"
#include "str.h"

#include <sodium.h>
#include <string.h>

static const char *const words[] = { [HELLO_NODE] = "rye-node-1", [HELLO_CLIENT] = "rye-hello-1" };

void hello_nonce(char ret[HELLO_NONCE])
{
	unsigned char bytes[32];

	randombytes_buf(bytes, sizeof(bytes));
	b64url_of(bytes, sizeof(bytes), ret);
}

static struct rye_span hello_text(const struct hello *hello, enum hello_side side, char text[160])
{
	int n = snprintf(text, 160, "%s\n%s\n%s\n%s\n", words[side], hello->fp, hello->client,
			 hello->node);

	return (struct rye_span){ text, (size_t)n };
}

void hello_prove(const struct hello *hello, enum hello_side side, const struct key_secret *key,
		 char ret[KEY_SIG_TEXT])
{
	char text[160];

	key_sign(key, hello_text(hello, side, text), ret);
}

bool hello_proven(const struct hello *hello, enum hello_side side, const unsigned char key[KEY_LEN],
		  const char *proof)
{
	char text[160];

	return key_verify(key, span_of(proof), hello_text(hello, side, text));
}

static bool take_nonce(const json_t *doc, char ret[HELLO_NONCE])
{
	const char *nonce = json_str(doc, "nonce");
	unsigned char bytes[32];

	if (strlen(nonce) + 1 != HELLO_NONCE || !b64url_to(span_of(nonce), bytes, sizeof(bytes)))
		return false;
	memcpy(ret, nonce, HELLO_NONCE);
	return true;
}

static int check_version(const json_t *doc, struct rye_err *err)
{
	json_int_t version = json_int(doc, "version", 0);

	if (version == HELLO_VERSION)
		return 0;
	return rye_fail(err, version > 0 ? RYE_UNSUPPORTED : RYE_INVALID,
			"the other end speaks version %lld of this, here it is %d: the older "
			"ryefs has to be replaced",
			(long long)version, HELLO_VERSION);
}

int hello_client_read(const struct conn_frame *frame, struct hello *into, struct rye_err *err)
{
	auto_json json_t *doc = frame->type == FRAME_HELLO ? frame_json(frame, NULL) : NULL;
	int r;

	if (!doc)
		return rye_fail(err, RYE_INVALID, "wanted is HELLO first, a JSON object");
	r = check_version(doc, err);
	if (!r && !take_nonce(doc, into->client))
		r = rye_fail(err, RYE_INVALID, "HELLO has no nonce of 32 bytes");
	return r;
}

int hello_auth_read(const struct conn_frame *frame, struct hello_auth *ret, struct rye_err *err)
{
	auto_json json_t *doc = frame->type == FRAME_AUTH ? frame_json(frame, NULL) : NULL;
	const char *proof = json_str(doc, "proof");

	if (!doc)
		return rye_fail(err, RYE_INVALID, "wanted is AUTH behind HELLO, a JSON object");
	if (strlen(proof) >= sizeof(ret->proof))
		return rye_fail(err, RYE_INVALID, "proof is no signature");
	memcpy(ret->proof, proof, strlen(proof) + 1);
	return key_public_parse(span_of(json_str(doc, "key")), &ret->key, err);
}

/* The next frame has to be this one. */
static int expect(struct conn *conn, enum frame_type type, int64_t until, json_t **ret,
		  struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	int r = conn_recv(conn, until, &frame, err);

	if (r < 0)
		return r;
	if (frame.type == FRAME_ERR)
		return frame_fault_read(&frame, err);
	if (frame.type != type)
		return rye_fail(err, RYE_UNREACHABLE, "what answers there is no node of ryefs");
	*ret = frame_json(&frame, err);
	return *ret ? 0 : -(int)err->code;
}

static int hello_read_node(const json_t *doc, struct hello *hello, struct card *ret_card,
			   struct rye_err *err)
{
	int r = check_version(doc, err);

	if (!r)
		r = card_read(json_object_get(doc, "card"), ret_card, err);
	if (r < 0)
		return r;
	memcpy(hello->fp, ret_card->sign.fp, KEY_FP);
	if (!take_nonce(doc, hello->node) ||
	    !hello_proven(hello, HELLO_NODE, ret_card->sign.bytes, json_str(doc, "proof")))
		return rye_fail(err, RYE_KEY_CHANGED,
				"it shows the card of %s and has not that card's key", hello->fp);
	return 0;
}

int hello_node(struct conn *conn, int64_t until, struct hello *ret, struct card *ret_card,
	       struct rye_err *err)
{
	auto_json json_t *mine = NULL, *theirs = NULL;
	int r;

	hello_nonce(ret->client);
	mine = json_pack("{s:i, s:s}", "version", HELLO_VERSION, "nonce", ret->client);
	if (!mine)
		return memory_fail(err);
	r = conn_send_json(conn, FRAME_HELLO, 0, mine, err);
	if (!r)
		r = expect(conn, FRAME_HELLO, until, &theirs, err);
	return r < 0 ? r : hello_read_node(theirs, ret, ret_card, err);
}

int hello_show(struct conn *conn, const struct hello *hello, const struct key_secret *key,
	       struct rye_err *err)
{
	auto_json json_t *mine = NULL;
	char proof[KEY_SIG_TEXT];

	hello_prove(hello, HELLO_CLIENT, key, proof);
	mine = json_pack("{s:s, s:s}", "key", key->pub.pem, "proof", proof);
	if (!mine)
		return memory_fail(err);
	return conn_send_json(conn, FRAME_AUTH, 0, mine, err);
}

int hello_ready(struct conn *conn, int64_t until, json_t **ret, struct rye_err *err)
{
	return expect(conn, FRAME_READY, until, ret, err);
}

int hello_auth(struct conn *conn, const struct hello *hello, const struct key_secret *key,
	       int64_t until, json_t **ret, struct rye_err *err)
{
	int r = hello_show(conn, hello, key, err);

	return r < 0 ? r : hello_ready(conn, until, ret, err);
}
