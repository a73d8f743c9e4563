/* SPDX-License-Identifier: MIT */
/*
 * Recognising and cutting header lines. The reference's rules decide what a line is (nothing
 * anchors its end); `junk` tells the strict reader that unsigned bytes follow on the line.
 * Works on any bytes: every file of a space comes through here first. No state, no locks.
 */
#include "parse/parse.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

static const struct {
	const char *open, *close;
} styles[] = {
	[SIG_HTML] = { "<!-- ", " -->" },
	[SIG_HASH] = { "# ", "" },
	[SIG_SLASH] = { "// ", "" },
};

#define SIG_ROW(kind, ext, comment, ...) { RYE_##kind, SIG_##comment, ext },

static const struct {
	enum rye_kind kind;
	enum sig_style style;
	const char *ext;
} formats[] = { FORMATS(SIG_ROW, SIG_ROW) };

bool sig_rule_of(enum rye_kind kind, const char *ext, struct sig_rule *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].kind == kind && !strcasecmp(ext, formats[i].ext)) {
			ret->style = formats[i].style;
			ret->after_shebang = ret->style == SIG_HASH &&
					     rye_kind_has(kind, RYE_KIND_PROCESS);
			return true;
		}
	return false;
}

struct sig_rule sig_rule_key(void)
{
	return (struct sig_rule){ SIG_HASH, true };
}

struct rye_span sig_shebang(struct rye_span text)
{
	const char *lf;

	if (!span_starts(text, "#!/"))
		return (struct rye_span){ text.ptr, 0 };
	lf = memchr(text.ptr, '\n', text.len);
	return (struct rye_span){ text.ptr, lf ? (size_t)(lf - text.ptr) + 1 : 0 };
}

/* ---- a reader of one line: each take_ moves s and answers whether it matched ---- */

