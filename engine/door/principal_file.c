/* SPDX-License-Identifier: MIT */
/*
 * The text of a principal's file: TOML, signed by the node that it is of. A process that can write to the
 * directory, but has not the node's key, makes no principal and raises no limit. Pure.
 */
#include "door/door_inner.h"

#include "clock.h"
#include "format/format.h"
#include "memory.h"
#include "str.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#define PRINCIPAL_KIND "ryefs-principal"
/* Capabilities, signers, names: more than any has. */
#define LIST_MAX 1000

void principal_done(struct principal *principal)
{
	json_decref(principal->allow);
	json_decref(principal->signers);
	json_decref(principal->env);
	*principal = (struct principal){ 0 };
}

void principal_defaults(struct principal *principal)
{
	*principal = (struct principal){ .allow = json_pack("[s]", "rye.*"),
					 .signers = json_array(),
					 .env = json_array(),
					 .jobs = PRINCIPAL_JOBS,
					 .queued = PRINCIPAL_QUEUED,
					 .bytes = PRINCIPAL_BYTES,
					 .push = PRINCIPAL_PUSH };
}

bool principal_is_fp(const char *text)
{
	return strlen(text) == KEY_FP - 1 && is_hex_lower(span_of(text));
}

/* ---- its members: one table for reading, writing and changing ---- */

enum member_sort { SORT_LIST, SORT_COUNT, SORT_MONEY, SORT_TIME };
struct principal_member {
	const char *name;
	enum member_sort sort;
	size_t at;
};

#define AT(field) offsetof(struct principal, field)

static const struct principal_member members[] = {
	{ "allow", SORT_LIST, AT(allow) },     { "signers", SORT_LIST, AT(signers) },
	{ "env", SORT_LIST, AT(env) },	       { "jobs", SORT_COUNT, AT(jobs) },
	{ "queued", SORT_COUNT, AT(queued) },  { "bytes", SORT_COUNT, AT(bytes) },
	{ "push", SORT_COUNT, AT(push) },      { "seconds", SORT_COUNT, AT(seconds) },
	{ "expires", SORT_TIME, AT(expires) }, { "spend_month", SORT_MONEY, AT(spend_month) },
};

static void *place(struct principal *principal, const struct principal_member *member)
{
	return (char *)principal + member->at;
}

static json_t *member_json(const struct principal *principal, const struct principal_member *member)
{
	const void *at = (const char *)principal + member->at;

	switch (member->sort) {
	case SORT_LIST:
		return json_incref(*(json_t *const *)at);
	case SORT_COUNT:
		return json_integer(*(const int64_t *)at);
	case SORT_MONEY:
		return json_real(*(const double *)at);
	default:
		return json_string(at);
	}
}

static bool list_ok(const json_t *list)
{
	size_t i;
	json_t *one;

	if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
		return false;
	json_array_foreach(list, i, one)
		if (!json_is_string(one) || !*json_string_value(one))
			return false;
	return true;
}

static bool time_ok(const char *text)
{
	struct timespec when;

	return !*text || (strlen(text) < sizeof(((struct principal *)0)->expires) &&
			  clock_iso_read(text, &when));
}

/* Takes a value of the right sort; false: it is none. */
static bool take_value(struct principal *principal, const struct principal_member *member,
		       const json_t *value)
{
	void *at = place(principal, member);

	switch (member->sort) {
	case SORT_LIST:
		if (!list_ok(value))
			return false;
		json_decref(*(json_t **)at);
		*(json_t **)at = json_deep_copy(value);
		return *(json_t **)at != NULL;
	case SORT_COUNT:
		*(int64_t *)at = json_integer_value(value);
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case SORT_MONEY:
		*(double *)at = json_number_value(value);
		return json_is_number(value) && json_number_value(value) >= 0;
	default:
		if (!json_is_string(value) || !time_ok(json_string_value(value)))
			return false;
		snprintf(at, sizeof(principal->expires), "%s", json_string_value(value));
		return true;
	}
}

json_t *principal_json(const struct principal *principal)
{
	json_t *doc = json_pack("{s:s, s:s}", "fingerprint", principal->key.fp, "owner",
				principal->owner);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_set(doc, members[i].name, member_json(principal, &members[i]));
	return doc;
}

/* ---- writing ---- */

struct rye_blob *principal_write(const struct node_dir *node, const struct principal *principal)
{
	auto_json json_t *doc =
		json_pack("{s:s, s:s}", "kind", PRINCIPAL_KIND, "node", node->key.pub.fp);
	auto_json json_t *rest = principal_json(principal);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char stamp[24];

