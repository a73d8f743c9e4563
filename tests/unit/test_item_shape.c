/* SPDX-License-Identifier: MIT */
/* One region: which element of a directive is the signed one, and what is refused. */
#include "rye_test.h"
#include "told.h"

#include "str.h"
#include "parse/parse.h"

#define EL "<directive name='x'><a/></directive>"

static void accepted(const char *text, const char *preamble, const char *xml, const char *body)
{
	struct directive_shape shape;
	struct rye_err err = { 0 };

	if (directive_shape(span_of(text), &shape, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	if (!span_eq(shape.preamble, preamble) || !span_eq(shape.xml, xml) ||
	    !span_eq(shape.body, body))
		fail_msg("%s: [%.*s] [%.*s] [%.*s]", text, (int)shape.preamble.len,
			 shape.preamble.ptr, (int)shape.xml.len, shape.xml.ptr, (int)shape.body.len,
			 shape.body.ptr);
}

static void refused(const char *text, const char *what)
{
	struct directive_shape shape;
	struct rye_err err = { 0 };

	if (directive_shape(span_of(text), &shape, &err) != -RYE_UNPARSABLE ||
	    !strstr(err.msg, what))
		fail_msg("%s: %s", text, err.msg);
}

static void plain_shapes(void **state)
{
	accepted("```xml\n" EL "\n```\n", "", EL, "");
	accepted("# T\n\nIntro\n\n```xml  \n\n  " EL "\n\n```  \n\nBody\n", "# T\n\nIntro", EL,
		 "Body");
	accepted("```xml\n<?xml version='1.0'?>\n<!-- c -->\n" EL "\n<!-- d -->\n```", "", EL, "");
	/* the body may hold anything, fences too */
	accepted("```xml\n" EL "\n```\nB\n```xml\n<x/>\n```\n</directive>\n", "", EL,
		 "B\n```xml\n<x/>\n```\n</directive>");
	/* other fences before it are preamble */
	accepted("```xml\n<Directive/>\n```\n````md\n```xml\n<x/>\n```\n````\n~~~\n```xml\n~~~\n"
		 "```xml\n" EL "\n```\n",
		 "```xml\n<Directive/>\n```\n````md\n```xml\n<x/>\n```\n````\n~~~\n```xml\n~~~", EL,
		 "");
	accepted("``` a`b\n```xml\n" EL "\n```", "``` a`b", EL, "");
}

static void lines_are_named(void **state)
{
	struct directive_shape shape;

	assert_works(&told_err,
		     directive_shape(span_of("a\n\n```xml\n" EL "\n```"), &shape, &told_err));
	assert_int_equal(shape.line, 4);
	refused("a\n<directive x>\n```xml\n" EL "\n```", "line 2: the first <directive");
}

static void inner_text(void **state)
{
	static const char *const inner[] = {
		"<a b='>'/>",
		"<!-- </directive> --><x></x>",
		"<![CDATA[</directive>]]>",
		"<?p </directive>?>",
		"<template>a & <b> </template>",
		"<raw x='1'><</raw>",
		"<a><b></b><b/></a>",
		"<directive><x/></directive>",
		"<template/>",
		"<example>``</example>",
	};
	char text[300], xml[200];

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		snprintf(xml, sizeof(xml), "<directive>%s</directive>", inner[i]);
		snprintf(text, sizeof(text), "```xml\n%s\n```\n", xml);
		accepted(text, "", xml, "");
	}
}

static void not_the_own_element(void **state)
{
	refused("no element", "No XML directive found in content");
	refused(EL, "outside an open ```xml fence");
	refused("```XML\n" EL "\n```", "outside an open ```xml fence");
	refused(" ```xml\n" EL "\n```", "outside an open ```xml fence");
	refused("```xml x\n" EL "\n```", "outside an open ```xml fence");
	refused("```yaml\n" EL "\n```", "outside an open ```xml fence");
	refused("````\n```xml\n" EL "\n```\n````\n```xml\n" EL "\n```", "line 3: the first");
	refused("~~~\n```xml\n" EL "\n```\n~~~\n```xml\n" EL "\n```", "line 3: the first");
	refused("```sh\n```xml\n" EL "\n```", "outside an open ```xml fence");
	refused("```xml\n<x/>\n```\n" EL "\n", "line 4: the first");
	refused("```xml\n<directives></directives></directive>\n```", "not a <directive>");
	refused("```xml\n<x>" EL "</x>\n```", "something stands before");
	refused("```xml\n<!-- " EL " -->\n" EL "\n```", "something stands before");
	refused("```xml\n<!DOCTYPE x>" EL "\n```", "something stands before");
}

static void elements_without_their_end(void **state)
{
	refused("```xml\n<directive><a></directive>\n```", "does not end in the signed text");
	refused("```xml\n<directive><!-- </directive>\n```", "does not end in the signed text");
	refused("```xml\n<directive></a></directive>\n```", "does not end in the signed text");
	refused("```xml\n<directive><!DOCTYPE x></directive>\n```", "does not end");
	refused("```xml\n<directive></x></directive >\n```\n</directive>", "does not end");
	/* the real end lies behind the last signed byte */
	refused("```xml\n<directive><!-- </directive> --></directive >\n```", "does not end");
	refused("```xml\n" EL "\n<x/></directive >\n```", "line 3: the ```xml block goes on");
	refused("```xml\n" EL "<y/>\n```", "goes on behind </directive>");
	refused("```xml\n" EL "\n", "not closed behind it");
	refused("```xml\n" EL "\n````\n", "not closed behind it");
	refused("```xml\n<directive>\n```\n</directive>\n```\n", "not closed behind it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_shapes),
		cmocka_unit_test(lines_are_named),
		cmocka_unit_test(inner_text),
		cmocka_unit_test(not_the_own_element),
		cmocka_unit_test(elements_without_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
