/* SPDX-License-Identifier: MIT */
/*
 * Schemas of tools as a wire takes them: keywords by an allow-list with the shape that each has to have,
 * references put in place, keys spelt anew. What a schema loses here is checked all the same when the tool is
 * called; but one tool that a vendor does not take would make it refuse every request of the thread. Pure,
 * bounded.
 */
#include "vendor/vendor_inner.h"

#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>

/* References within references. */
#define MEND_REFS 3
/* Keywords of a schema that a reference names: more is a map of keys, and would be copied each time. */
#define MEND_KEYWORDS 256
struct mending {
	const struct wire_rules *rules;
	enum rule_words words;
	const json_t *root; /* that references look into */
	unsigned refs, parts;
};

/* ---- keywords ---- */

enum word_shape {
	SHAPE_TEXT,
	SHAPE_PATTERN,
	SHAPE_NUMBER,
	SHAPE_COUNT,
	SHAPE_FLAG,
	SHAPE_ANY,
	SHAPE_ONE, /* a value; as a list it is the only one */
	SHAPE_LIST,
	SHAPE_TYPE,
	SHAPE_SCHEMA, /* or a truth value */
	SHAPE_ITEMS, /* a schema, or a list of them */
	SHAPE_SCHEMAS,
	SHAPE_KEYS, /* schemas by key */
};

struct schema_word {
	const char *word;
	enum word_shape shape;
	unsigned words; /* the sets that have it */
	const char *instead; /* where a set has it not; or NULL */
};

#define WORDS_JSON (WORDS_PLAIN | WORDS_GRAMMAR)
#define WORDS_ALL (WORDS_JSON | WORDS_SUBSET | WORDS_STRICT)

/*
 * WORDS_SUBSET: the members of Schema in Google's v1beta. WORDS_STRICT: what OpenAI's and Anthropic's
 * strict tools share. WORDS_GRAMMAR: without `pattern`, since llama.cpp refuses most of them.
 */
static const struct schema_word schema_words[] = {
	{ "type", SHAPE_TYPE, WORDS_ALL, NULL },
	{ "title", SHAPE_TEXT, WORDS_ALL, NULL },
	{ "description", SHAPE_TEXT, WORDS_ALL, NULL },
	{ "properties", SHAPE_KEYS, WORDS_ALL, NULL },
	{ "required", SHAPE_LIST, WORDS_ALL, NULL },
	{ "additionalProperties", SHAPE_SCHEMA, WORDS_JSON | WORDS_STRICT, NULL },
	{ "items", SHAPE_ITEMS, WORDS_ALL, NULL },
	{ "prefixItems", SHAPE_ITEMS, 0, "items" },
	{ "anyOf", SHAPE_SCHEMAS, WORDS_ALL, NULL },
	{ "oneOf", SHAPE_SCHEMAS, WORDS_JSON, "anyOf" },
	{ "allOf", SHAPE_SCHEMAS, WORDS_JSON | WORDS_STRICT, NULL },
	{ "enum", SHAPE_LIST, WORDS_ALL, NULL },
	{ "const", SHAPE_ONE, WORDS_JSON, "enum" },
	{ "default", SHAPE_ANY, WORDS_JSON, NULL },
	{ "examples", SHAPE_LIST, WORDS_JSON, NULL },
	{ "example", SHAPE_ANY, WORDS_SUBSET, NULL },
	{ "format", SHAPE_TEXT, WORDS_JSON, NULL },
	{ "pattern", SHAPE_PATTERN, WORDS_PLAIN | WORDS_SUBSET, NULL },
	{ "nullable", SHAPE_FLAG, WORDS_SUBSET, NULL },
	{ "minimum", SHAPE_NUMBER, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "maximum", SHAPE_NUMBER, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "exclusiveMinimum", SHAPE_NUMBER, WORDS_JSON, NULL },
	{ "exclusiveMaximum", SHAPE_NUMBER, WORDS_JSON, NULL },
	{ "multipleOf", SHAPE_NUMBER, WORDS_JSON, NULL },
	{ "minLength", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "maxLength", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "minItems", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "maxItems", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "minProperties", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "maxProperties", SHAPE_COUNT, WORDS_JSON | WORDS_SUBSET, NULL },
	{ "uniqueItems", SHAPE_FLAG, WORDS_JSON, NULL },
	{ "propertyOrdering", SHAPE_LIST, WORDS_SUBSET, NULL },
};

