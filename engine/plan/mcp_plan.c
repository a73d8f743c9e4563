/* SPDX-License-Identifier: MIT */
/*
 * A server of the Model Context Protocol as its signed item describes it → what is started, or asked.
 * That item alone decides it, verified as every element of a chain: no parameter of a caller, and
 * nothing of a tool's own item, comes into its command, arguments, environment, address or
 * headers. And config {server, tool_name, pin} of a tool → one call of such a server. On a
 * worker; no lock.
 */
#include "plan/plan_inner.h"

#include "hash.h"
#include "http/http.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* Headers of one server: none needs as many. */
#define SERVER_HEADERS_MAX 32

void mcp_source_done(struct mcp_source *source)
{
	rye_item_unref(source->item);
	*source = (struct mcp_source){ 0 };
}

int mcp_source_load(const struct planner *planner, const struct item_ask *ask,
		    struct mcp_source *ret, struct rye_err *err)
{
	int r = rye_load(planner->base->items, ask, &ret->item, err);

	if (r)
		return r;
	if (ret->item->parse.code != RYE_OK)
		return rye_fail(err, RYE_UNPARSABLE, "%s: %s", ask->id, ret->item->parse.msg);
	meta_tool(ret->item, &ret->meta);
	if (strcmp(ret->meta.tool_type, "mcp_server"))
		return rye_fail(err, RYE_INVALID, "%s is no MCP server: its tool_type is \"%s\"",
				ask->id, ret->meta.tool_type);
	ret->id = ret->item->id;
	ret->space = ret->item->space;
	ret->stamp = ret->item->verdict.hash;
	ret->config = ret->meta.config;
	ret->cache = meta_get(ret->item, "cache");
	return 0;
}

/* What texts of a server's item may name beside variables. */
static json_t *server_context(const struct planner *planner)
{
	return json_pack("{s:O, s:O, s:O}", "project_path",
			 json_object_get(planner->context, "project_path"), "user_space",
			 json_object_get(planner->context, "user_space"), "system_space",
			 json_object_get(planner->context, "system_space"));
}

/* A text of the server's item; free it. NULL: out of memory, or a NUL in it. */
static char *server_text(const struct planner *planner, const json_t *value)
{
	auto_json json_t *context = server_context(planner);
	const struct template in = { .env = &planner->env,
				     .context = context,
				     .seen = planner->seen };
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
	const json_t *args = json_object_get(source->config, "args");
	const char *command = json_str(source->config, "command");
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
		spec->argv[i + 1] = server_text(planner, json_array_get(args, i));
	if (!spec->argv[n])
		return rye_fail(err, RYE_INVALID, "%s: config.args: a NUL, or memory is short",
				spec->id);
	return 0;
}

/* What each server of the protocol gets, and what the item gives. */
static int make_env(const struct planner *planner, const struct mcp_source *source,
		    struct mcp_spec *spec, struct rye_err *err)
{
	static const char *const names[] = { "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER" };
	json_t *env = json_object_get(source->config, "env"), *value;
	const char *name;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = env_get(&planner->base->allowed, names[i]);

