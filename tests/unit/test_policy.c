/* SPDX-License-Identifier: MIT */
/* What a thread may do: its limits, its capabilities, how risky they are, configuration of these. */
#include "item_place.h"
#include "rye_json.h"

#include "policy/policy.h"
#include "sign/sign.h"

static json_t *doc_of(const char *text)
{
	struct rye_err err = { 0 };
	json_t *doc = json_parse(span_of(text), JSON_LOAD_ANY, "text", &err);

	assert_string_equal(err.msg, "");
	return doc;
}

/* ---- limits ---- */

struct limits_case {
	const char *defaults, *directive, *overrides, *parent; /* NULL: none */
	const char *want; /* JSON of the outcome, or the message of the refusal */
};

static void resolve_case(const struct limits_case *c)
{
	auto_json json_t *defaults = doc_of(c->defaults ? c->defaults : "{}");
	auto_json json_t *directive = doc_of(c->directive ? c->directive : "{}");
	auto_json json_t *overrides = doc_of(c->overrides ? c->overrides : "{}");
	auto_json json_t *above = doc_of(c->parent ? c->parent : "{}");
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct limits parent, limits;
	struct rye_err err = { 0 };

	assert_works(&err, limits_read(above, &parent, &err));
	if (limits_resolve(&(struct limits_ask){ .defaults = defaults,
						 .directive = directive,
						 .overrides = overrides,
						 .parent = c->parent ? &parent : NULL },
			   &limits, &err)) {
		assert_string_equal(err.msg, c->want);
		return;
	}
	auto_json json_t *doc = limits_json(&limits);
	struct limits again;

	json_canonical(&text, doc);
	assert_string_equal(text.data, c->want);
	assert_works(&err, limits_read(doc, &again, &err));
	assert_memory_equal(again.value, limits.value, sizeof(limits.value));
}

#define VALID "Valid limits: depth, duration_seconds, spawns, spend, spend_currency, tokens, turns"

