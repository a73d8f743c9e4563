/* SPDX-License-Identifier: MIT */
/* Directives: what their XML becomes, cases T55 to T64. */
#include "clock.h"
#include "bounds.h"
#include "format/format.h"
#include "parse/parse_inner.h"
#include "parse/parse.h"

#include "rye_json.h"

#include <errno.h>

/* The map of a directive with this XML, or NULL; err is cleared first. */
static json_t *map_of(const char *xml, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	*err = (struct rye_err){ 0 };
	buf_addf(&text, "# Title\n\nIntro.\n\n```xml\n%s\n```\n\nDo {input:a}.\n", xml);
	return parse_directive(span_of(text.data), err);
}

/* One member of the map; no error. */
static void member(const char *xml, const char *key, const char *want)
{
	struct rye_err err;
	auto_json json_t *map = map_of(xml, &err);

	assert_string_equal(err.msg, "");
	same_json(json_incref(json_object_get(map, key)), want);
}

static void meta(const char *children, const char *key, const char *want)
{
	auto_buf struct rye_buf xml = RYE_BUF_INIT;

	buf_addf(&xml, "<directive name=\"n\">\n<metadata>%s</metadata>\n</directive>", children);
	member(xml.data, key, want);
}

static void parts(void **state)
{
	parses(parse_directive,
	       "# T\n\nIntro.\n```xml\n<directive name=\"n\" version=\"1.0.0\">\n</directive>\n```\n"
	       "\nBody\n```xml\nlater\n```\n",
	       "{\"content\": \"<directive name=\\\"n\\\" version=\\\"1.0.0\\\">\\n</directive>\", "
	       "\"preamble\": \"# T\\n\\nIntro.\", \"body\": \"Body\\n```xml\\nlater\\n```\", "
	       "\"templates\": {}, \"name\": \"n\", \"version\": \"1.0.0\", \"category\": \"\"}");
	faults(parse_directive, "no element\n", "No XML directive found in content", "!");
}

/* T55: quotes of both kinds, blanks around '='; entities are decoded, >'s may stand inside. */
static void T55_attributes(void **state)
{
	static const char xml[] = "<directive name = 'n' version= \"1.0.0\" extends='a&amp;b>c' "
				  "xname='z'></directive>";

	member(xml, "name", "\"n\"");
	member(xml, "version", "\"1.0.0\"");
	member(xml, "extends", "\"a&b>c\"");
}

/* T56: name and version survive a fault in the XML, permissions do not. */
static void T56_bare_ampersand(void **state)
{
	struct rye_err err;
	auto_json json_t *map = map_of(
		"<directive name=\"n\" version=\"1.0.0\">\n<metadata><permissions><execute>*"
		"</execute></permissions>\n<description>a & b</description></metadata></directive>",
		&err);

	assert_int_equal(err.code, RYE_UNPARSABLE);
	assert_string_equal(err.msg, "Invalid XML: not well-formed (invalid token): line 3, column "
				     "16");
	assert_string_equal(json_str(map, "name"), "n");
	assert_string_equal(json_str(map, "version"), "1.0.0");
	assert_string_equal(json_str(map, "body"), "Do {input:a}.");
	assert_null(json_object_get(map, "permissions"));
}

static void T57_character_data(void **state)
{
	meta("<description> <![CDATA[a & <b>]]> &lt;&#233;&#x41; </description>", "description",
	     "\"a & <b> <\\u00e9A\"");
}

static void T58_opaque_blocks(void **state)
{
	member("<directive name=\"n\">\n<template id=\"x>y\">a & <b>\n</template><raw/>"
	       "<example>a & <b>\n</example><template>a & <b>\n</template></directive>",
	       "templates",
	       "{\"__opaque_template_0__\": \"a & <b>\\n\", \"__opaque_example_1__\": \"a & "
	       "<b>\\n\"}");
	member("<directive name=\"n\"><!-- <template> --><examples>3</examples></directive>",
	       "templates", "{}");
}

