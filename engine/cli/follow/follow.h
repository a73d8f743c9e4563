/* SPDX-License-Identifier: MIT */
/*
 * follow.h: what comes of runs and threads, as people and programs are told it: `ryefs execute`, the
 * words of `ryefs threads`, and the waiting for the engine. One thread, except where it is said.
 */
#ifndef RYE_CLI_FOLLOW_FOLLOW_H
#define RYE_CLI_FOLLOW_FOLLOW_H

#include "cli/cli.h"

#include <pthread.h>

/* ---- waiting.c ---- */

/*
 * A bundled tool whose answer is JSON passes on what its command prints through standard error,
 * behind a line that says so, when this variable is set: it is how its output will begin.
 */
#define CLI_LIVE_NAME "RYE_LIVE"
#define CLI_LIVE_LINE "\036ryefs live\n"

struct cli_stream { /* plain output, printed while the run went on */
	struct said said; /* of a tool */
	struct rye_buf held; /* blanks at the beginning; of `live` all that was printed */
	enum { CLI_LIVE_UNKNOWN, CLI_LIVE_NO, CLI_LIVE_YES } live; /* what standard error is */
	bool begun, plain; /* another character came; all is printed at once */
	bool mute; /* nothing is printed: a program wants the result alone */
	size_t printed; /* bytes of the outcome's output */
	struct forked *forked; /* a model's thread that is waited for; or NULL */
};
struct cli_call {
	enum rye_verb verb; /* of the workspace's root */
	const json_t *message; /* NULL: it could not be made */
	struct cli_stream *stream; /* prints as it comes; or NULL */
	const char *doing; /* on a terminal, when it lasts: "running tool:x" */
};
struct called {
	struct rye_outcome outcome;
	json_t *reply; /* the outcome's */
	int signal; /* that cancelled it (SIGPIPE: standard output has no reader), or 0 */
};
/* As rye_call_sync, but INT, TERM and HUP cancel the run; exit status, the reason told. */
int call_wait(struct cli *cli, const struct cli_call *what, struct called *ret);
/* What is shown while something is waited for; on the main thread, ten times a second. */
struct follow {
	bool (*step)(void *arg); /* false: nothing more is waited for */
	void *arg;
};
/* Until the thread has ended, or a signal came, which is in *ret_signal; else 0. follow: or NULL. */
int call_thread_wait(struct cli *cli, const char *id, const struct follow *follow, int *ret_signal);
/* Tells why it failed: its sentence, or the code's name; exit status. */
int call_fail(struct cli *cli, const struct called *called, const char *ref);
void call_done(struct called *called);
#define auto_called __attribute__((cleanup(call_done)))

/*
 * forked.c: how far a model's thread is that `ryefs execute --fork` waits for, on standard error.
 */
struct forked {
	struct cli *cli;
	bool terminal, asks; /* standard error is one; standard input as well */
	bool asked, cancelled; /* by ^C: whether it is to be cancelled; it is */
	/* of the main thread: what the transcript says up to `off` */
	uint64_t off;
	json_int_t turn, answers, input, output;
	double spend;
	char tool[65]; /* the last that was called in this turn; "": none */
	pthread_mutex_t lock; /* of what follows */
	char id[RYE_REF_MAX]; /* "": it has not begun */
	struct said said; /* on standard output */
	char last; /* the character printed last; 0: none */
	bool below; /* the line stands below the words */
	int64_t text_ms; /* when it came */
};
void forked_open(struct forked *forked, struct cli *cli);
void forked_close(struct forked *forked);
/* On the teller: its id; a piece of what the model says. */
void forked_begun(struct forked *forked, struct rye_span id);
void forked_print(struct forked *forked, struct rye_span text);
bool forked_step(void *forked); /* of a struct follow */
void forked_end(struct forked *forked);
/* A signal has come: the first one asks, the second one cancels; false: it is left to itself. */
bool forked_signal(struct forked *forked);
/* Standard input can be read; true: Enter, it is left to itself. */
bool forked_left(struct forked *forked);

/* executed.c: one call of `ryefs execute`. */

/* The item's schema, a new reference; NULL: values are guessed and the engine judges them. */
json_t *execute_schema(struct cli *cli, const char *ref);

struct executed {
	char ref[1100]; /* REF_MAX */
	json_t *given; /* parameters */
	struct called called;
	size_t printed; /* bytes of its output that were printed while it ran */
};
int executed_tell(struct cli *cli, const struct executed *executed); /* exit status */

/* threads_shown.c: a thread's file without its last newline, to free; NULL: not there. */
char *threads_fact(struct cli *cli, const char *id, const char *name);
/* Words of `ryefs threads`, each with its exit status. id NULL: of all threads. */
int threads_chosen(struct cli *cli, const char *id); /* threads_chosen.c; so is what follows */
int threads_prune(struct cli *cli, const char *id);
/* The id that a word means: itself, the one that begins so, or @last; exit status. */
int threads_named(struct cli *cli, const char *word, char ret[RYE_THREAD_ID_ROOM]);
int threads_tree(struct cli *cli, const char *id);
int threads_cost(struct cli *cli, const char *id);
/* Waits until a thread that has just been started can be told something, but not long. */
void threads_begun(struct cli *cli, const char *id);
int threads_tail(struct cli *cli, const char *id); /* what it says, as it comes, until its end */
/* parent_named.c: before a thread is started; CLI_OK, or the exit status and the reason was told. */
int parent_check(struct cli *cli);
/* executed.c: goes on with one that has ended; prints the new one's id. */
int threads_resume(struct cli *cli, const char *id, const char *message);

/* parameters.c: wrong parameters, and the call that would do. */
struct corrected; /* format/format.h */
/* The call as it was typed with the faults put right, as KEY=VALUE words. */
char *parameters_example(const struct cli *cli, const struct corrected *fault);
/* One line each: name, type, "wanted" or the default, description. */
void parameters_table(const json_t *schema, FILE *to);
/* What an object that is not quite JSON was meant to be: a new reference, or NULL. */
json_t *parameters_repaired(const char *typed);

#endif
