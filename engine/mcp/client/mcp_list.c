/* SPDX-License-Identifier: MIT */
/*
 * tools/list: every page, within limits; what of it is kept tells before a call whether the tool is
 * still the one that was signed. On the worker of the call; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"

#include <string.h>

struct mcp_listing {
	json_t *tools; /* array: as they came */
	json_t *cursors; /* those asked for: one that comes again would go round for ever */
	json_t *cursor; /* of the next page, owned; NULL: there is none */
	int pages;
	size_t bytes;
	int64_t ttl_ms; /* the shortest of all pages */
};

static void listing_done(struct mcp_listing *listing)
{
	json_decref(listing->tools);
	json_decref(listing->cursors);
	json_decref(listing->cursor);
}

static bool list_fault(const struct mcp_peer *peer, struct mcp_answer *ret, const char *what)
{
	mcp_session_fault(ret, MCP_FAULT_RESULT, "%s: its list of tools %s", peer->ask->spec->id,
			  what);
	return false;
}

/* A tool without a name that a call could have is left out. */
static void keep_tools(struct mcp_listing *listing, const json_t *tools)
{
	json_t *tool;
	size_t i;

	json_array_foreach(tools, i, tool) {
		const json_t *name = json_object_get(tool, "name");

		if (json_is_string(name) && json_string_length(name) &&
		    json_string_length(name) == strlen(json_string_value(name)))
			json_array_append(listing->tools, tool);
	}
}

static bool take_page(const struct mcp_peer *peer, struct mcp_listing *listing,
		      const json_t *result, struct mcp_answer *ret)
{
	const json_t *tools = json_object_get(result, "tools");
	json_t *cursor = json_object_get(result, "nextCursor");
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!json_is_array(tools))
		return list_fault(peer, ret, "is none");
	json_put(&text, tools, false);
	listing->bytes += text.len;
	listing->ttl_ms = MIN_OF(listing->ttl_ms, json_int(result, "ttlMs", 0));
	keep_tools(listing, tools);
	json_decref(steal(&listing->cursor));
	if (text.failed || listing->bytes > RYE_MCP_LIST_MAX)
		return list_fault(peer, ret, "is too long");
	if (json_array_size(listing->tools) > RYE_MCP_TOOLS)
		return list_fault(peer, ret, "has more than 1000");
	/* An empty text is a cursor. */
	if (!json_is_string(cursor))
		return true;
	if (json_lists(listing->cursors, json_string_value(cursor)))
		return list_fault(peer, ret, "comes back to where it was");
	if (++listing->pages >= RYE_MCP_PAGES)
		return list_fault(peer, ret, "has more than 100 pages");
	json_array_append(listing->cursors, cursor);
	listing->cursor = json_incref(cursor);
	return true;
}

static bool ask_page(struct mcp_peer *peer, struct mcp_listing *listing, struct mcp_answer *ret)
{
	__attribute__((cleanup(mcp_message_done))) struct mcp_message got = { 0 };
	const struct mcp_frame frame = mcp_session_frame(peer, false);
	json_t *params = listing->cursor ? json_pack("{s:O}", "cursor", listing->cursor) : NULL;
	auto_json json_t *request =
		mcp_request(&frame, json_integer(++peer->state->last_id), "tools/list", params);

	return mcp_session_ask(peer, request, &got, ret) &&
	       take_page(peer, listing, got.result, ret);
}

static void keep_list(struct mcp_peer *peer, const struct mcp_listing *listing)
{
	struct mcp_state *state = peer->state;
	int64_t ttl = MIN_OF(MAX_OF(listing->ttl_ms, RYE_MCP_LIST_MIN_S * 1000LL),
			     RYE_MCP_LIST_MAX_S * 1000LL);
	json_t *tool;
	size_t i;

	json_decref(state->tools);
	state->tools = json_object();
	json_array_foreach(listing->tools, i, tool)
		json_set(state->tools, json_str(tool, "name"), mcp_definition(tool));
	/* A process says so when its tools change, and a new one is asked again. */
	state->tools_until_ms = peer->wire->http ? clock_ms() + ttl : INT64_MAX;
}

