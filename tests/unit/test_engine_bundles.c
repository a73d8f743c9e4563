/* SPDX-License-Identifier: MIT */
/*
 * Whole trees of another implementation: T32 of the item format. The tree of the case is not here;
 * this one has its shape, made by the test: five bundles, as many files of each kind, signed
 * without a binding line, a few with padding, two edited afterwards, twelve never signed. What is
 * hashed is put together by hand, not by the code under test.
 */
#include "item_place.h"

#include "base/sha.h"

#define STAMP "2026-01-02T03:04:05Z"
#define EDITED "\nedited\n"

enum { TOOLS = 164, DIRECTIVES = 70, KNOWLEDGE = 53, CONFIGS = 16, PADDED = 16 };

struct bundles {
	struct test_place place;
	struct key_secret key;
	char roots[5][160];
	size_t made;
};

/* A file; only the text in the middle is hashed. */
struct made {
	const char *path, *open, *close; /* the comment's two ends */
	const char *before, *hashed, *after;
	bool edited;
};

static void put(struct bundles *b, const struct made *what)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char hex[SHA_HEX], sig[KEY_SIG_TEXT];

	sha256_hex(span_of(what->hashed), hex);
	key_sign(&b->key, span_of(hex), sig);
	buf_addf(&text, "%srye:signed:%s:%s:%s%s:%s%s\n%s%s%s%s", what->open, STAMP, hex, sig,
		 b->made < PADDED ? "==" : "", b->key.pub.fp, what->close, what->before,
		 what->hashed, what->after, what->edited ? EDITED : "");
	place_write(b->roots[b->made++ % 5], what->path, (struct rye_span){ text.data, text.len });
}

static void put_tool(struct bundles *b, int i, bool edited)
{
	static const struct {
		const char *ext, *open, *head, *tail;
	} rows[] = {
		{ "py", "# ", "__category__ = \"t\"\n__version__ = \"1.0.", "\"\n" },
		{ "yaml", "# ", "category: t\nversion: \"1.0.", "\"\n" },
		{ "ts", "// ", "export const __version__ = \"1.0.", "\";\n" },
	};
	char path[64], text[200];

	snprintf(path, sizeof(path), "tools/t/tool_%d.%s", i, rows[i % 3].ext);
	snprintf(text, sizeof(text), "%s%d%s", rows[i % 3].head, i, rows[i % 3].tail);
	put(b, &(struct made){ path, rows[i % 3].open, "", "", text, "", edited });
}

static void put_directive(struct bundles *b, int i)
{
	char path[64], text[300];

	snprintf(path, sizeof(path), "directives/d/dir_%d.md", i);
	snprintf(text, sizeof(text),
		 "<directive name=\"dir_%d\" version=\"1.0.0\">\n<metadata>\n"
		 "<category>d</category>\n</metadata>\n</directive>",
		 i);
	put(b, &(struct made){ path, "<!-- ", " -->", "# Title\n\n```xml\n", text,
			       "\n```\n\nSteps.\n", false });
}

static void put_knowledge(struct bundles *b, int i, bool edited)
{
	char path[64], text[300];

	snprintf(path, sizeof(path), "knowledge/k/entry_%d.md", i);
	snprintf(
		text, sizeof(text),
		"\n```yaml\nname: entry_%d\ntitle: E\ncategory: k\nversion: \"1.0.0\"\n```\n\nText.\n",
		i);
	put(b, &(struct made){ path, "<!-- ", " -->", "", text, "", edited });
}

static void put_config(struct bundles *b, int i)
{
	char path[64], text[100];

	snprintf(path, sizeof(path), "config/c/conf_%d.yaml", i);
	snprintf(text, sizeof(text), "category: c\nversion: \"1.0.0\"\nn: %d\n", i);
	put(b, &(struct made){ path, "# ", "", "", text, "", false });
}