		/* A function of a shell. */
		if (text && strncmp(text, "()", 2))
			env_put(&spec->env, names[i], text);
	}
	if (spec->home)
		env_put(&spec->env, "HOME", spec->home);
	json_object_foreach(env, name, value) {
		auto_free char *text = server_text(planner, value);

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
	const json_t *cwd = json_object_get(source->config, "cwd");
	auto_free char *text = server_text(planner, cwd);
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
	const json_t *config = source->config;
	const json_t *found = json_object_get(source->cache, "protocol");
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

static int make_transport(const struct planner *planner, const struct mcp_source *source,
			  struct mcp_spec *spec, struct rye_err *err)
{
	const char *transport = json_str(source->config, "transport");
	const char *wanted = json_str(planner->config, "transport");

	if (strcmp(transport, "stdio") != 0 && strcmp(transport, "http") != 0)
		return rye_fail(err, RYE_UNSUPPORTED,
				"%s: transport \"%s\": stdio or http is wanted%s", source->id,
				transport,
				strcmp(transport, "sse") ? "" : "; HTTP+SSE was withdrawn");
	if (*wanted && strcmp(wanted, transport) != 0)
		return rye_fail(err, RYE_INVALID, "%s is a server for %s, the runtime is for %s",
				source->id, transport, wanted);
	spec->transport = strcmp(transport, "http") ? MCP_STDIO : MCP_HTTP;
	return 0;
}

static int make_elicits(const struct mcp_source *source, struct mcp_spec *spec, struct rye_err *err)
{
	const char *elicitation = json_str(source->config, "elicitation");

	if (*elicitation && strcmp(elicitation, "return") != 0)
		return rye_fail(err, RYE_INVALID,
				"%s: config.elicitation is \"%s\": return is wanted, or nothing",
				source->id, elicitation);
	spec->elicits = *elicitation;
	return 0;
}

static int64_t server_timeout_ms(const struct mcp_source *source)
{
	double seconds = json_number_value(json_object_get(source->config, "timeout"));

	if (!(seconds > 0))
		seconds = RYE_MCP_TIMEOUT_S;
	return (int64_t)(MIN_OF(seconds, (double)RYE_TIMEOUT_MAX_S) * 1000 + 0.5);
}

/* It runs under the server's `requires`, and no freer than the run that asks; no item is its to run. */
static struct confine server_confine(const struct planner *planner, const struct mcp_source *source)
{
	struct confine confine = plan_confine(&source->meta, planner->base->opt);

	confine_within(&confine, &planner->limit);
	confine.calls = confine.keys = false;
	return confine;
}

/* ---- a server at an address ---- */

static int server_header(const struct planner *planner, struct mcp_spec *spec, const char *name,
			 const json_t *value, struct rye_err *err)
{
	auto_free char *text = server_text(planner, value);
	auto_buf struct rye_buf row = RYE_BUF_INIT;
	size_t n = 0;

	while (spec->headers[n])
		n++;
	if (!http_is_token(span_of(name)) || !text || strpbrk(text, "\r\n") ||
	    n >= SERVER_HEADERS_MAX)
		return rye_fail(
			err, RYE_INVALID,
			"%s: config.headers: %s: a name, and a value without line ends, are "
			"wanted",
			spec->id, name);
	buf_addf(&row, "%s: %s", name, text);
	spec->headers[n] = buf_steal(&row);
	return spec->headers[n] ? 0 : memory_fail(err);
}

/* When the headers are made: what they carry goes to an address that is as good. */
static int check_address(const struct planner *planner, const struct mcp_source *source,
			 struct rye_err *err)
{
	json_t *headers = json_object_get(source->config, "headers"), *value;
	const struct template in = { .env = &planner->env, .seen = planner->seen };
	const struct where url = { "config.url", json_object_get(source->config, "url"),
				   WHERE_WHOLE };
	const char *name;
	int r = where_check(&in, &url, err);

	json_object_foreach(headers, name, value) {
		const struct where host = { "config.headers: Host", value, WHERE_WHOLE };

		if (!r && !strcasecmp(name, "host"))
			r = where_check(&in, &host, err);
	}
	return r;
}

static int make_address(struct planner *planner, const struct mcp_source *source,
			struct mcp_spec *spec, struct rye_err *err)
{
	json_t *headers = json_object_get(source->config, "headers"), *value;
	const char *name;
	int r = 0;

	spec->url = server_text(planner, json_object_get(source->config, "url"));
	spec->headers = calloc(SERVER_HEADERS_MAX + 1, sizeof(*spec->headers));
	if (!spec->url || !spec->headers)
		return memory_fail(err);
	if (!*spec->url)
		return rye_fail(err, RYE_INVALID, "%s: No URL in server config", spec->id);
	if (!spec->confine.net)
		return rye_fail(err, RYE_DENIED,
				"the network is not open to %s: its requires needs net.http",
				spec->id);
	json_object_foreach(headers, name, value) {
		r = server_header(planner, spec, name, value, err);
		if (r)
			break;
	}
	return r ? r : check_address(planner, source, err);
}

/* ---- together ---- */

static void key_words(struct rye_buf *text, char *const *words)
{
	for (; words && *words; words++)
		buf_add(text, *words, strlen(*words) + 1);
}

/* What is there is used again by a call that would have started, or asked, the very same. */
static int make_key(const struct planner *planner, const struct mcp_source *source,
		    struct mcp_spec *spec, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%s%c%s%c%s%c%s%c%d%d%u.%" PRIx64 ".", source->stamp, 0,
		 spec->path ? spec->path : "", 0, spec->cwd ? spec->cwd : "", 0,
		 spec->url ? spec->url : "", 0, spec->confine.net, spec->confine.write,
		 spec->confine.shown, boxes_places(planner->base->boxes));
	key_words(&text, spec->argv);
	key_words(&text, spec->headers);
	for (size_t i = 0; i < spec->env.n; i++)
		buf_add(&text, spec->env.v[i], strlen(spec->env.v[i]) + 1);
	/* a part of it would be the key of others, too */
	if (text.failed)
		return memory_fail(err);
	sha256_hex((struct rye_span){ text.data, text.len }, spec->key);
	return 0;
}

