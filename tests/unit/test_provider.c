/* SPDX-License-Identifier: MIT */
/*
 * Which provider and model an id, a tier or a name stands for; keys; and what must never be told.
 */
#include "provider_place.h"

#include "secret/secret.h"

#define ITEM(name, more)                                                              \
	"tool_id: " name "\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n" \
	"category: rye/agent/providers\ndescription: a test.\nwire: openai_chat\n"    \
	"base_url: http://127.0.0.1:1\n" more

#define CONFIG(more) "version: \"1.0.0\"\ncategory: agent\ndescription: a test.\n" more

static struct provider *resolve(struct provider_place *p, const char *model, const char *name)
{
	const struct provider_ask ask = { model, name };
	struct provider *provider = NULL;
	struct rye_err err = { 0 };

	if (provider_resolve(&p->env, &ask, &provider, &err))
		fail_msg("%s: %s", model, err.msg);
	return provider;
}

static void refused(struct provider_place *p, const char *model, const char *name,
		    const char *wanted)
{
	const struct provider_ask ask = { model, name };
	struct provider *provider = NULL;
	struct rye_err err = { 0 };

	assert_int_not_equal(provider_resolve(&p->env, &ask, &provider, &err), 0);
	assert_null(provider);
	if (!strstr(err.msg, wanted))
		fail_msg("got %s, wanted %s", err.msg, wanted);
}

static void is_model(struct provider_place *p, const char *model, const char *provider,
		     const char *wanted)
{
	auto_provider struct provider *got = resolve(p, model, NULL);

	assert_string_equal(got->name, provider);
	assert_string_equal(got->model, wanted);
}

static void tiers_ids_and_names(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", ITEM("a", "tier_mapping: {general: one-1, high: one-2}\n"));
	provider_put_item(p, "b",
			  ITEM("b", "tier_mapping: {fast: two-1}\n"
				    "models: {\"two-*\": {max_output: 7}}\n"
				    "pricing: {three: {input: 1, output: 2}}\n"));
	provider_place_open(p);
	is_model(p, NULL, "a", "one-1");
	is_model(p, "high", "a", "one-2");
	is_model(p, "two-1", "b", "two-1");
	is_model(p, "one-2-2026", "a", "one-2"); /* the listed id, not the one asked for */
	is_model(p, "three", "b", "three");
	is_model(p, "two-9", "b", "two-9");
	refused(p, "nothing", NULL, "a: general, a: high, b: fast");
	refused(p, "fast", "c", "Provider 'c' not found. Available: a, b");
}

static void a_tier_of_two(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", ITEM("a", "tier_mapping: {general: one}\n"));
	provider_put_item(p, "b", ITEM("b", "tier_mapping: {general: two}\n"));
	provider_place_open(p);
	refused(p, "general", NULL, "a, b");
	provider_put_config(p, "agent", CONFIG("provider: {default: b}\n"));
	is_model(p, "general", "b", "two");
	provider_put_config(p, "agent",
			    CONFIG("provider: {default: b}\ntier_mapping: {general: one}\n"));
	is_model(p, "general", "a", "one");
}

static void fields_of_the_model(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *got = NULL;

	provider_put_item(
		p, "a",
		ITEM("a",
		     "tier_mapping: {general: big-1}\n"
		     "default_model_fields: {context_window: 1000, max_output: 10, set: {a: {b: 1}}}\n"
		     "models:\n  \"big-*\": {max_output: 99, set: {a: {c: 2}}}\n"
		     "  \"*\": {max_output: 1}\n"));
	provider_place_open(p);
	got = resolve(p, "general", NULL);
	assert_int_equal(got->window, 1000);
	assert_int_equal(got->max_output, 99);
	assert_true(got->local);
	assert_false(got->priced);
	assert_string_equal(got->host, "127.0.0.1:1");
	assert_string_equal(got->url, "http://127.0.0.1:1/v1/chat/completions");
	assert_int_equal(got->in_flight, 4);
	assert_int_equal(
		json_int(json_object_get(json_object_get(got->fields, "set"), "a"), "b", 0), 1);
}

