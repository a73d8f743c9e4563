/* SPDX-License-Identifier: MIT */
#pragma once
/* provider_script.h - the scripted provider of tests/fake, attempts against it, and its log. */
#include "provider_place.h"

#include "clock.h"

/* Until it listens; a test ends before a server that does not come would hang it. */
static inline void provider_serve_as(struct provider_place *p, const char *server,
				     const char *script)
{
	char file[200], port[200], program[500];
	struct rye_blob *blob = NULL;

	snprintf(file, sizeof(file), "%s/script.json", p->place.base);
	snprintf(port, sizeof(port), "%s/port", p->place.base);
	snprintf(p->log, sizeof(p->log), "%s/log", p->place.base);
	snprintf(program, sizeof(program), "%s/fake/%s", getenv("RYE_TEST_SRC"), server);
	{
		auto_file FILE *f = fopen(file, "w");

		assert_non_null(f);
		fputs(script, f);
	}
	p->server = fork();
	assert_true(p->server >= 0);
	if (!p->server) {
		execl("/usr/bin/python3", "python3", program, file, port, p->log, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 500 && access(port, R_OK); i++)
		usleep(20000);
	blob = place_read(port);
	snprintf(p->port, sizeof(p->port), "%.*s", (int)(blob->len - 1), blob->data);
	rye_blob_unref(blob);
}

static inline void provider_serve(struct provider_place *p, const char *script)
{
	provider_serve_as(p, "provider_server.py", script);
}

/* An item of the wire at the scripted provider; more: lines of YAML. */
static inline struct provider *provider_at(struct provider_place *p, const char *wire,
					   const char *more)
{
	const struct provider_ask ask = { "general", "test" };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct provider *provider = NULL;
	struct rye_err err = { 0 };

	buf_addf(&text,
		 "tool_id: test\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n"
		 "category: rye/agent/providers\ndescription: a test.\nwire: %s\n"
		 "base_url: http://127.0.0.1:%s\ntier_mapping: {general: m}\n%s",
		 wire, p->port, more);
	provider_put_item(p, "test", text.data);
	if (!p->place.spaces)
		provider_place_open(p);
	if (provider_resolve(&p->env, &ask, &provider, &err))
		fail_msg("%s", err.msg);
	return provider;
}

static inline struct provider_result provider_attempt(struct provider_place *p,
						      const struct provider *provider,
						      const struct provider_request *request)
{
	struct provider_result result;
	const struct provider_call call = {
		.http = p->http,
		.provider = provider,
		.request = request,
		.until_ms = clock_ms() + 20000,
		.cancel = -1,
	};

	provider_exchange(&call, &result);
	return result;
}

static inline json_t *user_message(const char *text)
{
	return json_pack("{s:s, s:[{s:s, s:s}]}", "role", "user", "blocks", "kind", "text", "text",
			 text);
}

static inline json_t *tool_result(const char *id, const char *name, const char *text)
{
	return json_pack("{s:s, s:[{s:s, s:s, s:s, s:s}]}", "role", "user", "blocks", "kind",
			 "tool_result", "id", id, "name", name, "text", text);
}

/* The log of the server, its nth request; a new reference. */
static inline json_t *logged_request(const struct provider_place *p, int n)
{
	struct rye_blob *blob = place_read(p->log);
	struct rye_span rest = { blob->data, blob->len }, line;
	json_t *found = NULL;

	while (!found && span_line(&rest, &line)) {
		json_t *row = json_loadb(line.ptr, line.len, 0, NULL);

		if (json_int(row, "n", 0) == n && json_object_get(row, "body"))
			found = json_incref(row);
		json_decref(row);
	}
	rye_blob_unref(blob);
	return found;
}

static const char *const provider_wires[] = { "anthropic_messages", "openai_responses",
					      "openai_chat", "gemini_generate",
					      "gemini_interactions" };

static inline json_t *conversation(const char *text)
{
	json_t *messages = json_array();

	json_array_append_new(messages, user_message(text));
	return messages;
}

static inline const json_t *block_of(const struct provider_result *result, const char *kind)
{
	const json_t *block;
	size_t i;

	json_array_foreach(json_object_get(result->message, "blocks"), i, block)
		if (!strcmp(json_str(block, "kind"), kind))
			return block;
	return NULL;
}

static inline void put_request(const struct provider *provider,
			       const struct provider_request *request, struct rye_buf *ret)
{
	struct rye_err err = { 0 };

	if (provider_request_make(provider, request, NULL, ret, &err))
		fail_msg("%s", err.msg);
}
