/* SPDX-License-Identifier: MIT */
/*
 * What a depot gives up: that which no manifest needs, and nothing else, also while pushes go on. RYE_TEST_BOARD: the
 * index lies in that database.
 */
#include "pack/pack.h"
#include "store/store.h"

#include "random_steps.h"
#include "told.h"

#include "base/io.h"
#include "board/board.h"
#include "clock.h"
#include "str.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define FILES 12
#define FILE_LEN 100000

struct yard {
	char base[32], store[64], index[256], me[BOARD_FP_MAX];
	struct depot *depot;
	pthread_mutex_t lock; /* what follows */
	char roots[5][SHA_HEX];
	size_t n_roots;
};

static void yard_open(const struct yard *y, struct depot **ret)
{
	const struct depot_place place = { y->store, y->index };

	assert_works(&told_err, depot_open_at(&place, ret, &told_err));
}

static void yard_start(struct yard *y)
{
	const char *board = getenv("RYE_TEST_BOARD");

	*y = (struct yard){ .base = "/tmp/rye-gc-XXXXXX", .lock = PTHREAD_MUTEX_INITIALIZER };
	assert_non_null(mkdtemp(y->base));
	snprintf(y->store, sizeof(y->store), "%s/store", y->base);
	snprintf(y->me, sizeof(y->me), "%016llx", (unsigned long long)clock_ns());
	if (board)
		snprintf(y->index, sizeof(y->index), "%s", board);
	else
		snprintf(y->index, sizeof(y->index), "sqlite:%s/index.db", y->store);
	yard_open(y, &y->depot);
}

static void yard_done(struct yard *y)
{
	depot_close(y->depot);
	io_remove_tree(AT_FDCWD, y->base, 8);
}

static int yard_roots(void *arg, const char *principal, rye_name_fn fn, void *fn_arg,
		      struct rye_err *err)
{
	struct yard *y = arg;

	pthread_mutex_lock(&y->lock);
	for (size_t i = 0; i < y->n_roots && !strcmp(principal, y->me); i++)
		fn(fn_arg, y->roots[i]);
	pthread_mutex_unlock(&y->lock);
	return 0;
}

static struct depot_gc yard_ask(struct yard *y, int64_t new_s, bool dry)
{
	return (struct depot_gc){ .new_s = new_s, .dry = dry, .roots = yard_roots, .arg = y };
}

static void yard_root(struct yard *y, const struct manifest *manifest)
{
	pthread_mutex_lock(&y->lock);
	memmove(y->roots[1], y->roots[0], sizeof(y->roots) - sizeof(y->roots[0]));
	digest_hex(&manifest->name, y->roots[0]);
	y->n_roots = MIN_OF(y->n_roots + 1, ARRAY_SIZE(y->roots));
	pthread_mutex_unlock(&y->lock);
}

/* A file's bytes are made of its number: noise, which is stored as it is. */
static struct digest file_bytes(uint64_t number, struct rye_buf *ret)
{
	struct random random = { .state = number * 2654435761u + 1 };

	buf_clear(ret);
	while (ret->len < FILE_LEN) {
		uint64_t word = random_next(&random);

		buf_add(ret, (const char *)&word, sizeof(word));
	}
	return digest_of(buf_span(ret));
}

static struct manifest *tree_of(const uint64_t *numbers, size_t n)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	struct manifest_line lines[FILES];
	char paths[FILES][24];
	struct manifest *manifest;

	for (size_t i = 0; i < n; i++) {
		snprintf(paths[i], sizeof(paths[i]), "f%zu", i);
		lines[i] = (struct manifest_line){ .sha = file_bytes(numbers[i], &bytes),
						   .size = bytes.len,
						   .path = paths[i] };
	}
	assert_works(&told_err, manifest_make(lines, n, &manifest, &told_err));
	return manifest;
}

/* As a client does it: what is there is not sent. */
static int push(struct depot *depot, const char *me, const uint64_t *numbers, size_t n,
		struct manifest **ret)
{
	auto_packer struct packer *packer = packer_new();
	auto_buf struct rye_buf bytes = RYE_BUF_INIT, pack = RYE_BUF_INIT;
	struct digest shas[FILES], name;
	unsigned char bits[FILES];