static const struct schema_word *word_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(schema_words); i++)
		if (!strcmp(schema_words[i].word, key))
			return &schema_words[i];
	return NULL;
}

static json_t *mend(struct mending *m, const json_t *schema, int depth);

static json_t *mend_list(struct mending *m, const json_t *list, int depth)
{
	json_t *mended = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		json_array_append_new(mended, mend(m, one, depth));
	return mended;
}

static json_t *mend_keys(struct mending *m, const json_t *keys, int depth)
{
	json_t *mended = json_object(), *one;
	char spelt[RULE_TEXT_SIZE];
	const char *key;

	json_object_foreach((json_t *)keys, key, one) {
		rule_spell(&m->rules->key, key, spelt);
		json_object_set_new(mended, spelt, mend(m, one, depth));
	}
	return mended;
}

/* "string", or a list of such; spelt in any case. NULL: none of them is a type. */
static json_t *mend_type(const json_t *value)
{
	static const char *const types[] = { "object",	"array",   "string", "number",
					     "integer", "boolean", "null" };
	auto_json json_t *some = json_is_string(value) ? json_pack("[O]", value) : NULL;
	json_t *known = json_array(), *one;
	size_t i;

	json_array_foreach(some ? some : value, i, one)
		for (size_t k = 0; json_is_string(one) && k < ARRAY_SIZE(types); k++)
			if (!strcasecmp(json_string_value(one), types[k]) &&
			    !json_lists(known, types[k]))
				json_array_append_new(known, json_string(types[k]));
	if (json_array_size(known) > 1)
		return known;
	one = json_incref(json_array_get(known, 0));
	json_decref(known);
	return one;
}

/* Groups that begin so are Python's or look around; vendors' validators differ about them. */
static bool is_plain_pattern(const json_t *value)
{
	return json_is_string(value) && !strstr(json_string_value(value), "(?");
}

/* NULL: it has not the shape, and is left out. */
static json_t *word_value(struct mending *m, const struct schema_word *word, const json_t *value,
			  int depth)
{
	bool fits = false;

	switch (word->shape) {
	case SHAPE_TEXT:
		fits = json_is_string(value);
		break;
	case SHAPE_PATTERN:
		fits = is_plain_pattern(value);
		break;
	case SHAPE_NUMBER:
		fits = json_is_number(value);
		break;
	case SHAPE_COUNT:
		fits = json_is_integer(value) && json_integer_value(value) >= 0;
		break;
	case SHAPE_FLAG:
		fits = json_is_boolean(value);
		break;
	case SHAPE_ANY:
	case SHAPE_ONE:
		fits = true;
		break;
	case SHAPE_LIST:
		fits = json_array_size(value);
		break;
	case SHAPE_TYPE:
		return mend_type(value);
	case SHAPE_SCHEMA:
		return json_is_object(value) ? mend(m, value, depth) : json_incref((json_t *)value);
	case SHAPE_ITEMS:
		if (!json_is_array(value))
			return mend(m, value, depth);
		return json_array_size(value) ?
			       json_pack("{s:o}", "anyOf", mend_list(m, value, depth)) :
			       NULL;
	case SHAPE_SCHEMAS:
		return json_array_size(value) ? mend_list(m, value, depth) : NULL;
	case SHAPE_KEYS:
		return json_is_object(value) ? mend_keys(m, value, depth) : NULL;
	}
	return fits ? json_deep_copy(value) : NULL;
}

static void mend_word(struct mending *m, json_t *out, const char *key, const json_t *value,
		      int depth)
{
	const struct schema_word *word = word_of(key);
	bool known = word && word->words & m->words;
	json_t *mended;

	if (!word || (!known && (!word->instead || json_object_get(out, word->instead))))
		return;
	mended = word_value(m, word, value, depth);
	if (mended && !known && word->shape == SHAPE_ONE)
		mended = json_pack("[o]", mended);
	if (mended)
		json_object_set_new(out, known ? key : word->instead, mended);
}

/* ---- what keywords need of each other ---- */

