/* SPDX-License-Identifier: MIT */
/*
 * What may be signed, runs, and does not do what its author means: steps that no model is given, a
 * schema that nothing reads, names that name nothing. Each is one line with the place in the file
 * and the cure. Looks at the parsed item and at what lies in the spaces; verifies nothing.
 */
#include "sign/sign_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "graph/graph.h"
#include "near.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#define NAME_SHOWN 80
#define HEADER_LINES 2

/* ---- places ---- */

static size_t newlines(struct rye_span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '\n';
	return n;
}

size_t meant_line_at(const struct meant *m, size_t at)
{
	return m->above + m->added + newlines((struct rye_span){ m->item->body.ptr, at }) + 1;
}

/* What is refused stays as it is; what is signed gets its header lines. */
static void meant_places(struct meant *m, bool dry)
{
	struct rye_span raw = { m->item->raw->data, m->item->raw->len };
	size_t all = newlines(raw), inside = newlines(m->item->body);
	size_t bare = m->item->shebang.len ? 1 : 0;

	m->above = all > inside ? all - inside : 0;
	m->added = dry || m->above > bare ? 0 : HEADER_LINES;
}

/* Of the first place of a text in the body; of one that is not there: the body's first line. */
static size_t meant_line(const struct meant *m, const char *text)
{
	ssize_t at = span_find(m->item->body, 0, text);

	return meant_line_at(m, at < 0 ? 0 : (size_t)at);
}

size_t meant_line_of(const struct meant *m, const char *word, const char *behind)
{
	struct rye_span body = m->item->body;
	size_t n = strlen(word);

	for (ssize_t at = span_find(body, 0, word); at >= 0;
	     at = span_find(body, (size_t)at + 1, word)) {
		struct rye_span rest = span_skip(body, (size_t)at + n);
		ssize_t end = span_find(rest, 0, "\n");
		struct rye_span line = { rest.ptr, end < 0 ? rest.len : (size_t)end };

		if ((!at || !isalnum((unsigned char)body.ptr[at - 1])) &&
		    (!line.len || !isalnum((unsigned char)*line.ptr)) &&
		    span_find(line, 0, behind) >= 0)
			return meant_line_at(m, (size_t)at);
	}
	return meant_line(m, word);
}

/* ---- directives ---- */

/* A step inside the XML is data: what a model is given begins below the fence. */
static void meant_steps(const struct meant *m)
{
	static const char *const tags[] = { "<process", "<step" };
	struct rye_span xml = span_of(json_str(m->item->meta, "content"));
	bool body = *json_str(m->item->meta, "body");

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (span_find(xml, 0, tags[i]) < 0)
			continue;
		sign_tell(body ? m->warnings : m->faults,
			  "line %zu: %s> stands inside the XML, which no model is given: move it "
			  "below the fence",
			  meant_line(m, tags[i]) - (body ? 0 : m->added), tags[i]);
		return;
	}
}

/* "{input:KEY", "${inputs.KEY": what is not declared can never be given. */
static void meant_placeholders(const struct meant *m, const char *open)
{
	const json_t *inputs = json_object_get(m->item->meta, "inputs");
	struct rye_span body = m->item->body;
	size_t skip = strlen(open);

	for (ssize_t at = span_find(body, 0, open); at >= 0;
	     at = span_find(body, (size_t)at + skip, open)) {
		struct rye_span key = span_skip(body, (size_t)at + skip);
		char name[NAME_SHOWN + 1] = "";
		size_t n = 0;

		while (n < key.len && n < NAME_SHOWN &&
		       (isalnum((unsigned char)key.ptr[n]) || key.ptr[n] == '_')) {
			name[n] = key.ptr[n];
			n++;
		}
		if (n && n < NAME_SHOWN && !json_find(inputs, "name", name))
			sign_tell(m->warnings,
				  "line %zu: there is no input '%s': declare it, or it is never "
				  "given",
				  meant_line_at(m, (size_t)at), name);
	}
}

