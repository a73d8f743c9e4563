/* SPDX-License-Identifier: MIT */
/*
 * Random trees, packed and checked out: the copy is the tree, byte for byte. Then packs of the store are
 * changed, cut and swapped: no wrong byte is checked out, the error names a path, and what is sent after it
 * mends the store. RYE_SEED replays a run.
 */
#include "random_steps.h"
#include "told.h"

#include "base/io.h"
#include "snapshot/snapshot.h"
#include "store/store.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#define ROUNDS 12
#define ME "0123456789abcdef"

struct bench {
	char base[64], project[96], store[96];
	int dir; /* of base */
	int n; /* checkouts so far */
	struct depot *depot;
	struct random random;
};

static void start(struct bench *b)
{
	*b = (struct bench){ .base = "/tmp/rye-packs-XXXXXX", .random = random_seed() };
	assert_non_null(mkdtemp(b->base));
	snprintf(b->project, sizeof(b->project), "%s/project", b->base);
	snprintf(b->store, sizeof(b->store), "%s/store", b->base);
	b->dir = open(b->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(b->dir, "project", 0755), 0);
	assert_works(&told_err, depot_open(b->store, &b->depot, &told_err));
}

static void done(struct bench *b)
{
	depot_close(b->depot);
	close(b->dir);
	io_remove_tree(AT_FDCWD, b->base, 12);
}

/* ---- trees ---- */

static size_t random_size(struct random *r)
{
	static const size_t sizes[] = { 0, 1, 100, 5000, 5000, 70000, 300000 };

	return random_below(r, 60) ?
		       random_below(r, sizes[random_below(r, ARRAY_SIZE(sizes))] + 1) :
		       BLOB_MAX + random_below(r, BLOB_MAX);
}

static void random_file(struct bench *b, const char *path)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	size_t size = random_size(&b->random);
	bool noise = random_below(&b->random, 2);

	while (bytes.len < size) {
		uint64_t word = random_next(&b->random);

		buf_add(&bytes, noise ? (const char *)&word : "wordword", sizeof(word));
	}
	bytes.len = size;
	io_replace_at(b->dir, path, buf_span(&bytes), random_below(&b->random, 4) ? 0644 : 0755);
}

static void random_edit(struct bench *b)
{
	static const char *const dirs[] = { "project", "project/a", "project/a/b", "project/a.b",
					    "project/c" };
	const char *dir = dirs[random_below(&b->random, ARRAY_SIZE(dirs))];
	char path[128], other[128];
	size_t i = random_below(&b->random, 40);

	io_mkdirs_at(b->dir, dir, 0755);
	snprintf(path, sizeof(path), "%s/f%zu", dir, i);
	snprintf(other, sizeof(other), "%s/g%zu", dir, random_below(&b->random, 40));
	switch (random_below(&b->random, 8)) {
	case 0:
		unlinkat(b->dir, path, 0);
		break;
	case 1:
		renameat(b->dir, path, b->dir, other);
		break;
	case 2:
		unlinkat(b->dir, other, 0);
		assert_int_equal(symlinkat(i % 2 ? "f1" : "./nowhere", b->dir, other), 0);
		break;
	default:
		random_file(b, path);
	}
	/* a manifest has no empty directories; one within another is tried first */
	unlinkat(b->dir, "project/a/b", AT_REMOVEDIR);
	for (size_t k = 1; k < ARRAY_SIZE(dirs); k++)
		unlinkat(b->dir, dirs[k], AT_REMOVEDIR);
}

/* ---- a push without a connection ---- */

struct pushing {
	struct bench *b;
	size_t packs, bytes;
};

static int take(void *arg, struct rye_span pack, struct rye_err *err)
{
	struct pushing *push = arg;

	push->packs++;
	push->bytes += pack.len;
	return depot_take(push->b->depot, ME, pack, -1, err);
}

/* base: what is there for certain; ask: the depot tells what else it has. */
static struct manifest *push(struct bench *b, const struct manifest *base, bool ask,
			     struct pushing *ret)
{
	static json_t *rules;
	/* while files are read, where what is there is known; else behind it */
	auto_packing struct packing *packing = packing_new(ask ? NULL : base, take, ret);
	const struct snapshot_ask what = { .project = b->project,
					   .rules = rules ? rules :
							    (rules = json_pack("[s]", "./")),
					   .cache_dir = b->dir,
					   .cache = "stat",
					   .packing = ask ? NULL : packing };
	auto_snapshot struct snapshot *snapshot = NULL;
	auto_snapshot_blobs struct snapshot_blobs blobs = { 0 };
	auto_free struct digest *digests = NULL;
	auto_free unsigned char *bits = NULL;
	struct manifest *manifest;
	int r;

	*ret = (struct pushing){ .b = b };
	assert_works(&told_err, snapshot_make(&what, &snapshot, &told_err));
	assert_works(&told_err, snapshot_blobs(snapshot, base, &blobs, &told_err));
	digests = calloc(blobs.n + 1, sizeof(*digests));
	bits = calloc(1, blobs.n / 8 + 1);
	for (size_t i = 0; i < blobs.n; i++)
		digests[i] = blobs.v[i].sha;
	assert_works(&told_err, packing_flush(packing, &told_err));
	if (ask || blobs.pieces)
		assert_works(&told_err, depot_has(b->depot, ME, digests, blobs.n, bits, &told_err));
	assert_works(&told_err, snapshot_pack(snapshot, &blobs, bits, packing, &told_err));
	r = depot_keep(b->depot, ME, snapshot->manifest, base, &told_err);
	/* a list of pieces was damaged, too: it is sent anew */
	if (r == -RYE_IO && ask)
		return push(b, base, true, ret);
	assert_works(&told_err, r);
	manifest = steal(&snapshot->manifest);
	return manifest;
}

