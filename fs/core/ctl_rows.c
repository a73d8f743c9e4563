/* SPDX-License-Identifier: MIT */
/*
 * ctl_rows.c - the table of the files in an item's own directory, and of the primitives at the
 * root, made of the rows of ctl.h, and what finds a row in it.
 *
 * No state, no lock. Read by the tree's grammar, the lookups and listings, the conversations and
 * README.md of the mount. The verbs come first, in their own order (rye/rows.h). Their functions are
 * in a table of views/enter_table.c.
 */
#include "core/ctl.h"

#include "scope.h"

#include <string.h>

/* A conversation for each verb, at the root for one that names its item. */
#define ROW_VERB(verb_, name_, traits, ways_, function, help_) \
	[RYE_##verb_] = { .name = name_,                       \
			  .of = traits,                        \
			  .mode = 0600,                        \
			  .listed = true,                      \
			  .talks = true,                       \
			  .verb = RYE_##verb_,                 \
			  .ways = ways_,                       \
			  .help = help_ },
#define ROW_ENTER(function, name_, traits, mode_, ...) \
	{ .name = name_, .of = traits, .mode = mode_, __VA_ARGS__ },
#define ROW_VIEW(view_, ...) ROW_ENTER(, __VA_ARGS__, .view = RYE_VIEW_##view_)
#define ROW_OWN(function, ...) ROW_ENTER(, __VA_ARGS__)

static const struct ctl rows[] = { RYE_VERBS(ROW_VERB) CTL_FILES(ROW_ENTER, ROW_VIEW, ROW_OWN) };

const struct ctl *ctl_find(enum rye_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rye_kind_has(kind, rows[i].of) && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct ctl *ctl_root_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].of && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool ctl_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].of & ~(unsigned)RYE_KIND_NONE && strlen(rows[i].name) == len &&
		    !memcmp(rows[i].name, name, len))
			return true;
	return false;
}

const struct ctl *ctl_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

const struct ctl *ctl_of_verb(enum rye_verb verb)
{
	return &rows[verb];
}
