/* SPDX-License-Identifier: MIT */
/*
 * ryefs remote add, rm: a remote's key is pinned, and its address written down, after a person has seen
 * both and said yes. No other verb pins a key.
 */
#include "cli/remote/remote_words.h"

#include "api/api.h"
#include "remote/remote.h"
#include "scope.h"

#include <string.h>

struct adding {
	struct cli *cli;
	const struct item_env *env;
	const char *name, *project; /* project: or NULL */
	char *url; /* owned */
	bool configured;
};

static void adding_done(struct adding *adding)
{
	free(adding->url);
}

/* A host alone is meant for ssh; plain http goes no further than this machine. */
static int refuse_url(struct cli *cli, const char *typed, const struct rye_err *err)
{
	const char *rest = strncmp(typed, "http://", 7) ? typed : typed + 7;
	auto_free char *url = NULL, *mend = NULL;
	struct rye_err ignored = { 0 };

	if (asprintf(&url, "%s%s", rest == typed ? "ssh://" : "https://", rest) >= 0 &&
	    (rest != typed || !strchr(typed, ':')) && !conn_check(url, &ignored))
		mend = cli_retyped(cli, cli->verb->name, typed, url);
	return mend ? cli_complain(cli, CLI_USAGE, mend, "%s", err->msg) : cli_fail(cli, err, NULL);
}

/* The address: typed, or configured; exit status. */
static int choose_url(struct adding *adding)
{
	struct cli *cli = adding->cli;
	const char *typed = cli->argc > 2 ? cli->argv[2] : NULL;
	auto_remote struct remote remote = { 0 };
	auto_free char *mend = mend_with("ryefs remote rm %s", adding->name);
	struct rye_err err = { 0 };
	int r = remote_find(adding->env, adding->name, &remote, &err);

	adding->configured = !r;
	if (!typed && r)
		return cli_fail(cli, &err, NULL);
	if (r && err.code != RYE_INVALID)
		return cli_fail(cli, &err, NULL);
	if (typed && conn_check(typed, &err))
		return refuse_url(cli, typed, &err);
	if (typed && !r && strcmp(typed, remote.url) != 0)
		return cli_complain(cli, CLI_USAGE, mend, "%s is configured already, at %s",
				    adding->name, remote.url);
	adding->url = strdup(typed ? typed : remote.url);
	return adding->url ? CLI_OK : CLI_FAILED;
}

/* What is configured may start a program that this person has never seen. */
static int ask_to_connect(struct adding *adding)
{
	auto_free char *text = NULL, *mend = NULL;
	struct cli_question question = { .about = adding->name, .otherwise = "was not asked" };

	if (adding->cli->argc > 2)
		return CLI_OK;
	if (asprintf(&text, "%s is at %s. Connect?", adding->name, adding->url) < 0)
		return CLI_FAILED;
	mend = cli_retyped(adding->cli, "remote --yes", NULL, NULL);
	question.text = text;
	question.mend = mend;
	return cli_asks(adding->cli, &question);
}

static int ask_to_pin(struct adding *adding, const struct card *card)
{
	auto_free char *text = NULL, *mend = NULL;
	struct cli_question question = { .about = adding->name, .otherwise = "is not pinned" };

	if (asprintf(&text, "%s shows key %s, made %s. Pin it?", adding->name, card->sign.fp,
		     card->made) < 0)
		return CLI_FAILED;
	mend = cli_retyped(adding->cli, "remote --yes", NULL, NULL);
	question.text = text;
	question.mend = mend;
	return cli_asks(adding->cli, &question);
}

/* Is the pin there already, of the same address? */
static bool is_pinned(const struct adding *adding, struct pin *ret)
{
	return !pin_load(adding->env, adding->name, ret, NULL) && !strcmp(ret->url, adding->url);
}

static int pin_it(struct adding *adding)
{
	struct cli *cli = adding->cli;
	struct rye_err err = { 0 };
	struct card card;
	int status = ask_to_connect(adding);

	if (status != CLI_OK)
		return status;
	if (remote_card(adding->name, adding->url, &card, &err))
		return err.code == RYE_UNREACHABLE ?
			       cli_complain(cli, CLI_FAILED, NULL, "%s", err.msg) :
			       cli_fail(cli, &err, NULL);
	status = ask_to_pin(adding, &card);
	if (status != CLI_OK)
		return status;
	if (pin_write(adding->env, adding->name, adding->url, &card, &err))
		return cli_fail(cli, &err, NULL);
	if (!adding->configured &&
	    remote_enter(adding->env, adding->name, adding->url, adding->project, &err))
		return cli_fail(cli, &err, NULL);
	return CLI_OK;
}

/*
 * Does it know us? What its owner has to say is told; that it does not is no failure of the pin. Another
 * key than the pinned one is: nothing was pinned. Exit status.
 */
static int knock(struct adding *adding)
{
	auto_remote struct remote remote = { 0 };
	struct rye_err err = { 0 };

	if (!remote_find(adding->env, adding->name, &remote, &err) &&
	    !remote_look(adding->env, &remote, NULL, &err))
		return CLI_OK;
	if (err.code == RYE_KEY_CHANGED)
		return cli_fail(adding->cli, &err, NULL);
	cli_note(adding->cli, "%s", err.msg);
	return CLI_OK;
}

int remote_add_word(struct cli *cli)
{
	__attribute__((cleanup(adding_done))) struct adding adding = {
		.cli = cli,
		.name = cli->argv[1],
		.project = cli->argc > 3 ? cli->argv[3] : NULL
	};
	auto_pin struct pin pin = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE);

	if (status != CLI_OK)
		return status;
	if (!remote_name_ok(adding.name))
		return cli_complain(cli, CLI_USAGE, NULL,
				    "\"%s\" is no name of a remote: 1 to 64 of A-Z a-z 0-9 . _ -, "
				    "and not remotes",
				    adding.name);
	adding.env = engine_items(cli->rye);
	status = choose_url(&adding);
	if (status != CLI_OK)
		return status;
	if (cli->opt.again || !is_pinned(&adding, &pin)) {
		status = pin_it(&adding);
		if (status != CLI_OK)
			return status;
		pin_done(&pin);
		pin_load(adding.env, adding.name, &pin, NULL);
	}
	status = knock(&adding);
	return status == CLI_OK ? out_success(cli, "name", adding.name, "is pinned") : status;
}

int remote_rm_word(struct cli *cli)
{
	const char *name = cli->argv[1];
	auto_remote struct remote left = { 0 };
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE), entry, pin;
	const struct item_env *env;

	if (status != CLI_OK)
		return status;
	if (!remote_name_ok(name))
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs remote list",
				    "there is no remote \"%s\"", name);
	env = engine_items(cli->rye);
	entry = remote_leave(env, name, &err);
	if (entry < 0)
		return cli_fail(cli, &err, NULL);
	pin = pin_remove(env, name, &err);
	if (pin < 0 && err.code != RYE_NOT_FOUND)
		return cli_fail(cli, &err, NULL);
	if (!entry && pin < 0)
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs remote list",
				    "there is no remote %s of yours", name);
	if (!remote_find(env, name, &left, NULL))
		cli_note(cli, "%s is still configured, unpinned, by another space", name);
	return out_success(cli, "name", name, "is forgotten");
}
