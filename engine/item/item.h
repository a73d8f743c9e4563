/* SPDX-License-Identifier: MIT */
/*
 * item.h: verified items. rye_load is the one way to a struct rye_item; the store keeps
 * loaded ones, and rendering, inputs and prompts take nothing else.
 */
#ifndef RYE_ITEM_ITEM_H
#define RYE_ITEM_ITEM_H

#include "base/json.h"
#include "parse/parse.h"
#include "space/space.h"
#include "trust/trust.h"

#include <sys/stat.h>

/*
 * load.c: the one way to an item. rye_load locates, reads once, verifies and parses the same
 * bytes; render, plan and run take a struct rye_item, so unsigned bytes cannot reach them.
 *
 * A loaded item is frozen: readers on any thread need no lock. Its space is borrowed from the
 * engine, which outlives every item.
 */

/*
 * item_env.c: what loading needs, from the options of an engine. log lives as long. On failure
 * there is nothing to close, but closing is fine.
 */
int item_env_open(const struct rye_options *opt, const struct log *log, struct item_env *ret,
		  struct rye_err *err);
void item_env_close(struct item_env *env);

/*
 * A file's bytes and what a parser made of them; says nothing of their signature.
 *
 *   id       canonical, without extension
 *   ext      of the kind's table, ".py"
 *   abspath  for messages
 *   raw      the file's bytes, exactly
 *   shebang, body  the text without its header lines is these two
 *   meta     the parser's map (docs/items.md), frozen
 */
#define PARSED_ITEM_FIELDS             \
	enum rye_kind kind;            \
	const struct space *space;     \
	char *id;                      \
	const char *ext;               \
	char *abspath;                 \
	struct rye_blob *raw;          \
	struct rye_span shebang, body; \
	struct stat st;                \
	json_t *meta;

struct parsed_item {
	PARSED_ITEM_FIELDS
};

/* Borrowed views into the item's frozen map (meta.c). */
struct tool_meta {
	const char *version, *tool_type, *executor_id, *category, *description; /* "" absent */
	bool executor_null; /* present and null, or absent */
	bool executor_present; /* "" counts as present */
	const json_t *schema; /* CONFIG_SCHEMA / input_schema as written, or NULL */
	const json_t *parameters; /* YAML `parameters`, list or mapping, or NULL */
	const json_t *env_config, *config, *config_resolve, *anchor, *verify_deps;
	const json_t *requires_list; /* array of strings, or NULL when absent */
	bool requires_bad; /* present, but no list of strings: nothing is granted */
	const json_t *retry_policy, *actions, *inputs, *outputs, *child_constraints;
	json_int_t timeout; /* seconds, 0: not given */
};

/* Verified: made by load.c alone (tests/lint/items.py), so to have one is to have proof. */
struct rye_item {
	_Atomic unsigned refs;
	union {
		struct parsed_item parsed;
		struct {
			PARSED_ITEM_FIELDS
		};
	};
	char *path; /* below the space's .ai: "tools/a/b.py" */
	struct rye_blob *text; /* what is served and parsed: verified, header lines as they were */
	struct directive_shape shape; /* of a directive's text */
	struct verdict verdict;
	struct rye_err parse; /* RYE_OK, or why meta is partial (never so for a directive) */
	struct tool_meta tool; /* of a tool: what meta_tool gives */
};

/*
 * The item, verified and parsed, with a reference for the caller. Fails with RYE_NOT_FOUND ("Tool
 * not found: a/b"), with an integrity code and the message of the refusal, RYE_UNPARSABLE,
 * RYE_TOO_BIG …; a bad signature in a higher space never falls through to a lower one.
 */
int rye_load(const struct item_env *env, const struct item_ask *ask, struct rye_item **ret,
	     struct rye_err *err);
/* A named file (dependencies, config): same checks; kind says whose rules. */
struct path_ask {
	const struct space *space;
	enum rye_kind kind;
	const char *path; /* below the space's .ai */
	bool unsigned_ok; /* set by item/merged.c alone: an unsigned file is taken, with a notice */
	const unsigned char *known; /* struct verify_ask's */
	bool passing; /* one of very many: not kept, the store would drop others for it */
};
int rye_load_path(const struct item_env *env, const struct path_ask *ask, struct rye_item **ret,
		  struct rye_err *err);

