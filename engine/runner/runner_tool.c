/* SPDX-License-Identifier: MIT */
/*
 * Orders of the type "tool": one execute request, run by an engine of this process's own with the
 * launcher's options.
 */
#include "runner/runner_inner.h"

#include "base/engine_options.h"
#include "policy/policy.h"
#include "scope.h"
#include "str.h"

#include <sys/stat.h>
#include <unistd.h>

static void tool_on_event(void *arg, const struct rye_event *event)
{
	if (event->type == RYE_EVENT_OUTPUT)
		live_put(arg, event->bytes);
}

/* The request as the engine gets it. */
static void put_request(const struct orders *orders, struct rye_buf *ret)
{
	json_t *request = json_object_get(orders->doc, "request");

	/*
	 * Engines that decide what its children may do read it in the directory's request.json; it
	 * is no member of a request.
	 */
	json_object_del(request, "within");
	json_put(ret, request, true);
}

int runner_execute(const struct orders *orders, runner_status_fn status)
{
	auto_live struct live live = { .fd = -1 };
	auto_buf struct rye_buf message = RYE_BUF_INIT, authority = RYE_BUF_INIT;
	/* what its launcher was held to, and what was above that */
	const char *given = json_string_value(json_object_get(orders->doc, "authority"));
	json_t *within = json_object_get(json_object_get(orders->doc, "request"), "within");
	struct rye_request request = { .verb = RYE_EXECUTE,
				       .id = "",
				       .uid = getuid(),
				       .keeps = true,
				       .authority = authority_text(given, within, &authority),
				       .events = { tool_on_event, &live } };
	struct rye_options options;
	struct rye_err err = { 0 };
	struct runner_wait wait;
	struct rye *rye;
	int r;

	live_open(orders, &live);
	options_from_json(json_object_get(orders->doc, "options"), &options);
	options.scan = false; /* for one request */
	umask(options.umask);
	wait_init(&wait, orders);
	if (rye_open(&options, &rye, &err))
		return runner_fail(orders, &err);
	put_request(orders, &message);
	request.message = (struct rye_span){ message.data, message.len };
	rye_start(rye, &request, wait_on_done, &wait, &wait.call);
	wait_call(&wait);
	r = runner_end(orders, status(&wait), &wait.outcome, &live);
	wait_done(&wait);
	rye_close(rye);
	return r;
}

int runner_tool(const struct orders *orders)
{
	return runner_execute(orders, wait_status);
}
