/* SPDX-License-Identifier: MIT */
/*
 * Verification of bytes in memory, in the format's order: UTF-8, signed?, hash, key known?,
 * signature; then coverage (coverage.c) and, for directives, that the element to be parsed is
 * the signed one. The text handed out is the very text that was checked. Runs on many threads
 * at once: holds a trust snapshot, no lock.
 */
#include "trust/trust.h"

#include "base/id.h"
#include "memory.h"
#include "parse/parse.h"
#include "scope.h"
#include "str.h"
#include "trust/trust_inner.h"

#include <stdio.h>
#include <string.h>

static void check_done(struct check *c)
{
	rye_blob_unref(c->lf);
	trust_put(c->trust);
}

static int unknown_extension(const struct verify_ask *ask, struct rye_err *err)
{
	const char *slash = strrchr(ask->path, '/');
	const char *kind = rye_kind_name(ask->kind);

	return rye_fail(err, RYE_INVALID,
			"No signature format configured for extension '%s' (kind: %s, file: %s). "
			"Add it to the %s extractor's signature_formats or signature_format.",
			ask->ext, kind, slash ? slash + 1 : ask->path, kind);
}

static bool is_key_place(const struct verify_ask *ask)
{
	return ask->kind == RYE_CONFIG &&
	       (!strncmp(ask->id, "keys/trusted/", 13) || !strncmp(ask->id, "keys/automatic/", 15));
}

/* Decoding: nothing is said about trust yet, so nothing here is an integrity error. */
static int verify_prepare(struct check *c, struct rye_err *err)
{
	const struct verify_ask *ask = c->ask;

	if (!sig_rule_of(ask->kind, ask->ext, &c->rule))
		return unknown_extension(ask, err);
	if (is_key_place(ask))
		c->rule = sig_rule_key();
	if (!utf8_valid(ask->raw))
		return rye_fail(err, RYE_UNPARSABLE, "Not valid UTF-8: %s", ask->path);
	/* where C sees an end, shells and interpreters each see something else */
	if (ask->raw.len && memchr(ask->raw.ptr, 0, ask->raw.len))
		return rye_fail(err, RYE_UNPARSABLE, "Holds a NUL byte: %s", ask->path);
	c->text = ask->raw;
	if (ask->raw.len && memchr(ask->raw.ptr, '\r', ask->raw.len)) {
		c->lf = digest_newlines(ask->raw);
		if (!c->lf)
			return memory_fail(err);
		c->text = (struct rye_span){ c->lf->data, c->lf->len };
	}
	sig_head_of(c->rule, c->text, &c->head);
	c->raw = c->head;
	if (c->lf)
		sig_head_of(c->rule, ask->raw, &c->raw);
	return 0;
}

static void verify_copy(char *ret, size_t size, struct rye_span s)
{
	snprintf(ret, size, "%.*s", (int)s.len, s.len ? s.ptr : "");
}

static void verify_describe(struct check *c)
{
	const struct sig_head *head = &c->head;

	verify_copy(c->v->fingerprint, sizeof(c->v->fingerprint), head->fp);
	verify_copy(c->v->signed_at, sizeof(c->v->signed_at), head->stamp);
	verify_copy(c->v->provider, sizeof(c->v->provider), head->provider);
	verify_copy(c->v->provider_user, sizeof(c->v->provider_user), head->user);
	c->trust = trust_get(c->env->trust);
	c->key = trust_find(c->trust, head->fp);
	snprintf(c->v->owner, sizeof(c->v->owner), "%s", c->key ? c->key->owner : "unknown");
}

/* The format's own checks, in its order. */
static int check_signature(struct check *c, struct rye_err *err)
{
	const struct verify_ask *ask = c->ask;
	struct rye_span region;
	char ref[1100];

	/* Strictly it is a spoilt line, which tells more; nothing is served either way. */
	if (!c->head.line.len || (c->head.unclosed && ask->compat))
		return refuse_unsigned(ask, err);
	verify_describe(c);
	if (c->head.junk && !ask->compat)
		return refuse_line(ask, c->v, err);
	if (!digest_region(ask->kind, c->rule, c->text, &region))
		return rye_fail(err, RYE_UNPARSABLE, "No XML directive found in content");
	sha256_hex(region, c->v->hash);
	if (!span_eq(c->head.hash, c->v->hash))
		return refuse_modified(ask, c->v, c->head.hash, err);
	if (!c->key)
		return refuse_untrusted(ask, c->v, c->trust, err);
	snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(ask->kind), ask->id);
	if (!trust_covers(c->key, ref))
		return refuse_scope(ask, c->v, c->key, err);
	/* of the same bytes the same key has made the same signature */
	if (!c->known && !trust_check(c->env->trust, c->key, c->head.sig, c->head.hash))
		return refuse_signature(ask, c->v, err);
	return 0;
}

