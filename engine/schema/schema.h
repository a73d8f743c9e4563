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

#include <rye/rye.h>

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
/* A name that is required and no property, where nothing else in the schema may give it a meaning; or NULL. */
const char *schema_unlisted(const json_t *schema);
bool schema_type_known(const char *type);
const char *schema_type_name(size_t n); /* NULL: there are no more */
/* What schema_lint wants of a schema, as JSON Schema; self: where it will stand, "#/definitions/x". */
json_t *schema_of_schemas(const char *self);
/* Names that are no type fit everything. */
bool schema_type_fits(const char *type, const json_t *value);

/*
 * schema_fields.c: the members of a mapping of ours, a row each, the last with a NULL name. The room
 * that reads such a mapping checks it by its rows; editors are given them as JSON Schema (forms/).
 */
enum field_type {
	FIELD_ANY,
	FIELD_TEXT,
	FIELD_STEM, /* a text: the file's name */
	FIELD_SNAKE, /* the same, in snake_case */
	FIELD_CATEGORY, /* a text: the directory */
	FIELD_SEMVER,
	FIELD_TRUTH, /* a text: "true" or "false" */
	FIELD_BOOL,
	FIELD_INTEGER,
	FIELD_COUNT, /* a whole number of at least 1 */
	FIELD_NUMBER,
	FIELD_MAP, /* with `parts` */
	FIELD_LIST, /* of mappings with `parts` */
	FIELD_NAMES, /* a list of texts, or one */
	FIELD_TEXTS, /* a list of texts; null is none */
};
struct schema_field {
	const char *name;
	enum field_type type;
	bool required;
	const struct schema_field *parts; /* NULL: any */
	const char *also; /* another name that is read, too */
	const char *const *choices; /* the texts that it may be, NULL behind the last */
	const char *about; /* for people, in their editors */
};
const struct schema_field *field_named(const struct schema_field *fields, const char *name);
/* Of its type? What a list or a mapping holds is not looked at, nor which text it is. */
bool field_fits(const struct schema_field *field, const json_t *value);
/* Is it one of the choices, if there are any? */
bool field_chosen(const struct schema_field *field, const char *text);
const char *field_wanted(const struct schema_field *field); /* "a text" */
/* A new reference. closed: no other members. */
json_t *fields_schema(const struct schema_field *fields, bool closed);
/* A schema written down, with ' for "; a new reference, NULL: out of memory, or it is no JSON. */
json_t *schema_of(const char *format, ...) RYE_PRINTF(1, 2);
/* A value as it stands in such a text; to free. */
char *schema_text(json_t *value); /* taken over */

#endif
