/* SPDX-License-Identifier: MIT */
/*
 * How risky the capabilities of a thread are: by the built-in table with what agent/capability_risk
 * says over it. The text of a capability is what is looked up; one that covers a pattern of the table
 * is as risky as that, however it is spelt. Pure.
 */
#include "policy/policy.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

enum risk_policy { RISK_ALLOW, RISK_ACKNOWLEDGE, RISK_BLOCK };

static const char *const policies[] = { "allow", "acknowledge_required", "block" };

static const struct {
	const char *name;
	enum risk_policy policy;
} levels[] = {
	{ "safe", RISK_ALLOW },
	{ "write", RISK_ALLOW },
	{ "elevated", RISK_ACKNOWLEDGE },
	{ "unrestricted", RISK_BLOCK },
};

struct risk_class {
	const char *risk, *pattern, *description;
};

static const struct risk_class classes[] = {
	{ "safe", "rye.fetch.*", "reads items" },
	{ "write", "rye.sign.*", "signs items" },
	{ "write", "rye.execute.tool.rye.file-system.*", "reads and writes files of the project" },
	{ "elevated", "rye.execute.tool.rye.bash.*", "runs any command" },
	{ "elevated", "rye.execute.tool.rye.shell.*", "runs any command" },
	{ "elevated", "rye.execute.tool.rye.web.*", "reaches the network" },
	{ "elevated", "rye.execute.*", "runs items of any kind" },
	{ "unrestricted", "rye.*", "everything" },
};

/* What is known of one capability so far. */
struct risk_found {
	struct risk_class best;
	int dots; /* of the matching pattern; -1: none */
	enum risk_policy policy;
};

static enum risk_policy policy_of(const json_t *config, const char *risk)
{
	const char *said =
		json_str(json_object_get(json_object_get(config, "risk_levels"), risk), "policy");

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(said, policies[i]))
			return (enum risk_policy)i;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (!strcmp(risk, levels[i].name))
			return levels[i].policy;
	/* a level that is not explained is not harmless */
	return RISK_ACKNOWLEDGE;
}

static int dots_in(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '.';
	return n;
}

/*
 * The matching pattern with the most dots counts, of equal ones the first; then any that the
 * capability covers, if it is worse.
 */
static void try_class(const json_t *config, const char *capability, const struct risk_class *class,
		      struct risk_found *found)
{
	struct rye_span text = span_of(capability), pattern = span_of(class->pattern);
	enum risk_policy policy = policy_of(config, class->risk);
	int dots = dots_in(class->pattern);

	if (capability_match(text, pattern) && dots > found->dots)
		*found = (struct risk_found){ *class, dots, policy };
}

static void try_covered(const json_t *config, const char *capability,
			const struct risk_class *class, struct risk_found *found)
{
	enum risk_policy policy = policy_of(config, class->risk);

	if (policy > found->policy &&
	    capability_match(span_of(class->pattern), span_of(capability)))
		*found = (struct risk_found){ *class, found->dots, policy };
}

typedef void (*risk_try)(const json_t *config, const char *capability,
			 const struct risk_class *class, struct risk_found *found);

static void try_all(const json_t *config, const char *capability, risk_try try_one,
		    struct risk_found *found)
{
	json_t *row, *pattern;
	size_t i, k;

	json_array_foreach(json_object_get(config, "classifications"), i, row) {
		struct risk_class class = { json_str(row, "risk"), NULL,
					    json_str(row, "description") };

		json_array_foreach(json_object_get(row, "patterns"), k, pattern) {
			class.pattern = json_string_value(pattern);
			if (class.pattern)
				try_one(config, capability, &class, found);
		}
	}
	for (i = 0; i < ARRAY_SIZE(classes); i++)
		try_one(config, capability, &classes[i], found);
}

static void risk_warn(const struct risk_ask *ask, const char *capability, const char *what)
{
	char line[400];

	snprintf(line, sizeof(line), "capability '%.200s' is %s", capability, what);
	if (ask->warnings)
		json_array_append_new(ask->warnings, json_string(line));
}

static int refuse_risk(const char *capability, const struct risk_found *found, json_t **ret_risk,
		       struct rye_err *err)
{
	if (ret_risk)
		*ret_risk = json_pack("{s:s, s:s, s:s, s:s}", "capability", capability, "risk",
				      found->best.risk, "policy", policies[found->policy],
				      "description", found->best.description);
	return rye_fail(
		err, RYE_DENIED,
		"Capability '%.200s' classified as '%.40s' (%.200s). Add <acknowledge "
		"risk=\"%.40s\"> to the directive's <permissions> to explicitly allow this.",
		capability, found->best.risk, found->best.description, found->best.risk);
}

static int check_one(const struct risk_ask *ask, const char *capability, json_t **ret_risk,
		     struct rye_err *err)
{
	struct risk_found found = { .best = { "safe", "", "" }, .dots = -1 };
	char what[80];

	try_all(ask->config, capability, try_class, &found);
	try_all(ask->config, capability, try_covered, &found);
	if (str_ends(capability, ".*") && dots_in(capability) <= 2)
		risk_warn(ask, capability, "broad");
	if (found.policy == RISK_ALLOW || json_find(ask->acknowledged, "risk", found.best.risk))
		return 0;
	if (found.policy == RISK_BLOCK || ask->strict)
		return refuse_risk(capability, &found, ret_risk, err);
	snprintf(what, sizeof(what), "classified as '%.40s'", found.best.risk);
	risk_warn(ask, capability, what);
	return 0;
}

int risk_check(const struct risk_ask *ask, json_t **ret_risk, struct rye_err *err)
{
	json_t *capability;
	size_t i;

	json_array_foreach(ask->capabilities, i, capability) {
		const char *text = json_string_value(capability);
		int r = text ? check_one(ask, text, ret_risk, err) : 0;

		if (r)
			return r;
	}
	return 0;
}
