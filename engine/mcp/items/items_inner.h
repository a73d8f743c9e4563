/* SPDX-License-Identifier: MIT */
/*
 * items_inner.h: what the files of mcp/items/ share.
 */
#ifndef RYE_MCP_ITEMS_ITEMS_INNER_H
#define RYE_MCP_ITEMS_ITEMS_INNER_H

#include "mcp/items/items.h"

/* server_acts.c: what can be done, one row each. */
struct server_act {
	const char *word;
	bool named, /* it is about one server */
		there, /* which has an item */
		asks, /* and is asked */
		changes; /* with a yes it writes */
	void (*run)(const struct server_run *run, struct mcp_outcome *ret);
};
const struct server_act *server_act_find(const char *word); /* NULL: no such act */

/* server_text.c: texts of a server, for people. Pure. */

/* A copy in which every character can be seen, cut where it is longer than an item has it; counts
 * those that could not. Free it. */
char *server_visible(const char *text, size_t *ret_unseen);
/* How many there are in all strings of a value. */
size_t server_unseen(const json_t *value);
/* Command and arguments as the item has them, one line of a shell; free it. */
char *server_line(const json_t *config);
/* What one should know of a command before it runs: texts are added to warnings. */
/* Does its command fetch packages when it starts, as npx? */
bool server_fetches(const json_t *config);
void server_warn_command(const json_t *config, json_t *warnings);

/*
 * server_found.c: what a server lists → what its items would be.
 */

struct server_tool {
	json_t *definition; /* owned; what the pin is of */
	char *stem; /* of its file; owned */
	const char *disabled; /* why it cannot be called; NULL: it can */
};

struct server_found {
	size_t values; /* in the definitions so far */
	size_t n;
	struct server_tool *v;
	json_t *warnings; /* array, owned */
	json_t *identity; /* of the server: object, owned */
	struct mcp_answer answer;
};

/* Asks; the answer's fault says what went wrong. */
void server_find(const struct server_run *run, struct server_found *ret);
void server_found_done(struct server_found *found);
/* Of everything that would be signed. */
void server_digest(const struct server_ask *ask, const struct server_found *found,
		   char ret[MCP_PIN_SIZE]);
/* For people: what runs, what it speaks, every text of every tool. */
void server_describe(const struct server_ask *ask, const struct server_found *found, json_t *data);

/*
 * server_items.c: the items themselves: made, signed in memory, written; read again.
 */

/* "tools/mcp/servers/NAME.yaml", or of a tool when there is a stem; free it. */
char *server_path(const struct server_ask *ask, const char *stem);
/* "mcp/NAME/STEM" */
char *server_tool_id(const struct server_ask *ask, const char *stem);
const char *server_name(const struct server_ask *ask);
/* A new object: the item of a tool. */
json_t *server_tool_item(const struct server_ask *ask, const struct server_tool *tool);
/* Can it be written so that it reads back the same? */
bool server_item_fits(const json_t *item);
struct server_stage;
int server_write_server(const struct server_stage *stage, const struct server_found *found,
			struct rye_err *err);
int server_write_tool(const struct server_stage *stage, const struct server_tool *tool,
		      struct rye_err *err);
void server_touched(const struct server_run *run, const char *stem);
int server_unlink(const struct server_run *run, const char *path);

/* Items below tools/mcp/NAME that are tools of this server. Each is loaded, hence verified; one that is
 * refused is told with item NULL. */
typedef int (*server_item_fn)(void *arg, const char *path, const char *id,
			      const struct rye_item *item);
int server_each_item(const struct server_run *run, const char *glob, server_item_fn fn, void *arg);

/*
 * server_changes.c: what a server lists now against its items.
 */

struct server_change {
	json_t *row; /* for people; owned */
	const struct server_tool *tool; /* as it is now; NULL: it is gone */
	char *path; /* of the item that goes; owned; or NULL */
};

struct server_changes {
	struct server_change *v;
	size_t n;
};

int server_compare(const struct server_run *run, const struct server_found *found,
		   struct server_changes *ret, struct rye_err *err);
void server_changes_done(struct server_changes *changes);

/*
 * server_stage.c: all of a server's items or none.
 */

struct server_stage {
	const struct server_run *run;
	int mcp, dir, tools; /* tools/mcp; its own directory there, locked; in that, of the tools */
	char own[32]; /* its name */
};

int server_stage_open(const struct server_run *run, struct server_stage *ret, struct rye_err *err);
/* stem: of a tool; NULL: the server. -errno. */
int server_stage_put(const struct server_stage *stage, const char *stem, struct rye_span text);
/* changes: whose paths go; or NULL. */
int server_stage_install(const struct server_stage *stage, const struct server_changes *changes,
			 struct rye_err *err);
void server_stage_done(struct server_stage *stage);
/* What killed ones have left in a space is finished or removed. */
void server_stage_sweep(const struct space *space);

#endif
