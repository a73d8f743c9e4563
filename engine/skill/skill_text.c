/* SPDX-License-Identifier: MIT */
/*
 * SKILL.md: metadata between two --- lines at the very beginning, then Markdown. Only what every
 * client wants is asked for; what else stands there is the client's. Pure; no lock.
 */
#include "skill/skill.h"

#include "format/format.h"
#include "scope.h"
#include "str.h"

static bool is_dashes(struct rye_span line)
{
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return span_eq(line, "---");
}

int skill_front(struct rye_span text, json_t **ret, struct rye_span *ret_body, struct rye_err *err)
{
	struct rye_span rest = text, line, front;
	struct rye_err why = { 0 };
	auto_json json_t *map = NULL;

	if (!span_line(&rest, &line) || !is_dashes(line))
		return rye_fail(err, RYE_UNPARSABLE,
				SKILL_TEXT
				" wants --- as its first line, then name and description");
	front = (struct rye_span){ rest.ptr, 0 };
	do {
		front.len = (size_t)(rest.ptr - front.ptr);
		if (!span_line(&rest, &line))
			return rye_fail(err, RYE_UNPARSABLE,
					SKILL_TEXT ": no line --- ends its metadata");
	} while (!is_dashes(line));
	map = parse_yaml(front, &why);
	if (why.code || !json_is_object(map))
		return rye_fail(err, RYE_UNPARSABLE,
				SKILL_TEXT ": its metadata is no YAML mapping");
	*ret = json_incref(map);
	if (ret_body)
		*ret_body = rest;
	return 0;
}

int skill_front_check(const json_t *front, const char *name, struct rye_err *err)
{
	const char *about = json_str(front, "description");
	size_t n = utf8_count(span_strip_unicode(span_of(about)));

	if (strcmp(json_str(front, "name"), name) != 0)
		return rye_fail(err, RYE_UNPARSABLE,
				SKILL_TEXT ": name: has to be the folder's, %s", name);
	if (!n || n > SKILL_ABOUT_MAX)
		return rye_fail(err, RYE_UNPARSABLE,
				SKILL_TEXT ": description: wants 1 to %d characters",
				SKILL_ABOUT_MAX);
	return 0;
}
