/* SPDX-License-Identifier: MIT */
/*
 * Texts: the same bytes for as long as they are held, a bounded part of them in memory, and an
 * error instead of bytes that were changed in the file.
 */
#include "rye_test.h"
#include "told.h"

#include "base/spool.h"
#include "clock.h"
#include "scope.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY (64u << 10)
#define MANY 2000
#define LEN 3000

static struct rye_text *keep(struct spool *spool, unsigned n, size_t len)
{
	struct rye_blob *blob = rye_blob_new(NULL, len);

	assert_non_null(blob);
	for (size_t i = 0; i < len; i++)
		blob->data[i] = (char)(n * 31 + i);
	return spool_keep(spool, blob);
}

static void is_kept(struct rye_text *text, unsigned n, size_t len)
{
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };

	assert_int_equal(rye_text_len(text), len);
	if (rye_text_get(text, &blob, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(blob->len, len);
	for (size_t i = 0; i < len; i++)
		if (blob->data[i] != (char)(n * 31 + i))
			fail_msg("text %u, byte %zu", n, i);
	rye_blob_unref(blob);
}

static struct spool_counts counts_of(struct spool *spool)
{
	struct spool_counts counts;

	spool_count(spool, &counts);
	return counts;
}

/* As much as may be, or less. */
static void until_small(struct spool *spool)
{
	int64_t end = clock_ms() + 10000;

	while (counts_of(spool).memory > MEMORY && clock_ms() < end)
		usleep(1000);
	assert_true(counts_of(spool).memory <= MEMORY);
}

/* The descriptor of the file: the one without a name that is open here. */
static int file_of(struct stat *ret)
{
	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && !ret->st_nlink)
			return fd;
	return -1;
}

static void many_texts(void **state)
{
	struct spool *spool = spool_open(MEMORY);
	struct rye_text **texts = calloc(MANY, sizeof(*texts));
	struct stat st;

	for (unsigned i = 0; i < MANY; i++)
		texts[i] = keep(spool, i, LEN + i % 7);
	until_small(spool);
	assert_true(counts_of(spool).file > (size_t)MANY * LEN - 2 * MEMORY);
	for (unsigned i = 0; i < MANY; i++)
		is_kept(texts[i], i, LEN + i % 7);
	until_small(spool);
	/* once they were written, nothing is written again */
	assert_true(file_of(&st) >= 0);
	assert_true(st.st_size < (off_t)MANY * (LEN + 7 + 16));
	for (unsigned i = 0; i < MANY; i++)
		rye_text_unref(texts[i]);
	assert_int_equal(counts_of(spool).memory, 0);
	assert_int_equal(counts_of(spool).file, 0);
	/* and the blocks go back */
	for (int i = 0; i < 10000 && fstat(file_of(&st), &st) == 0 && st.st_blocks > 16; i++)
		usleep(1000);
	assert_true(st.st_blocks <= 16);
	spool_close(spool);
	assert_int_equal(file_of(&st), -1);
	free(texts);
}

/* Until all that is kept lies in the file. */
static void until_written(struct spool *spool)
{
	for (int i = 0; i < 10000 && counts_of(spool).memory; i++)
		usleep(1000);
	assert_int_equal(counts_of(spool).memory, 0);
}

/* Texts of all sizes; some longer than a segment, one of nothing. */
static void sizes(void **state)
{
	static const size_t lens[] = { 0, 1, 4095, 4096, 70000, 1u << 20, (3u << 20) + 5, 17 };
	struct rye_text *texts[ARRAY_SIZE(lens)];
	struct spool *spool = spool_open(0);

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++)
		texts[i] = keep(spool, i, lens[i]);
	until_written(spool);
	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++)
		is_kept(texts[i], i, lens[i]);
	/* they may outlive it */
	spool_close(spool);
	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		is_kept(texts[i], i, lens[i]);
		rye_text_unref(texts[i]);
	}
}

/* What lies there does not tell which texts are equal, nor that one has come again. */
static void texts_of_equal_bytes(void **state)
{
	unsigned char sealed[3][LEN + 16];
	struct spool *spool = spool_open(0);
	struct rye_text *texts[3];
	struct stat st;

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		/* the first one has gone when the last one comes */
		if (i == 2)
			rye_text_unref(texts[0]);
		texts[i] = keep(spool, 1, LEN);
		until_written(spool);
		assert_int_equal(pread(file_of(&st), sealed[i], sizeof(sealed[i]),
				       (off_t)(i * sizeof(sealed[i]))),
				 sizeof(sealed[i]));
		assert_int_equal(st.st_size, (i + 1) * sizeof(sealed[i]));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		assert_memory_not_equal(sealed[i], sealed[(i + 1) % 3], LEN);
	for (unsigned i = 1; i < ARRAY_SIZE(texts); i++) {
		is_kept(texts[i], 1, LEN);
		rye_text_unref(texts[i]);
	}
	spool_close(spool);
}

static void spool_changed_file(void **state)
{
	struct spool *spool = spool_open(0);
	struct rye_text *text = keep(spool, 1, LEN);
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };
	struct stat st;
	char byte;
	int fd;

	until_written(spool);
	fd = file_of(&st);
	assert_int_equal(pread(fd, &byte, 1, 100), 1);
	/* what lies there cannot be read by others */
	assert_int_equal(st.st_mode & 07777, 0600);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
	assert_refused(&err, RYE_IO, rye_text_get(text, &blob, &err));
	assert_null(blob);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
	is_kept(text, 1, LEN);
	rye_text_unref(text);
	spool_close(spool);
}

/* No place to write: nothing is lost, and nothing is tried at each text. */
static void no_file(void **state)
{
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct rlimit before;
	struct spool *spool;
	struct rye_text *texts[100];

	getrlimit(RLIMIT_FSIZE, &before);
	for (int way = 0; way < 2; way++) {
		if (way)
			setrlimit(RLIMIT_FSIZE, &small);
		else
			setenv("TMPDIR", "/nowhere/at/all", 1);
		spool = spool_open(MEMORY);
		for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
			texts[i] = keep(spool, i, LEN);
		usleep(20000);
		for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
			is_kept(texts[i], i, LEN);
			rye_text_unref(texts[i]);
		}
		spool_close(spool);
		setrlimit(RLIMIT_FSIZE, &before);
		unsetenv("TMPDIR");
	}
}

struct readers {
	struct rye_text *texts[200];
	_Atomic bool stop;
};

static void *read_some(void *arg)
{
	struct readers *r = arg;

	for (unsigned i = 0; !r->stop; i = i * 7 + 1)
		is_kept(r->texts[i % ARRAY_SIZE(r->texts)], i % ARRAY_SIZE(r->texts), LEN);
	return NULL;
}

static void side_by_side(void **state)
{
	struct spool *spool = spool_open(MEMORY);
	struct readers r = { .stop = false };
	pthread_t threads[3];

	for (unsigned i = 0; i < ARRAY_SIZE(r.texts); i++)
		r.texts[i] = keep(spool, i, LEN);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_some, &r), 0);
	for (unsigned i = 0; i < 3000; i++) {
		struct rye_text *text = keep(spool, i, LEN);

		is_kept(text, i, LEN);
		rye_text_unref(text);
	}
	r.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(r.texts); i++)
		rye_text_unref(r.texts[i]);
	spool_close(spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_texts),	      cmocka_unit_test(sizes),
		cmocka_unit_test(spool_changed_file), cmocka_unit_test(no_file),
		cmocka_unit_test(side_by_side),	      cmocka_unit_test(texts_of_equal_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
