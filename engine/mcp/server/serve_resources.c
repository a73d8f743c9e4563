/* SPDX-License-Identifier: MIT */
/*
 * Knowledge as resources, rye://knowledge/ID, and what manifests of skills list: skill://NAME/SKILL.md is
 * listed, other files are read by their paths. Nothing else is one: tools are read by rye_fetch, and
 * what a model wrote, transcripts and states, is not read here at all. What does not verify is not
 * there. On the thread that read the request; no lock.
 */
#include "mcp/server/server_inner.h"

#include "scope.h"
#include "skill/skill.h"
#include "str.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define URI "rye://knowledge/"
#define SKILL_URI "skill://"
#define TYPE "text/markdown"
/* What is sent as one message; a skill's bigger files are for a mount. */
#define FILE_MAX (8u << 20)

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

/* ---- skills: each read hashes the file against the verified manifest ---- */

static json_t *skill_meta(struct serve *serve, const char *name)
{
	auto_json json_t *info = serve_view_json(serve, RYE_SKILL, name, RYE_VIEW_INFO);
	json_t *meta = json_pack("{s:o}", "ryefs/ref", json_sprintf("skill:%s", name));

	if (*json_str(info, "signer"))
		json_sets(meta, "ryefs/signer", json_str(info, "signer"));
	if (*json_str(info, "owner"))
		json_sets(meta, "ryefs/owner", json_str(info, "owner"));
	return meta;
}

/* The bytes of a file that the manifest lists; RYE_NOT_FOUND: of none, or of a directory. */
static int skill_bytes(struct serve *serve, const char *name, const char *path,
		       struct rye_blob **ret, struct rye_err *err)
{
	struct rye_skill_file file = { 0 };
	struct rye_skill skill;
	int r = rye_skill_find(serve->rye, name, &skill, err);

	if (!r && skill.verdict != RYE_OK)
		return rye_fail(err, skill.verdict, "%s", skill.reason);
	if (!r)
		r = rye_skill_read(serve->rye, &skill, path, &file, err);
	if (r)
		return r;
	if (file.is_dir)
		r = rye_fail(err, RYE_NOT_FOUND, "skill %s has no such file", name);
	else if (rye_text_len(file.text) > FILE_MAX)
		r = rye_fail(err, RYE_TOO_BIG, "it is bigger than %u MiB: read it in a mount",
			     FILE_MAX >> 20);
	else
		r = rye_text_get(file.text, ret, err);
	rye_text_unref(file.text);
	return r;
}

static json_t *skill_entry(struct serve *serve, const struct serve_found *found)
{
	const char *name = found->st->id;
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *front = NULL;
	struct rye_err ignored = { 0 };
	json_t *entry;

	if (skill_bytes(serve, name, SKILL_TEXT, &text, &ignored) ||
	    skill_front((struct rye_span){ text->data, text->len }, &front, NULL, &ignored))
		return NULL;
	entry = json_object();
	json_set(entry, "uri", json_sprintf(SKILL_URI "%s/" SKILL_TEXT, name));
	json_sets(entry, "name", name);
	json_sets(entry, "description", json_str(front, "description"));
	json_sets(entry, "mimeType", TYPE);
	json_set(entry, "size", json_integer((json_int_t)text->len));
	json_set(entry, "_meta", skill_meta(serve, name));
	return entry;
}

static json_t *skill_template(void)
{
	return json_pack("{s:s, s:s, s:s}", "uriTemplate", SKILL_URI "{name}/{+path}", "name",
			 "skill", "description",
			 "A file of an Agent Skill: " SKILL_TEXT ", and what it names");
}

static void put_base64(json_t *entry, const struct rye_blob *blob)
{
	auto_free char *text = malloc(blob->len / 3 * 4 + 5);

	if (text) {
		EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)blob->data,
				(int)blob->len);
		json_sets(entry, "blob", text);
	}
}

static json_t *skill_contents(struct serve *serve, const char *uri, const char *name,
			      const struct rye_blob *blob)
{
	bool text = utf8_valid((struct rye_span){ blob->data, blob->len });
	json_t *entry = json_object();

	json_sets(entry, "uri", uri);
	json_sets(entry, "mimeType",
		  !text		       ? "application/octet-stream" :
		  str_ends(uri, ".md") ? TYPE :
					 "text/plain");
	if (text)
		json_set(entry, "text", json_stringn(blob->data, blob->len));
	else
		put_base64(entry, blob);
	json_set(entry, "_meta", skill_meta(serve, name));
	return json_pack("{s:[o]}", "contents", entry);
}

static bool is_skill(const char *uri)
{
	return !strncmp(uri, SKILL_URI, strlen(SKILL_URI));
}

static json_t *skill_resource(struct serve *serve, const char *uri, struct rye_err *err)
{
	auto_buf struct rye_buf name = RYE_BUF_INIT;
	auto_blob struct rye_blob *blob = NULL;
	char *slash;

	if (!serve_unpercent(uri + strlen(SKILL_URI), &name) || !name.len ||
	    !(slash = strchr(name.data, '/'))) {
		rye_fail(err, RYE_NOT_FOUND, "%.200s", uri);
		return NULL;
	}
	*slash = 0;
	if (!skill_name_ok(span_of(name.data)) || !skill_path_ok(span_of(slash + 1))) {
		rye_fail(err, RYE_NOT_FOUND, "%.200s", uri);
		return NULL;
	}
	if (skill_bytes(serve, name.data, slash + 1, &blob, err))
		return NULL;
	return skill_contents(serve, uri, name.data, blob);
}

/* ---- both ---- */

json_t *serve_resources_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault)
{
	static const struct serve_page skills = { RYE_SKILL, "resources", NULL, skill_entry, NULL };
	static const struct serve_page page = { RYE_KNOWLEDGE, "resources", NULL, resource_entry,
						&skills };

	return serve_page(request, &page, params, fault);
}

json_t *serve_templates_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault)
{
	if (json_object_get(params, "cursor"))
		return serve_fail(fault, MCP_BAD_PARAMS, "cursor: there is no such page");
	return serve_fresh(request, json_pack("{s:[{s:s, s:s, s:s, s:s}, o]}", "resourceTemplates",
					      "uriTemplate", URI "{+id}", "name", "knowledge",
					      "description", "A knowledge entry of this workspace",
					      "mimeType", TYPE, skill_template()));
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
	if (is_skill(uri)) {
		result = skill_resource(serve, uri, &err);
		return result ? serve_fresh(request, result) :
				resource_missing(uri, err.msg, fault);
	}
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
