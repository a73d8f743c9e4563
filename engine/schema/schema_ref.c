/* SPDX-License-Identifier: MIT */
/*
 * Where $ref, $dynamicRef and $recursiveRef lead, all within one document: by a pointer ("#/$defs/a"),
 * by the name of a place ($anchor, $dynamicAnchor), by the address that a part has given itself ($id).
 * No other document is ever looked for. Names are collected once, when the first is asked for. What
 * the check has come through on its way, from part to part, is the list of its scopes. Pure.
 */
#include "schema/schema_inner.h"

#include "base/json.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

/* What a document without an address has; addresses in it begin here. */
#define NO_ADDRESS "schema:///"

static const char *const schema_ref_words[SCHEMA_REFS] = { "$ref", "$dynamicRef", "$recursiveRef" };

bool schema_refers(const json_t *schema)
{
	for (size_t i = 0; i < SCHEMA_REFS; i++)
		if (json_object_get(schema, schema_ref_words[i]))
			return true;
	return false;
}

/* ---- pointers ---- */

static int pointer_hex(char c)
{
	return c >= '0' && c <= '9'		  ? c - '0' :
	       (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 :
						    -1;
}

/* The next word of a pointer, "a~1b%20c" → "a/b c"; *at moves behind it. */
static void pointer_word(const char **at, struct rye_buf *ret)
{
	const char *p = *at;

	buf_clear(ret);
	buf_adds(ret, "");
	for (; *p && *p != '/'; p++) {
		if (*p == '%' && pointer_hex(p[1]) >= 0 && pointer_hex(p[2]) >= 0) {
			buf_addc(ret, (char)(pointer_hex(p[1]) * 16 + pointer_hex(p[2])));
			p += 2;
		} else if (*p == '~' && (p[1] == '0' || p[1] == '1')) {
			buf_addc(ret, *++p == '0' ? '~' : '/');
		} else {
			buf_addc(ret, *p);
		}
	}
	*at = p;
}

static const json_t *pointer_step(const json_t *from, const char *word)
{
	char *end;
	unsigned long n;

	if (!json_is_array(from))
		return json_object_get(from, word);
	n = strtoul(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end ? json_array_get(from, n) : NULL;
}

/* ---- addresses ---- */

static size_t scheme_len(const char *uri)
{
	size_t n = strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

	return n && uri[n] == ':' ? n + 1 : 0;
}

/* Where the path begins; an address without "//" has none. */
static size_t path_at(const char *base)
{
	size_t at = scheme_len(base);

	if (strncmp(base + at, "//", 2) != 0)
		return 0;
	at += 2;
	return at + strcspn(base + at, "/?");
}

/* How much of a base stays before a relative address; *ref moves behind its "./" and "../". */
static size_t kept_of_base(const char *base, const char **ref)
{
	size_t path = path_at(base), n = path + strcspn(base + path, "?");

	if (**ref == '?')
		return n;
	if (**ref == '/')
		return (*ref)[1] == '/' ? scheme_len(base) : path;
	while (n > path && base[n - 1] != '/')
		n--;
	for (;;) {
		size_t up = !strncmp(*ref, "../", 3) ? 3 : !strncmp(*ref, "./", 2) ? 2 : 0;

		if (!up)
			return n;
		*ref += up;
		if (up == 3 && n > path + 1)
			for (n--; base[n - 1] != '/';)
				n--;
	}
}

/* An address as seen from another one, without its fragment; .failed: too long. */
static void join_address(const char *base, const char *ref, struct rye_buf *ret)
{
	size_t len;

	buf_clear(ret);
	if (!scheme_len(ref) && (path_at(base) || !*ref || *ref == '#')) {
		len = *ref && *ref != '#' ? kept_of_base(base, &ref) : strlen(base);
		buf_add(ret, base, len);
		if (path_at(base) == len && *ref && !strchr("/?#", *ref))
			buf_addc(ret, '/');
	}
	buf_add(ret, ref, strcspn(ref, "#"));
	buf_adds(ret, "");
}

/* ---- names ---- */

/* The address that a part has given itself; NULL: none. Up to draft 7 "#name" was the name of a place. */
static const char *own_address(const json_t *schema)
{
	const char *id = json_string_value(json_object_get(schema, "$id"));

	return id && *id != '#' ? id : NULL;
}

/* The first of a name has it. The key lives as long as the check. */
static const char *keep_name(struct schema_check *c, const char *name, const json_t *schema)
{
	if (!json_object_get(c->names, name))
		json_object_set_nocheck(c->names, name, (json_t *)schema);
	return json_object_iter_key(json_object_iter_at(c->names, name));
}

static json_t *schema_names(struct schema_check *c);

static const char *scope_address(struct schema_check *c, const struct schema_scope *scope)
{
	schema_names(c);
	return scope->address ? scope->address : c->address;
}

/* Makes it the scope of a schema that stands in it. */
static void narrow_scope(struct schema_check *c, const json_t *schema, struct schema_scope *scope)
{
	auto_buf struct rye_buf address = RYE_BUF_INIT;
	const char *own = schema == scope->whole ? NULL : own_address(schema);

	if (!own)
		return;
	join_address(scope_address(c, scope), own, &address);
	if (address.failed)
		return;
	scope->whole = schema;
	scope->address = keep_name(c, address.data, schema);
}

static void keep_anchor(struct schema_check *c, const char *address, const char *name,
			const json_t *schema)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!name)
		return;
	buf_addf(&text, "%s#%s", address, name);
	if (!text.failed)
		keep_name(c, text.data, schema);
}

