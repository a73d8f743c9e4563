/* SPDX-License-Identifier: MIT */
/*
 * Which remotes there are: config/remotes/remotes.yaml of all spaces, laid over each other. A file
 * without a good signature is an error and never passed over: it would change where data goes. Reads
 * files alone; no lock.
 */
#include "remote/remote_inner.h"

#include "memory.h"
#include "near.h"
#include "schema/schema.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Addresses and names of projects: as long as any that is typed. */
#define TEXT_MAX 2000
/* Seconds: a request that takes longer has been forgotten. */
#define TIMEOUT_MAX_S 86400

/* Of an entry. */
static const struct schema_field remote_fields[] = {
	{ "url", FIELD_TEXT, true,
	  .about = "ssh://[USER@]HOST[:PORT][/DIR], or command:PROGRAM ARG…" },
	{ "project_path", FIELD_TEXT, .about = "What the project is called there." },
	{ "timeout", FIELD_INTEGER, .about = "Seconds for a request; 0: no limit of its own." },
	{ "push", FIELD_TEXTS, .about = "Paths that are sent; else what git would add." },
	{ "secrets", FIELD_TEXTS, .about = "Names of secrets that may go there." },
	{ "labels", FIELD_TEXTS, .about = "Words to find it by." },
	{ NULL },
};

bool remote_name_ok(const char *name)
{
	return id_is_name(span_of(name)) && strcmp(name, "remotes") != 0;
}

void remote_done(struct remote *remote)
{
	free(remote->url);
	free(remote->project);
	json_decref(remote->push);
	json_decref(remote->secrets);
	json_decref(remote->labels);
	*remote = (struct remote){ 0 };
}

const struct space *remote_user_space(const struct item_env *env)
{
	for (size_t i = 0; i < env->spaces->n; i++)
		if (env->spaces->v[i].type == RYE_USER)
			return &env->spaces->v[i];
	return NULL;
}

const json_t *remote_doc(const struct rye_item *item)
{
	const json_t *data = json_object_get(item->meta, "data");

	return json_is_object(data) ? data : item->meta;
}

static int check_map(const json_t *map, struct rye_err *err)
{
	if (map && !json_is_object(map) && !json_is_null(map))
		return rye_fail(err, RYE_INVALID,
				"config:" REMOTES_FILE
				": remotes is to be a mapping, NAME: {url: …}");
	if (json_object_size(map) > REMOTES_MAX)
		return rye_fail(err, RYE_TOO_BIG, "config:" REMOTES_FILE ": more than %d remotes",
				REMOTES_MAX);
	return 0;
}

int remote_map(const struct item_env *env, json_t **ret, struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	int r = config_map(env, REMOTES_FILE ".yaml", &doc, err);
	json_t *map = json_object_get(doc, "remotes");

	if (!r)
		r = check_map(map, err);
	if (r)
		return r;
	*ret = json_is_object(map) ? json_incref(map) : json_object();
	return *ret ? 0 : memory_fail(err);
}

int remote_names(const struct item_env *env, json_t **ret, struct rye_err *err)
{
	auto_json json_t *map = NULL;
	auto_json json_t *names = json_array();
	int r = remote_map(env, &map, err);
	const char *name;
	json_t *entry;

	if (r < 0)
		return r;
	json_object_foreach(map, name, entry) {
		size_t at = 0;

		while (at < json_array_size(names) &&
		       strcmp(json_string_value(json_array_get(names, at)), name) < 0)
			at++;
		json_array_insert_new(names, at, json_string(name));
	}
	*ret = steal(&names);
	return 0;
}

/* ---- one entry ---- */

static int remote_bad(const char *name, const char *what, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID, "config:" REMOTES_FILE ": %.64s: %s", name, what);
}

/* A list of texts; absent: fallback, whose reference is taken. */
static bool take_list(const json_t *entry, const char *key, json_t *fallback, json_t **ret)
{
	json_t *list = json_object_get(entry, key), *one;
	size_t i;

	if (!list) {
		*ret = fallback;
		return true;
	}
	json_decref(fallback);
	if (!field_fits(field_named(remote_fields, key), list) ||
	    json_array_size(list) > REMOTE_LIST_MAX)
		return false;
	json_array_foreach(list, i, one)
		if (json_string_length(one) > TEXT_MAX)
			return false;
	*ret = json_deep_copy(list);
	return *ret != NULL;
}

static int take_lists(const char *name, const json_t *entry, struct remote *ret,
		      struct rye_err *err)
{
	if (!take_list(entry, "push", NULL, &ret->push))
		return remote_bad(name, "push is to be a list of paths", err);
	if (!take_list(entry, "secrets", json_array(), &ret->secrets))
		return remote_bad(name, "secrets is to be a list of names", err);
	if (!take_list(entry, "labels", json_array(), &ret->labels))
		return remote_bad(name, "labels is to be a list of texts", err);
	return 0;
}

/* As other programs write it: http://HOST was what a remote's url could be. */
static int take_url(const char *name, const char *url, struct remote *ret, struct rye_err *err)
{
	int r;

	if (!*url || strlen(url) > TEXT_MAX)
		return remote_bad(name, "wanted is its url, as ssh://me@host", err);
	r = conn_check(url, err);
	if (r < 0)
		return rye_wrap(err, "config:" REMOTES_FILE ": %.64s", name);
	ret->url = memory_note(strdup(url));
	return ret->url ? 0 : memory_fail(err);
}

