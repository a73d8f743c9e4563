/* SPDX-License-Identifier: MIT */
/*
 * spool.h: what stands behind struct rye_text (rye/calls.h). A reader may come back to the bytes
 * of a version for as long as it has the file open, whatever became of the source, and the kernel
 * does not say when it closes it. So the bytes are kept as long as a node is, but not in memory:
 * the youngest lie there, the spool's thread moves the others to a file that has no name. There
 * they are encrypted under a key that ends with the process: nothing readable is left on the disk,
 * and bytes that anything changed there are an error, never served.
 */
#ifndef RYE_BASE_SPOOL_H
#define RYE_BASE_SPOOL_H

#include <rye/rye.h>

struct spool;

/* Bytes of texts in memory: a workspace of some thousand items never touches the disk. */
#define SPOOL_MEMORY (4u << 20)
/* Bytes of texts that lie here before a reader asks for them: of ten thousand items about 25 MB. */
#define SPOOL_UNREAD (32u << 20)

struct spool *spool_open(size_t memory); /* NULL: out of memory */
/* Ends its thread. Texts may outlive it; no more of them are moved. NULL is fine. */
void spool_close(struct spool *spool);

/* The blob is taken over, on failure too. spool NULL: always in memory. NULL: out of memory. */
struct rye_text *spool_keep(struct spool *spool, struct rye_blob *blob);

struct spool_counts {
	size_t memory, file; /* bytes of texts that lie there */
};
void spool_count(struct spool *spool, struct spool_counts *ret);
/* Is there a place for a text that no reader has asked for? */
bool spool_has_room(struct spool *spool);

#endif
