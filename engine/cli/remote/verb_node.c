/* SPDX-License-Identifier: MIT */
/*
 * ryefs node: a node made, and the words about it. Needs no project; the node's directory is all that is looked at.
 */
#include "cli/remote/remote_words.h"

#include "door/door.h"
#include "scope.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char *node_where(struct cli *cli, const char *named)
{
	auto_free char *here = getcwd(NULL, 0);
	char *path = NULL;

	named = named ? named : cli->opt.dir;
	if (!named) {
		path = node_default_path();
		if (!path)
			cli_complain(cli, CLI_FAILED, "ryefs node init DIR",
				     "there is no home directory to have a node in");
		return path;
	}
	if (*named == '/')
		return strdup(named);
	if (!here || asprintf(&path, "%s/%s", here, named) < 0) {
		cli_complain(cli, CLI_FAILED, NULL, "cannot tell where %s is", named);
		return NULL;
	}
	return path;
}

int node_use(struct cli *cli, const char *named, struct node_dir **ret)
{
	auto_free char *path = node_where(cli, named);
	struct rye_err err = { 0 };

	if (!path)
		return CLI_FAILED;
	return node_open(path, ret, &err) ? cli_fail(cli, &err, NULL) : CLI_OK;
}

/* NAME=VALUE... behind the directory, if that is named. */
static const char *settings_words(struct cli *cli, json_t **ret)
{
	int from = cli->argc > 1 && !strchr(cli->argv[1], '=') ? 2 : 1;

	*ret = json_object();
	for (int i = from; i < cli->argc; i++) {
		size_t n = strcspn(cli->argv[i], "=");
		auto_free char *name = strndup(cli->argv[i], n);

		if (name)
			json_sets(*ret, name, cli->argv[i] + n + !!cli->argv[i][n]);
	}
	return from == 2 ? cli->argv[1] : NULL;
}

static int settings_say(const char *path, const json_t *set, struct rye_err *err)
{
	auto_node struct node_dir *node = NULL;
	int r = json_object_size(set) ? node_open(path, &node, err) : 0;

	return node ? node_settings_write(node, set, err) : r;
}

/* A root's new node runs nothing as root, unless that is said: `uids=`. */
static void settings_uids(const char *path, json_t *set)
{
	auto_free char *card = NULL;
	const char *uids = node_uids_default(path);

	if (uids && !json_object_get(set, "uids") && asprintf(&card, "%s/card.json", path) >= 0 &&
	    access(card, F_OK) < 0)
		json_sets(set, "uids", uids);
}

int node_init_word(struct cli *cli)
{
	auto_json json_t *doc = NULL, *set = NULL;
	const char *named = settings_words(cli, &set);
	auto_free char *path = node_where(cli, named);
	auto_free char *real = NULL;
	struct rye_err err = { 0 };
	char fp[17];
	bool is_new = false;

	if (!path)
		return CLI_FAILED;
	settings_uids(path, set);
	if (node_settings_check(path, set, &err) || node_init(path, fp, &is_new, &err) ||
	    settings_say(path, set, &err))
		/* that nothing can be made there is not found in a list */
		return err.code == RYE_NOT_FOUND && !strstr(err.msg, MEND_WITH) ?
			       cli_complain(cli, CLI_FAILED, NULL, "%s", err.msg) :
			       cli_fail(cli, &err, NULL);
	if (is_new && geteuid() == 0 && !json_object_get(set, "uids"))
		cli_note(cli, "runs here will be root's, since other accounts cannot pass to it; "
			      "an account for each key has: ryefs node init /srv/ryefs-node");
	real = realpath(path, NULL);
	doc = json_pack("{s:s, s:s, s:s, s:b}", "status", "success", "node", fp, "dir",
			real ? real : path, "new", is_new);
	if (cli->opt.json)
		out_json(doc);
	else
		printf("%s %s in %s\n", is_new ? "made node" : "node", fp, real ? real : path);
	return CLI_OK;
}

/* A worker, until it is ended. */
static int node_work(struct cli *cli)
{
	auto_free char *path = node_where(cli, cli->argc ? cli->argv[0] : NULL);
	struct rye_err err = { 0 };

	if (cli->argc > 1)
		return cli_misuse(cli, "wanted: ryefs node --work [DIR]");
	if (!path)
		return CLI_FAILED;
	return rye_worker(path, 0, &err) ? cli_fail(cli, &err, NULL) : CLI_OK;
}

int verb_node(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "init", node_init_word, 0, -1, "init [DIR] [NAME=VALUE...]" },
		{ "admit", node_admit_word, 1, -1, "admit KEY [NAME=VALUE...]" },
		{ "list", node_list_word, 0, 0, "list" },
		{ "remove", node_remove_word, 1, 1, "remove FINGERPRINT" },
		{ "gc", node_gc_word, 0, 1, "gc [DIR]" },
	};

	if (cli->opt.stdio && cli->argc > 1)
		return cli_misuse(cli, "wanted: ryefs node --stdio [DIR]");
	if (cli->opt.http && cli->argc > 1)
		return cli_misuse(cli, "wanted: ryefs node --http [DIR]");
	if (cli->opt.port && (cli->opt.stdio || !cli->opt.http))
		return cli_misuse(cli, "--port belongs to --http");
	if (cli->opt.work && (cli->opt.stdio || cli->opt.http))
		return cli_misuse(cli, "--work goes with neither --stdio nor --http");
	if (cli->opt.work)
		return node_work(cli);
	if (cli->opt.stdio)
		return node_stdio(cli);
	if (cli->opt.http)
		return node_http(cli);
	if (!cli->argc)
		return cli_complain(
			cli, CLI_USAGE, "ryefs node --help",
			"wanted is init, admit, list, remove or gc, or --stdio, --http or --work");
	return cli_words(cli, words, ARRAY_SIZE(words));
}
