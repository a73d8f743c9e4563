/* SPDX-License-Identifier: MIT */
/*
 * cli.h: the rows of verbs and what they share. One thread, except where a verb waits for the
 * engine (waiting.c).
 */
#ifndef RYE_CLI_CLI_H
#define RYE_CLI_CLI_H

#include "base/json.h"
#include "cli/speak.h"

#include <rye/ryefs.h>

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The run functions of the table in verb_table.c, one file each. */
struct cli;
typedef int cli_fn(struct cli *cli);
extern cli_fn verb_complete, verb_completion, verb_diff, verb_doctor, verb_edit, verb_execute;
extern cli_fn verb_fetch, verb_init, verb_keygen, verb_keys, verb_link, verb_list, verb_log,
	verb_mcp;
extern cli_fn verb_merge, verb_minder, verb_mv, verb_new, verb_node, verb_node_work;
extern cli_fn verb_remote, verb_rm, verb_schema, verb_search, verb_secret, verb_sign, verb_skill;
extern cli_fn verb_reload, verb_thread_run, verb_threads, verb_trust, verb_umount, verb_untrust;
extern cli_fn verb_verify, verb_watch;

/* cli.c: one invocation: its options, how it speaks and how it ends. */

/* Exit statuses; docs/files.md and ryefs(1) list them. */
enum cli_exit {
	CLI_OK,
	CLI_FAILED, /* the thing failed: a tool, some of several items, a check */
	CLI_USAGE, /* the call was wrong: verb, option, JSON, parameter */
	CLI_NOT_FOUND,
	CLI_REFUSED, /* unsigned, changed, moved or not trusted */
	CLI_DENIED,
};

enum cli_trait {
	CLI_HIDDEN = 1, /* in no help */
	CLI_REFS = 2, /* operands name items: a path decides which project's */
	CLI_WRITES = 4, /* files of the workspace: sweeps what a killed one has left */
	CLI_WARNS = 8, /* tells the engine's warnings; else only errors, or all with RYE_DEBUG */
	CLI_WAITS = 16, /* for the engine, by call_wait, which takes INT, TERM and HUP */
	CLI_OPENS = 32, /* it runs behind cli_open: a project's … */
	CLI_OPENS_ANY = 64, /* … or where there is none */
};

struct cli_opts {
	const char *project, *user, *system, *env;
	bool compat, venv, json, quiet, help;
	bool all, async, dry_run, force, forget, fork, output, sample, take, text, trace, yes, ask;
	bool again, aliases, allow_sign, check, deps, each, frozen, hooks, http, no_prompts,
		no_resources, read_only;
	bool run, running, sarif, stdio, vscode, work;
	const char *as, *client, *color, *dir, *editor, *expect, *from, *lang, *limit, *of, *older,
		*owner, *port;
	const char *scope, *signer, *since, *socket, *space, *target, *to, *token;
};

struct cli_verb {
	const char *name;
	const char *usage; /* what follows the name */
	const char *help; /* one line */
	const char *more; /* paragraphs of --help, or NULL */
	const char *examples; /* lines that can be typed in a workspace with the sample items */
	const char *seek; /* what helps when something is not found, or NULL */
	unsigned traits;
	int min, max; /* operands; max -1: any number */
	cli_fn *run; /* exit status */
};

struct cli {
	const struct cli_verb *verb;
	struct cli_opts opt;
	int argc;
	char **argv; /* operands only */
	int n_typed;
	char **typed; /* all words behind the verb as they were typed; freed by rye_cli_main */
	bool elsewhere; /* the project is not the one around the current directory */
	int operand; /* the one that is being looked at */
	char *project; /* absolute; set by cli_open */
	struct rye *rye; /* set by cli_open, closed by rye_cli_main */
	bool stays; /* the engine is to watch for changes; set before cli_open */
	rye_cli_name_fn is_control;
	bool in_bar; /* a progress bar stands on the terminal's last line */
};

