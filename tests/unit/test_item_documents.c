/* SPDX-License-Identifier: MIT */
/*
 * The documents of other signers in tests/vectors/signed, as knowledge items at the places they
 * name and with their signers' keys trusted: each verifies, and with one bit flipped in any of
 * its bytes none does. The time stamp alone is not signed: it may say another time.
 */
#include "item_place.h"

#include "trust/trust.h"

#include <ctype.h>

/* Bytes from one flip to the next where the changed document is written to its place. */
#define FILE_STEP 97

struct doc {
	const char *file, *id, *key;
};

static const struct doc docs[] = {
	{ "execute-semantics", "rye/primary/execute-semantics", "4b987fd4e40303ac" },
	{ "tool-format", "rye/authoring/tool-format", "6ea18199041a1ea8" },
	{ "load-semantics", "rye/primary/load-semantics", "9fbfabe975fa5a7f" },
	{ "prompt-rendering", "rye/agent/threads/prompt-rendering", "9fbfabe975fa5a7f" },
};

static const char *const keys[] = { "4b987fd4e40303ac", "6ea18199041a1ea8", "9fbfabe975fa5a7f" };

static void open_documents(struct test_place *p, bool compat)
{
	char path[200], file[100];

	place_vectors(p);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		snprintf(path, sizeof(path), "config/keys/trusted/%s.toml", keys[i]);
		snprintf(file, sizeof(file), "keys/%s.toml", keys[i]);
		place_put(p->user, path, file);
	}
	for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
		snprintf(path, sizeof(path), "knowledge/%s.md", docs[i].id);
		snprintf(file, sizeof(file), "signed/%s.md", docs[i].file);
		place_put(p->project, path, file);
	}
	place_open(p, compat);
}

static struct rye_blob *read_document(const struct test_place *p, const struct doc *doc)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/.ai/knowledge/%s.md", p->project, doc->id);
	return place_read(path);
}

static void T31_foreign_documents_verify(void **state)
{
	for (int compat = 0; compat < 2; compat++) {
		struct test_place p;

		open_documents(&p, compat);
		for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
			struct rye_item *item = NULL;
			struct rye_err err;

			if (place_load(&p, RYE_KNOWLEDGE, docs[i].id, &item, &err) != RYE_OK)
				fail_msg("%s", err.msg);
			assert_string_equal(item->verdict.fingerprint, docs[i].key);
			assert_string_equal(item->verdict.coverage, "content");
			assert_string_equal(item->verdict.notice, "");
			rye_item_unref(item);
		}
		place_drop(&p);
	}
}

/* A page saved from the web has no line to verify, whatever it speaks of. */
static void T31_saved_page_is_unsigned(void **state)
{
	struct rye_err err;
	struct test_place p;

	open_documents(&p, true);
	place_text(
		p.project, "knowledge/saved.md",
		"Skip to content\nDocs\n\nexecute\n\nSignature line: rye:signed:TS:HASH:SIG:FP\n");
	assert_int_equal(place_load(&p, RYE_KNOWLEDGE, "saved", NULL, &err), RYE_UNSIGNED);
	assert_int_equal(strncmp(err.msg, "Unsigned item: /", 16), 0);
	place_drop(&p);
}

/* ---- one bit ---- */

struct flip {
	struct test_place *p;
	const struct doc *doc;
	char *text;
	size_t len, line; /* of the first line, with its LF */
	size_t at;
	int bit;
};

/* The digits of "<!-- rye:signed:2026-02-26T06:42:50Z:", when the flip gives another digit. */
static bool only_another_time(const struct flip *f)
{
	static const char head[] = "<!-- rye:signed:";

	return f->at >= strlen(head) && f->at < strlen(head) + strlen("2026-02-26T06:42:50Z") &&
	       isdigit((unsigned char)f->text[f->at]) &&
	       isdigit((unsigned char)(f->text[f->at] ^ (1 << f->bit)));
}

/* What verifying says of the changed bytes. */
static enum rye_code verdict_of(const struct flip *f, bool *ret_noted, struct rye_err *err)
{
	const struct verify_ask ask = { .kind = RYE_KNOWLEDGE,
					.id = f->doc->id,
					.ext = ".md",
					.path = "/document.md",
					.raw = { f->text, f->len },
					.compat = f->p->env.compat };
	struct verified got;
	int r = verify_bytes(&f->p->env, &ask, &got, err);

