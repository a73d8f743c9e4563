/* SPDX-License-Identifier: MIT */
/* doctor.h: findings, and the checks that make them. */
#ifndef RYE_CLI_DOCTOR_DOCTOR_H
#define RYE_CLI_DOCTOR_DOCTOR_H

#include "cli/cli.h"

enum finding_level { FINDING_OK, FINDING_REMARK, FINDING_BAD, FINDING__MAX };

struct findings {
	struct cli *cli;
	json_t *rows; /* {level, about, what, mend} */
	size_t bad;
};

/* mend: or NULL. The format makes the sentence of the finding's `what`. */
void finding_add(struct findings *findings, enum finding_level level, const char *about,
		 const char *mend, const char *format, ...) RYE_PRINTF(5, 6);

/*
 * groups.c: refused items, of which those with one key and one cause are told as one. Both members are
 * the caller's: an empty array, an empty object.
 */

struct groups {
	json_t *rows, *causes;
};

struct groups_line {
	const char *about; /* "33 items", "7 items (user)" */
	const char *what; /* the cause, the first names and how many more there are */
	const char *mend; /* mends all of them */
};

struct groups_teller {
	void (*one)(void *arg, const json_t *row); /* as it was given */
	void (*many)(void *arg, size_t n, const struct groups_line *line);
	void *arg;
};

/* row: an object of the caller's with what it says of this item alone; the reference is taken. */
void groups_add(struct groups *groups, const struct rye_verdict *verdict, json_t *row);
/* In the order in which they came; a group stands where its first one was. */
void groups_tell(const struct groups *groups, const struct groups_teller *to);

/* changed_since.c: {ref} of the project's items that git says were changed since a commit, or will be by the
 * next one; exit status, the reason told. */
int changed_since(struct cli *cli, const char *base, json_t *refs);
/* sarif.c: of an array of ref_verdict_json; a new reference. */
json_t *sarif_of(const char *project, const json_t *rows);

/* machine.c: /dev/fuse, programs, kernel features, dead mounts. */
void machine_check(struct findings *findings);
/* rings.c: a mount that was to have its requests by io_uring, and has not. stats: its own words; may be NULL. */
void rings_check(struct findings *findings, const char *point, const json_t *stats);
/* ignored.c: what a commit would take along that it should not. */
void ignored_check(struct findings *findings);
/* left.c: what killed processes have left on disk. */
void left_check(struct findings *findings);
/* clash.c: names that hide one another, among all verdicts (ref_verdict_json). */
void clash_check(struct findings *findings, const json_t *items);
/* skill_names.c: items that are not shown as skills for their names. */
void skill_names_check(struct findings *findings);
/* meant.c: what signing would remark of items that verify. */
void meant_check(struct findings *findings, const json_t *items);
/* models.c: the model of a directive's fork. */
void models_check(struct findings *findings);
/* doctor_remotes.c: what each remote says; the first one that connects to any. */
void remotes_check(struct findings *findings);
/* doctor_node.c: the node of this account, if it has one; its door is not opened. */
void node_check(struct findings *findings);
/* unused.c: files in the project's and the user's space that are no items for their names. */
void unused_check(struct findings *findings);

/*
 * wants.c: what signing would say is wrong with a refused item, all at once, into ret, and the command
 * that mends it then (the caller's); NULL, and nothing: signing would mend it, or cannot.
 */
char *wants_mend(struct cli *cli, const struct rye_verdict *verdict, struct rye_buf *ret);
bool is_bundled(const struct rye_verdict *verdict); /* its user cannot sign it */

#endif