static bool sigline_take(struct rye_span *s, const char *literal)
{
	if (!span_starts(*s, literal))
		return false;
	*s = span_skip(*s, strlen(literal));
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_b64(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       c == '-';
}

static bool take_word(struct rye_span *s, struct rye_span *ret)
{
	size_t n = 0;

	while (n < s->len && is_b64(s->ptr[n]))
		n++;
	*ret = (struct rye_span){ s->ptr, n };
	*s = span_skip(*s, n);
	return n > 0;
}

static bool take_stamp(struct rye_span *s, struct rye_span *ret)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	const size_t n = sizeof(form) - 1;

	if (s->len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (form[i] == 'd' ? !is_digit(s->ptr[i]) : s->ptr[i] != form[i])
			return false;
	*ret = (struct rye_span){ s->ptr, n };
	*s = span_skip(*s, n);
	return true;
}

static bool take_hex(struct rye_span *s, size_t n, struct rye_span *ret)
{
	*ret = (struct rye_span){ s->ptr, n };
	if (s->len < n || !is_hex_lower(*ret))
		return false;
	*s = span_skip(*s, n);
	return true;
}

static bool take_sig(struct rye_span *s, struct rye_span *ret)
{
	if (!take_word(s, ret))
		return false;
	for (int pad = 0; pad < 2 && sigline_take(s, "="); pad++)
		ret->len++;
	return true;
}

static void take_provider(struct rye_span *s, struct sig_head *head)
{
	struct rye_span at = *s, provider, user;

	if (sigline_take(&at, "|") && take_word(&at, &provider) && sigline_take(&at, "@") &&
	    take_word(&at, &user)) {
		head->provider = provider;
		head->user = user;
		*s = at;
	}
}

/* The line at text: its bytes without LF, and with it. */
static struct rye_span line_at(struct rye_span text, struct rye_span *ret_whole)
{
	const char *lf = memchr(text.ptr, '\n', text.len);
	size_t n = lf ? (size_t)(lf - text.ptr) : text.len;

	*ret_whole = (struct rye_span){ text.ptr, lf ? n + 1 : n };
	return (struct rye_span){ text.ptr, n };
}

static bool take_fields(struct rye_span *s, struct sig_head *head)
{
	return sigline_take(s, "rye:signed:") && take_stamp(s, &head->stamp) &&
	       sigline_take(s, ":") && take_hex(s, 64, &head->hash) && sigline_take(s, ":") &&
	       take_sig(s, &head->sig) && sigline_take(s, ":") && take_hex(s, 16, &head->fp);
}

static bool sigline_take_signed(struct sig_rule rule, struct rye_span text, struct sig_head *head)
{
	struct rye_span whole, s = line_at(text, &whole);

	if (!sigline_take(&s, styles[rule.style].open) || !take_fields(&s, head))
		return false;
	take_provider(&s, head);
	/*
	 * A comment that ends on a later line is none of ours: hashing would leave out all of it,
	 * reading only its first line.
	 */
	if (rule.style == SIG_HTML && span_find(s, 0, "-->") < 0)
		return false;
	head->junk = !span_eq(s, styles[rule.style].close);
	head->unclosed = rule.style == SIG_HTML && !span_starts(s, styles[rule.style].close);
	head->line = whole;
	return true;
}

bool sig_fields_of(struct rye_span text, struct sig_head *ret)
{
	*ret = (struct sig_head){ 0 };
	ret->line = text;
	return take_fields(&text, ret) && !text.len;
}

#define BINDING_SIG 86 /* characters of 64 bytes in unpadded base64url */

static enum sig_binding take_binding(struct sig_rule rule, struct rye_span text,
				     struct sig_head *head)
{
	struct rye_span whole, s = line_at(text, &whole), sig, fp;

	if (!sigline_take(&s, styles[rule.style].open) || !sigline_take(&s, "rye:full:"))
		return BINDING_NONE;
	if (!sigline_take(&s, "1:") || !take_word(&s, &sig) || sig.len != BINDING_SIG ||
	    !sigline_take(&s, ":") || !take_hex(&s, 16, &fp) ||
	    !span_eq(s, styles[rule.style].close) || !span_ends(whole, "\n"))
		return BINDING_MALFORMED;
	head->bind_line = whole;
	head->bind_sig = sig;
	head->bind_fp = fp;
	return BINDING_PRESENT;
}

void sig_head_of(struct sig_rule rule, struct rye_span text, struct sig_head *ret)
{
	struct rye_span rest = text;

	*ret = (struct sig_head){ .shebang = { text.ptr, 0 } };
	if (rule.after_shebang) {
		ret->shebang = sig_shebang(text);
		rest = span_skip(rest, ret->shebang.len);
	}
	if (sigline_take_signed(rule, rest, ret)) {
		rest = span_skip(rest, ret->line.len);
		ret->binding = take_binding(rule, rest, ret);
		rest = span_skip(rest, ret->bind_line.len);
	}
	ret->rest = rest;
}

struct rye_span sig_binding_at(struct sig_rule rule, struct rye_span text)
{
	struct sig_head head = { 0 };

	take_binding(rule, text, &head);
	return head.bind_line;
}

static bool take_old_mark(struct rye_span *s)
{
	return (sigline_take(s, "rye:") || sigline_take(s, "kiwi-mcp:")) &&
	       (sigline_take(s, "validated:") || sigline_take(s, "signed:"));
}

/* Through the first '>' when "-->" and a LF are there, with at least one character inside. */
static size_t old_html(struct rye_span text)
{
	struct rye_span s = text;
	const char *end;
	size_t n;

	if (!sigline_take(&s, styles[SIG_HTML].open) || !take_old_mark(&s))
		return 0;
	end = memchr(s.ptr, '>', s.len);
	n = end ? (size_t)(end - s.ptr) : 0;
	if (n < 3 || end[-1] != '-' || end[-2] != '-' || n + 1 >= s.len || end[1] != '\n')
		return 0;
	return (size_t)(end - text.ptr) + 2;
}

static size_t old_line(struct sig_rule rule, struct rye_span text)
{
	struct rye_span whole, s = line_at(text, &whole);

	if (rule.style == SIG_HTML)
		return old_html(text);
	if (!sigline_take(&s, styles[rule.style].open) || !take_old_mark(&s) || !s.len ||
	    !span_ends(whole, "\n"))
		return 0;
	return whole.len;
}

struct rye_span sig_unclosed_at(struct sig_rule rule, struct rye_span text)
{
	struct rye_span whole, s = line_at(text, &whole);

	if (rule.style != SIG_HTML || !sigline_take(&s, styles[SIG_HTML].open) ||
	    !take_old_mark(&s) || span_find(s, 0, "-->") >= 0)
		whole.len = 0;
	return whole;
}

void sig_cut_of(struct sig_rule rule, struct rye_span text, struct sig_cut *ret)
{
	struct rye_span rest = text;

	*ret = (struct sig_cut){ .shebang = { text.ptr, 0 } };
	if (rule.style != SIG_HTML) {
		ret->shebang = sig_shebang(text);
		rest = span_skip(rest, ret->shebang.len);
	}
	ret->line = (struct rye_span){ rest.ptr, old_line(rule, rest) };
	ret->rest = span_skip(rest, ret->line.len);
}

size_t sig_line_put(struct sig_rule rule, char line[SIG_LINE_MAX], const char *fields)
{
	int n = snprintf(line, SIG_LINE_MAX, "%s%s%s\n", styles[rule.style].open, fields,
			 styles[rule.style].close);

	return n < 0 || n >= SIG_LINE_MAX ? 0 : (size_t)n;
}