/* What stands behind a verb that has several: `ryefs secret rm NAME`. */
struct cli_word {
	const char *name;
	cli_fn *run;
	int min, max; /* operands behind it; max -1: any number */
	const char *usage;
};
/* The word that was typed, or the first one of them where none was; exit status. */
int cli_words(struct cli *cli, const struct cli_word *words, size_t n);

/* In the table of all verbs, the hidden ones too, which ends with one without a name (verb_table.c). */
const struct cli_verb *cli_find(const struct cli_verb *verbs, const char *word);
/* unknown.c: the verb that a misspelt word is nearest to, or NULL. */
const char *unknown_near(const struct cli_verb *verbs, const char *word);
/* "ryefs --json verify": where the verb stands behind such options and their values; 0: nowhere. */
int unknown_early(const struct cli_verb *verbs, int argc, char **argv);
/* argv[1] is no verb; exit status. */
int cli_unknown(const struct cli_verb *verbs, int argc, char **argv);
/* Reads the words behind the verb and does it; exit status. */
int cli_run(struct cli cli, int argc, char **argv);
char *editing_mend(struct cli *cli,
		   const char *ref); /* after cli_open: the command that edits it */

/* ---- compiles.c ---- */

/* A Python file that does not compile, with the line that is wrong. */
typedef void (*compiles_fn)(void *arg, const char *path, long line, const char *what);
/* paths: absolute ones; what compiles is not told. Nothing of the files is run. */
void compiles_check(const json_t *paths, compiles_fn fn, void *arg);

/* ---- cli_options.c ---- */

/* Sorts argv[2…] into options and operands (in place); exit status, CLI_OK to go on. */
int options_read(struct cli *cli, int argc, char **argv);
void options_help(const struct cli_verb *verb, FILE *to);

/* Where the user's own .ai is to lie: --user, or as base/self.h says; to free, NULL: not known. */
char *cli_user_base(const struct cli *cli);

enum cli_need {
	CLI_ANY_PLACE, /* without a project the current directory stands for one */
	CLI_PROJECT, /* a .ai here or above is wanted */
};
/* An engine with this call's options over another project; NULL: it cannot be opened. */
struct rye *cli_engine_for(struct cli *cli, const char *project);
/* Opens the engine; CLI_OK or an exit status, the reason told. */
int cli_open(struct cli *cli, enum cli_need need);

void mount_help(FILE *to); /* mount_help.c */
void cli_signals(sigset_t *ret); /* those that end what is waited for */
void cli_block_signals(void); /* what CLI_WAITS does, before cli_open */

/* ---- fail.c ---- */

enum cli_exit exit_of(enum rye_code code);
/* "ryefs VERB: message", then how to mend it (REF in the remedy becomes ref); exit status. */
int cli_fail(struct cli *cli, const struct rye_err *err, const char *ref);
/* The same for a sentence of the verb's own; mend may be NULL. */
int cli_complain(struct cli *cli, enum cli_exit status, const char *mend, const char *format, ...)
	RYE_PRINTF(4, 5);
int cli_misuse(struct cli *cli, const char *format, ...) RYE_PRINTF(2, 3);
/* What --port says, or the usual one; exit status. (cli_options.c) */
int cli_port(struct cli *cli, int usual, int *ret);
/* "what", as the engine told it, and what it said to mend it with; to free, NULL: nothing. */
char *told_split(const char *message, char **ret_what);

/*
 * Remedies, to free. NULL: short of memory, or there is none; cli_complain takes that, too.
 * In mend_with each %s (and no other) is a word, quoted as the shell wants it.
 */