/* Several may have the same wrong type: looked for together with the name that stands before it. */
static size_t meant_type_line(const struct meant *m, const char *name, const char *type)
{
	char text[2 * NAME_SHOWN + 32];

	snprintf(text, sizeof(text), "name=\"%.*s\" type=\"%.*s\"", NAME_SHOWN, name, NAME_SHOWN,
		 type);
	return meant_line(m, span_find(m->item->body, 0, text) < 0 ? strstr(text, "type=") : text);
}

static void meant_types(const struct meant *m, const char *list)
{
	static const char *const types[] = { "string", "integer", "number", "boolean", "array",
					     "object", "null",	  "float",  "int",     "bool",
					     "list",   "dict",	  "str",    "any" };
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(m->item->meta, list), i, entry) {
		const char *type = json_str(entry, "type");
		const char *name = json_str(entry, "name");
		bool known = !*type;

		for (size_t k = 0; k < ARRAY_SIZE(types); k++)
			known |= !strcmp(types[k], type);
		if (!known)
			sign_tell(
				m->warnings,
				"line %zu: type '%.80s' of '%.80s' is not checked: wanted string, "
				"integer, number, boolean, array or object",
				meant_type_line(m, name, type), type, name);
	}
}

/* A word that is nearly one that counts; NULL: it is one, or like none. */
static const char *meant_near(const char *word, const char *const *known, size_t n)
{
	struct near_word near;

	near_start(&near, word);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(known[i], word))
			return NULL;
		near_offer(&near, known[i], known[i]);
	}
	return near.best;
}

/* Tags of the XML that count for nothing, but nearly would. */
static void meant_tags(const struct meant *m)
{
	static const char *const known[] = {
		"acknowledge", "action",  "after",    "author",	     "before",	  "category",
		"condition",   "context", "cost",     "description", "directive", "example",
		"execute",     "fetch",	  "hook",     "hooks",	     "input",	  "inputs",
		"knowledge",   "limits",  "load",     "metadata",    "model",	  "model_class",
		"output",      "outputs", "param",    "permissions", "process",	  "raw",
		"runtime",     "search",  "sign",     "step",	     "steps",	  "success",
		"suppress",    "system",  "template", "tool"
	};
	struct rye_span xml = span_of(json_str(m->item->meta, "content"));

	for (ssize_t at = span_find(xml, 0, "<"); at >= 0;
	     at = span_find(xml, (size_t)at + 1, "<")) {
		struct rye_span tag = span_skip(xml, (size_t)at + 1);
		char name[NAME_SHOWN + 2] = "<";
		const char *best;
		size_t n = 0;

		while (n < tag.len && n < NAME_SHOWN &&
		       (isalnum((unsigned char)tag.ptr[n]) || tag.ptr[n] == '_'))
			n++;
		snprintf(name + 1, sizeof(name) - 1, "%.*s", (int)n, tag.ptr);
		best = n ? meant_near(name + 1, known, ARRAY_SIZE(known)) : NULL;
		if (best)
			sign_tell(m->warnings,
				  "line %zu: %s> counts for nothing: did you mean <%s>?",
				  meant_line(m, name), name, best);
	}
}

static void meant_limits(const struct meant *m)
{
	static const char *const names[] = { "turns", "tokens",		"spawns",	   "depth",
					     "spend", "spend_currency", "duration_seconds" };
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(m->item->meta, "limits"), name, value) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			known |= !strcmp(names[i], name);
		if (!known)
			sign_tell(m->warnings,
				  "line %zu: '%.80s' limits nothing: wanted turns, tokens, spend, "
				  "spend_currency, spawns, depth or duration_seconds",
				  meant_line(m, "<limits"), name);
	}
}

