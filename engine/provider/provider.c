/* SPDX-License-Identifier: MIT */
/*
 * From a model's name or tier to a provider that can be called: which item offers it, what the item
 * says of that model, where it is and with which key.
 *
 * Order of search: the provider that was named alone, else the default one first. A tier; an id among
 * the tiers; the beginning of one, either way; an id with a price; a pattern of `models`.
 */
#include "provider/provider_inner.h"

#include "base/sha.h"
#include "bounds.h"
#include "item/item.h"
#include "memory.h"
#include "process/process.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a model may give and hold when its item does not say. */
#define OUTPUT_DEFAULT 16384
#define WINDOW_DEFAULT 200000
/* Requests of one key at once: hosted providers allow more, a local server has few slots. */
#define FLIGHT_HOSTED 8
#define FLIGHT_LOCAL 4
#define FLIGHT_MAX 256

struct resolving {
	json_t *items; /* [{id, doc}], in order of search; owned */
	json_t *agent; /* agent/agent; owned */
	bool preferred; /* the first item goes before the others */
	const json_t *row; /* what was found */
	const char *model; /* borrowed from the row or the question */
};

static const json_t *item_doc(const json_t *row)
{
	return json_object_get(row, "doc");
}

static void resolving_done(struct resolving *resolving)
{
	json_decref(resolving->items);
	json_decref(resolving->agent);
}

/* ---- which items ---- */

static bool is_hinted(const json_t *row, const char *hint)
{
	const char *id = json_str(row, "id");
	size_t n = strlen(id), len = strlen(hint);

	return !strcmp(json_str(item_doc(row), "tool_id"), hint) || !strcmp(id, hint) ||
	       (n > len + 1 && id[n - len - 1] == '/' && !strcmp(id + n - len, hint));
}

static void list_names(const json_t *items, struct rye_buf *out)
{
	const json_t *row;
	size_t i;

	buf_adds(out, "");
	json_array_foreach(items, i, row)
		buf_addf(out, "%s%s", i ? ", " : "", json_str(item_doc(row), "tool_id"));
}

/* Only those that match the name. */
static int keep_hinted(struct resolving *resolving, const char *hint, struct rye_err *err)
{
	auto_json json_t *all = resolving->items;
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	json_t *row;
	size_t i;

	resolving->items = json_array();
	json_array_foreach(all, i, row)
		if (is_hinted(row, hint))
			json_array_append(resolving->items, row);
	resolving->preferred = true;
	if (json_array_size(resolving->items))
		return 0;
	list_names(all, &names);
	return rye_fail(err, RYE_NOT_FOUND, "Provider '%s' not found. Available: %s", hint,
			names.data);
}

static void move_default(struct resolving *resolving)
{
	const char *name = json_str(json_object_get(resolving->agent, "provider"), "default");
	json_t *row;
	size_t i;

	json_array_foreach(resolving->items, i, row) {
		if (!*name || !is_hinted(row, name))
			continue;
		json_incref(row);
		json_array_remove(resolving->items, i);
		json_array_insert_new(resolving->items, 0, row);
		resolving->preferred = true;
		return;
	}
}

/* ---- which model ---- */

