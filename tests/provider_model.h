/* SPDX-License-Identifier: MIT */
#pragma once
/* provider_model.h - one conversation with a model at the scripted provider, which the place keeps. */
#include "provider_script.h"

/* Streams of the vectors, as answers of the scripted provider; then plain ones. */
static inline void serve_vectors(struct provider_place *p, const char *const *names,
				 const char *more)
{
	auto_buf struct rye_buf script = RYE_BUF_INIT;

	buf_adds(&script, "[");
	for (; *names; names++)
		buf_addf(&script, "{\"file\":\"%s/vectors/providers/%s.sse\"},",
			 getenv("RYE_TEST_SRC"), *names);
	buf_addf(&script, "%s]", more);
	provider_serve(p, script.data);
}

#define serve_vector(p, name, more) \
	serve_vectors((p), (const char *const[]){ (name), NULL }, (more))

static inline json_t *one_tool(void)
{
	return json_pack("[{s:s, s:s, s:{s:s, s:{s:{s:s}}}}]", "name", "ls", "description",
			 "Lists.", "schema", "type", "object", "properties", "p", "type", "string");
}

/* A user says "go" to a model of this wire. */
static inline void model_open(struct provider_place *p, const char *wire, const char *more)
{
	p->provider = provider_at(p, wire, more);
	p->messages = conversation("go");
	p->request.messages = p->messages;
}

/* One more attempt; what the last one brought is gone. */
static inline struct provider_result *model_attempt(struct provider_place *p)
{
	provider_result_done(&p->got);
	p->got = provider_attempt(p, p->provider, &p->request);
	return &p->got;
}

/* The answer becomes part of the conversation, and so does what comes of it; or NULL. */
static inline void model_keep(struct provider_place *p, json_t *then)
{
	json_array_append(p->messages, p->got.message);
	if (then)
		json_array_append_new(p->messages, then);
}

/* The text of the nth request that the server has seen. */
static inline void model_sent(const struct provider_place *p, int n, struct rye_buf *ret)
{
	auto_json json_t *row = logged_request(p, n);

	json_put(ret, row, false);
}
