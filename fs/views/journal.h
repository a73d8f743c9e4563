/* SPDX-License-Identifier: MIT */
/*
 * journal.h: .ryefs/log: what the engine and the front had to say, newest last, the last
 * JOURNAL_MAX bytes at least. Has a lock of its own, taken last.
 */
#ifndef RYE_FS_VIEWS_JOURNAL_H
#define RYE_FS_VIEWS_JOURNAL_H

#include <rye/rye.h>

struct front;
struct journal;

/* A day of warnings; twice as much is kept before the older half goes. */
#define JOURNAL_MAX (256u << 10)

/* echo: lines go to stderr too (foreground). debug: the least important ones as well. */
int journal_open(bool echo, bool debug, struct journal **ret); /* 0 or -errno */
void journal_close(struct journal *journal);
/* From now on the kernel is told when the file grows. */
void journal_bind(struct journal *journal, struct front *front);
/* An rye_log_fn; arg: the journal. */
void journal_log(void *arg, enum rye_level level, const char *module, const char *line);
struct rye_blob *journal_text(struct journal *journal); /* a new reference; NULL: no memory */
size_t journal_size(struct journal *journal);

#endif
