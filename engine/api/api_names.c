/* SPDX-License-Identifier: MIT */
/*
 * Names of the merged trees: rye_lookup, rye_list, rye_source, and the spaces. Answers come
 * from the index; only a verdict that is not known yet is waited for.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "bounds.h"
#include "memory.h"
#include "str.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

static int api_names_not_found(enum rye_kind kind, const char *path, struct rye_err *err)
{
	return rye_fail(err, RYE_NOT_FOUND, "%s not found: %.900s", kind_title(kind), path);
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static void fill_state(const struct index_state *state, struct rye_stat *ret)
{
	ret->verdict = state->code;
	ret->size = state->size;
	ret->version = state->version;
	ret->mtime = time_of(state->mtime_ns);
	if (state->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s", state->reason->data);
}

static void api_names_fill(const struct index_found *found, struct rye_stat *ret)
{
	const char *leaf = space_stem(found->item.id);

	*ret = (struct rye_stat){ .is_dir = found->is_dir,
				  .is_item_dir = found->is_item_dir,
				  .is_file = found->is_file,
				  .version = 1 };
	if (!found->is_file && !found->is_item_dir)
		return;
	snprintf(ret->id, sizeof(ret->id), "%s", found->item.id);
	snprintf(ret->name, sizeof(ret->name), "%.*s%s", RYE_NAME_MAX, leaf, found->item.ext);
	fill_state(&found->item.state, ret);
}

/* Once its state is known; a file that is gone is as if the watcher had heard of it. */
static void know_found(struct rye *rye, struct index_found *found, struct rye_text **ret_text)
{
	if (cache_know(&rye->cache, &found->item, ret_text))
		return;
	index_state_done(&found->item.state);
	found->is_file = found->is_item_dir = false;
}

static bool is_wanted(const struct rye_want *want, const struct rye_stat *st)
{
	return st->is_file && st->verdict == RYE_OK && want->fn && want->fn(want->arg, st);
}

/* Of an index that lacks something a name may be missing that is there. */
static int missing(struct rye *rye, enum rye_kind kind, const char *path, struct rye_err *err)
{
	return index_lacks(rye->index) ? memory_fail(err) : api_names_not_found(kind, path, err);
}

/* A change while it is rendered makes another round. */
static int read_rendered(struct rye *rye, const struct rye_want *want, struct index_found *found,
			 struct rye_file *ret, struct rye_err *err)
{
	const struct rye_ask ask = { want->kind, ret->st.id, RYE_VIEW_RENDERED, want->query };
	uint64_t version = 0;
	int r = 0;

	/* once at least: a version of 0 is of a state that is not known */
	for (int i = 0; i < 3 && (!i || version != ret->st.version) && found->is_file && !r; i++) {
		auto_blob struct rye_blob *blob = NULL;

		version = ret->st.version;
		rye_text_unref(steal(&ret->text));
		r = rye_view(rye, &ask, &blob, err);
		if (!r)
			ret->text = spool_keep(rye->spool, steal(&blob));
		index_state_done(&found->item.state);
		if (!index_find(rye->index, want->kind, want->path, found))
			return missing(rye, want->kind, want->path, err);
		know_found(rye, found, NULL);
		api_names_fill(found, &ret->st);
	}
	return r;
}

/* loaded: what was read already to know it; taken. One text is for all readers of a version. */
static void read_text(struct rye *rye, struct index_found *found, struct rye_text **loaded,
		      struct rye_file *ret)
{
	ret->text = steal(loaded);
	if (!ret->text) {
		know_found(rye, found, &ret->text);
		api_names_fill(found, &ret->st);
	}
	if (ret->text)
		index_keep_text(rye->index, &found->item, ret->st.version, ret->text);
}

static int api_names_read(struct rye *rye, const struct rye_want *want, struct rye_file *ret,
			  struct rye_err *err)
{
	struct index *index = engine_index(rye);
	struct rye_text *text = NULL;
	struct index_found found;
	bool wanted;
	int r = 0;