/* Items of the format's own software name an address and templates; the wire is told by either. */
static void older_items(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *got = NULL;

	provider_put_item(
		p, "old",
		"tool_id: old\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n"
		"category: rye/agent/providers\ndescription: a test.\n"
		"tier_mapping: {general: gem-1}\n"
		"max_output_tokens: 50\n"
		"env_config: {env: {OLD_KEY: \"${OLD_KEY}\"}}\n"
		"config:\n  method: POST\n  url: https://example.org/v1/chat/completions\n"
		"  auth: {type: bearer, token: \"${OLD_KEY}\"}\n"
		"  body: {model: \"{model}\", messages: \"{messages}\", seed: 7}\n"
		"profiles:\n  g: {match: [\"gem-*\"], config: {url: "
		"\"https://example.org/m/{model}:generateContent\"}}\n");
	env_put(&p->own, "OLD_KEY", "old-secret-value");
	provider_place_open(p);
	got = resolve(p, "general", NULL);
	assert_string_equal(got->wire_name, "gemini_generate");
	assert_string_equal(got->url, "https://example.org/m/gem-1:generateContent");
	assert_int_equal(got->max_output, 50);
	assert_int_equal(json_int(json_object_get(got->fields, "set"), "seed", 0), 7);
	assert_false(got->local);
}

static void is_provider(struct provider_place *p, const char *model, const char *hint,
			const char *name, const char *wanted)
{
	auto_provider struct provider *got = resolve(p, model, hint);

	assert_string_equal(got->name, name);
	assert_string_equal(got->model, wanted);
}

/* By name, by id and by the end of the id; then the tier, the project's own, a prefix, no model at all. */
static void thread_T35_resolution(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", ITEM("a", "tier_mapping: {general: one-1, high: one-2}\n"));
	provider_put_item(p, "deep/b",
			  "tool_id: b\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n"
			  "category: rye/agent/providers/deep\ndescription: a test.\n"
			  "wire: openai_chat\nbase_url: http://127.0.0.1:1\n"
			  "tier_mapping: {general: two-1}\n");
	provider_place_open(p);
	refused(p, NULL, NULL, "a, b");
	is_provider(p, NULL, "b", "b", "two-1");
	is_provider(p, NULL, "rye/agent/providers/deep/b", "b", "two-1");
	is_provider(p, NULL, "deep/b", "b", "two-1");
	is_provider(p, "one-2-latest", NULL, "a", "one-2");
	refused(p, "ghost", NULL, "a: general, a: high, b: general");
	refused(p, "general", "c", "Provider 'c' not found. Available: a, b");
	provider_put_config(p, "agent",
			    CONFIG("provider: {default: b}\ntier_mapping: {high: two-1}\n"));
	is_provider(p, NULL, NULL, "b", "two-1");
	is_provider(p, "high", NULL, "b", "two-1");
}

/* The first profile whose pattern fits the resolved model is laid over the item. */
static void thread_T35_profile_by_pattern(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *one = NULL, *two = NULL;

	provider_put_item(
		p, "a",
		"tool_id: a\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n"
		"category: rye/agent/providers\ndescription: a test.\n"
		"tier_mapping: {general: gpt-9, fast: claude-9}\n"
		"config: {url: \"https://example.org/v1/chat/completions\"}\n"
		"profiles:\n"
		"  c: {match: [\"claude-*\"], config: {url: \"https://example.org/v1/messages\"}}\n"
		"  d: {match: [\"*\"], max_output_tokens: 9}\n");
	provider_place_open(p);
	one = resolve(p, "general", NULL);
	two = resolve(p, "fast", NULL);
	assert_string_equal(one->wire_name, "openai_chat");
	assert_string_equal(two->wire_name, "anthropic_messages");
}

#define KEYED                                              \
	"tier_mapping: {general: m}\n"                     \
	"env_config: {env: {TEST_KEY: \"${TEST_KEY}\"}}\n" \
	"auth: {type: api_key, header: x-key, key: \"${TEST_KEY}\"}\n"

static bool has_header(const struct provider *provider, const char *row)
{
	for (char **at = provider->headers; *at; at++)
		if (!strcmp(*at, row))
			return true;
	return false;
}

static void keys(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *got = NULL;

	provider_put_item(p, "a", ITEM("a", KEYED));
	place_text(p->place.project, "../.env", "TEST_KEY=of-the-project\n");
	provider_place_open(p);
	refused(p, "general", NULL, "ryefs secret set TEST_KEY");
	env_put(&p->own, "TEST_KEY", "of-the-environment");
	got = resolve(p, "general", NULL);
	assert_true(has_header(got, "x-key: of-the-environment"));
}

