/* SPDX-License-Identifier: MIT */
/* ryefs remote push, diff, pull, gc: the project's files to a remote, what differs, what a run has changed there. */
#include "cli/remote/remote_words.h"

#include "api/api.h"
#include "remote/remote.h"
#include "scope.h"
#include "str.h"

/* The remote that the first word names, and a connection to it; exit status. */
struct pushing {
	struct remote remote;
	struct remote_link link;
	const struct item_env *env;
};

static void pushing_done(struct pushing *pushing)
{
	remote_link_done(&pushing->link);
	remote_done(&pushing->remote);
}
#define auto_pushing __attribute__((cleanup(pushing_done)))

static int pushing_open(struct cli *cli, struct pushing *ret)
{
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE);
	int r;

	if (status != CLI_OK)
		return status;
	ret->env = engine_items(cli->rye);
	r = remote_find(ret->env, cli->argv[1], &ret->remote, &err);
	if (!r)
		r = remote_open_push(ret->env, &ret->remote, &ret->link, &err);
	return r ? cli_fail(cli, &err, NULL) : CLI_OK;
}

/* What is asked over that connection, and how its answer is told to a person. */
typedef int (*pushing_fn)(const struct cli *cli, const struct pushing *pushing, json_t **ret,
			  struct rye_err *err);
typedef void (*pushing_put_fn)(struct cli *cli, const struct pushing *pushing, json_t *doc);

static int pushing_word(struct cli *cli, pushing_fn ask, pushing_put_fn put)
{
	auto_pushing struct pushing pushing = { .env = NULL };
	auto_json json_t *doc = NULL;
	struct rye_err err = { 0 };
	int status = pushing_open(cli, &pushing);

	if (status != CLI_OK)
		return status;
	if (ask(cli, &pushing, &doc, &err))
		return cli_fail(cli, &err, NULL);
	if (cli->opt.json)
		out_json(doc);
	else
		put(cli, &pushing, doc);
	return CLI_OK;
}

/* A file's name may have a line's end in it, and would be a line of its own. */
static char *one_line(const char *text)
{
	char *line = strdup(text);

	for (char *p = line; p && *p; p++)
		*p = *p == '\n' ? '?' : *p;
	return line;
}

static void put_push(struct cli *cli, const struct pushing *pushing, json_t *doc)
{
	const json_t *refused = json_object_get(doc, "refused");
	const json_t *row;
	size_t i;

	(void)pushing;
	json_array_foreach((json_t *)refused, i, row) {
		auto_free char *path = one_line(json_str(row, "path"));
		auto_free char *why = one_line(json_str(row, "reason"));

		cli_note(cli, "not sent: %s: %s", path ? path : "", why ? why : "");
	}
	printf("%s: %lld file%s, %lld new, %.2f MB sent; %s is at number %lld, %.12s\n",
	       json_str(doc, "remote"), (long long)json_int(doc, "files", 0),
	       PLURAL(json_int(doc, "files", 0)), (long long)json_int(doc, "new_blobs", 0),
	       (double)json_int(doc, "sent", 0) / 1e6, json_str(doc, "project"),
	       (long long)json_int(doc, "number", 0), json_str(doc, "manifest"));
}

static int ask_push(const struct cli *cli, const struct pushing *pushing, json_t **ret,
		    struct rye_err *err)
{
	return remote_push(pushing->env, &pushing->remote, &pushing->link, cli->opt.force, ret,
			   err);
}

int remote_push_word(struct cli *cli)
{
	return pushing_word(cli, ask_push, put_push);
}

static void put_diff(struct cli *cli, const struct pushing *pushing, json_t *doc)
{
	const json_t *row;
	size_t i;

	(void)cli;
	(void)pushing;
	json_array_foreach(json_object_get(doc, "removed"), i, row)
		printf("removed %s\n", json_str(row, "path"));
	json_array_foreach(json_object_get(doc, "changed"), i, row)
		printf("%s %s\n", json_object_get(row, "was") ? "changed" : "new",
		       json_str(row, "path"));
}

static int ask_diff(const struct cli *cli, const struct pushing *pushing, json_t **ret,
		    struct rye_err *err)
{
	(void)cli;
	return remote_diff(pushing->env, &pushing->remote, pushing->link.conn, ret, err);
}

int remote_diff_word(struct cli *cli)
{
	return pushing_word(cli, ask_diff, put_diff);
}

int remote_pull_word(struct cli *cli)
{
	auto_pushing struct pushing pushing = { .env = NULL };
	struct rye_err err = { 0 };
	int status = pushing_open(cli, &pushing);

	if (status != CLI_OK)
		return status;
	if (remote_pull_left(pushing.env, &pushing.remote, pushing.link.conn, cli->argv[2], &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "id", cli->argv[2], NULL);
}

static int ask_gc(const struct cli *cli, const struct pushing *pushing, json_t **ret,
		  struct rye_err *err)
{
	return remote_gc(&pushing->remote, pushing->link.conn, cli->opt.dry_run, ret, err);
}

static void put_gc(struct cli *cli, const struct pushing *pushing, json_t *doc)
{
	out_gc(cli, pushing->remote.name, doc);
}

int remote_gc_word(struct cli *cli)
{
	return pushing_word(cli, ask_gc, put_gc);
}
