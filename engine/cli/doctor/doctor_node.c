/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of the node of this account, where there is one: can it be opened, which keys it knows, whether its
 * board answers, what works there. Reads its directory; nothing is started. No lock.
 */
#include "cli/doctor/doctor.h"

#include "board/board.h"
#include "door/door.h"
#include "scope.h"
#include "str.h"

#include <string.h>

static void check_node(struct findings *findings, const struct node_dir *node)
{
	auto_board struct board *board = NULL;
	auto_json json_t *keys = NULL;
	size_t asked = 0, known = 0, i;
	struct rye_err err = { 0 };
	char about[KEY_FP + 8];
	const json_t *row;
	int r = principal_list(node, &keys, &err), workers;

	snprintf(about, sizeof(about), "node %s", node->card.sign.fp);
	if (!r)
		r = node_board(node, &board, &err);
	if (r) {
		finding_add(findings, FINDING_BAD, about, NULL, "%s", err.msg);
		return;
	}
	json_array_foreach(keys, i, row) {
		asked += !strcmp(json_str(row, "status"), "asked");
		known += !strcmp(json_str(row, "status"), "admitted");
	}
	workers = door_workers(node);
	finding_add(findings, FINDING_OK, about, NULL,
		    "%zu key%s admitted, %zu %s asked, its board answers, %d worker%s now", known,
		    PLURAL(known), asked, asked == 1 ? "has" : "have", workers, PLURAL(workers));
}

void node_check(struct findings *findings)
{
	auto_free char *path = node_default_path(), *card = NULL, *what = NULL, *mend = NULL;
	auto_node struct node_dir *node = NULL;
	struct rye_err err = { 0 };

	if (!path || asprintf(&card, "%s/card.json", path) < 0 || access(card, F_OK))
		return;
	if (!node_open(path, &node, &err)) {
		check_node(findings, node);
		return;
	}
	mend = told_split(err.msg, &what);
	finding_add(findings, FINDING_BAD, "node", mend, "%s", what ? what : err.msg);
}