	*ret = tree_of(numbers, n);
	for (size_t i = 0; i < n; i++)
		shas[i] = file_bytes(numbers[i], &bytes);
	assert_works(&told_err, depot_has(depot, me, shas, n, bits, &told_err));
	for (size_t i = 0; i < n; i++) {
		bool there = bits[i / 8] & 1 << i % 8;

		for (size_t k = 0; k < i; k++)
			there |= digest_is(&shas[k], &shas[i]);
		file_bytes(numbers[i], &bytes);
		if (!there)
			assert_works(&told_err,
				     packer_add(packer, &shas[i], buf_span(&bytes), &told_err));
	}
	if (packer_count(packer)) {
		assert_works(&told_err, packer_end(packer, &pack, &name, &told_err));
		assert_works(&told_err, depot_take(depot, me, buf_span(&pack), -1, &told_err));
	}
	return depot_keep(depot, me, *ret, NULL, &told_err);
}

static void pushed(struct yard *y, const uint64_t *numbers, size_t n, bool root)
{
	auto_manifest struct manifest *manifest = NULL;

	assert_works(&told_err, push(y->depot, y->me, numbers, n, &manifest));
	if (root)
		yard_root(y, manifest);
}

static int64_t used(const struct yard *y)
{
	struct depot_used is;

	assert_works(&told_err, depot_used(y->depot, y->me, &is, &told_err));
	return is.bytes;
}

static int count_object(void *arg, const struct store_object *object)
{
	*(size_t *)arg += strncmp(object->name, "index", 5) != 0;
	return 0;
}

static size_t objects(const struct yard *y)
{
	struct store *store;
	size_t n = 0;

	assert_works(&told_err, store_open(y->store, &store, &told_err));
	assert_works(&told_err, store_list(store, count_object, &n, &told_err));
	store_close(store);
	return n;
}

/* All that was done is so long ago. */
static void pass(const struct yard *y, int64_t seconds)
{
	static const struct board_tables none = { "", "dropped", true };
	static const char *const statements[] = {
		"UPDATE blob SET seen = seen - ?2 WHERE principal = ?1",
		"UPDATE pack SET made = made - ?2 WHERE principal = ?1",
		"UPDATE manifest SET made = made - ?2 WHERE principal = ?1",
		"UPDATE dropped SET since = since - ?2 WHERE principal = ?1",
	};
	struct board *board;

	assert_works(&told_err, board_open_tables(y->index, &none, &board, &told_err));
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
		assert_works(&told_err,
			     board_ask(board,
				       BOARD_QUERY(statements[i], DB_TEXT(y->me), DB_INT(seconds)),
				       NULL, &told_err));
	board_close(board);
}

#define DAY_S 86400

static struct depot_freed collect(struct yard *y, bool dry)
{
	const struct depot_gc ask = yard_ask(y, DAY_S, dry);
	struct depot_freed freed = { 0 };

	pass(y, DAY_S + 1);
	assert_works(&told_err, depot_gc(y->depot, y->me, &ask, &freed, &told_err));
	return freed;
}

static void assert_whole(const struct yard *y, const uint64_t *numbers, size_t n)
{
	auto_manifest struct manifest *manifest = tree_of(numbers, n);
	auto_manifest struct manifest *kept = NULL;
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;

	assert_works(&told_err, depot_manifest(y->depot, y->me, &manifest->name, &kept, &told_err));
	for (size_t i = 0; i < n; i++) {
		struct digest is;

		buf_clear(&bytes);
		assert_works(&told_err,
			     depot_read(y->depot, y->me, &manifest->v[i].sha, &bytes, &told_err));
		is = digest_of(buf_span(&bytes));
		assert_true(digest_is(&is, &manifest->v[i].sha));
	}
}