	if (!doc || !rest || json_object_update(doc, rest) ||
	    !json_sets(doc, "key", principal->key.pem))
		return memory_note(NULL);
	mapping_toml(&text, doc);
	clock_stamp(time(NULL), stamp);
	return text.failed ? NULL : stamped_write(buf_span(&text), &node->key, stamp);
}

/* ---- reading ---- */

static int principal_bad(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_INVALID, "%s", what);
}

static int read_members(const json_t *doc, struct principal *ret, struct rye_err *err)
{
	const char *owner = json_str(doc, "owner");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const json_t *value = json_object_get(doc, members[i].name);

		if (value && !take_value(ret, &members[i], value))
			return rye_fail(err, RYE_INVALID, "%s is not what it has to be",
					members[i].name);
	}
	if (strlen(owner) >= sizeof(ret->owner))
		return principal_bad(err, "owner is too long");
	memcpy(ret->owner, owner, strlen(owner) + 1);
	return 0;
}

static int read_doc(const struct node_dir *node, const char *fp, const json_t *doc,
		    struct principal *ret, struct rye_err *err)
{
	if (strcmp(json_str(doc, "kind"), PRINCIPAL_KIND) != 0)
		return principal_bad(err, "kind is not " PRINCIPAL_KIND);
	if (strcmp(json_str(doc, "node"), node->key.pub.fp) != 0)
		return principal_bad(err, "it is another node's");
	if (key_public_parse(span_of(json_str(doc, "key")), &ret->key, err))
		return -(int)RYE_INVALID;
	if (strcmp(ret->key.fp, fp) != 0 || strcmp(json_str(doc, "fingerprint"), fp) != 0)
		return principal_bad(err, "its key is not the one that the file is named after");
	return read_members(doc, ret, err);
}

int principal_read(const struct node_dir *node, const char *fp, struct rye_span text,
		   struct principal *ret, struct rye_err *err)
{
	auto_principal struct principal principal = { 0 };
	auto_json json_t *doc = NULL;
	struct stamped stamped;
	int r = stamped_read(text, &stamped, err);

	if (r < 0)
		return r;
	if (strcmp(stamped.signer, node->key.pub.fp) != 0 ||
	    !stamped_by(&stamped, node->key.pub.bytes))
		return principal_bad(err, "it is not signed by this node");
	doc = parse_toml(text, err);
	if (!doc)
		return -(int)RYE_UNPARSABLE;
	principal_defaults(&principal);
	r = read_doc(node, fp, doc, &principal, err);
	if (r < 0)
		return r;
	*ret = principal;
	principal = (struct principal){ 0 };
	return 0;
}

/* ---- changing ---- */

/* "10G", "4", "0" */
static json_t *count_of(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	long long n = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	int shift = unit ? (int)(unit - units + 1) * 10 : 0;

	if (!isdigit((unsigned char)*text) || (*end && (!unit || end[1])) || n > LLONG_MAX >> shift)
		return NULL;
	return json_integer(n << shift);
}

static json_t *money_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	return isdigit((unsigned char)*text) && !*end ? json_real(n) : NULL;
}

json_t *door_names(const char *text)
{
	json_t *list = json_array();

	for (const char *p = text; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n)
			json_array_append_new(list, json_stringn(p, n));
		p += n;
	}
	return list;
}

static json_t *value_of(enum member_sort sort, const char *text)
{
	switch (sort) {
	case SORT_LIST:
		return door_names(text);
	case SORT_COUNT:
		return count_of(text);
	case SORT_MONEY:
		return money_of(text);
	default:
		return json_string(text);
	}
}

static int set_one(struct principal *principal, const char *name, const char *text,
		   struct rye_err *err)
{
	static const char *const wanted[] = { [SORT_LIST] = "texts with commas between them",
					      [SORT_COUNT] = "a number, as 8 or 10G",
					      [SORT_MONEY] = "an amount, as 20 or 0.5",
					      [SORT_TIME] = "a time, as 2027-01-31T00:00:00Z" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		auto_json json_t *value = NULL;

		if (strcmp(members[i].name, name) != 0)
			continue;
		value = value_of(members[i].sort, text);
		if (value && take_value(principal, &members[i], value))
			return 0;
		return rye_fail(err, RYE_INVALID, "%s=%s: wanted is %s", name, text,
				wanted[members[i].sort]);
	}
	return rye_fail(err, RYE_INVALID,
			"there is no %s: allow, signers, env, jobs, queued, bytes, push, seconds, "
			"spend_month, expires are there",
			name);
}

int principal_set(struct principal *principal, const json_t *set, struct rye_err *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)set, name, value) {
		const char *text = json_string_value(value);

		if (!strcmp(name, "owner"))
			utf8_cut(text ? text : "", principal->owner, sizeof(principal->owner));
		else
			r = set_one(principal, name, text ? text : "", err);
		if (r < 0)
			return r;
	}
	return 0;
}
