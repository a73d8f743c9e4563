/* SPDX-License-Identifier: MIT */
/*
 * ryefs node: a node made, the one connection of it that another program's input and output are, and
 * the words about its principals. Needs no project; the node's directory is all that is looked at.
 */
#include "cli/remote/remote_words.h"

#include "door/door.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

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

int node_init_word(struct cli *cli)
{
	auto_free char *path = node_where(cli, cli->argc > 1 ? cli->argv[1] : NULL);
	auto_free char *real = NULL;
	auto_json json_t *doc = NULL;
	struct rye_err err = { 0 };
	char fp[17];
	bool is_new = false;

	if (!path)
		return CLI_FAILED;
	if (node_init(path, fp, &is_new, &err))
		return cli_fail(cli, &err, NULL);
	real = realpath(path, NULL);
	doc = json_pack("{s:s, s:s, s:s, s:b}", "status", "success", "node", fp, "dir",
			real ? real : path, "new", is_new);
	if (cli->opt.json)
		out_json(doc);
	else
		printf("%s %s in %s\n", is_new ? "made node" : "node", fp, real ? real : path);
	return CLI_OK;
}

/* The last line is what the other end's user is told; it is not mended there. */
static int told_in_a_line(struct cli *cli, const struct rye_err *err)
{
	return cli_complain(cli, CLI_FAILED, NULL, "%.*s", (int)strcspn(err->msg, "\n"), err->msg);
}

/* What is printed by mistake from now on is no part of the connection. */
static int take_stream(int fd)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own >= 0 && null >= 0)
		dup2(null, fd);
	return own;
}

int node_stdio(struct cli *cli)
{
	auto_free char *path = node_where(cli, cli->argc ? cli->argv[0] : NULL);
	auto_node struct node_dir *node = NULL;
	struct rye_err err = { 0 };
	int in, out;

	if (!path)
		return CLI_FAILED;
	if (node_open(path, &node, &err))
		return told_in_a_line(cli, &err);
	/* workers that it starts go on without it, and it does not wait for them */
	signal(SIGCHLD, SIG_IGN);
	in = take_stream(STDIN_FILENO);
	out = take_stream(STDOUT_FILENO);
	if (in < 0 || out < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "standard input and output: %s",
				    strerror(errno));
	return node_serve(node, in, out, cli->opt.as, &err) ? told_in_a_line(cli, &err) : CLI_OK;
}

int verb_node(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "init", node_init_word, 0, 1, "init [DIR]" },
		{ "admit", node_admit_word, 1, -1, "admit KEY [NAME=VALUE...]" },
		{ "list", node_list_word, 0, 0, "list" },
		{ "remove", node_remove_word, 1, 1, "remove FINGERPRINT" },
	};

	if (cli->opt.stdio && cli->argc > 1)
		return cli_misuse(cli, "wanted: ryefs node --stdio [DIR]");
	if (cli->opt.stdio)
		return node_stdio(cli);
	if (!cli->argc)
		return cli_complain(cli, CLI_USAGE, "ryefs node --help",
				    "wanted is init, admit, list or remove, or --stdio");
	return cli_words(cli, words, ARRAY_SIZE(words));
}
