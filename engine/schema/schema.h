/* SPDX-License-Identifier: MIT */
/*
 * schema.h: JSON Schema, as far as docs/items.md lists it: defaults are injected (deep copies),
 * then the value is checked. A pattern that cannot be decided within RYE_REGEX_STEPS and
 * RYE_REGEX_MS is a fault of the value; one that is no regular expression only a warning.
 * Pure: bounded in time and memory, no file, no lock.
 */
#ifndef RYE_SCHEMA_SCHEMA_H
#define RYE_SCHEMA_SCHEMA_H

#include "base/json.h"

/* What is wrong: `missing` names of required top-level keys, `unknown` keys, `issues` texts. */
struct schema_report {
	json_t *missing, *unknown, *issues, *warnings; /* arrays of strings, owned */
};

void schema_report_done(struct schema_report *report);
/*
 * Fills defaults into value (an object owned by the caller) and checks it.
 * True: nothing wrong (warnings may be there).
 */
bool schema_check(const json_t *schema, json_t *value, struct schema_report *ret);
/* Does it take one parameter at most, whatever is given? */
bool schema_is_narrow(const json_t *schema);
/*
 * An answer against its schema: nothing is filled in, and every fault is an issue.
 */
bool schema_fit(const json_t *schema, const json_t *value, struct schema_report *ret);
/* The issues alone, one behind the other. */
void schema_faults(const struct schema_report *report, struct rye_buf *ret_text);
/* The error object's text: "Missing required parameters: a, b" and its relatives. */
void schema_message(const struct schema_report *report, const json_t *schema,
		    struct rye_buf *ret_text);
/* declared_parameters: [{name, type, required, default?, description?}]; new reference. */
json_t *schema_declared(const json_t *schema);
/* What is wrong with a schema: unknown types, bad regexes, enum of wrong type. A new array. */
json_t *schema_lint(const json_t *schema);
bool schema_type_known(const char *type);
/* Names that are no type fit everything. */
bool schema_type_fits(const char *type, const json_t *value);

#endif