/* Providers may have tiers of their own: only a word that is nearly a tier is told. */
static void meant_tier(const struct meant *m)
{
	static const char *const tiers[] = { "fast", "general", "high", "max" };
	const char *tier = json_str(json_object_get(m->item->meta, "model"), "tier");
	const char *best = *tier ? meant_near(tier, tiers, ARRAY_SIZE(tiers)) : NULL;

	if (best)
		sign_tell(m->warnings, "line %zu: there is no tier '%.80s': did you mean %s?",
			  meant_line(m, "<model"), tier, best);
}

/* ---- names of items ---- */

bool meant_item_here(const struct meant *m, enum rye_kind kind, const char *id)
{
	const struct item_ask ask = { .kind = kind, .id = id };
	struct located at;

	if (space_locate(m->env->spaces, &ask, &at, NULL) != 0)
		return false;
	close(at.fd);
	return true;
}

/* Is there an item or a directory of that path below the kind's, in any space? */
static bool meant_here(const struct meant *m, enum rye_kind kind, const char *id)
{
	char path[RYE_ID_MAX + 32];
	bool found = meant_item_here(m, kind, id);

	snprintf(path, sizeof(path), "%s/%s", rye_kind_dir(kind), id);
	for (size_t i = 0; i < m->env->spaces->n && !found; i++) {
		int root = space_fd(&m->env->spaces->v[i]);
		int fd = root < 0 ? -1 : io_open_mounted(root, path, O_PATH | O_DIRECTORY);

		found = fd >= 0;
		if (found)
			close(fd);
	}
	return found;
}

/* "rye.execute.tool.a.b.*": what stands before the star has to be there. */
static bool permission_names(const struct meant *m, const char *permission)
{
	const char *dot = strchr(permission, '.'), *id;
	char path[RYE_ID_MAX], *star;
	enum rye_kind kind;

	dot = dot ? strchr(dot + 1, '.') : NULL;
	if (!dot)
		return true;
	for (kind = 0; kind < RYE_KIND__MAX; kind++) {
		const char *name = rye_kind_name(kind);

		if (!strncmp(dot + 1, name, strlen(name)) && dot[1 + strlen(name)] == '.')
			break;
	}
	if (kind == RYE_KIND__MAX)
		return true;
	id = dot + 2 + strlen(rye_kind_name(kind));
	if (snprintf(path, sizeof(path), "%s", id) >= (int)sizeof(path))
		return true;
	star = strpbrk(path, "*?[");
	if (star)
		*star = 0;
	for (char *p = path; *p; p++)
		*p = *p == '.' ? '/' : *p;
	if (star && strrchr(path, '/'))
		*strrchr(path, '/') = 0;
	else if (star)
		return true;
	/* what models do for themselves has no file */
	return !strncmp(path, "rye/agent/threads", strlen("rye/agent/threads")) ||
	       meant_here(m, kind, path);
}

static void meant_permissions(const struct meant *m)
{
	const json_t *list = json_object_get(m->item->meta, "permissions"), *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		const char *text = json_str(entry, "content");

		if (!permission_names(m, text))
			sign_tell(m->warnings,
				  "line %zu: the permission '%.200s' names nothing that is here",
				  meant_line(m, "<permissions"), text);
	}
}

/* ---- tools ---- */

/* A schema that is computed is not read: parameters would go unchecked for ever. */
static void meant_schema(const struct meant *m)
{
	static const char *const starts[] = { "\nCONFIG_SCHEMA", "\nexport const CONFIG_SCHEMA" };
	bool code = !strcmp(m->item->ext, ".py") || str_ends(m->item->ext, "js") ||
		    !strcmp(m->item->ext, ".ts");
	ssize_t at = -1;

	for (size_t i = 0; code && at < 0 && i < ARRAY_SIZE(starts); i++)
		at = span_find(m->item->body, 0, starts[i]);
	if (at >= 0 && !json_is_object(parsed_get(m->item, "config_schema")))
		sign_tell(m->faults,
			  "line %zu: CONFIG_SCHEMA is no literal, and nothing is run to read it: "
			  "write {\"type\": \"object\", …}",
			  meant_line_at(m, (size_t)at + 1) - m->added);
}

