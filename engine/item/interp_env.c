/* SPDX-License-Identifier: MIT */
/*
 * Which environment variables a directive's {env:NAME} may read: a short list that tells the place
 * and the user, never secrets, plus the names that the mount's options give. Pure but for getenv;
 * the process never changes its environment.
 */
#include "item/item.h"

#include "scope.h"
#include "str.h"

static const char *const allowed[] = { "HOME", "USER",	"LOGNAME", "LANG",     "TERM",
				       "TZ",   "SHELL", "PATH",	   "HOSTNAME", "USER_SPACE" };

/* RYE_* says how the engine is set up, but some of it names or holds keys. */
static bool interp_env_rye(const char *name)
{
	return !strncmp(name, "RYE_", 4) && strncmp(name, "RYE_SIGNING", 11) != 0 &&
	       !strstr(name, "KEY") && !strstr(name, "SECRET") && !strstr(name, "TOKEN");
}

static bool interp_env_listed(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = names; p && *p;) {
		size_t len = strcspn(p, ":");

		if (len == n && !memcmp(p, name, n))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

const char *interp_environ(void *arg, const char *name)
{
	bool ok = interp_env_rye(name) || !strncmp(name, "LC_", 3) || interp_env_listed(arg, name);

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && !ok; i++)
		ok = !strcmp(name, allowed[i]);
	return ok ? getenv(name) : NULL;
}
