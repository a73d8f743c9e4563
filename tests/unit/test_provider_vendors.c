/* SPDX-License-Identifier: MIT */
/*
 * Requests at a server that refuses what the vendors of models refuse (tests/fake/vendor_rules.py): none
 * of ours is refused, on any wire.
 */
#include "provider_model.h"

#include "vendor/vendor.h"

/* A thread's id has its directive's name in it. */
#define LONG_ID                                                                    \
	"a/directive/whose-name-is-as-long-as-names-of-directives-become-in-time-" \
	"1764000000123-abcdef"

#define ANY_ANSWER "[{\"text\": \"a\"}, {\"text\": \"b\"}, {\"text\": \"c\"}]"

#define FIVE_ANSWERS                                                                    \
	"[{\"text\": \"a\"}, {\"text\": \"b\"}, {\"text\": \"c\"}, {\"text\": \"d\"}, " \
	"{\"text\": \"e\"}]"

static void is_taken(struct provider_place *p)
{
	const struct provider_result *got = model_attempt(p);

	if (got->failure.class != FAULT_NONE)
		fail_msg("%s: %s", p->provider->wire_name, got->failure.message);
}

/* The cache's key is the same for all requests of a thread, and no other's. */
static void keys_of_caches(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *one = NULL, *two = NULL, *three = NULL;

	provider_serve_as(p, "vendor_server.py", ANY_ANSWER);
	model_open(p, "openai_responses", "");
	p->request.conversation = LONG_ID;
	is_taken(p);
	is_taken(p);
	p->request.conversation = LONG_ID "2";
	is_taken(p);
	one = logged_request(p, 1);
	two = logged_request(p, 2);
	three = logged_request(p, 3);
#define KEY(row) json_str(json_object_get((row), "body"), "prompt_cache_key")
	assert_int_equal(strlen(KEY(one)), 32);
	assert_string_equal(KEY(one), KEY(two));
	assert_string_not_equal(KEY(one), KEY(three));
}

/* What it refuses is told as the vendor tells it. */
static void refused(struct provider_place *p, const char *wire, const char *options,
		    const char *words)
{
	auto_json json_t *more = json_loads(options, 0, NULL);

	model_open(p, wire, "");
	p->request.options = more;
	model_attempt(p);
	assert_int_equal(p->got.failure.status, 400);
	assert_non_null(strstr(p->got.failure.message, words));
	p->request.options = NULL;
	json_decref(p->messages);
	provider_free(p->provider);
	p->messages = NULL;
	p->provider = NULL;
}

static void what_is_refused(void **state)
{
	struct provider_place *p = *state;

	provider_serve_as(p, "vendor_server.py", ANY_ANSWER);
	refused(p, "anthropic_messages", "{\"seed\": 1}", "Extra inputs are not permitted");
	refused(p, "openai_responses", "{\"prompt_cache_key\": \"" LONG_ID "\"}",
		"maximum length 64");
	refused(p, "openai_chat", "{\"thinking\": {}}", "Unknown parameter");
	refused(p, "gemini_generate", "{\"seed\": 1}", "Cannot find field");
	refused(p, "gemini_interactions", "{\"seed\": 1}", "unknown parameter");
}

/* ---- limits: at each the request goes out as it is, beyond it something the vendor takes ---- */

static json_t *tool_of(const char *name, const char *about, const char *schema)
{
	json_t *tool = json_pack("{s:s, s:s, s:o}", "name", name, "description", about, "schema",
				 json_loads(schema, 0, NULL));

	assert_non_null(tool);
	return tool;
}

/* So many characters, each of two bytes. */
static void put_long(struct rye_buf *out, size_t n)
{
	while (n--)
		buf_adds(out, "ä");
}

/* The conversation that the place keeps begins anew, with these tools. */
static void begin(struct provider_place *p, const char *wire, json_t *tools, const char *more)
{
	provider_free(p->provider);
	json_decref(p->messages);
	p->request = (struct provider_request){ .tools = tools, .conversation = LONG_ID };
	model_open(p, wire, more);
}

