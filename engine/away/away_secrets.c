/* SPDX-License-Identifier: MIT */
/*
 * Which of the person's secrets go along with an order: those that the remote's entry lists and that something asks
 * for which the run can come to: a tool's chain; of a directive the chains of the tools that its permissions name, and
 * its providers. Values leave here in the box that order_seal makes, and in nothing else. One thread.
 */
#include "away/away_inner.h"

#include "base/id.h"
#include "memory.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "scope.h"
#include "secret/secret.h"
#include "space/space.h"
#include "str.h"

#include <string.h>

#define PROVIDERS "rye/agent/providers/"

struct asking {
	const struct away *away;
	const json_t *capabilities; /* of the directive */
	json_t *names; /* that are asked for */
};

/* A chain that cannot be built asks for nothing: there it cannot be, either. */
static void ask_tool(struct asking *asking, const char *id)
{
	struct item_ask ask = { .kind = RYE_TOOL, .id = id };
	struct chain_start first = { .item = NULL };
	auto_chain struct chain chain = { .n = 0 };

	if (rye_load(asking->away->items, &ask, &first.item, NULL))
		return;
	if (!chain_build(asking->away->items, &first, &chain, NULL))
		envres_asked(&chain, asking->names);
}

static int ask_covered(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct asking *asking = arg;
	auto_buf struct rye_buf name = RYE_BUF_INIT;

	(void)done;
	(void)total;
	if (!verdict || verdict->code != RYE_OK || verdict->kind != RYE_TOOL)
		return 0;
	capability_name(&name, "execute", "tool", verdict->id);
	if (!strncmp(verdict->id, PROVIDERS, strlen(PROVIDERS)) ||
	    (!name.failed && capabilities_cover(asking->capabilities, name.data)))
		ask_tool(asking, verdict->id);
	return 0;
}

static int ask_directive(struct asking *asking, const struct rye_item *item, struct rye_err *err)
{
	const struct rye_batch batch = { .pattern = "tool:*", .fn = ask_covered, .arg = asking };
	auto_json json_t *capabilities = NULL;
	int r = capabilities_of(meta_get(item, "permissions"), &capabilities, err);

	asking->capabilities = capabilities;
	return r ? r : rye_verify_all(asking->away->rye, &batch, err);
}

static void secrets_take(const struct away *away, const json_t *secrets, const json_t *asked,
			 struct away_secrets *ret)
{
	json_t *name;
	size_t i;

	json_array_foreach(away->remote.secrets, i, name) {
		const char *text = json_string_value(name), *value = secret_value(secrets, text);

		if (!value || !json_lists(asked, text))
			continue;
		json_array_append(ret->names, name);
		json_sets(ret->values, text, value);
	}
}

/* Those that a run here would be given: there they are empty, and the thread's file `remote` says so. */
static void secrets_withheld(struct away *away, const json_t *secrets, const json_t *asked)
{
	json_t *name;
	size_t i;

	json_array_foreach(asked, i, name) {
		const char *text = json_string_value(name);

		if (!secret_value(secrets, text) || json_lists(away->remote.secrets, text) ||
		    json_lists(away->withheld, text))
			continue;
		json_array_append(away->withheld, name);
	}
}

int away_secrets(struct away *away, const struct rye_item *item, struct away_secrets *ret,
		 struct rye_err *err)
{
	auto_json json_t *names = json_array(), *secrets = NULL;
	struct asking asking = { .away = away, .names = names };
	unsigned long since = memory_failures();
	int r = secret_load(away->items->spaces, &secrets, err);

	ret->names = json_array();
	ret->values = json_object();
	if (r || !json_object_size(secrets))
		return memory_result(since, r, err);
	if (rye_kind_has(item->kind, RYE_KIND_FORKS))
		r = ask_directive(&asking, item, err);
	else
		ask_tool(&asking, item->id);
	if (!r) {
		secrets_take(away, secrets, names, ret);
		secrets_withheld(away, secrets, names);
	}
	return memory_result(since, r, err);
}

void away_secrets_done(struct away_secrets *secrets)
{
	json_decref(secrets->names);
	json_decref(secrets->values);
}