/*
 * `home: private`: npx and its like keep what they fetch in the home directory, where a server may not
 * write. One for each server of each project, which stays.
 */
static int make_server_home(const struct planner *planner, const struct mcp_source *source,
			    struct mcp_spec *spec, struct rye_err *err)
{
	const char *wanted = json_str(source->config, "home");
	const char *cache = env_get(&planner->base->inherited, "XDG_CACHE_HOME");
	const char *home = env_get(&planner->base->allowed, "HOME"), *name = strrchr(spec->id, '/');
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	if (!*wanted)
		return 0;
	if (strcmp(wanted, "private") != 0)
		return rye_fail(err, RYE_INVALID,
				"%s: config.home is \"%s\": private is wanted, or nothing",
				spec->id, wanted);
	if (cache && *cache == '/')
		buf_adds(&path, cache);
	else if (home && *home == '/')
		buf_addf(&path, "%s/.cache", home);
	else
		return rye_fail(err, RYE_NOT_FOUND,
				"%s: config.home: there is no HOME to make a private one in",
				spec->id);
	buf_addf(&path, HOMES "%s-%016" PRIx64, name ? name + 1 : spec->id,
		 hash_text(hash_text(HASH_BASIS, spec->id), planner->base->project));
	spec->home = buf_steal(&path);
	return spec->home ? 0 : memory_fail(err);
}

static int make_program(struct planner *planner, const struct mcp_source *source,
			struct mcp_spec *spec, struct rye_err *err)
{
	int r = make_argv(planner, source, spec, err);

	if (!r)
		r = make_server_home(planner, source, spec, err);
	if (!r)
		r = make_env(planner, source, spec, err);
	return r ? r : make_server_cwd(planner, source, spec, err);
}

/* Variables that the item asks for by name: they, and no other ones, are filled in. */
static void ask_variables(struct planner *planner, const struct mcp_source *source)
{
	static const char *const members[] = { "env", "args", "url", "headers" };
	auto_json json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		template_names(json_object_get(source->config, members[i]), names);
	envres_begin(planner);
	envres_give(planner, names, source->space);
}

static int make_spec(struct planner *planner, const struct mcp_source *source,
		     struct mcp_spec *spec, struct rye_err *err)
{
	int r = make_transport(planner, source, spec, err);

	spec->id = memory_note(strdup(source->id));
	spec->timeout_ms = server_timeout_ms(source);
	spec->confine = server_confine(planner, source);
	if (!r)
		r = make_era(source, spec, err);
	if (!r)
		r = make_elicits(source, spec, err);
	if (!r)
		ask_variables(planner, source);
	if (!r)
		r = spec->transport == MCP_HTTP ? make_address(planner, source, spec, err) :
						  make_program(planner, source, spec, err);
	if (!r)
		r = make_key(planner, source, spec, err);
	return r;
}

/* What the tool's own chain has asked for is not the server's. */
int mcp_source_spec(struct planner *planner, const struct mcp_source *source, struct mcp_spec *spec,
		    struct rye_err *err)
{
	struct template_seen seen = { 0, SIZE_MAX };
	struct env tool = planner->env;
	int r;

	planner->env = (struct env){ 0 };
	planner->seen = &seen;
	r = make_spec(planner, source, spec, err);
	r = r || !planner->env.failed ? r : memory_fail(err);
	planner->seen = NULL;
	env_done(&planner->env);
	planner->env = tool;
	return r;
}

/* ---- one call ---- */

/* "…/.ai/tools/mcp/servers/x.yaml" names the same item as its id does; free it. */
static char *id_of_path(const char *path)
{
	static const char below[] = "/.ai/tools/";
	const char *at = strstr(path, below), *dot;

	if (!at)
		return NULL;
	at += strlen(below);
	dot = strrchr(at, '.');
	return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml")) ?
		       strndup(at, (size_t)(dot - at)) :
		       NULL;
}

static int load_server(const struct planner *planner, struct mcp_source *ret, struct rye_err *err)
{
	const struct item_env *items = planner->base->items;
	const char *id = json_str(planner->config, "server");
	auto_free char *named = id_of_path(json_str(planner->config, "server_config_path"));
	const struct item_ask ask = { .kind = RYE_TOOL,
				      .id = *id ? id : named,
				      .from = chain_search_from(items, planner->chain->v[0].item) };

	int r;

	if (!ask.id)
		return rye_fail(
			err, RYE_INVALID,
			"config.server is missing: a server's item, mcp/servers/NAME, is wanted");
	r = mcp_source_load(planner, &ask, ret, err);
	if (!r)
		ground_mark_item(planner->base, planner->marks, &ask, ret->item);
	return r;
}