bool schema_is(const json_t *schema, const char *type)
{
	const json_t *value = json_object_get(schema, "type");

	return json_lists(value, type) || !strcmp(json_str(schema, "type"), type);
}

/* Names of properties that are there, each once. */
static void mend_required(const struct mending *m, json_t *out)
{
	json_t *properties = json_object_get(out, "properties"), *names = json_array(), *one;
	auto_json json_t *seen = json_object();
	char spelt[RULE_TEXT_SIZE];
	size_t i;

	json_array_foreach(json_object_get(out, "required"), i, one) {
		rule_spell(&m->rules->key, json_is_string(one) ? json_string_value(one) : "",
			   spelt);
		if (!json_object_get(properties, spelt) || json_object_get(seen, spelt))
			continue;
		json_object_set_new(seen, spelt, json_true());
		json_array_append_new(names, json_string(spelt));
	}
	if (json_array_size(names))
		json_object_set(out, "required", names);
	else
		json_object_del(out, "required");
	json_decref(names);
}

/* One of several types, with the keywords that it needs; an object's members do not go along. */
static json_t *subset_branch(const json_t *schema, const char *type)
{
	json_t *branch = json_pack("{s:s}", "type", strcmp(type, "object") != 0 ? type : "string");

	if (!strcmp(type, "array"))
		json_object_set(branch, "items", json_object_get(schema, "items"));
	return branch;
}

/* Of several types, null becomes a flag; of those that are left each is a schema of its own. */
static void subset_type(json_t *out)
{
	auto_json json_t *types = json_incref(json_object_get(out, "type"));
	auto_json json_t *any = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(types, i, one)
		if (strcmp(json_string_value(one), "null") != 0)
			json_array_append_new(any, subset_branch(out, json_string_value(one)));
		else
			json_object_set_new(out, "nullable", json_true());
	if (json_array_size(types) == 2 && json_object_get(out, "nullable")) {
		one = json_array_get(types,
				     !strcmp(json_string_value(json_array_get(types, 0)), "null"));
		json_object_set(out, "type", (json_t *)one);
	} else {
		json_object_del(out, "type");
		json_object_set(out, "anyOf", any);
	}
}

/* What Google's Schema wants beside its members being known: one type, enum of texts. */
static void mend_subset(json_t *out, bool outermost)
{
	const json_t *list = json_object_get(out, "enum"), *one;
	bool texts = true;
	size_t i;

	if (json_is_array(json_object_get(out, "type")))
		subset_type(out);
	json_array_foreach(list, i, one)
		texts &= json_is_string(one) && json_string_length(one);
	if (list && (!texts || (json_object_get(out, "type") && !schema_is(out, "string"))))
		json_object_del(out, "enum");
	if (json_object_get(out, "anyOf")) {
		json_object_del(out, "type");
		json_object_del(out, "items");
		json_object_del(out, "properties");
		json_object_del(out, "required");
	} else if (!outermost && schema_is(out, "object") &&
		   !json_object_size(json_object_get(out, "properties"))) {
		/* an object without members is refused: its JSON as a text */
		json_object_clear(out);
		json_sets(out, "type", "string");
		json_sets(out, "description", "a JSON object, as text");
	} else if (!json_object_get(out, "type")) {
		json_sets(out, "type",
			  json_object_get(out, "properties") ? "object" :
			  json_object_get(out, "items")	     ? "array" :
							       "string");
	}
}

static const json_t *pointed(const json_t *root, const char *ref)
{
	const json_t *at = *ref == '#' ? root : NULL;

	for (const char *p = ref + (*ref == '#'); at && *p == '/';) {
		size_t n = strcspn(++p, "/");
		auto_free char *key = strndup(p, n);

		at = json_is_array(at) ? json_array_get(at, (size_t)atol(key ? key : "")) :
					 json_object_get(at, key ? key : "");
		p += n;
	}
	return at;
}

/* What a reference names, with what stands beside it; NULL: nothing. */
json_t *schema_in_place(const json_t *root, const json_t *schema, const char *ref)
{
	const json_t *target = pointed(root, ref);
	bool fits = json_is_object(target) && json_object_size(target) <= MEND_KEYWORDS;
	json_t *whole = fits ? json_copy((json_t *)target) : NULL;
	json_t *beside, *value;
	const char *key;

	if (!whole)
		return NULL;
	beside = (json_t *)schema;
	json_object_foreach(beside, key, value)
		if (strcmp(key, "$ref") != 0)
			json_object_set(whole, key, value);
	return whole;
}

