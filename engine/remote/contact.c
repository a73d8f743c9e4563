/* SPDX-License-Identifier: MIT */
/*
 * What was seen of a remote last, in the project's state: a view or a listing tells it without asking
 * the remote. Nothing depends on it: what cannot be written is left. No lock; replaced in one step.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "clock.h"
#include "str.h"

#include <errno.h>
#include <string.h>

/* What a node tells of itself is short. */
#define CONTACT_MAX (256u << 10)

int remote_state_dir(const struct item_env *env, const char *name, bool create)
{
	const struct space *project = &env->spaces->v[0];
	char path[ID_NAME_MAX + 32];

	if (space_fd(project) < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), ".ai/state/remotes/%.64s", name);
	return io_open_dir(project->root, path, create);
}

json_t *contact_read(const struct item_env *env, const char *name)
{
	auto_close int dir = remote_state_dir(env, name, false);
	auto_blob struct rye_blob *text = NULL;

	if (dir < 0 || io_read_at(dir, "contact.json", CONTACT_MAX, &text) < 0)
		return NULL;
	return json_parse((struct rye_span){ text->data, text->len }, 0, "contact.json", NULL);
}

void contact_note(const struct item_env *env, const char *name, const struct rye_err *why,
		  const json_t *info)
{
	auto_close int dir = remote_state_dir(env, name, true);
	auto_json json_t *doc = contact_read(env, name);
	auto_blob struct rye_blob *text = NULL;
	char now[40];

	if (dir < 0)
		return;
	if (!doc)
		doc = json_object();
	clock_iso_us(now);
	json_sets(doc, why ? "failed" : "reached", now);
	if (why)
		json_set(doc, "error", frame_fault(why));
	else
		json_object_del(doc, "error");
	if (info)
		json_object_set(doc, "info", (json_t *)info);
	text = json_blob(doc, true);
	if (text)
		io_remember_at(dir, "contact.json", (struct rye_span){ text->data, text->len },
			       0600);
}