static void T59_two_descriptions(void **state)
{
	static const char xml[] = "<directive name=\"n\"><description>root</description>"
				  "<metadata><description>meta</description></metadata>"
				  "</directive>";

	member(xml, "description", "\"meta\"");
	member("<directive name=\"n\"><description>root</description></directive>", "description",
	       "\"root\"");
}

/* T60: the star; load and search are fetch; an unknown tag takes all permissions away. */
static void T60_permissions(void **state)
{
	struct rye_err err;
	auto_json json_t *map = NULL;

	meta("<permissions>*</permissions>", "permissions",
	     "[{\"tag\": \"cap\", \"content\": \"rye.*\"}]");
	meta("<permissions><execute><tool>rye/bash/*</tool><directive>x</directive></execute>"
	     "<fetch>*</fetch><load><knowledge>k</knowledge></load><search>*</search><sign/>"
	     "</permissions>",
	     "permissions",
	     "[{\"tag\": \"cap\", \"content\": \"rye.execute.tool.rye/bash/*\"}, "
	     "{\"tag\": \"cap\", \"content\": \"rye.execute.directive.x\"}, "
	     "{\"tag\": \"cap\", \"content\": \"rye.fetch.*\"}, "
	     "{\"tag\": \"cap\", \"content\": \"rye.fetch.knowledge.k\"}, "
	     "{\"tag\": \"cap\", \"content\": \"rye.fetch.*\"}]");
	meta("<permissions><acknowledge risk=\"r\">why</acknowledge></permissions>",
	     "acknowledged_risks", "[{\"risk\": \"r\", \"reason\": \"why\"}]");
	meta("<permissions>*<acknowledge risk=\"r\">why</acknowledge></permissions>", "permissions",
	     "[{\"tag\": \"cap\", \"content\": \"rye.*\"}]");
	meta("<permissions>*<fetch>*</fetch></permissions>", "permissions",
	     "[{\"tag\": \"cap\", \"content\": \"rye.fetch.*\"}]");
	map = map_of("<directive name=\"n\"><metadata><permissions><execute>*</execute><exec/>"
		     "</permissions></metadata></directive>",
		     &err);
	assert_string_equal(err.msg, "Unknown tag <exec> inside <permissions>. Valid tags: "
				     "acknowledge, execute, fetch, sign");
	assert_null(json_object_get(map, "permissions"));
	assert_string_equal(json_str(map, "name"), "n");
}

static void T61_limits(void **state)
{
	meta("<limits turns=\"6\" spend=\"0.05\" x=\"1e3\" y=\" 7 \" z=\"1_000\" n=\"-3\" "
	     "v=\"1.2.3\" big=\"99999999999999999999\" u=\"_1\" e=\"\"/>",
	     "limits",
	     "{\"turns\": 6, \"spend\": 0.05, \"x\": \"1e3\", \"y\": 7, \"z\": 1000, \"n\": -3, "
	     "\"v\": \"1.2.3\", \"big\": \"99999999999999999999\", \"u\": \"_1\", \"e\": \"\"}");
	meta("<runtime a=\"True\" b=\"false\" c=\"1.5e1\" d=\"x\"/>", "runtime",
	     "{\"a\": true, \"b\": false, \"c\": 15.0, \"d\": \"x\"}");
}

static void T62_inputs(void **state)
{
	static const char xml[] =
		"<directive name=\"n\"><inputs><input name=\"a\" required=\"TRUE\" default=\"\"> d "
		"</input><input/><other/></inputs><outputs><output name=\"o\" type=\"int\" "
		"required=\"1\" default=\"x\"/><success/></outputs></directive>";

	member(xml, "inputs",
	       "[{\"name\": \"a\", \"type\": \"string\", \"required\": true, \"default\": \"\", "
	       "\"description\": \"d\"}, {\"name\": \"\", \"type\": \"string\", \"required\": "
	       "false}]");
	member(xml, "outputs", "[{\"name\": \"o\", \"type\": \"int\", \"required\": false}]");
	member("<directive name=\"n\"><inputs/></directive>", "inputs", "!");
}

