/* SPDX-License-Identifier: MIT */
/*
 * schema_inner.h: one check of a value against a schema, by the files that share the work.
 */
#ifndef RYE_SCHEMA_SCHEMA_INNER_H
#define RYE_SCHEMA_SCHEMA_INNER_H

#include "format/format.h"
#include "schema/schema.h"

/* Values that anyOf, $ref and the like may look at: schemas made of each other double with each level. */
#define SCHEMA_STEPS 200000

enum schema_ref { SCHEMA_REF, SCHEMA_DYNAMIC_REF, SCHEMA_RECURSIVE_REF, SCHEMA_REFS };

/* A part with an address of its own ($id), or the document: what "#" in it means. */
struct schema_scope {
	const json_t *whole;
	const char *address; /* a key of the check's names; NULL: the document's */
	const struct schema_scope *outer; /* that the check came from; NULL: it began here */
};

struct schema_check {
	const json_t *root; /* the document */
	const struct schema_scope *scope; /* the part that is looked at */
	json_t *names; /* address, or address#anchor → schema; NULL: none was asked for; owned */
	const char *address; /* the document's, once names are there */
	struct schema_report *report;
	struct rye_buf path; /* "a.b[0]" */
	struct regex regex;
	int depth; /* 1: members of the outermost object */
	int inside; /* schemas made of others around this one */
	int steps; /* values looked at inside of those */
	int trial; /* faults are counted, not told: another schema may do */
	size_t faults, trial_from; /* trial_from: faults when the trial began */
	char stop[200]; /* not empty: the check as a whole cannot be made */
};

/* Nothing that is found from now on changes the answer. */
bool schema_is_full(const struct schema_check *c);
void schema_issue(struct schema_check *c, const char *format, ...) RYE_PRINTF(2, 3);
void schema_stop(struct schema_check *c, const char *format, ...) RYE_PRINTF(2, 3);
void schema_check_value(struct schema_check *c, const json_t *schema, const json_t *value);
/* keys: of the least, of the most, what is counted. */
void schema_check_count(struct schema_check *c, const json_t *schema, const char *const keys[3],
			json_int_t n);
/* True also for a pattern that is none (a warning). */
bool schema_matches(struct schema_check *c, const char *pattern, struct rye_span text);
void schema_check_scalar(struct schema_check *c, const json_t *schema, const json_t *value);
bool schema_is_equal(const json_t *a, const json_t *b);

/* schema_object.c, schema_array.c */
void schema_check_object(struct schema_check *c, const json_t *schema, const json_t *value);
/* A field that is not declared, and the rule for such: a schema, or NULL. */
void schema_check_extra(struct schema_check *c, const json_t *rule, const char *key,
			const json_t *value);
/* A pattern of patternProperties has it; check: and is looked at by that. */
bool schema_check_patterns(struct schema_check *c, const json_t *schema, const char *key,
			   const json_t *check);
void schema_check_array(struct schema_check *c, const json_t *schema, const json_t *value);
void schema_check_item(struct schema_check *c, const json_t *rule, const json_t *list, size_t i);
/* The schema that says what this item is; NULL: none does. */
const json_t *schema_item_rule(const json_t *schema, size_t i);

/* schema_logic.c */
void schema_check_logic(struct schema_check *c, const json_t *schema, const json_t *value);
/* Only whether it fits: no fault is told. */
bool schema_tries(struct schema_check *c, const json_t *schema, const json_t *value);
/* The schema that holds while this field is there (dependentSchemas); NULL: none. */
const json_t *schema_dependent(const json_t *schema, const char *key);

/* schema_parts.c */

/* A schema in another one: under which keyword, and there by which name; key NULL: it has none. */
struct schema_part {
	const char *keyword, *key;
	const json_t *schema;
};

typedef void schema_part_fn(void *arg, const struct schema_part *part);
void schema_each_part(const json_t *schema, schema_part_fn *fn, void *arg);

/* schema_ref.c */

/* What it refers to, and the scope that holds there, behind the present one; NULL: nothing, or a stop. */
const json_t *schema_reference(struct schema_check *c, const json_t *schema, enum schema_ref which,
			       struct schema_scope *ret);
bool schema_refers(const json_t *schema);
/* The scope of a schema that stands in the present one: that, or its own, which is put into `own`. */
const struct schema_scope *schema_enter(struct schema_check *c, const json_t *schema,
					struct schema_scope *own);

/* schema_unseen.c: unevaluatedProperties and unevaluatedItems. */
void schema_check_unseen(struct schema_check *c, const json_t *schema, const json_t *value);

/* schema_report.c */
void schema_warn(struct schema_report *report, const char *format, ...) RYE_PRINTF(2, 3);

#endif
