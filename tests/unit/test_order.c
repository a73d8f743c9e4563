/* SPDX-License-Identifier: MIT */
/* Orders, receipts and sealed secrets: what was changed, or is another's, is refused. */
#include "told.h"

#include "order/order.h"
#include "scope.h"
#include "str.h"

#include <sodium.h>

#define NOW 1800000000

struct order_place {
	struct key_secret asker, node, worker;
	struct key_public spare;
	struct order order;
	json_t *parameters, *secrets;
	struct rye_err err;
};

static void key_of(unsigned char seed, struct key_secret *ret)
{
	unsigned char bytes[KEY_LEN];

	memset(bytes, seed, sizeof(bytes));
	key_secret_seed(bytes, ret);
}

static int order_setup(void **state)
{
	struct order_place *p = test_malloc(sizeof(*p));

	memset(p, 0, sizeof(*p));
	key_of(1, &p->asker);
	key_of(2, &p->node);
	key_of(3, &p->worker);
	p->parameters = json_pack("{s:s, s:f, s:[i, b]}", "text", "two words \xc3\xa9", "x", 0.1,
				  "list", 7, 1);
	p->secrets = json_pack("[s]", "HF_TOKEN");
	p->order = (struct order){ .project = "demo",
				   .ref = "tool:my/train",
				   .reserve = 0.5,
				   .made = NOW,
				   .not_after = NOW + 3600,
				   .parameters = p->parameters,
				   .secrets = p->secrets };
	id_uuid(p->order.id);
	memcpy(p->order.node, p->node.pub.fp, KEY_FP);
	sha256_hex(SPAN("the item"), p->order.item_sha);
	assert_works(&p->err, order_sign(&p->order, &p->asker, &p->err));
	*state = p;
	return 0;
}

static int order_teardown(void **state)
{
	struct order_place *p = *state;

	order_done(&p->order);
	json_decref(p->parameters);
	json_decref(p->secrets);
	test_free(p);
	return 0;
}

static struct order_want want_of(struct order_place *p)
{
	return (struct order_want){ p->asker.pub.bytes, p->node.pub.fp, NOW + 5 };
}

/* What a changed envelope comes to: the code of reading it, else of checking it. */
static int verdict_of(struct order_place *p, const json_t *envelope)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_order struct order got = { .doc = NULL };
	struct order_want want = want_of(p);
	int r;

	json_canonical(&text, envelope);
	r = order_read(buf_span(&text), &got, &p->err);
	return r ? r : order_check(&got, &want, &p->err);
}

static json_t *envelope_of(struct order_place *p)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *doc;

	assert_works(&p->err, order_put(&p->order, &text, &p->err));
	doc = json_parse(buf_span(&text), 0, "envelope", &p->err);
	assert_non_null(doc);
	return doc;
}

static void an_order_arrives_as_it_was_signed(void **state)
{
	struct order_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_order struct order got = { .doc = NULL };
	struct order_want want = want_of(p);

	assert_works(&p->err, order_put(&p->order, &text, &p->err));
	assert_works(&p->err, order_read(buf_span(&text), &got, &p->err));
	assert_works(&p->err, order_check(&got, &want, &p->err));
	assert_string_equal(got.id, p->order.id);
	assert_string_equal(got.sha, p->order.sha);
	assert_string_equal(got.asker, p->asker.pub.fp);
	assert_true(json_equal((json_t *)got.parameters, p->parameters));
	assert_true(json_lists(got.secrets, "HF_TOKEN"));
	assert_int_equal(json_array_size(got.above), 0);
	assert_null(got.sealed);
}

