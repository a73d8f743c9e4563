/* SPDX-License-Identifier: MIT */
/*
 * ryefs execute: one request to the execute primitive. KEY=VALUE words become parameters as the
 * item's own schema says. People get the output, as it comes, and of a failure one sentence and
 * what would do instead (executed.c); programs get the reply with --json, whatever it says.
 */
#include "cli/follow/follow.h"

#include "base/id.h"
#include "format/format.h"
#include "base/io.h"
#include "bounds.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static bool allows_text(const json_t *type)
{
	if (json_is_string(type))
		return !strcmp(json_string_value(type), "string");
	return json_lists(type, "string");
}

static json_t *verb_execute_value_of(const json_t *schema, const char *key, const char *text)
{
	const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
	json_t *value = NULL;

	if (!allows_text(json_object_get(property, "type")))
		value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	return value ? value : json_string(text);
}

/* ---- words that are no parameters ---- */

struct execute_words {
	const json_t *schema;
	json_t *given;
	const char *last; /* of given: the text that the words before belong to; or NULL */
	bool named; /* KEY= was written before that text */
	int at; /* the word that is no parameter */
};

/* Many words that begin with a brace were one JSON object before the shell took its quotes. */
static json_t *joined(const struct cli *cli)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	for (int i = 1; i < cli->argc; i++)
		buf_addf(&text, "%s%s", i > 1 ? " " : "", cli->argv[i]);
	return text.failed || cli->argv[1][0] != '{' ? NULL : parameters_repaired(text.data);
}

static void words_end(struct execute_words *words, const char *key, bool named)
{
	json_t *value = json_object_get(words->given, key);

	words->named = named;
	words->last = NULL;
	if (json_is_string(value))
		words->last = json_object_iter_key(json_object_iter_at(words->given, key));
}

/*
 * A word without a name is the value of the first parameter that takes it and has none yet. One that
 * follows KEY=TEXT, or that nothing takes, was a part of the text before it, whose quotes are missing.
 */
static void guess_bare(struct execute_words *words, const char *word)
{
	json_t *properties = json_object_get(words->schema, "properties"), *property;
	const char *key, *before;

	json_object_foreach(properties, key, property) {
		auto_json json_t *value = verb_execute_value_of(words->schema, key, word);
		bool text = json_is_string(value) && !json_object_get(property, "enum");

		if (json_object_get(words->given, key) || !property_takes(property, value) ||
		    (text && words->last && words->named))
			continue;
		json_set(words->given, key, json_incref(value));
		if (text)
			words_end(words, key, false);
		return;
	}
	if (!words->last)
		return;
	before = json_string_value(json_object_get(words->given, words->last));
	json_set(words->given, words->last,
		 json_sprintf("%s%s%s", before, *before ? " " : "", word));
}

/* One word of those behind the fault; how many were used. */
static int guess_word(const struct cli *cli, struct execute_words *words, int i)
{
	const char *word = cli->argv[i], *equals = strchr(word, '=');
	bool apart = i + 2 < cli->argc && !strcmp(cli->argv[i + 1], "=");
	bool forced = equals && equals > word && equals[-1] == ':';
	auto_free char *key =
		strndup(word, equals ? (size_t)(equals - word) - forced : strlen(word));

	if (forced || !key)
		return 1; /* it was no JSON */
	if (!equals && !apart) {
		guess_bare(words, word);
		return 1;
	}
	word = apart ? cli->argv[i + 2] : equals + 1;
	if (*key && *word) {
		json_set(words->given, key, verb_execute_value_of(words->schema, key, word));
		words_end(words, key, true);
	}
	return apart ? 3 : 1;
}

static int no_pair(struct cli *cli, struct execute_words *words, const char *what)
{
	auto_json json_t *whole = joined(cli);
	const struct corrected fault = { words->schema, whole ? whole : words->given, "" };
	auto_free char *mend = NULL;

	for (int i = words->at; i < cli->argc && !whole;)
		i += guess_word(cli, words, i);
	mend = parameters_example(cli, &fault);
	return cli_complain(cli, CLI_USAGE, mend, "%s", what);
}

/* ---- KEY=VALUE ---- */

