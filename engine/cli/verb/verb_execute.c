/* SPDX-License-Identifier: MIT */
/*
 * ryefs execute: one request to the execute primitive. KEY=VALUE words become parameters as
 * the item's own schema says; the reply goes to standard output whatever it says, the reason
 * of a failure also to standard error. With --output the tool's own output is printed as it
 * comes.
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

/* The item's schema, or NULL: then values are guessed and the engine judges them. */
static json_t *schema_of(struct cli *cli, const char *ref)
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

static int verb_execute_add_pair(struct cli *cli, json_t *parameters, const json_t *schema,
				 const char *word)
{
	const char *equals = strchr(word, '=');
	bool forced = equals && equals > word && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - word) - forced : 0;
	auto_free char *key = len ? strndup(word, len) : NULL;
	json_t *value;

	if (!key)
		return cli_misuse(cli, "\"%s\" is no parameter, wanted KEY=VALUE or {JSON}", word);
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

static int read_pairs(struct cli *cli, json_t *parameters)
{
	auto_json json_t *schema = schema_of(cli, cli->argv[0]);
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

/* *ret: a new reference. */
static int read_parameters(struct cli *cli, json_t **ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *word = cli->argc > 1 ? cli->argv[1] : "{}";
	struct rye_err err = { 0 };
	int status = CLI_OK;

	if (cli->argc != 2 || (*word != '{' && strcmp(word, "-") != 0)) {
		*ret = json_object();
		return read_pairs(cli, *ret);
	}
	if (*word == '{')
		buf_adds(&text, word);
	else
		status = read_stdin(cli, &text);
	if (status != CLI_OK)
		return status;
	*ret = json_parse((struct rye_span){ text.data, text.len }, 0, "parameters", &err);
	return *ret ? CLI_OK : cli_fail(cli, &err, NULL);
}

static json_t *request(struct cli *cli, json_t *parameters)
{
	json_t *message = json_object();

	json_sets(message, "item_id", cli->argv[0]);
	json_set(message, "parameters", json_incref(parameters));
	if (cli->opt.dry_run)
		json_set(message, "dry_run", json_true());
	if (cli->opt.async)
		json_set(message, "async", json_true());
	if (cli->opt.trace)
		json_set(message, "trace", json_true());
	return message;
}

/* A failure without any output of its own reads as its message, which stderr has too. */
static bool is_message(const struct rye_outcome *outcome)
{
	return outcome->code != RYE_OK &&
	       span_eq(span_trim((struct rye_span){ outcome->output->data, outcome->output->len }),
		       outcome->message);
}

/* What has not been printed while it ran; the line is ended as out_blob does. */
static void print_rest(const struct rye_blob *output, size_t printed)
{
	if (printed < output->len)
		fwrite(output->data + printed, 1, output->len - printed, stdout);
	if (output->len && output->data[output->len - 1] != '\n')
		putchar('\n');
}

static void print_reply(struct cli *cli, const struct rye_outcome *outcome, size_t printed)
{
	auto_json json_t *reply = NULL;

	if (cli->opt.output && printed) {
		print_rest(outcome->output, printed);
		return;
	}
	if (cli->opt.output && outcome->output) {
		if (!is_message(outcome))
			out_blob(stdout, outcome->output);
		return;
	}
	if (isatty(STDOUT_FILENO) && !cli->opt.json)
		reply = json_loadb(outcome->reply->data, outcome->reply->len, 0, NULL);
	if (reply)
		out_json(reply);
	else
		out_blob(stdout, outcome->reply);
}

static int verb_execute_finish(struct cli *cli, const struct rye_outcome *outcome, size_t printed,
			       int signal)
{
	struct rye_err err = { .code = outcome->code };

	/* as if the signal had ended us */
	if (signal == SIGPIPE)
		return 128 + signal;
	print_reply(cli, outcome, printed);
	if (outcome->trace && cli->opt.trace)
		out_blob(stderr, outcome->trace);
	if (outcome->code == RYE_OK)
		return CLI_OK;
	/* the reply was the one JSON value on standard output */
	cli->opt.json = false;
	snprintf(err.msg, sizeof(err.msg), "%s",
		 *outcome->message ? outcome->message : rye_code_name(outcome->code));
	cli_fail(cli, &err, cli->argv[0]);
	return signal ? 128 + signal : (int)exit_of(outcome->code);
}

int verb_execute(struct cli *cli)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *parameters = NULL, *message = NULL;
	auto_outcome struct rye_outcome outcome = { 0 };
	struct rye_request req = { .verb = RYE_EXECUTE, .kind = RYE_KIND__MAX, .id = "" };
	struct cli_stream stream = { .held = RYE_BUF_INIT };
	int signal = 0, status;

	call_block_signals();
	status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK)
		status = read_parameters(cli, &parameters);
	if (status != CLI_OK)
		return status;
	message = request(cli, parameters);
	json_put(&text, message, false);
	if (text.failed)
		return cli_complain(cli, CLI_FAILED, NULL, "the request is too big");
	req.message = (struct rye_span){ text.data, text.len };
	req.uid = getuid();
	status = call_wait(cli, &req, cli->opt.output ? &stream : NULL, &outcome, &signal);
	buf_done(&stream.held);
	return status == CLI_OK ? verb_execute_finish(cli, &outcome, stream.printed, signal) :
				  status;
}
