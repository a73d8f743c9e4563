/* SPDX-License-Identifier: MIT */
/*
 * Coverage: the part of verification that the format itself does not have. Strict accepts what
 * the binding line covers whole, and knowledge whose signed metadata names its own place;
 * compat accepts what the reference accepts and says what is open. Called by verify.c only,
 * after the signature is known to be good and trusted.
 */
#include "base/id.h"
#include "format/format.h"
#include "parse/parse.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust_inner.h"

#include <stdio.h>

/* ---- the binding line ---- */

/* A trust-store file is its own place: name, fingerprint and key have to agree. */
static bool is_key_file(const struct check *c)
{
	return c->ask->kind == RYE_CONFIG && !strcmp(c->ask->ext, ".toml") &&
	       (!strncmp(c->ask->id, "keys/trusted/", 13) ||
		!strncmp(c->ask->id, "keys/automatic/", 15));
}

/*
 * These bytes were verified in this place before, and strictly no line that does not hold ever is:
 * what was computed then is not computed again. Only a trust-store file is taken whatever its line
 * says, and in compat every file.
 */
static bool binding_known(const struct check *c)
{
	return c->known && !c->ask->compat && !is_key_file(c);
}

/* Over the raw bytes: a file with CRs is bound only when it was signed with them. */
static bool binding_holds(struct check *c)
{
	struct digest_place place = { c->ask->kind, c->ask->id, c->ask->ext };
	char message[DIGEST_BINDING_MAX];
	const struct sig_head *raw = &c->raw;
	size_t n;

	if (raw->binding != BINDING_PRESENT || !span_eq(raw->bind_fp, c->v->fingerprint))
		return false;
	n = digest_binding(&place, raw, message);
	if (!n || binding_known(c))
		return n;
	return trust_check(c->env->trust, c->key, raw->bind_sig, (struct rye_span){ message, n });
}

/* ---- what the signed metadata says of the place ---- */

struct coverage_place {
	bool known; /* there is signed metadata */
	char name[256], category[1024];
	bool has_name, has_category;
};

static bool take_string(const json_t *meta, const char *key, char *ret, size_t size)
{
	const char *text = json_string_value(json_object_get(meta, key));

	if (!text)
		return false;
	snprintf(ret, size, "%s", text);
	return true;
}

static void place_from(const struct check *c, const json_t *meta, struct coverage_place *ret)
{
	const json_t *data = json_object_get(meta, "data");

	ret->known = true;
	if (rye_kind_has(c->ask->kind, RYE_KIND_PROCESS))
		ret->has_category =
			take_string(meta, "__category__", ret->category, sizeof(ret->category));
	if (!ret->has_category)
		ret->has_category =
			take_string(meta, "category", ret->category, sizeof(ret->category));
	if (!ret->has_category && json_is_object(data))
		ret->has_category =
			take_string(data, "category", ret->category, sizeof(ret->category));
	if (rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT | RYE_KIND_FRONT))
		ret->has_name = take_string(meta, "name", ret->name, sizeof(ret->name));
	if (rye_kind_has(c->ask->kind, RYE_KIND_FRONT) && !json_object_get(meta, "name"))
		ret->has_name = take_string(meta, "id", ret->name, sizeof(ret->name));
}

static void signed_place(const struct check *c, struct coverage_place *ret)
{
	const struct parser *parser = parse_row(c->ask->kind, c->ask->ext);
	struct rye_err ignored = { 0 };
	auto_json json_t *meta = NULL;

	*ret = (struct coverage_place){ 0 };
	/* the block between "---" lines is not hashed: it may say anything */
	if (rye_kind_has(c->ask->kind, RYE_KIND_FRONT) && digest_is_dashed(c->rule, c->text))
		return;
	if (parser)
		meta = parser->parse(c->head.rest, &ignored);
	if (json_is_object(meta))
		place_from(c, meta, ret);
}

static bool category_here(const struct check *c, const struct coverage_place *p)
{
	struct rye_span here = space_category(c->ask->id);

	return span_eq(here, p->category);
}

static bool name_here(const struct check *c, const struct coverage_place *p)
{
	return !strcmp(p->name, space_stem(c->ask->id));
}

/* ---- strict ---- */

/* Signed over all its bytes, and the signed metadata says which item this is. */
static int foreign_knowledge(struct check *c, struct rye_err *err)
{
	struct fence fence;
	struct coverage_place p;

	if (c->lf)
		return refuse_uncovered(c->ask, c->v, false, "its line ends (CR)", err);
	if (!fence_find(c->head.rest, "yaml", &fence))
		return refuse_uncovered(c->ask, c->v, false, "its name and category", err);
	signed_place(c, &p);
	if (!p.has_name || !p.has_category)
		return refuse_uncovered(c->ask, c->v, false,
					p.has_name ? "its category" : "its name", err);
	if (!name_here(c, &p) || !category_here(c, &p))
		return refuse_uncovered(c->ask, c->v, true, "another name or category", err);
	snprintf(c->v->coverage, sizeof(c->v->coverage), "content");
	return 0;
}

