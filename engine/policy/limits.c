/* SPDX-License-Identifier: MIT */
/*
 * Limits of a thread: the built-in ones, what configuration, the directive and the caller say over
 * them, and what its parent leaves of that. Pure.
 */
#include "policy/policy.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <math.h>
#include <stdio.h>

struct limit_trait {
	const char *name;
	double fallback;
	bool whole; /* a count: written as an integer */
};

static const struct limit_trait traits[LIMIT__MAX] = {
	[LIMIT_TURNS] = { "turns", 25, true },
	[LIMIT_TOKENS] = { "tokens", 1000000, true },
	[LIMIT_SPEND] = { "spend", 5.0, false },
	[LIMIT_SPAWNS] = { "spawns", 50, true },
	[LIMIT_DEPTH] = { "depth", 10, true },
	[LIMIT_DURATION] = { "duration_seconds", 1800, true },
};

/* In the order of the format's documents, for messages. */
#define LIMIT_NAMES "depth, duration_seconds, spawns, spend, spend_currency, tokens, turns"
/* The largest count whose every smaller one a double tells apart. */
#define LIMIT_LARGEST 9007199254740992.0

const char *limit_name(enum limit limit)
{
	return traits[limit].name;
}

enum limit limit_of(const char *name)
{
	int i = 0;

	while (i < LIMIT__MAX && strcmp(traits[i].name, name) != 0)
		i++;
	return (enum limit)i;
}

/* Where a value stands, for messages. */
struct limits_part {
	const char *where; /* "directive <limits>" */
	json_t *warnings;
};

static int limits_set(struct limits *limits, enum limit limit, double value, const char *where,
		      struct rye_err *err)
{
	bool whole = traits[limit].whole && limit != LIMIT_DURATION;

	if (!isfinite(value) || value < 0 || value > LIMIT_LARGEST ||
	    (whole && value != (double)(json_int_t)value))
		return rye_fail(err, RYE_INVALID,
				"limit '%s' in %s: %g: a %s of 0 or more is wanted",
				traits[limit].name, where, value,
				whole ? "whole number" : "number");
	limits->value[limit] = value;
	limits->set[limit] = true;
	return 0;
}

static int limits_currency(struct limits *limits, const json_t *value, const char *where,
			   struct rye_err *err)
{
	const char *text = json_string_value(value);

	if (!text || !*text || strlen(text) >= sizeof(limits->currency))
		return rye_fail(err, RYE_INVALID,
				"limit 'spend_currency' in %s: a code as USD is wanted", where);
	snprintf(limits->currency, sizeof(limits->currency), "%s", text);
	return 0;
}

/* max_turns is what some documents of the format say. */
static enum limit find_limit(const char *key, const struct limits_part *part)
{
	enum limit limit = limit_of(key);
	char told[160];

	if (limit != LIMIT__MAX || strncmp(key, "max_", 4) != 0)
		return limit;
	limit = limit_of(key + 4);
	if (limit != LIMIT__MAX && part->warnings) {
		snprintf(told, sizeof(told), "limit '%.40s' in %s is read as '%s'", key,
			 part->where, traits[limit].name);
		json_array_append_new(part->warnings, json_string(told));
	}
	return limit;
}

static int lay_limit(struct limits *limits, const char *key, const json_t *value,
		     const struct limits_part *part, struct rye_err *err)
{
	enum limit limit = find_limit(key, part);

	if (!strcmp(key, "spend_currency"))
		return limits_currency(limits, value, part->where, err);
	if (limit == LIMIT__MAX)
		return rye_fail(err, RYE_INVALID,
				"Unknown limit '%.80s' in %s. Valid limits: " LIMIT_NAMES, key,
				part->where);
	if (!json_is_number(value))
		return rye_fail(err, RYE_INVALID, "limit '%s' in %s: a number is wanted",
				traits[limit].name, part->where);
	return limits_set(limits, limit, json_number_value(value), part->where, err);
}

static int lay_limits(struct limits *limits, const json_t *object, const struct limits_part *part,
		      struct rye_err *err)
{
	const char *key;
	json_t *value;

	if (object && !json_is_object(object) && !json_is_null(object))
		return rye_fail(err, RYE_INVALID, "%s: an object is wanted", part->where);
	json_object_foreach((json_t *)object, key, value) {
		int r = lay_limit(limits, key, value, part, err);

		if (r)
			return r;
	}
	return 0;
}

static bool declares_spend(const json_t *object)
{
	return json_object_get(object, "spend") || json_object_get(object, "max_spend");
}

