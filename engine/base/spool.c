/* SPDX-License-Identifier: MIT */
/*
 * Texts, by age of their last use, and a file for the oldest. A text is written once, when memory
 * is short for the first time; later it only leaves memory again. Its place in the file is its
 * nonce, and no place is used twice: what has been released gives its blocks back, a segment at a
 * time. One thread, started when there is something to move, does all writing; readers read for
 * themselves. When the file cannot be written, texts stay in memory.
 *
 * `lock` guards the order, the places and the segments; it is not held during I/O and encryption.
 */
#include "base/spool.h"

#include "base/io.h"
#include "err.h"
#include "memory.h"
#include "scope.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define SEGMENT (1u << 20)
#define NOWHERE UINT64_MAX
#define TAG crypto_aead_chacha20poly1305_ietf_ABYTES

struct rye_text {
	_Atomic unsigned refs;
	uint32_t len;
	struct spool *spool; /* a reference, or NULL */
	/* What follows is guarded by the spool's lock; without a spool it never changes. */
	struct rye_blob *blob; /* NULL: in the file alone */
	struct rye_text *newer, *older; /* of those that have their blob */
	uint64_t at; /* in the file */
};

/* What begins at a multiple of SEGMENT in the file. */
struct segment {
	uint32_t texts; /* that lie in it, or with a part of theirs */
	bool bare; /* the last of them has gone: its blocks can be given back */
};

struct spool {
	_Atomic unsigned refs; /* the owner's, and one of each text */
	unsigned char key[crypto_aead_chacha20poly1305_ietf_KEYBYTES];
	size_t size; /* memory that is allowed */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t work;
	int fd; /* -1: nothing was written yet; open until the end then */
	struct rye_text *newest, *oldest;
	struct spool_counts counts;
	size_t limit; /* size, or more after the file could not be written */
	uint64_t end;
	struct segment *segments;
	size_t n_segments, n_bare;
	bool started, stop;
};

/* What the thread does next: a text is to be written, or a segment to be given back. */
struct spool_job {
	struct rye_text *text; /* a reference, or NULL */
	struct rye_blob *blob; /* a reference: its bytes, or those that leave memory */
	uint64_t at;
	size_t segment;
};

/* ---- opening and closing ---- */

struct spool *spool_open(size_t memory)
{
	struct spool *spool = sodium_init() < 0 ? NULL : calloc(1, sizeof(*spool));

	if (!spool)
		return NULL;
	spool->refs = 1;
	spool->fd = -1;
	spool->size = spool->limit = memory;
	crypto_aead_chacha20poly1305_ietf_keygen(spool->key);
	pthread_mutex_init(&spool->lock, NULL);
	pthread_cond_init(&spool->work, NULL);
	return spool;
}

