/* SPDX-License-Identifier: MIT */
/*
 * environment.h: the environment of a child, a list of "NAME=VALUE" (tools 4, interface 6). What the
 * engine was started with is not inherited: a child gets the allow-list and what the signed
 * chain asks for by name.
 */
#ifndef RYE_PROCESS_ENVIRONMENT_H
#define RYE_PROCESS_ENVIRONMENT_H

#include "base/json.h"

/* Failure (no memory) is sticky: check `failed` once. v ends in NULL whenever it is not NULL. */
struct env {
	char **v;
	size_t n, size;
	bool failed;
};

#define auto_env __attribute__((cleanup(env_done)))

void env_done(struct env *env);
const char *env_get(const struct env *env, const char *name); /* NULL: not set. Borrowed */
void env_put(struct env *env, const char *name, const char *value);
void env_copy(struct env *env, const struct env *from); /* adds all of from */
void env_rows(struct env *env, char *const *rows); /* the same of "NAME=VALUE" rows */

/* Identifier characters, no leading digit. */
bool env_name_ok(const char *name);

/*
 * The allow-list applied to the engine's own environment: HOME PATH LANG LC_* TERM USER
 * LOGNAME SHELL TMPDIR TZ USER_SPACE RYE_* (no keys, no interpreters, no loader variables),
 * and extra, colon-separated names. PATH is cleaned by env_path.
 */
void env_base(struct env *env, char *const *own, const char *extra, const char *project);

/* PATH without entries that are empty, relative or inside the project. */
void env_path(const char *path, const char *project, struct rye_buf *out);

/* May a project's .env give this name a value, if the signed chain asks for it? */
bool env_dotenv_may(const char *name);
/* The file's text: lines NAME=VALUE, '#' comments; "export " lines are skipped (tools 4.3). */
void env_dotenv(struct env *env, struct rye_span text);

/*
 * Absolute path of a program: `name` with a slash is taken as it is (relative ones are
 * refused), a bare one is looked for in a cleaned PATH. Free it. NULL: not there.
 */
char *env_which(const char *name, const char *path);

#endif
