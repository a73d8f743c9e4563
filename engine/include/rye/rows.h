/* SPDX-License-Identifier: MIT */
/*
 * rows.h: the kinds of items and the verbs of a mount, one row each. Included by rye.h.
 */
#ifndef RYE_ROWS_H
#define RYE_ROWS_H

/* ---- kinds ---- */

/* What sets kinds apart. */
enum rye_trait {
	RYE_KIND_RUNS = 1, /* `execute` may name it, search finds it, it has its own directory */
	RYE_KIND_PROCESS = 2, /* running it starts a process, the others only render text */
	RYE_KIND_FORKS = 4, /* a model may work through it in a managed thread */
	RYE_KIND_PARAMETERS = 8, /* declares what it takes: it has a schema */
	RYE_KIND_INPUTS = 16, /* its text has inputs filled in, also by name: NAME?a=b */
	RYE_KIND_FOLDER = 32, /* x/x.ext is named by x, too */
	RYE_KIND_ELEMENT = 64, /* an XML element in Markdown, which is what a signature covers */
	RYE_KIND_FRONT = 128, /* text behind metadata in a fence or between --- lines */
	RYE_KIND_MANIFEST =
		256, /* NAME.yaml lists what is in the folder NAME; flat; search finds it */
	RYE_KIND_NONE = 512, /* of no kind: a verb whose file is elsewhere, in remotes/NAME */
};

/*
 * ROW(KIND, name, directory below .ai, title, traits). The formats of its files are rows of
 * base/formats.h; what must be in them to be signed is a row of sign/signcheck.c.
 */
#define RYE_KINDS(ROW)                                                                        \
	ROW(DIRECTIVE, "directive", "directives", "Directive",                                \
	    RYE_KIND_RUNS | RYE_KIND_FORKS | RYE_KIND_PARAMETERS | RYE_KIND_INPUTS |          \
		    RYE_KIND_ELEMENT)                                                         \
	ROW(TOOL, "tool", "tools", "Tool",                                                    \
	    RYE_KIND_RUNS | RYE_KIND_PROCESS | RYE_KIND_PARAMETERS | RYE_KIND_FOLDER)         \
	ROW(KNOWLEDGE, "knowledge", "knowledge", "Knowledge", RYE_KIND_RUNS | RYE_KIND_FRONT) \
	ROW(CONFIG, "config", "config", "Config", 0)                                          \
	ROW(SKILL, "skill", "skills", "Skill", RYE_KIND_MANIFEST)

#define RYE_KIND_VALUE(kind, ...) RYE_##kind,
enum rye_kind { RYE_KINDS(RYE_KIND_VALUE) RYE_KIND__MAX };
#undef RYE_KIND_VALUE

/* ---- verbs: what a write to a file of that name asks for ---- */

enum rye_way {
	RYE_WAY_RUNS = 1, /* starts something: not with norun */
	RYE_WAY_DRY = 2, /* validates only */
	RYE_WAY_ASYNC = 4, /* does not wait for the end */
	RYE_WAY_FORK = 8, /* in a managed thread, which lives on when its caller does not wait */
	RYE_WAY_READS = 16, /* open to children of all runs: what does more asks for itself */
	RYE_WAY_PERSON = 32, /* open to no child of a run */
};

/*
 * ROW(VERB, name, traits, ways, function of engine/run, help). traits: the kinds that have one of
 * them have such a file beside each item, and its message is the item's parameters; 0: the file is
 * at the root, and the message names its item. A child of a run may as far as the signed `requires`
 * above it say, where the ways say nothing else.
 */
#define RYE_VERBS(ROW)                                                                            \
	ROW(RUN, "run", RYE_KIND_RUNS, RYE_WAY_RUNS, run_item,                                    \
	    "write parameters: runs it; read: your own last reply")                               \
	ROW(DRY_RUN, "dry_run", RYE_KIND_PARAMETERS, RYE_WAY_RUNS | RYE_WAY_DRY, run_item,        \
	    "write parameters: checks them and runs nothing")                                     \
	ROW(ASYNC, "async", RYE_KIND_FORKS | RYE_KIND_PROCESS, RYE_WAY_RUNS | RYE_WAY_ASYNC,      \
	    run_item, "write parameters: starts it and returns; the reply has thread_id and pid") \
	ROW(FORK, "fork", RYE_KIND_FORKS, RYE_WAY_RUNS | RYE_WAY_FORK, run_item,                  \
	    "write inputs: a model works through it in a thread; waits for the end")              \
	ROW(EXECUTE, "execute", 0, RYE_WAY_RUNS, run_item,                                        \
	    "write {\"item_id\": \"tool:a/b\", \"parameters\": {}}: runs any item")               \
	ROW(FETCH, "fetch", 0, RYE_WAY_READS, prim_fetch,                                         \
	    "write {\"item_id\": \"knowledge:a/b\"}, or query and scope: reads or finds items")   \
	ROW(SIGN, "sign", 0, RYE_WAY_PERSON, prim_sign,                                           \
	    "write {\"item_id\": \"tool:a/*\"}: checks and signs items of yours")                 \
	ROW(REMOTE, "push", RYE_KIND_NONE, RYE_WAY_RUNS, run_remote,                              \
	    "of remotes/NAME: write {}, or {\"force\": true}: sends the project's files there")

#define RYE_VERB_VALUE(verb, ...) RYE_##verb,
enum rye_verb { RYE_VERBS(RYE_VERB_VALUE) RYE_VERB__MAX };
#undef RYE_VERB_VALUE

/* What rye_key_generate makes of a key that is there. */
enum rye_keygen {
	RYE_KEY_NEW, /* it refuses */
	RYE_KEY_REPLACE, /* the old one stays as .old; the secrets come along, or nothing is done */
	RYE_KEY_FORGET, /* secrets that cannot be opened are done without */
};

#endif
