/* SPDX-License-Identifier: MIT */
/*
 * config {server, tool_name} of a tool → the server that its signed item describes, and the
 * arguments of one call. What decides what is started is the server's item alone, which is verified
 * as every element of a chain: no parameter of a caller, and nothing of the tool's own, comes into
 * its command, arguments or environment. On a worker; no lock.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <inttypes.h>
#include <string.h>

/* The signed item of a server, while a plan is made of it. */
struct mcp_source {
	struct rye_item *item;
	struct tool_meta meta;
	json_t *context; /* what its texts may name */
};

static void mcp_source_done(struct mcp_source *source)
{
	rye_item_unref(source->item);
	json_decref(source->context);
}

static int load_server(const struct planner *planner, struct mcp_source *ret, struct rye_err *err)
{
	const struct item_env *items = planner->base->items;
	const char *id = json_str(planner->config, "server");
	struct item_ask ask = { .kind = RYE_TOOL,
				.id = id,
				.from = chain_search_from(items, planner->chain->v[0].item) };
	int r;

	if (!*id)
		return rye_fail(
			err, RYE_INVALID,
			"config.server is missing: a server's item, mcp/servers/NAME, is wanted");
	r = rye_load(items, &ask, &ret->item, err);
	if (r)
		return r;
	if (ret->item->parse.code != RYE_OK)
		return rye_fail(err, RYE_UNPARSABLE, "%s: %s", id, ret->item->parse.msg);
	meta_tool(ret->item, &ret->meta);
	if (strcmp(ret->meta.tool_type, "mcp_server"))
		return rye_fail(err, RYE_INVALID, "%s is no MCP server: its tool_type is \"%s\"",
				id, ret->meta.tool_type);
	ret->context = json_pack("{s:O, s:O, s:O}", "project_path",
				 json_object_get(planner->context, "project_path"), "user_space",
				 json_object_get(planner->context, "user_space"), "system_space",
				 json_object_get(planner->context, "system_space"));
	return ret->context ? 0 : memory_fail(err);
}

/* A text of the server's item; free it. NULL: out of memory, or a NUL in it. */
static char *server_text(const struct planner *planner, const struct mcp_source *source,
			 const json_t *value)
{
	const struct template in = { .env = &planner->env, .context = source->context };
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "");
	template_put(&in, value, &text);
	if (text.failed || memchr(text.data, 0, text.len))
		return NULL;
	return buf_steal(&text);
}

/* The command is a name or a path as it stands: no variable decides what is started. */
static int make_argv(struct planner *planner, const struct mcp_source *source,
		     struct mcp_spec *spec, struct rye_err *err)
{
	const json_t *args = json_object_get(source->meta.config, "args");
	const char *command = json_str(source->meta.config, "command");
	size_t n = json_array_size(args);

	if (!*command)
		return rye_fail(err, RYE_INVALID, "%s: no command in the server's config",
				spec->id);
	if (args && !json_is_array(args))
		return rye_fail(err, RYE_INVALID, "%s: config.args: a list is wanted", spec->id);
	spec->path = interp_which(planner, command, err);
	if (!spec->path)
		return -(int)err->code;
	spec->argv = calloc(n + 2, sizeof(*spec->argv));
	if (!spec->argv)
		return memory_fail(err);
	spec->argv[0] = memory_note(strdup(command));
	for (size_t i = 0; i < n && spec->argv[i]; i++)
		spec->argv[i + 1] = server_text(planner, source, json_array_get(args, i));
	if (!spec->argv[n])
		return rye_fail(err, RYE_INVALID, "%s: config.args: a NUL, or memory is short",
				spec->id);
	return 0;
}

/* What servers of the protocol get, whoever starts them, and what the item gives. */
static int make_env(const struct planner *planner, const struct mcp_source *source,
		    struct mcp_spec *spec, struct rye_err *err)
{
	static const char *const names[] = { "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER" };
	json_t *env = json_object_get(source->meta.config, "env"), *value;
	const char *name;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = env_get(&planner->base->allowed, names[i]);

		/* A function of a shell. */
		if (text && strncmp(text, "()", 2))
			env_put(&spec->env, names[i], text);
	}
	json_object_foreach(env, name, value) {
		auto_free char *text = server_text(planner, source, value);

		if (!env_name_ok(name) || !text)
			return rye_fail(err, RYE_INVALID, "%s: config.env: %s cannot be set",
					spec->id, name);
		env_put(&spec->env, name, text);
	}
	return spec->env.failed ? memory_fail(err) : 0;
}

static int make_server_cwd(const struct planner *planner, const struct mcp_source *source,
			   struct mcp_spec *spec, struct rye_err *err)
{
	const json_t *cwd = json_object_get(source->meta.config, "cwd");
	auto_free char *text = server_text(planner, source, cwd);
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	if (!text || *text != '/')
		buf_addf(&path, "%s%s%s", planner->base->project, text && *text ? "/" : "",
			 text ? text : "");
	else
		buf_adds(&path, text);
	spec->cwd = buf_steal(&path);
	return spec->cwd ? 0 : memory_fail(err);
}

