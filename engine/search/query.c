/* SPDX-License-Identifier: MIT */
/*
 * or := and ("OR" and)*   and := not (["AND"] not)*   not := ["NOT"] primary
 * primary := "(" or ")" | "phrase" | word
 * Keywords in any case, but only before a blank or the end. Where a term is wanted and a
 * keyword stands, the keyword is taken for a missing term. Pure; one query is used by any
 * number of threads once it is parsed.
 */
#include "search/search.h"

#include "bounds.h"
#include "buf.h"
#include "memory.h"
#include "scope.h"
#include "search/search_inner.h"
#include "str.h"

#include <ctype.h>

enum sort { ALL, TEXT, GLOB, NOT, AND, OR };

struct term {
	enum sort sort;
	uint16_t left, right; /* of terms[] */
	const char *text; /* in query.text */
	size_t len;
};

struct query {
	char *text; /* lower-cased */
	struct query_opt opt;
	bool empty;
	uint16_t root, n;
	struct term terms[RYE_QUERY_TERMS];
};

struct query_parser {
	struct query *query;
	const char *at;
	int depth;
	bool too_big;
};

/* ---- lower case ---- */

static uint32_t lower_char(uint32_t cp)
{
	if (cp < 0x80)
		return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
	if ((cp >= 0xc0 && cp <= 0xde && cp != 0xd7) || (cp >= 0x391 && cp <= 0x3a9) ||
	    (cp >= 0x410 && cp <= 0x42f))
		return cp + 32;
	if (cp >= 0x400 && cp <= 0x40f)
		return cp + 80;
	/* Pairs, the capital first: even in most of Latin Extended-A, odd in two runs of it. */
	if ((cp >= 0x139 && cp <= 0x148) || (cp >= 0x179 && cp <= 0x17e))
		return cp + (cp & 1);
	if ((cp >= 0x100 && cp <= 0x177 && cp != 0x130 && cp != 0x131 && cp != 0x138) ||
	    (cp >= 0x460 && cp <= 0x4bf) || (cp >= 0x1e00 && cp <= 0x1eff))
		return cp | 1;
	return cp;
}

/* A run of ASCII bytes, as far as it goes and the piece has room. */
static size_t lower_run(struct rye_span text, struct rye_buf *out)
{
	char piece[512];
	size_t n = 0;

	while (n < text.len && n < sizeof(piece) && (unsigned char)text.ptr[n] < 0x80) {
		piece[n] = (char)lower_char((unsigned char)text.ptr[n]);
		n++;
	}
	buf_add(out, piece, n);
	return n;
}

static size_t lower_one(struct rye_span text, struct rye_buf *out)
{
	uint32_t cp;
	char bytes[4];
	size_t n = utf8_next(text, &cp);

	if (n)
		buf_add(out, bytes, utf8_put(bytes, lower_char(cp)));
	else
		buf_add(out, text.ptr, 1);
	return n ? n : 1;
}

void query_lower(struct rye_span text, struct rye_buf *out)
{
	while (text.len) {
		size_t n = lower_run(text, out);

		text = span_skip(text, n);
		if (!n)
			text = span_skip(text, lower_one(text, out));
	}
}

/* ---- parsing ---- */

static uint16_t query_add(struct query_parser *p, struct term term)
{
	struct query *query = p->query;

	if (query->n == RYE_QUERY_TERMS) {
		p->too_big = true;
		return 0;
	}
	query->terms[query->n] = term;
	return query->n++;
}