	if (r == 0)
		rye_blob_unref(got.text);
	assert_int_equal(got.verdict.code, -r);
	*ret_noted = got.verdict.notice[0] != 0;
	return (enum rye_code) - r;
}

/* The " -->" that ends the line: compat reads over it, as others do, and says so. */
static bool is_closer(const struct flip *f)
{
	return f->at + 5 >= f->line && f->at + 1 < f->line;
}

static void check_flip(struct flip *f)
{
	struct rye_err err = { 0 };
	enum rye_code code;
	bool noted, right;

	f->text[f->at] ^= (char)(1 << f->bit);
	code = verdict_of(f, &noted, &err);
	/* text that is no UTF-8 any more is refused as that */
	right = (rye_code_integrity(code) || code == RYE_UNPARSABLE) && err.msg[0];
	if (code == RYE_OK)
		right = f->p->env.compat && is_closer(f) && noted;
	if (!right)
		fail_msg("%s%s, byte %zu, bit %d: %s", f->doc->file,
			 f->p->env.compat ? ", compat" : "", f->at, f->bit, rye_code_name(code));
	f->text[f->at] ^= (char)(1 << f->bit);
}

/*
 * All bits of the signature line; of every other byte one, and all in turn. The body is hashed
 * in one way for both settings: compat takes every third.
 */
static void check_document(struct flip *f)
{
	size_t step = f->p->env.compat ? 3 : 1;

	for (f->at = 0; f->at < f->len; f->at += f->at < f->line ? 1 : step) {
		bool line = f->at < f->line;

		for (f->bit = line ? 0 : (int)(f->at % 8); f->bit < 8; f->bit++) {
			if (!only_another_time(f))
				check_flip(f);
			if (!line)
				break;
		}
	}
}

static void open_flip(struct flip *f, struct test_place *p, const struct doc *doc)
{
	struct rye_blob *blob = read_document(p, doc);

	*f = (struct flip){ .p = p, .doc = doc, .len = blob->len };
	f->text = test_malloc(blob->len);
	memcpy(f->text, blob->data, blob->len);
	f->line = (size_t)((char *)memchr(f->text, '\n', f->len) - f->text) + 1;
	rye_blob_unref(blob);
}

static void every_flipped_byte_is_refused(bool compat)
{
	struct test_place p;
	struct flip f;

	open_documents(&p, compat);
	for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
		open_flip(&f, &p, &docs[i]);
		check_document(&f);
		test_free(f.text);
	}
	place_drop(&p);
}

static void strict_refuses_every_flipped_byte(void **state)
{
	every_flipped_byte_is_refused(false);
}

static void compat_refuses_every_flipped_byte(void **state)
{
	every_flipped_byte_is_refused(true);
}

/* The item in its place, loaded as any caller loads it; and again when it is whole. */
static void flipped_files_are_refused(void **state)
{
	struct test_place p;
	struct flip f;
	char path[300];

	open_documents(&p, false);
	for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
		open_flip(&f, &p, &docs[i]);
		snprintf(path, sizeof(path), "knowledge/%s.md", docs[i].id);
		for (f.at = 0; f.at < f.len; f.at += f.at < f.line ? 7 : FILE_STEP) {
			if (only_another_time(&f))
				continue;
			f.text[f.at] ^= 1;
			place_write(p.project, path, (struct rye_span){ f.text, f.len });
			if (place_load(&p, RYE_KNOWLEDGE, docs[i].id, NULL, NULL) == RYE_OK)
				fail_msg("%s, byte %zu", docs[i].file, f.at);
			f.text[f.at] ^= 1;
		}
		place_write(p.project, path, (struct rye_span){ f.text, f.len });
		assert_works(&told_err, place_load(&p, RYE_KNOWLEDGE, docs[i].id, NULL, &told_err));
		test_free(f.text);
	}
	place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T31_foreign_documents_verify),
		cmocka_unit_test(T31_saved_page_is_unsigned),
		cmocka_unit_test(strict_refuses_every_flipped_byte),
		cmocka_unit_test(compat_refuses_every_flipped_byte),
		cmocka_unit_test(flipped_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