/* What the request tells of its nth tool, wherever the wire has it; a new reference. */
static json_t *sent_tool(struct provider_place *p, size_t n)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *body = NULL;
	json_t *tool;

	put_request(p->provider, &p->request, &text);
	body = json_loads(text.data, 0, NULL);
	tool = json_array_get(json_object_get(body, "tools"), 0);
	if (json_object_get(tool, "functionDeclarations"))
		tool = json_array_get(json_object_get(tool, "functionDeclarations"), n);
	else
		tool = json_array_get(json_object_get(body, "tools"), n);
	if (json_object_get(tool, "function"))
		tool = json_object_get(tool, "function");
	return json_incref(tool);
}

static const json_t *sent_schema(const json_t *tool)
{
	static const char *const keys[] = { "input_schema", "parameters", "parametersJsonSchema" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(tool, keys[i]))
			return json_object_get(tool, keys[i]);
	return NULL;
}

static void about_of_tools(void **state)
{
	struct provider_place *p = *state;

	provider_serve_as(p, "vendor_server.py", "{\"by\": \"turn\", \"answers\": " ANY_ANSWER "}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		bool chat = !strcmp(provider_wires[i], "openai_chat");

		for (size_t n = 1024; n <= 1025; n++) {
			auto_buf struct rye_buf about = RYE_BUF_INIT;
			auto_json json_t *tools = json_array();
			auto_json json_t *tool = NULL;

			put_long(&about, n);
			json_array_append_new(tools, tool_of("a", about.data, "{}"));
			begin(p, provider_wires[i], tools, "");
			is_taken(p);
			tool = sent_tool(p, 0);
			assert_int_equal(!strcmp(json_str(tool, "description"), about.data),
					 n == 1024 || !chat);
		}
	}
}

static void limits_of_text(const struct rule_text *rule)
{
	char text[RULE_TEXT_SIZE + 1], one[RULE_TEXT_SIZE], two[RULE_TEXT_SIZE];

	memset(text, 'a', sizeof(text));
	text[rule->max] = 0;
	assert_true(rule_fits(rule, text));
	rule_spell(rule, text, one);
	assert_string_equal(one, text);
	text[rule->max] = 'b';
	text[rule->max + 1] = 0;
	assert_false(rule_fits(rule, text));
	rule_spell(rule, text, one);
	text[rule->max] = 'c';
	rule_spell(rule, text, two);
	assert_true(rule_fits(rule, one) && rule_fits(rule, two));
	assert_string_not_equal(one, two);
	assert_int_equal(rule_fits(rule, "3a"), !rule->letter);
	rule_spell(rule, "3a b", one);
	rule_spell(rule, "3a_b", two);
	assert_true(rule_fits(rule, one) && rule_fits(rule, two));
	assert_string_not_equal(one, two);
	assert_false(rule_fits(rule, "") || rule_fits(rule, "a b") || rule_fits(rule, "ä"));
}

/* What the table says is what vendor_rules.py knows: its tests are the others of this file. */
static void limits_of_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		const struct wire_rules *rules = rules_of(provider_wires[i]);

		assert_string_equal(rules->wire, provider_wires[i]);
		assert_int_equal(rules->key.max, 64);
		assert_int_equal(rules->id.max, 64);
		assert_int_equal(rules->name.max, i < 3 ? 64 : 128);
		limits_of_text(&rules->name);
		limits_of_text(&rules->key);
		limits_of_text(&rules->id);
	}
}

/* A name that is empty to begin with: Gemini wants words about a tool. */
static void words_about_tools(void **state)
{
	struct provider_place *p = *state;

	provider_serve_as(p, "vendor_server.py", "{\"by\": \"turn\", \"answers\": " ANY_ANSWER "}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		auto_json json_t *tools = json_array();
		auto_json json_t *tool = NULL;

		json_array_append_new(tools, tool_of("look", "", "{}"));
		begin(p, provider_wires[i], tools, "");
		is_taken(p);
		tool = sent_tool(p, 0);
		assert_string_equal(json_str(tool, "description"), "look");
	}
}

