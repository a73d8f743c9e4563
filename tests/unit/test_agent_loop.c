/* SPDX-License-Identifier: MIT */
/*
 * What an agent's loop says to its model between two requests, beside an inbox and a model that are made
 * up: a word comes at the very moment that a test of the whole does not hit.
 */
#include "rye_test.h"

#include "agent/agent_inner.h"
#include "provider/provider.h"
#include "scope.h"

#include <unistd.h>

/* ---- made up ---- */

static struct {
	const char *said[8]; /* by the inbox, a look after the other; NULL: nothing */
	int looks, turns;
	json_t *told; /* [[text of each message that the model was sent]] */
	json_t *events; /* texts of cognition_in */
} world;

bool __wrap_inbox_take(struct inbox *inbox, struct limits *limits, json_t **ret_says);
bool __wrap_inbox_take(struct inbox *inbox, struct limits *limits, json_t **ret_says)
{
	const char *said = world.said[world.looks++];

	*ret_says = said ? json_pack("[s]", said) : NULL;
	return false;
}

int __wrap_hooks_text(struct agent *agent, enum expr_event event, json_t *doc,
		      struct hook_text *ret, struct rye_err *err);
int __wrap_hooks_text(struct agent *agent, enum expr_event event, json_t *doc,
		      struct hook_text *ret, struct rye_err *err)
{
	json_decref(doc);
	return 0;
}

void __wrap_agent_event(struct agent *agent, const char *type, json_t *payload);
void __wrap_agent_event(struct agent *agent, const char *type, json_t *payload)
{
	if (!strcmp(type, "cognition_in"))
		json_array_append(world.events, json_object_get(payload, "text"));
	json_decref(payload);
}

/* Answers with words, and behind the second time with what ends the thread. */
bool __wrap_turn_ask(struct agent *agent, struct turn_answer *ret);
bool __wrap_turn_ask(struct agent *agent, struct turn_answer *ret)
{
	json_t *texts = json_array(), *message;
	size_t i;

	turn_tell(agent);
	json_array_foreach(agent->messages, i, message) {
		auto_free char *text = turn_text(message, "text");

		json_array_append_new(texts, json_string(text));
	}
	json_array_append_new(world.told, texts);
	if (++world.turns == 2) {
		agent_ends(agent, "completed", RYE_OK, "%s", "");
		return false;
	}
	*ret = (struct turn_answer){ .stop = STOP_END };
	ret->message = json_pack("{s:s, s:[{s:s, s:s}]}", "role", "assistant", "blocks", "kind",
				 "text", "text", "I think.");
	json_array_append(agent->messages, ret->message);
	return true;
}

/* ---- */

#define NUDGE \
	"Use the tools to do what is left. When all is done, call directive_return with the outputs."

static void runs(void)
{
	struct provider provider = { .model = (char *)"m" };
	const struct agent_ask ask = { .stop = -1 };
	auto_json json_t *meta =
		json_pack("{s:[{s:s, s:b}]}", "outputs", "name", "word", "required", 1);
	auto_json json_t *lists = json_object(), *injected = json_array(), *layers = json_array();
	struct rye_item directive = { .meta = meta };
	struct agent agent = { .ask = &ask,
			       .directive = "d",
			       .provider = &provider,
			       .messages = json_array(),
			       .brief = { .chain = { &directive },
					  .n = 1,
					  .lists = lists,
					  .first = (char *)"Do it.",
					  .injected = injected,
					  .layers = layers } };

	agent_loop(&agent);
	json_decref(agent.messages);
	free(agent.text);
	free(agent.brief.system);
}

static int setup(void **state)
{
	memset(&world, 0, sizeof(world));
	world.told = json_array();
	world.events = json_array();
	return 0;
}

static int teardown(void **state)
{
	json_decref(world.told);
	json_decref(world.events);
	return 0;
}

static void is_json(const json_t *value, const char *wanted)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	assert_string_equal(text, wanted);
}

/* Each is one message, and the transcript has all of it: a resume sends what was sent. */
static void what_is_said_between_two_requests_is_one_message(void **state)
{
	world.said[0] = "Be quick.";
	world.said[2] = "Look up.";
	runs();
	is_json(world.told,
		"[[\"Do it.\\n\\nBe quick.\"],[\"Do it.\\n\\nBe quick.\",\"I think.\",\"" NUDGE
		"\\n\\nLook up.\"]]");
	is_json(world.events, "[\"Do it.\\n\\nBe quick.\",\"" NUDGE "\\n\\nLook up.\"]");
}

/* What comes while the model answers is said in place of the nudge. */
static void a_word_is_said_in_place_of_a_nudge(void **state)
{
	world.said[1] = "Go on.";
	runs();
	is_json(world.events, "[\"Do it.\",\"Go on.\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_said_between_two_requests_is_one_message,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_word_is_said_in_place_of_a_nudge, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
