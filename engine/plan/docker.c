/* SPDX-License-Identifier: MIT */
/*
 * config.image: the tool runs in a container of docker or podman. Its argv is made here:
 * run --rm -i --name=N [--entrypoint E] -e NAME … -- IMAGE [COMMAND ARGS …]; values of variables
 * go through the client's environment, never through its arguments. The parameters are its standard
 * input. A container outlives its client: the name is what a run that is ended early ends it by.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/*
 * Podman's client would make the container itself, which the sandbox of the run does not let it do:
 * where podman's service listens it is asked instead, as docker's is.
 */
static void add_service(json_t *args, const struct planner *planner)
{
	const char *own = env_get(&planner->base->inherited, "XDG_RUNTIME_DIR");
	const char *const dirs[] = { own ? own : "", "/run" };
	char url[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(url, sizeof(url), "unix://%s/podman/podman.sock", dirs[i]);
		if (!*dirs[i] || access(url + strlen("unix://"), W_OK))
			continue;
		docker_add(args, "--remote");
		docker_add(args, "--url");
		docker_add(args, url);
		return;
	}
}

static void add_run(json_t *args, const json_t *config, const char *name)
{
	const json_t *own = json_object_get(config, "args");

	docker_add(args, "run");
	docker_add(args, "--rm");
	docker_add(args, "-i");
	json_array_append_new(args, json_sprintf("--name=%s", name));
	if (*json_str(config, "entrypoint")) {
		docker_add(args, "--entrypoint");
		docker_add(args, json_str(config, "entrypoint"));
	}
	add_names(args, json_object_get(config, "env"));
	/* what a parameter makes of the image is no option of the client */
	docker_add(args, "--");
	docker_add(args, json_str(config, "image"));
	if (*json_str(config, "command"))
		docker_add(args, json_str(config, "command"));
	if (json_is_array(own))
		json_array_extend(args, (json_t *)own);
}

int docker_command(struct planner *planner, json_t **ret, struct rye_err *err)
{
	const json_t *config = planner->config;
	const char *path = env_get(&planner->base->allowed, "PATH");
	auto_free char *program = env_which("docker", path);
	bool podman = !program;
	json_t *args = json_array(), *end;
	unsigned long long random;
	char name[40];

	if (podman)
		program = env_which("podman", path);
	if (!program) {
		json_decref(args);
		return rye_fail(
			err, RYE_UNSUPPORTED,
			"%s runs in a container (config.image), but neither docker nor podman "
			"is installed",
			planner->chain->v[0].item->id);
	}
	randombytes_buf(&random, sizeof(random));
	snprintf(name, sizeof(name), "ryefs-%016llx", random);
	if (podman)
		add_service(args, planner);
	end = json_copy(args);
	json_array_insert_new(end, 0, json_string(program));
	docker_add(end, "kill");
	docker_add(end, name);
	add_run(args, config, name);
	if (!json_object_get(config, "input_data"))
		json_sets(planner->config, "input_data", "{params_json}");
	*ret = json_pack("{s:s, s:o, s:o}", "command", program, "args", args, "end", end);
	return *ret ? 0 : memory_fail(err);
}
