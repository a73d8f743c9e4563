/* SPDX-License-Identifier: MIT */
/*
 * Fields of a tool that are spelt so that nothing reads them: `CONFIG_SCHAMA = {…}` leaves its parameters
 * unchecked for ever. Told where the one that is meant is not there; for signmeant.c. Looks at lines that
 * begin with a name, as each language has its fields. Pure.
 */
#include "sign/sign_inner.h"

#include "item/item.h"
#include "near.h"
#include "str.h"

#include <ctype.h>

#define SPELT_MAX 40

static const char *const spelt_fields[] = { "config_resolve", "config_schema", "category",
					    "description",    "env_config",    "executor_id",
					    "input_schema",   "output_schema", "parameters",
					    "requires",	      "retry_policy",  "timeout",
					    "tool_id",	      "tool_type",     "tool_description",
					    "verify_deps",    "version" };
/* Of a program's own constants only what is like one of these can be meant as a field. */
static const char *const spelt_plain[] = { "config_resolve", "config_schema", "env_config" };

struct spelt {
	struct rye_span name; /* as it stands there */
	char word[SPELT_MAX + 1]; /* the same in lower case, without its underscores */
	bool dunder, plain;
};

enum spelt_language { SPELT_CODE, SPELT_DATA, SPELT_COMMENTS };

static enum spelt_language spelt_language(const char *ext)
{
	if (!strcmp(ext, ".py") || str_ends(ext, "js") || !strcmp(ext, ".ts"))
		return SPELT_CODE;
	return str_ends(ext, "ml") ? SPELT_DATA : SPELT_COMMENTS;
}

static struct rye_span spelt_behind(struct rye_span line, const char *word)
{
	return span_starts(line, word) ? span_skip(line, strlen(word)) : line;
}

/* Does "=" follow, or ":" where fields have that? */
static bool spelt_has_value(struct rye_span rest, char sign)
{
	rest = span_trim(rest);
	return rest.len && rest.ptr[0] == sign && (rest.len == 1 || rest.ptr[1] != '=');
}

static bool spelt_read(const char *ext, struct rye_span line, struct spelt *ret)
{
	enum spelt_language language = spelt_language(ext);
	size_t n = 0;
	bool equals;

	if (language == SPELT_COMMENTS && !span_starts(line, "# "))
		return false;
	line = language == SPELT_COMMENTS ? span_skip(line, 2) : line;
	if (language == SPELT_CODE)
		line = spelt_behind(spelt_behind(line, "export "), "const ");
	while (n < line.len && (isalnum((unsigned char)line.ptr[n]) || line.ptr[n] == '_'))
		n++;
	*ret = (struct spelt){ .name = { line.ptr, n } };
	ret->dunder = n > 4 && span_starts(ret->name, "__") && span_ends(ret->name, "__");
	ret->plain = language == SPELT_CODE && !ret->dunder;
	equals = language == SPELT_CODE || ret->dunder || !strcmp(ext, ".toml");
	/* a sentence begins with a capital: "Usage: …" */
	if (!n || n > SPELT_MAX || !spelt_has_value(span_skip(line, n), equals ? '=' : ':') ||
	    (!equals && !islower((unsigned char)line.ptr[0])))
		return false;
	snprintf(ret->word, sizeof(ret->word), "%.*s", (int)n - (ret->dunder ? 4 : 0),
		 line.ptr + (ret->dunder ? 2 : 0));
	for (char *c = ret->word; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return true;
}

/* The field that is meant; NULL: it is one, or like none. Two letters may be wrong, and not the first. */
static const char *spelt_meant(const struct spelt *spelt)
{
	const char *const *known = spelt->plain ? spelt_plain : spelt_fields, *best = NULL;
	size_t n = spelt->plain ? ARRAY_SIZE(spelt_plain) : ARRAY_SIZE(spelt_fields);
	int nearest = 3;

	for (size_t i = 0; i < n; i++) {
		int d = near_distance(spelt->word, known[i]);

		if (!d)
			return NULL;
		if (d >= nearest || *known[i] != *spelt->word)
			continue;
		nearest = d;
		best = known[i];
	}
	return best;
}

static void spelt_tell(const struct meant *m, const struct spelt *spelt, const char *field)
{
	bool upper = isupper((unsigned char)spelt->name.ptr[spelt->dunder ? 2 : 0]);
	char meant[SPELT_MAX + 8];

	snprintf(meant, sizeof(meant), spelt->dunder ? "__%s__" : "%s", field);
	for (char *c = meant; *c && upper; c++)
		*c = (char)toupper((unsigned char)*c);
	sign_tell(m->warnings, "line %zu: %.*s counts for nothing: did you mean %s?",
		  meant_line_at(m, (size_t)(spelt->name.ptr - m->item->body.ptr)),
		  (int)spelt->name.len, spelt->name.ptr, meant);
}

void sign_check_spelling(const struct meant *m)
{
	struct rye_span rest = m->item->body, line;
	struct spelt spelt;

	while (span_line(&rest, &line)) {
		const char *field = spelt_read(m->item->ext, line, &spelt) ? spelt_meant(&spelt) :
									     NULL;

		if (field && !parsed_get(m->item, field))
			spelt_tell(m, &spelt, field);
	}
}
