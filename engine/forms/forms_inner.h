/* SPDX-License-Identifier: MIT */
/* forms_inner.h: the functions of the rows in forms.c; a new reference each. */
#ifndef RYE_FORMS_FORMS_INNER_H
#define RYE_FORMS_FORMS_INNER_H

#include "forms/forms.h"

/* forms_tool.c */
json_t *form_graph(json_t *definitions);
json_t *form_provider(json_t *definitions);
json_t *form_tool(json_t *definitions);
/* forms_config.c */
json_t *form_agent(json_t *definitions);
json_t *form_config(json_t *definitions);
json_t *form_execution(json_t *definitions);
json_t *form_hooks(json_t *definitions);
json_t *form_knowledge(json_t *definitions);
json_t *form_remotes(json_t *definitions);
json_t *form_skill(json_t *definitions);

#endif