static int cap_by(struct limits *limits, const struct limits *parent, struct rye_err *err)
{
	double depth = limits->value[LIMIT_DEPTH];

	for (int i = 0; i < LIMIT__MAX; i++)
		if (i != LIMIT_DEPTH && parent->set[i] &&
		    (!limits->set[i] || limits->value[i] > parent->value[i])) {
			limits->value[i] = parent->value[i];
			limits->set[i] = true;
		}
	if (parent->set[LIMIT_DEPTH] && depth > parent->value[LIMIT_DEPTH] - 1)
		depth = parent->value[LIMIT_DEPTH] - 1;
	limits->value[LIMIT_DEPTH] = depth;
	if (depth < 0)
		return rye_fail(err, RYE_BUDGET, "Depth limit exhausted (resolved depth=%g)",
				depth);
	return 0;
}

int limits_resolve(const struct limits_ask *ask, struct limits *ret, struct rye_err *err)
{
	struct limits limits = { .currency = "USD" };
	int r;

	for (int i = 0; i < LIMIT__MAX; i++) {
		limits.value[i] = traits[i].fallback;
		limits.set[i] = true;
	}
	r = lay_limits(&limits, ask->defaults,
		       &(struct limits_part){ "agent/resilience limits.defaults", ask->warnings },
		       err);
	if (!r)
		r = lay_limits(&limits, ask->directive,
			       &(struct limits_part){ "directive <limits>", ask->warnings }, err);
	if (!r)
		r = lay_limits(&limits, ask->overrides,
			       &(struct limits_part){ "limit overrides", ask->warnings }, err);
	limits.spend_declared = declares_spend(ask->directive) || declares_spend(ask->overrides);
	if (!r && ask->parent)
		r = cap_by(&limits, ask->parent, err);
	if (!r)
		*ret = limits;
	return r;
}

json_t *limits_json(const struct limits *limits)
{
	json_t *object = json_object();

	for (int i = 0; i < LIMIT__MAX; i++) {
		double value = limits->value[i];
		bool whole = traits[i].whole && value == (double)(json_int_t)value;

		if (limits->set[i])
			json_set(object, traits[i].name,
				 whole ? json_integer((json_int_t)value) : json_real(value));
	}
	json_sets(object, "spend_currency", limits->currency);
	return object;
}

int limits_read(const json_t *object, struct limits *ret, struct rye_err *err)
{
	struct limits limits = { .currency = "USD" };
	int r = lay_limits(&limits, object, &(struct limits_part){ "thread.json", NULL }, err);

	if (!r)
		*ret = limits;
	return r;
}

int limits_change(struct limits *limits, const struct limits *parent, const char *name,
		  double value, struct rye_err *err)
{
	enum limit limit = limit_of(name);

	if (limit == LIMIT__MAX)
		return rye_fail(
			err, RYE_INVALID,
			"Unknown limit '%.80s' in limit overrides. Valid limits: " LIMIT_NAMES,
			name);
	if (parent && parent->set[limit] && value > parent->value[limit] && limit != LIMIT_DEPTH)
		return rye_fail(err, RYE_DENIED, "limit '%s': the parent's is %g", name,
				parent->value[limit]);
	if (limit == LIMIT_DEPTH && limits->set[limit] && value > limits->value[limit])
		return rye_fail(err, RYE_DENIED, "limit 'depth' cannot be raised");
	return limits_set(limits, limit, value, "limit overrides", err);
}

bool limits_hit(const struct limits *limits, const struct limit_use *use, struct limit_hit *ret)
{
	const double now[LIMIT__MAX] = { [LIMIT_TURNS] = (double)use->turns,
					 [LIMIT_TOKENS] = (double)use->tokens,
					 [LIMIT_SPEND] = use->spend,
					 [LIMIT_DURATION] = use->elapsed_seconds };
	static const enum limit order[] = { LIMIT_TURNS, LIMIT_TOKENS, LIMIT_SPEND,
					    LIMIT_DURATION };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		enum limit limit = order[i];

		if (!limits->set[limit] || now[limit] < limits->value[limit])
			continue;
		*ret = (struct limit_hit){ .limit = limit,
					   .current = now[limit],
					   .max = limits->value[limit] };
		snprintf(ret->code, sizeof(ret->code), "%s_exceeded", traits[limit].name);
		snprintf(ret->text, sizeof(ret->text), "Limit exceeded: %s (%.10g/%.10g)",
			 ret->code, ret->current, ret->max);
		return true;
	}
	return false;
}