/* Dev mode: the refusal becomes the notice. */
static void verify_soften(struct check *c, const struct rye_err *err)
{
	char line[400];

	rye_err_line(err, line, sizeof(line));
	snprintf(c->v->notice, sizeof(c->v->notice), "[DEV MODE] %s — executing anyway", line);
	snprintf(c->v->hash, sizeof(c->v->hash), "unverified");
	snprintf(c->v->coverage, sizeof(c->v->coverage), "none");
	c->v->dev = true;
	c->v->bound = false;
}

/* A new text in which an empty line stands for the unsigned shebang. */
static struct rye_blob *without_shebang(const struct check *c, struct rye_span shebang)
{
	size_t before = (size_t)(shebang.ptr - c->text.ptr);
	struct rye_span after = span_skip(c->text, before + shebang.len);
	struct rye_blob *blob = rye_blob_new(NULL, c->text.len - shebang.len + 1);

	if (!blob)
		return NULL;
	memcpy(blob->data, c->text.ptr, before);
	blob->data[before] = '\n';
	memcpy(blob->data + before + 1, after.ptr, after.len);
	return blob;
}

static struct rye_span in_blob(const struct rye_blob *blob, size_t from, size_t to)
{
	return (struct rye_span){ blob->data + from, to - from };
}

/* Compat: CR is read as LF, an unsigned shebang as an empty line. */
static int serve_compat(struct check *c, struct verified *ret, struct rye_err *err)
{
	struct rye_span shebang = coverage_open_shebang(c);
	size_t header = c->head.line.len + c->head.bind_line.len, first = c->head.shebang.len;

	ret->text = rye_blob_ref(c->lf);
	if (shebang.len && !c->v->bound && !c->v->dev) {
		rye_blob_unref(ret->text);
		ret->text = without_shebang(c, shebang);
		if (!ret->text)
			return memory_fail(err);
		first = first ? 1 : 0;
	}
	if (!ret->text) {
		ret->shebang = c->head.shebang;
		ret->body = c->head.rest;
		return 0;
	}
	ret->shebang = in_blob(ret->text, 0, first);
	ret->body = in_blob(ret->text, first + header, ret->text->len);
	return 0;
}

/*
 * Where the element stands is looked for in the whole text, header lines too, as it was when the
 * element was hashed: what is parsed can be no other.
 */
static int find_shape(const struct check *c, struct verified *ret, struct rye_err *err)
{
	struct rye_span *preamble = &ret->shape.preamble, text = c->ask->raw;
	int r;

	if (ret->text)
		text = in_blob(ret->text, 0, ret->text->len);
	r = directive_shape(text, &ret->shape, err);
	/* the header lines are in front of it, they are no part of it */
	if (!r && preamble->len && preamble->ptr < ret->body.ptr) {
		size_t n = (size_t)(ret->body.ptr - preamble->ptr);

		*preamble = n < preamble->len ? span_strip_unicode(span_skip(*preamble, n)) :
						(struct rye_span){ ret->body.ptr, 0 };
	}
	return r;
}

static int verify_serve(struct check *c, struct verified *ret, struct rye_err *err)
{
	int r = 0;

	ret->shebang = c->raw.shebang;
	ret->body = c->raw.rest;
	if (c->ask->compat)
		r = serve_compat(c, ret, err);
	if (!r && rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT))
		r = find_shape(c, ret, err);
	if (r < 0)
		rye_blob_unref(steal(&ret->text));
	return r;
}

/* Configuration that only a tool reads may lie there unsigned (docs/items.md, Configuration). */
static bool verify_may_be_unsigned(const struct check *c)
{
	return c->ask->unsigned_ok && c->ask->kind == RYE_CONFIG && !c->head.line.len;
}

static int verify_judge(struct check *c, struct rye_err *err)
{
	int r = verify_prepare(c, err);

	if (!r && verify_may_be_unsigned(c)) {
		snprintf(c->v->notice, sizeof(c->v->notice), "unsigned");
		return 0;
	}
	if (!r)
		r = check_signature(c, err);
	return r ? r : coverage_check(c, err);
}

int verify_bytes(const struct item_env *env, const struct verify_ask *ask, struct verified *ret,
		 struct rye_err *err)
{
	__attribute__((cleanup(check_done))) struct check c = { .env = env,
								.ask = ask,
								.v = &ret->verdict };
	struct rye_err why = { 0 };
	int r;

	*ret = (struct verified){ 0 };
	snprintf(ret->verdict.coverage, sizeof(ret->verdict.coverage), "none");
	sha256_of(ask->raw, ret->verdict.sha);
	hex_of(ret->verdict.sha, SHA_LEN, ret->verdict.sha256);
	/* in dev mode what was let pass may have been refused */
	c.known = ret->known = ask->known && !ask->dev &&
			       !memcmp(ask->known, ret->verdict.sha, SHA_LEN);
	r = verify_judge(&c, &why);
	if (r < 0 && ask->dev && rye_code_integrity(why.code)) {
		verify_soften(&c, &why);
		r = 0;
	}
	if (!r)
		r = verify_serve(&c, ret, &why);
	if (r < 0) {
		ret->verdict.code = why.code;
		if (err)
			*err = why;
	}
	return r;
}
