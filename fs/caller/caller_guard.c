/* SPDX-License-Identifier: MIT */
/*
 * caller_guard.c - may this caller use control files? Its user, what confines it, and, of a child
 * of a run, what its item's signed `requires` names.
 *
 * No lock: a caller belongs to the thread that makes it until it is published, and is frozen then.
 * The rules are those of docs/security.md.
 */
#include "caller/caller.h"

#include "caller/caller_inner.h"
#include "core/ctl.h"
#include "proc.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

void caller_refuse(struct caller *caller, const char *why)
{
	caller->allowed = false;
	snprintf(caller->why, sizeof(caller->why), "%s", why);
}

/* NULL, or the first confinement in which the two differ; own: a is a child of a run. */
static const char *differs(const struct proc_cage *a, const struct proc_cage *b, bool own)
{
	static const char *const spaces[] = {
		"it runs in another user namespace",
		"it runs in another mount namespace",
		"it runs in another pid namespace",
		"it runs in another network namespace",
	};

	/* a child of a run is veiled: compare its first two namespaces with its run's */
	for (size_t i = own ? 2 : 0; i < ARRAY_SIZE(spaces); i++)
		if (strcmp(a->ns[i], b->ns[i]) != 0)
			return spaces[i];
	if (a->root_dev != b->root_dev || a->root_ino != b->root_ino)
		return "it has another root directory";
	if (own)
		return NULL;
	/* the same directory of a mount of its own is another view of what lies below */
	if (a->root_mnt != b->root_mnt)
		return "it has another root directory";
	if (a->no_new_privs != b->no_new_privs)
		return "it has another no_new_privs bit";
	/* root that has given them up is confined by that alone; a caller that has more is not */
	if (b->powers & ~a->powers)
		return "it lacks capabilities that the daemon has";
	return a->filters == b->filters ? NULL : "it has other seccomp filters";
}

/*
 * A child of a run is confined by us: its own confinement must be its run's, no more. It is
 * compared with the process that was recorded for the run; its session it may have changed.
 */
static const char *differs_from_run(struct callers *callers, const struct caller *caller,
				    const struct caller_line *line, const struct proc_cage *cage)
{
	struct proc_cage leader;
	const char *why = differs(cage, &callers->cage, true);
	pid_t pid;

	if (why)
		return why;
	pid = rye_run_leader(callers->env.rye, caller->run, line->pids, line->n);
	if (pid <= 0 || proc_cage(pid, &leader) < 0)
		return "the run it belongs to is over";
	return differs(cage, &leader, false);
}

void caller_guard(struct callers *callers, struct caller *caller, const struct caller_line *line,
		  const struct proc_cage *cage)
{
	const char *why;

	caller->allowed = true;
	if (caller->uid != callers->env.owner)
		caller_refuse(caller, "only the owner of the mount may use its control files");
	if (!caller->allowed || callers->env.trust_any)
		return;
	why = caller->run ? differs_from_run(callers, caller, line, cage) :
			    differs(cage, &callers->cage, false);
	if (why) {
		caller_refuse(caller, why);
		caller->confined = true;
	}
}

/* What makes `ryefs execute` do what a write to the verb's file does. */
static const char *execute_option(enum rye_verb verb)
{
	switch (verb) {
	case RYE_DRY_RUN:
		return " --dry-run";
	case RYE_ASYNC:
		return " --async";
	case RYE_FORK:
		return " --fork";
	default:
		return "";
	}
}

void caller_refusal(const struct caller *caller, enum rye_verb verb, const char *ref,
		    char why[CALLER_WHY])
{
	if (!caller->confined)
		snprintf(why, CALLER_WHY, "%s", caller->why);
	/* In its sandbox a caller gains nothing by running an item; by any, it leaves it. */
	else
		snprintf(why, CALLER_WHY,
			 "the caller is confined: %s; mend with: ryefs execute %s%s, which works "
			 "inside its sandbox; else a mount made in there, or -o trust_callers=any",
			 caller->why, ref ? ref : "KIND:ID", ref ? execute_option(verb) : "");
}

bool caller_may(struct callers *callers, const struct caller *caller,
		const struct caller_target *target, char why[CALLER_WHY])
{
	const struct ctl *file = ctl_of_verb(target->verb);
	bool sign = file->ways & RYE_WAY_PERSON;
	char ref[RYE_ID_MAX + 32];

	if (!caller->allowed) {
		snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(target->kind), target->id);
		caller_refusal(caller, target->verb, *target->id ? ref : NULL, why);
		return false;
	}
	if (!caller->run)
		return true;
	if (target->persons) {
		snprintf(why, CALLER_WHY, "what a run has started may not use it");
		return false;
	}
	/* for those at the root the engine asks itself, when it knows the item */
	if (!sign && (!file->of || rye_run_may(callers->env.rye, caller->run, target->verb,
					       target->kind, target->id)))
		return true;
	snprintf(why, CALLER_WHY,
		 "the item that started this process does not name %.60s in its requires",
		 sign ? "sign, which none may," : target->id);
	return false;
}