static bool same_trees(struct bench *b, const char *copy)
{
	const char *argv[] = { "diff", "-r", "--no-dereference", b->project, copy, NULL };
	int status = -1;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, "diff", NULL, NULL, (char **)argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !status;
}

/* Of a copy; its name in *ret. */
static int check_out(struct bench *b, const struct digest *name, char ret[128], struct rye_err *err)
{
	auto_manifest struct manifest *manifest = NULL;
	auto_close int dir = -1;
	int r;

	snprintf(ret, 128, "%s/copy%d", b->base, b->n++);
	assert_int_equal(mkdir(ret, 0755), 0);
	dir = open(ret, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = depot_manifest(b->depot, ME, name, &manifest, err);
	return r ? r : checkout(b->depot, ME, manifest, dir, err);
}

static void assert_copied(struct bench *b, const struct manifest *manifest)
{
	struct rye_err err = { 0 };
	char copy[128];

	assert_works(&err, check_out(b, &manifest->name, copy, &err));
	assert_true(same_trees(b, copy));
	io_remove_tree(AT_FDCWD, copy, 12);
}

static void copies_are_the_tree(void **state)
{
	auto_manifest struct manifest *base = NULL;
	struct pushing first, again;
	struct bench b;

	start(&b);
	for (int round = 0; round < ROUNDS; round++) {
		struct manifest *next;

		for (int i = 0; i < 30; i++)
			random_edit(&b);
		next = push(&b, base, false, &first);
		assert_copied(&b, next);
		manifest_free(base);
		base = next;
		next = push(&b, base, false, &again);
		assert_int_equal(again.packs, 0);
		assert_true(digest_is(&next->name, &base->name));
		manifest_free(next);
	}
	done(&b);
}

/* ---- harm ---- */

struct packs_of {
	char paths[64][160];
	size_t n;
	const char *store;
};

static int note_pack(void *arg, const struct store_object *object)
{
	struct packs_of *all = arg;

	if (!strncmp(object->name, "packs/", 6) && all->n < ARRAY_SIZE(all->paths))
		snprintf(all->paths[all->n++], sizeof(all->paths[0]), "%.60s/%.90s", all->store,
			 object->name);
	return 0;
}

static void harm(struct bench *b)
{
	struct packs_of all = { .store = b->store };
	struct store *store;
	size_t which;
	struct stat st;

	assert_works(&told_err, store_open(b->store, &store, &told_err));
	assert_works(&told_err, store_list(store, note_pack, &all, &told_err));
	store_close(store);
	assert_true(all.n > 1);
	which = random_below(&b->random, all.n);
	assert_int_equal(stat(all.paths[which], &st), 0);
	assert_int_equal(chmod(all.paths[which], 0600), 0);
	switch (random_below(&b->random, 3)) {
	case 0:
		assert_int_equal(truncate(all.paths[which],
					  (off_t)random_below(&b->random, (size_t)st.st_size)),
				 0);
		break;
	case 1: {
		const char *other = all.paths[(which + 1) % all.n];

		assert_int_equal(
			renameat2(AT_FDCWD, all.paths[which], AT_FDCWD, other, RENAME_EXCHANGE), 0);
		break;
	}
	default: {
		auto_close int fd = open(all.paths[which], O_RDWR | O_CLOEXEC);
		off_t at = (off_t)random_below(&b->random, (size_t)st.st_size);
		char byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << random_below(&b->random, 8));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	}
}

static void no_wrong_byte_comes_out(void **state)
{
	auto_manifest struct manifest *base = NULL;
	struct pushing first;
	struct bench b;

	start(&b);
	for (int i = 0; i < 120; i++)
		random_edit(&b);
	base = push(&b, NULL, false, &first);
	for (int i = 0; i < 30; i++)
		random_edit(&b);
	manifest_free(base);
	base = push(&b, NULL, true, &first);
	for (int round = 0; round < ROUNDS; round++) {
		struct rye_err err = { 0 };
		char copy[128];

		harm(&b);
		/* one push mends a pack; harm is done to two, and an earlier round's may have been overlooked */
		for (int i = 0; check_out(&b, &base->name, copy, &err); i++) {
			assert_in_range(i, 0, 2 * round + 1);
			assert_true(err.code == RYE_IO || err.code == RYE_NOT_FOUND);
			assert_true(strstr(err.msg, "'f") || strstr(err.msg, "'g") ||
				    strstr(err.msg, "/f") || strstr(err.msg, "/g"));
			manifest_free(base);
			base = push(&b, NULL, true, &first);
			io_remove_tree(AT_FDCWD, copy, 12);
		}
		assert_true(same_trees(&b, copy));
		io_remove_tree(AT_FDCWD, copy, 12);
		assert_works(&told_err, depot_whole(b.depot, ME, base, NULL, &told_err));
	}
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_the_tree),
		cmocka_unit_test(no_wrong_byte_comes_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