	*ret = (struct rye_file){ 0 };
	atomic_fetch_add(&rye->asked, 1);
	/* No name outside the kind's directory is ever looked for on disk. */
	if (*want->path && id_check(span_of(want->path), NULL)) {
		ret->watched = !index_unwatched(index, want->kind, want->path);
		return api_names_not_found(want->kind, want->path, err);
	}
	ret->watched = engine_check(rye, want->kind, want->path);
	if (!index_find(index, want->kind, want->path, &found))
		return missing(rye, want->kind, want->path, err);
	if ((found.is_file || found.is_item_dir) && !found.item.state.known) {
		know_found(rye, &found, &text);
		/* that its file has another name was seen when it was read */
		ret->watched = ret->watched && !index_unwatched(index, want->kind, want->path);
	}
	api_names_fill(&found, &ret->st);
	/* Once: the front takes a reference to a node when it is asked. */
	wanted = is_wanted(want, &ret->st);
	if (wanted && want->query) {
		r = read_rendered(rye, want, &found, ret, err);
	} else if (wanted) {
		read_text(rye, &found, &text, ret);
	}
	rye_text_unref(text);
	index_state_done(&found.item.state);
	if (r)
		return r;
	if (!found.is_file && !found.is_item_dir && !found.is_dir)
		return missing(rye, want->kind, want->path, err);
	return 0;
}

struct rye_text *rye_text_new(struct rye *rye, struct rye_blob *blob)
{
	return spool_keep(rye->spool, blob);
}

int rye_read(struct rye *rye, const struct rye_want *want, struct rye_file *ret,
	     struct rye_err *err)
{
	unsigned long since = memory_failures();
	int r = memory_result(since, api_names_read(rye, want, ret, err), err);

	if (r)
		rye_text_unref(steal(&ret->text));
	return r;
}

int rye_lookup(struct rye *rye, enum rye_kind kind, const char *path, struct rye_stat *ret,
	       struct rye_err *err)
{
	const struct rye_want want = { kind, path, NULL, NULL };
	struct rye_file file;
	int r = rye_read(rye, &want, &file, err);

	if (!r)
		*ret = file.st;
	return r;
}

/* ---- from memory ---- */

static bool is_scanned(const struct rye *rye)
{
	return rye->built && !index_lacks(rye->index);
}

bool rye_known(struct rye *rye, enum rye_kind kind, const char *path, struct rye_file *ret)
{
	struct index_found found;
	bool known = true;

	*ret = (struct rye_file){ .watched = true };
	if (*path && id_check(span_of(path), NULL))
		return !index_unwatched(rye->index, kind, path);
	if (!is_scanned(rye) || index_unwatched(rye->index, kind, path))
		return false;
	if (!index_find(rye->index, kind, path, &found))
		return true;
	known = found.item.state.known || !(found.is_file || found.is_item_dir);
	if (known)
		api_names_fill(&found, &ret->st);
	if (known && found.is_file && found.item.state.code == RYE_OK)
		ret->text = steal(&found.item.state.text);
	/* as rye_read: what looks ahead makes room for a reader */
	if (ret->text)
		atomic_fetch_add(&rye->asked, 1);
	index_state_done(&found.item.state);
	return known;
}

int rye_space_of(struct rye *rye, enum rye_kind kind, const char *path)
{
	struct index_found found;
	int space = -1;

	if (!is_scanned(rye) || !index_find(rye->index, kind, path, &found))
		return -1;
	if (found.is_file || found.is_item_dir)
		space = found.item.space;
	index_state_done(&found.item.state);
	return space;
}

/* ---- listings ---- */

