/* SPDX-License-Identifier: MIT */
/*
 * What must hold between two neighbours of a chain: no element delegates to one of a higher space,
 * what the parent wants the child gives, versions fit. All issues are collected. Pure.
 */
#include "chain/chain.h"

#include "space/space.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>

static int space_rank(const struct space *space)
{
	return space->type == RYE_PROJECT ? 3 : space->type == RYE_USER ? 2 : 1;
}

static void chain_check_issue(struct rye_buf *issues)
{
	if (issues->len)
		buf_adds(issues, "; ");
}

static void check_spaces(const struct link *child, const struct link *parent,
			 struct rye_buf *issues)
{
	if (space_rank(child->item->space) >= space_rank(parent->item->space))
		return;
	chain_check_issue(issues);
	if (child->item->space->type == RYE_SYSTEM)
		buf_addf(issues,
			 "Invalid chain: system tool '%s' cannot delegate to mutable %s '%s'",
			 child->item->id, parent->item->space->label, parent->item->id);
	else
		buf_addf(issues, "%s tool '%s' cannot delegate to %s '%s' of a higher space",
			 child->item->space->label, child->item->id, parent->item->space->label,
			 parent->item->id);
}

/* Names of a list of strings, a list of {name}, or an object (its keys, or its properties'). */
static bool names_have(const json_t *names, const char *name)
{
	const json_t *properties = json_object_get(names, "properties");
	json_t *element;
	size_t i;

	if (json_is_object(names))
		return json_object_get(json_is_object(properties) ? properties : names, name);
	json_array_foreach(names, i, element) {
		const char *text = json_is_string(element) ? json_string_value(element) :
							     json_str(element, "name");

		if (!strcmp(text, name))
			return true;
	}
	return false;
}

static void check_inputs(const struct link *child, const struct link *parent,
			 struct rye_buf *issues)
{
	const json_t *inputs = parent->meta.inputs, *outputs = child->meta.outputs;
	json_t *element;
	size_t i;

	if (!json_is_array(inputs) || !outputs)
		return;
	json_array_foreach(inputs, i, element) {
		const char *name = json_is_string(element) ? json_string_value(element) :
							     json_str(element, "name");

		if (!*name || names_have(outputs, name))
			continue;
		chain_check_issue(issues);
		buf_addf(issues, "'%s' wants input '%s', which '%s' does not give",
			 parent->item->id, name, child->item->id);
	}
}

struct version {
	long part[8];
	size_t n;
	int pre; /* -3 dev, -2 alpha …: negative sorts before the release, positive behind */
	long pre_n;
};

static bool parse_version(const char *text, struct version *ret)
{
	static const struct {
		const char *name;
		int rank;
	} tags[] = { { "dev", -4 }, { "alpha", -3 }, { "a", -3 }, { "beta", -2 },
		     { "b", -2 },   { "rc", -1 },    { "c", -1 }, { "post", 1 } };
	char *end = (char *)text;

	*ret = (struct version){ 0 };
	while (isdigit((unsigned char)*end) && ret->n < 8) {
		ret->part[ret->n++] = strtol(end, &end, 10);
		if (*end != '.' || !isdigit((unsigned char)end[1]))
			break;
		end++;
	}
	if (!ret->n)
		return false;
	end += strspn(end, ".-_");
	for (size_t i = 0; *end && i < sizeof(tags) / sizeof(tags[0]); i++) {
		size_t n = strlen(tags[i].name);

		if (strncmp(end, tags[i].name, n))
			continue;
		ret->pre = tags[i].rank;
		end += n;
		end += strspn(end, ".-_");
		ret->pre_n = strtol(end, &end, 10);
		break;
	}
	return !*end || *end == '+';
}

bool version_compare(const char *a, const char *b, int *ret)
{
	struct version x, y;

	if (!parse_version(a, &x) || !parse_version(b, &y))
		return false;
	*ret = 0;
	for (size_t i = 0; i < 8 && !*ret; i++)
		*ret = (x.part[i] > y.part[i]) - (x.part[i] < y.part[i]);
	if (!*ret)
		*ret = (x.pre > y.pre) - (x.pre < y.pre);
	if (!*ret)
		*ret = (x.pre_n > y.pre_n) - (x.pre_n < y.pre_n);
	return true;
}

static void check_version(const struct link *child, const struct link *parent,
			  struct rye_buf *issues)
{
	const json_t *limits = json_object_get(parent->meta.child_constraints, child->item->id);
	const char *version = child->meta.version, *least = json_str(limits, "min_version");
	const char *most = json_str(limits, "max_version");
	int order;

	if (!limits || !*version)
		return;
	if (*least && version_compare(version, least, &order) && order < 0) {
		chain_check_issue(issues);
		buf_addf(issues, "'%s' wants '%s' from version %s on, it is %s", parent->item->id,
			 child->item->id, least, version);
	}
	if (*most && version_compare(version, most, &order) && order > 0) {
		chain_check_issue(issues);
		buf_addf(issues, "'%s' wants '%s' up to version %s, it is %s", parent->item->id,
			 child->item->id, most, version);
	}
}

int chain_check(const struct chain *chain, struct rye_err *err)
{
	auto_buf struct rye_buf issues = RYE_BUF_INIT;

	for (size_t i = 0; i + 1 < chain->n; i++) {
		check_spaces(&chain->v[i], &chain->v[i + 1], &issues);
		check_inputs(&chain->v[i], &chain->v[i + 1], &issues);
		check_version(&chain->v[i], &chain->v[i + 1], &issues);
	}
	if (!issues.len)
		return 0;
	return rye_fail(err, RYE_INVALID, "Chain validation failed: %s", issues.data);
}