/* NULL: added; else what is wrong, in text. */
static const char *add_pair(struct execute_words *words, const char *word, char text[512])
{
	const char *equals = strchr(word, '=');
	bool forced = equals && equals > word && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - word) - forced : 0;
	auto_free char *key = len ? strndup(word, len) : NULL;
	json_t *value;

	if (!key)
		snprintf(text, 512, "\"%s\" is no parameter, wanted KEY=VALUE or {JSON}", word);
	else if (json_object_get(words->given, key))
		snprintf(text, 512, "the parameter \"%s\" is given twice", key);
	if (!key || json_object_get(words->given, key))
		return text;
	if (forced)
		value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	else
		value = verb_execute_value_of(words->schema, key, equals + 1);
	if (value && json_set(words->given, key, value)) {
		words_end(words, key, true);
		return NULL;
	}
	snprintf(text, 512, "the value of \"%s\" is not %s", key, forced ? "JSON" : "UTF-8");
	return text;
}

static int read_pairs(struct cli *cli, const char *ref, json_t *parameters)
{
	auto_json json_t *schema = execute_schema(cli, ref);
	struct execute_words words = { .schema = schema, .given = parameters, .at = 1 };
	char text[512];

	for (; words.at < cli->argc; words.at++) {
		const char *what = add_pair(&words, cli->argv[words.at], text);

		if (what)
			return no_pair(cli, &words, what);
	}
	return CLI_OK;
}

static int read_stdin(struct cli *cli, struct rye_buf *text)
{
	char chunk[16384];
	ssize_t n;

	text->cap = RYE_MESSAGE_MAX;
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		buf_add(text, chunk, (size_t)n);
	if (n < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot read standard input");
	if (text->failed)
		return cli_misuse(cli, "the parameters are bigger than %d bytes", RYE_MESSAGE_MAX);
	return CLI_OK;
}

/* A byte order mark that an editor left is no part of a message, as at the mount. */
static struct rye_span execute_unmarked(const struct rye_buf *text)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct rye_span s = { text->data, text->len };

	return s.len >= 3 && !memcmp(s.ptr, mark, 3) ? span_skip(s, 3) : s;
}

/* What is no JSON object was mostly meant to be one: cut short, or in quotes of the other sort. */
static int no_json(struct cli *cli, const char *ref, const char *text, const struct rye_err *err)
{
	auto_json json_t *schema = execute_schema(cli, ref);
	auto_json json_t *given = parameters_repaired(text);
	auto_free char *mend = parameters_example(cli, &(struct corrected){ schema, given, "" });

	return cli_complain(cli, CLI_USAGE, mend, "%s", err->msg);
}

/* *ret: a new reference. */
static int read_parameters(struct cli *cli, const char *ref, json_t **ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *word = cli->argc > 1 ? cli->argv[1] : "{}";
	struct rye_err err = { 0 };
	int status = CLI_OK;

	if (cli->argc != 2 || (*word != '{' && strcmp(word, "-") != 0)) {
		*ret = json_object();
		return read_pairs(cli, ref, *ret);
	}
	if (*word == '{')
		buf_adds(&text, word);
	else
		status = read_stdin(cli, &text);
	if (status != CLI_OK)
		return status;
	*ret = json_parse(execute_unmarked(&text), 0, "parameters", &err);
	if (*ret)
		return CLI_OK;
	return no_json(cli, ref, text.data ? text.data : "", &err);
}

static json_t *request(struct cli *cli, const char *ref, json_t *parameters)
{
	json_t *message = json_object();

	json_sets(message, "item_id", ref);
	json_set(message, "parameters", json_incref(parameters));
	if (cli->opt.dry_run)
		json_set(message, "dry_run", json_true());
	if (cli->opt.fork)
		json_sets(message, "thread", "fork");
	if (cli->opt.async)
		json_set(message, "async", json_true());
	if (cli->opt.target)
		json_sets(message, "target", cli->opt.target);
	if (cli->opt.trace)
		json_set(message, "trace", json_true());
	return message;
}

/*
 * What was passed on while it ran is how its output begins. Where it is not, because the run was ended
 * before it could answer, the output is printed as if nothing had been.
 */
static void execute_live(struct executed *executed, const struct cli_stream *stream)
{
	const struct rye_blob *output = executed->called.outcome.output;
	char *line = strstr(executed->called.outcome.message, CLI_LIVE_LINE);

	if (stream->live != CLI_LIVE_YES)
		return;
	if (line)
		*line = 0;
	if (!output || output->len < stream->held.len ||
	    memcmp(output->data, stream->held.data, stream->held.len))
		executed->printed = 0;
}

