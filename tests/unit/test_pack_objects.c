/* SPDX-License-Identifier: MIT */
/*
 * Packs, manifests and the store `dir`: what was put in comes back, and nothing is believed of what
 * was changed, cut or made up.
 */
#include "pack/pack.h"
#include "store/store.h"

#include "str.h"
#include "told.h"

#include "base/io.h"

#include <fcntl.h>

static struct digest put(struct packer *packer, struct rye_span bytes)
{
	struct digest sha = digest_of(bytes);

	assert_works(&told_err, packer_add(packer, &sha, bytes, &told_err));
	return sha;
}

/* Twelve blobs: none, small ones, those that no compression helps, one beyond a frame. */
static void fill(struct rye_buf *pack, struct digest *name, struct digest shas[12])
{
	auto_packer struct packer *packer = packer_new();
	auto_free char *big = calloc(1, BLOB_MAX);
	uint64_t noise = 88172645463325252u;

	assert_non_null(packer);
	assert_non_null(big);
	for (size_t i = 0; i < BLOB_MAX; i++) {
		noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
		big[i] = (char)(i < 100000 ? noise : i / 1000);
	}
	shas[0] = put(packer, (struct rye_span){ "", 0 });
	for (size_t i = 1; i < 10; i++)
		shas[i] = put(packer, (struct rye_span){ big + 1000 * i, 40000 });
	shas[10] = put(packer, (struct rye_span){ big, BLOB_MAX });
	shas[11] = put(packer, (struct rye_span){ "", 0 });
	assert_int_equal(packer_count(packer), 12);
	assert_works(&told_err, packer_end(packer, pack, name, &told_err));
	assert_int_equal(packer_count(packer), 0);
}

static void packs_are_read_back(void **state)
{
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_free struct pack_place *places = NULL;
	struct digest shas[12], name, again;
	size_t n;

	fill(&pack, &name, shas);
	assert_true(pack.len < BLOB_MAX);
	assert_works(&told_err, pack_verify(buf_span(&pack), &places, &n, &again, &told_err));
	assert_int_equal(n, 12);
	assert_true(digest_is(&name, &again));
	for (size_t i = 0; i < n; i++) {
		auto_buf struct rye_buf blob = RYE_BUF_INIT;
		struct rye_span frame = { pack.data + places[i].off, places[i].zlen };
		struct digest is;

		assert_true(digest_is(&places[i].sha, &shas[i]));
		assert_works(&told_err, pack_unpack(frame, &places[i], &blob, &told_err));
		is = digest_of(buf_span(&blob));
		assert_true(digest_is(&is, &shas[i]));
		frame.len -= !!frame.len;
		if (places[i].zlen)
			assert_refused(&told_err, RYE_IO,
				       pack_unpack(frame, &places[i], &blob, &told_err));
	}
}

static bool is_taken(struct rye_span pack)
{
	auto_free struct pack_place *places = NULL;
	struct digest name;
	size_t n;

	return !pack_verify(pack, &places, &n, &name, NULL);
}

/* The digest at the end made right again, as one with bad intent would do. */
static void mend(struct rye_buf *pack)
{
	struct digest sha = digest_of((struct rye_span){ pack->data, pack->len - SHA_LEN });

	memcpy(pack->data + pack->len - SHA_LEN, sha.bytes, SHA_LEN);
}

static void packs_that_were_changed(void **state)
{
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	struct digest shas[12], name;
	size_t index;

	fill(&pack, &name, shas);
	for (size_t i = 0; i < pack.len; i += i < pack.len - 700 ? 997 : 1) {
		pack.data[i] ^= 1;
		assert_false(is_taken(buf_span(&pack)));
		pack.data[i] ^= 1;
	}
	for (size_t len = 0; len < pack.len; len += 997)
		assert_false(is_taken((struct rye_span){ pack.data, len }));
	/* numbers of the index, each bit of each: refused, but where a blob without bytes lies */
	index = pack.len - SHA_LEN - 8 - 12 * (SHA_LEN + 12);
	for (size_t i = index; i < pack.len - SHA_LEN; i++) {
		pack.data[i] ^= 0x40;
		mend(&pack);
		if (i >= index + SHA_LEN + 12 && i < pack.len - SHA_LEN - 8 - (SHA_LEN + 12))
			assert_false(is_taken(buf_span(&pack)));
		else
			is_taken(buf_span(&pack));
		pack.data[i] ^= 0x40;
	}
	mend(&pack);
	assert_true(is_taken(buf_span(&pack)));
}

