/* SPDX-License-Identifier: MIT */
/*
 * errand_past.c: what a model is to go on with: the threads of earlier runs of the same principal, put from the board
 * into the project of this one. Nothing of it is believed: the runner verifies each by the key of the user space,
 * which runs that trust the same keys share. On the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>

/* Threads of a chain, as a runner reads them. */
#define PAST_MAX 16
/* Of one file: a transcript has 64 MiB at most. */
#define PAST_PART (1u << 20)

static const char *const past_files[] = { "transcript.jsonl", "thread.json", "capabilities.md" };

static int past_file(struct errand *errand, int dir, const char *id, const char *name,
		     struct rye_err *err)
{
	struct board_part part = { id, name, 0 };
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	int r = 0;

	for (;;) {
		auto_buf struct rye_buf bytes = RYE_BUF_INIT;

		part.off = (int64_t)all.len;
		r = board_read(errand->worker->board, &part, PAST_PART, &bytes, err);
		if (r || !bytes.len || all.failed)
			break;
		buf_add(&all, bytes.data, bytes.len);
	}
	if (r || !all.len)
		return r;
	if (all.failed)
		return memory_fail(err);
	r = io_replace_at(dir, name, buf_span(&all), 0600);
	return r < 0 ? rye_fail_sys(err, -r, "%.200s of %s", name, id) : 0;
}

/* Its own predecessor, as its record names it; the runner that reads the chain checks it. */
static void past_before(int dir, char ret[ID_UUID_MAX])
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;

	*ret = '\0';
	if (io_read_at(dir, "thread.json", RYE_BUF_CAP, &text))
		return;
	doc = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
			 "thread.json", NULL);
	if (id_is_uuid(json_str(doc, "previous_thread_id")))
		snprintf(ret, ID_UUID_MAX, "%s", json_str(doc, "previous_thread_id"));
}

static int past_thread(struct errand *errand, const char *id, char ret_before[ID_UUID_MAX],
		       struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	char path[PATH_MAX + 128];
	struct board_run run;
	auto_close int dir = -1;
	int r = board_find(errand->worker->board, errand->order.asker, id, &run, err);

	if (r)
		return r;
	board_run_done(&run);
	/* below the node's directory, as errand_tree has made it */
	snprintf(path, sizeof(path), "%s/.ai/state/threads/%s",
		 errand->project + strlen(node->path) + 1, id);
	r = io_mkdirs_at(node->dir, path, 0700);
	if (r >= 0)
		r = dir = io_open_beneath(node->dir, path, O_RDONLY | O_DIRECTORY);
	if (r < 0)
		return rye_fail_sys(err, -r, "%s/%s", node->path, path);
	r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(past_files) && !r; i++)
		r = past_file(errand, dir, id, past_files[i], err);
	past_before(dir, ret_before);
	return r;
}

int errand_past(struct errand *errand, struct rye_err *err)
{
	char id[ID_UUID_MAX], before[ID_UUID_MAX];

	snprintf(id, sizeof(id), "%s", errand->order.previous);
	for (int i = 0; *id && i < PAST_MAX; i++) {
		struct rye_err why = { 0 };

		/* what is older than the last one may be gone */
		if (past_thread(errand, id, before, &why))
			return i ? 0 : rye_fail(err, why.code, "%s", why.msg);
		memcpy(id, before, sizeof(id));
	}
	return 0;
}
