/* SPDX-License-Identifier: MIT */
/*
 * ryefs threads resume: a thread that has ended goes on as a new one, whose id is the answer. It is
 * the request that `execute` of a mount takes, so that the reply tells what came of it.
 */
#include "cli/follow/follow.h"

#include "scope.h"

static int resumed_tell(struct cli *cli, const struct rye_outcome *outcome)
{
	auto_json json_t *reply = json_loadb(outcome->reply->data, outcome->reply->len, 0, NULL);
	struct rye_err err = { .code = outcome->code };
	const char *next = json_str(reply, "thread_id");

	if (outcome->code != RYE_OK) {
		snprintf(err.msg, sizeof(err.msg), "%s", json_str(reply, "error"));
		return cli_fail(cli, &err, NULL);
	}
	if (cli->opt.json) {
		out_json(reply);
		return CLI_OK;
	}
	out_text(stdout, next);
	putchar('\n');
	fflush(stdout);
	cli_note(cli, "it goes on as a thread; its end: ryefs threads wait %s", next);
	return CLI_OK;
}

int threads_resume(struct cli *cli, const char *id, const char *message)
{
	auto_json json_t *request = json_pack("{s:s, s:s, s:b}", "resume_thread_id", id, "message",
					      message, "async", 1);
	struct rye_request req = { .verb = RYE_EXECUTE,
				   .kind = RYE_KIND__MAX,
				   .id = "",
				   .uid = getuid() };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_outcome outcome = { 0 };
	int status = parent_check(cli);

	if (status != CLI_OK)
		return status;
	json_put(&text, request, false);
	if (!request || text.failed)
		return cli_complain(cli, CLI_FAILED, NULL, "the message is no text, or too long");
	req.message = (struct rye_span){ text.data, text.len };
	rye_call_sync(cli->rye, &req, &outcome);
	status = resumed_tell(cli, &outcome);
	rye_outcome_done(&outcome);
	return status;
}