static void a_packer_has_a_bound(void **state)
{
	auto_packer struct packer *packer = packer_new();
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_free char *noise = malloc(BLOB_MAX);
	uint64_t x = 1;
	struct digest name;
	int n = 0;

	for (size_t i = 0; i < BLOB_MAX; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		noise[i] = (char)x;
	}
	for (; packer_has_room(packer, BLOB_MAX); n++) {
		noise[0] = (char)n;
		put(packer, (struct rye_span){ noise, BLOB_MAX });
	}
	assert_int_equal(n, 3);
	assert_works(&told_err, packer_end(packer, &pack, &name, &told_err));
	assert_in_range(pack.len, 3 * BLOB_MAX, PACK_MAX);
	assert_true(is_taken(buf_span(&pack)));
	for (n = 0; packer_has_room(packer, 0); n++)
		put(packer, (struct rye_span){ "", 0 });
	assert_int_equal(n, PACK_BLOBS);
}

#define SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static int parse(const char *text, struct manifest **ret)
{
	auto_blob struct rye_blob *blob = rye_blob_new(text, strlen(text));

	return manifest_parse(blob, ret, &told_err);
}

static void manifests(void **state)
{
	auto_manifest struct manifest *m = NULL, *made = NULL;
	struct manifest_line lines[4];

	assert_works(&told_err, parse("644 " SHA " 0 a\n755 " SHA " 12 a.b/c d\nL " SHA " 3 a.b/e\n"
				      "C644 " SHA " 9000000 b/ä\n",
				      &m));
	assert_int_equal(m->n, 4);
	assert_string_equal(m->v[1].path, "a.b/c d");
	assert_int_equal(m->v[1].mode, MANIFEST_EXEC);
	assert_int_equal(m->v[3].size, 9000000);
	assert_ptr_equal(manifest_find(m, "a.b/e"), &m->v[2]);
	assert_null(manifest_find(m, "a.b"));
	assert_null(manifest_find(m, "c"));
	for (size_t i = 0; i < 4; i++)
		lines[i] = m->v[3 - i];
	assert_works(&told_err, manifest_make(lines, 4, &made, &told_err));
	assert_true(digest_is(&made->name, &m->name));
	manifest_free(steal(&made));
	assert_works(&told_err, manifest_make(lines, 0, &made, &told_err));
	assert_int_equal(made->n, 0);
}

static void manifests_that_are_refused(void **state)
{
	static const char *const bad[] = {
		"644 " SHA " 0 ../a\n",
		"644 " SHA " 0 a/../b\n",
		"644 " SHA " 0 ./a\n",
		"644 " SHA " 0 a/.\n",
		"644 " SHA " 0 /a\n",
		"644 " SHA " 0 a//b\n",
		"644 " SHA " 0 a/\n",
		"644 " SHA " 0 \n",
		"644 " SHA " 0 a\\b\n",
		"644 " SHA " 0 a\tb\n",
		"644 " SHA " 0 a\xff\n",
		"644 " SHA " 0 a\n644 " SHA " 0 a\n",
		"644 " SHA " 0 b\n644 " SHA " 0 a\n",
		"644 " SHA " 0 a\n644 " SHA " 0 a.b\n644 " SHA " 0 a/b\n",
		"644 " SHA " 0 a/b\n644 " SHA " 0 a/b/c/d\n",
		"644 " SHA " 0 a",
		"644 " SHA " 00 a\n",
		"644 " SHA " -1 a\n",
		"644 " SHA " 4194305 a\n",
		"L " SHA " 4096 a\n",
		"C644 " SHA " 17179869185 a\n",
		"600 " SHA " 0 a\n",
		"644 " SHA "0 0 a\n",
		"644 E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 a\n",
		"\n",
	};
	auto_blob struct rye_blob *nul = rye_blob_new("644 " SHA " 0 a\0b\n", 74);
	struct manifest *m;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], &m) != -RYE_INVALID)
			fail_msg("taken: %s", bad[i]);
	assert_refused(&told_err, RYE_INVALID, manifest_parse(nul, &m, &told_err));
}

static struct rye_blob *tree_of(size_t n, size_t changed)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		char hex[SHA_HEX], bytes[40];
		int len = snprintf(bytes, sizeof(bytes), "%zu %d", i, changed && i % changed == 0);

		sha256_hex((struct rye_span){ bytes, (size_t)len }, hex);
		buf_addf(&text, "644 %s %zu src/%05zu/file-%05zu.c\n", hex, i, i / 40, i);
	}
	return buf_blob(&text);
}

static size_t shrunk(const struct rye_blob *base, const struct rye_blob *text)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	auto_blob struct rye_blob *again = NULL;
	struct rye_blob *none;

	assert_works(&told_err, manifest_shrink(base, text, &bytes, &told_err));
	assert_works(&told_err, manifest_grow(base, buf_span(&bytes), &again, &told_err));
	assert_int_equal(again->len, text->len);
	assert_memory_equal(again->data, text->data, text->len);
	assert_refused(&told_err, RYE_IO,
		       manifest_grow(base, (struct rye_span){ bytes.data, bytes.len - 1 }, &none,
				     &told_err));
	return bytes.len;
}

