/* SPDX-License-Identifier: MIT */
/*
 * ryefs execute: one request to the execute primitive. KEY=VALUE words become parameters as the
 * item's own schema says. People get the output, as it comes, and of a failure one sentence and
 * what would do instead (executed.c); programs get the reply with --json, whatever it says.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

json_t *execute_schema(struct cli *cli, const char *ref)
{
	const char *id = ref;
	enum rye_kind wanted = id_split(ref, &id);

	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		struct rye_ask ask = { (enum rye_kind)kind, id, RYE_VIEW_SCHEMA, NULL };
		struct rye_blob *blob = NULL;
		json_t *schema;

		if (!rye_kind_has(ask.kind, RYE_KIND_PARAMETERS) ||
		    (wanted != RYE_KIND__MAX && wanted != ask.kind))
			continue;
		if (rye_view(cli->rye, &ask, &blob, NULL))
			continue;
		schema = json_loadb(blob->data, blob->len, 0, NULL);
		rye_blob_unref(blob);
		return schema;
	}
	return NULL;
}

static bool allows_text(const json_t *type)
{
	if (json_is_string(type))
		return !strcmp(json_string_value(type), "string");
	return json_lists(type, "string");
}

static json_t *verb_execute_value_of(const json_t *schema, const char *key, const char *text)
{
	const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
	json_t *value = NULL;

	if (!allows_text(json_object_get(property, "type")))
		value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	return value ? value : json_string(text);
}

/* A word without a name in front of it is mostly the value of the first parameter. */
static int no_pair(struct cli *cli, const json_t *given, const json_t *schema, const char *word)
{
	json_t *properties = json_object_get(schema, "properties");
	const char *first = json_object_iter_key(json_object_iter(properties));
	auto_json json_t *all = json_copy((json_t *)given);
	const struct parameters_fault fault = { schema, all, "" };
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (first && !json_object_get(all, first))
		json_set(all, first, verb_execute_value_of(schema, first, word));
	parameters_example(cli, &fault, &mend);
	return cli_complain(cli, CLI_USAGE, mend.failed ? NULL : mend.data,
			    "\"%s\" is no parameter, wanted KEY=VALUE or {JSON}", word);
}

static int verb_execute_add_pair(struct cli *cli, json_t *parameters, const json_t *schema,
				 const char *word)
{
	const char *equals = strchr(word, '=');
	bool forced = equals && equals > word && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - word) - forced : 0;
	auto_free char *key = len ? strndup(word, len) : NULL;
	json_t *value;

	if (!key)
		return no_pair(cli, parameters, schema, word);
	if (json_object_get(parameters, key))
		return cli_misuse(cli, "the parameter \"%s\" is given twice", key);
	if (forced)
		value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	else
		value = verb_execute_value_of(schema, key, equals + 1);
	if (!value)
		return cli_misuse(cli, "the value of \"%s\" is not %s", key,
				  forced ? "JSON" : "UTF-8");
	return json_set(parameters, key, value) ?
		       CLI_OK :
		       cli_misuse(cli, "the name \"%s\" is not UTF-8", key);
}

static int read_pairs(struct cli *cli, const char *ref, json_t *parameters)
{
	auto_json json_t *schema = execute_schema(cli, ref);
	int status = CLI_OK;

	for (int i = 1; i < cli->argc && status == CLI_OK; i++)
		status = verb_execute_add_pair(cli, parameters, schema, cli->argv[i]);
	return status;
}

static int read_stdin(struct cli *cli, struct rye_buf *text)
{
	char chunk[16384];
	ssize_t n;

	text->cap = RYE_MESSAGE_MAX;
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		buf_add(text, chunk, (size_t)n);
	if (n < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot read standard input");
	if (text->failed)
		return cli_misuse(cli, "the parameters are bigger than %d bytes", RYE_MESSAGE_MAX);
	return CLI_OK;
}

/* What is no JSON object was mostly meant to be one: cut short, or in quotes of the other sort. */
static int no_json(struct cli *cli, const char *ref, const struct rye_err *err)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;
	auto_json json_t *schema = execute_schema(cli, ref);
	auto_json json_t *given = parameters_repaired(cli->argv[1]);
	const struct parameters_fault fault = { schema, given, "" };

	parameters_example(cli, &fault, &mend);
	return cli_complain(cli, CLI_USAGE, mend.failed ? NULL : mend.data, "%s", err->msg);
}

/* *ret: a new reference. */
static int read_parameters(struct cli *cli, const char *ref, json_t **ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *word = cli->argc > 1 ? cli->argv[1] : "{}";
	struct rye_err err = { 0 };
	int status = CLI_OK;

	if (cli->argc != 2 || (*word != '{' && strcmp(word, "-") != 0)) {
		*ret = json_object();
		return read_pairs(cli, ref, *ret);
	}
	if (*word == '{')
		buf_adds(&text, word);
	else
		status = read_stdin(cli, &text);
	if (status != CLI_OK)
		return status;
	*ret = json_parse((struct rye_span){ text.data, text.len }, 0, "parameters", &err);
	if (*ret)
		return CLI_OK;
	return *word == '{' ? no_json(cli, ref, &err) : cli_fail(cli, &err, NULL);
}

static json_t *request(struct cli *cli, const char *ref, json_t *parameters)
{
	json_t *message = json_object();

	json_sets(message, "item_id", ref);
	json_set(message, "parameters", json_incref(parameters));
	if (cli->opt.dry_run)
		json_set(message, "dry_run", json_true());
	if (cli->opt.async)
		json_set(message, "async", json_true());
	if (cli->opt.trace)
		json_set(message, "trace", json_true());
	return message;
}

static int execute_ask(struct cli *cli, struct executed *executed)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *message = request(cli, executed->ref, executed->given);
	struct rye_request req = { .verb = RYE_EXECUTE, .kind = RYE_KIND__MAX, .id = "" };
	struct cli_stream stream = { .held = RYE_BUF_INIT };
	int status;

	json_put(&text, message, false);
	if (text.failed)
		return cli_complain(cli, CLI_FAILED, NULL, "the request is too big");
	req.message = (struct rye_span){ text.data, text.len };
	req.uid = getuid();
	status = call_wait(cli, &req, cli->opt.json ? NULL : &stream, &executed->outcome,
			   &executed->signal);
	executed->printed = stream.printed;
	buf_done(&stream.held);
	return status;
}

int verb_execute(struct cli *cli)
{
	struct executed executed = { .ref = "" };
	int status;

	call_block_signals();
	status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK)
		status = ref_one(cli, 0, executed.ref);
	if (status == CLI_OK)
		status = read_parameters(cli, executed.ref, &executed.given);
	if (status == CLI_OK)
		status = execute_ask(cli, &executed);
	if (status == CLI_OK)
		status = executed_tell(cli, &executed);
	json_decref(executed.given);
	call_done(&executed.outcome);
	return status;
}