static void meant_executor(const struct meant *m)
{
	static const char *const places[] = { "", "rye/core/runtimes/", "rye/core/primitives/" };
	const char *executor = json_string_value(parsed_get(m->item, "executor_id"));
	char id[RYE_ID_MAX];

	if (!executor || !*executor)
		return;
	/* whether the bundle is here is not this file's question */
	if (!strncmp(executor, "rye/core/", strlen("rye/core/")) &&
	    !meant_item_here(m, RYE_TOOL, "rye/core/primitives/execute"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (snprintf(id, sizeof(id), "%s%s", places[i], executor) >= (int)sizeof(id) ||
		    meant_item_here(m, RYE_TOOL, id))
			return;
	}
	sign_tell(m->warnings,
		  "line %zu: executor_id '%.200s' names no tool that is here: wanted one as "
		  "rye/core/runtimes/python/function",
		  meant_line(m, "executor_id"), executor);
}

static bool graph_may(const json_t *permissions, const char *capability)
{
	const json_t *pattern;
	size_t i;

	json_array_foreach(permissions, i, pattern) {
		const char *text = json_string_value(pattern);

		if (text && (!fnmatch(text, capability, 0) ||
			     (!strncmp(text, capability, strlen(capability)) &&
			      text[strlen(capability)] == '.')))
			return true;
	}
	return false;
}

/* "rye.execute.tool.a.b" of an action whose reference is no template. */
static bool action_capability(const json_t *action, char ret[RYE_ID_MAX + 64])
{
	const char *ref = json_str(action, "item_id"), *primary = json_str(action, "primary");
	const char *kind = strchr(ref, ':') ? "" : "tool.";

	if (!*ref || strstr(ref, "${") ||
	    snprintf(ret, RYE_ID_MAX + 64, "rye.%s.%s%s", *primary ? primary : "execute", kind,
		     ref) >= RYE_ID_MAX + 64)
		return false;
	for (char *p = ret; *p; p++)
		*p = *p == '/' || *p == ':' ? '.' : *p;
	return true;
}

/* Does the line begin with that key, "key" in JSON? ret_in: how far in. */
static bool line_has_key(struct rye_span line, struct rye_span key, ssize_t *ret_in)
{
	struct rye_span word = line;

	while (word.len && (*word.ptr == ' ' || *word.ptr == '\t'))
		word = span_skip(word, 1);
	*ret_in = word.len && *word.ptr != '#' ? word.ptr - line.ptr : -1;
	word = span_skip(word, word.len && strchr("\"'", *word.ptr));
	return word.len > key.len && !memcmp(word.ptr, key.ptr, key.len) &&
	       strchr(":\"'", word.ptr[key.len]);
}

/* The line of a node's name: of those below "nodes" one that stands as far in as the first; 0: none. */
static size_t node_line(const struct meant *m, struct rye_span name)
{
	struct rye_span rest = m->item->body, line;
	bool inside = false;
	ssize_t in, first = -1;

	while (span_line(&rest, &line)) {
		bool found = line_has_key(line, inside ? name : SPAN("nodes"), &in);

		if (!inside) {
			inside = found;
			continue;
		}
		first = first < 0 ? in : first;
		if (found && in == first)
			return meant_line_at(m, (size_t)(line.ptr - m->item->body.ptr));
	}
	return 0;
}

/* "node 'a': next: …" is told with the line of that node, "config.start: …" with that of its word. */
static size_t fault_line(const struct meant *m, const char *fault)
{
	const char *name = strncmp(fault, "node '", 6) ? NULL : fault + 6;
	const char *end = name ? strchr(name, '\'') : NULL;
	char text[NAME_SHOWN + 4] = "config";
	size_t line = end ? node_line(m, (struct rye_span){ name, (size_t)(end - name) }) : 0;

	if (line)
		return line;
	if (!strncmp(fault, "config.", 7))
		snprintf(text, sizeof(text),
			 "%.*s:", (int)MIN_OF(strcspn(fault + 7, ":"), NAME_SHOWN), fault + 7);
	return meant_line(m, text);
}

/* A graph whose first node is none never runs. */
static void tell_graph(const struct meant *m, const json_t *from)
{
	const json_t *fault;
	size_t i;

	json_array_foreach(from, i, fault) {
		const char *text = json_string_value(fault);
		bool starts = strncmp(text, "config.start:", strlen("config.start:")) != 0;

		/* hooks are signhook.c's */
		if (strncmp(text, "hook ", 5) != 0)
			sign_tell(starts ? m->warnings : m->faults, "line %zu: %s",
				  fault_line(m, text) - (starts ? 0 : m->added), text);
	}
}

/* What the graph itself has to say, which would not be walked. */
static void meant_walk(const struct meant *m)
{
	const struct graph_source source = { .id = m->item->id,
					     .config = parsed_get(m->item, "config"),
					     .permissions = parsed_get(m->item, "permissions"),
					     .env_requires = parsed_get(m->item, "env_requires") };
	auto_json json_t *faults = json_array(), *warnings = json_array();

	graph_free(graph_read(&source, faults, warnings));
	tell_graph(m, faults);
	tell_graph(m, warnings);
}

/* A node whose call no permission covers fails whenever it is reached. */
static void meant_graph(const struct meant *m)
{
	const json_t *permissions = parsed_get(m->item, "permissions");
	const json_t *nodes = json_object_get(parsed_get(m->item, "config"), "nodes");
	const char *name, *type = json_string_value(parsed_get(m->item, "tool_type"));
	json_t *node;

	if (!type || strcmp(type, "graph"))
		return;
	meant_walk(m);
	json_object_foreach((json_t *)nodes, name, node) {
		char capability[RYE_ID_MAX + 64];
		size_t line;

		if (!action_capability(json_object_get(node, "action"), capability) ||
		    graph_may(permissions, capability))
			continue;
		line = node_line(m, span_of(name));
		sign_tell(m->warnings,
			  "line %zu: node '%.80s': no permission covers its call: add %.300s",
			  line ? line : meant_line(m, "config"), name, capability);
	}
}

/* ---- all ---- */

static void meant_text(const struct meant *m)
{
	struct rye_span raw = { m->item->raw->data, m->item->raw->len };

	if (span_starts(raw, "\xef\xbb\xbf"))
		sign_tell(m->warnings, "line 1: the file begins with a byte order mark: save it as "
				       "plain UTF-8");
	if (rye_kind_has(m->item->kind, RYE_KIND_ELEMENT) &&
	    span_starts(span_trim(m->item->body), "---"))
		sign_tell(m->warnings,
			  "line %zu: what stands between --- lines is not read: it "
			  "belongs into the XML",
			  meant_line(m, "---"));
}

void sign_check_meaning(const struct item_env *env, const struct parsed_item *item, bool dry,
			struct sign_report *report)
{
	struct meant m = { env, item, report->warnings,
			   report->signed_before ? report->warnings : report->issues };

	meant_places(&m, dry);
	meant_text(&m);
	if (rye_kind_has(item->kind, RYE_KIND_ELEMENT)) {
		meant_steps(&m);
		meant_placeholders(&m, "{input:");
		meant_placeholders(&m, "${inputs.");
		meant_types(&m, "inputs");
		meant_types(&m, "outputs");
		meant_tags(&m);
		meant_limits(&m);
		meant_tier(&m);
		meant_permissions(&m);
	} else if (rye_kind_has(item->kind, RYE_KIND_PROCESS)) {
		meant_schema(&m);
		sign_check_spelling(&m);
		sign_check_near(&m);
		meant_executor(&m);
		meant_graph(&m);
	}
	if (item->kind == RYE_CONFIG)
		sign_check_form(&m);
	sign_check_hooks(&m);
}
