/* SPDX-License-Identifier: MIT */
/*
 * sign.h: signing items and documents: checked, bound, signed, replaced in one step.
 */
#ifndef RYE_SIGN_SIGN_H
#define RYE_SIGN_SIGN_H

#include "item/item.h"
#include "parse/parse.h"
#include "schema/schema.h"
#include "trust/trust.h"

struct signature {
	char stamp[24];
	char hash[SHA_HEX];
	char sig[KEY_SIG_TEXT];
	char fp[KEY_FP];
};

/*
 * The signed text of raw for a place: old header lines out, LF only, binding line, signature
 * line. stamp NULL: now. Checks nothing but that there is something to sign. Pure.
 */
struct sign_text {
	const struct key_secret *key;
	struct digest_place place;
	struct rye_span raw;
	const char *stamp;
};
int sign_text(const struct sign_text *what, struct rye_blob **ret, struct signature *ret_sig,
	      struct rye_err *err);

/* The text without its header lines, of any signer; false: out of memory. Pure. */
bool sign_bare(struct sig_rule rule, struct rye_span text, struct rye_buf *ret);

struct sign_ask {
	enum rye_kind kind;
	const char *id; /* without extension; a glob where one is allowed */
	const struct space *space; /* project or user; a system space is refused */
	const struct key_secret *key; /* NULL: the person's own */
	const char *stamp; /* NULL: now */
	/*
	 * It was not named by itself: what verifies stays under each key, the time on its line too
	 * (`status` "unchanged"), and so does what another key signed and would be taken over ("left").
	 */
	bool many;
	bool again; /* of many: what the key itself has signed is signed anew */
	bool take; /* of many: also another's, and with `again` what verifies as such */
	bool dry; /* only checked: nothing is written, and `status` is "unchanged", too */
	/* NULL, or told of each file that was written: its path below .ai */
	void (*signed_fn)(void *arg, const struct space *space, const char *path);
	void *arg;
	const struct sign_given *given; /* of sign_put alone */
};

/* A text that is to be an item's, whatever its file says now. */
struct sign_given {
	const char *ext;
	struct rye_span text; /* header lines in it go */
	struct rye_span was; /* what the file has to hold still; ptr NULL: there is none */
	bool bare; /* unchecked and unsigned */
};
/*
 * Checks the text as the ask's item, and puts it there, signed, in one step. RYE_BUSY: the file is
 * another by now, or is there, and stays. A text that is only checked (`dry`) is compared with none.
 */
int sign_put(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
	     struct rye_err *err);

/* What put such a text into its place takes it out: where the file holds `was` still, else RYE_BUSY. */
struct sign_dropped {
	enum rye_kind kind;
	const char *id, *ext;
	const struct space *space;
	struct rye_span was;
};
int sign_drop(const struct sign_dropped *what, struct rye_err *err);

/* signrename.c: a text without header lines, for an item of another id: the fields that say where it
 * lies, as far as they say the old one. text->failed: out of memory. Pure. */
void sign_renamed(const char *from, const char *to, struct rye_buf *text);
/* Where a text names an item for the first time; -1: it does not. Pure. */
ssize_t sign_mentions(enum rye_kind kind, const char *id, struct rye_span text);

/*
 * One item. The reply is always set (`status` "signed" or "error", the caller's reference);
 * the code of its error is returned, *err has the same sentence.
 */
int sign_item(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
	      struct rye_err *err);

/* The primitive: as sign_item, and a glob gives one reply for all that match it. */
int sign_request(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
		 struct rye_err *err);

/*
 * Every item of a space that matches "<kind>:<id or glob>"; NULL: every signable one. Key files,
 * and what models wrote unless one is named, are left out. fn hears of each item, done of total.
 */
struct sign_many {
	const char *pattern;
	const struct space *space;
	bool many, dry, again, take; /* as in struct sign_ask; what stays has no verdict for fn */
	rye_verdict_fn fn;
	void *arg;
};
int sign_many(const struct item_env *env, const struct sign_many *ask, struct rye_err *err);

/*
 * signdoc.c: signatures of things that are not items: JSON documents with a `_signature` member,
 * and digests signed by themselves (transcript checkpoints). A ref like
 * "state:threads/a/thread.json" says what a scoped key must be trusted for.
 */

/* Adds or replaces `_signature`; stamp NULL: now. */
int signdoc_sign(const struct key_secret *key, json_t *doc, const char *stamp, struct rye_err *err);
/* RYE_UNSIGNED, RYE_MODIFIED, RYE_UNTRUSTED or RYE_BAD_SIGNATURE, naming the ref. */
int signdoc_verify(struct trust_box *box, const char *ref, const json_t *doc, struct rye_err *err);
/* A signature over a lower-case hexadecimal digest by the key with fingerprint fp. */
struct signdoc_mark {
	struct rye_span fp, sig, hash;
};
int signdoc_check(struct trust_box *box, const char *ref, const struct signdoc_mark *mark,
		  struct rye_err *err);

/*
 * signkept.c: results by the digest of what they hang on, .ai/state/graph-results/KEY.json.
 */
struct signkept {
	const struct item_env *items;
	const char *project;
	const char *key; /* as sha256_hex has it */
};
json_t *signkept_find(const struct signkept *kept); /* a new reference; NULL: there is none */
/* doc: an object with the member `result` and what else a reader may want to know; changed. */
int signkept_put(const struct signkept *kept, json_t *doc, struct rye_err *err);

/* What the metadata of such an item has to say, and what it may say: signcheck.c. */
const struct schema_field *sign_fields(enum rye_kind kind);
/* signtool.c: the rules of tools beyond their fields, as JSON Schema; a new reference. */
json_t *sign_tool_schema(void);

/* ---- shared by sign.c and signmany.c ---- */

/* Paths below .ai of the files of one kind that match; a new array, sorted. */
json_t *sign_find(const struct space *space, enum rye_kind kind, const char *glob);
bool sign_is_glob(const char *id);
/* One file of the ask's space, by its path below .ai; ask->id is not looked at. */
int sign_path(const struct item_env *env, const struct sign_ask *ask, const char *path,
	      json_t **ret_reply, struct rye_err *err);
/* After signing: the public key goes where the items go. What is signed stays so without. */
void sign_share(const struct item_env *env, const struct space *space,
		const struct key_secret *key);
/* {"status": "error", "error": sentence}; err gets the same and its code is returned. */
int sign_refuse(json_t **ret_reply, enum rye_code code, struct rye_err *err, const char *format,
		...) RYE_PRINTF(4, 5);

#endif