static json_t *mend_ref(struct mending *m, const json_t *schema, const char *ref, int depth)
{
	auto_json json_t *whole = schema_in_place(m->root, schema, ref);
	json_t *mended;

	if (!whole || m->refs >= MEND_REFS)
		return mend(m, NULL, depth + 1);
	m->refs++;
	mended = mend(m, whole, depth + 1);
	m->refs--;
	return mended;
}

/* A schema of its own; an empty one, which takes all, where nothing can be said. */
static json_t *mend(struct mending *m, const json_t *schema, int depth)
{
	json_t *own = (json_t *)schema, *out = json_object(), *value;
	const char *key, *ref = json_str(schema, "$ref");

	if (!json_is_object(schema) || depth > MEND_DEPTH || ++m->parts > MEND_PARTS)
		own = NULL;
	if (own && *ref) {
		json_decref(out);
		return mend_ref(m, schema, ref, depth);
	}
	json_object_foreach(own, key, value)
		mend_word(m, out, key, value, depth + 1);
	mend_required(m, out);
	if (schema_is(out, "array") && !json_object_get(out, "items"))
		json_object_set_new(out, "items", mend(m, NULL, depth + 1));
	if (m->words == WORDS_SUBSET)
		mend_subset(out, !depth);
	return out;
}

/* ---- the outermost one ---- */

static void take_keys(json_t *into, const json_t *from, bool required)
{
	const json_t *keys = json_object_get(from, "properties");
	json_t *own = json_object_get(into, "properties");
	json_t *names = required ? json_object_get(from, "required") : NULL;

	if (json_is_object(keys) && !json_is_object(own)) {
		json_object_set_new(into, "properties", json_object());
		own = json_object_get(into, "properties");
	}
	if (json_is_object(keys))
		json_object_update_missing(own, (json_t *)keys);
	if (json_is_array(names) && !json_is_array(json_object_get(into, "required")))
		json_object_set_new(into, "required", json_array());
	if (json_is_array(names))
		json_array_extend(json_object_get(into, "required"), names);
}

/* No vendor takes choices at the top: the parameters of all of them are offered. */
static void flatten(const json_t *root, json_t *into)
{
	static const char *const choices[] = { "allOf", "anyOf", "oneOf" };
	const json_t *branch;
	size_t i;

	for (size_t k = 0; k < ARRAY_SIZE(choices); k++) {
		auto_json json_t *list = json_incref(json_object_get(into, choices[k]));

		json_object_del(into, choices[k]);
		json_array_foreach(list, i, branch) {
			auto_json json_t *whole =
				schema_in_place(root, branch, json_str(branch, "$ref"));

			take_keys(into, whole ? whole : branch, !k);
		}
	}
	json_object_del(into, "enum");
	json_object_del(into, "const");
}

/* The outermost schema with copies of what is added to; NULL: it is no object's. */
static json_t *root_opened(const json_t *schema)
{
	json_t *root = schema_in_place(schema, schema, json_str(schema, "$ref")), *part;
	auto_json json_t *type = NULL;

	if (!root)
		root = json_copy((json_t *)schema);
	type = mend_type(json_object_get(root, "type"));
	if (type && !json_lists(type, "object") &&
	    (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0)) {
		json_decref(root);
		return NULL;
	}
	json_object_del(root, "$ref");
	json_sets(root, "type", "object");
	part = json_object_get(root, "properties");
	json_object_set_new(root, "properties",
			    json_is_object(part) ? json_copy(part) : json_object());
	part = json_object_get(root, "required");
	json_object_set_new(root, "required", json_is_array(part) ? json_copy(part) : json_array());
	return root;
}

json_t *schema_mend(const struct wire_rules *rules, enum rule_words words, const json_t *schema)
{
	struct mending m = { .rules = rules, .words = words, .root = schema };
	auto_json json_t *root = root_opened(schema);

	if (!root)
		return NULL;
	flatten(schema, root);
	return mend(&m, root, 0);
}
