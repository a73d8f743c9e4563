/* SPDX-License-Identifier: MIT */
/*
 * Where a node's orders wait and what its workers here have, when that is not the directory alone:
 * node.toml, signed by the node, so that a process that can write there but has not its key leads it nowhere. No lock.
 */
#include "door/door_inner.h"

#include "base/io.h"
#include "clock.h"
#include "format/format.h"
#include "memory.h"
#include "pack/pack.h"
#include "store/store.h"
#include "str.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define SETTINGS "node.toml"
#define SETTINGS_MAX (16u << 10)
#define SETTINGS_KIND "ryefs-node"
#define LABELS_MAX 64
/* Below are the accounts of people and of the system. */
#define UIDS_LEAST 1000
#define UIDS_WANTED "wanted is a range of accounts that no person has, as 100000-100999"

static bool labels_good(const json_t *labels)
{
	size_t i;
	json_t *label;

	json_array_foreach((json_t *)labels, i, label)
		if (!json_is_string(label) || !id_is_name(span_of(json_string_value(label))))
			return false;
	return json_is_array(labels) && json_array_size(labels) <= LABELS_MAX;
}

/* Members that are texts, and that are times; what a time is when it is not said. */
static const struct {
	const char *name;
	size_t at;
} texts[] = {
	{ "board", offsetof(struct node_dir, board) },
	{ "store", offsetof(struct node_dir, store) },
};
static const struct {
	const char *name;
	size_t at;
	int64_t usual_s;
} ages[] = {
	{ "keep_new", offsetof(struct node_dir, keep_new), 24 * 3600 },
	{ "keep_gone", offsetof(struct node_dir, keep_gone), 24 * 3600 },
	{ "keep_runs", offsetof(struct node_dir, keep_runs), 30 * 24 * 3600 },
};

static int age_fail(const char *name, const char *text, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID, "%s=%s: wanted is a time, as 90s, 15m, 24h or 30d", name,
			text);
}

/* "100000-100999" */
static bool uids_read(const char *text, uid_t *ret_first, uid_t *ret_last)
{
	unsigned long first, last;
	int n = 0;

	if (sscanf(text, "%lu-%lu%n", &first, &last, &n) != 2 || text[n] || first < UIDS_LEAST ||
	    last < first || last >= UINT32_MAX)
		return false;
	*ret_first = (uid_t)first;
	*ret_last = (uid_t)last;
	return true;
}

static int settings_take(struct node_dir *node, const json_t *doc, struct rye_err *err)
{
	const char *uids = json_str(doc, "uids");
	json_t *labels = json_object_get(doc, "labels");

	if (strcmp(json_str(doc, "kind"), SETTINGS_KIND) != 0)
		return rye_fail(err, RYE_INVALID, "kind is not " SETTINGS_KIND);
	if (labels && !labels_good(labels))
		return rye_fail(err, RYE_INVALID, "labels: wanted are at most %d names",
				LABELS_MAX);
	if (*uids && !uids_read(uids, &node->uid_first, &node->uid_last))
		return rye_fail(err, RYE_INVALID, "uids: " UIDS_WANTED);
	node->labels = json_incref(labels);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = json_str(doc, texts[i].name);
		char **to = (char **)(void *)((char *)node + texts[i].at);

		*to = *text ? memory_note(strdup(text)) : NULL;
		if (*text && !*to)
			return memory_fail(err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		const char *text = json_str(doc, ages[i].name);
		int64_t age = *text ? clock_age_read(text) : ages[i].usual_s;

		if (age < 0)
			return age_fail(ages[i].name, text, err);
		*(int64_t *)(void *)((char *)node + ages[i].at) = age;
	}
	return 0;
}

static void settings_usual(struct node_dir *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
		*(int64_t *)(void *)((char *)node + ages[i].at) = ages[i].usual_s;
}

int node_settings_read(struct node_dir *node, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;
	struct stamped stamped;
	struct rye_span span;
	int r = io_read_at(node->dir, SETTINGS, SETTINGS_MAX, &text);

	settings_usual(node);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read %s/" SETTINGS, node->path);
	span = (struct rye_span){ text->data, text->len };
	r = stamped_read(span, &stamped, err);
	if (!r && (strcmp(stamped.signer, node->key.pub.fp) != 0 ||
		   !stamped_by(&stamped, node->key.pub.bytes)))
		r = rye_fail(err, RYE_BAD_SIGNATURE,
			     "it is not signed by this node: ryefs node init writes it");
	doc = r ? NULL : parse_toml(span, err);
	if (!r)
		r = doc ? settings_take(node, doc, err) : -(int)RYE_UNPARSABLE;
	return r ? rye_wrap(err, "%s/" SETTINGS, node->path) : 0;
}

static bool is_text(const char *name)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		found |= !strcmp(texts[i].name, name);
	return found;
}

static bool is_age(const char *name)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
		found |= !strcmp(ages[i].name, name);
	return found;
}

/* One NAME=VALUE of `node init`; an empty value is as if it had never been said. */
static int settings_set(json_t *doc, const char *name, const char *text, struct rye_err *err)
{
	auto_json json_t *labels = door_names(text);
	uid_t first, last;

	if (!is_text(name) && !is_age(name) && strcmp(name, "labels") != 0 &&
	    strcmp(name, "uids") != 0)
		return rye_fail(err, RYE_INVALID,
				"there is no %s: board, store, labels, uids, keep_new, keep_gone "
				"and keep_runs are there",
				name);
	if (!strcmp(name, "uids") && *text && !uids_read(text, &first, &last))
		return rye_fail(err, RYE_INVALID, "uids=%s: " UIDS_WANTED, text);
	if (!*text)
		json_object_del(doc, name);
	else if (is_age(name) && clock_age_read(text) < 0)
		return age_fail(name, text, err);
	else if (strcmp(name, "labels") != 0)
		json_sets(doc, name, text);
	else if (!labels_good(labels))
		return rye_fail(err, RYE_INVALID, "labels=%s: wanted are names, as a100,fast",
				text);
	else
		json_set(doc, name, json_incref(labels));
	return 0;
}

