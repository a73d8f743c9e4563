/* SPDX-License-Identifier: MIT */
/*
 * parse.h: bytes of an item → its metadata. The table of parsers, the header lines of a
 * signed file, and which of its bytes are hashed. Pure: no file is opened here.
 */
#ifndef RYE_PARSE_PARSE_H
#define RYE_PARSE_PARSE_H

#include "base/formats.h"
#include "base/json.h"
#include "base/sha.h"
#include "err.h"

/*
 * parse.c: bytes → metadata map. One row per (kind, extension) in base/formats.h; each parser is
 * one file parse_NAME.c with a fuzz target. Input is verified text with its header lines
 * (signature, binding) already cut; parsers never see the file.
 *
 * A parser returns an object (docs/items.md) and leaves *err alone; or an object that is only
 * partial, or NULL, with *err filled: so *err must be clear before. It is bounded in time and
 * memory by common/bounds.h whatever the bytes are.
 *
 * The maps hold no copy of the whole text (the format's `raw`): the item has it. Code files
 * give NAME: value, YAML and TOML of tools and config {"data": mapping}; `__warnings__` is a
 * list of sentences that only a parser of ours can set.
 */

typedef json_t *(*parse_fn)(struct rye_span text, struct rye_err *err);

struct parser {
	const char *name; /* "markdown_xml" */
	parse_fn parse;
};

/* NULL: this extension has no parser (tool .json and the like). */
const struct parser *parse_row(enum rye_kind kind, const char *ext);
/*
 * The row's parser with *err cleared first; path begins its message, but ends the one
 * for text that is not UTF-8: "Not valid UTF-8: <path>".
 */
json_t *parse_item(const struct parser *row, struct rye_span text, const char *path,
		   struct rye_err *err);

/* json_t *parse_NAME(struct rye_span text, struct rye_err *err) of each row. */
#define PARSE_DECLARED(kind, ext, comment, language, function) \
	json_t *function(struct rye_span text, struct rye_err *err);
#define PARSE_NONE(kind, ext, comment)
FORMATS(PARSE_DECLARED, PARSE_NONE)
#undef PARSE_DECLARED
#undef PARSE_NONE

/*
 * Where a directive's element stands: start of its ```xml fence content and the body behind it.
 * Verification makes sure that what is parsed is what is hashed, and hands the shape on: nothing
 * looks for the element again.
 */
struct directive_shape {
	struct rye_span preamble, xml, body;
	int line; /* 1-based line of the element */
};
int directive_shape(struct rye_span text, struct directive_shape *ret, struct rye_err *err);
/* parse_directive of a text whose shape is known. */
json_t *parse_shaped(struct rye_span text, const struct directive_shape *shape,
		     struct rye_err *err);

/*
 * sigline.c: the header lines of a signed file (docs/items.md): the `rye:signed` line and,
 * directly under it, our `rye:full:1` binding line. Pure; spans are borrowed from the text.
 */

enum sig_style {
	SIG_HTML, /* <!-- … --> */
	SIG_HASH, /* # … */
	SIG_SLASH, /* // … */
};

struct sig_rule {
	enum sig_style style;
	bool after_shebang; /* the line may stand under a "#!/…" line */
};

/* False: this extension has no signature format. */
bool sig_rule_of(enum rye_kind kind, const char *ext, struct sig_rule *ret);
/* The rule of trust-store files. */
struct sig_rule sig_rule_key(void);

enum sig_binding {
	BINDING_NONE,
	BINDING_MALFORMED, /* begins like one, is none: ordinary text, refused when strict */
	BINDING_PRESENT, /* exactly the form; says nothing about its truth */
};

/*
 * How a text begins. The text without its header lines is always `shebang` followed by `rest`
 * (shebang is empty when none stands before the signature line).
 */
struct sig_head {
	struct rye_span shebang; /* with its LF */
	struct rye_span line; /* the signature line with its LF; empty: unsigned */
	struct rye_span stamp, hash, sig, fp, provider, user;
	bool junk; /* something stands between the fields and the line's proper end */
	bool unclosed; /* in <!-- -->, right behind the fields: no signature line to others */
	enum sig_binding binding;
	struct rye_span bind_line, bind_sig, bind_fp; /* line with its LF */
	struct rye_span rest;
};

void sig_head_of(struct sig_rule rule, struct rye_span text, struct sig_head *ret);
/* "rye:signed:…" alone, nothing before or behind it (JSON documents); False: it is not. */
bool sig_fields_of(struct rye_span text, struct sig_head *ret);

/*
 * The text without old lines, as it is hashed: `kiwi-mcp` and `validated` lines go too, a
 * signature line without LF stays. shebang is any leading one, whatever the rule.
 */
struct sig_cut {
	struct rye_span shebang, line, rest;
};
void sig_cut_of(struct sig_rule rule, struct rye_span text, struct sig_cut *ret);
/*
 * A leading signature line in <!-- -->, its LF included, whose comment ends further down or
 * nowhere; empty: none. It is no signature, and hashing leaves out all of that comment. Signing
 * takes away this line alone: what follows it is the item's own text.
 */
struct rye_span sig_unclosed_at(struct sig_rule rule, struct rye_span text);
/* A leading line of the binding form, its LF included; empty: none. */
struct rye_span sig_binding_at(struct sig_rule rule, struct rye_span text);

/* A whole leading "#!/…" line, or empty. */
struct rye_span sig_shebang(struct rye_span text);

/* Room for the longest line we write. */
#define SIG_LINE_MAX 320

/* "# rye:signed:…\n" without a provider; bytes written. */
size_t sig_line_put(struct sig_rule rule, char line[SIG_LINE_MAX], const char *fields);

/*
 * digest.c: which bytes a signature covers (docs/items.md) and the binding line's message.
 * Pure; regions are spans of the given text.
 */

/*
 * The hashed region of a text whose newlines are LF. False: a directive without its element.
 * rule: sig_rule_of, or sig_rule_key with RYE_CONFIG for trust-store files.
 */
bool digest_region(enum rye_kind kind, struct sig_rule rule, struct rye_span text,
		   struct rye_span *ret);
/* A knowledge text whose hash leaves its "---" block out. */
bool digest_is_dashed(struct sig_rule rule, struct rye_span text);

/* The first <directive…> and the last </directive>: what a directive's signature covers. */
bool digest_element(struct rye_span text, struct rye_span *ret);

/* Room for "rye-full-1", a reference and a digest. */
#define DIGEST_BINDING_MAX 1200
/*
 * The binding message over the raw bytes shebang + rest (header lines already out) for the
 * place kind:id+ext. Its length; 0: the place is too long to be one.
 */
struct digest_place {
	enum rye_kind kind;
	const char *id, *ext;
};
size_t digest_binding(const struct digest_place *place, const struct sig_head *head,
		      char ret[DIGEST_BINDING_MAX]);

/* CR LF and CR become LF. NULL: out of memory. */
struct rye_blob *digest_newlines(struct rye_span raw);

/*
 * message.c: the bytes of one message to a control file or a primitive → an object. Pure.
 */

/*
 * A new reference, or NULL with RYE_INVALID or RYE_TOO_BIG: the text is not of `form`, is no
 * object, or is a reply of the engine that an editor sent back.
 */
json_t *message_read(struct rye_span text, enum rye_form form, struct rye_err *err);

#endif
