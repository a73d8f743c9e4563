/* SPDX-License-Identifier: MIT */
/*
 * Which program with which arguments (the table in docs/tools.md): a code file runs by its
 * runtime's command and args, a data file by the runtime's inline_args, by its own command,
 * by the runtime's command and args, or in a container. Arguments are templates of signed
 * items; the caller's values are inserted whole and never read as templates, and they are a
 * program's text only where a tool without a script declares the parameter "command". Pure
 * but for looking programs up.
 */
#include "plan/plan_inner.h"

#include "item/item.h"
#include "memory.h"
#include "scope.h"

#include <ctype.h>
#include <string.h>

struct choice {
	const json_t *command; /* string */
	const json_t *args; /* array, or NULL */
	const json_t *script; /* what {command} stands for, or NULL: a key like others */
};

static bool is_code(const char *ext)
{
	static const char *const data[] = { ".yaml", ".yml", ".json", ".toml" };

	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		if (!strcmp(ext, data[i]))
			return false;
	return true;
}

static bool list_mentions(const json_t *list, const char *needle)
{
	json_t *element;
	size_t i;

	json_array_foreach(list, i, element) {
		if (json_is_string(element) && strstr(json_string_value(element), needle))
			return true;
	}
	return false;
}

/* A key of the runtime's own configuration, or of what lies below it. */
static const json_t *runtime_value(const struct planner *planner, const struct link *runtime,
				   const char *key)
{
	const struct chain *chain = planner->chain;

	for (const struct link *at = runtime; at < chain->v + chain->n; at++) {
		const json_t *value = json_object_get(at->meta.config, key);

		if (value)
			return value;
	}
	return NULL;
}

/* Does a runtime that says which files it runs leave these out? */
static bool is_foreign(const struct planner *planner, const struct link *runtime)
{
	const json_t *extensions = runtime_value(planner, runtime, "source_ext");

	return json_is_array(extensions) && !json_lists(extensions, planner->chain->v[0].item->ext);
}

/*
 * A runtime made for texts only, as older bash runtimes are, has {command} among its args: for
 * a file that would be the runtime's own command, and bash would then run its input.
 */
static int choose_code(struct planner *planner, const struct link *runtime, struct choice *ret,
		       struct rye_err *err)
{
	const struct rye_item *tool = planner->chain->v[0].item;
	bool texts_only;

	ret->command = runtime_value(planner, runtime, "command");
	ret->args = runtime_value(planner, runtime, "args");
	texts_only = list_mentions(ret->args, "{command}");
	if (is_foreign(planner, runtime) || (texts_only && strcmp(tool->ext, ".sh")))
		return rye_fail(err, RYE_INVALID, "%s cannot run %s files: %s", runtime->item->id,
				tool->ext, tool->id);
	if (texts_only) {
		json_object_set_new(planner->config, "args",
				    json_pack("[s, s, s]", "{tool_path}", "--project-path",
					      "{project_path}"));
		ret->args = json_object_get(planner->config, "args");
	}
	return 0;
}

static bool declares_command(const struct rye_item *tool)
{
	auto_json json_t *schema = meta_schema(tool);

	return json_object_get(json_object_get(schema, "properties"), "command");
}

/* The text that a data file brings, or lets its caller bring; NULL: none. */
static const json_t *script_of(const struct planner *planner)
{
	const struct link *tool = &planner->chain->v[0];
	const json_t *script = json_object_get(tool->meta.config, "script");
	const json_t *command = json_object_get(planner->params, "command");

	if (script)
		return json_is_string(script) ? script : NULL;
	return json_is_string(command) && declares_command(tool->item) ? command : NULL;
}

static int choose_data(const struct planner *planner, const struct link *runtime,
		       struct choice *ret, struct rye_err *err)
{
	const struct link *tool = &planner->chain->v[0];
	const json_t *texts = runtime_value(planner, runtime, "inline_args");
	const json_t *args = runtime_value(planner, runtime, "args"), *script = script_of(planner);
	bool takes_command;

	if (!texts && list_mentions(args, "{command}"))
		texts = args;
	takes_command = list_mentions(texts, "{command}");
	if (texts && script && (takes_command || json_object_get(tool->meta.config, "script"))) {
		ret->command = runtime_value(planner, runtime, "command");
		ret->args = texts;
		ret->script = takes_command ? script : NULL;
		return 0;
	}
	if (json_is_string(json_object_get(tool->meta.config, "command"))) {
		ret->command = json_object_get(tool->meta.config, "command");
		ret->args = json_object_get(tool->meta.config, "args");
		return 0;
	}
	if (!texts && !is_foreign(planner, runtime)) {
		ret->command = json_object_get(planner->config, "command");
		ret->args = json_object_get(planner->config, "args");
		return 0;
	}
	return rye_fail(err, RYE_INVALID,
			"%s: a YAML tool on %s needs config.script or config.command%s",
			tool->item->id, runtime->item->id,
			takes_command ? " or declares a command parameter that is given" : "");
}

