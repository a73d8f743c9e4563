/* SPDX-License-Identifier: MIT */
/*
 * What loading items needs: spaces, trust, the store of what was verified. Opened once for each
 * engine, and by a thread's runner for itself. No lock of its own.
 */
#include "item/item.h"

#include "memory.h"

#include <sodium.h>

int item_env_open(const struct rye_options *opt, const struct log *log, struct item_env *ret,
		  struct rye_err *err)
{
	struct spaces *spaces = NULL;
	int r;

	*ret = (struct item_env){ .compat = opt->compat, .dev_mode = opt->dev_mode, .log = log };
	if (sodium_init() < 0)
		return rye_fail(err, RYE_IO, "libsodium does not start");
	r = spaces_open(opt, &spaces, err);
	if (r)
		return r;
	ret->spaces = spaces;
	ret->store = item_store_open();
	ret->keep = config_keep_open();
	if (!ret->store || !ret->keep)
		return memory_fail(err);
	return trust_box_new(spaces, log, &ret->trust, err);
}

void item_env_close(struct item_env *env)
{
	if (env->trust)
		trust_box_free(env->trust);
	item_store_close(env->store);
	config_keep_close(env->keep);
	spaces_close((struct spaces *)env->spaces); /* ours: item_env_open made it */
	*env = (struct item_env){ .log = env->log };
}