static void what_no_manifest_needs_goes(void **state)
{
	static const uint64_t kept[] = { 1, 2, 3 }, dead[] = { 10, 11, 12, 13 };
	struct depot_freed freed;
	struct yard y;
	int64_t before;

	yard_start(&y);
	pushed(&y, kept, ARRAY_SIZE(kept), true);
	before = used(&y);
	pushed(&y, dead, ARRAY_SIZE(dead), false);
	/* new: nothing goes */
	freed = (struct depot_freed){ 0 };
	assert_works(&told_err,
		     depot_gc(y.depot, y.me, &(struct depot_gc){ 3600, 0, false, yard_roots, &y },
			      &freed, &told_err));
	assert_int_equal(freed.bytes, 0);
	assert_int_equal(objects(&y), 4);
	freed = collect(&y, true);
	assert_int_equal(freed.bytes, used(&y) - before);
	assert_int_equal(freed.packs, 1);
	assert_int_equal(freed.manifests, 1);
	assert_int_equal(objects(&y), 4); /* it was a dry run */
	assert_true(used(&y) > before);
	freed = collect(&y, false);
	assert_int_equal(freed.blobs, ARRAY_SIZE(dead));
	assert_int_equal(freed.objects, 2);
	assert_int_equal(used(&y), before);
	assert_int_equal(objects(&y), 2);
	assert_whole(&y, kept, ARRAY_SIZE(kept));
	assert_int_equal(collect(&y, false).bytes, 0);
	/* what has gone can come again */
	pushed(&y, dead, ARRAY_SIZE(dead), true);
	assert_int_equal(collect(&y, false).bytes, 0);
	assert_whole(&y, dead, ARRAY_SIZE(dead));
	yard_done(&y);
}

static void poor_packs_are_written_anew(void **state)
{
	static const uint64_t many[] = { 1, 2, 3, 4, 5, 6 }, other[] = { 21, 22, 23, 24, 25 };
	static const uint64_t few[] = { 2, 24 };
	struct depot_freed freed, dry;
	struct yard y;

	yard_start(&y);
	pushed(&y, many, ARRAY_SIZE(many), false);
	pushed(&y, other, ARRAY_SIZE(other), false);
	pushed(&y, few, ARRAY_SIZE(few), true);
	dry = collect(&y, true);
	freed = collect(&y, false);
	assert_int_equal(freed.rewritten, 2);
	assert_int_equal(freed.blobs, 9);
	assert_true(used(&y) < 2 * FILE_LEN + 1000);
	assert_in_range(dry.bytes, freed.bytes - 1000, freed.bytes + 1000);
	assert_int_equal(objects(&y), 2); /* one pack, one manifest */
	assert_whole(&y, few, ARRAY_SIZE(few));
	assert_int_equal(collect(&y, false).rewritten, 0);
	yard_done(&y);
}

static void pieces_of_a_file_are_needed(void **state)
{
	static const uint64_t pieces[] = { 31, 32 };
	auto_buf struct rye_buf bytes = RYE_BUF_INIT, list = RYE_BUF_INIT, pack = RYE_BUF_INIT;
	auto_packer struct packer *packer = packer_new();
	auto_manifest struct manifest *manifest = NULL;
	struct manifest_line line = { .mode = MANIFEST_PIECES, .path = "big" };
	struct digest name;
	struct yard y;

	yard_start(&y);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct piece piece = { .sha = file_bytes(pieces[i], &bytes),
				       .size = (uint32_t)bytes.len };

		assert_works(&told_err,
			     packer_add(packer, &piece.sha, buf_span(&bytes), &told_err));
		pieces_add(&list, &piece);
		line.size += bytes.len;
	}
	line.sha = digest_of(buf_span(&list));
	assert_works(&told_err, packer_add(packer, &line.sha, buf_span(&list), &told_err));
	assert_works(&told_err, packer_end(packer, &pack, &name, &told_err));
	assert_works(&told_err, depot_take(y.depot, y.me, buf_span(&pack), -1, &told_err));
	assert_works(&told_err, manifest_make(&line, 1, &manifest, &told_err));
	assert_works(&told_err, depot_keep(y.depot, y.me, manifest, NULL, &told_err));
	yard_root(&y, manifest);
	assert_int_equal(collect(&y, false).blobs, 0);
	assert_works(&told_err, depot_whole(y.depot, y.me, manifest, NULL, &told_err));
	yard_done(&y);
}

