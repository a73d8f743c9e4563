/* SPDX-License-Identifier: MIT */
/*
 * plan_inner.h: the steps of planning, each in its file; what only the files of plan/ use.
 */
#ifndef RYE_PLAN_PLAN_INNER_H
#define RYE_PLAN_PLAN_INNER_H

#include "plan/plan.h"

/* ground.c: what the planner has made, for the plans of later calls, as far as that may be. */
void ground_fill(struct ground *ground, const struct planner *planner);
/* And given to another planner. */
void ground_lend(const struct ground *ground, struct planner *planner);
/* Notes where a configuration was looked for: n files were read of it. */
void ground_mark_config(const struct planner *planner, const char *path, size_t n, bool first);

void planner_warn(struct planner *planner, const char *format, ...) RYE_PRINTF(2, 3);

int anchor_make(struct planner *planner, struct rye_err *err); /* context, anchor */
int anchor_verify(struct planner *planner, struct rye_err *err); /* verify_deps */
void anchor_env(struct planner *planner);
int modules_lend(struct planner *planner, struct rye_err *err); /* lent.c: into the environment */
char *anchor_cwd(struct planner *planner); /* NULL: it does not say */
int envres_make(struct planner *planner, struct rye_err *err);
int config_make(struct planner *planner, struct rye_err *err); /* config, limits */
/* Fixed parameters win and come last; with a key the caller's go below it. */
void params_fix(struct planner *planner);
int lockfile_check(struct planner *planner, struct rye_err *err); /* after config_make */
int64_t config_timeout_ms(struct planner *planner);
size_t config_output_cap(const struct planner *planner);

/* Absolute path of an element's interpreter; free it. NULL with *err filled. */
char *interp_resolve(struct planner *planner, const json_t *how, struct rye_err *err);
/* A program named by a chain: bare names by the system's PATH, never one of the project. */
char *interp_which(struct planner *planner, const char *name, struct rye_err *err);
/* A bare name, in an administrator's directories first, then on the PATH; NULL: nowhere. */
char *interp_on_system(const struct plan_base *base, const char *name);
/* The same; and the ground notes where it was looked for. */
char *interp_find(const struct planner *planner, const char *name);
/* Is it a directory in which that looks? */
bool interp_looks_in(const struct plan_base *base, struct rye_span dir);
/* Does this python know -P (3.11)? Asked once per program. */
bool interp_knows_safe_path(const struct plan_base *base, const char *path);

/*
 * shebang.c: the program that the first line of a tool names (`#!/usr/bin/env NAME` and the like).
 * Only what the system has; free it. NULL with *err filled. The words behind it are the span.
 */
char *shebang_program(struct planner *planner, struct rye_err *err);
struct rye_span shebang_options(const struct rye_item *tool);

/* True: value (or an element of it) was templated into text. */
void plan_text(const struct planner *planner, const json_t *value, struct rye_buf *out);

/* where.c: where a request may go that carries a value of the person's secrets. */
enum where_part {
	WHERE_WHOLE, /* no parameter may have a part in it */
	WHERE_ADDRESS, /* none in the server's name and port */
	WHERE_REST, /* of an address: behind the server's name */
};
struct where {
	const char *what; /* for messages */
	const json_t *text; /* as the signed item has it */
	enum where_part part;
};
/* Does a caller say which server that is? */
bool where_is_strange(const struct template *in, const json_t *text);
/* RYE_DENIED; in->seen: what all texts of the request are made of. */
int where_check(const struct template *in, const struct where *where, struct rye_err *err);

/* http_plan.c: how values are filled in, and a caller's in an address. */
struct template http_template(const struct planner *planner);
void http_spell(struct rye_buf *out, const json_t *value);

/* sink_plan.c: config.sinks. */
int sink_plans_make(const struct planner *planner, struct http_plan *plan, struct rye_err *err);
/* Behind the making of everything: where_check of each. */
int sink_plans_check(const struct planner *planner, struct rye_err *err);

/* The caller's, if the text is exactly "{name}", whatever the configuration has of that name; borrowed. */
json_t *template_param(const json_t *params, const json_t *text);

/* True: the text is exactly "{name}". */
bool template_whole(struct rye_span text, const char *name);

/*
 * {command, args} of a container client, for config.image, and `end`: the words of a command that ends
 * the container. (docker.c)
 */
int docker_command(struct planner *planner, json_t **ret, struct rye_err *err);

#endif
