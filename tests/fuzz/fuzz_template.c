/* SPDX-License-Identifier: MIT */
/*
 * Placeholders of signed configuration. The text before the first NUL is the template, the
 * rest a caller's value: whatever the value is, it comes out as it went in.
 */
#include "plan/plan.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void once(const uint8_t *data, size_t size, const json_t *params, struct env *env)
{
	auto_json json_t *context = json_pack("{s:s}", "tool_path", "/tool");
	struct template in = { .env = env, .context = context, .params = params };
	auto_buf struct rye_buf out = { .cap = 1 << 20 };
	auto_json json_t *names = json_array();
	auto_json json_t *text = json_stringn((const char *)data, size);

	template_text(&in, (struct rye_span){ (const char *)data, size }, &out);
	template_names(text, names);
}

/* "{v}" alone gives the value, byte for byte. */
static void inserted_whole(struct rye_span value, const json_t *params, struct env *env)
{
	struct template in = { .env = env, .params = params };
	auto_buf struct rye_buf out = { .cap = 1 << 20 };

	template_text(&in, SPAN("{v}"), &out);
	if (!out.failed &&
	    (out.len != value.len || (value.len && memcmp(out.data, value.ptr, value.len))))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t n = nul ? (size_t)(nul - data) : size;
	struct rye_span value = { nul ? (const char *)nul + 1 : "", nul ? size - n - 1 : 0 };
	auto_json json_t *params = json_object();
	auto_env struct env env = { 0 };

	env_put(&env, "HOME", "/home/${HOME}");
	json_object_set_new(params, "v", json_stringn(value.ptr, value.len));
	if (json_object_get(params, "v"))
		inserted_whole(value, params, &env);
	once(data, n, params, &env);
	return 0;
}
