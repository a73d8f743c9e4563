/* SPDX-License-Identifier: MIT */
/*
 * merged.h: configuration, from the files of one id in all spaces. For the merged config/ view
 * and for what a tool asks for, they are laid over each other, bundles, user, project; each of
 * them has to verify, or the entry is refused as a whole.
 */
#ifndef RYE_ITEM_MERGED_H
#define RYE_ITEM_MERGED_H

#include "space/index.h"
#include "item/item.h"

/* Sources of one entry: more spaces than a search path has bundles. */
#define CONFIG_SOURCES_MAX 80

struct config_file {
	const struct space *space;
	const char *id, *ext;
};

/*
 * One file. It may be unsigned (verdict without a fingerprint, notice "unsigned") unless its id
 * decides about authority or where data goes; view, verification and execution all come here.
 */
int config_load_file(const struct item_env *env, const struct config_file *file,
		     struct rye_item **ret, struct rye_err *err);
/* The word for a served file: "ok", or "unsigned". */
const char *config_verdict(const struct verdict *verdict);

struct config_ask {
	const char *id;
	const struct index_source *sources; /* the best first, as index_sources gives them */
	size_t n;
	bool optional; /* a source without a file is passed over */
	bool first; /* the best that has a file, as it is; else all, merged */
};

struct config_entry {
	struct rye_item *item; /* of the best source; NULL: there was none */
	struct rye_blob *text; /* its own bytes, or the map as YAML or TOML; config_load only */
	json_t *map; /* merged; its values are shared with frozen items */
	json_t *files; /* {path, space, verdict} of what was merged, the weakest first */
	bool unsigned_part; /* one of the sources is unsigned (key files have rules of their own) */
	uint64_t digest; /* of all sources */
	int64_t mtime_ns; /* the latest of all sources */
};

void config_entry_done(struct config_entry *entry);

/* The entry as the config/ view shows it. */
int config_load(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		struct rye_err *err);
/* Its map. */
int config_merge(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		 struct rye_err *err);

#endif
