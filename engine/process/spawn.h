/* SPDX-License-Identifier: MIT */
/*
 * spawn.h: one process, started the safe way: its own session and process group, no inherited
 * descriptor but the ones named here, default signals, limits, confinement, an absolute path.
 */
#ifndef RYE_PROCESS_SPAWN_H
#define RYE_PROCESS_SPAWN_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

struct spawn_ask {
	const char *path; /* absolute */
	char *const *argv;
	char *const *envp;
	const char *cwd;
	int in, out, err; /* become 0, 1, 2; any number */
	int extra, extra_at; /* one more descriptor and its number; -1: none */
	const struct box *box; /* NULL: not confined */
	_Atomic pid_t *session; /* the child writes its session here before exec; or NULL */
};

struct child {
	pid_t pid;
	int pidfd; /* readable when it has ended; owned by the caller */
};

/*
 * RYE_TOOL_FAILED "Failed to spawn: <path>: <why>" when the program cannot be started;
 * nothing is left of it then.
 */
int spawn(const struct spawn_ask *ask, struct child *ret, struct rye_err *err);

/*
 * A process that has done all this but the working directory and the program, and waits for
 * them: what is left costs what exec costs. It ends itself when we are gone.
 */
struct spawn_parked;

/* As spawn, of what ask has but path, argv, envp, cwd, extra and session. `in` is needed. */
int spawn_park(const struct spawn_ask *ask, struct spawn_parked **ret, struct rye_err *err);
pid_t spawn_parked_pid(const struct spawn_parked *parked);
/*
 * Gives it path, argv, envp and cwd, which live on until its end; in < 0: /dev/null takes the
 * place of its input. *ret as spawn's. False: it has died meanwhile.
 */
bool spawn_go(struct spawn_parked *parked, const struct spawn_ask *ask, struct child *ret);
/* For one that has ended: could the program not be started? As spawn's error then. */
int spawn_went(const struct spawn_parked *parked, struct rye_err *err);
/* Frees it; one that still waits is ended before. NULL is fine. */
void spawn_unpark(struct spawn_parked *parked);

/* Waits for the end of a child of ours and reaps it. Closes pidfd. */
struct ended {
	int code; /* -1 after a signal */
	int signal; /* 0: exited by itself */
};
void spawn_reap(struct child *child, struct ended *ret);

#endif