static void skip_blanks(struct query_parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool is_keyword(const struct query_parser *p, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(p->at, word, n) && (!p->at[n] || isspace((unsigned char)p->at[n]));
}

static bool take_keyword(struct query_parser *p, const char *word)
{
	skip_blanks(p);
	if (!is_keyword(p, word))
		return false;
	p->at += strlen(word);
	return true;
}

static bool take_any_keyword(struct query_parser *p)
{
	return take_keyword(p, "and") || take_keyword(p, "or") || take_keyword(p, "not");
}

static uint16_t text_term(struct query_parser *p, enum sort sort, size_t len)
{
	struct term term = { .sort = sort, .text = p->at, .len = len };

	p->at += len;
	p->query->empty = false;
	return query_add(p, term);
}

static uint16_t parse_or(struct query_parser *p);

static uint16_t parse_group(struct query_parser *p)
{
	uint16_t inner;

	p->at++;
	if (++p->depth > RYE_QUERY_DEPTH) {
		p->too_big = true;
		return 0;
	}
	inner = parse_or(p);
	p->depth--;
	skip_blanks(p);
	if (*p->at == ')')
		p->at++;
	return inner;
}

static uint16_t parse_primary(struct query_parser *p)
{
	size_t len;
	uint16_t term;

	skip_blanks(p);
	if (*p->at == '(')
		return parse_group(p);
	if (*p->at == '"') {
		p->at++;
		term = text_term(p, TEXT, strcspn(p->at, "\""));
		p->at += *p->at == '"';
		return term;
	}
	if (take_any_keyword(p))
		return query_add(p, (struct term){ .sort = ALL });
	len = strcspn(p->at, " \t\n\v\f\r()\"");
	if (!len)
		return query_add(p, (struct term){ .sort = ALL });
	return text_term(p, memchr(p->at, '*', len) ? GLOB : TEXT, len);
}

static uint16_t parse_not(struct query_parser *p)
{
	if (!take_keyword(p, "not"))
		return parse_primary(p);
	p->query->empty = false;
	return query_add(p, (struct term){ .sort = NOT, .left = parse_primary(p) });
}

static uint16_t parse_and(struct query_parser *p)
{
	uint16_t left = parse_not(p);

	while (!p->too_big) {
		bool joined = take_keyword(p, "and");

		skip_blanks(p);
		/* Without AND a bracket cannot follow a term: it ends the query. */
		if (!joined && (!*p->at || *p->at == '(' || *p->at == ')' || is_keyword(p, "or")))
			break;
		left = query_add(p,
				 (struct term){ .sort = AND, .left = left, .right = parse_not(p) });
	}
	return left;
}

static uint16_t parse_or(struct query_parser *p)
{
	uint16_t left = parse_and(p);

	while (!p->too_big && take_keyword(p, "or"))
		left = query_add(p,
				 (struct term){ .sort = OR, .left = left, .right = parse_and(p) });
	return left;
}

int query_parse(const char *text, const struct query_opt *opt, struct query **ret,
		struct rye_err *err)
{
	auto_query struct query *query = calloc(1, sizeof(*query));
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct query_parser p = { .query = query };

	if (strlen(text) > RYE_QUERY_MAX)
		return rye_fail(err, RYE_TOO_BIG, "query of %zu bytes, at most %d are taken",
				strlen(text), RYE_QUERY_MAX);
	query_lower(span_of(text), &buf);
	buf_adds(&buf, "");
	if (!query || buf.failed)
		return memory_fail(err);
	query->text = buf_steal(&buf);
	query->empty = true;
	if (opt)
		query->opt = *opt;
	p.at = query->text;
	query->root = parse_or(&p);
	if (p.too_big)
		return rye_fail(err, RYE_TOO_BIG, "query with more than %d terms or %d brackets",
				RYE_QUERY_TERMS, RYE_QUERY_DEPTH);
	*ret = steal(&query);
	return 0;
}

void query_free(struct query *query)
{
	if (query)
		free(query->text);
	free(query);
}

bool query_empty(const struct query *query)
{
	return query->empty;
}

/* ---- matching ---- */

/* '*' matches any run; linear but for restarts, as in glob_match. */
static bool token_match(const char *glob, size_t n, struct rye_span token)
{
	size_t g = 0, t = 0, star = n, mark = 0;

	while (t < token.len) {
		if (g < n && glob[g] == '*') {
			star = g++;
			mark = t;
		} else if (g < n && glob[g] == token.ptr[t]) {
			g++;
			t++;
		} else if (star < n) {
			g = star + 1;
			t = ++mark;
		} else {
			return false;
		}
	}
	while (g < n && glob[g] == '*')
		g++;
	return g == n;
}

static bool word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The next word of text; *text moves behind it. */
static bool next_token(struct rye_span *text, struct rye_span *ret)
{
	size_t n = 0;

	while (text->len && !word_byte(*text->ptr))
		*text = span_skip(*text, 1);
	while (n < text->len && word_byte(text->ptr[n]))
		n++;
	*ret = (struct rye_span){ text->ptr, n };
	*text = span_skip(*text, n);
	return n > 0;
}

static bool glob_tokens(const struct term *term, struct rye_span text)
{
	struct rye_span token;

	while (next_token(&text, &token))
		if (token_match(term->text, term->len, token))
			return true;
	return false;
}

/* Longer words are compared exactly: they are seldom misspelt ones. */
#define FUZZY_BYTES 48

/* Levenshtein's distance, row by row; more than `max` is all the same. */
static bool is_near(struct rye_span a, struct rye_span b, int max)
{
	int row[FUZZY_BYTES + 1], best;

	if (a.len > FUZZY_BYTES || b.len > FUZZY_BYTES || abs((int)a.len - (int)b.len) > max)
		return false;
	for (int j = 0; j <= (int)b.len; j++)
		row[j] = j;
	for (int i = 1; i <= (int)a.len; i++) {
		int diagonal = row[0];

		best = row[0] = i;
		for (int j = 1; j <= (int)b.len; j++) {
			int cost = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			int step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = cost < step ? cost : step;
			best = row[j] < best ? row[j] : best;
		}
		if (best > max)
			return false;
	}
	return row[b.len] <= max;
}

static bool fuzzy_tokens(const struct query *query, const struct term *term, struct rye_span text)
{
	struct rye_span token;

	while (query->opt.fuzzy > 0 && next_token(&text, &token))
		if (is_near((struct rye_span){ term->text, term->len }, token, query->opt.fuzzy))
			return true;
	return false;
}

static bool text_match(const struct query *query, const struct term *term, struct rye_span text)
{
	if (!term->len)
		return true;
	if (text.len >= term->len && memmem(text.ptr, text.len, term->text, term->len))
		return true;
	return fuzzy_tokens(query, term, text);
}

/* Depth is bounded by RYE_QUERY_TERMS: a row of ANDs leans to the left. */
static bool match_term(const struct query *query, uint16_t at, struct rye_span text)
{
	const struct term *term = &query->terms[at];

	switch (term->sort) {
	case TEXT:
		return text_match(query, term, text);
	case GLOB:
		return glob_tokens(term, text);
	case NOT:
		return !match_term(query, term->left, text);
	case AND:
		return match_term(query, term->left, text) && match_term(query, term->right, text);
	case OR:
		return match_term(query, term->left, text) || match_term(query, term->right, text);
	default:
		return true;
	}
}

bool query_match(const struct query *query, struct rye_span text)
{
	return match_term(query, query->root, text);
}

/* Each piece of a glob between its stars lies within one word. */
static bool glob_may(const struct term *term, struct rye_span sieve)
{
	size_t at = 0;

	while (at < term->len) {
		size_t n = 0;

		while (at + n < term->len && term->text[at + n] != '*')
			n++;
		if (!sieve_may(sieve, (struct rye_span){ term->text + at, n }))
			return false;
		at += n + 1;
	}
	return true;
}

static bool may_term(const struct query *query, uint16_t at, struct rye_span sieve)
{
	const struct term *term = &query->terms[at];

	switch (term->sort) {
	case TEXT:
		return query->opt.fuzzy > 0 ||
		       sieve_may(sieve, (struct rye_span){ term->text, term->len });
	case GLOB:
		return glob_may(term, sieve);
	case AND:
		return may_term(query, term->left, sieve) && may_term(query, term->right, sieve);
	case OR:
		return may_term(query, term->left, sieve) || may_term(query, term->right, sieve);
	default:
		return true;
	}
}

bool query_may(const struct query *query, struct rye_span sieve)
{
	return may_term(query, query->root, sieve);
}

bool query_grows(const struct query *query)
{
	for (int i = 0; i < query->n; i++)
		if (query->terms[i].sort == NOT)
			return false;
	return true;
}

/* Words as numbers: where each term was seen last, and how far these places are apart. */
bool query_near(const struct query *query, struct rye_span text)
{
	long last[RYE_QUERY_TERMS], word = 0;
	struct rye_span token;

	if (query->opt.proximity <= 0)
		return true;
	for (int i = 0; i < query->n; i++)
		last[i] = -1;
	for (; next_token(&text, &token); word++) {
		long low = word, missing = 0;

		for (int i = 0; i < query->n; i++) {
			const struct term *term = &query->terms[i];

			if (term->sort != TEXT && term->sort != GLOB)
				continue;
			if (match_term(query, (uint16_t)i, token))
				last[i] = word;
			missing += last[i] < 0;
			low = last[i] < low ? last[i] : low;
		}
		if (!missing && word - low <= query->opt.proximity)
			return true;
	}
	return false;
}
