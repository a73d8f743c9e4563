/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * provider_place.h - spaces with signed provider items.
 */
#include "exec_place.h"

#include "process/process.h"
#include "provider/provider.h"

#include <signal.h>
#include <sys/wait.h>

struct provider_place {
	struct test_place place;
	struct env own; /* the environment that keys are looked for in */
	struct provider_env env;
	struct http *http;
	char port[16], log[200];
	pid_t server; /* 0: none */
	/* One conversation with a model, and what its last attempt brought (provider_model.h). */
	struct provider *provider;
	json_t *messages;
	struct provider_request request;
	struct provider_result got;
};

static inline void provider_put_item(struct provider_place *p, const char *name, const char *text)
{
	char file[200];

	snprintf(file, sizeof(file), "rye/agent/providers/%s.yaml", name);
	exec_sign(p->place.project, RYE_TOOL, file, span_of(text));
}

static inline void provider_put_config(struct provider_place *p, const char *name, const char *text)
{
	char file[200];

	snprintf(file, sizeof(file), "agent/%s.yaml", name);
	exec_sign(p->place.project, RYE_CONFIG, file, span_of(text));
}

/* The bundle's own item, signed by the key of the tests. */
static inline void provider_put_bundled(struct provider_place *p, const char *name)
{
	char path[500], file[200];
	struct rye_blob *blob;

	snprintf(path, sizeof(path), "%s/../.ai/tools/rye/agent/providers/%s.yaml",
		 getenv("RYE_TEST_SRC"), name);
	snprintf(file, sizeof(file), "rye/agent/providers/%s.yaml", name);
	blob = place_read(path);
	exec_sign(p->place.system, RYE_TOOL, file, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

static inline void provider_place_open(struct provider_place *p)
{
	place_open(&p->place, false);
	p->env = (struct provider_env){ .items = &p->place.env, .own = &p->own };
	p->http = http_open();
	assert_non_null(p->http);
}

static inline int provider_place_setup(void **state)
{
	struct provider_place *p = test_calloc(1, sizeof(*p));

	place_vectors(&p->place);
	*state = p;
	return 0;
}

static inline int provider_place_teardown(void **state)
{
	struct provider_place *p = *state;

	if (p->server) {
		kill(p->server, SIGTERM);
		waitpid(p->server, NULL, 0);
	}
	provider_result_done(&p->got);
	json_decref(p->messages);
	provider_free(p->provider);
	http_close(p->http);
	env_done(&p->own);
	place_drop(&p->place);
	test_free(p);
	return 0;
}

#define provider_test(name) \
	cmocka_unit_test_setup_teardown(name, provider_place_setup, provider_place_teardown)