static void numbers_of_tools(void **state)
{
	struct provider_place *p = *state;

	provider_serve_as(p, "vendor_server.py", "{\"by\": \"turn\", \"answers\": " ANY_ANSWER "}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		bool all = !strcmp(provider_wires[i], "anthropic_messages");
		auto_json json_t *tools = json_array();
		auto_json json_t *last = NULL, *behind = NULL;

		for (int n = 0; n < 130; n++) {
			char name[20];

			snprintf(name, sizeof(name), "t%d", n);
			json_array_append_new(tools, tool_of(name, "a", "{}"));
		}
		begin(p, provider_wires[i], tools, "");
		is_taken(p);
		assert_int_equal(json_array_size(p->got.warnings), all ? 0 : 2);
		last = sent_tool(p, all ? 129 : 127);
		assert_string_equal(json_str(last, "name"), "t129");
		behind = sent_tool(p, all ? 130 : 128);
		assert_null(behind);
	}
}

#define KEY64 "a234567890123456789012345678901234567890123456789012345678901234"

/* Another script of the same place. */
static void serve_anew(struct provider_place *p, const char *script)
{
	char port[200];

	if (p->server) {
		kill(p->server, SIGTERM);
		waitpid(p->server, NULL, 0);
		unlink(p->log);
	}
	snprintf(port, sizeof(port), "%s/port", p->place.base);
	unlink(port);
	provider_serve_as(p, "vendor_server.py", script);
}

static const char *last_key(const json_t *object)
{
	const char *key, *last = "";
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
		last = key;
	return last;
}

/* Keys of 64 letters are taken, of 65 spelt; blanks and brackets are not. */
static void keys_are_spelt(const json_t *schema)
{
	const json_t *keys = json_object_get(schema, "properties"), *inner;
	const json_t *required = json_object_get(schema, "required");
	const char *spelt = last_key(keys);

	assert_int_equal(json_object_size(keys), 3);
	assert_non_null(json_object_get(keys, KEY64));
	assert_null(json_object_get(keys, KEY64 "5"));
	assert_true(strncmp(spelt, "f_x_y__", 7) == 0);
	assert_int_equal(json_array_size(required), 1);
	assert_string_equal(json_string_value(json_array_get(required, 0)), spelt);
	inner = json_object_get(json_object_get(keys, spelt), "properties");
	assert_int_equal(json_object_size(inner), 1);
	assert_null(json_object_get(inner, "ä"));
}

/* Arguments come back under the keys that the tool knows. */
static void keys_of_wire(struct provider_place *p, const char *wire, json_t *tools)
{
	auto_json json_t *tool = NULL;
	const json_t *keys, *call;
	char script[600];

	snprintf(p->port, sizeof(p->port), "1");
	begin(p, wire, tools, "");
	tool = sent_tool(p, 0);
	keys_are_spelt(sent_schema(tool));
	keys = json_object_get(sent_schema(tool), "properties");
	snprintf(script, sizeof(script),
		 "{\"answers\": [{\"calls\": [{\"id\": \"c\", \"name\": \"t\", \"arguments\": "
		 "{\"%s\": {\"%s\": \"a\"}, \"%s\": 1}}]}, {\"text\": \"b\"}]}",
		 last_key(keys),
		 last_key(json_object_get(json_object_get(keys, last_key(keys)), "properties")),
		 KEY64);
	serve_anew(p, script);
	begin(p, wire, tools, "");
	is_taken(p);
	call = json_object_get(block_of(&p->got, "tool_call"), "arguments");
	assert_string_equal(json_str(json_object_get(call, "f[x y]"), "ä"), "a");
	assert_int_equal(json_int(call, KEY64, 0), 1);
	model_keep(p, tool_result("c", "t", "done"));
	is_taken(p);
}

static void keys_of_parameters(void **state)
{
	auto_json json_t *tools = json_array();

	json_array_append_new(
		tools,
		tool_of("t", "a",
			"{\"type\": \"object\", \"properties\": {\"" KEY64 "\": {}, \"" KEY64
			"5\": {}, \"f[x y]\": {\"type\": \"object\", \"properties\": {\"ä\": "
			"{\"type\": \"string\"}}}}, \"required\": [\"f[x y]\", \"gone\"]}"));
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++)
		keys_of_wire(*state, provider_wires[i], tools);
}

/* ---- schemas that vendors refuse as they are ---- */