/* The value of a tier as it stands in the item. */
static const char *tier_value(const json_t *row, const char *tier)
{
	return json_str(json_object_get(item_doc(row), "tier_mapping"), tier);
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static const char *tier_like(const json_t *row, const char *model, bool whole)
{
	json_t *tiers = json_object_get(item_doc(row), "tier_mapping"), *value;
	const char *tier;

	json_object_foreach(tiers, tier, value) {
		const char *id = json_string_value(value);

		if (!id || !*id)
			continue;
		if (whole ? !strcmp(id, model) : begins(id, model) || begins(model, id))
			return id;
	}
	return NULL;
}

static const char *listed(const json_t *row, const char *model)
{
	json_t *prices = json_object_get(item_doc(row), "pricing");
	json_t *models = json_object_get(item_doc(row), "models"), *value;
	const char *pattern;

	if (json_object_get(prices, model))
		return model;
	json_object_foreach(models, pattern, value)
		if (glob_match(pattern, model))
			return model;
	return NULL;
}

typedef const char *(*model_rule)(const json_t *row, const char *model);

static const char *rule_exact(const json_t *row, const char *model)
{
	return tier_like(row, model, true);
}

static const char *rule_prefix(const json_t *row, const char *model)
{
	return tier_like(row, model, false);
}

static bool find_by(struct resolving *resolving, const char *model, model_rule rule)
{
	const json_t *row;
	size_t i;

	json_array_foreach(resolving->items, i, row) {
		const char *id = rule(row, model);

		if (!id)
			continue;
		resolving->row = row;
		resolving->model = id;
		return true;
	}
	return false;
}

/* A tier that several offer is no answer, unless one of them is preferred. */
static int find_tier(struct resolving *resolving, const char *tier, struct rye_err *err)
{
	const char *chosen = json_str(json_object_get(resolving->agent, "provider"), "default");
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach(resolving->items, i, row) {
		if (!*tier_value(row, tier))
			continue;
		buf_addf(&names, "%s%s", n++ ? ", " : "", json_str(item_doc(row), "tool_id"));
		if (resolving->row)
			continue;
		resolving->row = row;
		resolving->model = tier_value(row, tier);
	}
	if (n > 1 && !resolving->preferred && *chosen)
		return rye_fail(err, RYE_INVALID,
				"provider.default in config/agent/agent.yaml is '%.80s', which is "
				"none of those that offer tier '%s': %s",
				chosen, tier, names.data);
	if (n > 1 && !resolving->preferred)
		return rye_fail(err, RYE_INVALID,
				"tier '%s' is offered by several providers: %s; name one, or set "
				"provider.default in config/agent/agent.yaml",
				tier, names.data);
	return 0;
}

static int fail_model(const struct resolving *resolving, const char *model, struct rye_err *err)
{
	auto_buf struct rye_buf tiers = RYE_BUF_INIT;
	const json_t *row;
	size_t i;

	buf_adds(&tiers, "");
	json_array_foreach(resolving->items, i, row) {
		json_t *map = json_object_get(item_doc(row), "tier_mapping"), *value;
		const char *tier;

		json_object_foreach(map, tier, value)
			buf_addf(&tiers, "%s%s: %s", tiers.len ? ", " : "",
				 json_str(item_doc(row), "tool_id"), tier);
	}
	return rye_fail(err, RYE_NOT_FOUND, "no provider offers the model '%s'; there are %s",
			model, tiers.data);
}

static int find_model(struct resolving *resolving, const char *model, struct rye_err *err)
{
	static const model_rule rules[] = { rule_exact, rule_prefix, listed };
	const char *own = json_str(json_object_get(resolving->agent, "tier_mapping"), model);
	int r;

	/* The project's word for a tier is an id; where no one has it, the tier is asked for. */
	for (size_t i = 0; *own && i < ARRAY_SIZE(rules); i++)
		if (find_by(resolving, own, rules[i]))
			return 0;
	r = find_tier(resolving, model, err);
	if (r || resolving->row)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (find_by(resolving, model, rules[i]))
			return 0;
	return fail_model(resolving, model, err);
}

static int resolve_all(const struct provider_env *env, const struct provider_ask *ask,
		       struct resolving *resolving, struct rye_err *err)
{
	const char *model = ask->model && *ask->model ? ask->model : "general";
	int r = provider_items(env, &resolving->items, err);

	if (!r)
		r = provider_config(env, "agent", &resolving->agent, err);
	if (!r && !json_array_size(resolving->items))
		r = rye_fail(
			err, RYE_NOT_FOUND,
			"No provider configs found. Searched: tools/rye/agent/providers of all "
			"spaces");
	if (!r && ask->provider && *ask->provider)
		r = keep_hinted(resolving, ask->provider, err);
	else if (!r)
		move_default(resolving);
	return r ? r : find_model(resolving, model, err);
}

/* ---- what the item says of it ---- */

/* The first profile whose patterns have the model is laid over the item. */
static void lay_profile(json_t *item, const char *model)
{
	json_t *profiles = json_object_get(item, "profiles"), *profile;
	const json_t *pattern;
	const char *name;
	size_t i;

	json_object_foreach(profiles, name, profile)
		json_array_foreach(json_object_get(profile, "match"), i, pattern) {
			if (!json_is_string(pattern) ||
			    !glob_match(json_string_value(pattern), model))
				continue;
			json_incref(profile);
			json_object_del(item, "profiles");
			provider_lay(item, profile);
			json_decref(profile);
			return;
		}
}

static json_t *fields_of(const json_t *item, const char *model)
{
	const json_t *defaults = json_object_get(item, "default_model_fields");
	json_t *models = json_object_get(item, "models"), *one;
	json_t *fields = defaults ? json_deep_copy(defaults) : json_object();
	const json_t *price = json_object_get(json_object_get(item, "pricing"), model);
	const char *pattern;

	if (price)
		json_object_set_new(fields, "pricing", json_deep_copy(price));
	json_object_foreach(models, pattern, one) {
		if (!glob_match(pattern, model))
			continue;
		provider_lay(fields, one);
		break;
	}
	return fields;
}

/* What an older item writes into its body beside placeholders is set. */
static void lay_body(json_t *fields, const json_t *item)
{
	static const char *const ours[] = { "model", "messages", "max_tokens",
					    "tools", "stream",	 "system" };
	json_t *body = json_object_get(json_object_get(item, "config"), "body"), *value;
	json_t *set = json_object_get(fields, "set");
	const char *key;

	json_object_foreach(body, key, value) {
		bool own = json_is_string(value) && json_string_value(value)[0] == '{';

		for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
			own |= !strcmp(ours[i], key);
		if (own)
			continue;
		if (!set) {
			set = json_object();
			json_object_set_new(fields, "set", set);
		}
		if (!json_object_get(set, key))
			json_object_set(set, key, value);
	}
}

/* The most specific of three places. */
static json_int_t field_number(const struct provider *provider, const char *field, const char *item,
			       json_int_t fallback)
{
	json_int_t value = json_int(provider->fields, field, 0);

	if (value <= 0)
		value = json_int(json_object_get(provider->fields, "pricing"), item, 0);
	if (value <= 0)
		value = json_int(provider->item, item, 0);
	return value > 0 ? value : fallback;
}

/* ---- where it is ---- */

static const char *address_of(const struct provider *provider, bool stream)
{
	const json_t *config = json_object_get(provider->item, "config");
	const char *url = json_str(config, stream ? "stream_url" : "url");

	return *url ? url : json_str(config, "url");
}

/* {model} is the model; "…/v1" before "/v1/…" is written once. */
static void put_address(const struct provider *provider, const char *base, const char *path,
			struct rye_buf *out)
{
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	size_t n = strlen(base);
	struct rye_span rest;
	ssize_t at;

	while (*path && n && base[n - 1] == '/')
		n--;
	if (n > 3 && !strncmp(base + n - 3, "/v1", 3) && begins(path, "/v1/"))
		path += 3;
	buf_addf(&all, "%.*s%s", (int)n, base, path);
	rest = buf_span(&all);
	while ((at = span_find(rest, 0, "{model}")) >= 0) {
		buf_add(out, rest.ptr, (size_t)at);
		buf_adds(out, provider->model);
		rest = span_skip(rest, (size_t)at + strlen("{model}"));
	}
	buf_addspan(out, rest);
}

static int provider_make_url(struct provider *provider, struct key_ring *ring, bool stream,
			     char **ret, struct rye_err *err)
{
	const char *base = json_str(provider->item, "base_url");
	auto_buf struct rye_buf filled = RYE_BUF_INIT, url = RYE_BUF_INIT;
	int r = key_fill(ring, *base ? base : address_of(provider, stream), &filled, err);

	if (r)
		return r;
	put_address(provider, filled.data, *base ? wire_path(provider->wire, stream) : "", &url);
	if (url.failed || !url.len)
		return rye_fail(err, RYE_INVALID, "provider %s: base_url or config.url is wanted",
				provider->name);
	*ret = buf_steal(&url);
	return *ret ? 0 : memory_fail(err);
}

/* "https://host:port/…" → host; says whether it is this machine. */
static void note_host(struct provider *provider)
{
	static const char *const local[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *begin = strstr(provider->url, "://");
	size_t n;

	begin = begin ? begin + 3 : provider->url;
	n = strcspn(begin, "/?#");
	provider->host = memory_note(strndup(begin, n));
	if (*begin == '[')
		n = strcspn(begin, "]") + 1;
	else
		n = strcspn(begin, ":/?#");
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		provider->local |= strlen(local[i]) == n && !strncasecmp(begin, local[i], n);
}

/* ---- with which key ---- */

struct provider_headers {
	char **v;
	size_t n;
};

/* A later row of the same name replaces the earlier one. */
static int put_own_header(struct provider_headers *list, const char *name, const char *value,
			  struct rye_err *err)
{
	auto_buf struct rye_buf row = RYE_BUF_INIT;
	char **v = reallocarray(list->v, list->n + 2, sizeof(*v));

	if (!v)
		return memory_fail(err);
	list->v = v;
	buf_addf(&row, "%s: %s", name, value);
	for (size_t i = 0; i < list->n; i++)
		if (!strncasecmp(v[i], row.data, strlen(name) + 1)) {
			free(v[i]);
			v[i] = buf_steal(&row);
			return 0;
		}
	v[list->n++] = buf_steal(&row);
	v[list->n] = NULL;
	return 0;
}

static int add_item_headers(struct provider_headers *list, struct key_ring *ring, const json_t *map,
			    struct rye_err *err)
{
	json_t *rows = (json_t *)map, *value;
	const char *name;
	int r = 0;

	json_object_foreach(rows, name, value) {
		auto_buf struct rye_buf filled = RYE_BUF_INIT;

		if (r || !json_is_string(value))
			continue;
		r = key_fill(ring, json_string_value(value), &filled, err);
		if (!r)
			r = put_own_header(list, name, filled.data, err);
	}
	return r;
}

static int provider_add_auth(struct provider_headers *list, struct key_ring *ring,
			     const json_t *auth, struct rye_err *err)
{
	bool bearer = !strcmp(json_str(auth, "type"), "bearer");
	const char *header = json_str(auth, "header");
	auto_buf struct rye_buf key = RYE_BUF_INIT, value = RYE_BUF_INIT;
	int r;

	if (!json_is_object(auth))
		return 0;
	r = key_fill(ring, json_str(auth, bearer ? "token" : "key"), &key, err);
	if (r)
		return r;
	buf_addf(&value, "%s%s", bearer ? "Bearer " : "", key.data);
	if (bearer)
		return put_own_header(list, "Authorization", value.data, err);
	return put_own_header(list, *header ? header : "X-API-Key", value.data, err);
}

static int provider_make_headers(struct provider *provider, struct key_ring *ring,
				 struct rye_err *err)
{
	const json_t *config = json_object_get(provider->item, "config");
	const json_t *auth = json_object_get(provider->item, "auth");
	struct provider_headers list = { 0 };
	int r = put_own_header(&list, "Content-Type", "application/json", err);

	if (!r)
		r = put_own_header(&list, "Accept", "text/event-stream, application/json", err);
	if (!r)
		r = add_item_headers(&list, ring, json_object_get(config, "headers"), err);
	if (!r)
		r = add_item_headers(&list, ring, json_object_get(provider->item, "headers"), err);
	if (!r)
		r = provider_add_auth(&list, ring, auth ? auth : json_object_get(config, "auth"),
				      err);
	provider->headers = list.v;
	return r;
}

/* The same for every runner with this key at this host, and no way back to either. */
static void make_lane(const struct provider_env *env, struct provider *provider)
{
	const char *runtime = env->own ? env_get(env->own, "XDG_RUNTIME_DIR") : NULL;
	auto_buf struct rye_buf what = RYE_BUF_INIT, path = RYE_BUF_INIT, own = RYE_BUF_INIT;
	const char *shared = env->shared;
	char hex[SHA_HEX];

	if (!shared && runtime && *runtime == '/') {
		buf_addf(&own, "%s/ryefs-providers", runtime);
		shared = own.data;
	}

	if (!shared || !provider->host || (mkdir(shared, 0700) && errno != EEXIST))
		return;
	buf_adds(&what, provider->host);
	for (char **row = provider->headers; row && *row; row++)
		buf_addf(&what, "\n%s", *row);
	if (what.failed)
		return;
	sha256_hex(buf_span(&what), hex);
	buf_addf(&path, "%s/%.32s", shared, hex);
	provider->lane = buf_steal(&path);
	explicit_bzero(what.data, what.len);
}

/* ---- all of it ---- */

static int choose_wire(struct provider *provider, struct rye_err *err)
{
	const char *name = json_str(provider->item, "wire");

	provider->wire = *name ? wire_named(name) : wire_of_url(address_of(provider, true));
	if (!provider->wire)
		return rye_fail(
			err, RYE_INVALID,
			"provider %s: wire \"%.40s\": anthropic_messages, openai_responses, "
			"openai_chat, gemini_generate or gemini_interactions is wanted",
			provider->name, name);
	provider->wire_name = wire_name(provider->wire);
	return 0;
}

static char *text_or_null(const json_t *doc, const char *key)
{
	const char *text = json_str(doc, key);

	return *text ? memory_note(strdup(text)) : NULL;
}

static void note_numbers(struct provider *provider)
{
	const json_t *item = provider->item, *limits = json_object_get(item, "limits");
	const json_t *tools = json_object_get(provider->fields, "tools");
	const json_t *pricing = json_object_get(provider->fields, "pricing");
	json_int_t flight = json_int(limits, "requests_in_flight",
				     provider->local ? FLIGHT_LOCAL : FLIGHT_HOSTED);

	provider->window =
		field_number(provider, "context_window", "context_window", WINDOW_DEFAULT);
	provider->max_output =
		field_number(provider, "max_output", "max_output_tokens", OUTPUT_DEFAULT);
	provider->in_flight = (unsigned)MIN_OF(MAX_OF(flight, 1), FLIGHT_MAX);
	provider->priced = json_array_size(pricing) || json_object_size(pricing);
	provider->images_in_results = json_flag(tools, "images_in_results", false);
	provider->text_calls =
		!strcmp(json_str(json_object_get(item, "tool_use"), "mode"), "text_parsed");
	provider->fallback = text_or_null(provider->fields, "fallback_model");
	provider->retires = text_or_null(provider->fields, "retires");
}

static int provider_fill(const struct provider_env *env, const struct resolving *resolving,
			 struct provider *provider, struct rye_err *err)
{
	__attribute__((cleanup(key_ring_done))) struct key_ring ring = { .env = env };
	int r;

	provider->id = memory_note(strdup(json_str(resolving->row, "id")));
	provider->item = json_deep_copy(item_doc(resolving->row));
	provider->name = memory_note(strdup(json_str(provider->item, "tool_id")));
	provider->model = memory_note(strdup(resolving->model));
	if (!provider->id || !provider->item || !provider->name || !provider->model)
		return memory_fail(err);
	provider->vendors = json_flag(resolving->row, "bundled", false) &&
			    !strstr(json_str(provider->item, "base_url"), "${");
	lay_profile(provider->item, provider->model);
	provider->fields = fields_of(provider->item, provider->model);
	lay_body(provider->fields, provider->item);
	ring.item = provider->item;
	r = choose_wire(provider, err);
	if (!r)
		r = provider_make_url(provider, &ring, false, &provider->url, err);
	if (!r)
		r = provider_make_url(provider, &ring, true, &provider->stream_url, err);
	if (!r)
		r = provider_make_headers(provider, &ring, err);
	provider->secrets = json_incref(ring.used);
	if (r)
		return r;
	note_host(provider);
	note_numbers(provider);
	make_lane(env, provider);
	return provider_config(env, "error_classification", &provider->rules, err);
}

int provider_resolve(const struct provider_env *env, const struct provider_ask *ask,
		     struct provider **ret, struct rye_err *err)
{
	__attribute__((cleanup(resolving_done))) struct resolving resolving = { 0 };
	auto_provider struct provider *provider = calloc(1, sizeof(*provider));
	int r = provider ? resolve_all(env, ask, &resolving, err) : memory_fail(err);

	if (!r)
		r = provider_fill(env, &resolving, provider, err);
	if (!r)
		*ret = steal(&provider);
	return r;
}

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void provider_free(struct provider *provider)
{
	if (!provider)
		return;
	for (char **row = provider->headers; row && *row; row++)
		wipe(*row);
	free(provider->headers);
	wipe(provider->url);
	wipe(provider->stream_url);
	json_decref(provider->secrets);
	json_decref(provider->fields);
	json_decref(provider->item);
	json_decref(provider->rules);
	free(provider->id);
	free(provider->name);
	free(provider->model);
	free(provider->host);
	free(provider->fallback);
	free(provider->retires);
	free(provider->lane);
	free(provider);
}