char *mend_with(const char *format, ...) RYE_PRINTF(1, 2);
/* The words as they were typed behind `ryefs verb`, `instead` for one that is known by its address. */
char *cli_retyped(const struct cli *cli, const char *verb, const char *old, const char *instead);
/* The same command for the operand that is being looked at. */
char *cli_meant(const struct cli *cli, const char *instead);
/* A remedy with the options of this call that say where: --project, --user, --system. */
char *mend_here(const struct cli *cli, const char *mend);
/* For a tool in JSON, which no parser reads: as YAML it is one. */
char *mend_json(const char *path, const char *ref);
struct signed_file {
	const char *ref, *path; /* of the item, and its file, absolute */
};
/* For what only an editor mends; space: where it lies, or NULL. */
char *mend_edit(const struct cli *cli, const struct signed_file *file, const char *space);
/* What helps against this code, the ref in REF's place. */
char *cli_remedy(enum rye_code code, const char *ref);

/* own_key.c: a new array of {fingerprint, owner, space, status, path}; NULL: why is in *err. */
json_t *key_rows(struct cli *cli, struct rye_err *err);
/* The first row with that status, and fingerprint (NULL: any); borrowed, NULL: none. */
const json_t *key_row(const json_t *rows, const char *fingerprint, const char *status);
const json_t *
key_broken(const json_t *rows); /* a signing key that cannot be read: its status says why */
/* The person's signing key, made and trusted; an untrusted one that is there is trusted. */
int own_key_make(struct cli *cli, enum rye_keygen how, char ret_fp[17], struct rye_err *err);
bool own_key_is_ready(struct cli *cli);
/* What makes a key where there is none: keygen, elsewhere where the user space cannot be written. */
const char *own_key_remedy(const struct cli *cli);

/* mounted.c: which mounts of ours the kernel has, and ending them. */
/* The absolute path of each; nonzero stops and is returned. */
int mounts_each(int (*fn)(void *arg, const char *path), void *arg);
bool mounts_has(const char *path);
/* What the daemon of a mount that answers tells of itself (.ryefs/stats.json); NULL: nothing. */
json_t *mounts_stats(const char *path);
/* What became of its daemons: {times, at, why}; stats: of a mount that answers, else NULL. NULL: none
 * has died, or it is not known. */
json_t *mounts_deaths(const char *path, const json_t *stats);
/* Does the path, which need not exist, lie in a mount of ours? Its project and what of the path is
 * below the mountpoint, to free. Looks at the text of the path alone. */
bool mounts_holds(const char *word, char **ret_source, char **ret_below);
/* By fusermount3, or as root by umount2. lazy: also one that is in use. False: not undone. */
bool mounts_detach(const char *path, bool lazy);

/* ref.c: canonical references as people write them and as verdicts name them. */

#define REF_MAX RYE_REF_MAX

/* "KIND:ID" of a verdict; a path when it has no id. */
void ref_of(const struct rye_verdict *verdict, char ret[REF_MAX]);
/* {ref, space, path, ok, verdict, message} */
json_t *ref_verdict_json(const struct rye_verdict *verdict);
/*
 * A new array of these for all that the pattern names (NULL: all there is), with "refused" where the
 * signature does not hold; sorted by ref, the strongest space first. NULL: nothing, and why.
 */
json_t *ref_verdicts(struct cli *cli, const char *pattern, struct rye_err *err);
/* The same of an engine over another project. */
json_t *ref_verdicts_of(struct cli *cli, struct rye *rye, const char *pattern, struct rye_err *err);

/*
 * What a person typed: a ref or pattern is copied; the path of a file below an .ai/KINDS
 * directory, or of anything below an item's name in a mount, becomes its ref.
 */
void ref_from_word(struct cli *cli, const char *word, char ret[REF_MAX]);
/*
 * "tools/my/tool.py" → tool:my/tool, "skills/pdf/any/file" → skill:pdf; keep_end: "tools/my/tool" is taken,
 * too. False: it names none, *ret is as it was.
 */
bool ref_from_below(const char *below, bool keep_end, char ret[REF_MAX]);
/* The project that a path names an item of, to free; NULL: it is no such path, or the user's. */
char *ref_project(const char *word, const char *user_base);
/* Does a path name an item of the user space, on disk or in a mount's spaces/? */
bool ref_is_user(const struct cli *cli, const char *word);
/*
 * After cli_open: operand's ref, completed with the kind of a bare id and without the end of a
 * file's name, as the merged view has it. What names nothing stays as it was typed, patterns too.
 * Exit status; the reason told.
 */