static const char *const odd[] = {
	"{\"type\": [\"object\", \"null\"], \"properties\": {\"a\": {\"type\": \"array\"}}}",
	"{\"properties\": {\"a\": {\"type\": [\"array\", \"string\"]}}}",
	"{\"anyOf\": [{\"required\": [\"a\"]}, {\"properties\": {\"b\": {}}}]}",
	"{\"oneOf\": [{\"$ref\": \"#/definitions/a\"}], \"definitions\": {\"a\": "
	"{\"properties\": {\"c\": {\"type\": \"string\"}}}}}",
	"{\"allOf\": [{\"properties\": {\"a\": {}}, \"required\": [\"a\"]}], \"enum\": [{}]}",
	"{\"properties\": {\"a\": {\"$ref\": \"#/properties/b\"}, \"b\": {\"type\": "
	"\"array\", \"items\": {\"$ref\": \"#\"}}}}",
	"{\"properties\": {\"a\": {\"$ref\": \"https://nowhere/a\"}, \"b\": true}}",
	"{\"properties\": {\"a\": {\"type\": \"str\", \"required\": true, \"enum\": []}}}",
	"{\"properties\": {\"a\": {\"type\": \"STRING\", \"pattern\": \"(?P<n>a\"}}}",
	"{\"properties\": {\"a\": {\"exclusiveMinimum\": true, \"minimum\": \"1\"}}}",
	"{\"properties\": {\"a\": {\"type\": \"array\", \"items\": [{\"type\": \"null\"}]}}}",
	"{\"properties\": {\"a\": {\"type\": \"array\", \"prefixItems\": [{}, {}]}}}",
	"{\"type\": \"object\", \"properties\": [], \"required\": \"a\"}",
	"{\"properties\": {\"\": {}, \"ä\": {}, \"3\": {\"const\": 3}}}",
	"{\"properties\": {\"a\": {\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"object\", "
	"\"patternProperties\": {\"(\": {}}}]}}, \"$schema\": 7, \"if\": 1}",
	"{\"properties\": {\"a\": {\"type\": [\"integer\", \"null\"], \"enum\": [1, null], "
	"\"format\": \"int32\", \"nullable\": true}}}",
};

static void odd_of_wire(struct provider_place *p, const char *wire, const char *style)
{
	auto_json json_t *tools = json_array();
	char name[20];

	for (size_t k = 0; k < ARRAY_SIZE(odd); k++) {
		snprintf(name, sizeof(name), "t%zu", k);
		json_array_append_new(tools, tool_of(name, "a", odd[k]));
	}
	begin(p, wire, tools, style);
	is_taken(p);
	assert_int_equal(json_array_size(p->got.warnings), 0);
}

static void odd_schemas(void **state)
{
	struct provider_place *p = *state;

	provider_serve_as(p, "vendor_server.py", "{\"by\": \"turn\", \"answers\": " ANY_ANSWER "}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		odd_of_wire(p, provider_wires[i], "");
		odd_of_wire(p, provider_wires[i],
			    "default_model_fields: {tools: {schema: strict}}\n");
	}
	odd_of_wire(p, "gemini_generate",
		    "default_model_fields: {tools: {schema: openapi_subset}}\n");
}

static void schemas_of_no_object(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *tools = json_array();
	auto_json json_t *tool = NULL;

	provider_serve_as(p, "vendor_server.py", ANY_ANSWER);
	json_array_append_new(tools, tool_of("a", "a", "{\"type\": \"array\"}"));
	json_array_append_new(tools, tool_of("b", "b", "{}"));
	json_array_append_new(tools, tool_of("c.d", "b", "{}"));
	begin(p, "openai_chat", tools, "");
	is_taken(p);
	tool = sent_tool(p, 0);
	assert_string_equal(json_str(tool, "name"), "b");
	assert_true(json_lists(p->got.warnings, "tool_left_out:a: its schema is not an object's"));
	assert_true(json_lists(p->got.warnings, "tool_left_out:c.d: the model's provider does not "
						"take its name"));
}

/* ---- strict tools ---- */

/* The first may be strict; too little is said of the others. */
static json_t *tools_that_ask(void)
{
	static const char *const schemas[] = {
		"{\"properties\": {\"n\": {\"type\": \"integer\", \"minimum\": 1}, \"s\": {\"type\": "
		"\"string\", \"enum\": [\"a\"]}, \"r\": {\"type\": \"string\"}}, \"required\": "
		"[\"n\", \"r\"]}",
		"{\"properties\": {\"l\": {\"type\": \"array\"}}}",
		"{\"properties\": {\"m\": {\"type\": \"object\"}}}",
		"{\"properties\": {}, \"additionalProperties\": {\"type\": \"string\"}}",
	};
	json_t *tools = json_array();
	char name[20];

	for (size_t k = 0; k < ARRAY_SIZE(schemas); k++) {
		json_t *tool;

		snprintf(name, sizeof(name), "t%zu", k);
		tool = tool_of(name, "a", schemas[k]);
		json_object_set_new(tool, "strict", json_true());
		json_array_append_new(tools, tool);
	}
	return tools;
}

