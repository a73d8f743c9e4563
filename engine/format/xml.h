/* SPDX-License-Identifier: MIT */
/*
 * xml.h: an XML element as JSON, for parse_directive.c:
 * {"tag", "attrs": {…}, "kids": […], "text"}: the text before the first child, stripped; "" when
 * there are only blanks, absent when there is nothing at all.
 * Namespaced names come as "uri|name", so they match none of ours.
 */
#ifndef RYE_FORMAT_XML_H
#define RYE_FORMAT_XML_H

#include "base/json.h"

/*
 * The root element, a new reference. On a fault *err is filled ("Invalid XML: <detail>",
 * "XML …") and what was read until there is returned, NULL when that is nothing.
 */
json_t *xml_parse(struct rye_span text, struct rye_err *err);

/* The first child of that name, or NULL. Borrowed. */
const json_t *xml_kid(const json_t *node, const char *tag);
const char *xml_tag(const json_t *node);
/* "" when absent. */
const char *xml_text(const json_t *node);

#endif