static void api_names_know(struct rye *rye, const struct rye_walk *walk, struct index_name *name)
{
	const char *ext = kind_extension_of(walk->kind, name->name);
	struct index_item item;
	char id[RYE_ID_MAX + RYE_NAME_MAX + 2];

	if (name->is_dir || !ext)
		return;
	snprintf(id, sizeof(id), "%s%s%.*s", walk->dir, *walk->dir ? "/" : "",
		 (int)(strlen(name->name) - strlen(ext)), name->name);
	/* In a directory that is not watched every file may have changed. */
	engine_check(rye, walk->kind, id);
	if (name->state.known && !index_unwatched(rye->index, walk->kind, id))
		return;
	index_state_done(&name->state);
	if (!index_item(rye->index, walk->kind, id, &item))
		return;
	if (cache_know(&rye->cache, &item, NULL))
		name->state = item.state;
	else
		index_state_done(&item.state);
}

static int api_names_tell(const struct rye_walk *walk, const struct index_name *name)
{
	const struct index_state *state = &name->state;
	const struct rye_entry entry = { .name = name->name,
					 .is_dir = name->is_dir,
					 .has_verdict = state->known,
					 .verdict = state->code,
					 .size = state->size,
					 .version = state->version,
					 .mtime = time_of(state->mtime_ns),
					 .reason = state->reason ? state->reason->data : "" };

	return walk->fn(walk->arg, &entry);
}

static int api_names_list(struct rye *rye, const struct rye_walk *walk, struct rye_err *err)
{
	struct index *index = engine_index(rye);
	__attribute__((cleanup(index_list_done))) struct index_list list = { 0 };

	if (*walk->dir && id_check(span_of(walk->dir), NULL))
		return api_names_not_found(walk->kind, walk->dir, err);
	engine_check(rye, walk->kind, walk->dir);
	if (!index_list(index, walk->kind, walk->dir, &list) || index_lacks(index))
		return missing(rye, walk->kind, walk->dir, err);
	for (size_t i = 0; i < list.n; i++) {
		if (walk->plus)
			api_names_know(rye, walk, &list.v[i]);
		if (api_names_tell(walk, &list.v[i]))
			break;
	}
	return 0;
}

int rye_list(struct rye *rye, const struct rye_walk *walk, struct rye_err *err)
{
	unsigned long since = memory_failures();

	return memory_result(since, api_names_list(rye, walk, err), err);
}

/* ---- sources and spaces ---- */

static int source_direct(struct rye *rye, enum rye_kind kind, const char *id, struct rye_place *ret,
			 struct rye_err *err)
{
	const struct item_ask ask = { .kind = kind, .id = id };
	struct located at = { .fd = -1 };
	int r = space_locate(rye->spaces, &ask, &at, err);
	auto_close int fd = r ? -1 : at.fd;

	if (r)
		return r;
	ret->space = at.space->index;
	memcpy(ret->path, at.path, sizeof(ret->path));
	return 0;
}

int rye_source(struct rye *rye, enum rye_kind kind, const char *id, struct rye_place *ret,
	       struct rye_err *err)
{
	struct index_item item;
	int n;

	if (!rye->built)
		return source_direct(rye, kind, id, ret, err);
	if (id_check(span_of(id), err))
		return -(int)RYE_INVALID;
	engine_check(rye, kind, id);
	if (!index_item(rye->index, kind, id, &item))
		return api_names_not_found(kind, id, err);
	index_state_done(&item.state);
	n = snprintf(ret->path, sizeof(ret->path), "%s/%s%s", rye_kind_dir(kind), item.id,
		     item.ext);
	if (n < 0 || (size_t)n >= sizeof(ret->path))
		return rye_fail(err, RYE_INVALID, "path of %.200s is too long", id);
	ret->space = item.space;
	return 0;
}

int rye_space_count(struct rye *rye)
{
	return (int)rye->spaces->n;
}

void rye_space_get(struct rye *rye, int index, struct rye_space_info *ret)
{
	const struct space *space = &rye->spaces->v[index];
	int fd = space_fd(space);
	struct stat st;

	/* One that has gone has something else behind its number (space_renew). */
	if (fd >= 0 && (fstat(fd, &st) || !S_ISDIR(st.st_mode)))
		fd = -1;
	*ret = (struct rye_space_info){ .type = space->type,
					.bundle = space->bundle,
					.root = space->root,
					.fd = fd };
}