#define NAMED(url)                                                                               \
	"tool_id: a\ntool_type: http\nversion: \"1.0.0\"\nexecutor_id: null\n"                   \
	"category: rye/agent/providers\ndescription: a test.\nwire: openai_chat\nbase_url: " url \
	"\ntier_mapping: {general: m}\nheaders: {x-team: \"${TEST_TEAM:-nobodys}\"}\n"           \
	"env_config: {env: {TEST_URL: \"${TEST_URL}\", TEST_TEAM: \"${TEST_TEAM}\", "            \
	"TEST_KEY: \"${TEST_KEY}\"}}\nauth: {type: bearer, token: \"${TEST_KEY}\"}\n"

/* In the address and in headers, with a default and without; a key that is not there is named. */
static void thread_T36_variables(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *first = NULL, *second = NULL;

	provider_put_item(p, "a", NAMED("\"${TEST_URL:-http://127.0.0.1:1}/x\""));
	provider_place_open(p);
	refused(p, NULL, NULL, "TEST_KEY");
	env_put(&p->own, "TEST_KEY", "a-key-of-eight");
	first = resolve(p, NULL, NULL);
	assert_string_equal(first->url, "http://127.0.0.1:1/x/v1/chat/completions");
	assert_true(has_header(first, "x-team: nobodys"));
	assert_true(has_header(first, "authorization: Bearer a-key-of-eight") ||
		    has_header(first, "Authorization: Bearer a-key-of-eight"));
	env_put(&p->own, "TEST_URL", "http://127.0.0.1:2");
	env_put(&p->own, "TEST_TEAM", "ours");
	second = resolve(p, NULL, NULL);
	assert_string_equal(second->url, "http://127.0.0.1:2/x/v1/chat/completions");
	assert_true(has_header(second, "x-team: ours"));
}

static void thread_T36_an_address_without_default(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", NAMED("\"${TEST_URL}\""));
	env_put(&p->own, "TEST_KEY", "a-key-of-eight");
	provider_place_open(p);
	refused(p, NULL, NULL, "TEST_URL");
}

static void a_key_of_the_secrets(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *got = NULL;
	struct rye_err err = { 0 };
	char fp[KEY_FP];

	provider_put_item(p, "a", ITEM("a", KEYED));
	provider_place_open(p);
	if (keystore_generate(p->place.spaces, false, NULL, fp, &err) ||
	    secret_set(p->place.spaces, "TEST_KEY", SPAN("of-the-secrets"), &err))
		fail_msg("%s", err.msg);
	got = resolve(p, "general", NULL);
	assert_true(has_header(got, "x-key: of-the-secrets"));
}

/* Runners of a person meet in the runtime directory; those with another key do not. */
static void lanes(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *one = NULL;
	auto_provider struct provider *two = NULL;
	auto_provider struct provider *other = NULL;
	char wanted[100];

	provider_put_item(p, "a", ITEM("a", KEYED));
	provider_place_open(p);
	env_put(&p->own, "XDG_RUNTIME_DIR", p->place.base);
	env_put(&p->own, "TEST_KEY", "one-key-of-two");
	one = resolve(p, "general", NULL);
	two = resolve(p, "general", NULL);
	env_put(&p->own, "TEST_KEY", "another-key");
	other = resolve(p, "general", NULL);
	snprintf(wanted, sizeof(wanted), "%s/ryefs-providers/", p->place.base);
	assert_memory_equal(one->lane, wanted, strlen(wanted));
	assert_string_equal(one->lane, two->lane);
	assert_string_not_equal(one->lane, other->lane);
}

/* A name that the item does not ask for would let a text of it read the environment. */
static void names_are_declared(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a",
			  ITEM("a", "tier_mapping: {general: m}\n"
				    "headers: {x: \"${HOME}\"}\n"));
	env_put(&p->own, "HOME", "/home/nobody");
	provider_place_open(p);
	refused(p, "general", NULL, "env_config does not ask for that name");
}

static void an_unsigned_provider(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", ITEM("a", "tier_mapping: {general: m}\n"));
	place_text(p->place.project, "tools/rye/agent/providers/z.yaml",
		   ITEM("z", "tier_mapping: {general: m}\n"));
	provider_place_open(p);
	refused(p, "general", NULL, "rye/agent/providers/z");
}

static void unsigned_configuration(void **state)
{
	struct provider_place *p = *state;

	provider_put_item(p, "a", ITEM("a", "tier_mapping: {general: m}\n"));
	place_text(p->place.project, "config/agent/agent.yaml", CONFIG("provider: {default: z}\n"));
	provider_place_open(p);
	refused(p, "general", NULL, "agent");
}

