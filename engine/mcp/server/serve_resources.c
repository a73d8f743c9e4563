/* SPDX-License-Identifier: MIT */
/*
 * Knowledge as resources: rye://knowledge/ID. Nothing else is one: tools are read by rye_fetch, and
 * what a model wrote, transcripts and states, is not read here at all. What does not verify is not
 * there. On the thread that read the request; no lock.
 */
#include "mcp/server/server_inner.h"

#include "str.h"

#include <ctype.h>
#include <string.h>

#define URI "rye://knowledge/"
#define TYPE "text/markdown"

bool serve_unpercent(const char *text, struct rye_buf *ret)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '%') {
			char hex[3] = { text[1], text[1] ? text[2] : 0, 0 };

			if (!isxdigit((unsigned char)hex[0]) || !isxdigit((unsigned char)hex[1]))
				return false;
			c = (unsigned char)strtoul(hex, NULL, 16);
			text += 2;
		}
		if (!c)
			return false;
		buf_addc(ret, (char)c);
	}
	return !ret->failed && utf8_valid((struct rye_span){ ret->data, ret->len });
}

/* What is told of the item in _meta: its signer, and its name here. */
static json_t *resource_meta(const char *id, const json_t *info)
{
	json_t *meta = json_pack("{s:o}", "ryefs/ref", json_sprintf("knowledge:%s", id));

	if (*json_str(info, "signer"))
		json_sets(meta, "ryefs/signer", json_str(info, "signer"));
	if (*json_str(info, "owner"))
		json_sets(meta, "ryefs/owner", json_str(info, "owner"));
	return meta;
}

/* Transcripts are signed as knowledge, against changes; but a model wrote them. */
static bool model_wrote(const char *id)
{
	static const char threads[] = "agent/threads/";

	return !strncmp(id, threads, sizeof(threads) - 1);
}

static json_t *resource_entry(struct serve *serve, const struct serve_found *found)
{
	const char *id = found->st->id;
	auto_json json_t *info = serve_view_json(serve, RYE_KNOWLEDGE, id, RYE_VIEW_INFO);
	const json_t *meta = json_object_get(info, "meta");
	const char *title = json_str(meta, "title"), *text = json_str(meta, "description");
	auto_buf struct rye_buf uri = RYE_BUF_INIT;
	json_t *entry;

	if (model_wrote(id))
		return NULL;
	entry = json_object();
	buf_adds(&uri, URI);
	buf_percent(&uri, span_of(id), true);
	json_sets(entry, "uri", uri.data);
	json_sets(entry, "name", id);
	if (*title)
		json_sets(entry, "title", title);
	if (*text)
		json_sets(entry, "description", text);
	json_sets(entry, "mimeType", TYPE);
	json_set(entry, "size", json_integer((json_int_t)found->st->size));
	json_set(entry, "_meta", resource_meta(id, info));
	return entry;
}

json_t *serve_resources_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault)
{
	static const struct serve_page page = { RYE_KNOWLEDGE, "resources", NULL, resource_entry };

	return serve_page(request, &page, params, fault);
}

json_t *serve_templates_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault)
{
	if (json_object_get(params, "cursor"))
		return serve_fail(fault, MCP_BAD_PARAMS, "cursor: there is no such page");
	return serve_fresh(request,
			   json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "resourceTemplates",
				     "uriTemplate", URI "{+id}", "name", "knowledge", "description",
				     "A knowledge entry of this workspace", "mimeType", TYPE));
}

static json_t *resource_missing(const char *uri, const char *why, struct serve_fault *fault)
{
	serve_fail(fault, MCP_BAD_PARAMS, "Resource not found: %.200s", why);
	utf8_mend(fault->text);
	fault->data = json_pack("{s:s}", "uri", uri);
	return NULL;
}

json_t *serve_resources_read(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault)
{
	struct serve *serve = request->serve;
	const char *uri = serve_text(params, "uri");
	auto_buf struct rye_buf id = RYE_BUF_INIT;
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *info = NULL;
	struct rye_err err = { 0 };
	struct rye_ask ask = { .kind = RYE_KNOWLEDGE, .view = RYE_VIEW_RENDERED };
	json_t *result;

	if (!uri)
		return serve_fail(fault, MCP_BAD_PARAMS,
				  "uri: the address of a resource is wanted");
	if (strncmp(uri, URI, strlen(URI)) != 0 || !serve_unpercent(uri + strlen(URI), &id) ||
	    !id.len || model_wrote(id.data))
		return resource_missing(uri, uri, fault);
	ask.id = id.data;
	if (rye_view(serve->rye, &ask, &text, &err))
		return resource_missing(uri, err.msg, fault);
	info = serve_view_json(serve, RYE_KNOWLEDGE, id.data, RYE_VIEW_INFO);
	result = json_pack("{s:[{s:s, s:s, s:s%, s:o}]}", "contents", "uri", uri, "mimeType", TYPE,
			   "text", text->data, text->len, "_meta", resource_meta(id.data, info));
	if (result)
		return serve_fresh(request, result);
	return serve_fail(fault, MCP_INTERNAL, "the text is not UTF-8");
}
