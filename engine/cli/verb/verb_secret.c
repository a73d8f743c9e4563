/* SPDX-License-Identifier: MIT */
/*
 * ryefs secret: keeps, names and forgets the person's secrets. A value comes from standard input or
 * is typed unseen; never from an argument, which every process can read. None is ever printed.
 */
#include "cli/cli.h"

#include "scope.h"
#include "str.h"

#include <string.h>
#include <unistd.h>

/* More than the engine keeps, so that it is the engine that says what is too long. */
#define INPUT_MAX (128u << 10)

static int read_input(struct cli *cli, struct rye_buf *ret)
{
	char part[4096];
	size_t n;

	while (ret->len < INPUT_MAX && (n = fread(part, 1, sizeof(part), stdin)) > 0)
		buf_add(ret, part, n);
	explicit_bzero(part, sizeof(part));
	if (ferror(stdin) || ret->failed)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot read standard input");
	/* the line end is the pipe's, not the value's */
	while (ret->len && strchr("\r\n", ret->data[ret->len - 1]) && ret->data[ret->len - 1])
		ret->len--;
	return CLI_OK;
}

static int ask_value(struct cli *cli, const char *name, struct rye_buf *ret)
{
	char prompt[300], mend[320];

	snprintf(prompt, sizeof(prompt), "Value of %s (it is not shown): ", name);
	snprintf(mend, sizeof(mend), "ryefs secret set %s < FILE", name);
	switch (hidden_line(prompt, ret)) {
	case HIDDEN_LINE:
		return CLI_OK;
	case HIDDEN_CUT:
		return cli_complain(cli, CLI_USAGE, mend,
				    "it has more lines, or a longer one, than can be typed here");
	default:
		return cli_complain(cli, CLI_FAILED, NULL, "%s is as it was", name);
	}
}

static int secret_set_verb(struct cli *cli)
{
	const char *name = cli->argv[1];
	auto_buf struct rye_buf value = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	char mend[320];
	int status;

	snprintf(mend, sizeof(mend), "ryefs secret set %s", name);
	if (cli->argc > 2)
		return cli_complain(cli, CLI_USAGE, mend,
				    "a value is no argument, every process could read it: type it "
				    "when asked, or give it through a pipe");
	status = isatty(STDIN_FILENO) ? ask_value(cli, name, &value) : read_input(cli, &value);
	if (status == CLI_OK)
		status = cli_open(cli, CLI_ANY_PLACE);
	if (status == CLI_OK &&
	    rye_secret_set(cli->rye, name, (struct rye_span){ value.data, value.len }, &err))
		status = cli_fail(cli, &err, NULL);
	if (value.data)
		explicit_bzero(value.data, value.len);
	return status == CLI_OK ? out_success(cli, "name", name, "is kept") : status;
}

static int add_secret(void *arg, const struct rye_secret *secret)
{
	json_t *rows = arg, *row = json_object();

	json_sets(row, "name", secret->name);
	json_sets(row, "set_at", secret->set_at);
	json_array_append_new(rows, row);
	return 0;
}

static int secret_list_verb(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "name", "NAME", false },
		{ "set_at", "SET", false },
	};
	auto_json json_t *rows = json_array();
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };

	if (status != CLI_OK)
		return status;
	if (rye_secret_list(cli->rye, add_secret, rows, &err))
		return cli_fail(cli, &err, NULL);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"there are no secrets; keep one with: ryefs secret set NAME");
}

static int secret_rm_verb(struct cli *cli)
{
	const char *name = cli->argv[1];
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };

	if (status != CLI_OK)
		return status;
	if (rye_secret_remove(cli->rye, name, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "name", name, "is forgotten");
}

int verb_secret(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "list", secret_list_verb, 0, 0, "list" },
		{ "set", secret_set_verb, 1, -1, "set NAME" },
		{ "rm", secret_rm_verb, 1, 1, "rm NAME" },
	};
	struct rye_err err = { 0 };

	/* a name is quoted in messages; what is none may be a value in the wrong place */
	if (cli->argc > 1 && rye_secret_check(cli->argv[1], &err))
		return cli_fail(cli, &err, NULL);
	return cli_words(cli, words, ARRAY_SIZE(words));
}
