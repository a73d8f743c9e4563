/* SPDX-License-Identifier: MIT */
/*
 * A depot whose packs were damaged: what is bad is not given out, all of it is found at once, and what is
 * sent after that mends it.
 */
#include "pack/pack.h"

#include "told.h"

#include "base/io.h"

#include <fcntl.h>
#include <unistd.h>

#define BLOBS 8
#define BLOB_LEN 40000
#define ME "0123456789abcdef"

struct shelf {
	char base[32], file[160]; /* file: of the pack */
	struct depot *depot;
	struct rye_buf pack;
	struct digest shas[BLOBS];
};

/* n blobs of noise, which are stored as they are, in one pack that was taken. */
static void shelf_start(struct shelf *s, size_t n)
{
	auto_packer struct packer *packer = packer_new();
	auto_free uint64_t *noise = calloc(BLOB_LEN, 1);
	uint64_t x = 88172645463325252u;
	char store[64], object[PACK_NAME_LEN];
	struct digest name;

	*s = (struct shelf){ .base = "/tmp/rye-depot-XXXXXX" };
	assert_non_null(mkdtemp(s->base));
	snprintf(store, sizeof(store), "%s/store", s->base);
	assert_works(&told_err, depot_open(store, &s->depot, &told_err));
	for (size_t i = 0; i < n; i++) {
		struct rye_span bytes = { (const char *)noise, BLOB_LEN };

		for (size_t k = 0; k < BLOB_LEN / sizeof(x); k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			noise[k] = x;
		}
		s->shas[i] = digest_of(bytes);
		assert_works(&told_err, packer_add(packer, &s->shas[i], bytes, &told_err));
	}
	assert_works(&told_err, packer_end(packer, &s->pack, &name, &told_err));
	assert_works(&told_err, depot_take(s->depot, ME, buf_span(&s->pack), -1, &told_err));
	pack_name(&name, object);
	snprintf(s->file, sizeof(s->file), "%s/%s", store, object);
	assert_int_equal(chmod(s->file, 0600), 0);
}

static void shelf_done(struct shelf *s)
{
	depot_close(s->depot);
	buf_done(&s->pack);
	io_remove_tree(AT_FDCWD, s->base, 8);
}

static int take_out(struct shelf *s, size_t i)
{
	auto_buf struct rye_buf blob = RYE_BUF_INIT;
	int r = depot_read(s->depot, ME, &s->shas[i], &blob, &told_err);

	if (!r) {
		struct digest is = digest_of(buf_span(&blob));

		assert_true(digest_is(&is, &s->shas[i]));
	}
	return r;
}

static void assert_used(struct shelf *s, size_t bytes, size_t holes)
{
	struct depot_used used;

	assert_works(&told_err, depot_used(s->depot, ME, &used, &told_err));
	assert_int_equal(used.bytes, bytes);
	assert_int_equal(used.holes, holes);
}

static void take_again(struct shelf *s, size_t n)
{
	assert_works(&told_err, depot_take(s->depot, ME, buf_span(&s->pack), -1, &told_err));
	for (size_t i = 0; i < n; i++)
		assert_works(&told_err, take_out(s, i));
	assert_used(s, s->pack.len, 0);
}

static void bad_bytes_are_not_kept(void **state)
{
	struct shelf s;
	int fd;

	shelf_start(&s, 1);
	fd = open(s.file, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "harm", 4, 1000), 4);
	close(fd);
	assert_refused(&told_err, RYE_IO, take_out(&s, 0));
	assert_refused(&told_err, RYE_NOT_FOUND, take_out(&s, 0));
	/* a pack of the same name, in which the frame lies at the same place */
	take_again(&s, 1);
	shelf_done(&s);
}

static void all_that_is_bad_is_found_at_once(void **state)
{
	unsigned char bits[1];
	struct shelf s;

	shelf_start(&s, BLOBS);
	/* six lie in the first frame, which stays */
	assert_int_equal(truncate(s.file, 7 * BLOB_LEN + 100), 0);
	assert_works(&told_err, take_out(&s, 0));
	assert_refused(&told_err, RYE_IO, take_out(&s, 7));
	assert_works(&told_err, depot_has(s.depot, ME, s.shas, BLOBS, bits, &told_err));
	assert_int_equal(bits[0], 0x3f);
	assert_used(&s, s.pack.len, 2);
	take_again(&s, BLOBS);
	shelf_done(&s);
}

static void a_pack_that_is_gone_counts_no_more(void **state)
{
	struct shelf s;

	shelf_start(&s, BLOBS);
	assert_int_equal(unlink(s.file), 0);
	assert_refused(&told_err, RYE_IO, take_out(&s, 3));
	assert_used(&s, 0, BLOBS);
	take_again(&s, BLOBS);
	shelf_done(&s);
}

static struct manifest *manifest_of(const struct digest *sha)
{
	struct manifest_line line = { MANIFEST_FILE, *sha, BLOB_LEN, "file" };
	struct manifest *manifest;

	assert_works(&told_err, manifest_make(&line, 1, &manifest, &told_err));
	return manifest;
}

static void a_manifest_is_whole_or_not(void **state)
{
	auto_manifest struct manifest *sound = NULL, *harmed = NULL;
	struct shelf s;

	shelf_start(&s, BLOBS);
	sound = manifest_of(&s.shas[0]);
	harmed = manifest_of(&s.shas[7]);
	assert_works(&told_err, depot_whole(s.depot, ME, harmed, NULL, &told_err));
	assert_int_equal(truncate(s.file, 7 * BLOB_LEN + 100), 0);
	assert_refused(&told_err, RYE_IO, take_out(&s, 6));
	assert_works(&told_err, depot_whole(s.depot, ME, sound, NULL, &told_err));
	assert_refused(&told_err, RYE_NOT_FOUND, depot_whole(s.depot, ME, harmed, NULL, &told_err));
	assert_works(&told_err, depot_whole(s.depot, ME, harmed, harmed, &told_err));
	shelf_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_bytes_are_not_kept),
		cmocka_unit_test(all_that_is_bad_is_found_at_once),
		cmocka_unit_test(a_pack_that_is_gone_counts_no_more),
		cmocka_unit_test(a_manifest_is_whole_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
