/* SPDX-License-Identifier: MIT */
/*
 * errand_tell.c: a run's files, on the board: what grows as it grows, the others at the end. Each is read from
 * where the last part ended, so nothing is told twice. No lock: the worker's thread alone.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one part: a frame carries it. */
#define PART_MAX (1u << 20)
/* Of one file that is told at the end. */
#define TOLD_MAX RYE_BUF_CAP

/* Of all files that are told with the end, and how many: one transaction in place of one for each. */
#define PIECES_MAX (1u << 20)
#define PIECES_N 16

struct errand_pieces {
	size_t n, bytes;
	struct board_piece v[PIECES_N];
	struct rye_blob *text[PIECES_N]; /* of v */
	char name[PIECES_N][NAME_MAX + 1];
};

static void pieces_clear(struct errand_pieces *pieces)
{
	while (pieces->n)
		rye_blob_unref(pieces->text[--pieces->n]);
	pieces->bytes = 0;
}

void errand_pieces_end(struct errand *errand, struct board_end *end)
{
	struct errand_pieces *pieces = errand->pieces;

	if (end && pieces) {
		end->pieces = pieces->v;
		end->n = pieces->n;
	} else if (pieces) {
		pieces_clear(pieces);
		free(steal(&errand->pieces));
	}
}

/* False: it is told by itself. */
static bool pieces_take(struct errand *errand, int dir, const char *name, off_t size)
{
	struct errand_pieces *pieces = errand->pieces;
	struct rye_blob *text = NULL;
	char *kept;

	if (!pieces || pieces->n == PIECES_N || size > PIECES_MAX ||
	    io_read_at(dir, name, PIECES_MAX - pieces->bytes, &text))
		return false;
	kept = pieces->name[pieces->n];
	snprintf(kept, NAME_MAX + 1, "%s", name);
	pieces->text[pieces->n] = text;
	pieces->v[pieces->n++] =
		(struct board_piece){ { errand->claim.id, kept, 0 }, { text->data, text->len } };
	pieces->bytes += text->len;
	return true;
}

struct telling_file {
	const char *name;
	int64_t *at; /* how much was told */
};

/* From `at` to what is there now. */
static int tell_file(struct errand *errand, int dir, const struct telling_file *what,
		     struct rye_err *err)
{
	auto_free char *bytes = malloc(PART_MAX);
	auto_close int fd = io_open_beneath(dir, what->name, O_RDONLY | O_NOFOLLOW);
	struct board_part part = { errand->claim.id, what->name, 0 };
	ssize_t n;
	int r = 0;

	if (fd < 0 || !bytes)
		return 0; /* not there yet */
	while (!r && *what->at < TOLD_MAX && (n = pread(fd, bytes, PART_MAX, *what->at)) > 0) {
		part.off = *what->at;
		r = board_write(errand->worker->board, &errand->claim, &part,
				(struct rye_span){ bytes, (size_t)n }, err);
		if (!r)
			*what->at += n;
	}
	return r;
}

static int tell_growing(struct errand *errand, int dir, struct rye_err *err)
{
	const struct telling_file growing[] = { { "live", &errand->live },
						{ "transcript.jsonl", &errand->story },
						{ BOARD_ANSWERS, &errand->answers } };
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(growing); i++)
		r = tell_file(errand, dir, &growing[i], err);
	return r;
}

int errand_tell(struct errand *errand, struct rye_err *err)
{
	auto_close int dir = threads_dir(errand->threads, errand->order.id, NULL);

	int r = dir < 0 ? 0 : tell_growing(errand, dir, err);

	return r || dir < 0 ? r : errand_news(errand, err);
}

/* Those that say where its process was, or are this machine's own, stay here. */
static bool is_told(const char *name)
{
	static const char *const kept[] = { "runner.json",	"request.json", "live",
					    "transcript.jsonl", BOARD_ANSWERS,	BOARD_NEWS };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!strcmp(name, kept[i]))
			return false;
	return name[0] != '.';
}

int errand_tell_all(struct errand *errand, struct rye_err *err)
{
	int fd = threads_dir(errand->threads, errand->order.id, err);
	auto_dir DIR *files = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	int r;

	if (!files) {
		if (fd >= 0)
			close(fd);
		return -(int)RYE_NOT_FOUND;
	}
	if (errand->pieces)
		pieces_clear(errand->pieces);
	else
		errand->pieces = memory_note(calloc(1, sizeof(*errand->pieces)));
	r = tell_growing(errand, dirfd(files), err);
	while (!r && (entry = readdir(files))) {
		int64_t at = 0;

		if (is_told(entry->d_name) &&
		    !fstatat(dirfd(files), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) &&
		    !pieces_take(errand, dirfd(files), entry->d_name, st.st_size))
			r = tell_file(errand, dirfd(files),
				      &(struct telling_file){ entry->d_name, &at }, err);
	}
	return r;
}
