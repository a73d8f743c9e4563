/* SPDX-License-Identifier: MIT */
/*
 * The probe's table: what came of `server/discover` → what to do next. The era belongs to the server,
 * not to a request: it is asked once, before any tool is called. Pure.
 */
#include "mcp/mcp.h"

#include "scope.h"

#include <string.h>

enum mcp_era mcp_version_era(const char *version)
{
	static const char *const legacy[] = { MCP_LEGACY_VERSION, "2025-06-18", "2025-03-26",
					      "2024-11-05" };

	if (!strcmp(version, MCP_MODERN_VERSION))
		return MCP_MODERN;
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++)
		if (!strcmp(version, legacy[i]))
			return MCP_LEGACY;
	return MCP_AUTO;
}

const char *mcp_era_name(enum mcp_era era)
{
	return era == MCP_MODERN ? "modern" : "legacy";
}

/* The first of a list that is of this era; NULL: none. Borrowed. */
static const char *find_version(const json_t *list, enum mcp_era era)
{
	json_t *element;
	size_t i;

	json_array_foreach(list, i, element) {
		const char *version = json_string_value(element);

		if (version && mcp_version_era(version) == era)
			return version;
	}
	return NULL;
}

/* -32022 with a list that says something. */
static const json_t *offered_versions(const json_t *error)
{
	const json_t *list = json_object_get(json_object_get(error, "data"), "supported");
	json_t *element;
	size_t i;

	if (json_int(error, "code", 0) != MCP_BAD_VERSION || !json_array_size(list))
		return NULL;
	json_array_foreach(list, i, element)
		if (!json_is_string(element))
			return NULL;
	return list;
}

const char *mcp_offered(const json_t *error)
{
	return find_version(offered_versions(error), MCP_MODERN);
}

static void decide_error(const struct mcp_probe *probe, struct mcp_decision *ret)
{
	const json_t *offered = offered_versions(probe->error);
	const char *modern = find_version(offered, MCP_MODERN);

	if (!offered) {
		ret->step = MCP_STEP_INITIALIZE;
	} else if (modern && !probe->repeated) {
		ret->step = MCP_STEP_AGAIN;
		mcp_version_copy(ret->version, modern);
	} else if (modern) {
		ret->why = "the server refuses the version that it offers";
	} else if (find_version(offered, MCP_LEGACY)) {
		ret->step = MCP_STEP_INITIALIZE;
	} else {
		ret->why = "the server speaks none of our versions";
	}
}

static void decide_answer(const struct mcp_probe *probe, struct mcp_decision *ret)
{
	const char *modern;

	if (probe->error) {
		decide_error(probe, ret);
		return;
	}
	modern = find_version(json_object_get(probe->result, "supportedVersions"), MCP_MODERN);
	ret->step = modern ? MCP_STEP_MODERN : MCP_STEP_INITIALIZE;
	if (modern)
		mcp_version_copy(ret->version, modern);
}

void mcp_decide(const struct mcp_probe *probe, struct mcp_decision *ret)
{
	*ret = (struct mcp_decision){ .step = MCP_STEP_FAIL };
	switch (probe->heard) {
	case MCP_HEARD_ANSWER:
		/* Of 401, 403 and faults of the server even an error of the protocol tells nothing. */
		if (probe->http && !offered_versions(probe->error) &&
		    (probe->status == 401 || probe->status == 403 || probe->status >= 500))
			return;
		decide_answer(probe, ret);
		return;
	case MCP_HEARD_SILENCE:
	case MCP_HEARD_END:
		/* Some servers end at anything that comes before `initialize`. */
		if (!probe->http)
			ret->step = MCP_STEP_INITIALIZE_NEW;
		return;
	case MCP_HEARD_STATUS:
		if (probe->status == 400 || probe->status == 404 || probe->status == 405)
			ret->step = MCP_STEP_INITIALIZE;
		return;
	default:
		return;
	}
}
