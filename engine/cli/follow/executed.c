/* SPDX-License-Identifier: MIT */
/*
 * What `ryefs execute` says at the end. With --json the reply, whole; else the output, or one
 * sentence: of an async run its thread, of a dry run the chain, of a failure the reason and a call
 * that would do. What a tool wrote is printed once.
 */
#include "cli/follow/follow.h"

#include "base/id.h"
#include "format/format.h"
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

static struct rye_span output_of(const struct rye_outcome *outcome)
{
	const struct rye_blob *output = outcome->output;

	return output ? (struct rye_span){ output->data, output->len } : (struct rye_span){ "", 0 };
}

/* A failure without any output of its own reads as its message, which stderr has too. */
static bool is_message(const struct rye_outcome *outcome)
{
	return outcome->code != RYE_OK && span_eq(span_trim(output_of(outcome)), outcome->message);
}

/* What has not been printed while it ran; the line is ended as out_blob does. */
static void print_rest(const struct executed *executed)
{
	struct rye_span all = output_of(&executed->called.outcome);
	struct said said = { .n = 0 };

	said_put(&said, span_skip(all, MIN_OF(executed->printed, all.len)));
	if (all.len && all.ptr[all.len - 1] != '\n')
		putchar('\n');
}

static void executed_reply(const struct called *called)
{
	if (isatty(STDOUT_FILENO) && called->reply)
		out_json(called->reply);
	else
		out_blob(stdout, called->outcome.reply);
}

/* ---- for people, when it went well ---- */

static void executed_thread(struct cli *cli, const char *id)
{
	out_text(stdout, id);
	putchar('\n');
	fflush(stdout);
	cli_note(cli, "it goes on as a thread; its end: ryefs threads wait %s", id);
}

static void executed_chain(const struct executed *executed)
{
	const json_t *chain = json_object_get(executed->called.reply, "chain"), *link;
	size_t i;

	out_text(stdout, executed->ref);
	fputs(" can run with these parameters", stdout);
	json_array_foreach(chain, i, link) {
		if (!i)
			continue;
		fputs(i > 1 ? ", " : ", by ", stdout);
		out_text(stdout, json_string_value(link));
	}
	putchar('\n');
}

static void executed_warnings(struct cli *cli, const json_t *reply)
{
	const json_t *warnings = json_object_get(json_object_get(reply, "metadata"), "warnings");
	const json_t *warning;
	size_t i;

	json_array_foreach(warnings, i, warning)
		if (json_is_string(warning))
			cli_note(cli, "remark: %s", json_string_value(warning));
	if (json_flag(json_object_get(reply, "data"), "truncated", false))
		cli_note(cli, "remark: the output was cut: %u MiB of each stream are kept",
			 RYE_OUTPUT_MAX >> 20);
}

/* What cannot be seen in what the model has said. */
static void executed_remarks(struct cli *cli, const json_t *reply)
{
	if (json_flag(reply, "truncated", false))
		cli_note(cli, "remark: the answer was cut at the model's greatest length");
	if (*json_str(reply, "resolved_thread_id"))
		cli_note(cli, "remark: the conversation was handed over; its end is thread %s",
			 json_str(reply, "resolved_thread_id"));
}

static void executed_well(struct cli *cli, const struct executed *executed)
{
	const json_t *reply = executed->called.reply;

	if (json_flag(reply, "async", false) && *json_str(reply, "thread_id"))
		executed_thread(cli, json_str(reply, "thread_id"));
	else if (cli->opt.dry_run)
		executed_chain(executed);
	else if (!executed->printed || !cli->opt.fork)
		print_rest(executed);
	else
		/* what the model has said stands there; what the directive has returned does not */
		putchar('\n');
	if (executed->printed && cli->opt.fork && json_object_get(reply, "outputs"))
		said_blob(executed->called.outcome.output);
}

/* ---- for people, when it did not ---- */

/* Of a tool's own words: they were printed, or are printed here, whole. */
static int failed_tool(struct cli *cli, const struct executed *executed)
{
	const struct rye_outcome *outcome = &executed->called.outcome;
	const json_t *data = json_object_get(executed->called.reply, "data");
	struct rye_span message = span_trim(span_of(outcome->message));
	auto_free char *text = span_dup(message);
	json_int_t code = json_int(data, "return_code", 0);
	bool told = text && message.len && span_find(output_of(outcome), 0, text) >= 0 &&
		    !is_message(outcome);

	if (text && !told && !strchr(text, '\n'))
		return cli_complain(cli, CLI_FAILED, NULL, "%s", text);
	if (text && !told) {
		fflush(stdout);
		out_text(stderr, text);
		putc('\n', stderr);
	}
	if (code)
		return cli_complain(cli, CLI_FAILED, NULL, "%s failed with status %lld",
				    executed->ref, (long long)code);
	return cli_complain(cli, CLI_FAILED, NULL, "%s says that it failed", executed->ref);
}

