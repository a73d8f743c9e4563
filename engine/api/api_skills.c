/* SPDX-License-Identifier: MIT */
/*
 * Agent Skills as folders: which there are, and what is in one. Verdicts are the index's, as of any
 * item; the bytes of a file are read when they are asked for and compared with the manifest then, too.
 * A folder without a manifest is told of as unsigned: no client should take it for one that is good.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "memory.h"
#include "skill/skill.h"
#include "str.h"

#include <fcntl.h>

static bool may_be_named(const char *name)
{
	return *name != '.' && !strchr(name, '/') && !id_check(span_of(name), NULL);
}

/* The strongest space that has a folder of that name; NULL: none has. */
static const struct space *folder_space(const struct rye *rye, const char *name)
{
	if (strlen(name) > SKILL_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < rye->spaces->n; i++) {
		int ai = space_fd(&rye->spaces->v[i]);
		auto_close int folder = ai < 0 ? -1 : skill_open_folder(ai, name);

		if (folder >= 0)
			return &rye->spaces->v[i];
	}
	return NULL;
}

static int find_unsigned(const struct rye *rye, const char *name, struct rye_skill *ret,
			 struct rye_err *err)
{
	const struct space *space = folder_space(rye, name);
	struct rye_err why = { .code = RYE_UNSIGNED };
	struct reason about;

	if (!space)
		return rye_fail(err, RYE_NOT_FOUND, "Skill not found: %.900s", name);
	about = (struct reason){ RYE_SKILL, name, space->root, space->type };
	rye_fail(&why, RYE_UNSIGNED, "Unsigned item; " MEND_WITH "ryefs skill add %s%.80s",
		 space->type == RYE_USER ? "--space user " : "", name);
	*ret = (struct rye_skill){ .kind = RYE_SKILL, .verdict = RYE_UNSIGNED, .version = 1 };
	snprintf(ret->id, sizeof(ret->id), "%s", name);
	reason_line(&about, &why, ret->reason);
	return 0;
}

static void take_state(const struct index_item *item, struct rye_skill *ret)
{
	const struct index_state *state = &item->state;

	*ret = (struct rye_skill){ .kind = RYE_SKILL,
				   .verdict = state->code,
				   .version = state->version,
				   .mtime = { state->mtime_ns / 1000000000,
					      state->mtime_ns % 1000000000 } };
	snprintf(ret->id, sizeof(ret->id), "%s", item->id);
	if (state->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s", state->reason->data);
}

/* Where no watch tells of changes below the folder, all of it is hashed again. */
static void doubt_unwatched(struct rye *rye, const char *name)
{
	char path[1100];

	engine_check(rye, RYE_SKILL, name);
	snprintf(path, sizeof(path), "%s/%.1000s%s", rye_kind_dir(RYE_SKILL), name,
		 kind_extensions(RYE_SKILL)[0]);
	if (!rye->watch || index_unwatched(rye->index, RYE_SKILL, name))
		index_doubt(rye->index, path);
}

int rye_skill_find(struct rye *rye, const char *name, struct rye_skill *ret, struct rye_err *err)
{
	struct index *index = engine_index(rye);
	struct index_item item;
	bool there;

	if (!may_be_named(name))
		return rye_fail(err, RYE_NOT_FOUND, "Skill not found: %.900s", name);
	doubt_unwatched(rye, name);
	if (!index_item(index, RYE_SKILL, name, &item))
		return find_unsigned(rye, name, ret, err);
	there = cache_know(&rye->cache, &item, NULL);
	if (there)
		take_state(&item, ret);
	index_state_done(&item.state);
	return there ? 0 : find_unsigned(rye, name, ret, err);
}

/* ---- which there are ---- */

struct listing_skills {
	struct rye *rye;
	rye_skill_fn fn;
	void *arg;
	bool stop;
};

static void tell_name(struct listing_skills *list, const char *name)
{
	struct rye_skill skill;
	struct rye_err ignored;

	if (!list->stop && rye_skill_find(list->rye, name, &skill, &ignored) == 0)
		list->stop = list->fn(list->arg, name, skill.verdict != RYE_OK);
}

/* Folders beside which no manifest lies. */
static void list_folders(struct listing_skills *list, const struct space *space)
{
	int ai = space_fd(space);
	int fd = ai < 0 ? -1 : io_open_mounted(ai, rye_kind_dir(RYE_SKILL), O_RDONLY | O_DIRECTORY);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct index_item item;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && !list->stop && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && may_be_named(entry->d_name) &&
		    !index_item(list->rye->index, RYE_SKILL, entry->d_name, &item))
			tell_name(list, entry->d_name);
		else if (entry->d_type == DT_DIR && may_be_named(entry->d_name))
			index_state_done(&item.state);
	}
}