/* Another value of the same type. */
static json_t *other_value(const char *name, const json_t *value)
{
	const char *text = json_string_value(value);
	char changed[128];

	if (!strcmp(name, "id"))
		return json_string("6b1e2a52-3d2a-4c4f-8f0e-0a4b5c6d7e8f");
	if (!strcmp(name, "manifest"))
		return json_string(
			"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
	if (!strcmp(name, "ref"))
		return json_string("tool:my/other");
	if (!strcmp(name, "fork") || !strcmp(name, "not_after"))
		return json_is_boolean(value) ? json_true() : json_integer(NOW + 3601);
	if (json_is_boolean(value))
		return json_true();
	if (json_is_integer(value))
		return json_integer(json_integer_value(value) - 1);
	if (json_is_real(value))
		return json_real(json_real_value(value) + 1);
	if (json_is_object(value))
		return json_pack("{s:i}", "more", 1);
	if (json_is_array(value))
		return !strcmp(name, "above") ? json_pack("[[s]]", "x") : json_pack("[s]", "x");
	snprintf(changed, sizeof(changed), "%s", text);
	if (*changed)
		changed[0] = changed[0] == 'a' ? 'b' : 'a';
	else
		snprintf(changed, sizeof(changed), "x");
	return json_string(changed);
}

static void no_member_of_an_order_can_be_changed(void **state)
{
	struct order_place *p = *state;
	auto_json json_t *envelope = envelope_of(p);
	json_t *order = json_object_get(envelope, "order"), *value;
	auto_json json_t *whole = json_deep_copy(order);
	const char *name;

	json_object_foreach(whole, name, value) {
		json_object_set_new(order, name, other_value(name, value));
		assert_int_not_equal(verdict_of(p, envelope), 0);
		json_object_set_new(order, name, json_null());
		assert_int_equal(verdict_of(p, envelope), -RYE_INVALID);
		json_object_del(order, name);
		assert_int_equal(verdict_of(p, envelope), -RYE_INVALID);
		json_object_set(order, name, value);
		assert_int_equal(verdict_of(p, envelope), 0);
	}
	json_object_set_new(order, "more", json_true());
	assert_int_equal(verdict_of(p, envelope), -RYE_INVALID);
	json_object_del(order, "more");
	json_object_set_new(envelope, "more", json_string("x"));
	assert_int_equal(verdict_of(p, envelope), -RYE_INVALID);
}

static void an_order_is_for_one_node_one_key_and_a_time(void **state)
{
	struct order_place *p = *state;
	struct order_want want = want_of(p);

	want.key = p->worker.pub.bytes;
	assert_refused(&p->err, RYE_BAD_SIGNATURE, order_check(&p->order, &want, &p->err));
	want = want_of(p);
	want.node = p->worker.pub.fp;
	assert_refused(&p->err, RYE_MOVED, order_check(&p->order, &want, &p->err));
	want = want_of(p);
	want.now = NOW - ORDER_SKEW_S;
	assert_works(&p->err, order_check(&p->order, &want, &p->err));
	want.now--;
	assert_refused(&p->err, RYE_INVALID, order_check(&p->order, &want, &p->err));
	want.now = NOW + 3600 + ORDER_SKEW_S;
	assert_works(&p->err, order_check(&p->order, &want, &p->err));
	want.now++;
	assert_refused(&p->err, RYE_TIMEOUT, order_check(&p->order, &want, &p->err));
}

static void what_no_node_would_take_is_not_signed(void **state)
{
	struct order_place *p = *state;
	struct order bad = p->order;

	bad.doc = bad.envelope = NULL;
	snprintf(bad.project, sizeof(bad.project), "..");
	assert_refused(&p->err, RYE_INVALID, order_sign(&bad, &p->asker, &p->err));
	assert_non_null(strstr(p->err.msg, "\"project\""));
	snprintf(bad.project, sizeof(bad.project), "demo");
	snprintf(bad.ref, sizeof(bad.ref), "knowledge:x");
	assert_refused(&p->err, RYE_INVALID, order_sign(&bad, &p->asker, &p->err));
	snprintf(bad.ref, sizeof(bad.ref), "tool:x");
	bad.fork = true;
	assert_refused(&p->err, RYE_INVALID, order_sign(&bad, &p->asker, &p->err));
	bad.fork = false;
	bad.not_after = NOW + INT64_C(8) * 86400;
	assert_refused(&p->err, RYE_INVALID, order_sign(&bad, &p->asker, &p->err));
}

static void secrets_open_for_their_order_alone(void **state)
{
	struct order_place *p = *state;
	auto_json json_t *values = json_pack("{s:s}", "HF_TOKEN", "hf_123");
	auto_json json_t *more = json_pack("{s:s}", "OTHER", "x");
	auto_json json_t *got = NULL;
	auto_free char *sealed = NULL, *listed = NULL;
	unsigned char secret[KEY_LEN], other_secret[KEY_LEN];
	char text[44], box[44], other_text[44], other_box[44];
	struct order other = p->order;

	key_box_pair(text, box);
	key_box_pair(other_text, other_box);
	assert_true(b64url_to(span_of(text), secret, KEY_LEN));
	assert_true(b64url_to(span_of(other_text), other_secret, KEY_LEN));
	assert_works(&p->err, order_seal(&p->order, values, box, &sealed, &p->err));
	assert_null(strstr(sealed, "hf_123"));
	p->order.sealed = sealed;
	assert_works(&p->err, order_unseal(&p->order, secret, &got, &p->err));
	assert_string_equal(json_str(got, "HF_TOKEN"), "hf_123");
	assert_refused(&p->err, RYE_INVALID, order_unseal(&p->order, other_secret, &got, &p->err));
	other.sealed = sealed;
	id_uuid(other.id);
	assert_refused(&p->err, RYE_DENIED, order_unseal(&other, secret, &got, &p->err));
	assert_null(strstr(p->err.msg, "hf_123"));
	memcpy(other.id, p->order.id, sizeof(other.id));
	sha256_hex(SPAN("another body"), other.sha);
	assert_refused(&p->err, RYE_DENIED, order_unseal(&other, secret, &got, &p->err));
	assert_works(&p->err, order_seal(&p->order, more, box, &listed, &p->err));
	p->order.sealed = listed;
	assert_refused(&p->err, RYE_DENIED, order_unseal(&p->order, secret, &got, &p->err));
	sealed[strlen(sealed) - 4] = 0;
	p->order.sealed = sealed;
	assert_refused(&p->err, RYE_INVALID, order_unseal(&p->order, secret, &got, &p->err));
	p->order.sealed = NULL;
	assert_refused(&p->err, RYE_INVALID, order_unseal(&p->order, secret, &got, &p->err));
}

/* ---- receipts ---- */

static void receipt_fill(struct order_place *p, struct rye_buf *ret)
{
	char vouched[KEY_SIG_TEXT];
	auto_json json_t *cost = json_pack("{s:f, s:i}", "spend", 0.25, "turns", 3);
	auto_receipt struct receipt receipt = { .gen = 1,
						.status = "completed",
						.began = "2026-01-02T03:04:05.000001+00:00",
						.ended = "2026-01-02T03:04:06.000001+00:00",
						.cost = cost };

	memcpy(receipt.id, p->order.id, sizeof(receipt.id));
	memcpy(receipt.order, p->order.sha, sizeof(receipt.order));
	memcpy(receipt.node, p->node.pub.fp, KEY_FP);
	sha256_hex(SPAN("{}"), receipt.result);
	receipt_vouch(&p->node, &p->worker.pub, vouched);
	assert_works(&p->err, receipt_sign(&receipt, &p->worker, vouched, ret, &p->err));
}

static int receipt_verdict(struct order_place *p, const json_t *envelope)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_receipt struct receipt got = { .doc = NULL };
	struct receipt_want want = { &p->node.pub, p->order.id, p->order.sha, false };
	int r;

	json_canonical(&text, envelope);
	r = receipt_read(buf_span(&text), &got, &p->err);
	return r ? r : receipt_check(&got, &want, &p->err);
}

