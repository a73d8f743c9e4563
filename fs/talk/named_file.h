/* SPDX-License-Identifier: MIT */
/*
 * named_file.h: a draft, or request.json as one open file sees it. The latter's message is what was
 * written from its beginning on. Of named.h; no lock held.
 */
#ifndef RYE_FS_TALK_NAMED_FILE_H
#define RYE_FS_TALK_NAMED_FILE_H

#include "talk/talk_inner.h"

struct named_call;

struct named_file {
	_Atomic unsigned refs;
	struct named_call *call; /* a reference; immutable, like number */
	uint64_t number; /* among all */
	/* the store's lock: */
	char *data;
	size_t len, size;
	mode_t mode;
	struct timespec mtime;
	int64_t wrote_ns;
	struct feed feed;
	size_t end; /* so much of data was written from the beginning on */
	bool complete; /* a message ends there */
	struct rye_blob *sent; /* the last message of this file that was run, or NULL */
	int verdict; /* its errno */
	uint64_t newest; /* its number; at first that of the call's newest message */
	struct caller *writer; /* of an unfinished message, a reference, until it is told; or NULL */
};

/* NULL: out of memory, or of room. */
struct named_file *named_file_new(struct named_call *call, struct rye_span bytes, mode_t mode);
/* A file with the bytes of what was run; NULL: there is none, or no memory. */
struct named_file *named_request(struct named_call *call);
struct named_file *named_file_ref(struct named_file *file);
void named_file_unref(struct named_file *file); /* any lock; NULL is fine */
void named_file_stat(struct named_file *file, struct stat *st); /* size, mode, times */
struct rye_blob *named_file_blob(struct named_file *file); /* all of it; NULL: no memory */
size_t named_file_read(struct named_file *file, size_t off, char *ret, size_t size);
/* 0 or an errno. */
int named_file_write(struct named_file *file, size_t off, struct rye_span bytes);
int named_file_resize(struct named_file *file, size_t size);
void named_file_touch(struct named_file *file, const struct stat *want, int which);

/* What a write to request.json came to. */
struct named_wrote {
	int sys; /* 0, or its errno: why says it in words, if there is something to say */
	char why[FEED_WHY];
	bool complete; /* feed is a message to be run, request what is read back of it */
	bool more; /* request is what is read back now: blank lines came behind the message … */
	uint64_t newest; /* … of this number */
	bool waits; /* a message has begun and not ended */
	struct feed feed;
	struct rye_blob *request;
};
void named_file_say(struct named_file *file, size_t off, struct rye_span bytes,
		    struct named_wrote *ret);
void named_file_said(struct named_file *file, uint64_t number, int verdict); /* it was run */
/* Its message is not finished, and this caller, its writer, has to be told if it never will be. */
void named_file_await(struct named_file *file, struct caller *writer);
/* That caller, a reference, once: nothing came for so long, and no newer message; why says what is
 * missing. NULL: no. */
struct caller *named_file_unfinished(struct named_file *file, int64_t pause_ns, char why[FEED_WHY]);
/* A whole file's message; ret->feed is fed with it, or sys and why say why not. */
void named_message(struct rye_span bytes, struct named_wrote *ret);

#endif