int rye_skill_list(struct rye *rye, rye_skill_fn fn, void *arg, struct rye_err *err)
{
	__attribute__((cleanup(index_list_done))) struct index_list names = { 0 };
	struct listing_skills list = { .rye = rye, .fn = fn, .arg = arg };
	struct index *index = engine_index(rye);

	engine_check(rye, RYE_SKILL, "");
	if (!index_list(index, RYE_SKILL, "", &names) && index_lacks(index))
		return memory_fail(err);
	for (size_t i = 0; i < names.n && !list.stop; i++) {
		auto_free char *name = strdup(names.v[i].name);

		if (!name)
			return memory_fail(err);
		if (names.v[i].is_dir)
			continue;
		name[strlen(name) - strlen(kind_extension_of(RYE_SKILL, name))] = 0;
		tell_name(&list, name);
	}
	for (size_t i = 0; i < rye->spaces->n && !list.stop; i++)
		list_folders(&list, &rye->spaces->v[i]);
	return 0;
}

/* ---- what is in one ---- */

/* The verified manifest; *ret is done with when *ret_item is. */
static int open_manifest(struct rye *rye, const struct rye_skill *skill, struct rye_item **ret_item,
			 struct skill *ret, struct rye_err *err)
{
	const struct item_ask ask = { .kind = RYE_SKILL, .id = skill->id };
	int r = rye_load(&rye->items, &ask, ret_item, err);

	return r ? r : parsed_skill(&(*ret_item)->parsed, ret, err);
}

static uint64_t version_of_file(const struct skill_file *file)
{
	uint64_t version;

	memcpy(&version, file->sha, sizeof(version));
	return (version ^ (uint64_t)file->x << 1) | 1;
}

static int read_listed(struct rye *rye, const struct rye_item *item, const struct skill_file *file,
		       struct rye_skill_file *ret, struct rye_err *err)
{
	auto_close int folder = skill_open_folder(space_fd(item->space), item->id);
	struct rye_blob *blob = NULL;
	struct stat st;
	int r;

	if (folder < 0)
		return rye_fail(err, RYE_MODIFIED, "the folder of skill %s is gone", item->id);
	r = skill_load(folder, file, &blob, &st, err);
	if (r)
		return r;
	*ret = (struct rye_skill_file){ .x = file->x,
					.version = version_of_file(file),
					.text = spool_keep(rye->spool, blob) };
	return ret->text ? 0 : memory_fail(err);
}

int rye_skill_read(struct rye *rye, const struct rye_skill *skill, const char *path,
		   struct rye_skill_file *ret, struct rye_err *err)
{
	auto_item struct rye_item *item = NULL;
	auto_skill struct skill manifest = { 0 };
	const struct skill_file *file;
	char doubted[1100];
	int r;

	/* that was found, so it is there */
	if (!*path) {
		*ret = (struct rye_skill_file){ .is_dir = true, .version = 1 };
		return 0;
	}
	r = open_manifest(rye, skill, &item, &manifest, err);
	if (r)
		return r;
	if (skill_below(&manifest, path)) {
		*ret = (struct rye_skill_file){ .is_dir = true, .version = 1 };
		return 0;
	}
	file = skill_find(&manifest, path);
	if (!file)
		return rye_fail(err, RYE_NOT_FOUND, "skill %s lists no such file", skill->id);
	r = read_listed(rye, item, file, ret, err);
	/* the change is seen here before a watch has told of it */
	if (r == -(int)RYE_MODIFIED) {
		snprintf(doubted, sizeof(doubted), "%s", item->path);
		index_doubt(rye->index, doubted);
	}
	return r;
}

int rye_skill_names(struct rye *rye, const struct rye_skill *skill, const char *dir,
		    rye_skill_name_fn fn, void *arg, struct rye_err *err)
{
	auto_item struct rye_item *item = NULL;
	auto_skill struct skill manifest = { 0 };
	int r = open_manifest(rye, skill, &item, &manifest, err);

	for (size_t i = 0; !r && i < manifest.n; i++) {
		const char *path = path_below(manifest.v[i].path, dir), *slash;
		char name[256];

		if (!path || !*path)
			continue;
		slash = strchr(path, '/');
		snprintf(name, sizeof(name), "%.*s", (int)(slash ? slash - path : 255), path);
		fn(arg, name, slash != NULL);
	}
	return r;
}

int rye_skill_manifest(struct rye *rye, enum rye_space space, const char *name,
		       struct rye_blob **ret, struct rye_err *err)
{
	struct item_ask ask = { .kind = RYE_SKILL, .id = name };
	auto_item struct rye_item *item = NULL;
	int r;

	for (size_t i = 0; i < rye->spaces->n && !ask.only; i++)
		if (rye->spaces->v[i].type == space)
			ask.only = &rye->spaces->v[i];
	r = rye_load(&rye->items, &ask, &item, err);
	if (!r)
		*ret = rye_blob_ref(item->raw);
	return r;
}
