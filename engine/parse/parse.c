/* SPDX-License-Identifier: MIT */
/*
 * Which parser reads a kind's files of an extension. A new format is one file parse_NAME.c, its
 * fuzz target and its rows in base/formats.h. Pure; called by rye_load and by signing, with text
 * whose header lines are cut.
 */
#include "format/format.h"
#include "parse/parse.h"

#include "scope.h"
#include "str.h"

struct parse_row {
	enum rye_kind kind;
	const char *ext;
	struct parser parser;
};

#define PARSE_ROW(kind, ext, comment, language, function) \
	{ RYE_##kind, ext, { language, function } },
#define PARSE_NOTHING(kind, ext, comment)

static const struct parse_row rows[] = { FORMATS(PARSE_ROW, PARSE_NOTHING) };

const struct parser *parse_row(enum rye_kind kind, const char *ext)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].kind == kind && !strcmp(rows[i].ext, ext))
			return &rows[i].parser;
	return NULL;
}

json_t *parse_item(const struct parser *row, struct rye_span text, const char *path,
		   struct rye_err *err)
{
	json_t *map;

	*err = (struct rye_err){ 0 };
	if (!utf8_valid(text)) {
		rye_fail(err, RYE_UNPARSABLE, "Not valid UTF-8: %s", path);
		return NULL;
	}
	map = row->parse(text, err);
	if (err->code)
		rye_wrap(err, "%s", path);
	return map;
}

/* A mapping as it is; anything else as an empty one, which signing then finds lacking. */
static json_t *wrap_data(json_t *data)
{
	if (!json_is_object(data)) {
		json_decref(data);
		data = json_object();
	}
	return json_pack("{s:o}", "data", data);
}

json_t *parse_yaml_tool(struct rye_span text, struct rye_err *err)
{
	return wrap_data(parse_yaml(text, err));
}

json_t *parse_toml_tool(struct rye_span text, struct rye_err *err)
{
	return wrap_data(parse_toml(text, err));
}
