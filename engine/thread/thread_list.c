/* SPDX-License-Identifier: MIT */
/*
 * The ids of the threads: every row, also one without a directory, as other implementations leave
 * them. A mount asks for them at every lookup of
 * state/threads, so they are kept until the registry or the directory has changed; both are
 * asked each time, since other processes start and delete threads too.
 * Lock: threads->lock guards what is kept; the disk is read without it.
 */
#include "thread/thread_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <sys/stat.h>

/* A change within this time of the last one may bear the same time stamp. */
#define SETTLED_NS 20000000ll
/* A directory in a directory goes without the outer one's knowledge. */
#define NESTED_MS 1000

static int thread_list_listed(void *arg, const struct registry_row *row)
{
	struct rye_buf *ids = arg;

	buf_add(ids, row->thread_id, strlen(row->thread_id) + 1);
	return 0;
}

/* The registry may come with a clone: what it names must be an id. */
static bool is_there(int root, bool by_row, const char *id)
{
	auto_close int dir = -1;

	if (by_row)
		return thread_id_check(id, NULL) == 0;
	dir = root < 0 ? -1 : thread_dir(root, id, false, NULL);
	return dir >= 0;
}

static int thread_list_state_of(struct db *db, int root, struct list_state *ret,
				struct rye_err *err)
{
	struct timespec now;
	struct stat st;

	*ret = (struct list_state){ .until_ms = INT64_MAX };
	if (root >= 0 && fstat(root, &st) == 0) {
		clock_gettime(CLOCK_REALTIME, &now);
		ret->ino = st.st_ino;
		ret->ctime_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
		if (now.tv_sec * 1000000000ll + now.tv_nsec - ret->ctime_ns < SETTLED_NS)
			ret->until_ms = 0;
	}
	return registry_version(db, ret->version, err);
}

static bool is_kept(const struct threads *threads, const struct list_state *state)
{
	const struct list_state *kept = &threads->list_state;

	return threads->list && kept->ino == state->ino && kept->ctime_ns == state->ctime_ns &&
	       !memcmp(kept->version, state->version, sizeof(kept->version)) &&
	       clock_ms() < kept->until_ms;
}

/* Takes the list; the number stays when it says what the old one said. */
static void thread_list_keep(struct threads *threads, const struct list_state *state,
			     struct rye_blob *list)
{
	struct rye_blob *old = threads->list;

	if (!old || old->len != list->len || memcmp(old->data, list->data, list->len))
		threads->list_number++;
	threads->list = rye_blob_ref(list);
	threads->list_state = *state;
	rye_blob_unref(old);
}

static int read_list(struct db *db, int root, struct list_state *state, struct rye_blob **ret,
		     struct rye_err *err)
{
	auto_buf struct rye_buf all = RYE_BUF_INIT, ids = RYE_BUF_INIT;
	bool by_row = thread_registry_there(root);
	int r = registry_each(db, false, thread_list_listed, &all, err);

	if (r)
		return r;
	for (size_t at = 0; at < all.len; at += strlen(all.data + at) + 1) {
		if (is_there(root, by_row, all.data + at))
			buf_add(&ids, all.data + at, strlen(all.data + at) + 1);
		if (strchr(all.data + at, '/') && state->until_ms)
			state->until_ms = clock_ms() + NESTED_MS;
	}
	*ret = all.failed || ids.failed ? NULL : buf_blob(&ids);
	return *ret ? 0 : memory_fail(err);
}

static int get_list_once(struct threads *threads, struct rye_blob **ret, uint64_t *ret_number,
			 struct rye_err *err)
{
	auto_close int root = -1;
	auto_blob struct rye_blob *list = NULL;
	struct list_state state;
	struct db *db;
	int r = threads_registry(threads, false, &db, err);

	if (r)
		return r;
	root = thread_root(threads->env.opt->project, false, NULL);
	r = thread_list_state_of(db, root, &state, err);
	if (r)
		return r;
	{
		GUARD(&threads->lock);
		if (is_kept(threads, &state)) {
			list = rye_blob_ref(threads->list);
			*ret_number = threads->list_number;
		}
	}
	if (!list) {
		r = read_list(db, root, &state, &list, err);
		if (r)
			return r;
		GUARD(&threads->lock);
		thread_list_keep(threads, &state, list);
		*ret_number = threads->list_number;
	}
	*ret = steal(&list);
	return 0;
}

/* A reference to all ids, each with its NUL, and the list's number. */
static int get_list(struct threads *threads, struct rye_blob **ret, uint64_t *ret_number,
		    struct rye_err *err)
{
	int r = get_list_once(threads, ret, ret_number, err);

	/* damaged while it was open: there is another one now */
	return r == -(int)RYE_UNPARSABLE ? get_list_once(threads, ret, ret_number, err) : r;
}

int threads_list(struct threads *threads, rye_name_fn fn, void *arg, struct rye_err *err)
{
	auto_blob struct rye_blob *list = NULL;
	struct rye_err none = { 0 };
	uint64_t number;
	int r = get_list(threads, &list, &number, &none);

	if (r == -(int)RYE_NOT_FOUND)
		return 0;
	if (r) {
		if (err)
			*err = none;
		return r;
	}
	for (size_t at = 0; at < list->len; at += strlen(list->data + at) + 1)
		if (fn(arg, list->data + at))
			break;
	return 0;
}

static int keep_row(void *arg, const struct registry_row *row)
{
	const char *const texts[] = { row->thread_id, row->status, row->directive, row->created_at,
				      row->completed_at };
	struct rye_buf *rows = arg;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		buf_add(rows, texts[i], strlen(texts[i]) + 1);
	return 0;
}

/* From one of the texts that keep_row has put behind one another to the next. */
static const char *next_text(const char **at)
{
	const char *text = *at;

	*at += strlen(text) + 1;
	return text;
}

int threads_rows(struct threads *threads, rye_thread_row_fn fn, void *arg, struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	bool by_row = thread_registry_there(root);
	auto_buf struct rye_buf rows = RYE_BUF_INIT;
	struct rye_err why = { 0 };
	struct db *db;
	int r = threads_registry(threads, false, &db, &why);

	if (!r)
		r = registry_each(db, false, keep_row, &rows, &why);
	if (!r && rows.failed)
		r = memory_fail(&why);
	for (const char *at = rows.data; !r && at < rows.data + rows.len;) {
		struct rye_thread_row row = { .id = next_text(&at) };

		row.status = next_text(&at);
		row.directive = next_text(&at);
		row.created = next_text(&at);
		row.completed = next_text(&at);
		row.ended = registry_terminal(row.status);
		if (is_there(root, by_row, row.id) && fn(arg, &row))
			break;
	}
	if (r && r != -(int)RYE_NOT_FOUND && err)
		*err = why;
	return r == -(int)RYE_NOT_FOUND ? 0 : r;
}

uint64_t threads_list_number(struct threads *threads)
{
	auto_blob struct rye_blob *list = NULL;
	struct rye_err none = { 0 };
	uint64_t number = 0;

	return get_list(threads, &list, &number, &none) ? 0 : number;
}
