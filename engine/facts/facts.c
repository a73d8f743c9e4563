/* SPDX-License-Identifier: MIT */
/*
 * The table of what a thread's directory has beside its real files, and the way from a path below it
 * to a row and what the row says. A directory within it is a tree that its row makes; this file
 * walks them all alike.
 */
#include "facts/facts_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define FACTS_FILE RYE_THREAD_FILE
#define FACTS_LINK RYE_THREAD_LINK

static const struct facts_row facts_rows[] = {
	{ "artifacts", NEEDS_ARTIFACTS, FACTS_FILE, NULL, fact_artifacts, fact_artifact,
	  fact_artifacts_state },
	{ "budget", NEEDS_RECORD, FACTS_FILE, fact_budget, NULL, NULL, NULL },
	{ "capabilities", NEEDS_RECORD, FACTS_FILE, fact_capabilities, NULL, NULL, NULL },
	{ "chain", NEEDS_RECORD, FACTS_LINK, NULL, fact_chain, NULL, NULL },
	{ "changes", NEEDS_CHANGES, FACTS_FILE, NULL, fact_changes, fact_change,
	  fact_changes_state },
	{ "children", NEEDS_RECORD, FACTS_LINK, NULL, fact_children, NULL, fact_children_state },
	{ "cost", NEEDS_RECORD, FACTS_FILE, fact_cost, NULL, NULL, NULL },
	{ "inputs.json", NEEDS_REQUEST, FACTS_FILE, fact_inputs, NULL, NULL, NULL },
	{ "integrity", NEEDS_RECORD, FACTS_FILE, fact_integrity, NULL, NULL, fact_integrity_state },
	{ "limits", NEEDS_RECORD, FACTS_FILE, fact_limits, NULL, NULL, NULL },
	{ "messages.json", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_messages, NULL, NULL,
	  fact_messages_state },
	{ "model", NEEDS_RECORD, FACTS_FILE, fact_model, NULL, NULL, NULL },
	{ "outputs", NEEDS_RECORD | NEEDS_END, FACTS_FILE, NULL, fact_outputs, NULL, NULL },
	{ "parent", NEEDS_PARENT, FACTS_LINK, fact_parent, NULL, NULL, NULL },
	{ "prompt.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_prompt, NULL, NULL, NULL },
	{ "provider", NEEDS_RECORD, FACTS_FILE, fact_provider, NULL, NULL, NULL },
	{ "result", NEEDS_RECORD | NEEDS_END, FACTS_FILE, fact_result, NULL, NULL, NULL },
	{ "system.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_system, NULL, NULL, NULL },
	{ "tools", NEEDS_OFFER, FACTS_FILE, NULL, fact_tools, NULL, fact_tools_state },
	{ "transcript.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_transcript, NULL, NULL,
	  fact_transcript_state },
	{ "turns", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, NULL, fact_turns, NULL, NULL },
	{ "warnings", NEEDS_WARNINGS, FACTS_FILE, fact_warnings, NULL, NULL, NULL },
	{ NULL, 0, FACTS_FILE, NULL, NULL, NULL, NULL },
};

static bool facts_grows(const char *name)
{
	static const char *const names[] = { "live", "spawn.log", "transcript.jsonl" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* ---- names ---- */

void facts_name(const char *text, char ret[128])
{
	utf8_cut(*text ? text : "_", ret, 128);
	for (char *c = ret; *c; c++)
		if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '_';
	if (!strcmp(ret, ".") || !strcmp(ret, ".."))
		*ret = '_';
}

/* From the link's directory up to state/threads, and down to the thread. */
static void put_target(const struct facts_ask *ask, const char *id, struct rye_buf *out)
{
	if (*ask->id)
		buf_adds(out, "../");
	for (const char *c = ask->id; *c; c++)
		if (*c == '/')
			buf_adds(out, "../");
	for (const char *c = ask->path; *c; c++)
		if (*c == '/')
			buf_adds(out, "../");
	buf_adds(out, id);
}

/* ---- one look ---- */

int facts_ai(const struct facts *facts, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	int fd;

	buf_addf(&path, "%s/.ai", facts->env.project);
	fd = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? rye_fail(err, RYE_NOT_FOUND, "%s/.ai", facts->env.project) : fd;
}

struct record facts_record(const struct facts_look *look, int ai)
{
	return (struct record){ .ai = ai,
				.dir = look->thread.dir,
				.id = look->id,
				.trust = look->vouched ? look->vouched :
							 look->facts->env.items->trust };
}

/* A change within this time of the last one may bear the same time stamp. */
#define SETTLED_NS 20000000ll

static int64_t stamp_ns(const struct timespec *time)
{
	return time->tv_sec * 1000000000ll + time->tv_nsec;
}

uint64_t facts_file_state(uint64_t state, int dir, const char *path)
{
	struct timespec now;
	struct stat st;

	if (!state || fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW))
		return state && errno == ENOENT ? hash_add(state, 0) : 0;
	clock_gettime(CLOCK_REALTIME, &now);
	if (stamp_ns(&now) - stamp_ns(&st.st_ctim) < SETTLED_NS)
		return 0;
	state = hash_add(hash_add(state, st.st_ino), (uint64_t)st.st_size);
	return hash_add(hash_add(state, (uint64_t)stamp_ns(&st.st_mtim)),
			(uint64_t)stamp_ns(&st.st_ctim));
}

static void facts_look_close(struct facts_look *look)
{
	threads_look_done(&look->thread);
	trust_box_free(look->vouched);
}
#define auto_look __attribute__((cleanup(facts_look_close)))

void facts_artifacts_path(const struct facts_look *look, struct rye_buf *out)
{
	buf_addf(out, "state/objects/refs/artifacts/%s.json", look->id);
}

static bool look_artifacts(const struct facts_look *look)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_close int ai = facts_ai(look->facts, NULL);

	facts_artifacts_path(look, &path);
	return ai >= 0 && !path.failed && !faccessat(ai, path.data, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int look_thread(struct facts_look *look, struct rye_err *err)
{
	const struct thread_read *read = &look->thread.read;
	int r = threads_look(look->facts->env.threads, look->id, HAS_RECORD, &look->thread, err);

	if (r)
		return r;
	look->doc = read->record;
	if (look->doc && read->has & HAS_REMOTE) {
		const struct record record = facts_record(look, -1);

		record_vouched(&record, NULL, &look->vouched);
	}
	look->has |= look->doc ? NEEDS_RECORD : 0;
	look->has |= read->has & HAS_STORY ? NEEDS_STORY : 0;
	look->has |= read->has & HAS_OFFER ? NEEDS_OFFER : 0;
	look->has |= registry_terminal(look->thread.row.status) ? NEEDS_END : 0;
	look->has |= *look->thread.links.parent_id ? NEEDS_PARENT : 0;
	if (json_array_size(json_object_get(look->doc, "warnings")))
		look->has |= NEEDS_WARNINGS;
	if (json_object_get(look->doc, "inputs") || (read->has & (HAS_REQUEST | HAS_PARAMS)))
		look->has |= NEEDS_REQUEST;
	look->has |= read->has & HAS_CHANGES ? NEEDS_CHANGES : 0;
	if (look->doc && look_artifacts(look))
		look->has |= NEEDS_ARTIFACTS;
	return 0;
}

static int look_open(struct facts *facts, const char *id, struct facts_look *ret,
		     struct rye_err *err)
{
	*ret = (struct facts_look){ .facts = facts, .id = id, .thread = THREADS_LOOK_INIT };
	return *id ? look_thread(ret, err) : 0;
}

/* ---- from a path to what is there ---- */

struct facts_place {
	const struct facts_row *row; /* NULL: the directory itself, or a file of thread.h */
	json_t *node; /* behind the row; NULL: nothing, or the row has a text */
	uint64_t number; /* of the row's whole tree where that is kept; else 0 */
};
#define FACTS_PLACE_INIT ((struct facts_place){ NULL, NULL, 0 })

static void facts_place_done(struct facts_place *place)
{
	json_decref(place->node);
}
#define auto_place __attribute__((cleanup(facts_place_done)))

static int facts_none(const struct facts_ask *ask, struct rye_err *err)
{
	return rye_fail(err, RYE_NOT_FOUND, "thread %s has no file %s", ask->id, ask->path);
}

static const struct facts_row *find_row(const struct facts_look *look, struct rye_span name)
{
	const struct facts_row *row = *look->id ? facts_rows : facts_root_rows;

	for (; row->name; row++)
		if (span_eq(name, row->name))
			return (row->needs & ~look->has) ? NULL : row;
	return NULL;
}

static json_t *facts_member(const json_t *node, struct rye_span name)
{
	json_t *member = json_object_getn(node, name.ptr, name.len);
	char old[256];

	if (member || !memchr(name.ptr, '%', name.len))
		return member;
	snprintf(old, sizeof(old), "%.*s", (int)name.len, name.ptr);
	str_one_name_old(old);
	return json_object_get(node, old);
}

/* ---- trees that are kept ---- */

static struct facts_kept *kept_place(struct facts *facts, const struct facts_row *row)
{
	for (size_t i = 0; i < FACTS_KEPT; i++)
		if (!facts->kept[i].row || facts->kept[i].row == row)
			return &facts->kept[i];
	return NULL;
}

static uint64_t names_number(const json_t *tree)
{
	uint64_t hash = HASH_BASIS;
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)tree, name, member)
		hash = hash_bytes(hash, name, strlen(name) + 1);
	return hash;
}

static bool kept_take(const struct facts_look *look, uint64_t state, struct facts_place *place,
		      json_t **ret)
{
	struct facts *facts = look->facts;
	GUARD(&facts->lock);
	const struct facts_kept *kept = kept_place(facts, place->row);

	if (!kept || !kept->row || kept->state != state || strcmp(kept->id, look->id) != 0)
		return false;
	place->number = kept->number;
	*ret = json_incref(kept->tree);
	return true;
}

static void kept_put(const struct facts_look *look, uint64_t state, const struct facts_place *place,
		     json_t *tree)
{
	struct facts *facts = look->facts;
	auto_json json_t *old = NULL;
	GUARD(&facts->lock);
	struct facts_kept *kept = kept_place(facts, place->row);

	if (!kept)
		return;
	old = kept->tree;
	*kept = (struct facts_kept){ .row = place->row,
				     .state = state,
				     .number = place->number,
				     .tree = json_incref(tree) };
	snprintf(kept->id, sizeof(kept->id), "%s", look->id);
}

/* A new reference to a document that nothing changes. */
static int row_tree(const struct facts_look *look, struct facts_place *place, json_t **ret,
		    struct rye_err *err)
{
	/* before it is made: what changes meanwhile belongs to a later look */
	uint64_t state = place->row->state ? place->row->state(look) : 0;
	int r;

	if (state && kept_take(look, state, place, ret))
		return 0;
	r = place->row->tree(look, ret, err);
	if (r || !state)
		return r;
	place->number = names_number(*ret);
	kept_put(look, state, place, *ret);
	return 0;
}

static int facts_find(const struct facts_look *look, const struct facts_ask *ask,
		      struct facts_place *ret, struct rye_err *err)
{
	const char *rest = ask->path;
	struct rye_span name = { rest, strcspn(rest, "/") };
	json_t *tree = NULL;
	const json_t *node;
	int r;

	ret->row = find_row(look, name);
	rest += name.len;
	if (!ret->row || !ret->row->tree)
		return *rest ? facts_none(ask, err) : 0;
	r = row_tree(look, ret, &tree, err);
	if (r)
		return r;
	for (node = tree; node && *rest; rest += name.len) {
		name = (struct rye_span){ rest + 1, strcspn(rest + 1, "/") };
		node = facts_member(node, name);
		rest++;
	}
	ret->node = json_incref((json_t *)node);
	json_decref(tree);
	return node ? 0 : facts_none(ask, err);
}

static int put_leaf(const struct facts_look *look, const struct facts_ask *ask,
		    const struct facts_place *place, struct rye_buf *out, struct rye_err *err)
{
	const json_t *link = json_array_get(place->node, 0);
	const char *value = json_string_value(link ? link : place->node);

	if (place->row->leaf)
		return place->row->leaf(look, value, out, err);
	if (place->row->sort == RYE_THREAD_LINK)
		put_target(ask, value, out);
	else
		buf_add(out, value, json_string_length(place->node));
	return 0;
}

static int put_fact(const struct facts_look *look, const struct facts_ask *ask,
		    const struct facts_place *place, struct rye_buf *out, struct rye_err *err)
{
	auto_buf struct rye_buf id = RYE_BUF_INIT;
	int r;

	if (place->row->sort != RYE_THREAD_LINK)
		return place->row->text(look, out, err);
	r = place->row->text(look, &id, err);
	buf_adds(&id, "");
	if (!r && !id.failed)
		put_target(ask, id.data, out);
	return r;
}

static int facts_bytes(const struct facts_look *look, const struct facts_ask *ask,
		       const struct facts_place *place, struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	unsigned long since = memory_failures();
	int r = place->node ? put_leaf(look, ask, place, &out, err) :
			      put_fact(look, ask, place, &out, err);

	r = memory_result(since, r, err);
	if (r)
		return r;
	buf_adds(&out, "");
	*ret = buf_blob(&out);
	return *ret ? 0 : memory_fail(err);
}

int facts_file(struct facts *facts, const struct facts_ask *ask, struct rye_blob **ret,
	       struct rye_err *err)
{
	auto_look struct facts_look look = FACTS_LOOK_INIT;
	auto_place struct facts_place place = FACTS_PLACE_INIT;
	int r = look_open(facts, ask->id, &look, err);

	if (!r)
		r = facts_find(&look, ask, &place, err);
	if (r)
		return r;
	if (!place.row && *ask->id)
		return threads_file(facts->env.threads, ask->id, ask->path, ret, err);
	if (!place.row || json_is_object(place.node) || place.row->sort == RYE_THREAD_GROWS)
		return facts_none(ask, err);
	return facts_bytes(&look, ask, &place, ret, err);
}

/* ---- listing ---- */

struct facts_listing {
	rye_thread_fn fn;
	void *arg;
};

static int list_plain(void *arg, const char *name)
{
	const struct facts_listing *listing = arg;

	return listing->fn(listing->arg, name,
			   facts_grows(name) ? RYE_THREAD_GROWS : RYE_THREAD_FILE);
}

static int list_rows(const struct facts_look *look, const struct facts_listing *listing,
		     struct rye_err *err)
{
	const struct facts_row *row = *look->id ? facts_rows : facts_root_rows;

	for (; row->name; row++) {
		if (row->needs & ~look->has)
			continue;
		if (listing->fn(listing->arg, row->name, row->tree ? RYE_THREAD_DIR : row->sort))
			return 0;
	}
	if (!*look->id)
		return 0;
	return threads_names(look->facts->env.threads, &look->thread, list_plain, (void *)listing,
			     err);
}

/* Of an entry of a row's tree. */
static enum rye_thread_sort node_sort(const struct facts_row *row, const json_t *node)
{
	if (json_is_object(node))
		return RYE_THREAD_DIR;
	return json_is_array(node) ? FACTS_LINK : row->sort;
}

static void list_tree(const struct facts_place *place, const struct facts_listing *listing)
{
	const char *name;
	json_t *member;

	json_object_foreach(place->node, name, member)
		if (listing->fn(listing->arg, name, node_sort(place->row, member)))
			break;
}

int facts_names(struct facts *facts, const struct facts_ask *ask, rye_thread_fn fn, void *arg,
		struct rye_err *err)
{
	const struct facts_listing listing = { fn, arg };
	auto_look struct facts_look look = FACTS_LOOK_INIT;
	auto_place struct facts_place place = FACTS_PLACE_INIT;
	int r = look_open(facts, ask->id, &look, err);

	if (!r && !*ask->path)
		return list_rows(&look, &listing, err);
	if (!r)
		r = facts_find(&look, ask, &place, err);
	if (r)
		return r;
	if (!json_is_object(place.node))
		return facts_none(ask, err);
	list_tree(&place, &listing);
	return 0;
}

/* ---- times ---- */

/* What came out of a thread is what came out of the last that it handed over to. */
static bool facts_of_chain(const char *path)
{
	static const char *const names[] = { "output", "outputs", "result", "result.json" };
	struct rye_span name = { path, strcspn(path, "/") };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_eq(name, names[i]))
			return true;
	return false;
}

/* A link beside the threads leads to "../…/ID": it is as old as what is said of that one. */
static const char *facts_linked(const char *target)
{
	while (!strncmp(target, "../", 3))
		target += 3;
	return target;
}

static bool facts_events_time(const struct facts *facts, struct timespec *ret)
{
	auto_close int ai = facts_ai(facts, NULL);
	struct stat st;

	if (ai < 0 || fstatat(ai, "state/threads/" REGISTRY_EVENTS, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	*ret = st.st_mtim;
	return true;
}

static bool look_end_time(const struct facts_look *look, const char *path, struct timespec *ret)
{
	struct threads *threads = look->facts->env.threads;
	char last[THREAD_ID_MAX];

	if (facts_of_chain(path) && !threads_last(threads, look->id, last) &&
	    strcmp(last, look->id) != 0)
		return threads_end_time(threads, last, ret);
	return threads_row_time(&look->thread.row, ret);
}

/*
 * The row's stamp, which rsync and `find -newer` see whichever mount shows the thread; a file that was
 * changed on disk behind the thread's back is as old as that change.
 */
static bool look_time(const struct facts_look *look, const char *path, struct timespec *ret)
{
	struct stat st;

	if (!look_end_time(look, path, ret))
		return false;
	if (look->thread.dir >= 0 && *path &&
	    !fstatat(look->thread.dir, path, &st, AT_SYMLINK_NOFOLLOW) &&
	    (st.st_mtim.tv_sec > ret->tv_sec ||
	     (st.st_mtim.tv_sec == ret->tv_sec && st.st_mtim.tv_nsec > ret->tv_nsec)))
		*ret = st.st_mtim;
	return true;
}

/* ---- one name ---- */

static int number_name(void *arg, const char *name, enum rye_thread_sort sort)
{
	uint64_t *hash = arg;

	(void)sort;
	*hash = hash_bytes(*hash, name, strlen(name) + 1);
	return 0;
}

static uint64_t facts_number(const struct facts_look *look, const struct facts_ask *ask,
			     const struct facts_place *place)
{
	const struct facts_listing listing = { number_name, &(uint64_t){ HASH_BASIS } };
	uint64_t *hash = listing.arg;

	if (!*ask->id)
		return facts_root_number(look, ask->path);
	if (place->number && !strchr(ask->path, '/'))
		return place->number;
	/* turns are counted through: how many there are says every name, and there are thousands */
	if (place->row && place->row->tree == fact_turns && !strchr(ask->path, '/'))
		return hash_add(*hash, json_object_size(place->node));
	if (place->row)
		list_tree(place, &listing);
	else
		list_rows(look, &listing, NULL);
	return *hash;
}

/* A text that takes long is not made for a caller that has it of the same state. */
static bool facts_is_had(const struct facts_look *look, const struct facts_ask *ask,
			 const struct facts_row *row, struct rye_thread_entry *ret)
{
	uint64_t state = row->state && ask->has ? row->state(look) : 0;

	if (!state)
		return false;
	if (ret->ended)
		state = hash_add(hash_add(state, (uint64_t)ret->since.tv_sec),
				 (uint64_t)ret->since.tv_nsec);
	ret->version = state ? state : 1;
	return ask->has(ask->arg, ret->version);
}

/* A file that thread.h shows as it is; what is too big to lie in memory is read in pieces, as what grows is. */
static int plain_entry(struct facts *facts, const struct facts_ask *ask,
		       struct rye_thread_entry *ret, struct rye_err *err)
{
	const struct rye_thread_part part = { .id = ask->id, .name = ask->path };
	uint64_t size;
	int r;

	ret->sort = facts_grows(ask->path) ? RYE_THREAD_GROWS : RYE_THREAD_FILE;
	if (!*ask->id)
		return facts_none(ask, err);
	if (ret->sort == RYE_THREAD_GROWS)
		return 0;
	r = threads_file(facts->env.threads, ask->id, ask->path, &ret->blob, err);
	if (r != -(int)RYE_TOO_BIG || threads_read(facts->env.threads, &part, NULL, &size, NULL))
		return r;
	ret->sort = RYE_THREAD_GROWS;
	return 0;
}

static int row_entry(const struct facts_look *look, const struct facts_ask *ask,
		     const struct facts_place *place, struct rye_thread_entry *ret,
		     struct rye_err *err)
{
	struct facts *facts = look->facts;
	int r;

	ret->sort = node_sort(place->row, place->node);
	if (ret->sort == RYE_THREAD_DIR) {
		ret->number = facts_number(look, ask, place);
		return 0;
	}
	if (ret->sort == RYE_THREAD_GROWS) {
		ret->ended = facts_events_time(facts, &ret->since);
		return 0;
	}
	if (facts_is_had(look, ask, place->row, ret))
		return 0;
	r = facts_bytes(look, ask, place, &ret->blob, err);
	if (!r && !*ask->id && ret->sort == RYE_THREAD_LINK)
		ret->ended = threads_end_time(facts->env.threads, facts_linked(ret->blob->data),
					      &ret->since);
	return r;
}

int facts_entry(struct facts *facts, const struct facts_ask *ask, struct rye_thread_entry *ret,
		struct rye_err *err)
{
	auto_look struct facts_look look = FACTS_LOOK_INIT;
	auto_place struct facts_place place = FACTS_PLACE_INIT;
	int r = look_open(facts, ask->id, &look, err);

	*ret = (struct rye_thread_entry){ .sort = RYE_THREAD_DIR };
	if (!r && *ask->path)
		r = facts_find(&look, ask, &place, err);
	if (r)
		return r;
	if (*ask->id)
		ret->ended = look_time(&look, ask->path, &ret->since);
	if (!*ask->path) {
		ret->number = *ask->id ? facts_number(&look, ask, &place) : 0;
		return 0;
	}
	return place.row ? row_entry(&look, ask, &place, ret, err) :
			   plain_entry(facts, ask, ret, err);
}

/* ---- */

int facts_open(const struct facts_env *env, struct facts **ret, struct rye_err *err)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return memory_fail(err);
	facts->env = *env;
	pthread_mutex_init(&facts->lock, NULL);
	*ret = facts;
	return 0;
}

void facts_close(struct facts *facts)
{
	if (!facts)
		return;
	json_decref(facts->story);
	json_decref(facts->root);
	for (size_t i = 0; i < FACTS_KEPT; i++)
		json_decref(facts->kept[i].tree);
	pthread_mutex_destroy(&facts->lock);
	free(facts);
}
