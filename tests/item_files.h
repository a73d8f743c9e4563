/* SPDX-License-Identifier: MIT */
#pragma once
/* item_files.h - files of private spaces, and the vectors of tests/vectors. */
#include "told.h"

#include "scope.h"
#include "base/io.h"
#include "str.h"

#include <fcntl.h>
#include <ftw.h>

static inline int place_remove_(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* A whole text file of tests/vectors, or of anywhere when name is absolute. */
static inline struct rye_blob *place_read(const char *name)
{
	char path[600];
	struct rye_blob *blob = NULL;
	int fd;

	if (*name == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/vectors/%s", getenv("RYE_TEST_SRC"), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_fd(fd, 1 << 20, &blob, NULL) < 0)
		fail_msg("cannot read %s", path);
	close(fd);
	return blob;
}

/* root: place->project …; path: below .ai */
static inline void place_write(const char *root, const char *path, struct rye_span bytes)
{
	char full[1400], dir[1400];
	char *slash;
	int fd;

	snprintf(full, sizeof(full), "%s/.ai/%.1000s", root, path);
	snprintf(dir, sizeof(dir), "%s", full);
	slash = strrchr(dir, '/');
	*slash = 0;
	for (char *c = dir + 1; *c; c++)
		if (*c == '/') {
			*c = 0;
			mkdir(dir, 0755);
			*c = '/';
		}
	mkdir(dir, 0755);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || io_write_all(fd, bytes.ptr, bytes.len) < 0)
		fail_msg("cannot write %s", full);
	close(fd);
}

static inline void place_put(const char *root, const char *path, const char *vector)
{
	struct rye_blob *blob = place_read(vector);

	place_write(root, path, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

static inline void place_text(const char *root, const char *path, const char *text)
{
	place_write(root, path, span_of(text));
}
