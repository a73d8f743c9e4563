/* SPDX-License-Identifier: MIT */
/*
 * What state/threads has beside its threads: links to them by what they are, the registry and the
 * ledger as tables, what begins and ends as it happens. The links are made of one reading of the
 * registry, kept until that has changed. Lock: facts->lock for what is kept.
 */
#include "facts/facts_inner.h"

#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

/* `recent` has as many, the newest. */
#define RECENT 32

struct root_look {
	json_t *doc; /* {active, recent, by-status, by-directive, by-id: …, table, numbers} */
	struct rye_buf *table;
	size_t n;
};

static json_t *root_dir(json_t *parent, const char *name)
{
	json_t *dir = json_object_get(parent, name);

	if (!dir && parent) {
		dir = json_object();
		json_object_set_new(parent, name, dir);
	}
	return dir;
}

/* Tabs and line ends of a column would be others. */
static void put_column(struct rye_buf *out, const char *text, char end)
{
	for (; *text; text++)
		buf_addc(out, (unsigned char)*text < 0x20 ? ' ' : *text);
	buf_addc(out, end);
}

static void put_table_row(struct rye_buf *out, const struct registry_row *row)
{
	put_column(out, row->thread_id, '\t');
	put_column(out, row->status, '\t');
	put_column(out, row->directive, '\t');
	put_column(out, row->created_at, '\t');
	put_column(out, row->updated_at, '\t');
	put_column(out, row->completed_at, '\t');
	buf_addf(out, "%lld\n", (long long)row->pid);
}

/* The name of a directory of links; false: too long to be shown. */
static bool root_name(const char *text, char ret[256])
{
	bool none = !*text || !strcmp(text, ".") || !strcmp(text, "..");

	return str_one_name(none ? "_" : text, false, ret);
}

static int root_row(void *arg, const struct registry_row *row)
{
	struct root_look *root = arg;
	char name[256], dir[256];

	/* the registry may come with a clone: what it names must be an id */
	if (thread_id_check(row->thread_id, NULL))
		return 0;
	put_table_row(root->table, row);
	if (!str_one_name(row->thread_id, true, name))
		return 0;
	json_sets(root_dir(root->doc, "by-id"), name, row->thread_id);
	if (root_name(row->status, dir))
		json_sets(root_dir(root_dir(root->doc, "by-status"), dir), name, row->thread_id);
	if (root_name(row->directive, dir))
		json_sets(root_dir(root_dir(root->doc, "by-directive"), dir), name, row->thread_id);
	if (!registry_terminal(row->status))
		json_sets(root_dir(root->doc, "active"), name, row->thread_id);
	if (root->n++ < RECENT)
		json_sets(root_dir(root->doc, "recent"), name, row->thread_id);
	return 0;
}

/* Of the names of each directory of links and of those below it: numbers[path]. */
static void root_number(json_t *numbers, const char *path, json_t *dir)
{
	uint64_t hash = HASH_BASIS;
	const char *name;
	json_t *member;

	json_object_foreach(dir, name, member) {
		char below[600];

		hash = hash_bytes(hash, name, strlen(name) + 1);
		snprintf(below, sizeof(below), "%s/%s", path, name);
		if (json_is_object(member))
			root_number(numbers, below, member);
	}
	json_set(numbers, path, json_integer((json_int_t)hash));
}

static void root_numbers(json_t *doc)
{
	json_t *numbers = json_object(), *member;
	const char *name;

	json_object_foreach(doc, name, member)
		if (json_is_object(member))
			root_number(numbers, name, member);
	json_set(doc, "numbers", numbers);
}

static int read_root(struct db *db, json_t **ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_object();
	auto_buf struct rye_buf table = RYE_BUF_INIT;
	struct root_look root = { .doc = doc, .table = &table };
	int r;

	buf_adds(&table, "thread_id\tstatus\tdirective\tcreated\tupdated\tcompleted\tpid\n");
	r = db ? registry_each(db, false, root_row, &root, err) : 0;
	if (!r && !table.failed)
		json_sets(doc, "table", table.data);
	root_numbers(doc);
	r = memory_result(since, r, err);
	if (!r)
		*ret = steal(&doc);
	return r;
}

