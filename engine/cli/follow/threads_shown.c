/* SPDX-License-Identifier: MIT */
/*
 * What several threads are to each other and have cost, and what one says while it runs: tree, cost
 * and tail of `ryefs threads`. All of it is read from the files that a mount shows.
 */
#include "cli/follow/follow.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

char *threads_fact(struct cli *cli, const char *id, const char *name)
{
	struct rye_blob *blob = NULL;
	char *text = NULL;

	if (rye_thread_file(cli->rye, id, name, &blob, NULL))
		return NULL;
	text = span_dup(span_trim((struct rye_span){ blob->data, blob->len }));
	rye_blob_unref(blob);
	return text;
}

/* A registry from elsewhere may say that two are each other's parents. */
#define TREE_DEPTH 64
#define TAIL_STEP (64u << 10)
/* A runner has read its directive long before so many looks. */
#define BEGUN_LOOKS 20
#define BEGUN_MS 100

/* ---- tree ---- */

struct thread_twig {
	struct cli *cli;
	const char *id;
	json_t *into; /* array of the children */
	int depth;
};

static json_t *tree_below(struct cli *cli, const char *id, int depth);

static int tree_child(void *arg, const char *name, enum rye_thread_sort sort)
{
	const struct thread_twig *twig = arg;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_free char *target = NULL;
	const char *id;

	(void)sort;
	buf_addf(&path, "children/%s", name);
	target = path.failed ? NULL : threads_fact(twig->cli, twig->id, path.data);
	id = target;
	while (id && !strncmp(id, "../", 3))
		id += 3;
	if (id)
		json_array_append_new(twig->into, tree_below(twig->cli, id, twig->depth + 1));
	return 0;
}

static json_t *tree_below(struct cli *cli, const char *id, int depth)
{
	auto_free char *status = threads_fact(cli, id, "status");
	json_t *node = json_object(), *children = json_array();
	struct thread_twig twig = { cli, id, children, depth };
	const struct rye_thread_at at = { .id = id, .path = "children" };

	json_sets(node, "id", id);
	json_sets(node, "status", status ? status : "gone");
	json_object_set_new(node, "children", children);
	if (depth < TREE_DEPTH)
		rye_thread_entries(cli->rye, &at, tree_child, &twig, NULL);
	return node;
}

static void print_tree(const json_t *node, int depth)
{
	json_t *child;
	size_t i;

	printf("%*s", depth * 2, "");
	out_text(stdout, json_str(node, "id"));
	printf("  %s\n", json_str(node, "status"));
	json_array_foreach(json_object_get(node, "children"), i, child)
		print_tree(child, depth + 1);
}

static int shown_root(void *arg, const char *id)
{
	const struct thread_twig *twig = arg;
	auto_free char *parent = threads_fact(twig->cli, id, "parent");

	if (!parent)
		json_array_append_new(twig->into, tree_below(twig->cli, id, 0));
	return 0;
}

/* 0, or the exit status when there is no such thread. */
static int threads_known(struct cli *cli, const char *id)
{
	struct rye_blob *status = NULL;
	struct rye_err err = { 0 };
	int r = id ? rye_thread_file(cli->rye, id, "status", &status, &err) : 0;

	rye_blob_unref(status);
	return r ? cli_fail(cli, &err, NULL) : 0;
}

int threads_tree(struct cli *cli, const char *id)
{
	auto_json json_t *roots = json_array();
	struct thread_twig twig = { cli, NULL, roots, 0 };
	struct rye_err err = { 0 };
	int status = threads_known(cli, id);
	json_t *root;
	size_t i;

	if (status)
		return status;
	if (id)
		json_array_append_new(roots, tree_below(cli, id, 0));
	else if (rye_thread_list(cli->rye, shown_root, &twig, &err))
		return cli_fail(cli, &err, NULL);
	if (cli->opt.json)
		out_json(roots);
	else
		json_array_foreach(roots, i, root)
			print_tree(root, 0);
	return CLI_OK;
}

/* ---- cost ---- */

static int add_cost(void *arg, const char *id)
{
	const struct thread_twig *twig = arg;
	auto_free char *text = threads_fact(twig->cli, id, "cost");
	struct rye_span rest = { text, text ? strlen(text) : 0 }, line;
	json_t *row = json_object();

	json_sets(row, "id", id);
	while (text && span_line(&rest, &line)) {
		const char *blank = memchr(line.ptr, ' ', line.len);
		char name[40];

		if (!blank)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(blank - line.ptr), line.ptr);
		json_object_set_new(row, name,
				    json_loadb(blank + 1, line.len - (size_t)(blank + 1 - line.ptr),
					       JSON_DECODE_ANY, NULL));
	}
	if (text)
		json_array_append(twig->into, row);
	json_decref(row);
	return 0;
}

