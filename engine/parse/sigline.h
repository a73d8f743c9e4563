/* SPDX-License-Identifier: MIT */
/*
 * sigline.h: the header lines of a signed file (items 2.1 to 2.3): the `rye:signed` line and,
 * directly under it, our `rye:full:1` binding line. Pure; spans are borrowed from the text.
 */
#ifndef RYE_PARSE_SIGLINE_H
#define RYE_PARSE_SIGLINE_H

#include "err.h"

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
 * The text without old lines, as hashing (items 2.3) wants it: `kiwi-mcp` and `validated` lines
 * go too, a signature line without LF stays. shebang is any leading one, whatever the rule.
 */
struct sig_cut {
	struct rye_span shebang, line, rest;
};
void sig_cut_of(struct sig_rule rule, struct rye_span text, struct sig_cut *ret);
/* A leading line of the binding form, its LF included; empty: none. */
struct rye_span sig_binding_at(struct sig_rule rule, struct rye_span text);

/* A whole leading "#!/…" line, or empty. */
struct rye_span sig_shebang(struct rye_span text);

/* Room for the longest line we write. */
#define SIG_LINE_MAX 320

/* "# rye:signed:…\n" without a provider; bytes written. */
size_t sig_line_put(struct sig_rule rule, char line[SIG_LINE_MAX], const char *fields);

#endif