static void differences_are_small(void **state)
{
	auto_blob struct rye_blob *old = tree_of(20000, 0), *new = tree_of(20000, 100);
	auto_blob struct rye_blob *manifest = tree_of(7, 0);

	assert_in_range(shrunk(old, old), 1, 1024);
	assert_in_range(shrunk(old, new), 1024, 20 << 10);
	assert_in_range(shrunk(NULL, new), 600 << 10, 1 << 20);
	shrunk(NULL, manifest);
}

static int count(void *arg, const struct store_object *object)
{
	assert_string_equal(object->name, "packs/ab/c0");
	assert_int_equal(object->size, 5);
	++*(int *)arg;
	return 0;
}

static void stores_keep_what_they_have(void **state)
{
	static const char *const bad[] = { "",	    "/a", "a/",	 "a//b", "../a",
					   "a/./b", "A",  "a_b", "a b" };
	char dir[] = "/tmp/rye-store-XXXXXX", where[64];
	auto_buf struct rye_buf got = RYE_BUF_INIT;
	struct store_range range = { "packs/ab/c0", 1, 3 };
	struct store *store;
	int n = 0;

	assert_non_null(mkdtemp(dir));
	snprintf(where, sizeof(where), "dir:%s/store", dir);
	assert_refused(&told_err, RYE_INVALID, store_open("s4:x", &store, &told_err));
	assert_works(&told_err, store_open(where, &store, &told_err));
	assert_works(&told_err, store_put(store, "packs/ab/c0", span_of("f!rst"), &told_err));
	assert_works(&told_err, store_put(store, "packs/ab/c0", span_of("first"), &told_err));
	assert_works(&told_err, store_get(store, &range, &got, &told_err));
	assert_string_equal(got.data, "irs");
	range.len = 5;
	assert_refused(&told_err, RYE_IO, store_get(store, &range, &got, &told_err));
	range.len = STORE_WHOLE;
	assert_works(&told_err, store_get(store, &range, &got, &told_err));
	assert_string_equal(got.data, "irsirst");
	range.name = "packs/ab/c1";
	assert_refused(&told_err, RYE_NOT_FOUND, store_get(store, &range, &got, &told_err));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(&told_err, RYE_INVALID,
			       store_put(store, bad[i], span_of("x"), &told_err));
	assert_works(&told_err, store_list(store, count, &n, &told_err));
	assert_int_equal(n, 1);
	assert_works(&told_err, store_del(store, "packs/ab/c0", &told_err));
	assert_works(&told_err, store_del(store, "packs/ab/c0", &told_err));
	store_close(store);
	io_remove_tree(AT_FDCWD, dir, 8);
}

/* ---- belts ---- */

struct heard {
	int order[64];
	int n, bad; /* the one that fails */
	int dropped; /* in all */
};

static struct heard heard;

static int hear_thing(void *arg, void *what, struct rye_err *err)
{
	struct heard *to = arg;
	int number = *(int *)what;

	to->order[to->n++] = number;
	return number == to->bad ? rye_fail(err, RYE_BUDGET, "number %d", number) : 0;
}

static void drop_thing(void *what)
{
	__atomic_add_fetch(&heard.dropped, 1, __ATOMIC_RELAXED);
	free(what);
}

static int put_number(struct belt *belt, int number)
{
	int *thing = malloc(sizeof(*thing));

	*thing = number;
	return belt_put(belt, thing, 10, &told_err);
}

static void a_belt_does_things_in_turn(void **state)
{
	/* room for two of them */
	const struct belt_ask ask = { hear_thing, drop_thing, &heard, 20 };
	struct belt *belt;
	int r = 0;

	heard = (struct heard){ .bad = -1 };
	belt = belt_new(&ask);
	for (int i = 0; i < 60; i++)
		assert_works(&told_err, put_number(belt, i));
	assert_works(&told_err, belt_drain(belt, &told_err));
	assert_int_equal(heard.n, 60);
	for (int i = 0; i < 60; i++)
		assert_int_equal(heard.order[i], i);
	belt_free(belt);
	assert_int_equal(heard.dropped, 60);
	/* behind one that fails none is done, and the thread that puts them is told */
	heard = (struct heard){ .bad = 3 };
	belt = belt_new(&ask);
	for (int i = 0; i < 60; i++)
		r = put_number(belt, i);
	assert_int_equal(r, -RYE_BUDGET);
	assert_string_equal(told_err.msg, "number 3");
	assert_int_equal(belt_drain(belt, NULL), -RYE_BUDGET);
	belt_free(belt);
	assert_int_equal(heard.n, 4);
	assert_int_equal(heard.dropped, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_are_read_back),
		cmocka_unit_test(packs_that_were_changed),
		cmocka_unit_test(a_packer_has_a_bound),
		cmocka_unit_test(a_belt_does_things_in_turn),
		cmocka_unit_test(manifests),
		cmocka_unit_test(manifests_that_are_refused),
		cmocka_unit_test(differences_are_small),
		cmocka_unit_test(stores_keep_what_they_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
