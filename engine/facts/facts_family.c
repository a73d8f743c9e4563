/* SPDX-License-Identifier: MIT */
/*
 * The other threads of a thread, as links; the tools that its model was offered; the whole results of
 * its tools.
 */
#include "facts/facts_inner.h"

#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

int fact_parent(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	/* the registry may come with a clone: what it names must be an id */
	if (thread_id_check(look->thread.links.parent_id, err))
		return -(int)RYE_NOT_FOUND;
	buf_adds(out, look->thread.links.parent_id);
	return 0;
}

int fact_chain(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	const struct registry_links *links = &look->thread.links;
	const char *const names[][2] = {
		{ "next", links->continuation_thread_id },
		{ "prev", links->continuation_of },
		{ "root", links->chain_root_id },
	};
	unsigned long since = memory_failures();

	*ret = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (*names[i][1] && !thread_id_check(names[i][1], NULL))
			json_sets(*ret, names[i][0], names[i][1]);
	return memory_check(since, err);
}

static int add_child(void *arg, const char *id)
{
	const char *slash = strrchr(id, '/');

	json_sets(arg, slash ? slash + 1 : id, id);
	return 0;
}

/* Children come and go with rows of the registry. */
uint64_t fact_children_state(const struct facts_look *look)
{
	int64_t version[2];

	if (registry_version(look->thread.db, version, NULL))
		return 0;
	return hash_add(hash_add(HASH_BASIS, (uint64_t)version[0]), (uint64_t)version[1]);
}

int fact_children(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	int r;

	*ret = json_object();
	r = threads_children(look->facts->env.threads, look->id, add_child, *ret, err);
	return memory_result(since, r, err);
}

uint64_t fact_tools_state(const struct facts_look *look)
{
	auto_trust struct trust *trust = trust_get(look->facts->env.items->trust);
	uint64_t state = facts_file_state(HASH_BASIS, look->thread.dir, "capabilities.md");

	return state ? hash_add(state, trust->generation) : 0;
}

/* One that was changed since, or whose key is not trusted, offers nothing. */
int fact_tools(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	auto_close int ai = facts_ai(look->facts, err);
	const struct record record = facts_record(look, ai);
	unsigned long since = memory_failures();
	auto_json json_t *tools = NULL;
	json_t *tool;
	size_t i;

	*ret = json_object();
	if (ai < 0 || capabilities_md_read(&record, &tools, NULL))
		return memory_check(since, err);
	json_array_foreach(tools, i, tool) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;
		char name[128], file[140];

		facts_name(json_str(tool, "name"), name);
		snprintf(file, sizeof(file), "%s.json", name);
		json_pretty(&text, tool);
		if (!text.failed)
			json_sets(*ret, file, text.data);
	}
	return memory_check(since, err);
}

/* The pointer to the index, which is named by what is in it. */
uint64_t fact_artifacts_state(const struct facts_look *look)
{
	auto_close int ai = facts_ai(look->facts, NULL);
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	facts_artifacts_path(look, &path);
	return ai < 0 || path.failed ? 0 : facts_file_state(HASH_BASIS, ai, path.data);
}

/* A leaf is the digest of its bytes. */
int fact_artifacts(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	auto_close int ai = facts_ai(look->facts, err);
	const struct record record = facts_record(look, ai);
	unsigned long since = memory_failures();
	auto_json json_t *index = NULL;
	const char *key;
	json_t *entry;
	int r = ai < 0 ? ai : artifact_index(&record, &index, err);

	if (r)
		return r;
	*ret = json_object();
	json_object_foreach(index, key, entry) {
		char name[128];

		facts_name(key, name);
		json_sets(*ret, name, json_str(entry, "blob_hash"));
	}
	return memory_check(since, err);
}

int fact_artifact(const struct facts_look *look, const char *value, struct rye_buf *out,
		  struct rye_err *err)
{
	auto_close int ai = facts_ai(look->facts, err);
	const struct record record = facts_record(look, ai);
	auto_blob struct rye_blob *bytes = NULL;
	int r = ai < 0 ? ai : artifact_blob(&record, value, &bytes, err);

	if (!r)
		buf_add(out, bytes->data, bytes->len);
	return r;
}