/* Where the server's item says nothing else, a pin is looked at in each call. */
static int take_pin(const struct planner *planner, const struct mcp_source *source,
		    struct mcp_target *ret, struct rye_err *err)
{
	/* YAML reads a bare `off` as false. */
	const char *mode = json_is_false(json_object_get(source->config, "pin")) ?
				   "off" :
				   json_str(source->config, "pin");
	const json_t *pin = json_object_get(planner->config, "pin");
	json_t *members = json_object_get(planner->config, "members");

	if (*mode && strcmp(mode, "call") && strcmp(mode, "refresh") && strcmp(mode, "off"))
		return rye_fail(err, RYE_INVALID,
				"%s: config.pin is \"%s\": call, refresh or off is wanted",
				source->id, mode);
	if (!pin || (*mode && strcmp(mode, "call") != 0))
		return 0;
	if (!json_is_string(pin))
		return rye_fail(err, RYE_INVALID, "config.pin is no text");
	ret->pin = memory_note(strdup(json_string_value(pin)));
	ret->members = json_incref(members);
	return ret->pin ? 0 : memory_fail(err);
}

void mcp_target_unref(struct mcp_target *target)
{
	if (!target || atomic_fetch_sub_explicit(&target->refs, 1, memory_order_acq_rel) != 1)
		return;
	mcp_spec_done(&target->spec);
	free(target->tool);
	free(target->pin);
	json_decref(target->members);
	json_decref(target->schema);
	json_decref(target->output_schema);
	free(target);
}

static int fill_target(struct planner *planner, struct mcp_target *target, struct rye_err *err)
{
	__attribute__((cleanup(mcp_source_done))) struct mcp_source source = { 0 };
	const struct rye_item *item = planner->chain->v[0].item;
	const char *tool = json_str(planner->config, "tool_name");
	const json_t *schema = meta_get(item, "output_schema");
	int r;

	if (!*tool)
		return rye_fail(err, RYE_INVALID,
				"config.tool_name is missing: the server's name of the tool");
	if (*json_str(planner->config, "disabled"))
		return rye_fail(err, RYE_UNSUPPORTED, "%s: %s", tool,
				json_str(planner->config, "disabled"));
	r = load_server(planner, &source, err);
	if (!r)
		r = take_pin(planner, &source, target, err);
	if (r)
		return r;
	target->tool = memory_note(strdup(tool));
	target->schema = json_incref((json_t *)meta_get(item, "input_schema"));
	target->output_schema = json_is_object(schema) ? json_incref((json_t *)schema) : NULL;
	if (!target->tool)
		return memory_fail(err);
	return mcp_source_spec(planner, &source, &target->spec, err);
}

static bool is_same_limit(const struct confine *a, const struct confine *b)
{
	return a->net == b->net && a->write == b->write && a->shown == b->shown;
}

/* That of the ground, unless the run that asks is held tighter than the one it was made for. */
static struct mcp_target *recall_target(const struct planner *planner)
{
	struct mcp_target *target = planner->ground->mcp;

	if (!target || !is_same_limit(&target->limit, &planner->limit))
		return NULL;
	atomic_fetch_add_explicit(&target->refs, 1, memory_order_relaxed);
	return target;
}

static int make_target(struct planner *planner, struct mcp_target **ret, struct rye_err *err)
{
	struct mcp_target *target = *ret = memory_note(calloc(1, sizeof(*target)));
	struct ground *ground = planner->ground;
	size_t warnings = json_array_size(planner->warnings);
	uint64_t veil = boxes_places(planner->base->boxes);
	int r;

	if (!target)
		return memory_fail(err);
	atomic_init(&target->refs, 1);
	target->limit = planner->limit;
	planner->marks = planner->fresh ? &ground->marks : NULL;
	r = fill_target(planner, target, err);
	if (json_array_size(planner->warnings) != warnings)
		marks_unfit(planner->marks);
	planner->marks = NULL;
	if (r || !planner->fresh || ground->marks.unfit)
		return r;
	ground->veil = veil;
	ground->mcp = target;
	atomic_fetch_add_explicit(&target->refs, 1, memory_order_relaxed);
	return 0;
}

int mcp_plan_make(struct planner *planner, struct mcp_plan *ret, struct rye_err *err)
{
	ret->arguments = json_incref(planner->params);
	ret->target = recall_target(planner);
	return ret->target ? 0 : make_target(planner, &ret->target, err);
}

void mcp_plan_done(struct mcp_plan *plan)
{
	mcp_target_unref(plan->target);
	json_decref(plan->arguments);
}
