/* SPDX-License-Identifier: MIT */
/*
 * The node table: what is found of an item by its id, and that it costs the same in a table of any
 * size: what a search looks at is counted, not timed.
 */
#include "rye_test.h"

#include "core/node.h"

#include <stdio.h>

static const struct node_class plain = { .name = "plain" };

static struct node *add(struct nodes *nodes, enum rye_kind kind, const char *path, uint64_t version)
{
	struct tree_key key;
	const struct node_want want = { .key = &key, .class = &plain, .version = version };

	assert_int_equal(tree_merged(kind, path, &key), 0);
	return node_make(nodes, &want);
}

static bool any(void *arg, const struct node *node)
{
	return true;
}

static bool named(void *arg, const struct node *node)
{
	return !strcmp(node->text, arg);
}

static size_t collect(struct nodes *nodes, const struct node_search *what)
{
	size_t n;
	struct node **found = nodes_collect(nodes, what, &n);

	for (size_t i = 0; i < n; i++)
		node_unref(found[i]);
	free(found);
	return n;
}

/* Nodes that a search has looked at. */
static uint64_t cost(struct nodes *nodes, const struct node_search *what)
{
	struct node_counts before, after;

	nodes_count(nodes, &before);
	collect(nodes, what);
	nodes_count(nodes, &after);
	return after.looked - before.looked;
}

static void by_id(void **state)
{
	static const char *const paths[] = { "a/b",	"a/b.md",   "a/b.c.md",
					     "a/bc.md", "a.x/b.md", "a/b/c.md" };
	struct node_search what = { .match = any, .stem = "a/b", .kind = RYE_TOOL };
	struct nodes *nodes;

	assert_int_equal(nodes_open(0, &nodes), 0);
	for (size_t i = 0; i < 6; i++)
		add(nodes, RYE_TOOL, paths[i], 1);
	add(nodes, RYE_KNOWLEDGE, "a/b.md", 1);
	for (size_t i = 0; i < 6; i++) {
		what.match = named;
		what.arg = (void *)paths[i];
		what.stem = paths[i];
		assert_int_equal(collect(nodes, &what), 1);
	}
	what = (struct node_search){ .match = any };
	assert_int_equal(collect(nodes, &what), 7);
	nodes_close(nodes);
}

/* A retired node, one that another version has replaced, one that was forgotten. */
static void only_current(void **state)
{
	const struct node_search what = { .match = named, .arg = (void *)"a.md", .stem = "a" };
	struct nodes *nodes;
	struct node *node;

	assert_int_equal(nodes_open(0, &nodes), 0);
	add(nodes, RYE_DIRECTIVE, "a.md", 1);
	node = add(nodes, RYE_DIRECTIVE, "a.md", 2);
	assert_int_equal(collect(nodes, &what), 1);
	node_retire(nodes, node);
	assert_int_equal(collect(nodes, &what), 0);
	node_forget(nodes, node, 1);
	node = add(nodes, RYE_DIRECTIVE, "a.md", 3);
	assert_int_equal(collect(nodes, &what), 1);
	node_forget(nodes, node, 1);
	assert_int_equal(collect(nodes, &what), 0);
	nodes_close(nodes);
}

static void in_big_tables(void **state)
{
	const struct node_search what = { .match = any, .stem = "many/item-00077" };
	uint64_t cost_of[2];

	for (int big = 0; big < 2; big++) {
		struct nodes *nodes;
		char path[40];

		assert_int_equal(nodes_open(0, &nodes), 0);
		for (int i = 0; i < (big ? 50000 : 500); i++) {
			snprintf(path, sizeof(path), "many/item-%05d.md", i);
			add(nodes, RYE_DIRECTIVE, path, 1);
		}
		cost_of[big] = cost(nodes, &what);
		assert_in_range(cost_of[big], 1, 16);
		nodes_close(nodes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_id),
		cmocka_unit_test(only_current),
		cmocka_unit_test(in_big_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