int ref_operand(struct cli *cli, int operand, char ret[REF_MAX]);
/* The same where one item is wanted: a pattern will do that matches one. */
int ref_one(struct cli *cli, int operand, char ret[REF_MAX]);

/* signed_before.c: an item as it was when it was last good; outside.c: other programs. */

/* The standard output of a program (argv ends with NULL) and its exit status; -1: it did not run. */
int outside_read(const char *const argv[], struct rye_buf *ret);
int outside_tells(const char *const argv[], struct rye_buf *ret); /* with its standard error */
/* A text in memory that such a program can read at ret_path until the descriptor is closed; -1: errno. */
#define OUTSIDE_PATH 64
int outside_text(struct rye_span bytes, char ret_path[OUTSIDE_PATH]);

/*
 * The repository may be a stranger's, and so may its configuration: only commands that start no other
 * program are used, and nothing is fetched from elsewhere.
 */
#define GIT                                                                    \
	"env", "PATH=/usr/bin:/bin:/usr/local/bin", "GIT_ALLOW_PROTOCOL=none", \
		"GIT_NO_LAZY_FETCH=1", "git", "-C"

bool signed_before(struct cli *cli, const struct signed_file *file, struct rye_buf *ret);
/* git's newest revision of the file at path that `takes` is true of, into ret. */
typedef bool git_takes_fn(void *arg, struct rye_span bytes);
bool git_revision(const char *path, git_takes_fn *takes, void *arg, struct rye_buf *ret);
/* Prints what changed: 0 nothing, 1 something; -1: signed_before knows of none. */
int signed_diff(struct cli *cli, const struct signed_file *file, FILE *to);
/* The same of a text as it was signed and the file now; name: what stands above it. */
int signed_lines(struct cli *cli, struct rye_span before, const char *now, const char *name,
		 FILE *to);

/* merging.c: git is told that `ryefs merge` merges items, and shows them. */
/* Does git version the project, and has this clone not been told? */
bool merging_lacks(const char *project);
/* What was written is added to made, as a path below .ai. */
void merging_set_up(struct cli *cli, json_t *made);
/* The pre-commit hook of this clone: `ryefs verify --changed-since HEAD`; exit status, the reason told. */
int merging_hook(struct cli *cli, json_t *made);

/* cli/skill/skill_new.c: a skill of this one text, SKILL.md; dry: only whether it can be. Exit status. */
int skill_new(struct cli *cli, enum rye_space space, const char *text, bool dry);

/* cli/skill/skill_move.c: a verified skill under another name, signed; the old one stays. Exit status. */
struct skill_moving {
	enum rye_space space;
	const char *name, *to;
	bool dry;
};
int skill_move(struct cli *cli, const struct skill_moving *what);
/* Has a call that was killed done so, and taken the old folder away? */
bool skill_moved(struct cli *cli, const struct skill_moving *what);
/* Folder and manifest go; exit status. */
int skill_drop(struct cli *cli, enum rye_space space, const char *name);

/* sign_ask.c: asks for each refused item of the batch; fn signs one, exit status. */
typedef int (*sign_ask_fn)(void *arg, const char *ref);
int sign_ask(struct cli *cli, const struct rye_batch *batch, sign_ask_fn fn, void *arg);

/* hidden_line.c: one line from the terminal that standard input is. CUT: it had more than one line's room. */
enum hidden_line { HIDDEN_NONE, HIDDEN_LINE, HIDDEN_CUT };
enum hidden_line hidden_line(const char *prompt, struct rye_buf *ret);

/* sample.c: the items that `ryefs init --sample` writes. */
struct sample {
	const char *path; /* below .ai */
	const char *ref;
	const char *text;
};
const struct sample *sample_rows(size_t *ret_n);

#endif