/* T63: an example in longer fences before the element is refused, with its line. */
static void T63_example_in_longer_fences(void **state)
{
	faults(parse_directive,
	       "````md\n```xml\n<directive name=\"no\">\n</directive>\n```\n````\n"
	       "```xml\n<directive name=\"n\">\n</directive>\n```\n",
	       "line 3", "!");
	assert_int_equal(rye_code_errno(RYE_UNPARSABLE), EUCLEAN);
}

static void T64_crlf(void **state)
{
	parses(parse_directive, "P\r\n```xml\r\n<directive name=\"n\">\r\n</directive>\r\n```\r\nB",
	       "{\"content\": \"<directive name=\\\"n\\\">\\r\\n</directive>\", \"preamble\": "
	       "\"P\", \"body\": \"B\", \"templates\": {}, \"name\": \"n\", \"category\": \"\"}");
}

static void metadata(void **state)
{
	meta("<model tier=\"fast\"/><model_class tier=\"slow\">x</model_class>", "model",
	     "{\"tier\": \"slow\"}");
	meta("<author>a<b/>c</author>", "author", "\"a\"");
	meta("<note>  </note>", "note", "\"\"");
	meta("<note/>", "note", "!");
	meta("<category/>", "category", "\"\"");
	meta("<context><system>a</system><before> b </before><suppress>c</suppress><x>d</x>"
	     "</context>",
	     "context",
	     "{\"system\": [\"a\"], \"before\": [\"b\"], \"after\": [], \"suppress\": [\"c\"]}");
	meta("<inputs>no</inputs><body>no</body><templates>no</templates>", "inputs", "!");
	meta("<body>no</body>", "body", "\"Do {input:a}.\"");
}

static void hooks(void **state)
{
	meta("<hooks><hook event=\"error\">t<condition path=\"cost\" value=\"1.5\"/>"
	     "<action primary=\"p\"><param>v</param></action><inputs><input name=\"i\">j</input>"
	     "</inputs><note>n</note></hook><h><action><execute item_id=\"x\"><param name=\"a\" "
	     "value=\"b\"/></execute></action></h></hooks>",
	     "hooks",
	     "[{\"event\": \"error\", \"content\": \"t\", \"condition\": {\"path\": \"cost\", "
	     "\"value\": 1.5}, \"action\": {\"primary\": \"p\", \"params\": {\"param\": \"v\"}}, "
	     "\"inputs\": {\"i\": \"j\"}, \"note\": \"n\"}, {\"actions\": [{\"primary\": "
	     "\"execute\", \"item_id\": \"x\", \"params\": {\"a\": \"b\"}}]}]");
}

static void actions(void **state)
{
	member("<directive name=\"n\"><metadata><hooks><h><execute/></h></hooks></metadata>"
	       "<process><step><execute item_id=\"a\"><param name=\"p\">v</param><param>drop"
	       "</param></execute></step><fetch item_id=\"b\" primary=\"own\"/></process>"
	       "</directive>",
	       "actions",
	       "[{\"primary\": \"execute\", \"item_id\": \"a\", \"params\": {\"p\": \"v\"}}, "
	       "{\"primary\": \"own\", \"item_id\": \"b\"}]");
	member("<directive name=\"n\"></directive>", "actions", "!");
}