static void limits_in_their_order(void **state)
{
	static const struct limits_case cases[] = {
		{ .want = "{\"depth\":10,\"duration_seconds\":1800,\"spawns\":50,\"spend\":5.0,"
			  "\"spend_currency\":\"USD\",\"tokens\":1000000,\"turns\":25}" },
		/* the format's worked example */
		{ "{\"turns\":25,\"spend\":5.0,\"depth\":10}", "{\"turns\":30}",
		  "{\"turns\":10,\"spend\":0.10}", "{\"turns\":30,\"spend\":1.0,\"depth\":4}",
		  "{\"depth\":3,\"duration_seconds\":1800,\"spawns\":50,\"spend\":0.1,"
		  "\"spend_currency\":\"USD\",\"tokens\":1000000,\"turns\":10}" },
		/* thread T49: an override raises above the directive, the parent caps */
		{ NULL, "{\"turns\":5}", "{\"turns\":40}", "{\"turns\":30,\"depth\":10}",
		  "{\"depth\":9,\"duration_seconds\":1800,\"spawns\":50,\"spend\":5.0,"
		  "\"spend_currency\":\"USD\",\"tokens\":1000000,\"turns\":30}" },
		{ NULL, "{\"duration_seconds\":2.5,\"spend_currency\":\"EUR\"}", NULL, NULL,
		  "{\"depth\":10,\"duration_seconds\":2.5,\"spawns\":50,\"spend\":5.0,"
		  "\"spend_currency\":\"EUR\",\"tokens\":1000000,\"turns\":25}" },
		{ NULL, "{\"turns\":\"many\"}", NULL, NULL,
		  "limit 'turns' in directive <limits>: a number is wanted" },
		{ NULL, NULL, "{\"turns\":1.5}", NULL,
		  "limit 'turns' in limit overrides: 1.5: a whole number of 0 or more is wanted" },
		{ NULL, NULL, "{\"spend\":-1}", NULL,
		  "limit 'spend' in limit overrides: -1: a number of 0 or more is wanted" },
		{ NULL, NULL, "[]", NULL, "limit overrides: an object is wanted" },
		{ "{\"turns\":true}", NULL, NULL, NULL,
		  "limit 'turns' in agent/resilience limits.defaults: a number is wanted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		resolve_case(&cases[i]);
}

static void thread_T24_unknown_limits(void **state)
{
	resolve_case(&(struct limits_case){
		.directive = "{\"turn\":3}",
		.want = "Unknown limit 'turn' in directive <limits>. " VALID });
	resolve_case(&(struct limits_case){
		.overrides = "{\"max_spending\":3}",
		.want = "Unknown limit 'max_spending' in limit overrides. " VALID });
}

static void thread_T47_depth_of_children(void **state)
{
	resolve_case(&(struct limits_case){
		.parent = "{\"depth\":1}",
		.want = "{\"depth\":0,\"duration_seconds\":1800,\"spawns\":50,\"spend\":5.0,"
			"\"spend_currency\":\"USD\",\"tokens\":1000000,\"turns\":25}" });
	resolve_case(&(struct limits_case){ .parent = "{\"depth\":0}",
					    .want = "Depth limit exhausted (resolved depth=-1)" });
}

static void older_names_are_told(void **state)
{
	auto_json json_t *warnings = json_array();
	auto_json json_t *directive = doc_of("{\"max_turns\":3}");
	struct limits limits;

	assert_works(&told_err, limits_resolve(&(struct limits_ask){ .directive = directive,
								     .warnings = warnings },
					       &limits, &told_err));
	assert_true(limits.value[LIMIT_TURNS] == 3);
	assert_false(limits.spend_declared);
	assert_string_equal(json_string_value(json_array_get(warnings, 0)),
			    "limit 'max_turns' in directive <limits> is read as 'turns'");
}

static void limits_that_are_reached(void **state)
{
	auto_json json_t *object =
		doc_of("{\"turns\":3,\"tokens\":100,\"spend\":0.5,\"duration_seconds\":2}");
	struct limit_use use = { .turns = 2, .tokens = 99, .spend = 0.49, .elapsed_seconds = 1.9 };
	struct limits limits, parent;
	struct limit_hit hit;

	assert_works(&told_err, limits_read(object, &limits, &told_err));
	assert_false(limits_hit(&limits, &use, &hit));
	use.elapsed_seconds = 2;
	assert_true(limits_hit(&limits, &use, &hit));
	assert_string_equal(hit.code, "duration_seconds_exceeded");
	use.turns = 3;
	assert_true(limits_hit(&limits, &use, &hit));
	assert_string_equal(hit.text, "Limit exceeded: turns_exceeded (3/3)");
	parent = limits;
	assert_works(&told_err, limits_change(&limits, &parent, "turns", 2, &told_err));
	assert_refused(&told_err, RYE_DENIED,
		       limits_change(&limits, &parent, "turns", 4, &told_err));
	assert_works(&told_err, limits_change(&limits, NULL, "turns", 4, &told_err));
	assert_refused(&told_err, RYE_INVALID, limits_change(&limits, NULL, "turn", 4, &told_err));
	assert_refused(&told_err, RYE_INVALID,
		       limits_change(&limits, NULL, "spend", -4, &told_err));
}

/* ---- capabilities ---- */

static void capabilities_of_permissions(void **state)
{
	auto_json json_t *permissions =
		doc_of("[{\"tag\":\"cap\",\"content\":\"rye.execute.tool.a/b.*\"},"
		       "{\"tag\":\"cap\",\"content\":\"rye.execute.tool.a.b/*\"}]");
	auto_json json_t *bad = doc_of("[{\"tag\":\"cap\"}]");
	json_t *list = NULL;

	assert_works(&told_err, capabilities_of(permissions, &list, &told_err));
	same_json(list, "[\"rye.execute.tool.a.b.*\"]");
	assert_works(&told_err, capabilities_of(NULL, &list, &told_err));
	same_json(list, "[]");
	assert_refused(&told_err, RYE_INVALID, capabilities_of(bad, &list, &told_err));
	assert_refused(&told_err, RYE_INVALID,
		       capabilities_of(json_object_get(json_array_get(permissions, 0), "tag"),
				       &list, &told_err));
}

static void check(const char *lists, struct capability_ask ask, const char *want)
{
	auto_json json_t *all = doc_of(lists);
	struct rye_err err = { 0 };

	ask.lists = all;
	assert_int_equal(capability_check(&ask, &err), want ? -RYE_DENIED : 0);
	assert_string_equal(err.msg, want ? want : "");
}

#define CALL(p, k, i) ((struct capability_ask){ .primary = (p), .kind = (k), .id = (i) })

static void thread_T40_denied_calls(void **state)
{
	check("[[\"rye.execute.tool.a.*\"]]", CALL("execute", "tool", "a/b"), NULL);
	check("[[\"rye.execute.tool.a.*\"]]", CALL("execute", "tool", "b"),
	      "Permission denied: 'rye.execute.tool.b' not covered by capabilities "
	      "['rye.execute.tool.a.*']");
	check("[[]]", CALL("execute", "tool", "b"),
	      "Permission denied: no capabilities declared. Cannot execute tool 'b'");
	check("[[\"rye.execute.*\"]]",
	      CALL("execute", "tool", "rye/agent/threads/internal/control"),
	      "Permission denied: rye/agent/threads/internal/ is for hooks alone");
	check("[[\"rye.execute.*\"]]", CALL("sign", "tool", "a"),
	      "Permission denied: 'rye.sign.tool.a' not covered by capabilities "
	      "['rye.execute.*']");
	check("[[\"rye.*\"]]", CALL("sign", "tool", "a"),
	      "Permission denied: 'rye.sign.tool.a' not covered by capabilities ['rye.*']");
}

/* What is signed by a pattern has to lie within the capability, whatever its wildcards match. */
static void signing_by_a_pattern(void **state)
{
	static const struct {
		const char *lists, *id;
		bool ok;
	} rows[] = {
		{ "[[\"rye.sign.knowledge.notes.*\"]]", "notes/*", true },
		{ "[[\"rye.sign.knowledge.notes.*\"]]", "notes/a?", true },
		{ "[[\"rye.sign.knowledge.notes.*\"]]", "note*", false },
		{ "[[\"rye.sign.knowledge.notes.*\"]]", "*/a", false },
		{ "[[\"rye.sign.*\"]]", "*", true },
		{ "[[\"rye.*\"]]", "*", false },
		{ "[[\"rye.sign.knowledge.draft-?\"]]", "draft-*", false },
		{ "[[\"rye.sign.knowledge.draft-?\"]]", "draft-1", true },
		{ "[[\"rye.sign.knowledge.[!s]*\"]]", "*ecret", false },
		{ "[[\"rye.sign.knowledge.*.x\"]]", "*/x", false },
		{ "[[\"rye.sign.knowledge.*\"],[\"rye.sign.knowledge.a?\"]]", "a*", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *all = doc_of(rows[i].lists);
		struct capability_ask ask = CALL("sign", "knowledge", rows[i].id);

		ask.lists = all;
		assert_int_equal(capability_check(&ask, NULL), rows[i].ok ? 0 : -RYE_DENIED);
	}
}

/* thread F26: patterns that look harmless beside each other are checked one by one. */
static void every_list_above_counts(void **state)
{
	check("[[\"rye.execute.tool.*.x\"],[\"rye.execute.tool.a.*\"]]",
	      CALL("execute", "tool", "a/x"), NULL);
	check("[[\"rye.execute.tool.*.x\"],[\"rye.execute.tool.a.*\"]]",
	      CALL("execute", "tool", "b/x"),
	      "Permission denied: 'rye.execute.tool.b.x' not covered by capabilities "
	      "['rye.execute.tool.a.*'] of a thread above");
	check("[[\"rye.execute.*\"],[]]", CALL("execute", "tool", "b/x"),
	      "Permission denied: 'rye.execute.tool.b.x' not covered by capabilities [] of a "
	      "thread above");
	check("[]", CALL("execute", "tool", "b/x"), "Permission denied");
}

static void fetches(void **state)
{
	check("[[\"rye.fetch.knowledge.a.*\"]]", CALL("search", "knowledge", NULL), NULL);
	check("[[\"rye.fetch.knowledge.a.*\"]]", CALL("load", "knowledge", "a/b"), NULL);
	check("[[\"rye.fetch.knowledge.a.*\"]]", CALL("fetch", "knowledge", "b"),
	      "Permission denied: 'rye.fetch.knowledge.b' not covered by capabilities "
	      "['rye.fetch.knowledge.a.*']");
	check("[[\"rye.fetch.knowledge.a.*\"]]", CALL("fetch", "tool", NULL),
	      "Permission denied: 'rye.fetch.tool' not covered by capabilities "
	      "['rye.fetch.knowledge.a.*']");
	check("[[\"rye.fetch.*\"]]", CALL("fetch", "", "x"), NULL);
	check("[[\"rye.fetch.tool.*\"]]", CALL("fetch", "", "x"),
	      "Permission denied: 'rye.fetch..x' not covered by capabilities "
	      "['rye.fetch.tool.*']");
	check("[[\"rye.*\"]]", CALL("fetch", "tool", "x"), NULL);
	check("[[\"rye.*\"]]",
	      (struct capability_ask){ .primary = "fetch",
				       .kind = "tool",
				       .id = "x",
				       .writes = true },
	      "Permission denied: 'rye.fetch.tool.x' not covered by capabilities ['rye.*']");
	check("[[\"rye.fetch.*\"]]",
	      (struct capability_ask){ .primary = "fetch",
				       .kind = "tool",
				       .id = "x",
				       .writes = true },
	      NULL);
}

/* ---- risk ---- */

struct risk_case {
	const char *capabilities, *acknowledged, *config;
	bool strict;
	const char *refusal, *warnings; /* NULL: none */
};

static void risk_case(const struct risk_case *c)
{
	auto_json json_t *capabilities = doc_of(c->capabilities), *warnings = json_array();
	auto_json json_t *acknowledged = doc_of(c->acknowledged ? c->acknowledged : "[]");
	auto_json json_t *config = doc_of(c->config ? c->config : "{}"), *risk = NULL;
	struct rye_err err = { 0 };
	struct risk_ask ask = { config, capabilities, acknowledged, c->strict, warnings };

	assert_int_equal(risk_check(&ask, &risk, &err), c->refusal ? -RYE_DENIED : 0);
	assert_string_equal(err.msg, c->refusal ? c->refusal : "");
	if (!c->refusal)
		same_json(json_incref(warnings), c->warnings ? c->warnings : "[]");
}

#define REFUSED(cap, risk, what)                                                                  \
	"Capability '" cap "' classified as '" risk "' (" what "). Add <acknowledge risk=\"" risk \
	"\"> to the directive's <permissions> to explicitly allow this."

static void thread_T41_risky_capabilities(void **state)
{
	static const struct risk_case cases[] = {
		{ "[\"rye.fetch.knowledge.a\",\"rye.sign.tool.a\","
		  "\"rye.execute.tool.rye.file-system.read\"]" },
		{ .capabilities = "[\"rye.*\"]",
		  .refusal = REFUSED("rye.*", "unrestricted", "everything") },
		{ "[\"rye.*\"]", "[{\"risk\":\"unrestricted\",\"reason\":\"r\"}]",
		  .warnings = "[\"capability 'rye.*' is broad\"]" },
		{ .capabilities = "[\"*\"]",
		  .refusal = REFUSED("*", "unrestricted", "everything") },
		{ .capabilities = "[\"r?e.*\"]",
		  .refusal = REFUSED("r?e.*", "unrestricted", "everything") },
		{ .capabilities = "[\"rye.execute.tool.rye.bash.bash\"]",
		  .warnings = "[\"capability 'rye.execute.tool.rye.bash.bash' is classified as "
			      "'elevated'\"]" },
		{ .capabilities = "[\"rye.execute.tool.*\"]",
		  .warnings = "[\"capability 'rye.execute.tool.*' is classified as 'elevated'\"]" },
		{ .capabilities = "[\"rye.execute.tool.rye.bash.bash\"]",
		  .strict = true,
		  .refusal = REFUSED("rye.execute.tool.rye.bash.bash", "elevated",
				     "runs any command") },
		/* configuration: a level of its own, and what covers it */
		{ .capabilities = "[\"rye.execute.tool.pay.now\"]",
		  .config = "{\"risk_levels\":{\"money\":{\"policy\":\"block\"}},"
			    "\"classifications\":[{\"risk\":\"money\",\"patterns\":["
			    "\"rye.execute.tool.pay.*\"],\"description\":\"pays\"}]}",
		  .refusal = REFUSED("rye.execute.tool.pay.now", "money", "pays") },
		{ .capabilities = "[\"rye.execute.tool.p*\"]",
		  .config = "{\"risk_levels\":{\"money\":{\"policy\":\"block\"}},"
			    "\"classifications\":[{\"risk\":\"money\",\"patterns\":["
			    "\"rye.execute.tool.pay.*\"],\"description\":\"pays\"}]}",
		  .refusal = REFUSED("rye.execute.tool.p*", "money", "pays") },
		{ .capabilities = "[\"rye.*\"]",
		  .config = "{\"risk_levels\":{\"unrestricted\":{\"policy\":\"allow\"}}}",
		  .warnings = "[\"capability 'rye.*' is broad\",\"capability 'rye.*' is "
			      "classified as 'elevated'\"]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		risk_case(&cases[i]);
}

/* ---- configuration ---- */

#define RESILIENCE "limits:\n  defaults:\n    turns: 7\n"

static void write_config(struct test_place *p, const char *bytes, size_t len)
{
	place_write(p->project, "config/agent/resilience.yaml", (struct rye_span){ bytes, len });
}

/* thread T45; an unsigned one is refused as well, since it decides about authority. */
static void thread_T45_configuration_is_signed(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct rye_blob *text = NULL;
	struct signature signature;
	json_t *config = NULL;
	struct test_place p;

	place_vectors(&p);
	place_open(&p, false);
	place_key(0, &key);
	assert_works(&told_err, policy_config(&p.env, "agent/resilience", &config, &told_err));
	same_json(config, "{}");
	write_config(&p, RESILIENCE, strlen(RESILIENCE));
	assert_refused(&told_err, RYE_UNSIGNED,
		       policy_config(&p.env, "agent/resilience", &config, &told_err));
	assert_works(
		&told_err,
		sign_text(&(struct sign_text){ .key = &key,
					       .place = { RYE_CONFIG, "agent/resilience", ".yaml" },
					       .raw = SPAN(RESILIENCE) },
			  &text, &signature, &told_err));
	write_config(&p, text->data, text->len);
	assert_works(&told_err, policy_config(&p.env, "agent/resilience", &config, &told_err));
	same_json(config, "{\"limits\":{\"defaults\":{\"turns\":7}}}");
	write_config(&p, text->data, text->len - 2);
	assert_refused(&told_err, RYE_MODIFIED,
		       policy_config(&p.env, "agent/resilience", &config, &told_err));
	rye_blob_unref(text);
	place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_in_their_order),
		cmocka_unit_test(thread_T24_unknown_limits),
		cmocka_unit_test(thread_T47_depth_of_children),
		cmocka_unit_test(older_names_are_told),
		cmocka_unit_test(limits_that_are_reached),
		cmocka_unit_test(capabilities_of_permissions),
		cmocka_unit_test(thread_T40_denied_calls),
		cmocka_unit_test(signing_by_a_pattern),
		cmocka_unit_test(every_list_above_counts),
		cmocka_unit_test(fetches),
		cmocka_unit_test(thread_T41_risky_capabilities),
		cmocka_unit_test(thread_T45_configuration_is_signed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