static void no_member_of_a_receipt_can_be_changed(void **state)
{
	struct order_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *envelope = NULL, *whole = NULL;
	json_t *receipt, *value;
	const char *name;

	receipt_fill(p, &text);
	envelope = json_parse(buf_span(&text), 0, "receipt", &p->err);
	receipt = json_object_get(envelope, "receipt");
	whole = json_deep_copy(receipt);
	assert_int_equal(receipt_verdict(p, envelope), 0);
	json_object_foreach(whole, name, value) {
		json_object_set_new(receipt, name, other_value(name, value));
		assert_int_not_equal(receipt_verdict(p, envelope), 0);
		json_object_del(receipt, name);
		assert_int_equal(receipt_verdict(p, envelope), -RYE_INVALID);
		json_object_set(receipt, name, value);
		assert_int_equal(receipt_verdict(p, envelope), 0);
	}
}

static void a_receipt_is_of_one_node_and_one_order(void **state)
{
	struct order_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_receipt struct receipt got = { .doc = NULL };
	struct receipt_want want = { &p->node.pub, p->order.id, p->order.sha, false };
	char vouched[KEY_SIG_TEXT], other[ID_UUID_MAX], sha[SHA_HEX];

	receipt_fill(p, &text);
	assert_works(&p->err, receipt_read(buf_span(&text), &got, &p->err));
	assert_works(&p->err, receipt_check(&got, &want, &p->err));
	want.node = &p->asker.pub;
	assert_refused(&p->err, RYE_UNTRUSTED, receipt_check(&got, &want, &p->err));
	want.node = &p->node.pub;
	id_uuid(other);
	want.id = other;
	assert_refused(&p->err, RYE_MOVED, receipt_check(&got, &want, &p->err));
	want.id = p->order.id;
	sha256_hex(SPAN("another"), sha);
	want.order = sha;
	assert_refused(&p->err, RYE_MOVED, receipt_check(&got, &want, &p->err));
	want.order = p->order.sha;
	want.begun = true;
	assert_refused(&p->err, RYE_MOVED, receipt_check(&got, &want, &p->err));
	want.begun = false;
	/* vouched for by another node, or by the worker itself */
	receipt_vouch(&p->asker, &p->worker.pub, vouched);
	memcpy(got.vouched, vouched, sizeof(vouched));
	assert_refused(&p->err, RYE_UNTRUSTED, receipt_check(&got, &want, &p->err));
	receipt_vouch(&p->worker, &p->worker.pub, vouched);
	memcpy(got.vouched, vouched, sizeof(vouched));
	assert_refused(&p->err, RYE_UNTRUSTED, receipt_check(&got, &want, &p->err));
}

static void names_have_one_form(void **state)
{
	assert_true(id_is_name(span_of("a.B_-9")));
	assert_false(id_is_name(span_of("")));
	assert_false(id_is_name(span_of(".")));
	assert_false(id_is_name(span_of("..")));
	assert_false(id_is_name(span_of("a/b")));
	assert_false(id_is_name(span_of("a b")));
	assert_false(id_is_name((struct rye_span){ "a\0b", 3 }));
	assert_false(id_is_name(
		span_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
}

#define WITH_PLACE(fn) cmocka_unit_test_setup_teardown(fn, order_setup, order_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(an_order_arrives_as_it_was_signed),
		WITH_PLACE(no_member_of_an_order_can_be_changed),
		WITH_PLACE(an_order_is_for_one_node_one_key_and_a_time),
		WITH_PLACE(what_no_node_would_take_is_not_signed),
		WITH_PLACE(secrets_open_for_their_order_alone),
		WITH_PLACE(no_member_of_a_receipt_can_be_changed),
		WITH_PLACE(a_receipt_is_of_one_node_and_one_order),
		cmocka_unit_test(names_have_one_form),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
