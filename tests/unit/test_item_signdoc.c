/* SPDX-License-Identifier: MIT */
/*
 * Signed JSON documents: the format's case T34, scopes, what breaks them. And items whose old
 * signature line is a comment that nothing closes.
 */
#include "item_place.h"

#include "sign/sign.h"

#define REF "state:threads/a/b-1/thread.json"
#define TEXT                                                                                      \
	"{\"x\":null,\"u\":\"\\u00e9\",\"thread_id\":\"a/b-1\",\"status\":\"completed\",\"n\":1," \
	"\"l\":[1,\"2\"],\"f\":0.5}"
#define LINE                                                                                      \
	"rye:signed:2026-01-02T03:04:05Z:"                                                        \
	"781b4793af1217e93a85034cadb69ca1388b87de31952705e40e1bfed469caa0:"                       \
	"p61eDUPK9A3YWyOEWx-eonXG_u-Hix1cqCpgvRGiCTs5Fa_AHHMackWDawjzBsAAVY2_k3kV3MNGlswdRaMqDw:" \
	"f0ff50dacf109dea"

static void T34_document_of_the_format(void **state)
{
	struct test_place *p = *state;
	auto_key struct key_secret key = { 0 };
	auto_json json_t *doc = json_parse(SPAN(TEXT), 0, "text", NULL);

	place_open(p, false);
	place_key(0, &key);
	assert_refused(&told_err, RYE_UNSIGNED, signdoc_verify(p->trust, REF, doc, &told_err));
	assert_works(&told_err, signdoc_sign(&key, doc, "2026-01-02T03:04:05Z", &told_err));
	assert_string_equal(json_str(doc, "_signature"), LINE);
	assert_works(&told_err, signdoc_verify(p->trust, REF, doc, &told_err));
	/* again: the old signature is no part of the content */
	assert_works(&told_err, signdoc_sign(&key, doc, "2026-01-02T03:04:05Z", &told_err));
	assert_string_equal(json_str(doc, "_signature"), LINE);
}

static void changed_documents(void **state)
{
	struct test_place *p = *state;
	static const char *const lines[] = { LINE " ", " " LINE, LINE "|a@b", "" };
	auto_json json_t *doc = json_parse(SPAN(TEXT), 0, "text", NULL);
	struct rye_err err;

	place_open(p, false);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		json_sets(doc, "_signature", lines[i]);
		assert_refused(&err, RYE_UNSIGNED, signdoc_verify(p->trust, REF, doc, &err));
	}
	json_sets(doc, "_signature", LINE);
	json_object_set_new(doc, "n", json_integer(2));
	assert_refused(&err, RYE_MODIFIED, signdoc_verify(p->trust, REF, doc, &err));
	assert_string_equal(err.msg, "Content modified since signing: " REF);
	json_object_set_new(doc, "n", json_integer(1));
	assert_works(&err, signdoc_verify(p->trust, REF, doc, &err));
	json_object_set_new(doc, "n", json_real(1.0));
	assert_refused(&err, RYE_MODIFIED, signdoc_verify(p->trust, REF, doc, &err));
}

static void keys_and_scopes(void **state)
{
	struct test_place *p = *state;
	auto_key struct key_secret key2 = { 0 };
	auto_key struct key_secret key3 = { 0 };
	auto_json json_t *doc = json_parse(SPAN(TEXT), 0, "text", NULL);

	place_put(p->user, "config/keys/trusted/" KEY2 ".toml", "binding/" KEY2 ".toml");
	place_open(p, false);
	place_key(0x20, &key2);
	place_key(0x40, &key3);
	assert_works(&told_err, signdoc_sign(&key2, doc, NULL, &told_err));
	assert_works(&told_err, signdoc_verify(p->trust, REF, doc, &told_err));
	assert_refused(&told_err, RYE_UNTRUSTED,
		       signdoc_verify(p->trust, "tool:a/b", doc, &told_err));
	assert_refused(&told_err, RYE_UNTRUSTED,
		       signdoc_verify(p->trust, "knowledge:a", doc, &told_err));
	assert_works(&told_err, signdoc_sign(&key3, doc, NULL, &told_err));
	assert_refused(&told_err, RYE_UNTRUSTED, signdoc_verify(p->trust, REF, doc, &told_err));
}

#define OPEN "<!-- " LINE "00112233445566778899aabbccddeeff00112233445566\n"
#define TEXT_OF(item) ((struct rye_span){ (item)->text->data, (item)->text->len })
#define ENTRY                                                                              \
	"# Pumps\n\nBefore.\n<!-- of the person -->\n```yaml\nname: pumps\ntitle: Pumps\n" \
	"version: \"1.0.0\"\nentry_type: guide\n```\n\nAfter.\n<!-- another -->\nThe end.\n"
#define STEPS                                                                              \
	"# Prime\n\nBefore.\n<!-- of the person -->\n```xml\n<directive name=\"prime\" "   \
	"version=\"1.0.0\">\n<metadata><description>d</description><category>w</category>" \
	"<author>a</author></metadata>\n</directive>\n```\n1. Fill it.\n"

/* Signing again takes that line and leaves all the rest, which would be inside the comment. */
static void signature_left_open(void **state)
{
	static const struct {
		enum rye_kind kind;
		const char *id, *path, *text;
	} items[] = {
		{ RYE_KNOWLEDGE, "w/pumps", "knowledge/w/pumps.md", ENTRY },
		{ RYE_DIRECTIVE, "w/prime", "directives/w/prime.md", STEPS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		auto_key struct key_secret key = { 0 };
		auto_json json_t *reply = NULL;
		struct sign_ask ask = { .kind = items[i].kind, .id = items[i].id, .key = &key };
		struct rye_item *item = NULL;
		struct rye_err err = { 0 };
		struct test_place p;
		char text[1000];

		place_vectors(&p);
		snprintf(text, sizeof(text), OPEN "%s", items[i].text);
		place_text(p.project, items[i].path, text);
		place_open(&p, false);
		place_key(0, &key);
		assert_int_equal(place_load(&p, ask.kind, ask.id, NULL, &err), RYE_UNSIGNED);
		ask.space = &p.spaces->v[0];
		if (sign_request(&p.env, &ask, &reply, &err) < 0)
			fail_msg("%s", err.msg);
		assert_works(&err, place_load(&p, ask.kind, ask.id, &item, &err));
		assert_true(span_ends(TEXT_OF(item), items[i].text));
		assert_null(strstr(item->text->data, OPEN));
		rye_item_unref(item);
		place_drop(&p);
	}
}

/* Of two header lines the first one is replaced; the other one is text. */
static void a_second_line_is_text(void **state)
{
	auto_buf struct rye_buf bare = RYE_BUF_INIT;
	struct sig_rule rule;

	(void)state;
	assert_true(sig_rule_of(RYE_TOOL, ".js", &rule));
	assert_true(sign_bare(rule, SPAN("// " LINE "\n#!/x\n// " LINE "\nrest\n"), &bare));
	assert_string_equal(bare.data, "#!/x\n// " LINE "\nrest\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(T34_document_of_the_format),
		place_test(changed_documents),
		place_test(keys_and_scopes),
		cmocka_unit_test(signature_left_open),
		cmocka_unit_test(a_second_line_is_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