static int argv_choose(struct planner *planner, struct choice *ret, struct rye_err *err)
{
	const struct link *runtime = chain_runtime(planner->chain);

	*ret = (struct choice){ 0 };
	if (runtime)
		return is_code(planner->chain->v[0].item->ext) ?
			       choose_code(planner, runtime, ret, err) :
			       choose_data(planner, runtime, ret, err);
	ret->command = json_object_get(planner->config, "command");
	ret->args = json_object_get(planner->config, "args");
	return 0;
}

struct argv_words {
	char **v;
	size_t n, size;
	bool failed;
};

static void add_word(struct argv_words *words, char *word)
{
	if (words->n + 1 >= words->size) {
		size_t size = words->size ? words->size * 2 : 16;
		char **v = memory_note(realloc(words->v, size * sizeof(*v)));

		if (!v) {
			words->failed = true;
			free(word);
			return;
		}
		words->v = v;
		words->size = size;
	}
	words->failed |= !word;
	words->v[words->n] = word;
	if (word)
		words->v[++words->n] = NULL;
}

static void add_copy(struct argv_words *words, const char *text)
{
	add_word(words, memory_note(strdup(text)));
}

/* "--params JSON" when the tool's source knows the option and one argument can hold it. */
static void add_params(const struct planner *planner, struct argv_words *words)
{
	const struct rye_item *tool = planner->chain->v[0].item;
	const char *flag = json_str(planner->config, "params_flag");
	struct rye_span source = { tool->text->data, tool->text->len };

	if (!*flag || planner->params_json.len > RYE_ARGV_PARAMS_MAX ||
	    span_find(source, 0, flag) < 0)
		return;
	add_copy(words, flag);
	add_copy(words, planner->params_json.data);
}

/* What the tool's first line has behind its interpreter, word by word. */
static void add_options(const struct planner *planner, struct argv_words *words)
{
	struct rye_span left = shebang_options(planner->chain->v[0].item);

	while (left.len) {
		size_t n = 0;

		while (n < left.len && !isspace((unsigned char)left.ptr[n]))
			n++;
		add_word(words, span_dup((struct rye_span){ left.ptr, n }));
		left = span_trim(span_skip(left, n));
	}
}

/* A NUL would cut the argument short: what was checked and what runs would differ. */
static void add_arg(const struct planner *planner, const json_t *arg, struct argv_words *words)
{
	struct rye_span text = { json_string_value(arg), json_string_length(arg) };
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	if (json_is_string(arg) && template_whole(text, "loader")) {
		add_copy(words, json_str(planner->config, "loader"));
		return;
	}
	if (json_is_string(arg) && template_whole(text, "params_arg")) {
		add_params(planner, words);
		return;
	}
	if (json_is_string(arg) && template_whole(text, "shebang_options")) {
		add_options(planner, words);
		return;
	}
	plan_text(planner, arg, &word);
	if (word.failed || (word.data && memchr(word.data, 0, word.len)))
		words->failed = true;
	else
		add_copy(words, word.data ? word.data : "");
}

/* {params_json} among the arguments, and {command} of a script, become context names. */
static void add_context(struct planner *planner, const struct choice *choice)
{
	if (list_mentions(choice->args, "{params_json}"))
		json_sets(planner->context, "params_json", planner->params_json.data);
	if (choice->script)
		json_object_set(planner->context, "command", (json_t *)choice->script);
}

static int make_words(struct planner *planner, const struct choice *choice, struct program *program,
		      struct rye_err *err)
{
	struct argv_words words = { 0 };
	auto_buf struct rye_buf command = RYE_BUF_INIT;
	bool drop_safe_path;
	json_t *arg;
	size_t i;

	plan_text(planner, choice->command, &command);
	if (!command.len)
		return rye_fail(err, RYE_TOOL_FAILED, "No command specified");
	program->path = interp_which(planner, command.data, err);
	if (!program->path)
		return -(int)err->code;
	/* An interpreter before 3.11 has no -P; the loaders do its work then. */
	drop_safe_path = strstr(strrchr(program->path, '/'), "python") &&
			 json_lists(choice->args, "-P") &&
			 !interp_knows_safe_path(planner->base, program->path);
	add_context(planner, choice);
	add_copy(&words, command.data);
	json_array_foreach(choice->args, i, arg) {
		if (drop_safe_path && json_is_string(arg) && !strcmp(json_string_value(arg), "-P"))
			continue;
		add_arg(planner, arg, &words);
	}
	json_object_del(planner->context, "command");
	program->argv = words.v;
	if (words.failed)
		return rye_fail(err, RYE_INVALID, "%s: an argument holds a NUL, or memory is short",
				planner->chain->v[0].item->id);
	return 0;
}

