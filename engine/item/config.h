/* SPDX-License-Identifier: MIT */
/*
 * config.h: one entry of the merged config/ view. Files of the same id are laid over each other,
 * bundles, user, project; each of them has to verify, or the entry is refused as a whole.
 */
#ifndef RYE_ITEM_CONFIG_H
#define RYE_ITEM_CONFIG_H

#include "item/index.h"
#include "item/item.h"

struct config_ask {
	const char *id;
	const struct index_source *sources; /* the best first, as index_sources gives them */
	size_t n;
};

struct config_entry {
	struct rye_item *item; /* of the best source */
	struct rye_blob *text; /* its own bytes, or the merged maps as YAML or TOML */
	uint64_t digest; /* of all sources */
	int64_t mtime_ns; /* the latest of all sources */
};

int config_load(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		struct rye_err *err);

/*
 * Maps are merged, everything else is replaced by what `from` says; its key `extends` stays out.
 * Values are shared with `from`, maps are not. As deep as the parsers let a file be.
 */
void config_lay_over(json_t *into, const json_t *from);

/* May a file of this id be served without a signature? Authority and addresses may not. */
bool config_may_be_unsigned(const char *id);

#endif
