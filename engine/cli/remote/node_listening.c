/* SPDX-License-Identifier: MIT */
/* ryefs node --stdio, and --http: the connection that this process's input and output are; a port. */
#include "cli/remote/remote_words.h"

#include "door/door.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define NODE_PORT 7394

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
	int in, out, r;

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
	r = cli->opt.http ? node_serve_http(node, in, out, cli->opt.as, &err) :
			    node_serve(node, in, out, cli->opt.as, &err);
	return r ? told_in_a_line(cli, &err) : CLI_OK;
}

static void tell_port(void *arg, int port)
{
	struct cli *cli = arg;
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	if (cli->opt.json) {
		auto_json json_t *doc =
			json_pack("{s:s, s:s, s:i}", "status", "success", "url", url, "port", port);

		out_json(doc);
	} else {
		printf("%s\n", url);
	}
	fflush(stdout);
}

int node_http(struct cli *cli)
{
	auto_free char *path = node_where(cli, cli->argc ? cli->argv[0] : NULL);
	auto_node struct node_dir *node = NULL;
	struct node_listen ask = { .path = path, .as = cli->opt.as, .ready = tell_port, .arg = cli };
	struct rye_err err = { 0 };
	int status = cli_port(cli, NODE_PORT, &ask.port);

	if (status != CLI_OK)
		return status;
	if (!path)
		return CLI_FAILED;
	if (node_open(path, &node, &err))
		return cli_fail(cli, &err, NULL);
	return node_listen(&ask, &err) ? cli_fail(cli, &err, NULL) : CLI_OK;
}