/* What the item says of the era: `protocol`, else what was found when it was written. */
static int make_era(const struct mcp_source *source, struct mcp_spec *spec, struct rye_err *err)
{
	const json_t *config = source->meta.config;
	const json_t *found = json_object_get(meta_get(source->item, "cache"), "protocol");
	const char *wanted = json_str(config, "protocol");

	if (!*wanted || !strcmp(wanted, "auto"))
		wanted = json_str(found, "era");
	else if (strcmp(wanted, "modern") && strcmp(wanted, "legacy"))
		return rye_fail(err, RYE_INVALID,
				"%s: config.protocol is \"%s\": auto, modern or legacy is wanted",
				spec->id, wanted);
	if (!strcmp(wanted, "modern"))
		spec->era = MCP_MODERN;
	else if (!strcmp(wanted, "legacy"))
		spec->era = MCP_LEGACY;
	return 0;
}

static int check_transport(const struct planner *planner, const struct mcp_source *source,
			   struct rye_err *err)
{
	const char *transport = json_str(source->meta.config, "transport");
	const char *wanted = json_str(planner->config, "transport");

	if (strcmp(transport, "stdio"))
		return rye_fail(err, RYE_UNSUPPORTED, "%s: transport \"%s\": stdio is wanted",
				source->item->id, transport);
	if (*wanted && strcmp(wanted, transport))
		return rye_fail(err, RYE_INVALID, "%s is a server for %s, the runtime is for %s",
				source->item->id, transport, wanted);
	return 0;
}

static int64_t server_timeout_ms(const struct mcp_source *source)
{
	double seconds = json_number_value(json_object_get(source->meta.config, "timeout"));

	if (!(seconds > 0))
		seconds = RYE_MCP_TIMEOUT_S;
	return (int64_t)(MIN_OF(seconds, (double)RYE_TIMEOUT_MAX_S) * 1000 + 0.5);
}

/* It runs under the server's `requires`, and no freer than the run that asks; no item is its to run. */
static struct confine server_confine(const struct planner *planner, const struct mcp_source *source)
{
	struct confine confine = plan_confine(&source->meta, planner->base->opt);

	confine.net &= planner->limit.net;
	confine.write &= planner->limit.write;
	confine.calls = confine.keys = false;
	return confine;
}

/* A process is used again by a call that would have started the very same. */
static void make_key(const struct planner *planner, const struct mcp_source *source,
		     struct mcp_spec *spec)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%s%c%s%c%s%c%d%d%" PRIx64, source->item->verdict.hash, 0, spec->path, 0,
		 spec->cwd, 0, spec->confine.net, spec->confine.write,
		 veil_stamp(planner->base->items->spaces));
	for (char **word = spec->argv; *word; word++)
		buf_add(&text, *word, strlen(*word) + 1);
	for (size_t i = 0; i < spec->env.n; i++)
		buf_add(&text, spec->env.v[i], strlen(spec->env.v[i]) + 1);
	sha256_hex((struct rye_span){ text.data ? text.data : "", text.len }, spec->key);
}

static int make_spec(struct planner *planner, const struct mcp_source *source,
		     struct mcp_spec *spec, struct rye_err *err)
{
	auto_json json_t *names = json_array();
	int r = check_transport(planner, source, err);

	template_names(json_object_get(source->meta.config, "env"), names);
	template_names(json_object_get(source->meta.config, "args"), names);
	envres_give(planner, names);
	spec->id = memory_note(strdup(source->item->id));
	spec->timeout_ms = server_timeout_ms(source);
	spec->confine = server_confine(planner, source);
	if (!r)
		r = make_era(source, spec, err);
	if (!r)
		r = make_argv(planner, source, spec, err);
	if (!r)
		r = make_env(planner, source, spec, err);
	if (!r)
		r = make_server_cwd(planner, source, spec, err);
	if (!r)
		make_key(planner, source, spec);
	return r;
}

int mcp_plan_make(struct planner *planner, struct mcp_plan *ret, struct rye_err *err)
{
	__attribute__((cleanup(mcp_source_done))) struct mcp_source source = { 0 };
	const char *tool = json_str(planner->config, "tool_name");
	const json_t *schema = meta_get(planner->chain->v[0].item, "output_schema");
	int r;

	if (!*tool)
		return rye_fail(err, RYE_INVALID,
				"config.tool_name is missing: the server's name of the tool");
	if (json_object_get(planner->config, "pin"))
		return rye_fail(err, RYE_UNSUPPORTED,
				"config.pin: definitions are not compared yet");
	r = load_server(planner, &source, err);
	if (r)
		return r;
	ret->tool = memory_note(strdup(tool));
	ret->arguments = json_incref(planner->params);
	ret->output_schema = json_is_object(schema) ? json_incref((json_t *)schema) : NULL;
	if (!ret->tool)
		return memory_fail(err);
	return make_spec(planner, &source, &ret->spec, err);
}

void mcp_plan_done(struct mcp_plan *plan)
{
	mcp_spec_done(&plan->spec);
	free(plan->tool);
	json_decref(plan->arguments);
	json_decref(plan->output_schema);
}
