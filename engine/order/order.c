/* SPDX-License-Identifier: MIT */
/*
 * order.c: an order: made, signed, read, checked. A forged member changes the text that
 * is signed; an unknown one is refused. Pure; no lock.
 */
#include "order/order_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#define ORDER_WORD "rye-order-1"
#define DAY_S 86400

#define ROW(member, form) MEMBER(order, member, form)

static const struct member order_rows[] = {
	ROW(above, MEMBER_LISTS),   ROW(again, MEMBER_BOOL),
	ROW(asker, MEMBER_FP),	    ROW(before, MEMBER_OBJECT),
	ROW(fork, MEMBER_BOOL),	    ROW(id, MEMBER_UUID),
	ROW(item_sha, MEMBER_SHA),  ROW(items, MEMBER_OBJECT),
	ROW(labels, MEMBER_NAMES),  ROW(limit_overrides, MEMBER_OBJECT),
	ROW(made, MEMBER_INT),	    ROW(manifest, MEMBER_SHA),
	ROW(message, MEMBER_TEXTS), ROW(model, MEMBER_TEXT),
	ROW(node, MEMBER_FP),	    ROW(previous, MEMBER_TEXT),
	ROW(not_after, MEMBER_INT), ROW(parameters, MEMBER_OBJECT),
	ROW(project, MEMBER_NAME),  ROW(ref, MEMBER_TEXT),
	ROW(reserve, MEMBER_REAL),  ROW(secrets, MEMBER_NAMES),
	ROW(signers, MEMBER_TEXTS),
};
static const struct members order_members = { "order", order_rows, ARRAY_SIZE(order_rows) };
static const char *const order_envelope[] = { "order", "sealed", "signature", NULL };

void order_done(struct order *order)
{
	json_decref(steal(&order->doc));
	json_decref(steal(&order->envelope));
}

/* What the rows do not say. */
static int order_sense(const struct order *order, struct rye_err *err)
{
	const char *id;
	enum rye_kind kind = id_split(order->ref, &id);

	if (kind == RYE_KIND__MAX || id_check(span_of(id), NULL))
		return rye_fail(err, RYE_INVALID, "order: \"ref\" is no item's: %.80s", order->ref);
	if (!rye_kind_has(kind, order->fork ? RYE_KIND_FORKS : RYE_KIND_PROCESS))
		return rye_fail(err, RYE_INVALID, "order: %.80s cannot be %s there", order->ref,
				order->fork ? "forked" : "run");
	if (!*order->item_sha)
		return rye_fail(err, RYE_INVALID, "order: \"item_sha\" is missing");
	if (*order->previous && (!order->fork || !id_is_uuid(order->previous)))
		return rye_fail(err, RYE_INVALID,
				"order: \"previous\" is no run that it goes on with");
	if (order->not_after < order->made ||
	    order->not_after - order->made > (int64_t)ORDER_DAYS * DAY_S)
		return rye_fail(err, RYE_INVALID,
				"order: \"not_after\" is to be at most %d days behind \"made\"",
				ORDER_DAYS);
	return 0;
}

int order_sign(struct order *order, const struct key_secret *key, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;
	int r;

	memcpy(order->asker, key->pub.fp, sizeof(order->asker));
	r = members_put(&order_members, order, &doc, err);
	if (!r)
		r = members_get(&order_members, doc, NULL, err);
	if (!r)
		r = order_sense(order, err);
	if (!r)
		r = members_signed(ORDER_WORD, doc, &text, order->sha, err);
	if (r)
		return r;
	key_sign(key, buf_span(&text), order->signature);
	order_done(order);
	order->doc = steal(&doc);
	return 0;
}

int order_put(const struct order *order, struct rye_buf *ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *envelope = json_object();

	json_set(envelope, "order", json_incref(order->doc));
	json_sets(envelope, "signature", order->signature);
	if (order->sealed)
		json_sets(envelope, "sealed", order->sealed);
	json_canonical(ret, envelope);
	if (ret->failed || memory_check(since, NULL))
		return memory_fail(err);
	if (ret->len > ORDER_MAX)
		return rye_fail(err, RYE_TOO_BIG,
				"an order has at most %u bytes, this one has %zu: put what is long "
				"into a file of the project",
				ORDER_MAX, ret->len);
	return 0;
}

int order_read(struct rye_span envelope, struct order *ret, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;
	const json_t *signature;
	int r = members_envelope(envelope, order_envelope, &doc, err);

	memset(ret, 0, sizeof(*ret));
	if (!r)
		r = members_get(&order_members, json_object_get(doc, "order"), ret, err);
	if (!r)
		r = order_sense(ret, err);
	if (!r)
		r = members_signed(ORDER_WORD, json_object_get(doc, "order"), &text, ret->sha, err);
	if (r)
		return r;
	signature = json_object_get(doc, "signature");
	if (json_string_length(signature) >= sizeof(ret->signature))
		return rye_fail(err, RYE_INVALID, "order: \"signature\" is not what it should be");
	memcpy(ret->signature, json_str(doc, "signature"), json_string_length(signature) + 1);
	ret->sealed = json_string_value(json_object_get(doc, "sealed"));
	ret->doc = json_incref(json_object_get(doc, "order"));
	ret->envelope = steal(&doc);
	return 0;
}

int order_check(const struct order *order, const struct order_want *want, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r;

	if (strcmp(order->node, want->node) != 0)
		return rye_fail(err, RYE_MOVED, "order %s is for the node %s, this is %s",
				order->id, order->node, want->node);
	r = members_signed(ORDER_WORD, order->doc, &text, NULL, err);
	if (r)
		return r;
	if (!key_verify(want->key, span_of(order->signature), buf_span(&text)))
		return rye_fail(err, RYE_BAD_SIGNATURE, "order %s is not signed by %s", order->id,
				order->asker);
	if (order->made > want->now + ORDER_SKEW_S)
		return rye_fail(err, RYE_INVALID,
				"order %s was made %lld s in the future: set the clocks", order->id,
				(long long)(order->made - want->now));
	if (order->not_after + ORDER_SKEW_S < want->now)
		return rye_fail(err, RYE_TIMEOUT, "order %s was to be begun %lld s ago", order->id,
				(long long)(want->now - order->not_after));
	return 0;
}