int remote_read(const char *name, const json_t *entry, struct remote *ret, struct rye_err *err)
{
	auto_remote struct remote remote = { 0 };
	json_int_t timeout = json_int(entry, "timeout", 0);
	const json_t *given = json_object_get(entry, "timeout");
	int r;

	if (!remote_name_ok(name))
		return remote_bad(name,
				  "a remote's name is 1 to 64 of A-Z a-z 0-9 . _ -, and is not "
				  "remotes",
				  err);
	if (!json_is_object(entry))
		return remote_bad(name, "wanted is a mapping, {url: \"ssh://me@host\"}", err);
	if ((given && !field_fits(field_named(remote_fields, "timeout"), given)) || timeout < 0 ||
	    timeout > TIMEOUT_MAX_S)
		return remote_bad(name, "timeout is to be a number of seconds", err);
	snprintf(remote.name, sizeof(remote.name), "%s", name);
	remote.timeout_s = (int)timeout;
	remote.project = memory_note(strdup(json_str(entry, "project_path")));
	r = remote.project ? take_url(name, json_str(entry, "url"), &remote, err) :
			     memory_fail(err);
	if (!r)
		r = take_lists(name, entry, &remote, err);
	if (r < 0)
		return r;
	*ret = remote;
	remote = (struct remote){ 0 };
	return 0;
}

/* ---- what is to be signed ---- */

/* A file may say of a remote what those of other spaces do not: these are laid below it. */
static void lay_below(const struct item_env *env, const struct space *space, const char *name,
		      json_t *entry)
{
	for (size_t i = 0; i < env->spaces->n; i++) {
		const struct path_ask ask = { &env->spaces->v[i], RYE_CONFIG,
					      "config/" REMOTES_FILE ".yaml" };
		auto_item struct rye_item *item = NULL;

		if (ask.space == space || rye_load_path(env, &ask, &item, NULL) < 0)
			continue;
		json_object_update_missing(
			entry, json_object_get(json_object_get(remote_doc(item), "remotes"), name));
	}
}

void remote_refused(const struct item_env *env, const struct space *space, const json_t *doc,
		    json_t *issues)
{
	json_t *map = json_object_get(doc, "remotes"), *value;
	struct rye_err err = { 0 };
	const char *name;

	if (check_map(map, &err))
		json_array_append_new(issues, json_string(err.msg));
	json_object_foreach(map, name, value) {
		auto_json json_t *entry = json_copy(value);
		auto_remote struct remote remote = { 0 };

		err = (struct rye_err){ 0 };
		if (json_is_object(entry) && !*json_str(entry, "url"))
			lay_below(env, space, name, entry);
		if (remote_read(name, entry, &remote, &err) < 0)
			json_array_append_new(issues, json_string(err.msg));
	}
}

/* ---- finding one ---- */

static int no_remote(const char *name, const json_t *map, struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	struct near_word near;
	const char *other;
	json_t *entry;

	near_start(&near, name);
	json_object_foreach((json_t *)map, other, entry) {
		buf_addf(&names, "%s%s", names.len ? ", " : "", other);
		near_offer(&near, other, other);
	}
	if (!names.len)
		return rye_fail(err, RYE_INVALID,
				"No remote '%.64s'; none is configured\n" MEND_WITH
				"ryefs remote add NAME ssh://USER@HOST",
				name);
	return rye_fail(err, RYE_INVALID, "No remote '%.64s'; there are: %.600s%s%s%s", name,
			names.data, near.best ? "; did you mean " : "", near.best ? near.best : "",
			near.best ? "?" : "");
}

/* The project's directory, where the entry does not say what it is called there. */
static int name_project(const struct item_env *env, struct remote *remote, struct rye_err *err)
{
	const char *root = env->spaces->v[0].root, *slash = strrchr(root, '/');
	const char *base = slash && slash[1] ? slash + 1 : "project";

	if (*remote->project)
		return 0;
	free(remote->project);
	remote->project = memory_note(strdup(base));
	return remote->project ? 0 : memory_fail(err);
}

int remote_find(const struct item_env *env, const char *name, struct remote *ret,
		struct rye_err *err)
{
	auto_json json_t *map = NULL;
	auto_remote struct remote remote = { 0 };
	const json_t *entry;
	int r = remote_map(env, &map, err);

	if (r < 0)
		return r;
	entry = json_object_get(map, name);
	if (!entry)
		return no_remote(name, map, err);
	r = remote_read(name, entry, &remote, err);
	if (!r)
		r = name_project(env, &remote, err);
	if (r < 0)
		return r;
	*ret = remote;
	remote = (struct remote){ 0 };
	return 0;
}

/* ---- as JSON Schema ---- */

/* "^(ssh://|command:)." */
static void scheme_pattern(struct rye_buf *ret)
{
	buf_adds(ret, "^(");
	for (size_t i = 0; conn_scheme(i); i++)
		buf_addf(ret, "%s%s", i ? "|" : "", conn_scheme(i));
	buf_adds(ret, ").");
}

json_t *remote_schema(void)
{
	json_t *entry = fields_schema(remote_fields, false), *member;
	json_t *members = json_object_get(entry, "properties");
	auto_buf struct rye_buf pattern = RYE_BUF_INIT;
	const char *name;

	scheme_pattern(&pattern);
	json_object_foreach(members, name, member)
		if (field_named(remote_fields, name)->type == FIELD_TEXTS)
			json_set(member, "maxItems", json_integer(REMOTE_LIST_MAX));
	json_sets(json_object_get(members, "url"), "pattern", pattern.failed ? NULL : pattern.data);
	json_object_update_new(json_object_get(members, "timeout"),
			       json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 0,
					 "maximum", TIMEOUT_MAX_S));
	return json_pack("{s:[s, s], s:i, s:{s:s, s:{s:s}}, s:o}", "type", "object", "null",
			 "maxProperties", REMOTES_MAX, "propertyNames", "pattern",
			 "^[A-Za-z0-9._-]{1,64}$", "not", "const", "remotes",
			 "additionalProperties", entry);
}