static void keep_anchors(struct schema_check *c, const char *address, const json_t *schema)
{
	const char *id = json_string_value(json_object_get(schema, "$id"));

	keep_anchor(c, address, json_string_value(json_object_get(schema, "$anchor")), schema);
	keep_anchor(c, address, json_string_value(json_object_get(schema, "$dynamicAnchor")),
		    schema);
	keep_anchor(c, address, id && *id == '#' ? id + 1 : NULL, schema);
}

struct names_walk {
	struct schema_check *c;
	const char *address; /* of the part around it */
	int depth;
};

/* schema_part_fn */
static void collect_names(void *arg, const struct schema_part *part)
{
	const struct names_walk *walk = arg;
	struct schema_scope scope = { .whole = walk->c->root, .address = walk->address };
	struct names_walk inner = { walk->c, NULL, walk->depth + 1 };

	if (walk->depth > RYE_JSON_DEPTH)
		return;
	narrow_scope(walk->c, part->schema, &scope);
	keep_anchors(walk->c, scope.address, part->schema);
	inner.address = scope.address;
	schema_each_part(part->schema, collect_names, &inner);
}

/* The document's names, collected when the first of them is asked for. */
static json_t *schema_names(struct schema_check *c)
{
	auto_buf struct rye_buf address = RYE_BUF_INIT;
	const char *own = own_address(c->root);
	struct names_walk walk = { .c = c };

	if (c->names)
		return c->names;
	c->names = json_object();
	join_address(NO_ADDRESS, own ? own : "", &address);
	c->address = keep_name(c, address.failed ? "" : address.data, c->root);
	keep_anchors(c, c->address, c->root);
	walk.address = c->address;
	schema_each_part(c->root, collect_names, &walk);
	return c->names;
}

const struct schema_scope *schema_enter(struct schema_check *c, const json_t *schema,
					struct schema_scope *own)
{
	*own = *c->scope;
	narrow_scope(c, schema, own);
	if (own->whole == c->scope->whole)
		return c->scope;
	own->outer = c->scope;
	return own;
}

/* ---- references ---- */

