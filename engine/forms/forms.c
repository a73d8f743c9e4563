/* SPDX-License-Identifier: MIT */
/*
 * The table of our own forms. A file that several rows name has to be as each of them says.
 */
#include "forms/forms_inner.h"

#include "memory.h"
#include "remote/remote.h"
#include "scope.h"

#include <string.h>

static const char *const tools[] = { ".ai/tools/**/*.yaml", ".ai/tools/**/*.yml",
				     ".ai/tools/**/*.json", NULL };
static const char *const entries[] = { ".ai/knowledge/**/*.yaml", ".ai/knowledge/**/*.yml", NULL };
static const char *const settings[] = { ".ai/config/**/*.yaml", ".ai/config/**/*.yml", NULL };
static const char *const manifests[] = { ".ai/skills/*.yaml", NULL };
static const char *const agents[] = { ".ai/config/agent/agent.yaml", NULL };
static const char *const limits[] = { ".ai/config/execution/execution.yaml", NULL };
static const char *const hooks[] = { ".ai/config/agent/hooks.yaml", NULL };
static const char *const remotes[] = { ".ai/config/remotes/remotes.yaml", NULL };
static const char *const none[] = { NULL };

const struct editor_form forms[] = {
	{ "agent", "which model threads get", agents, form_agent },
	{ "config", "any configuration", settings, form_config },
	{ "execution", "limits of runs", limits, form_execution },
	{ "graph", "a tool that is a state graph (in tool)", none, form_graph },
	{ "hooks", "what is called when a thread does something", hooks, form_hooks },
	{ "knowledge", "entries that are YAML", entries, form_knowledge },
	{ "provider", "a tool that is a model provider (in tool)", none, form_provider },
	{ "remotes", "other machines", remotes, form_remotes, remote_refused },
	{ "skill", "manifests of Agent Skills", manifests, form_skill },
	{ "tool", "tools, graphs, servers and providers", tools, form_tool },
	{ NULL },
};

const struct editor_form *form_named(const char *name)
{
	for (const struct editor_form *form = forms; form->name; form++)
		if (!strcmp(form->name, name))
			return form;
	return NULL;
}

json_t *form_schema(const struct editor_form *form)
{
	json_t *definitions = json_object();
	auto_json json_t *made = form->make(definitions);
	json_t *document = json_pack("{s:s, s:s}", "$schema",
				     "http://json-schema.org/draft-07/schema#", "description",
				     form->about);

	if (made)
		json_object_update(document, made);
	if (json_object_size(definitions))
		json_object_set(document, "definitions", definitions);
	json_decref(definitions);
	return memory_note(made ? document : NULL);
}

/* ---- for signing ---- */

#define CONFIG_DIR ".ai/config/"

static const struct editor_form *form_of(const char *file)
{
	for (const struct editor_form *form = forms; form->name; form++)
		if (form->files[0] && !strncmp(form->files[0], CONFIG_DIR, strlen(CONFIG_DIR)) &&
		    !strcmp(form->files[0] + strlen(CONFIG_DIR), file))
			return form;
	return NULL;
}

static json_t *config_schema(const char *file)
{
	const struct editor_form *form = form_of(file);

	return form ? form_schema(form) : NULL;
}

static void config_refused(const struct item_env *env, const struct space *space, const char *file,
			   const json_t *doc, json_t *issues)
{
	const struct editor_form *form = form_of(file);

	if (form && form->refused)
		form->refused(env, space, doc, issues);
}

const struct config_forms config_forms = { config_schema, config_refused };
