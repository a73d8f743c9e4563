/* SPDX-License-Identifier: MIT */
/*
 * journal.c - the log that the mount shows of itself.
 *
 * Owns the text and its lock. Called on every thread of the engine, also while that thread holds a
 * lock of the engine: it may only queue a notification, never send one.
 */
#include "views/views.h"

#include "core/front.h"
#include "core/notify.h"
#include "scope.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_BYTES 1200

struct journal {
	pthread_mutex_t lock;
	char *text;
	size_t len;
	bool echo, debug;
	struct front *front;
};

int journal_open(bool echo, bool debug, struct journal **ret)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return -ENOMEM;
	journal->text = malloc(2 * JOURNAL_MAX);
	if (!journal->text) {
		free(journal);
		return -ENOMEM;
	}
	journal->echo = echo;
	journal->debug = debug;
	pthread_mutex_init(&journal->lock, NULL);
	*ret = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	pthread_mutex_destroy(&journal->lock);
	free(journal->text);
	free(journal);
}

void journal_bind(struct journal *journal, struct front *front)
{
	GUARD(&journal->lock);
	journal->front = front;
}

/* Lock held. The older half goes, at a line's end. */
static void journal_shorten(struct journal *journal)
{
	char *from = memchr(journal->text + JOURNAL_MAX, '\n', journal->len - JOURNAL_MAX);
	size_t cut = from ? (size_t)(from + 1 - journal->text) : journal->len;

	memmove(journal->text, journal->text + cut, journal->len - cut);
	journal->len -= cut;
}

static struct node *node_of(struct front *front)
{
	struct tree_dir dir = { .sort = TREE_DOT, .path = "" };
	struct tree_key key;

	return tree_step(&dir, "log", &key) ? NULL : node_peek(front->nodes, &key);
}

void journal_log(void *arg, enum rye_level level, const char *module, const char *line)
{
	static const char *const words[] = { "error", "warning", "info", "debug" };
	struct journal *journal = arg;
	struct front *front = NULL;
	char text[LINE_MAX_BYTES], stamp[32];
	time_t now = time(NULL);
	struct tm tm;
	int n;

	if (level == RYE_LOG_DEBUG && !journal->debug)
		return;
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	n = snprintf(text, sizeof(text) - 1, "%s %s %s: %s", stamp, words[level], module, line);
	n = n < LINE_MAX_BYTES - 2 ? n : LINE_MAX_BYTES - 2;
	text[n++] = '\n';
	if (journal->echo)
		fprintf(stderr, "ryefs: %.*s", n - 21, text + 21);
	{
		GUARD(&journal->lock);
		if (journal->len + (size_t)n > 2 * JOURNAL_MAX)
			journal_shorten(journal);
		memcpy(journal->text + journal->len, text, (size_t)n);
		journal->len += (size_t)n;
		front = journal->front;
	}
	if (front) {
		auto_node struct node *node = node_of(front);

		/* from the beginning: the older half may just have gone */
		if (node)
			notify_inode(front->notify, node, 0);
	}
}

struct rye_blob *journal_text(struct journal *journal)
{
	struct rye_blob *blob = NULL;

	GUARD(&journal->lock);
	blob = rye_blob_new(journal->text, journal->len);
	return blob;
}

size_t journal_size(struct journal *journal)
{
	size_t len = 0;

	GUARD(&journal->lock);
	len = journal->len;
	return len;
}