/* What "/$defs/name" leads to, and through which parts with an address; NULL: nothing. */
static const json_t *pointer_target(struct schema_check *c, const char *pointer,
				    struct schema_scope *scope)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;
	const json_t *at = scope->whole;

	while (at && *pointer == '/') {
		narrow_scope(c, at, scope);
		pointer++;
		pointer_word(&pointer, &word);
		at = word.failed ? NULL : pointer_step(at, word.data);
	}
	return *pointer ? NULL : at;
}

static const json_t *named_place(struct schema_check *c, const char *address, const char *name)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%s#%s", address, name);
	return text.failed ? NULL : json_object_get(schema_names(c), text.data);
}

/* False: another document. */
static bool reference_part(struct schema_check *c, const char *ref, struct schema_scope *scope)
{
	auto_buf struct rye_buf address = RYE_BUF_INIT;
	const json_t *part;

	if (*ref == '#' || !*ref)
		return true;
	join_address(scope_address(c, scope), ref, &address);
	part = address.failed ? NULL : json_object_get(schema_names(c), address.data);
	if (!part)
		return false;
	scope->whole = part;
	scope->address = keep_name(c, address.data, part);
	return true;
}

static const json_t *reference_place(struct schema_check *c, const char *fragment,
				     struct schema_scope *scope)
{
	struct schema_scope document = { .whole = c->root, .outer = scope->outer };
	const json_t *place;

	if (!*fragment)
		return scope->whole;
	if (*fragment != '/')
		return named_place(c, scope_address(c, scope), fragment);
	place = pointer_target(c, fragment, scope);
	if (place)
		return place;
	/* many a schema counts from the document although $id stands between */
	*scope = document;
	return pointer_target(c, fragment, scope);
}

static bool is_dynamic(const json_t *place, const char *name)
{
	const char *own = json_string_value(json_object_get(place, "$dynamicAnchor"));

	return own && !strcmp(own, name);
}

/* The place of that name in the outermost of the parts that the check came through; else as it is. */
static const json_t *outermost_place(struct schema_check *c, const char *name, const json_t *place,
				     struct schema_scope *ret)
{
	const json_t *found = place, *other;

	for (const struct schema_scope *scope = c->scope; scope; scope = scope->outer) {
		c->steps++;
		other = named_place(c, scope_address(c, scope), name);
		if (!is_dynamic(other, name))
			continue;
		found = other;
		ret->whole = scope->whole;
		ret->address = scope->address;
	}
	return found;
}

/* The same in words of 2019: what is meant is always a part as a whole. */
static const json_t *outermost_whole(struct schema_check *c, struct schema_scope *ret)
{
	if (!json_is_true(json_object_get(ret->whole, "$recursiveAnchor")))
		return ret->whole;
	for (const struct schema_scope *scope = c->scope; scope; scope = scope->outer) {
		c->steps++;
		if (!json_is_true(json_object_get(scope->whole, "$recursiveAnchor")))
			continue;
		ret->whole = scope->whole;
		ret->address = scope->address;
	}
	return ret->whole;
}

const json_t *schema_reference(struct schema_check *c, const json_t *schema, enum schema_ref which,
			       struct schema_scope *ret)
{
	const char *word = schema_ref_words[which], *fragment;
	const char *ref = json_string_value(json_object_get(schema, word));
	const json_t *place;

	if (!ref)
		return NULL;
	*ret = *c->scope;
	ret->outer = c->scope;
	if (!reference_part(c, ref, ret)) {
		schema_stop(c, "cannot be checked: %s %.120s is another document: none is fetched",
			    word, ref);
		return NULL;
	}
	fragment = strchr(ref, '#');
	fragment = fragment ? fragment + 1 : "";
	place = reference_place(c, fragment, ret);
	if (!place)
		schema_stop(c, "cannot be checked: %s %.120s leads nowhere", word, ref);
	else if (which == SCHEMA_DYNAMIC_REF && is_dynamic(place, fragment))
		place = outermost_place(c, fragment, place, ret);
	else if (which == SCHEMA_RECURSIVE_REF && place == ret->whole)
		place = outermost_whole(c, ret);
	return place;
}