static void strict_tools(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *tools = tools_that_ask();
	const json_t *call;

	provider_serve_as(p, "vendor_server.py",
			  "{\"by\": \"turn\", \"answers\": [{\"calls\": [{\"id\": \"c\", \"name\": "
			  "\"t0\", \"arguments\": {\"n\": 1, \"s\": null, \"r\": null}}]}]}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		bool has = i < 2;

		begin(p, provider_wires[i], tools, "");
		is_taken(p);
		for (size_t k = 0; k < json_array_size(tools); k++) {
			auto_json json_t *tool = sent_tool(p, k);

			assert_int_equal(json_flag(tool, "strict", false), has && !k);
		}
		/* null stands for what may be left out; where it may not, the tool is told */
		call = json_object_get(block_of(&p->got, "tool_call"), "arguments");
		assert_int_equal(json_object_size(call), has ? 2 : 3);
		assert_true(json_is_null(json_object_get(call, "r")));
	}
}

/*
 * Of a server's own making: each key names the map of all keys, each is required twice. That took
 * minutes; the test's time is the bound.
 */
static void huge_schemas(void **state)
{
	struct tool_telling how = { .rules = rules_of("openai_responses"),
				    .words = WORDS_PLAIN,
				    .all_strict = true };
	json_t *keys = json_object(), *names = json_array();
	auto_json json_t *tools = NULL, *told = NULL;
	const json_t *schema;
	char key[16];

	for (int i = 0; i < 40000; i++) {
		snprintf(key, sizeof(key), "k%d", i % 20000);
		json_object_set_new(keys, key, json_pack("{s:s}", "$ref", "#/properties"));
		json_array_append_new(names, json_string(key));
	}
	tools = json_pack("[{s:s, s:s, s:{s:s, s:o, s:o}}]", "name", "huge", "description", "d",
			  "schema", "type", "object", "properties", keys, "required", names);
	told = tools_told(&how, tools, NULL);
	schema = json_object_get(json_array_get(told, 0), "schema");
	assert_int_equal(json_object_size(json_object_get(schema, "properties")), 20000);
	assert_int_equal(json_array_size(json_object_get(schema, "required")), 20000);
}

/* A resumed thread's prompt is unanswered, or two words came: templates of local models refuse a second one. */
static void words_behind_words(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *row = NULL;
	const json_t *sent;

	provider_serve_as(p, "vendor_server.py",
			  "{\"vendor\": \"local\", \"answers\": " FIVE_ANSWERS "}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		model_open(p, provider_wires[i], "");
		json_array_append_new(p->messages, user_message("on"));
		json_array_append_new(p->messages,
				      json_pack("{s:s, s:[{s:s, s:s}]}", "role", "assistant",
						"blocks", "kind", "text", "text", "I do."));
		json_array_append_new(p->messages, user_message("up"));
		json_array_append_new(p->messages, user_message("and away"));
		is_taken(p);
		json_decref(p->messages);
		provider_free(p->provider);
		p->provider = NULL;
		p->messages = NULL;
	}
	row = logged_request(p, 3);
	sent = json_object_get(json_object_get(row, "body"), "messages");
	assert_int_equal(json_array_size(sent), 3);
	assert_string_equal(json_str(json_array_get(sent, 0), "content"), "go\n\non");
	assert_string_equal(json_str(json_array_get(sent, 2), "content"), "up\n\nand away");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(keys_of_caches),	     provider_test(what_is_refused),
		cmocka_unit_test(limits_of_texts),   provider_test(about_of_tools),
		provider_test(words_about_tools),    provider_test(numbers_of_tools),
		provider_test(keys_of_parameters),   provider_test(odd_schemas),
		provider_test(schemas_of_no_object), provider_test(strict_tools),
		cmocka_unit_test(huge_schemas),	     provider_test(words_behind_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
