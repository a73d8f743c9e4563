/* SPDX-License-Identifier: MIT */
/*
 * Keys: what an item's ${NAME} becomes, for the names that it declares in env_config alone. Looked for
 * in the environment and the person's secrets; never in the project's .env, which could send a key
 * to an address of its own. A value is never part of a message.
 */
#include "provider/provider_inner.h"

#include "item/item.h"
#include "process/process.h"
#include "scope.h"
#include "secret/secret.h"
#include "space/space.h"
#include "str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A shorter value, or an address, is no key: hiding it would spoil messages. */
#define KEY_LEAST 8
/* Where the bundle's provider `local` asks. */
#define LOCAL_URL "RYE_LOCAL_URL"
/* A project's path that fits into a sentence, three times. */
#define ROOT_TOLD 120

void key_ring_done(struct key_ring *ring)
{
	json_decref(ring->secrets);
	json_decref(ring->used);
}

static bool is_declared(const struct key_ring *ring, const char *name)
{
	const json_t *asked = json_object_get(ring->item, "env_config");
	const json_t *names = json_object_get(asked, "env");

	return json_is_array(names) ? json_lists(names, name) :
				      json_object_get(names, name) != NULL;
}

/* A store that cannot be opened is told where a key is missing. */
static const char *key_value(struct key_ring *ring, const char *name, struct rye_err *err)
{
	const char *value = ring->env->own ? env_get(ring->env->own, name) : NULL;

	if (value && *value)
		return value;
	if (!ring->secrets && secret_load(ring->env->items->spaces, &ring->secrets, err))
		ring->secrets = json_object();
	return secret_value(ring->secrets, name);
}

/* A server on this machine is named, and no file says so: the command that makes one. */
static bool mend_local(const struct key_ring *ring, struct rye_buf *ret)
{
	const struct space *project = &ring->env->items->spaces->v[0];
	auto_buf struct rye_buf dir = RYE_BUF_INIT, root = RYE_BUF_INIT;

	if (!ring->env->own || !env_get(ring->env->own, LOCAL_URL) || space_fd(project) < 0 ||
	    strlen(project->root) > ROOT_TOLD ||
	    !strcmp(json_str(ring->item, "tool_id"), "local") ||
	    faccessat(space_fd(project), "config/agent/agent.yaml", F_OK, 0) == 0)
		return false;
	buf_shell(&root, project->root);
	buf_addf(&dir, "%s/.ai/config/agent", root.failed ? "" : root.data);
	buf_addf(ret,
		 "mkdir -p %s && echo '{version: \"1.0.0\", category: agent, provider: {default: "
		 "local}}' > %s/agent.yaml && ryefs sign --project %s config:agent/agent",
		 dir.data, dir.data, root.data);
	return !dir.failed && !root.failed && !ret->failed;
}

static int fail_missing(const struct key_ring *ring, const char *name, const struct rye_err *store,
			struct rye_err *err)
{
	const char *id = json_str(ring->item, "tool_id");
	auto_buf struct rye_buf local = RYE_BUF_INIT;

	if (store->code != RYE_OK)
		return rye_fail(err, RYE_INVALID, "provider %s: no key: %s is not set, and %s", id,
				name, store->msg);
	if (mend_local(ring, &local))
		return rye_fail(err, RYE_INVALID,
				"provider %s: no key: %s is not set; " LOCAL_URL
				" is, so the provider local can be named; " MEND_WITH "%s",
				id, name, local.data);
	return rye_fail(
		err, RYE_INVALID,
		"provider %s: no key: %s is neither in the environment that ryefs was "
		"started with nor among your secrets (another provider, as provider: {default: "
		"local}, is named in config/agent/agent.yaml); " MEND_WITH "ryefs secret set %s",
		id, name, name);
}

/* ${NAME} or ${NAME:-default}. */
static int fill_one(struct key_ring *ring, struct rye_span inner, struct rye_buf *out,
		    struct rye_err *err)
{
	ssize_t dash = span_find(inner, 0, ":-");
	auto_free char *name =
		span_dup(dash < 0 ? inner : (struct rye_span){ inner.ptr, (size_t)dash });
	struct rye_err store = { 0 };
	const char *value;

	if (!name)
		return rye_fail(err, RYE_IO, "out of memory");
	if (!env_name_ok(name) || !is_declared(ring, name))
		return rye_fail(err, RYE_INVALID,
				"provider %s: ${%.*s}: its env_config does not ask for that name",
				json_str(ring->item, "tool_id"), (int)MIN_OF(inner.len, 60u),
				inner.ptr);
	value = key_value(ring, name, &store);
	if (!value && dash < 0)
		return fail_missing(ring, name, &store, err);
	if (!value) {
		buf_addspan(out, span_skip(inner, (size_t)dash + 2));
		return 0;
	}
	if (value[strcspn(value, "\r\n")])
		return rye_fail(err, RYE_INVALID, "provider %s: %s has a line end in it",
				json_str(ring->item, "tool_id"), name);
	if (!ring->used)
		ring->used = json_array();
	if (strlen(value) >= KEY_LEAST && strncmp(value, "http", 4) != 0)
		json_array_append_new(ring->used, json_string(value));
	buf_adds(out, value);
	return 0;
}

int key_fill(struct key_ring *ring, const char *text, struct rye_buf *out, struct rye_err *err)
{
	struct rye_span rest = span_of(text);
	ssize_t begin, end;
	int r = 0;

	buf_adds(out, "");
	while (!r && (begin = span_find(rest, 0, "${")) >= 0) {
		end = span_find(rest, (size_t)begin, "}");
		if (end < 0)
			break;
		buf_add(out, rest.ptr, (size_t)begin);
		r = fill_one(ring,
			     (struct rye_span){ rest.ptr + begin + 2, (size_t)(end - begin - 2) },
			     out, err);
		rest = span_skip(rest, (size_t)end + 1);
	}
	buf_addspan(out, rest);
	return r;
}
