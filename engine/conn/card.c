/* SPDX-License-Identifier: MIT */
/*
 * A node's card: its two public keys, and its own signature over the canonical text of the rest. It
 * proves nothing but that it is whole; whose it is a person has to say, by a pin. Pure.
 */
#include "conn/conn.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#include <string.h>

#define CARD_KIND "ryefs-node"
/* In front of what is signed: a card's signature is good for nothing else. */
#define CARD_WORD "rye-card-1\n"

/* The text that is signed: all members but `sig`. */
static void card_text(const json_t *doc, struct rye_buf *ret)
{
	auto_json json_t *bare = json_copy((json_t *)doc);

	json_object_del(bare, "sig");
	buf_adds(ret, CARD_WORD);
	json_canonical(ret, bare);
	ret->failed |= !bare;
}

json_t *card_make(const struct key_secret *key, const char *box, const char *made)
{
	auto_json json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", CARD_KIND, "fp",
					  key->pub.fp, "sign", key->pub.pem, "box", box, "made",
					  made);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char sig[KEY_SIG_TEXT];

	if (!doc)
		return NULL;
	card_text(doc, &text);
	if (text.failed)
		return NULL;
	key_sign(key, buf_span(&text), sig);
	return json_sets(doc, "sig", sig) ? steal(&doc) : NULL;
}

static int card_bad(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_INVALID, "this is no card of a node: %s", what);
}

static int card_signed(const json_t *doc, const struct card *card, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	card_text(doc, &text);
	if (text.failed)
		return memory_fail(err);
	if (!key_verify(card->sign.bytes, span_of(json_str(doc, "sig")), buf_span(&text)))
		return card_bad(err, "its signature is not the key's that it names");
	return 0;
}

int card_read(const json_t *doc, struct card *ret, struct rye_err *err)
{
	struct card card = { 0 };
	const char *box = json_str(doc, "box"), *made = json_str(doc, "made");
	unsigned char bytes[KEY_LEN];
	struct timespec when;

	if (strcmp(json_str(doc, "kind"), CARD_KIND) != 0)
		return card_bad(err, "kind is not " CARD_KIND);
	if (key_public_parse(span_of(json_str(doc, "sign")), &card.sign, NULL) ||
	    strcmp(card.sign.fp, json_str(doc, "fp")) != 0)
		return card_bad(err, "sign is no public key, or fp not its fingerprint");
	if (!b64url_to(span_of(box), bytes, sizeof(bytes)) || strlen(box) + 1 != sizeof(card.box))
		return card_bad(err, "box is no key");
	if (strlen(made) >= sizeof(card.made) || !clock_iso_read(made, &when))
		return card_bad(err, "made is no time");
	memcpy(card.box, box, sizeof(card.box));
	memcpy(card.made, made, strlen(made) + 1);
	*ret = card;
	return card_signed(doc, &card, err);
}
