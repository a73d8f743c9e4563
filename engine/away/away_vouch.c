/* SPDX-License-Identifier: MIT */
/*
 * What an item needs there beside its bytes. Its elements may be signed by others than the asker, whose keys the
 * node takes by the asker's word, as far as its entry of the asker lets it. Of the secrets it gets those that
 * its chain asks for and the remote's signed entry lists: neither a tool nor the entry alone sends one. A
 * directive asks for none: what it may call is not known before.
 */
#include "away/away_inner.h"

#include "api/api.h"
#include "memory.h"
#include "plan/plan.h"
#include "scope.h"
#include "secret/secret.h"
#include "str.h"

#include <string.h>

void away_vouch_done(struct away_vouch *vouch)
{
	json_decref(vouch->signers);
	json_decref(vouch->names);
	json_decref(vouch->values);
}

/* The bundle's own key is known there. */
static void vouch_key(const struct away *away, const struct rye_item *item, const char *own,
		      struct away_vouch *vouch)
{
	const char *fp = item->verdict.fingerprint;
	auto_trust struct trust *trust = trust_get(away->items->trust);
	const struct trust_key *key = trust_find(trust, span_of(fp));
	struct key_public pub;

	if (item->space->type == RYE_SYSTEM || !key || !strcmp(fp, own))
		return;
	key_public_of(key->bytes, &pub);
	if (!json_lists(vouch->signers, pub.pem))
		json_array_append_new(vouch->signers, json_string(pub.pem));
}

static void vouch_name(const struct away *away, const json_t *stored, const char *name,
		       struct away_vouch *vouch)
{
	const char *value = secret_value(stored, name);

	if (!value || !json_lists(away->remote.secrets, name) ||
	    json_object_get(vouch->values, name))
		return;
	json_array_append_new(vouch->names, json_string(name));
	json_sets(vouch->values, name, value);
}

static int vouch_secrets(const struct away *away, const struct chain *chain,
			 struct away_vouch *vouch, struct rye_err *err)
{
	auto_json json_t *asked = json_array(), *stored = NULL;
	const json_t *name;
	size_t i;
	int r;

	if (!json_array_size(away->remote.secrets))
		return 0;
	plan_asks(chain, asked);
	r = json_array_size(asked) ? secret_load(away->items->spaces, &stored, err) : 0;
	json_array_foreach(asked, i, name)
		if (!r)
			vouch_name(away, stored, json_string_value(name), vouch);
	return r;
}

int away_vouch(const struct away *away, struct rye_item *item, const char *own,
	       struct away_vouch *ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct chain_start first = { .item = item };
	auto_chain struct chain chain = { 0 };
	int r;

	*ret = (struct away_vouch){ json_array(), json_array(), json_object() };
	if (!rye_kind_has(item->kind, RYE_KIND_PROCESS)) {
		vouch_key(away, item, own, ret);
		rye_item_unref(item);
		return memory_check(since, err);
	}
	r = chain_build(away->items, &first, &chain, err);
	for (size_t i = 0; !r && i < chain.n; i++)
		vouch_key(away, chain.v[i].item, own, ret);
	if (!r)
		r = vouch_secrets(away, &chain, ret, err);
	return r ? r : memory_check(since, err);
}
