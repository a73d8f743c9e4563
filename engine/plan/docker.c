/* SPDX-License-Identifier: MIT */
/*
 * config.image: the tool runs in a container of docker or podman. Its argv is made here:
 * run --rm -i [--entrypoint E] -e NAME … IMAGE [COMMAND ARGS …]; values of variables go
 * through the client's environment, never through its arguments. The parameters are its
 * standard input.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"

#include <string.h>

static void docker_add(json_t *args, const char *text)
{
	json_array_append_new(args, json_string(text));
}

static void add_names(json_t *args, const json_t *env)
{
	json_t *object = (json_t *)env, *value;
	const char *name;
	size_t i;

	json_array_foreach(env, i, value) {
		if (json_is_string(value) && env_name_ok(json_string_value(value))) {
			docker_add(args, "-e");
			docker_add(args, json_string_value(value));
		}
	}
	if (!json_is_object(env))
		return;
	json_object_foreach(object, name, value) {
		if (env_name_ok(name)) {
			docker_add(args, "-e");
			docker_add(args, name);
		}
	}
}

int docker_command(struct planner *planner, json_t **ret, struct rye_err *err)
{
	const json_t *config = planner->config, *own = json_object_get(config, "args");
	const char *path = env_get(&planner->base->allowed, "PATH");
	auto_free char *program = env_which("docker", path);
	json_t *args;

	if (!program)
		program = env_which("podman", path);
	if (!program)
		return rye_fail(
			err, RYE_UNSUPPORTED,
			"%s runs in a container (config.image), but neither docker nor podman "
			"is installed",
			planner->chain->v[0].item->id);
	args = json_pack("[s, s, s]", "run", "--rm", "-i");
	if (*json_str(config, "entrypoint")) {
		docker_add(args, "--entrypoint");
		docker_add(args, json_str(config, "entrypoint"));
	}
	add_names(args, json_object_get(config, "env"));
	docker_add(args, json_str(config, "image"));
	if (*json_str(config, "command"))
		docker_add(args, json_str(config, "command"));
	if (json_is_array(own))
		json_array_extend(args, (json_t *)own);
	if (!json_object_get(config, "input_data"))
		json_sets(planner->config, "input_data", "{params_json}");
	*ret = json_pack("{s:s, s:o}", "command", program, "args", args);
	return *ret ? 0 : memory_fail(err);
}
