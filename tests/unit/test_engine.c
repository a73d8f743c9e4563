/* SPDX-License-Identifier: MIT */
/*
 * The engine as its users see it: names with verdicts, views, refusals, and changes told by the
 * watcher. Items are the signed vectors; keys are trusted in a private user space.
 */
#include "item_place.h"

#include "clock.h"

struct bench {
	struct test_place place;
	struct rye *rye;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int told, all; /* under lock */
	char last[1100];
};

static void on_change(void *arg, const struct rye_change *change)
{
	struct bench *b = arg;

	GUARD(&b->lock);
	b->told++;
	b->all += change->type == RYE_CHANGE_ALL;
	snprintf(b->last, sizeof(b->last), "%d %s", change->space,
		 change->path ? change->path : "");
	pthread_cond_broadcast(&b->cond);
}

static void vectors(struct bench *b)
{
	*b = (struct bench){ 0 };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->cond, NULL);
	place_vectors(&b->place);
	place_put(b->place.project, "directives/vec/b1.md", "binding/b1.md");
	place_put(b->place.project, "tools/vec/b2.py", "binding/b2.py");
	place_put(b->place.user, "knowledge/vec/b3.md", "binding/b3.md");
	place_put(b->place.system, "tools/vec/b8.sh", "binding/b8.sh");
	place_text(b->place.project, "tools/vec/unsigned.py", "print(1)\n");
}

static void start(struct bench *b, bool scan)
{
	b->rye = place_engine(&b->place, (struct rye_options){ .scan = scan });
	rye_watch(b->rye, on_change, b);
}

static void done(struct bench *b)
{
	rye_close(b->rye);
	place_drop(&b->place);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->cond);
}

static struct rye_stat look(struct bench *b, enum rye_kind kind, const char *path)
{
	struct rye_err err = { 0 };
	struct rye_stat st;