static int key_file(struct check *c, struct rye_err *err)
{
	__attribute__((cleanup(trustfile_done))) struct trustfile file = { 0 };
	struct rye_err why = { 0 };

	if (trustfile_read(c->ask->raw, space_stem(c->ask->id), &file, &why) < 0)
		return refuse_uncovered(c->ask, c->v, true, why.msg, err);
	snprintf(c->v->coverage, sizeof(c->v->coverage), "content");
	return 0;
}

static int check_strict(struct check *c, struct rye_err *err)
{
	if (is_key_file(c))
		return key_file(c, err);
	if (c->head.binding == BINDING_PRESENT)
		return refuse_uncovered(c->ask, c->v, true,
					"a rye:full line that does not match these bytes, this "
					"place or this signer",
					err);
	if (c->head.binding == BINDING_MALFORMED)
		return refuse_uncovered(c->ask, c->v, false, "a malformed rye:full line", err);
	if (rye_kind_has(c->ask->kind, RYE_KIND_FRONT) && !digest_is_dashed(c->rule, c->text))
		return foreign_knowledge(c, err);
	return refuse_uncovered(
		c->ask, c->v, false,
		rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT) ? "the text around its XML" :
		rye_kind_has(c->ask->kind, RYE_KIND_FRONT)   ? "the block between its --- lines" :
							       "its shebang, name and kind",
		err);
}

/* ---- compat ---- */

static void open_part(struct check *c, const char *what)
{
	size_t n = strlen(c->v->notice);

	snprintf(c->v->notice + n, sizeof(c->v->notice) - n, "%s%s",
		 n ? ", " : "not covered by the signature: ", what);
}

struct rye_span coverage_open_shebang(const struct check *c)
{
	struct rye_span none = { c->text.ptr, 0 };

	if (c->rule.style == SIG_HTML || !c->head.line.len)
		return none;
	if (c->head.shebang.len)
		return c->head.shebang;
	return c->head.bind_line.len ? none : sig_shebang(c->head.rest);
}

static void open_place(struct check *c, const struct coverage_place *p)
{
	if (rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT))
		open_part(c, p->has_name && p->has_category ? "its kind" : "its place and kind");
	else if (!rye_kind_has(c->ask->kind, RYE_KIND_FRONT))
		open_part(c, p->has_category ? "its name and kind" : "its place and kind");
	else if (!p->has_name || !p->has_category)
		open_part(c, "its place and kind");
}

static void tell_open(struct check *c, const struct coverage_place *p)
{
	if (c->head.junk)
		open_part(c, "the text behind the signature");
	if (c->v->bound)
		return;
	if (c->head.binding == BINDING_PRESENT)
		open_part(c, "what its stale rye:full line was for");
	if (c->lf)
		open_part(c, "its line ends (CR is read as LF)");
	if (rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT))
		open_part(c, "the text before and after its XML");
	if (rye_kind_has(c->ask->kind, RYE_KIND_FRONT) && digest_is_dashed(c->rule, c->text))
		open_part(c, "the block between its --- lines");
	if (coverage_open_shebang(c).len)
		open_part(c, "its shebang line (not used)");
	open_place(c, p);
}

static int check_compat(struct check *c, struct rye_err *err)
{
	char where[300];
	struct coverage_place p;

	signed_place(c, &p);
	snprintf(where, sizeof(where), "category '%.200s'", p.category);
	if (p.has_category && !category_here(c, &p))
		return refuse_moved(c->ask, c->v, where, err);
	snprintf(where, sizeof(where), "name '%.200s'", p.name);
	if (p.has_name && !name_here(c, &p))
		return refuse_moved(c->ask, c->v, where, err);
	snprintf(c->v->coverage, sizeof(c->v->coverage), "%s",
		 rye_kind_has(c->ask->kind, RYE_KIND_ELEMENT) ? "metadata" : "content");
	tell_open(c, &p);
	return 0;
}

int coverage_check(struct check *c, struct rye_err *err)
{
	c->v->bound = binding_holds(c);
	/* what is bound begins behind the signature line: a CR on it is not covered */
	if (c->v->bound && c->raw.junk && !c->ask->compat) {
		c->v->bound = false;
		return refuse_line(c->ask, c->v, err);
	}
	if (c->v->bound) {
		snprintf(c->v->coverage, sizeof(c->v->coverage), "full");
		tell_open(c, &(struct coverage_place){ 0 });
		return 0;
	}
	/* a manifest vouches for files that have no signature of their own: it has both lines always */
	if (c->ask->compat && !rye_kind_has(c->ask->kind, RYE_KIND_MANIFEST))
		return check_compat(c, err);
	return check_strict(c, err);
}