struct rye_item *rye_item_ref(const struct rye_item *item);
void rye_item_unref(struct rye_item *item);
DEFINE_AUTO(auto_item_, struct rye_item *, rye_item_unref)
#define auto_item __attribute__((cleanup(auto_item_)))

/*
 * Locates and verifies without parsing; for listings, verify and info of refused items.
 * Returns 0 with ret->code set whenever the file exists; an error only when it does not.
 */
struct glance {
	struct verdict verdict;
	const struct space *space;
	const char *ext;
	char id[1024], path[1024];
	struct stat st;
	struct rye_err why; /* of the refusal */
};
int item_glance(const struct item_env *env, const struct item_ask *ask, struct glance *ret,
		struct rye_err *err);

/*
 * attached.c: of a kind with a manifest (RYE_KIND_MANIFEST) also what the manifest lists. Of the others
 * there is nothing to check. May hash many files. ret_linked: one of them has more than one name.
 */
int item_check_attached(const struct item_env *env, const struct rye_item *item, bool *ret_linked,
			struct rye_err *err);
struct skill; /* skill/skill.h */
/* Its text, once all that is listed is as the manifest says. */
struct attached {
	struct rye_blob *text; /* SKILL.md */
	struct rye_span body; /* in it: what stands behind the metadata */
	char *about; /* its description */
};
int item_attached(const struct item_env *env, const struct rye_item *item, struct attached *ret,
		  struct rye_err *err);
void attached_done(struct attached *attached);
#define auto_attached __attribute__((cleanup(attached_done)))
/* What the manifest says, verified or not. */
int parsed_skill(const struct parsed_item *item, struct skill *ret, struct rye_err *err);

/*
 * item_store.c: the one store of verified items. rye_load asks it whether it has seen this very
 * file before, so that reading, verifying and parsing are done once: for a reader, for the
 * views of an item, for the chains of all runs. Where an item lies is looked up each time.
 *
 * A file is the same one while device, inode, size and both times are, once it is old enough
 * for these to tell every change, and while the trust store is the one it was verified with.
 */

struct item_store;

struct item_store *item_store_open(void); /* NULL: out of memory */
void item_store_close(struct item_store *store); /* NULL is fine */
/* Everything is dropped (trust has changed). */
void item_store_forget(struct item_store *store);

struct item_store_counts {
	uint64_t verifications, hits;
};
void item_store_counts(struct item_store *store, struct item_store_counts *ret);

/*
 * merged.c: configuration, from the files of one id in all spaces. For the merged config/ view
 * and for what a tool asks for, they are laid over each other, bundles, user, project; each of
 * them has to verify, or the entry is refused as a whole.
 */
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

struct config_want {
	const char *path; /* below config/, with its extension; of config_everywhere */
	bool first; /* the best that has a file, as it is; else all, merged */
	enum rye_space whose; /* the item that is given it: no unsigned file of a weaker space */
	bool limits; /* of runs: of such a file the numbers are taken, and nothing else */
};

struct config_ask {
	const char *id;
	const struct index_source *sources; /* the best first, as index_sources gives them */
	size_t n;
	struct config_want want;
	bool optional; /* a source without a file is passed over */
};

struct config_entry {
	struct rye_item *item; /* of the best source; NULL: there was none */
	struct rye_blob *text; /* its own bytes, or the map as YAML or TOML; config_load only */
	json_t *map; /* merged; its values are shared with frozen items */
	json_t *files; /* {path, space, verdict} of what was merged, the weakest first */
	bool unsigned_part; /* one of the sources is unsigned (key files have rules of their own) */
	bool linked; /* one of their files has more than one name */
	uint64_t digest; /* of all sources */
	int64_t mtime_ns; /* the latest of all sources */
};

void config_entry_done(struct config_entry *entry);
/* The entry as the config/ view shows it. */
int config_load(const struct item_env *env, const struct config_ask *ask, struct config_entry *ret,
		struct rye_err *err);
/* Its map alone, of every space that has the file. RYE_UNSIGNED: see whose. */
int config_everywhere(const struct item_env *env, const struct config_want *want,
		      struct config_entry *ret, struct rye_err *err);
/* merged_kept.c: the same for items of every space, kept while its files are as they were; frozen. */
struct config_keep *config_keep_open(void); /* NULL: out of memory */
void config_keep_close(struct config_keep *keep);
int config_map(const struct item_env *env, const char *path, json_t **ret, struct rye_err *err);