/* What cannot be opened is told to its owner, not to the first client that asks. */
static int settings_try(const json_t *doc, struct rye_err *err)
{
	const char *where = json_str(doc, "board"), *store = json_str(doc, "store");
	auto_board struct board *board = NULL;
	int r = *where ? board_open(where, &board, err) : 0;

	return r || !*store ? r : store_try(store, err);
}

/*
 * The directory above that accounts of runs cannot pass through, to free; NULL: none. One that is not there yet is made
 * for its owner alone. The node's own lets them (worker_shut).
 */
static char *find_shut(const char *path)
{
	auto_free char *above = strdup(path);
	char *slash;
	struct stat st;

	while (above && (slash = strrchr(above, '/')) && slash > above) {
		*slash = '\0';
		if (stat(above, &st) < 0 || !(st.st_mode & S_IXOTH))
			return steal(&above);
	}
	return NULL;
}

static int is_passed(const char *path, const char *uids, struct rye_err *err)
{
	auto_free char *shut = find_shut(path);

	return !shut ? 0 :
		       rye_fail(err, RYE_INVALID,
				"uids: accounts of runs cannot pass through %s: the node wants a "
				"directory that all may pass to; " MEND_WITH
				"ryefs node init /srv/ryefs-node uids=%s",
				shut, uids);
}

/* In a container accounts may end early: user_namespaces(7). */
static bool has_account(uid_t uid)
{
	auto_file FILE *in = fopen("/proc/self/uid_map", "re");
	unsigned long first, outside, n;

	while (in && fscanf(in, "%lu %lu %lu", &first, &outside, &n) == 3)
		if (uid >= first && uid - first < n)
			return true;
	return false;
}

const char *node_uids_default(const char *path)
{
	static const char uids[] = "1879048192-1879058191";
	auto_free char *shut = find_shut(path);
	uid_t first, last;

	return geteuid() == 0 && !shut && uids_read(uids, &first, &last) && has_account(last) ?
		       uids :
		       NULL;
}

int node_settings_check(const char *path, const json_t *set, struct rye_err *err)
{
	auto_json json_t *doc = json_object();
	const char *name, *uids;
	json_t *value;
	int r = 0;

	json_object_foreach((json_t *)set, name, value) {
		if (!r)
			r = settings_set(doc, name, json_string_value(value), err);
	}
	uids = json_str(doc, "uids");
	if (!r && *uids)
		r = is_passed(path, uids, err);
	return r ? r : settings_try(doc, err);
}

/* What it says now, as text. */
static void settings_said(const struct node_dir *node, json_t *doc)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *was = NULL;
	const char *name;
	json_t *value;

	/* it was read, and is this node's own word */
	if (!io_read_at(node->dir, SETTINGS, SETTINGS_MAX, &text))
		was = parse_toml((struct rye_span){ text->data, text->len }, NULL);
	json_object_foreach(was, name, value)
		json_object_set(doc, name, value);
}

int node_settings_write(const struct node_dir *node, const json_t *set, struct rye_err *err)
{
	auto_json json_t *doc = json_pack("{s:s, s:s}", "kind", SETTINGS_KIND, "version", "1.0.0");
	auto_blob struct rye_blob *text = NULL;
	auto_buf struct rye_buf toml = RYE_BUF_INIT;
	const char *name;
	char stamp[24];
	json_t *value;
	int r = 0;

	settings_said(node, doc);
	if (node->uid_first)
		json_set(doc, "uids",
			 json_sprintf("%u-%u", (unsigned)node->uid_first,
				      (unsigned)node->uid_last));
	json_object_foreach((json_t *)set, name, value) {
		if (!r)
			r = settings_set(doc, name, json_string_value(value), err);
	}
	if (r)
		return r;
	mapping_toml(&toml, doc);
	clock_stamp(time(NULL), stamp);
	text = toml.failed ? NULL : stamped_write(buf_span(&toml), &node->key, stamp);
	if (!text)
		return memory_fail(err);
	r = io_replace_at(node->dir, SETTINGS, (struct rye_span){ text->data, text->len }, 0600);
	return r < 0 ? rye_fail_sys(err, -r, "cannot write %s/" SETTINGS, node->path) : 0;
}

int node_board(const struct node_dir *node, struct board **ret, struct rye_err *err)
{
	auto_buf struct rye_buf where = RYE_BUF_INIT;

	if (node->board)
		return board_open(node->board, ret, err);
	buf_addf(&where, "sqlite:%s/board.db", node->path);
	return where.failed ? memory_fail(err) : board_open(where.data, ret, err);
}

/* Shared when both are: an index in a database that others ask names packs that they have to find. */
int node_depot(const struct node_dir *node, struct depot **ret, struct rye_err *err)
{
	auto_buf struct rye_buf own = RYE_BUF_INIT, index = RYE_BUF_INIT;
	struct depot_place place = { .store = node->store, .index = node->board };

	buf_addf(&own, "%s/store", node->path);
	buf_addf(&index, "sqlite:%s/index.db", own.data ? own.data : "");
	if (own.failed || index.failed)
		return memory_fail(err);
	if (!place.store)
		return depot_open(own.data, ret, err);
	if (!place.index)
		place.index = index.data;
	return depot_open_at(&place, ret, err);
}