/* A manifest that should be there and is not: what it needs is not known. */
static void nothing_goes_when_a_manifest_cannot_be_read(void **state)
{
	static const uint64_t kept[] = { 1, 2, 3 }, dead[] = { 10 };
	const struct store_range range = { "packs/00/00", 0, 1 };
	struct depot_freed freed = { 0 };
	char object[96];
	struct store *store;
	struct yard y;

	yard_start(&y);
	pushed(&y, kept, ARRAY_SIZE(kept), true);
	pushed(&y, dead, ARRAY_SIZE(dead), false);
	snprintf(object, sizeof(object), "manifests/%.2s/%s", y.roots[0], y.roots[0]);
	assert_works(&told_err, store_open(y.store, &store, &told_err));
	assert_refused(&told_err, RYE_NOT_FOUND, store_get(store, &range, NULL, &told_err));
	assert_works(&told_err, store_del(store, object, &told_err));
	store_close(store);
	pass(&y, DAY_S + 1);
	assert_refused(&told_err, RYE_NOT_FOUND,
		       depot_gc(y.depot, y.me, &(struct depot_gc){ -10, 0, false, yard_roots, &y },
				&freed, &told_err));
	assert_non_null(strstr(told_err.msg, "nothing was freed"));
	assert_int_equal(freed.bytes, 0);
	yard_done(&y);
}

static void what_a_killed_process_left_goes(void **state)
{
	static const char name[] =
		"packs/ab/abababababababababababababababababababababababababababababababab";
	const struct depot_gc ask = { -10, 0, false, yard_roots, NULL };
	struct depot_freed freed = { 0 };
	struct store *store;
	char path[160];
	struct yard y;
	int fd;

	if (getenv("RYE_TEST_BOARD"))
		return; /* there others' rows would go, too */
	yard_start(&y);
	assert_works(&told_err, store_open(y.store, &store, &told_err));
	assert_works(&told_err, store_put(store, name, SPAN("of no row"), &told_err));
	snprintf(path, sizeof(path), "%s/packs/ab/.rye-0123456789abcdef.tmp", y.store);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_works(&told_err, depot_gc_rest(y.depot, &ask, &freed, &told_err));
	assert_int_equal(freed.objects, 1);
	assert_int_equal(objects(&y), 0);
	assert_int_equal(access(path, F_OK), -1);
	store_close(store);
	yard_done(&y);
}

/* ---- 12: against pushes ---- */

#define NEW_S 3

struct rivals {
	struct yard y;
	_Atomic bool over;
	size_t collections;
};

static void *collector(void *arg)
{
	struct rivals *rivals = arg;
	struct depot_gc ask = yard_ask(&rivals->y, NEW_S, false);
	struct depot_freed freed = { 0 };
	struct depot *depot;

	yard_open(&rivals->y, &depot);
	while (!rivals->over) {
		assert_works(&told_err, depot_gc(depot, rivals->y.me, &ask, &freed, &told_err));
		rivals->collections++;
	}
	depot_close(depot);
	return NULL;
}

/* RYE_GC_S: for so long. */
static void nothing_that_is_needed_goes(void **state)
{
	const char *given = getenv("RYE_GC_S");
	int64_t until = clock_ms() + (given ? strtoll(given, NULL, 10) * 1000 : 7000);
	struct random random = random_seed();
	struct rivals rivals = { .collections = 0 };
	struct yard *y = &rivals.y;
	size_t pushes = 0, slow = 0;
	pthread_t thread;

	yard_start(y);
	assert_int_equal(pthread_create(&thread, NULL, collector, &rivals), 0);
	while (clock_ms() < until) {
		auto_manifest struct manifest *manifest = NULL;
		uint64_t numbers[FILES];
		int64_t began = clock_ms();
		size_t n = 1 + random_below(&random, FILES);
		int r;

		for (size_t i = 0; i < n; i++)
			numbers[i] = random_below(&random, 40);
		r = push(y->depot, y->me, numbers, n, &manifest);
		/* what was told to be there stays so long, and no longer */
		if (clock_ms() - began >= (NEW_S - 1) * 1000) {
			slow++;
			continue;
		}
		assert_works(&told_err, r);
		yard_root(y, manifest);
		assert_whole(y, numbers, n);
		pushes++;
	}
	rivals.over = true;
	pthread_join(thread, NULL);
	print_message("# %zu pushes, %zu slow ones, %zu collections\n", pushes, slow,
		      rivals.collections);
	assert_true(slow || (pushes && rivals.collections));
	yard_done(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_manifest_needs_goes),
		cmocka_unit_test(poor_packs_are_written_anew),
		cmocka_unit_test(pieces_of_a_file_are_needed),
		cmocka_unit_test(nothing_goes_when_a_manifest_cannot_be_read),
		cmocka_unit_test(what_a_killed_process_left_goes),
		cmocka_unit_test(nothing_that_is_needed_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