/*
 * meta.c: what a tool declares, normalised over languages (docs/items.md): dunder or bare names,
 * CONFIG_SCHEMA or config_schema …. Borrowed views into the item's frozen map.
 */

/* parsed_… is for signing, which looks at what is not verified; meta_… for all others. */
void parsed_tool(const struct parsed_item *item, struct tool_meta *ret);
/* `__name__`, `name` or `NAME`, at the top or below `data`; NULL: absent. Borrowed. */
const json_t *parsed_get(const struct parsed_item *item, const char *name);
/* `tool_description` of a tool, else `description`; NULL: absent. Borrowed. */
const json_t *parsed_description(const struct parsed_item *item);
/* The JSON Schema of parameters (tool) or inputs (directive) with defaults; new reference. */
json_t *parsed_schema(const struct parsed_item *item);

static inline void meta_tool(const struct rye_item *item, struct tool_meta *ret)
{
	*ret = item->tool;
}

static inline const json_t *meta_get(const struct rye_item *item, const char *name)
{
	return parsed_get(&item->parsed, name);
}

static inline const json_t *meta_description(const struct rye_item *item)
{
	return parsed_description(&item->parsed);
}

static inline json_t *meta_schema(const struct rye_item *item)
{
	return parsed_schema(&item->parsed);
}
/* The same of a `parameters` list, an action's for instance. */
json_t *meta_schema_list(const json_t *parameters);

/*
 * render.c: verified items → what is read. Interpolation is in interpolate.c, input validation in
 * inputs.c, the prompt in prompt.c. Pure: environment values come from the caller's function; it says
 * NULL of what is not on the allow-list or not set (the placeholder stays).
 */
typedef const char *(*interp_env_fn)(void *arg, const char *name);
/* The environment that directives may read (interp_env.c). arg: more names, "A:B", or NULL. */
const char *interp_environ(void *arg, const char *name);

struct interp {
	const json_t *inputs; /* object */
	interp_env_fn env; /* NULL: no environment */
	void *env_arg;
};
/* Appends; out->failed when the result is over out's cap. */
void interp_text(const struct interp *in, struct rye_span text, struct rye_buf *out);
/*
 * A directive's map with body, content and the strings of its actions filled in (actions
 * without the environment); everything else is shared. A new reference; NULL: too big.
 */
json_t *interp_map(const struct interp *in, const json_t *map, struct rye_err *err);

/*
 * Declared inputs against given ones: unknown, defaults, required (docs/items.md). given may be
 * NULL and is not changed; *ret is a new object. The error is RYE_INVALID with the format's
 * text; *ret_extra, when not NULL, then gets the reply's other members (item_id,
 * declared_inputs), a new reference.
 */
int inputs_resolve(const struct rye_item *directive, const json_t *given, json_t **ret,
		   json_t **ret_extra, struct rye_err *err);
/* The same without the last step: what is required may be missing. */
int inputs_fill(const struct rye_item *directive, const json_t *given, json_t **ret,
		struct rye_err *err);
/* "a=b&c=d" → object of strings; percent-decoded; NULL or "": an empty one. */
json_t *inputs_query(const char *query, struct rye_err *err);

/*
 * What `cat NAME` delivers. Of a directive: the text without header lines, its body (never
 * preamble or XML) filled in with in->inputs as given and the defaults; a placeholder whose
 * input is missing stays, an undeclared input is RYE_INVALID. Knowledge: the text without
 * header lines. Tools and config: the verified bytes. in may be NULL.
 */
int render_item(const struct rye_item *item, const struct interp *in, struct rye_blob **ret,
		struct rye_err *err);
/*
 * prompt.md: what a model is sent for the directive, with its <returns> part; inputs as in
 * render_item. instruction NULL: prompt_instruction().
 */
int render_prompt(const struct rye_item *directive, const struct interp *in,
		  const char *instruction, struct rye_blob **ret, struct rye_err *err);
/* The same of a parsed map, with in->inputs as they are. */
void prompt_put(const json_t *meta, const struct interp *in, const char *instruction,
		struct rye_buf *out);
/* Compiled in; and the bundle's rye/agent/core/DirectiveInstruction or else that, a new reference. */
const char *prompt_instruction(void);
json_t *prompt_instruction_of(const struct item_env *env);

#endif