	if (rye_lookup(b->rye, kind, path, &st, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	assert_true(st.version != 0);
	return st;
}

static enum rye_code view(struct bench *b, const struct rye_ask *ask, struct rye_blob **ret)
{
	struct rye_err err = { 0 };
	int r = rye_view(b->rye, ask, ret, &err);

	assert_int_equal(-r, err.code);
	return err.code;
}

static void check_view(struct bench *b, struct rye_ask ask, const char *wanted)
{
	struct rye_blob *blob = NULL;

	if (view(b, &ask, &blob) != RYE_OK)
		fail_msg("view %d of %s", ask.view, ask.id);
	if (!strstr(blob->data, wanted))
		fail_msg("%s\nwithout: %s", blob->data, wanted);
	rye_blob_unref(blob);
}

static void names(void **state)
{
	struct bench b;
	struct rye_stat st;
	struct rye_blob *blob = NULL;
	struct rye_ask ask = { RYE_DIRECTIVE, "vec/b1", RYE_VIEW_RENDERED, NULL };

	vectors(&b);
	start(&b, true);
	st = look(&b, RYE_DIRECTIVE, "vec/b1.md");
	assert_true(st.is_file && !st.is_item_dir && !st.is_dir);
	assert_int_equal(st.verdict, RYE_OK);
	assert_string_equal(st.name, "b1.md");
	assert_int_equal(view(&b, &ask, &blob), RYE_OK);
	assert_int_equal(blob->len, st.size);
	assert_null(strstr(blob->data, "rye:signed"));
	rye_blob_unref(blob);
	st = look(&b, RYE_DIRECTIVE, "vec/b1");
	assert_true(st.is_item_dir && !st.is_file);
	assert_string_equal(st.id, "vec/b1");
	st = look(&b, RYE_TOOL, "vec/unsigned.py");
	assert_int_equal(st.verdict, RYE_UNSIGNED);
	assert_string_equal(st.reason, "unsigned; mend with: ryefs sign tool:vec/unsigned");
	assert_refused(&told_err, RYE_NOT_FOUND,
		       rye_lookup(b.rye, RYE_TOOL, "vec/none.py", &st, &told_err));
	assert_refused(&told_err, RYE_NOT_FOUND,
		       rye_lookup(b.rye, RYE_TOOL, "../vec/b2.py", &st, &told_err));
	done(&b);
}

/* T48, T51: whatever the path says, it names a file below the kind's directory or nothing. */
static void odd_names(void **state)
{
	static const char *const odd[] = {
		"../../etc/passwd",
		"../../esc",
		"/abs/path",
		"vec/../vec/b2.py",
		"vec//b2.py",
		"./vec/b2.py",
		"vec/b2.py/",
		"vec\\b2.py",
		"%2e%2e/x",
		"vec/b2.py\n",
		"vec/B2.py",
		"/",
		"..",
		".",
		"vec/b2.",
	};
	struct rye_blob *blob = NULL;
	struct rye_stat st;
	struct bench b;

	vectors(&b);
	place_put(b.place.project, "knowledge/\u65e5\u672c/\u00e9.v1.md", "binding/b3.md");
	for (int scan = 0; scan < 2; scan++) {
		start(&b, scan);
		for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
			const struct rye_ask ask = { RYE_TOOL, odd[i], RYE_VIEW_SOURCE, NULL };

			assert_refused(&told_err, RYE_NOT_FOUND,
				       rye_lookup(b.rye, RYE_TOOL, odd[i], &st, &told_err));
			assert_int_not_equal(view(&b, &ask, &blob), RYE_OK);
		}
		assert_true(look(&b, RYE_KNOWLEDGE, "\u65e5\u672c/\u00e9.v1").is_item_dir);
		assert_refused(&told_err, RYE_NOT_FOUND,
			       rye_lookup(b.rye, RYE_KNOWLEDGE, "\u65e5\u672c/e\u0301.v1", &st,
					  &told_err));
		rye_close(b.rye);
	}
	start(&b, false);
	done(&b);
}

static void views(void **state)
{
	struct bench b;
	struct rye_blob *blob = NULL;
	struct rye_ask refused = { RYE_TOOL, "vec/unsigned", RYE_VIEW_SOURCE, NULL };

	vectors(&b);
	for (int scan = 0; scan < 2; scan++) {
		start(&b, scan);
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/b2", RYE_VIEW_SOURCE, NULL },
			   "# rye:signed:");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/b2", RYE_VIEW_INFO, NULL },
			   "\"verdict\": \"ok\"");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/b2", RYE_VIEW_VERIFY, NULL },
			   "ok signed by " KEY1);
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/b2", RYE_VIEW_USAGE, NULL },
			   "tool vec/b2");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/b2", RYE_VIEW_SCHEMA, NULL }, "{");
		check_view(&b, (struct rye_ask){ RYE_KNOWLEDGE, "vec/b3", RYE_VIEW_DATA, NULL },
			   "\"name\": \"b3\"");
		check_view(&b, (struct rye_ask){ RYE_DIRECTIVE, "vec/b1", RYE_VIEW_PROMPT, NULL },
			   "<directive name=\"b1\">");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/unsigned", RYE_VIEW_INFO, NULL },
			   "\"verdict\": \"unsigned\"");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/unsigned", RYE_VIEW_VERIFY, NULL },
			   "unsigned; mend with: ryefs sign tool:vec/unsigned\n");
		check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/unsigned", RYE_VIEW_USAGE, NULL },
			   "is refused: unsigned");
		assert_int_equal(view(&b, &refused, &blob), RYE_UNSIGNED);
		rye_close(b.rye);
	}
	start(&b, false);
	done(&b);
}

/* What dev mode serves without a signature is not said to have a signer. */
static void dev_mode_says_what_it_serves(void **state)
{
	struct bench b;

	vectors(&b);
	b.rye = place_engine(&b.place, (struct rye_options){ .dev_mode = true });
	check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/unsigned", RYE_VIEW_VERIFY, NULL },
		   "ok unsigned; [DEV MODE] Unsigned item: ");
	check_view(&b, (struct rye_ask){ RYE_TOOL, "vec/unsigned", RYE_VIEW_INFO, NULL },
		   "\"notice\": \"[DEV MODE] Unsigned item: ");
	done(&b);
}

static enum rye_code source_under(const char *dev_mode, struct bench *b)
{
	const struct rye_ask ask = { RYE_DIRECTIVE, "vec/v2", RYE_VIEW_SOURCE, NULL };
	struct rye_blob *blob = NULL;
	enum rye_code code;

	setenv("RYE_DEV_MODE", dev_mode, 1);
	start(b, false);
	unsetenv("RYE_DEV_MODE");
	code = view(b, &ask, &blob);
	rye_blob_unref(blob);
	return code;
}

/* Exactly 1, nothing else: what was changed since signing is served with a warning. */
static void T30_dev_mode_of_the_environment(void **state)
{
	static const char *const others[] = { "true", "0", "", "11" };
	struct bench b;

	vectors(&b);
	place_put(b.place.project, "directives/vec/v2.md", "mutations/v2-xml-edited.md");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(source_under(others[i], &b), RYE_MODIFIED);
		rye_close(b.rye);
	}
	assert_int_equal(source_under("1", &b), RYE_OK);
	check_view(&b, (struct rye_ask){ RYE_DIRECTIVE, "vec/v2", RYE_VIEW_INFO, NULL },
		   "\"notice\": \"[DEV MODE] Content modified since signing: ");
	check_view(&b, (struct rye_ask){ RYE_DIRECTIVE, "vec/v2", RYE_VIEW_INFO, NULL },
		   "unverified");
	done(&b);
}