static void spool_unref(struct spool *spool)
{
	if (!spool || atomic_fetch_sub_explicit(&spool->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (spool->fd >= 0)
		close(spool->fd);
	sodium_memzero(spool->key, sizeof(spool->key));
	pthread_cond_destroy(&spool->work);
	pthread_mutex_destroy(&spool->lock);
	free(spool->segments);
	free(spool);
}

void spool_close(struct spool *spool)
{
	bool started = false;

	if (!spool)
		return;
	{
		GUARD(&spool->lock);
		spool->stop = true;
		started = spool->started;
		pthread_cond_signal(&spool->work);
	}
	if (started)
		pthread_join(spool->thread, NULL);
	spool_unref(spool);
}

void spool_count(struct spool *spool, struct spool_counts *ret)
{
	GUARD(&spool->lock);
	*ret = spool->counts;
}

bool spool_has_room(struct spool *spool)
{
	struct spool_counts counts;

	spool_count(spool, &counts);
	return counts.memory + counts.file < SPOOL_UNREAD;
}

/* ---- the order; lock held ---- */

static void text_enlist(struct rye_text *text)
{
	struct spool *spool = text->spool;

	text->newer = NULL;
	text->older = spool->newest;
	*(spool->newest ? &spool->newest->newer : &spool->oldest) = text;
	spool->newest = text;
	spool->counts.memory += text->len;
}

static void text_delist(struct rye_text *text)
{
	struct spool *spool = text->spool;

	*(text->newer ? &text->newer->older : &spool->newest) = text->older;
	*(text->older ? &text->older->newer : &spool->oldest) = text->newer;
	spool->counts.memory -= text->len;
}

/* Its blob, for the caller to release without the lock. */
static struct rye_blob *text_shed(struct rye_text *text)
{
	if (text->blob)
		text_delist(text);
	return steal(&text->blob);
}

/* ---- the file; lock held ---- */

static bool place_reserve(struct spool *spool, size_t size, uint64_t *ret)
{
	size_t first = spool->end / SEGMENT, last = (spool->end + size - 1) / SEGMENT;

	if (last >= spool->n_segments) {
		size_t n = 2 * (last + 1);
		struct segment *more = realloc(spool->segments, n * sizeof(*more));

		if (!more)
			return false;
		memset(more + spool->n_segments, 0, (n - spool->n_segments) * sizeof(*more));
		spool->segments = more;
		spool->n_segments = n;
	}
	for (size_t i = first; i <= last; i++)
		spool->segments[i].texts++;
	*ret = spool->end;
	spool->end += size;
	spool->counts.file += size;
	return true;
}

static void place_release(struct spool *spool, uint64_t at, size_t size)
{
	for (size_t i = at / SEGMENT; i <= (at + size - 1) / SEGMENT; i++) {
		struct segment *segment = &spool->segments[i];

		if (--segment->texts || segment->bare)
			continue;
		segment->bare = true;
		spool->n_bare++;
	}
	spool->counts.file -= size;
	if (spool->n_bare)
		pthread_cond_signal(&spool->work);
}

/* A segment that no text lies in, or a number behind all. */
static size_t segment_take(struct spool *spool)
{
	for (size_t i = 0; i < spool->n_segments; i++) {
		struct segment *segment = &spool->segments[i];

		if (!segment->bare)
			continue;
		segment->bare = false;
		spool->n_bare--;
		if (!segment->texts)
			return i;
	}
	return spool->n_segments;
}

/* ---- the file; no lock ---- */

/* Never in a FUSE mount: it may be the one whose requests are answered with these bytes. */
static int spool_file_in(const char *dir)
{
	int fd = io_is_fuse(dir) ? -1 : open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	auto_free char *path = NULL;

	/* not every file system knows files without a name */
	if (fd >= 0 || io_is_fuse(dir) || asprintf(&path, "%s/ryefs-XXXXXX", dir) < 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int spool_file(void)
{
	const char *given = getenv("TMPDIR");
	int fd = given && *given == '/' ? spool_file_in(given) : -1;

	return fd >= 0 ? fd : spool_file_in("/var/tmp");
}

static void nonce_of(uint64_t at, unsigned char ret[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
	memset(ret, 0, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
	memcpy(ret, &at, sizeof(at));
}

static bool text_write(const struct spool *spool, int fd, const struct spool_job *job)
{
	unsigned char nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	size_t size = job->blob->len + TAG, done = 0;
	auto_free unsigned char *sealed = malloc(size);

	if (!sealed || fd < 0)
		return false;
	nonce_of(job->at, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(sealed, NULL,
						  (const unsigned char *)job->blob->data,
						  job->blob->len, NULL, 0, NULL, nonce, spool->key);
	while (done < size) {
		ssize_t n = pwrite(fd, sealed + done, size - done, (off_t)(job->at + done));

		if (n <= 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* NULL: it cannot be read, is not what was written, or memory is short. */
static struct rye_blob *spool_text_read(const struct rye_text *text)
{
	const struct spool *spool = text->spool;
	unsigned char nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	size_t size = text->len + TAG, done = 0;
	auto_free unsigned char *sealed = malloc(size);
	auto_blob struct rye_blob *blob = rye_blob_new(NULL, text->len);

	while (sealed && done < size) {
		ssize_t n = pread(spool->fd, sealed + done, size - done, (off_t)(text->at + done));

		if (!n || (n < 0 && errno != EINTR))
			return NULL;
		done += n > 0 ? (size_t)n : 0;
	}
	nonce_of(text->at, nonce);
	if (!sealed || !blob ||
	    crypto_aead_chacha20poly1305_ietf_decrypt((unsigned char *)blob->data, NULL, NULL,
						      sealed, size, NULL, 0, nonce, spool->key))
		return NULL;
	return steal(&blob);
}

/* ---- the thread ---- */

static bool over_limit(const struct spool *spool)
{
	return spool->counts.memory > spool->limit && spool->oldest;
}

/* False: its last reference has gone, another thread is about to free it. */
static bool text_try_ref(struct rye_text *text)
{
	unsigned refs = text->refs;

	while (refs && !atomic_compare_exchange_weak(&text->refs, &refs, refs + 1))
		;
	return refs;
}

/* Lock held. */
static void job_of_oldest(struct spool *spool, struct spool_job *ret)
{
	struct rye_text *text = spool->oldest;

	if (text->at != NOWHERE || !text_try_ref(text)) {
		ret->blob = text_shed(text);
		return;
	}
	ret->text = text;
	ret->blob = rye_blob_ref(text->blob);
	if (!place_reserve(spool, text->len + TAG, &ret->at))
		ret->at = NOWHERE;
}

/* Waits for something to do; false: the spool ends. */
static bool job_take(struct spool *spool, struct spool_job *ret)
{
	*ret = (struct spool_job){ .segment = SIZE_MAX };
	GUARD(&spool->lock);
	while (!spool->stop) {
		if (spool->n_bare)
			ret->segment = segment_take(spool);
		if (ret->segment < spool->n_segments)
			return true;
		if (over_limit(spool)) {
			job_of_oldest(spool, ret);
			return true;
		}
		if (!spool->n_bare)
			pthread_cond_wait(&spool->work, &spool->lock);
	}
	return false;
}

static void job_write(struct spool *spool, const struct spool_job *job)
{
	struct rye_text *text = job->text;
	auto_blob struct rye_blob *shed = NULL;
	int fd = spool->fd < 0 ? spool_file() : spool->fd;
	bool ok = job->at != NOWHERE && text_write(spool, fd, job);

	GUARD(&spool->lock);
	/* read without the lock by readers of texts that lie in it */
	if (spool->fd < 0)
		spool->fd = fd;
	if (ok) {
		text->at = job->at;
		shed = text_shed(text);
		spool->limit = spool->size;
		return;
	}
	if (job->at != NOWHERE)
		place_release(spool, job->at, text->len + TAG);
	/* tried again when as much has come again */
	spool->limit = spool->counts.memory + spool->size;
}

static void *spool_thread(void *arg)
{
	struct spool *spool = arg;
	struct spool_job job;
	sigset_t limits;

	/* at a limit of the size of files an errno is enough */
	sigemptyset(&limits);
	sigaddset(&limits, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limits, NULL);
	while (job_take(spool, &job)) {
		if (job.text)
			job_write(spool, &job);
		else if (!job.blob && spool->fd >= 0)
			(void)!fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					 (off_t)job.segment * SEGMENT, SEGMENT);
		rye_blob_unref(job.blob);
		rye_text_unref(job.text);
	}
	return NULL;
}

/* Lock held. */
static void spool_wake(struct spool *spool)
{
	if (!over_limit(spool) || spool->stop)
		return;
	if (!spool->started)
		spool->started = !pthread_create(&spool->thread, NULL, spool_thread, spool);
	pthread_cond_signal(&spool->work);
}

/* ---- texts ---- */

struct rye_text *spool_keep(struct spool *spool, struct rye_blob *blob)
{
	struct rye_text *text = memory_note(calloc(1, sizeof(*text)));

	if (!text || blob->len > UINT32_MAX - TAG) {
		rye_blob_unref(blob);
		free(text);
		return NULL;
	}
	text->refs = 1;
	text->len = (uint32_t)blob->len;
	text->blob = blob;
	text->at = NOWHERE;
	text->spool = spool;
	if (!spool)
		return text;
	atomic_fetch_add_explicit(&spool->refs, 1, memory_order_relaxed);
	GUARD(&spool->lock);
	text_enlist(text);
	spool_wake(spool);
	return text;
}

struct rye_text *rye_text_ref(struct rye_text *text)
{
	if (text)
		atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
	return text;
}

static struct rye_blob *text_leave(struct rye_text *text)
{
	struct spool *spool = text->spool;

	GUARD(&spool->lock);
	if (text->at != NOWHERE)
		place_release(spool, text->at, text->len + TAG);
	return text_shed(text);
}

void rye_text_unref(struct rye_text *text)
{
	if (!text || atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) != 1)
		return;
	rye_blob_unref(text->spool ? text_leave(text) : text->blob);
	spool_unref(text->spool);
	free(text);
}

size_t rye_text_len(const struct rye_text *text)
{
	return text->len;
}

/* In memory? Then it is the youngest from now on. */
static struct rye_blob *text_recall(struct rye_text *text)
{
	struct rye_blob *blob = NULL;

	GUARD(&text->spool->lock);
	if (text->blob) {
		blob = rye_blob_ref(text->blob);
		text_delist(text);
		text_enlist(text);
	}
	return blob;
}

static void text_return(struct rye_text *text, struct rye_blob *blob)
{
	GUARD(&text->spool->lock);
	if (text->blob)
		return;
	text->blob = rye_blob_ref(blob);
	text_enlist(text);
	spool_wake(text->spool);
}

int rye_text_get(struct rye_text *text, struct rye_blob **ret, struct rye_err *err)
{
	*ret = text->spool ? text_recall(text) : rye_blob_ref(text->blob);
	if (*ret || !text->spool)
		return 0;
	*ret = spool_text_read(text);
	if (!*ret)
		return rye_fail(err, RYE_IO,
				"the text of this version cannot be read back from the file in "
				"$TMPDIR or /var/tmp that holds it");
	text_return(text, *ret);
	return 0;
}