static int failed_parameters(struct cli *cli, const struct executed *executed)
{
	auto_json json_t *schema = execute_schema(cli, executed->ref);
	const char *message = executed->called.outcome.message;
	const struct corrected fault = { schema, executed->given, message };
	auto_free char *mend = NULL;

	if (!json_object_size(json_object_get(schema, "properties")))
		return call_fail(cli, &executed->called, executed->ref);
	mend = parameters_example(cli, &fault);
	cli_complain(cli, CLI_USAGE, mend, "%s", message);
	if (!cli->opt.quiet && !cli->opt.json) {
		fputs("it takes:\n", stderr);
		parameters_table(schema, stderr);
	}
	return CLI_USAGE;
}

static int executed_badly(struct cli *cli, const struct executed *executed)
{
	const struct rye_outcome *outcome = &executed->called.outcome;
	const char *thread = cli->opt.fork ? json_str(executed->called.reply, "thread_id") : "";
	bool invalid = outcome->code == RYE_INVALID;
	auto_free char *mend = NULL;

	/* by ^C, or from elsewhere: what was said so far is not lost */
	if (outcome->code == RYE_CANCELLED && *thread) {
		mend = mend_with("ryefs threads resume %s go on", thread);
		return cli_complain(cli, CLI_FAILED, mend, "thread %s was cancelled", thread);
	}
	/* what does not fit into a model's window, or a transcript, is mended in the directive */
	if (outcome->code == RYE_TOO_BIG && *thread && !strstr(outcome->message, MEND_WITH)) {
		mend = editing_mend(cli, executed->ref);
		return cli_complain(cli, CLI_FAILED, mend, "%s", outcome->message);
	}
	if (outcome->code == RYE_TOOL_FAILED)
		return failed_tool(cli, executed);
	/* what only a thread obeys */
	if (invalid && strstr(outcome->message, " requires thread=\"fork\"")) {
		mend = cli_retyped(cli, "execute --fork", NULL, NULL);
		return cli_complain(cli, CLI_USAGE, mend, "%s", outcome->message);
	}
	if (invalid &&
	    (strstr(outcome->message, "arameters: ") || strstr(outcome->message, "inputs: ")))
		return failed_parameters(cli, executed);
	return call_fail(cli, &executed->called, executed->ref);
}

int executed_tell(struct cli *cli, const struct executed *executed)
{
	const struct rye_outcome *outcome = &executed->called.outcome;
	const json_t *reply = executed->called.reply;
	int signal = executed->called.signal, status;
	bool json = cli->opt.json;

	/* as if the signal had ended us */
	if (signal == SIGPIPE)
		return 128 + signal;
	if (json)
		executed_reply(&executed->called);
	else if (outcome->code == RYE_OK)
		executed_well(cli, executed);
	else if (executed->printed && cli->opt.fork)
		putchar('\n'); /* what stands there are the model's words */
	else if (executed->printed || (!is_message(outcome) && outcome->code != RYE_INVALID))
		print_rest(executed);
	if (outcome->trace && cli->opt.trace)
		out_blob(stderr, outcome->trace);
	if (!json)
		executed_warnings(cli, reply);
	if (cli->opt.fork)
		executed_remarks(cli, reply);
	if (outcome->code == RYE_OK)
		return CLI_OK;
	/* the reply was the one JSON value on standard output */
	cli->opt.json = false;
	status = executed_badly(cli, executed);
	return signal ? 128 + signal : status;
}

int threads_resume(struct cli *cli, const char *id, const char *message)
{
	auto_json json_t *request = json_pack("{s:s, s:s, s:b}", "resume_thread_id", id, "message",
					      message, "async", 1);
	auto_called struct called called = { .signal = 0 };
	int status = parent_check(cli);

	if (status == CLI_OK)
		status = call_wait(cli, &(struct cli_call){ RYE_EXECUTE, request, NULL }, &called);
	if (status != CLI_OK)
		return status;
	if (called.outcome.code != RYE_OK)
		return call_fail(cli, &called, NULL);
	if (cli->opt.json)
		out_json(called.reply);
	else
		executed_thread(cli, json_str(called.reply, "thread_id"));
	return CLI_OK;
}