/* A project's own goes before the bundle's of the same name, whatever its file is called. */
static void the_nearest_of_a_name(void **state)
{
	struct provider_place *p = *state;

	provider_put_bundled(p, "local");
	provider_put_item(p, "mine", ITEM("local", "tier_mapping: {general: mine}\n"));
	provider_place_open(p);
	is_model(p, "general", "local", "mine");
}

static void bundled_items(void **state)
{
	static const char *const names[] = { "anthropic", "gemini", "local", "openai" };
	static const char *const tiers[] = { "fast", "general", "high", "max" };
	struct provider_place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		provider_put_bundled(p, names[i]);
	env_put(&p->own, "ANTHROPIC_API_KEY", "a");
	env_put(&p->own, "OPENAI_API_KEY", "o");
	env_put(&p->own, "GEMINI_API_KEY", "g");
	provider_place_open(p);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < ARRAY_SIZE(tiers); k++) {
			auto_provider struct provider *got = resolve(p, tiers[k], names[i]);

			assert_string_equal(got->name, names[i]);
			assert_true(got->priced);
			assert_true(got->window >= 16384);
			assert_int_equal(got->local, !strcmp(names[i], "local"));
		}
}

/* ---- prices ---- */

static double cost(const char *pricing, const struct provider_usage *usage, const char *day)
{
	auto_json json_t *rows = json_loads(pricing, 0, NULL);
	auto_json json_t *fields = json_pack("{s:O}", "pricing", rows);
	const struct provider provider = { .fields = fields };

	return provider_cost(&provider, usage, day);
}

static void is_cost(double got, double wanted)
{
	assert_true(got - wanted < 1e-9 && wanted - got < 1e-9);
}

static void P74_price_by_day_and_length(void **state)
{
	static const char days[] = "[{\"until\":\"2026-11-30\",\"input\":2,\"output\":10},"
				   "{\"input\":4,\"output\":20}]";
	static const char lengths[] =
		"[{\"input\":2,\"output\":10,\"cache_read\":0.2},"
		"{\"above_input\":272000,\"input\":4,\"output\":15,\"cache_read\":0.4}]";
	struct provider_usage use = { .uncached = 1000, .output = 100 };

	(void)state;
	is_cost(cost(days, &use, "2026-11-30T23:59:59Z"), 0.003);
	is_cost(cost(days, &use, "2026-12-01T00:00:00Z"), 0.006);
	use = (struct provider_usage){ .uncached = 72000, .cache_read = 200000, .output = 1000 };
	is_cost(cost(lengths, &use, "2026-11-22"), 0.144 + 0.04 + 0.01);
	use.uncached = 72001;
	is_cost(cost(lengths, &use, "2026-11-22"), 0.288004 + 0.08 + 0.015);
	/* prices that are not said */
	use = (struct provider_usage){ .cache_write = 10, .cache_write_1h = 10, .cache_read = 10 };
	is_cost(cost("{\"input\":1,\"output\":2}", &use, "2026-11-22"), 40e-6);
	is_cost(cost("[]", &use, "2026-11-22"), 0);
}

/* The very double; of a model without a row nothing. */
static void thread_T37_price(void **state)
{
	const struct provider_usage use = { .uncached = 100, .output = 20 };

	(void)state;
	assert_true(cost("[{\"input\":1000,\"output\":5000}]", &use, "2026-11-22") == 0.2);
	assert_true(cost("{\"input\":1000,\"output\":5000}", &use, "2026-11-22") == 0.2);
	assert_true(cost("null", &use, "2026-11-22") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(tiers_ids_and_names),
		provider_test(a_tier_of_two),
		provider_test(fields_of_the_model),
		provider_test(older_items),
		provider_test(thread_T35_resolution),
		provider_test(thread_T35_profile_by_pattern),
		provider_test(thread_T36_variables),
		provider_test(thread_T36_an_address_without_default),
		cmocka_unit_test(thread_T37_price),
		provider_test(keys),
		provider_test(a_key_of_the_secrets),
		provider_test(lanes),
		provider_test(names_are_declared),
		provider_test(an_unsigned_provider),
		provider_test(unsigned_configuration),
		provider_test(the_nearest_of_a_name),
		provider_test(bundled_items),
		cmocka_unit_test(P74_price_by_day_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