static void put_unsigned(struct bundles *b)
{
	char path[64];

	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "tools/node_%d/package.json", i);
		place_text(b->roots[i], path, "{\"name\": \"n\"}\n");
		snprintf(path, sizeof(path), "tools/node_%d/package-lock.json", i);
		place_text(b->roots[i], path, "{\"lockfileVersion\": 3}\n");
	}
	place_text(b->roots[0], "config/cas/manifest.yaml", "version: \"1.0.0\"\n");
	place_text(b->roots[1], "config/remotes/remotes.yaml", "remotes: {}\n");
}

static void make(struct bundles *b, char roots[900])
{
	size_t n = 0;

	place_vectors(&b->place);
	place_key(0, &b->key);
	for (int i = 0; i < 5; i++) {
		snprintf(b->roots[i], sizeof(b->roots[i]), "%s/bundle%d", b->place.base, i);
		mkdir(b->roots[i], 0755);
		n += (size_t)snprintf(roots + n, 900 - n, "%s%s", i ? ":" : "", b->roots[i]);
	}
	for (int i = 0; i < TOOLS + 1; i++)
		put_tool(b, i, i == TOOLS);
	for (int i = 0; i < DIRECTIVES; i++)
		put_directive(b, i);
	for (int i = 0; i < KNOWLEDGE + 1; i++)
		put_knowledge(b, i, i == KNOWLEDGE);
	for (int i = 0; i < CONFIGS; i++)
		put_config(b, i);
	put_unsigned(b);
}

struct counts {
	int of[RYE_CODE__MAX], good[RYE_KIND__MAX], calls;
};

/* Configuration that only tools read is served without a signature, but never called signed. */
static int count(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct counts *counts = arg;
	enum rye_code code;

	(void)done;
	(void)total;
	assert_non_null(verdict);
	code = strcmp(verdict->message, "unsigned") ? verdict->code : RYE_UNSIGNED;
	counts->calls++;
	counts->of[code]++;
	if (code == RYE_OK)
		counts->good[verdict->kind]++;
	return 0;
}

/* Files of npm are no items to a list; a request for one by its id is refused. */
static void ask_for(struct rye *rye, const char *id, struct counts *counts)
{
	struct rye_request ask = { .verb = RYE_FETCH, .kind = RYE_KIND__MAX, .id = "" };
	struct rye_outcome outcome;
	char json[100];

	snprintf(json, sizeof(json), "{\"item_id\": \"tool:%s\"}", id);
	ask.message = span_of(json);
	rye_call_sync(rye, &ask, &outcome);
	counts->calls++;
	counts->of[outcome.code]++;
	rye_outcome_done(&outcome);
}

static void survey(const struct bundles *b, const char *roots, struct counts *counts)
{
	const struct rye_batch batch = { NULL, RYE_PROJECT, count, counts };
	const struct rye_options opt = { .project = b->place.project,
					 .user_base = b->place.user,
					 .system_roots = roots,
					 .compat = true };
	struct rye_err err = { 0 };
	struct rye *rye;
	char id[40];

	if (rye_open(&opt, &rye, &err) < 0 || rye_verify_all(rye, &batch, &err) < 0)
		fail_msg("%s", err.msg);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof(id), "node_%d/package%s", i / 2, i % 2 ? "-lock" : "");
		ask_for(rye, id, counts);
	}
	rye_close(rye);
}

static void T32_whole_tree(void **state)
{
	struct counts counts = { 0 };
	struct bundles b = { 0 };
	char roots[900];

	make(&b, roots);
	survey(&b, roots, &counts);
	assert_int_equal(counts.of[RYE_OK], 303);
	assert_int_equal(counts.of[RYE_MODIFIED], 2);
	assert_int_equal(counts.of[RYE_UNSIGNED], 12);
	assert_int_equal(counts.calls, 317);
	assert_int_equal(counts.good[RYE_TOOL], TOOLS);
	assert_int_equal(counts.good[RYE_DIRECTIVE], DIRECTIVES);
	assert_int_equal(counts.good[RYE_KNOWLEDGE], KNOWLEDGE);
	assert_int_equal(counts.good[RYE_CONFIG], CONFIGS);
	place_drop(&b.place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T32_whole_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
