/* SPDX-License-Identifier: MIT */
/*
 * journal.c - texts that the mount shows of itself and that grow: its log, the changes of items.
 *
 * Owns the text and its lock. Called on every thread of the engine, also while that thread holds a
 * lock of the engine: it may only queue a notification, never send one. Followers see no NUL: a page
 * that was read before the last lines came is dropped before a size is told that lies behind it.
 */
#include "views/views.h"

#include "core/front.h"
#include "core/notify.h"
#include "scope.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_BYTES 1200
/* How far back the same change is looked for. */
#define REPEATS_MAX ((size_t)16 << 10)

struct journal {
	pthread_mutex_t lock;
	char *text;
	size_t len;
	size_t told; /* the size that the kernel may know */
	size_t seen; /* a reader may have seen what lies before */
	size_t queued; /* it may once it has dropped its pages; 0: it drops none */
	struct journal_how how;
	struct front *front;
	void (*copy)(void *arg, const char *line, size_t n); /* or NULL; constant, as its arg */
	void *copy_arg;
};

int journal_open(const struct journal_how *how, struct journal **ret)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return -ENOMEM;
	journal->text = malloc(2 * JOURNAL_MAX);
	if (!journal->text) {
		free(journal);
		return -ENOMEM;
	}
	journal->how = *how;
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

void journal_copy(struct journal *journal, void (*fn)(void *arg, const char *line, size_t n),
		  void *arg)
{
	journal->copy = fn;
	journal->copy_arg = arg;
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
	journal->seen -= MIN_OF(cut, journal->seen);
}

static struct node *journal_node(struct front *front, const char *name)
{
	struct tree_dir dir = { .sort = TREE_DOT, .path = "" };
	struct tree_key key;

	return tree_step(&dir, name, &key) ? NULL : node_peek(front->nodes, &key);
}

static void journal_tell(struct journal *journal);

/* On the notifications' thread: the kernel's pages have all bytes that there were when it was asked to
 * drop them. What has come since is told next. */
static void journal_told(void *arg)
{
	struct journal *journal = arg;
	bool more = false;

	{
		GUARD(&journal->lock);
		journal->told = journal->queued < journal->len ? journal->queued : journal->len;
		journal->queued = 0;
		more = journal->told < journal->len;
	}
	if (more)
		journal_tell(journal);
}

/* Pages are dropped from the beginning: the older half may just have gone. */
static void journal_tell(struct journal *journal)
{
	auto_node struct node *node = NULL;
	struct front *front = NULL;
	bool queue = false;

	{
		GUARD(&journal->lock);
		front = journal->front;
		if (!front)
			journal->told = journal->len;
		queue = front && !journal->queued;
		if (queue)
			journal->queued = journal->len;
	}
	if (!queue)
		return;
	node = journal_node(front, journal->how.name);
	if (!node || !notify_inode_then(front->notify, node, 0, journal_told, journal))
		journal_told(journal);
}

static void journal_add(struct journal *journal, const char *text, size_t n)
{
	{
		GUARD(&journal->lock);
		if (journal->len + n > 2 * JOURNAL_MAX)
			journal_shorten(journal);
		memcpy(journal->text + journal->len, text, n);
		journal->len += n;
		if (journal->told > journal->len)
			journal->told = journal->len;
	}
	journal_tell(journal);
}

/* "TIME text\n" in a line of at most LINE_MAX_BYTES; its length. */
static size_t journal_line(char line[LINE_MAX_BYTES], const char *text)
{
	time_t now = time(NULL);
	struct tm tm;
	size_t n = strftime(line, LINE_MAX_BYTES, "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &tm));

	n += (size_t)snprintf(line + n, LINE_MAX_BYTES - n, "%s", text);
	n = n < LINE_MAX_BYTES - 2 ? n : LINE_MAX_BYTES - 2;
	line[n++] = '\n';
	return n;
}

/* A line that no reader has seen stands for what it tells of, however often that is told. */
static bool journal_repeats(struct journal *journal, const char *line, size_t n)
{
	GUARD(&journal->lock);
	size_t from = MAX_OF(journal->seen, journal->len - MIN_OF(journal->len, REPEATS_MAX));
	const char *at = memmem(journal->text + from, journal->len - from, line, n);

	/* not where a name ends so */
	return at && (at == journal->text || at[-1] == '\n');
}

void journal_change(struct journal *journal, const char *path)
{
	char shown[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	size_t n;

	snprintf(shown, sizeof(shown), "%s", path);
	/* a name may hold what would look like another line */
	for (char *p = shown; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	n = journal_line(line, shown);
	if (!journal_repeats(journal, line, n))
		journal_add(journal, line, n);
}

void journal_log(void *arg, enum rye_level level, const char *module, const char *line)
{
	static const char *const words[] = { "error", "warning", "info", "debug" };
	struct journal *journal = arg;
	char said[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
	size_t n;

	if (level == RYE_LOG_DEBUG && !journal->how.debug)
		return;
	snprintf(said, sizeof(said), "%s %s: %s", words[level], module, line);
	n = journal_line(text, said);
	if (journal->how.echo)
		fprintf(stderr, "ryefs: %.*s", (int)n - 21, text + 21);
	if (journal->copy)
		journal->copy(journal->copy_arg, text, n);
	journal_add(journal, text, n);
}

struct rye_blob *journal_text(struct journal *journal)
{
	struct rye_blob *blob = NULL;

	GUARD(&journal->lock);
	journal->seen = journal->len;
	blob = rye_blob_new(journal->text, journal->len);
	return blob;
}

size_t journal_size(struct journal *journal)
{
	size_t len = 0;

	GUARD(&journal->lock);
	len = journal->told;
	journal->seen = MAX_OF(journal->seen, len);
	return len;
}