static int put_name(void *arg, const struct rye_entry *entry)
{
	struct rye_buf *buf = arg;

	buf_addf(buf, "%s%s:%d ", entry->name, entry->is_dir ? "/" : "",
		 entry->has_verdict ? (int)entry->verdict : -1);
	return 0;
}

static void lists(void **state)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct rye_walk walk = { RYE_TOOL, "vec", true, put_name, &buf };
	struct rye_counts counts;
	struct bench b;

	vectors(&b);
	start(&b, true);
	assert_works(&told_err, rye_list(b.rye, &walk, &told_err));
	assert_string_equal(buf.data, "b2.py:0 b8.sh:0 unsigned.py:1 ");
	walk.dir = "nowhere";
	assert_refused(&told_err, RYE_NOT_FOUND, rye_list(b.rye, &walk, &told_err));
	for (int i = 0; i < 500 && (rye_counts(b.rye, &counts), !counts.scanned); i++)
		usleep(2000);
	assert_true(counts.scanned);
	assert_int_equal(counts.served, 4); /* the key file is no item */
	assert_int_equal(counts.refused, 1);
	done(&b);
}

/* Waits until something was told since `before`. */
static bool wait_told(struct bench *b, int before)
{
	struct timespec until;
	bool told = false;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	GUARD(&b->lock);
	while (b->told == before && pthread_cond_timedwait(&b->cond, &b->lock, &until) == 0)
		;
	told = b->told != before;
	return told;
}

static int told(struct bench *b)
{
	int n = 0;

	GUARD(&b->lock);
	n = b->told;
	return n;
}

/* As soon as it is so: a change may come as several events, of which the first was told. */
static struct rye_stat look_for(struct bench *b, const char *path, enum rye_code verdict)
{
	struct rye_stat st = look(b, RYE_DIRECTIVE, path);

	for (int i = 0; i < 1000 && st.verdict != verdict; i++) {
		usleep(2000);
		st = look(b, RYE_DIRECTIVE, path);
	}
	return st;
}

static void changes(void **state)
{
	struct rye_stat st, old;
	struct bench b;
	int before;

	vectors(&b);
	start(&b, true);
	old = look(&b, RYE_DIRECTIVE, "vec/b1.md");
	before = told(&b);
	place_put(b.place.project, "directives/vec/b1.md", "binding/b1-body-edited.md");
	assert_true(wait_told(&b, before));
	st = look_for(&b, "vec/b1.md", RYE_UNCOVERED);
	assert_int_equal(st.verdict, RYE_UNCOVERED);
	assert_true(st.version != old.version);
	/* The same bytes again are the same version. */
	before = told(&b);
	place_put(b.place.project, "directives/vec/b1.md", "binding/b1.md");
	assert_true(wait_told(&b, before));
	st = look_for(&b, "vec/b1.md", RYE_OK);
	assert_int_equal(st.verdict, RYE_OK);
	assert_true(st.version == old.version);
	/* A whole new tree. */
	before = told(&b);
	place_put(b.place.project, "knowledge/x/y/b3.md", "binding/b3.md");
	assert_true(wait_told(&b, before));
	/* What was told may be the first directory of it alone. */
	for (int i = 0; i < 5000 && rye_lookup(b.rye, RYE_KNOWLEDGE, "x/y/b3.md", &st, NULL); i++)
		usleep(2000);
	assert_true(look(&b, RYE_KNOWLEDGE, "x/y/b3.md").is_file);
	done(&b);
}

static void trust_changes(void **state)
{
	char path[300];
	struct bench b;
	int before;

	vectors(&b);
	start(&b, true);
	assert_int_equal(look(&b, RYE_TOOL, "vec/b2.py").verdict, RYE_OK);
	before = told(&b);
	snprintf(path, sizeof(path), "%s/.ai/config/keys/trusted/" KEY1 ".toml", b.place.user);
	assert_int_equal(unlink(path), 0);
	assert_true(wait_told(&b, before));
	assert_int_equal(b.all, 1);
	assert_int_equal(look(&b, RYE_TOOL, "vec/b2.py").verdict, RYE_UNTRUSTED);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(odd_names),
		cmocka_unit_test(views),
		cmocka_unit_test(dev_mode_says_what_it_serves),
		cmocka_unit_test(T30_dev_mode_of_the_environment),
		cmocka_unit_test(lists),
		cmocka_unit_test(changes),
		cmocka_unit_test(trust_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
