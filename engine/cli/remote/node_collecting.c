/* SPDX-License-Identifier: MIT */
/* ryefs node gc: what was pushed to a node and is needed no more goes. */
#include "cli/remote/remote_words.h"

#include "door/door.h"
#include "scope.h"
#include "str.h"

void out_gc(const struct cli *cli, const char *name, json_t *doc)
{
	bool dry = json_is_true(json_object_get(doc, "dry_run"));
	long long packs = json_int(doc, "packs", 0), blobs = json_int(doc, "blobs", 0);
	long long manifests = json_int(doc, "manifests", 0), objects = json_int(doc, "objects", 0);

	if (cli->opt.json) {
		out_json(doc);
		return;
	}
	printf("%s: %.1f MB %s: %lld pack%s, %lld more written anew, %lld blob%s, %lld manifest%s",
	       name, (double)json_int(doc, "freed", 0) / 1e6, dry ? "would go" : "have gone", packs,
	       PLURAL(packs), (long long)json_int(doc, "rewritten", 0), blobs, PLURAL(blobs),
	       manifests, PLURAL(manifests));
	if (!dry)
		printf("; %lld object%s deleted", objects, PLURAL(objects));
	putchar('\n');
}

int node_gc_word(struct cli *cli)
{
	auto_node struct node_dir *node = NULL;
	auto_json json_t *doc = NULL;
	struct rye_err err = { 0 };
	int status = node_use(cli, cli->argc > 1 ? cli->argv[1] : NULL, &node);

	if (status != CLI_OK)
		return status;
	if (node_gc(node, NULL, cli->opt.dry_run, &doc, &err))
		return cli_fail(cli, &err, NULL);
	out_gc(cli, node->key.pub.fp, doc);
	return CLI_OK;
}
