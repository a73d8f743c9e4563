/* SPDX-License-Identifier: MIT */
/* A project's .env: whatever it holds, names are identifiers and no value has a line end. */
#include "process/process.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_env struct env env = { 0 };

	env_dotenv(&env, (struct rye_span){ (const char *)data, size });
	for (size_t i = 0; i < env.n; i++) {
		char *equals = strchr(env.v[i], '=');

		if (!equals || strchr(equals, '\n'))
			abort();
		*equals = 0;
		if (!env_name_ok(env.v[i]))
			abort();
		env_dotenv_may(env.v[i]);
		*equals = '=';
	}
	return 0;
}
