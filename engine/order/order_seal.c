/* SPDX-License-Identifier: MIT */
/*
 * order_seal.c: the values of secrets in a sealed box. The door that carries them cannot read them, and the
 * box opens for the order alone in whose envelope it was put. Texts are wiped on every path. No lock.
 */
#include "order/order_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <sodium.h>

#define SEALED_MAX (1u << 20) /* names are few, and values are keys */

static void wipe_buf(struct rye_buf *buf)
{
	if (buf->data)
		sodium_memzero(buf->data, buf->size);
	buf_done(buf);
}

static int box_key(const char *text, unsigned char ret[KEY_LEN], struct rye_err *err)
{
	return b64url_to(span_of(text), ret, KEY_LEN) ?
		       0 :
		       rye_fail(err, RYE_INVALID, "the node's key for secrets is no X25519 key");
}

int order_seal(const struct order *order, const json_t *values, const char *box, char **ret,
	       struct rye_err *err)
{
	__attribute__((cleanup(wipe_buf))) struct rye_buf text = RYE_BUF_INIT;
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_object();
	unsigned char key[KEY_LEN];
	auto_free unsigned char *sealed = NULL;
	size_t n;
	char *out;
	int r = box_key(box, key, err);

	if (r)
		return r;
	json_sets(doc, "id", order->id);
	json_sets(doc, "order", order->sha);
	json_set(doc, "values", json_incref((json_t *)values));
	text.cap = SEALED_MAX;
	/* in one piece: what grows leaves copies behind */
	buf_reserve(&text, SEALED_MAX - 1);
	json_canonical(&text, doc);
	n = text.len + crypto_box_SEALBYTES;
	sealed = memory_note(malloc(n));
	out = memory_note(malloc(n * 4 / 3 + 8));
	if (text.failed || memory_check(since, NULL)) {
		free(out);
		return rye_fail(err, RYE_TOO_BIG, "the secrets of an order have at most %u bytes",
				SEALED_MAX);
	}
	if (crypto_box_seal(sealed, (unsigned char *)text.data, text.len, key)) {
		free(out);
		return rye_fail(err, RYE_INVALID, "the node's key for secrets is a weak one");
	}
	b64url_of(sealed, n, out);
	*ret = out;
	return 0;
}

/* The document in the box; NULL: it does not open. */
static json_t *unseal(struct rye_span text, const unsigned char secret[KEY_LEN])
{
	unsigned char public[KEY_LEN];
	size_t n = text.len / 4 * 3 + (text.len % 4 ? text.len % 4 - 1 : 0);
	auto_free unsigned char *sealed = memory_note(malloc(n + 1));
	auto_free unsigned char *plain = memory_note(malloc(n + 1));
	json_t *doc = NULL;

	if (!sealed || !plain || n < crypto_box_SEALBYTES || !b64url_to(text, sealed, n) ||
	    crypto_scalarmult_base(public, secret))
		return NULL;
	n -= crypto_box_SEALBYTES;
	if (!crypto_box_seal_open(plain, sealed, n + crypto_box_SEALBYTES, public, secret))
		doc = json_parse((struct rye_span){ (char *)plain, n }, 0, "", NULL);
	sodium_memzero(plain, n);
	return doc;
}

int order_unseal(const struct order *order, const unsigned char box_secret[KEY_LEN], json_t **ret,
		 struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	json_t *values, *value;
	const char *name;

	if (strlen(order->sealed ? order->sealed : "") <= 2 * SEALED_MAX)
		doc = unseal(span_of(order->sealed ? order->sealed : ""), box_secret);
	values = json_object_get(doc, "values");
	if (!json_is_object(values))
		return rye_fail(err, RYE_INVALID,
				"the secrets of order %s are not sealed to this node, or damaged",
				order->id);
	if (strcmp(json_str(doc, "id"), order->id) != 0 ||
	    strcmp(json_str(doc, "order"), order->sha) != 0)
		return rye_fail(err, RYE_DENIED, "the secrets of order %s are another order's",
				order->id);
	json_object_foreach(values, name, value) {
		if (!json_lists(order->secrets, name) || !json_is_string(value))
			return rye_fail(err, RYE_DENIED,
					"order %s does not ask for the secret %.64s", order->id,
					name);
	}
	*ret = json_incref(values);
	return 0;
}