static bool list_tools(struct mcp_peer *peer, struct mcp_listing *ret_list, struct mcp_answer *ret)
{
	ret_list->tools = json_array();
	ret_list->cursors = json_array();
	ret_list->ttl_ms = INT64_MAX;
	do {
		if (!ask_page(peer, ret_list, ret))
			return false;
	} while (ret_list->cursor);
	keep_list(peer, ret_list);
	return true;
}

bool mcp_list_all(struct mcp_peer *peer, struct mcp_answer *ret)
{
	__attribute__((cleanup(listing_done))) struct mcp_listing listing = { 0 };

	if (!list_tools(peer, &listing, ret))
		return false;
	ret->result = json_pack("{s:O}", "tools", listing.tools);
	return true;
}

static bool list_is_fresh(const struct mcp_peer *peer)
{
	return peer->state->tools && clock_ms() < peer->state->tools_until_ms;
}

static bool list_again(struct mcp_peer *peer, struct mcp_answer *ret)
{
	__attribute__((cleanup(listing_done))) struct mcp_listing listing = { 0 };

	return list_tools(peer, &listing, ret);
}

static const json_t *listed_definition(const struct mcp_peer *peer)
{
	return json_object_get(peer->state->tools, peer->ask->tool);
}

static bool pin_fault(const struct mcp_peer *peer, const json_t *now, struct mcp_answer *ret)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	json_t *name;
	size_t i;

	if (now && peer->ask->members) {
		auto_json json_t *members = mcp_members(now);

		ret->changed = mcp_changes(peer->ask->members, members);
	}
	json_array_foreach(ret->changed, i, name)
		buf_addf(&names, "%s%s", i ? ", " : "", json_string_value(name));
	mcp_session_fault(
		ret, MCP_FAULT_CHANGED,
		now ? "%s defines %s otherwise than was signed (%s); nothing was called; " MEND_WITH
		      "ryefs mcp refresh %s" :
		      "%s has no tool %s any more%s; nothing was called; " MEND_WITH
		      "ryefs mcp refresh %s",
		peer->ask->spec->id, peer->ask->tool, names.data ? names.data : "",
		mcp_server_name(peer->ask->spec));
	return false;
}

bool mcp_list_check(struct mcp_peer *peer, struct mcp_answer *ret)
{
	char pin[MCP_PIN_SIZE];
	const json_t *now;

	if (!peer->ask->pin)
		return true;
	if (peer->wire->catch_up)
		peer->wire->catch_up(peer);
	if (!list_is_fresh(peer) && !list_again(peer, ret))
		return false;
	now = listed_definition(peer);
	if (!now)
		return pin_fault(peer, now, ret);
	mcp_pin(now, pin);
	return !strcmp(pin, peer->ask->pin) || pin_fault(peer, now, ret);
}

/* ---- headers that the server wants otherwise ---- */

/* The same, but for the annotations that name headers? */
static bool same_but_mirror(const json_t *before, const json_t *after, int left)
{
	json_t *old = (json_t *)before, *value;
	const char *key;

	if (!left || !json_is_object(before) || !json_is_object(after))
		return before == after || (before && after && json_equal(before, after));
	json_object_foreach(old, key, value)
		if (strcmp(key, "x-mcp-header") != 0 &&
		    !same_but_mirror(value, json_object_get(after, key), left - 1))
			return false;
	old = (json_t *)after;
	json_object_foreach(old, key, value)
		if (strcmp(key, "x-mcp-header") != 0 && !json_object_get(before, key))
			return false;
	return true;
}

bool mcp_list_mirror(struct mcp_peer *peer, struct mcp_answer *ret)
{
	struct mcp_answer asked = { .fault = MCP_FINE };
	bool listed = list_again(peer, &asked);
	const json_t *now = json_object_get(listed_definition(peer), "inputSchema");
	const char *why;

	mcp_answer_done(&asked);
	if (!listed || !now || !mcp_mirror_check(now, &why))
		return false;
	/* A pin is over the whole schema; where there is none, only where the value goes may change. */
	if (peer->ask->pin ? !mcp_list_check(peer, ret) :
			     !same_but_mirror(peer->mirror, now, RYE_MCP_DEPTH))
		return false;
	peer->mirror = now;
	json_decref(steal(&ret->error));
	free(steal(&ret->text));
	ret->fault = MCP_FINE;
	return true;
}