/* The command that ends a container. */
static int make_end(const json_t *list, struct program *program, struct rye_err *err)
{
	struct argv_words words = { 0 };
	const json_t *word;
	size_t i;

	json_array_foreach(list, i, word) {
		add_copy(&words, json_string_value(word));
	}
	program->end = words.v;
	return words.failed ? memory_fail(err) : 0;
}

static int make_input(struct planner *planner, struct program *program, struct rye_err *err)
{
	const json_t *wanted = json_object_get(planner->config, "input_data");
	struct rye_span text = { json_string_value(wanted), json_string_length(wanted) };
	const char *variable = json_str(planner->config, "params_env");
	auto_buf struct rye_buf input = RYE_BUF_INIT;

	if (*variable && env_name_ok(variable) && planner->params_json.len <= RYE_ENV_PARAMS_MAX)
		env_put(&planner->env, variable, planner->params_json.data);
	if (!json_is_string(wanted) || !text.len)
		return 0;
	if (template_whole(text, "params_json")) {
		program->input = buf_blob(&planner->params_json);
	} else {
		if (strstr(text.ptr, "{params_json}"))
			json_sets(planner->context, "params_json", planner->params_json.data);
		plan_text(planner, wanted, &input);
		program->input = buf_blob(&input);
	}
	return program->input ? 0 : rye_fail(err, RYE_TOO_BIG, "standard input: too big");
}

/* The verified bytes for loaders that read a descriptor instead of a path. */
static void argv_make_source(struct planner *planner, struct program *program)
{
	json_int_t at = json_int(planner->config, "source_fd", -1);
	char number[16];

	if (at < 3 || at > 9 || !is_code(planner->chain->v[0].item->ext))
		return;
	program->source = rye_blob_ref(planner->chain->v[0].item->text);
	program->source_at = (int)at;
	snprintf(number, sizeof(number), "%d", (int)at);
	env_put(&planner->env, "RYE_TOOL_FD", number);
}

/* A warm interpreter knows no anchor: its search paths were fixed when it started. */
static void make_warm(struct planner *planner, struct program *program)
{
	const char *warm = json_str(planner->config, "warm");
	const char *loader = json_str(planner->config, "loader");

	const char *variable = json_str(planner->config, "params_env");

	if (!*warm || !*loader || !program->source || planner->anchor.active)
		return;
	if (*variable)
		program->params_env = memory_note(strdup(variable));
	program->warm = memory_note(strdup(warm));
	program->loader = memory_note(strdup(loader));
	program->preload = json_incref(json_object_get(planner->config, "preload"));
}

/* What names and arguments are taken from is shared with other plans; here some are added. */
static bool own_words(struct planner *planner)
{
	json_t *config = json_copy(planner->config), *context = json_copy(planner->context);

	json_decref(planner->config);
	json_decref(planner->context);
	planner->config = config;
	planner->context = context;
	return config && context;
}

int program_make(struct planner *planner, struct program *program, struct rye_err *err)
{
	struct choice choice;
	auto_json json_t *docker = NULL;
	int r = 0;

	*program = (struct program){ .source_at = -1 };
	if (!own_words(planner))
		return memory_fail(err);
	if (json_is_string(json_object_get(planner->config, "image"))) {
		r = docker_command(planner, &docker, err);
		choice = (struct choice){ .command = json_object_get(docker, "command"),
					  .args = json_object_get(docker, "args") };
	} else {
		r = argv_choose(planner, &choice, err);
	}
	if (!r)
		r = make_words(planner, &choice, program, err);
	if (!r)
		r = make_end(json_object_get(docker, "end"), program, err);
	if (r)
		return r;
	program->answers_object = !strcmp(json_str(planner->config, "answers"), "object");
	argv_make_source(planner, program);
	make_warm(planner, program);
	return make_input(planner, program, err);
}

static void free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

void program_done(struct program *program)
{
	free_words(program->argv);
	free_words(program->end);
	free(program->path);
	free(program->warm);
	free(program->loader);
	free(program->params_env);
	rye_blob_unref(program->input);
	rye_blob_unref(program->source);
	json_decref(program->preload);
}
