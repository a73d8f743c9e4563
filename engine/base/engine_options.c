/* SPDX-License-Identifier: MIT */
/*
 * The table of the engine's options. Pure; the engine copies its own with it, a launcher writes
 * them into the orders of a runner, the runner reads them there.
 */
#include "base/engine_options.h"

#include "scope.h"

#include <string.h>

enum option_type { OPTION_TEXT, OPTION_FLAG, OPTION_NUMBER };

struct engine_options_option_row {
	const char *name;
	size_t at;
	enum option_type type;
};

#define ROW(type, field)                                                   \
	{                                                                  \
#field, offsetof(struct rye_options, field), OPTION_##type \
	}

static const struct engine_options_option_row rows[] = {
	ROW(TEXT, project),   ROW(TEXT, user_base),  ROW(TEXT, system_roots), ROW(TEXT, env_names),
	ROW(FLAG, compat),    ROW(FLAG, dev_mode),   ROW(FLAG, venv),	      ROW(FLAG, no_sign),
	ROW(FLAG, no_run),    ROW(FLAG, scan),	     ROW(NUMBER, jobs),	      ROW(NUMBER, umask),
	ROW(NUMBER, sandbox), ROW(TEXT, mountpoint),
};

/* What OPTION_NUMBER copies. */
_Static_assert(sizeof(((struct rye_options *)0)->jobs) == sizeof(int32_t), "jobs");
_Static_assert(sizeof(((struct rye_options *)0)->umask) == sizeof(int32_t), "umask");
_Static_assert(sizeof(((struct rye_options *)0)->sandbox) == sizeof(int32_t), "sandbox");

static const void *member(const struct rye_options *opt,
			  const struct engine_options_option_row *row)
{
	return (const char *)opt + row->at;
}

static void set_member(struct rye_options *opt, const struct engine_options_option_row *row,
		       const void *value, size_t size)
{
	memcpy((char *)opt + row->at, value, size);
}

static const char *engine_options_text_of(const struct rye_options *opt,
					  const struct engine_options_option_row *row)
{
	const char *text;

	memcpy(&text, member(opt, row), sizeof(text));
	return text;
}

bool options_copy(const struct rye_options *from, struct rye_options *ret)
{
	bool whole = true;

	*ret = *from;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text =
			rows[i].type == OPTION_TEXT ? engine_options_text_of(from, &rows[i]) : NULL;
		const char *own = text ? strdup(text) : NULL;

		if (!text)
			continue;
		whole &= own != NULL;
		set_member(ret, &rows[i], &own, sizeof(own));
	}
	return whole;
}

void options_free(struct rye_options *own)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type == OPTION_TEXT)
			free((char *)engine_options_text_of(own, &rows[i]));
}

json_t *options_to_json(const struct rye_options *opt)
{
	json_t *doc = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const void *at = member(opt, &rows[i]);
		int32_t number;

		if (rows[i].type == OPTION_TEXT) {
			if (engine_options_text_of(opt, &rows[i]))
				json_sets(doc, rows[i].name, engine_options_text_of(opt, &rows[i]));
		} else if (rows[i].type == OPTION_FLAG) {
			json_set(doc, rows[i].name, json_boolean(*(const bool *)at));
		} else {
			memcpy(&number, at, sizeof(number));
			json_set(doc, rows[i].name, json_integer(number));
		}
	}
	return doc;
}

void options_from_json(const json_t *doc, struct rye_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct engine_options_option_row *row = &rows[i];
		const char *text = json_string_value(json_object_get(doc, row->name));
		bool flag = json_flag(doc, row->name, false);
		int32_t number = (int32_t)json_int(doc, row->name, 0);

		if (row->type == OPTION_TEXT)
			set_member(ret, row, &text, sizeof(text));
		else if (row->type == OPTION_FLAG)
			set_member(ret, row, &flag, sizeof(flag));
		else
			set_member(ret, row, &number, sizeof(number));
	}
}

int options_no_sign(const char *what, struct rye_err *err)
{
	return rye_fail(err, RYE_DENIED, "%s is switched off (nosign)", what);
}
