/* SPDX-License-Identifier: MIT */
/* Names of items as names of skills, which have neither slashes nor underscores. Pure. */
#include "offer/offer_inner.h"

#include "str.h"

#include <ctype.h>

bool offer_name(const char *id, char ret[SKILL_NAME_MAX + 1])
{
	size_t n = strlen(id);

	if (!n || n > SKILL_NAME_MAX)
		return false;
	for (size_t i = 0; i <= n; i++)
		ret[i] = id[i] == '/' || id[i] == '_' ? '-' : (char)tolower((unsigned char)id[i]);
	return skill_name_ok(span_of(ret)) && strcmp(ret, OFFER_GUIDE) != 0;
}
