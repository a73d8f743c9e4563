/* SPDX-License-Identifier: MIT */
/*
 * What is signed verifies, for every kind and extension and whatever the text is; signing again
 * changes nothing; and no single bit of a signed file can be flipped unnoticed, except in the
 * digits of its time stamp, which the signature does not cover.
 */
#include "item_place.h"

#include "base/id.h"
#include "sign/sign.h"
#include "trust/trust.h"

#define STAMP "2026-01-02T03:04:05Z"

#ifndef ROUNDS
#define ROUNDS 100
#endif

struct world {
	struct test_place p;
	struct key_secret key;
	uint64_t random;
};

static uint32_t draw(struct world *w, uint32_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 16) % below;
}

/* Pieces that mean something to one of the readers on the way. */
static void random_text(struct world *w, struct rye_buf *out)
{
	static const char *const pieces[] = {
		"\n",
		"a",
		" ",
		"é",
		"---\n",
		"```\n",
		"```yaml\n",
		"# x\n",
		"// x\n",
		"<!-- x -->\n",
		"name: b\n",
		"#!/bin/sh\n",
		"rye:signed:",
		"\xe3\x80\x80",
		"\t",
		"-->",
		"# rye:full:1:x\n",
		"category: a\n",
		"\"\"\"",
		"0",
		"# rye:signed:x\n",
		"// rye:validated:x\n",
		"<!-- kiwi-mcp:signed:x -->\n",
		"<!-- ",
		"\r",
	};
	uint32_t n = draw(w, 24);

	for (uint32_t i = 0; i < n; i++)
		buf_adds(out, pieces[draw(w, ARRAY_SIZE(pieces))]);
}

static void random_item(struct world *w, enum rye_kind kind, struct rye_buf *out)
{
	if (kind == RYE_TOOL && draw(w, 2))
		buf_adds(out, "#!/usr/bin/env x\n");
	if (kind == RYE_DIRECTIVE)
		buf_adds(out, "# T\n\n```xml\n<directive name='b' version='1.0.0'>\n<metadata><a/>"
			      "</metadata></directive>\n```\n");
	random_text(w, out);
}

static enum rye_code verify(struct world *w, enum rye_kind kind, const char *ext,
			    struct rye_span raw)
{
	const struct verify_ask ask = { .kind = kind,
					.id = "a/b",
					.ext = ext,
					.path = "/p/.ai/x",
					.raw = raw };
	struct verified out;

	verify_bytes(&w->p.env, &ask, &out, NULL);
	rye_blob_unref(out.text);
	return out.verdict.code;
}

static struct rye_blob *signed_item(struct world *w, enum rye_kind kind, const char *ext,
				    struct rye_span raw)
{
	const struct sign_text what = { &w->key, { kind, "a/b", ext }, raw, STAMP };
	struct rye_blob *text = NULL;
	struct signature sig;

	assert_works(&told_err, sign_text(&what, &text, &sig, &told_err));
	return text;
}

static void setup(struct world *w)
{
	*w = (struct world){ .random = 0x9e3779b97f4a7c15 };
	place_vectors(&w->p);
	place_open(&w->p, false);
	place_key(0, &w->key);
}

static void teardown(struct world *w)
{
	key_wipe(&w->key);
	place_drop(&w->p);
}

static void check_signed(struct world *w, enum rye_kind kind, const char *ext)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_blob *once, *twice;

	buf_adds(&text, "");
	random_item(w, kind, &text);
	once = signed_item(w, kind, ext, (struct rye_span){ text.data, text.len });
	if (verify(w, kind, ext, (struct rye_span){ once->data, once->len }) != RYE_OK)
		fail_msg("%s%s: %s", rye_kind_name(kind), ext, once->data);
	twice = signed_item(w, kind, ext, (struct rye_span){ once->data, once->len });
	if (once->len != twice->len || memcmp(once->data, twice->data, once->len))
		fail_msg("%s%s: %s became %s", rye_kind_name(kind), ext, once->data, twice->data);
	rye_blob_unref(once);
	rye_blob_unref(twice);
}

static void signing_then_verifying_accepts(void **state)
{
	struct world w;

	setup(&w);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		for (const char *const *ext = kind_extensions((enum rye_kind)kind); *ext; ext++)
			for (int i = 0; i < ROUNDS; i++)
				check_signed(&w, (enum rye_kind)kind, *ext);
	teardown(&w);
}

/* The digits of the time stamp, when the flip gives another digit. */
static bool is_stamp_digit(const struct rye_blob *text, size_t at)
{
	const char *stamp = memmem(text->data, text->len, "rye:signed:", 11) + 11;
	char c = text->data[at];

	return text->data + at >= stamp && text->data + at < stamp + 20 && c >= '0' && c <= '9';
}

static void flip_all(struct world *w, enum rye_kind kind, const char *ext)
{
	auto_buf struct rye_buf raw = RYE_BUF_INIT;
	struct rye_blob *text;

	random_item(w, kind, &raw);
	buf_adds(&raw, "Last line.\n");
	text = signed_item(w, kind, ext, (struct rye_span){ raw.data, raw.len });
	for (size_t bit = 0; bit < 8 * text->len; bit++) {
		char *at = &text->data[bit / 8], was = *at;
		enum rye_code code;

		*at = (char)(was ^ (1 << bit % 8));
		code = verify(w, kind, ext, (struct rye_span){ text->data, text->len });
		if (code == RYE_OK && !is_stamp_digit(text, bit / 8))
			fail_msg("%s%s: bit %zu: %s", rye_kind_name(kind), ext, bit, text->data);
		*at = was;
	}
	assert_int_equal(verify(w, kind, ext, (struct rye_span){ text->data, text->len }), RYE_OK);
	rye_blob_unref(text);
}

static void every_bit_counts(void **state)
{
	struct world w;

	setup(&w);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		for (const char *const *ext = kind_extensions((enum rye_kind)kind); *ext; ext++)
			flip_all(&w, (enum rye_kind)kind, *ext);
	teardown(&w);
}

/* Bytes cut off or added at either end, and lines moved about. */
static void every_byte_counts(void **state)
{
	struct rye_blob *text;
	struct world w;

	setup(&w);
	text = signed_item(&w, RYE_TOOL, ".py", SPAN("#!/bin/x\nprint(1)\n"));
	for (size_t n = 0; n < text->len; n++) {
		assert_int_not_equal(
			verify(&w, RYE_TOOL, ".py", (struct rye_span){ text->data, n }), RYE_OK);
		if (n)
			assert_int_not_equal(
				verify(&w, RYE_TOOL, ".py",
				       (struct rye_span){ text->data + n, text->len - n }),
				RYE_OK);
	}
	/* another kind, extension or place */
	assert_int_not_equal(verify(&w, RYE_CONFIG, ".yaml",
				    (struct rye_span){ text->data, text->len }),
			     RYE_OK);
	assert_int_not_equal(
		verify(&w, RYE_TOOL, ".sh", (struct rye_span){ text->data, text->len }), RYE_OK);
	rye_blob_unref(text);
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signing_then_verifying_accepts),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(every_byte_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