static bool execute_elsewhere(const struct cli *cli)
{
	return cli->opt.target && strcmp(cli->opt.target, "local") != 0;
}

struct target_look {
	const char *name;
	struct near_word near;
	char best[128]; /* near's: a name is borrowed for the call alone */
	bool there;
};

static int target_take(void *arg, const char *name)
{
	struct target_look *look = arg;

	look->there |= !strcmp(name, look->name);
	near_offer(&look->near, name, name);
	if (look->near.best == name) {
		snprintf(look->best, sizeof(look->best), "%s", name);
		look->near.best = look->best;
	}
	return 0;
}

/* A remote's name misspelt, or without "remote:" in front; what else is wrong with it the engine says. */
static int target_check(struct cli *cli)
{
	static const char prefix[] = "remote:";
	const char *target = cli->opt.target ? cli->opt.target : "local";
	bool prefixed = !strncmp(target, prefix, strlen(prefix));
	struct target_look look = { .name = prefixed ? target + strlen(prefix) : target };
	char instead[REF_MAX], what[REF_MAX];
	bool own = false; /* a word of its own, behind --target */

	if (!strcmp(target, "remote") || !strcmp(target, "local"))
		return CLI_OK;
	near_start(&look.near, look.name);
	if (rye_remotes(cli->rye, target_take, &look, NULL) || (prefixed && look.there) ||
	    !look.near.best)
		return CLI_OK;
	for (int i = 0; i < cli->n_typed; i++)
		own |= cli->typed[i] == target;
	snprintf(instead, sizeof(instead), "%s%s%s", own ? "" : "--target=", prefix,
		 look.near.best);
	snprintf(what, sizeof(what), "there is no target %s", target);
	return cli_misspelt(cli, own ? target : target - strlen("--target="), instead, what);
}

static int execute_ask(struct cli *cli, struct executed *executed)
{
	auto_json json_t *message = request(cli, executed->ref, executed->given);
	struct cli_stream stream = { .held = RYE_BUF_INIT };
	const struct cli_call what = { RYE_EXECUTE, message, cli->opt.json ? NULL : &stream,
				       .doing = executed->ref };
	bool waits = cli->opt.fork && !cli->opt.async && !cli->opt.dry_run && !cli->opt.json;
	struct forked forked;
	int status;

	/* A model's words go to people alone: a program wants the result. So does what comes from elsewhere, where
	 * a tool's lines for its runtime stand among those for people. */
	stream.mute = (cli->opt.fork || execute_elsewhere(cli)) && !isatty(STDOUT_FILENO);
	forked_open(&forked, cli);
	stream.forked = waits ? &forked : NULL;
	status = call_wait(cli, &what, &executed->called);
	forked_close(&forked);
	executed->printed = stream.printed;
	execute_live(executed, &stream);
	buf_done(&stream.held);
	return status;
}

/* Is it a directive that a model is to work through? */
static bool execute_threads(const struct cli *cli, const char *ref)
{
	const char *id;

	return !cli->opt.dry_run &&
	       (cli->opt.fork || (cli->opt.async && id_split(ref, &id) == RYE_DIRECTIVE));
}

int verb_execute(struct cli *cli)
{
	struct executed executed = { .ref = "" };
	int status;

	/* a tool elsewhere has its own way here: what it prints comes as one stream */
	if (cli->opt.json || cli->opt.fork || cli->opt.async || execute_elsewhere(cli))
		unsetenv(CLI_LIVE_NAME);
	else
		setenv(CLI_LIVE_NAME, "1", 1);
	status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK)
		status = target_check(cli);
	if (status == CLI_OK)
		status = ref_one(cli, 0, executed.ref);
	if (status == CLI_OK && execute_threads(cli, executed.ref))
		status = parent_check(cli);
	if (status == CLI_OK)
		status = read_parameters(cli, executed.ref, &executed.given);
	if (status == CLI_OK)
		status = execute_ask(cli, &executed);
	if (status == CLI_OK)
		status = executed_tell(cli, &executed);
	json_decref(executed.given);
	call_done(&executed.called);
	return status;
}