/* Document types and other roots are refused; a namespace hides what it names. */
static void foreign_xml(void **state)
{
	struct rye_err err;
	auto_json json_t *map = NULL;
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	map = map_of("<directive xmlns=\"urn:x\" name=\"n\"></directive>", &err);
	assert_non_null(strstr(err.msg, "the root element is <urn:x|directive>"));
	json_decref(map);
	map = map_of("<directive name=\"n\"><x:metadata/></directive>", &err);
	assert_string_equal(err.msg, "Invalid XML: unbound prefix: line 1, column 20");
	json_decref(map);
	map = map_of("<directive name=\"n\"><metadata xmlns=\"urn:x\"><author>a</author>"
		     "</metadata></directive>",
		     &err);
	assert_int_equal(err.code, RYE_OK);
	assert_null(json_object_get(map, "author"));
	json_decref(directive_opaque(SPAN("<raw a='>"), &out, &err));
	assert_int_equal(err.code, RYE_OK);
	assert_string_equal(out.data, "<raw a='>");
}

static void entity_bomb(void **state)
{
	struct rye_err err;

	/* the element must come first, so a document type cannot; one inside is no XML */
	assert_null(map_of("<!DOCTYPE directive [<!ENTITY a \"aaaa\">]><directive>&a;</directive>",
			   &err));
	assert_int_equal(err.code, RYE_UNPARSABLE);
	json_decref(map_of("<directive name=\"n\">&a;</directive>", &err));
	assert_string_equal(err.msg, "Invalid XML: undefined entity: line 1, column 20");
}

/* So many elements, each in the one before: of a directive its shape is bounded, too, before it is XML. */
static void parse_nested(int depth, struct rye_err *err)
{
	auto_buf struct rye_buf xml = RYE_BUF_INIT;

	*err = (struct rye_err){ 0 };
	for (int i = 0; i < depth; i++)
		buf_adds(&xml, "<a>");
	for (int i = 0; i < depth; i++)
		buf_adds(&xml, "</a>");
	json_decref(xml_parse((struct rye_span){ xml.data, xml.len }, err));
}

static void depth_is_bounded(void **state)
{
	struct rye_err err;

	parse_nested(RYE_XML_DEPTH, &err);
	assert_int_equal(err.code, RYE_OK);
	parse_nested(RYE_XML_DEPTH + 1, &err);
	assert_int_equal(err.code, RYE_UNPARSABLE);
	assert_non_null(strstr(err.msg, "elements are nested too deep"));
}

static void bounds(void **state)
{
	auto_buf struct rye_buf xml = RYE_BUF_INIT;
	int64_t start = clock_own_us();
	struct rye_err err;

	buf_adds(&xml, "<directive name=\"n\">");
	for (int i = 0; i < RYE_XML_NODES; i++)
		buf_adds(&xml, "<a/>");
	buf_adds(&xml, "</directive>");
	json_decref(map_of(xml.data, &err));
	assert_string_equal(err.msg,
			    "Invalid XML: there are too many elements and attributes: line 1");
	buf_clear(&xml);
	buf_adds(&xml, "<directive name=\"n\">");
	for (int i = 0; i < 100000; i++)
		buf_adds(&xml, "<raw><raw a='");
	buf_adds(&xml, "</directive>");
	json_decref(map_of(xml.data, &err));
	assert_int_equal(err.code, RYE_UNPARSABLE);
	assert_true(clock_own_us() - start < 10 * 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),
		cmocka_unit_test(T55_attributes),
		cmocka_unit_test(T56_bare_ampersand),
		cmocka_unit_test(T57_character_data),
		cmocka_unit_test(T58_opaque_blocks),
		cmocka_unit_test(T59_two_descriptions),
		cmocka_unit_test(T60_permissions),
		cmocka_unit_test(T61_limits),
		cmocka_unit_test(T62_inputs),
		cmocka_unit_test(T63_example_in_longer_fences),
		cmocka_unit_test(T64_crlf),
		cmocka_unit_test(metadata),
		cmocka_unit_test(hooks),
		cmocka_unit_test(actions),
		cmocka_unit_test(foreign_xml),
		cmocka_unit_test(entity_bomb),
		cmocka_unit_test(bounds),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