/* What it has had done is part of what it cost. */
static void add_costs(const struct thread_twig *twig, const json_t *node)
{
	json_t *child;
	size_t i;

	add_cost((void *)twig, json_str(node, "id"));
	json_array_foreach(json_object_get(node, "children"), i, child)
		add_costs(twig, child);
}

int threads_cost(struct cli *cli, const char *id)
{
	static const struct out_column columns[] = {
		{ "id", "THREAD", false },	   { "turns", "TURNS", true },
		{ "input_tokens", "INPUT", true }, { "output_tokens", "OUTPUT", true },
		{ "spend", "SPEND", true },	   { "elapsed_seconds", "SECONDS", true },
	};
	auto_json json_t *rows = json_array(), *tree = NULL;
	struct thread_twig twig = { cli, NULL, rows, 0 };
	struct rye_err err = { 0 };
	int status = threads_known(cli, id);

	if (status)
		return status;
	tree = id ? tree_below(cli, id, 0) : NULL;
	if (tree)
		add_costs(&twig, tree);
	else if (rye_thread_list(cli->rye, add_cost, &twig, &err))
		return cli_fail(cli, &err, NULL);
	out_rows(cli, rows, columns, ARRAY_SIZE(columns), NULL);
	if (json_array_size(rows) == 0)
		cli_note(cli, "no model has worked on %s", id ? id : "a thread");
	return CLI_OK;
}

/* ---- tail ---- */

struct tail {
	struct cli *cli;
	const char *id;
	uint64_t off; /* what was said so far */
	struct said said;
	struct rye_buf kept; /* with --json: all of it */
	bool gone; /* the reader has */
};

static void tail_done(struct tail *tail)
{
	buf_done(&tail->kept);
}

/* Prints what there is behind `off`, or with --json keeps it. */
static void tail_more(struct tail *tail)
{
	struct rye_thread_part part = { tail->id, "live", tail->off, TAIL_STEP };
	struct rye_blob *text = NULL;
	uint64_t size;

	while (!rye_thread_read(tail->cli->rye, &part, &text, &size, NULL) && text->len) {
		if (tail->cli->opt.json)
			buf_add(&tail->kept, text->data, text->len);
		else
			said_put(&tail->said, (struct rye_span){ text->data, text->len });
		part.off += text->len;
		rye_blob_unref(text);
		text = NULL;
	}
	rye_blob_unref(text);
	tail->off = part.off;
	tail->gone = fflush(stdout) != 0;
}

/* The wait goes on to a thread that another one is continued as; what it says is its own. */
static bool tail_step(void *arg)
{
	struct tail *tail = arg;
	auto_free char *status = threads_fact(tail->cli, tail->id, "status");

	tail_more(tail);
	return !tail->gone && status && strcmp(status, "continued") != 0;
}

/* One value at the end: pieces of a text are none that a program could put together by itself. */
static int tail_json(const struct tail *tail)
{
	auto_json json_t *answer = json_object();
	auto_free char *status = threads_fact(tail->cli, tail->id, "status");
	struct rye_span text = buf_span(&tail->kept);

	json_sets(answer, "id", tail->id);
	json_sets(answer, "status", status ? status : "gone");
	json_object_set_new(answer, "text", json_stringn(text.ptr, text.len));
	out_json(answer);
	return CLI_OK;
}

int threads_tail(struct cli *cli, const char *id)
{
	__attribute__((cleanup(tail_done))) struct tail tail = { .cli = cli, .id = id };
	const struct follow follow = { tail_step, &tail };
	int signal = 0, status = call_thread_wait(cli, id, &follow, &signal);

	if (status != CLI_OK)
		return status;
	/* what it said last was there before its end was */
	if (!tail.gone)
		tail_more(&tail);
	if (signal || tail.gone)
		return signal ? 128 + signal : CLI_FAILED;
	return cli->opt.json ? tail_json(&tail) : CLI_OK;
}

/* ---- one that has just been started ---- */

void threads_begun(struct cli *cli, const char *id)
{
	const struct timespec pause = { .tv_nsec = BEGUN_MS * 1000000l };

	for (int i = 0; i < BEGUN_LOOKS; i++) {
		auto_free char *status = threads_fact(cli, id, "status");
		auto_free char *model = threads_fact(cli, id, "model");

		if (model || !status || strcmp(status, "running") != 0)
			return;
		nanosleep(&pause, NULL);
	}
}