static int root_doc_once(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	struct facts *facts = look->facts;
	struct db *db = NULL;
	int64_t version[2] = { 0, 0 };
	int r = threads_registry(facts->env.threads, false, &db, err);

	if (r && r != -(int)RYE_NOT_FOUND)
		return r;
	r = db ? registry_version(db, version, err) : 0;
	if (r)
		return r;
	{
		GUARD(&facts->lock);
		*ret = db && facts->root && facts->root_version[0] == version[0] &&
				       facts->root_version[1] == version[1] ?
			       json_incref(facts->root) :
			       NULL;
	}
	if (*ret)
		return 0;
	r = read_root(db, ret, err);
	if (!r && db) {
		GUARD(&facts->lock);
		json_decref(facts->root);
		facts->root = json_incref(*ret);
		facts->root_version[0] = version[0];
		facts->root_version[1] = version[1];
	}
	return r;
}

/* A new reference to a document that nothing changes. */
static int root_doc(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	int r = root_doc_once(look, ret, err);

	/* the registry was damaged while it was open: there is another one now */
	return r == -(int)RYE_UNPARSABLE ? root_doc_once(look, ret, err) : r;
}

uint64_t facts_root_number(const struct facts_look *look, const char *path)
{
	auto_json json_t *doc = NULL;
	const json_t *number = NULL;

	if (root_doc(look, &doc, NULL) == 0)
		number = json_object_get(json_object_get(doc, "numbers"), path);
	return number ? (uint64_t)json_integer_value(number) : HASH_BASIS;
}

static int root_tree(const struct facts_look *look, const char *name, json_t **ret,
		     struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	json_t *tree;
	int r = root_doc(look, &doc, err);

	if (r)
		return r;
	tree = json_object_get(doc, name);
	*ret = tree ? json_incref(tree) : json_object();
	return *ret ? 0 : memory_fail(err);
}

static int root_active(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	return root_tree(look, "active", ret, err);
}

static int root_directive(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	return root_tree(look, "by-directive", ret, err);
}

static int root_id(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	return root_tree(look, "by-id", ret, err);
}

static int root_status(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	return root_tree(look, "by-status", ret, err);
}

static int root_recent(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	return root_tree(look, "recent", ret, err);
}

static int root_registry(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	int r = root_doc(look, &doc, err);

	if (!r)
		buf_adds(out, json_str(doc, "table"));
	return r;
}

static int put_budget_row(void *arg, const struct budget_row *row)
{
	struct rye_buf *out = arg;

	put_column(out, row->thread_id, '\t');
	put_column(out, row->parent_id, '\t');
	put_column(out, row->status, '\t');
	buf_addf(out, "%.10g\t%.10g\t%.10g\n", row->reserved, row->actual, row->max);
	return 0;
}

static int root_budget(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	struct db *db = NULL;
	int r;

	buf_adds(out, "thread_id\tparent\tstatus\treserved\tactual\tmax\n");
	/* a project that has never had a thread has no ledger */
	if (facts_ledger(look->facts, &db, NULL) || !db)
		return 0;
	r = budget_each(db, false, put_budget_row, out, err);
	db_close(db);
	return r;
}

int facts_read(struct facts *facts, const struct rye_thread_part *part, struct rye_blob **ret,
	       uint64_t *ret_size, struct rye_err *err)
{
	const struct rye_thread_part file = { "", REGISTRY_EVENTS, part->off, part->len };
	int r;

	if (*part->id)
		return threads_read(facts->env.threads, part, ret, ret_size, err);
	if (strcmp(part->name, "events") != 0)
		return rye_fail(err, RYE_NOT_FOUND, "there is no %s", part->name);
	r = threads_read(facts->env.threads, &file, ret, ret_size, err);
	if (r != -(int)RYE_NOT_FOUND)
		return r;
	/* a project without threads: nothing has happened, and the name is listed */
	*ret_size = 0;
	if (ret)
		*ret = rye_blob_new("", 0);
	return ret && !*ret ? memory_fail(err) : 0;
}

const struct facts_row facts_root_rows[] = {
	{ "active", 0, RYE_THREAD_LINK, NULL, root_active, NULL, NULL },
	{ "budget", 0, RYE_THREAD_FILE, root_budget, NULL, NULL, NULL },
	{ "by-directive", 0, RYE_THREAD_LINK, NULL, root_directive, NULL, NULL },
	{ "by-id", 0, RYE_THREAD_LINK, NULL, root_id, NULL, NULL },
	{ "by-status", 0, RYE_THREAD_LINK, NULL, root_status, NULL, NULL },
	{ "events", 0, RYE_THREAD_GROWS, NULL, NULL, NULL, NULL },
	{ "recent", 0, RYE_THREAD_LINK, NULL, root_recent, NULL, NULL },
	{ "registry.tsv", 0, RYE_THREAD_FILE, root_registry, NULL, NULL, NULL },
	{ NULL, 0, RYE_THREAD_FILE, NULL, NULL, NULL, NULL },
};
