/* SPDX-License-Identifier: MIT */
/*
 * What a depot costs when a principal has many blobs: a question costs what is asked, not what is there, and a
 * collection grows as the blobs do. Counted in steps of SQLite's machine, which are the same on every machine.
 */
#include "pack/pack.h"

#include "told.h"

#include "base/io.h"
#include "str.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <unistd.h>

#define ME "0123456789abcdef"
#define NARROW 500
#define WIDE (NARROW * 8)
#define ASKED 300

static atomic_llong steps;

static int count_statement(unsigned what, void *arg, void *statement, void *ns)
{
	atomic_fetch_add(&steps, sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1));
	return 0;
}

/* SQLite calls it for each database that is opened in this process. */
static int count_database(sqlite3 *db, const char **said, const void *api)
{
	return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, count_statement, NULL);
}

static int count_start(void **state)
{
	return sqlite3_auto_extension((void (*)(void))count_database);
}

struct hall {
	char base[32];
	struct depot *depot;
	struct manifest *needed; /* of one blob in eight */
	struct digest shas[WIDE];
	size_t n;
};

/* n small blobs in one pack. */
static void hall_start(struct hall *h, size_t n)
{
	auto_packer struct packer *packer = packer_new();
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_free struct manifest_line *lines = calloc(n, sizeof(*lines));
	auto_free char(*paths)[24] = calloc(n, sizeof(*paths));
	char store[64];
	struct digest name;

	*h = (struct hall){ .base = "/tmp/rye-wide-XXXXXX", .n = n };
	assert_non_null(mkdtemp(h->base));
	snprintf(store, sizeof(store), "%s/store", h->base);
	assert_works(&told_err, depot_open(store, &h->depot, &told_err));
	for (size_t i = 0; i < n; i++) {
		struct rye_span bytes = { paths[i], sizeof(paths[i]) };

		snprintf(paths[i], sizeof(paths[i]), "f%05zu", i / 8);
		memcpy(paths[i] + 12, &i, sizeof(i));
		h->shas[i] = digest_of(bytes);
		assert_works(&told_err, packer_add(packer, &h->shas[i], bytes, &told_err));
		if (i % 8 == 0)
			lines[i / 8] = (struct manifest_line){ .sha = h->shas[i],
							       .size = bytes.len,
							       .path = paths[i] };
	}
	assert_works(&told_err, packer_end(packer, &pack, &name, &told_err));
	assert_works(&told_err, depot_take(h->depot, ME, buf_span(&pack), -1, &told_err));
	assert_works(&told_err, manifest_make(lines, (n + 7) / 8, &h->needed, &told_err));
	assert_works(&told_err, depot_keep(h->depot, ME, h->needed, NULL, &told_err));
}

static void hall_done(struct hall *h)
{
	manifest_free(h->needed);
	depot_close(h->depot);
	io_remove_tree(AT_FDCWD, h->base, 8);
}

static long long question(size_t n)
{
	unsigned char bits[(ASKED + 7) / 8];
	struct hall h;

	hall_start(&h, n);
	atomic_store(&steps, 0);
	assert_works(&told_err, depot_has(h.depot, ME, h.shas, ASKED, bits, &told_err));
	for (size_t i = 0; i < ASKED; i++)
		assert_true(bits[i / 8] & 1 << i % 8);
	hall_done(&h);
	return atomic_load(&steps);
}

static int needed(void *arg, const char *principal, rye_name_fn fn, void *fn_arg,
		  struct rye_err *err)
{
	struct hall *h = arg;
	char hex[SHA_HEX];

	digest_hex(&h->needed->name, hex);
	return fn(fn_arg, hex);
}

/* Seven blobs in eight are dead: the pack is written anew, and the rows of the others move. */
static long long collection(size_t n)
{
	struct depot_freed freed = { 0 };
	struct hall h;
	struct depot_gc ask = { .new_s = -1, .roots = needed, .arg = &h };

	hall_start(&h, n);
	atomic_store(&steps, 0);
	assert_works(&told_err, depot_gc(h.depot, ME, &ask, &freed, &told_err));
	assert_int_equal(freed.rewritten, 1);
	assert_int_equal(freed.blobs, n - (n + 7) / 8);
	hall_done(&h);
	return atomic_load(&steps);
}

static void assert_grows(const char *what, long long narrow, long long wide, int at_most)
{
	print_message("# %s: %lld steps among %d, %lld among %d\n", what, narrow, NARROW, wide,
		      WIDE);
	assert_true(narrow > ASKED / 2); /* the counter counts */
	assert_true(wide <= at_most * narrow);
}

static void a_question_costs_what_is_asked(void **state)
{
	assert_grows("a question", question(NARROW), question(WIDE), 2);
}

static void a_collection_grows_as_the_blobs_do(void **state)
{
	assert_grows("a collection", collection(NARROW), collection(WIDE), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_costs_what_is_asked),
		cmocka_unit_test(a_collection_grows_as_the_blobs_do),
	};

	return cmocka_run_group_tests(tests, count_start, NULL);
}
