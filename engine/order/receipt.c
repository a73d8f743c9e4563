/* SPDX-License-Identifier: MIT */
/*
 * receipt.c: a receipt: signed by the worker, whose key the node's key vouches for; checked against
 * the pinned card and the order that was sent. Pure; no lock.
 */
#include "order/order_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#define RECEIPT_WORD "rye-receipt-1"
#define VOUCH_WORD "rye-worker-1\n"

#define ROW(member, form) MEMBER(receipt, member, form)

static const struct member receipt_rows[] = {
	ROW(began, MEMBER_TEXT),   ROW(code, MEMBER_TEXT),
	ROW(cost, MEMBER_OBJECT),  ROW(ended, MEMBER_TEXT),
	ROW(gen, MEMBER_INT),	   ROW(id, MEMBER_UUID),
	ROW(manifest, MEMBER_SHA), ROW(node, MEMBER_FP),
	ROW(order, MEMBER_SHA),	   ROW(reason, MEMBER_TEXT),
	ROW(result, MEMBER_SHA),   ROW(signer, MEMBER_TEXT),
	ROW(status, MEMBER_TEXT),  ROW(transcript_head, MEMBER_SHA),
	ROW(worker, MEMBER_FP),
};
static const struct members receipt_members = { "receipt", receipt_rows, ARRAY_SIZE(receipt_rows) };
static const char *const receipt_envelope[] = { "receipt", "key", "signature", "vouched", NULL };

void receipt_done(struct receipt *receipt)
{
	json_decref(steal(&receipt->doc));
	json_decref(steal(&receipt->envelope));
}

static void vouch_text(const struct key_public *worker, struct rye_buf *ret)
{
	buf_adds(ret, VOUCH_WORD);
	buf_adds(ret, worker->pem);
}

void receipt_vouch(const struct key_secret *node, const struct key_public *worker,
		   char ret[KEY_SIG_TEXT])
{
	/* a key's text and a word: too short to fail but for want of memory, then it vouches for none */
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	vouch_text(worker, &text);
	key_sign(node, buf_span(&text), ret);
}

int receipt_sign(struct receipt *receipt, const struct key_secret *worker, const char *vouched,
		 struct rye_buf *ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *doc = NULL, *envelope = json_object();
	int r;

	memcpy(receipt->worker, worker->pub.fp, sizeof(receipt->worker));
	r = members_put(&receipt_members, receipt, &doc, err);
	if (!r)
		r = members_get(&receipt_members, doc, NULL, err);
	if (!r)
		r = members_signed(RECEIPT_WORD, doc, &text, NULL, err);
	if (r)
		return r;
	key_sign(worker, buf_span(&text), receipt->signature);
	json_set(envelope, "receipt", json_incref(doc));
	json_sets(envelope, "key", worker->pub.pem);
	json_sets(envelope, "signature", receipt->signature);
	json_sets(envelope, "vouched", vouched);
	json_canonical(ret, envelope);
	if (ret->failed || memory_check(since, NULL))
		return memory_fail(err);
	receipt_done(receipt);
	receipt->doc = steal(&doc);
	return 0;
}

/* A text of the envelope; false: it is too long. */
static bool envelope_text(const json_t *envelope, const char *name, char *ret, size_t size)
{
	const char *text = json_str(envelope, name);

	if (strlen(text) >= size)
		return false;
	memcpy(ret, text, strlen(text) + 1);
	return true;
}

int receipt_read(struct rye_span text, struct receipt *ret, struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	int r = members_envelope(text, receipt_envelope, &doc, err);

	memset(ret, 0, sizeof(*ret));
	if (!r)
		r = members_get(&receipt_members, json_object_get(doc, "receipt"), ret, err);
	if (r)
		return r;
	if (!envelope_text(doc, "key", ret->key, sizeof(ret->key)) ||
	    !envelope_text(doc, "signature", ret->signature, sizeof(ret->signature)) ||
	    !envelope_text(doc, "vouched", ret->vouched, sizeof(ret->vouched)))
		return rye_fail(err, RYE_INVALID, "receipt: a key or a signature is too long");
	ret->doc = json_incref(json_object_get(doc, "receipt"));
	ret->envelope = steal(&doc);
	return 0;
}

/* The worker's key, if the node vouches for it. */
static int worker_key(const struct receipt *receipt, const struct key_public *node,
		      struct key_public *ret, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r = key_public_parse(span_of(receipt->key), ret, err);

	if (r)
		return r;
	vouch_text(ret, &text);
	if (text.failed)
		return memory_fail(err);
	if (strcmp(receipt->node, node->fp) != 0 || strcmp(receipt->worker, ret->fp) != 0 ||
	    !key_verify(node->bytes, span_of(receipt->vouched), buf_span(&text)))
		return rye_fail(err, RYE_UNTRUSTED,
				"the receipt is by the worker %s, for which the node %s does not "
				"vouch",
				receipt->worker, node->fp);
	return 0;
}

int receipt_check(const struct receipt *receipt, const struct receipt_want *want,
		  struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct key_public worker;
	int r = worker_key(receipt, want->node, &worker, err);

	if (!r)
		r = members_signed(RECEIPT_WORD, receipt->doc, &text, NULL, err);
	if (r)
		return r;
	if (!key_verify(worker.bytes, span_of(receipt->signature), buf_span(&text)))
		return rye_fail(err, RYE_BAD_SIGNATURE, "the receipt of %s was changed",
				receipt->id);
	if (strcmp(receipt->id, want->id) != 0 || strcmp(receipt->order, want->order) != 0)
		return rye_fail(err, RYE_MOVED, "the receipt is of another order: %s", receipt->id);
	if (!strcmp(receipt->status, RECEIPT_BEGUN) != want->begun)
		return rye_fail(err, RYE_MOVED, "the receipt of %s is one of its %s", receipt->id,
				want->begun ? "end" : "beginning");
	return 0;
}
