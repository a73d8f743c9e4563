/* SPDX-License-Identifier: MIT */
/*
 * ryefs log: which key has signed an item, and when: as the file says it now and, where git has it, as each
 * commit says it that changed it, under the names that it had. A signature counts when it verifies at the
 * place where it stood; whose it is, the trust store of today says. One thread; nothing is changed.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <string.h>

#define LOG_DEFAULT 20 /* a screen */
#define LOG_MAX 10000

struct log_rows {
	struct cli *cli;
	const struct named_item *item;
	const struct rye_blob *now; /* the file's bytes */
	json_t *rows;
};

/* kind, id and end of a path below the work tree: ".ai/tools/my/hello.py"; false: it is no item's. */
static bool log_place(const char *path, struct rye_put *put, char id[REF_MAX])
{
	const char *below = NULL, *slash;

	for (const char *at = path; (at = strstr(at, ".ai/")); at++)
		if (at == path || at[-1] == '/')
			below = at + strlen(".ai/");
	slash = below ? strchr(below, '/') : NULL;
	if (!slash)
		return false;
	put->kind = kind_from_dir((struct rye_span){ below, (size_t)(slash - below) });
	if (put->kind == RYE_KIND__MAX)
		return false;
	put->ext = kind_extension_of(put->kind, slash + 1);
	if (!put->ext)
		return false;
	snprintf(id, REF_MAX, "%.*s", (int)(strlen(slash + 1) - strlen(put->ext)), slash + 1);
	put->id = id;
	return true;
}

/* {ref, signed_at, key, owner, ok, verdict}: of a text at a place */
static json_t *log_row(const struct log_rows *log, const struct rye_put *put)
{
	json_t *row = json_object();
	struct rye_signed said;
	auto_free char *ref = NULL;

	rye_signed_by(log->cli->rye, put, &said);
	if (asprintf(&ref, "%s:%s", rye_kind_name(put->kind), put->id) < 0)
		ref = NULL;
	json_sets(row, "ref", ref);
	json_sets(row, "signed_at", said.at);
	json_sets(row, "key", said.key);
	json_sets(row, "owner", said.owner);
	json_set(row, "ok", json_boolean(said.code == RYE_OK));
	json_sets(row, "verdict", rye_code_name(said.code));
	return row;
}

static void log_append(const struct log_rows *log, json_t *row, const struct git_text *text)
{
	json_sets(row, "commit", text ? text->commit : NULL);
	json_sets(row, "committed_at", text ? text->at : NULL);
	json_sets(row, "author", text ? text->author : NULL);
	json_sets(row, "subject", text ? text->subject : NULL);
	json_array_append_new(log->rows, row);
}

static void log_working(struct log_rows *log)
{
	const struct named_item *item = log->item;
	const struct rye_put put = { .kind = item->kind,
				     .id = item->id,
				     .ext = item->ext,
				     .space = item->space,
				     .text = { log->now->data, log->now->len } };

	log_append(log, log_row(log, &put), NULL);
}

static int log_take(void *arg, const struct git_text *text)
{
	struct log_rows *log = arg;
	struct rye_put put = { .space = log->item->space, .text = text->text };
	bool first = !json_array_size(log->rows);
	char id[REF_MAX];
	json_t *row;

	if (first && (text->text.len != log->now->len ||
		      memcmp(text->text.ptr, log->now->data, log->now->len) != 0))
		log_working(log);
	if (text->text.len && log_place(text->path, &put, id)) {
		row = log_row(log, &put);
	} else {
		row = json_object();
		json_sets(row, "verdict", "removed");
		json_set(row, "ok", json_false());
	}
	log_append(log, row, text);
	return 0;
}

/* For people: what a row says in a line. */
static void log_shorten(json_t *rows, const char *else_what)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		auto_free char *at = strdup(json_str(row, "signed_at"));
		const char *owner = json_str(row, "owner"), *key = json_str(row, "key");
		auto_free char *commit = strndup(json_str(row, "commit"), 9), *by = NULL;

		if (at && strlen(at) > 16)
			at[10] = ' ', at[16] = 0;
		if (asprintf(&by, "%s%s%s", key, *owner ? " " : "", owner) < 0)
			by = NULL;
		json_sets(row, "at", at && *at ? at : "-");
		json_sets(row, "by", by && *by ? by : "-");
		json_sets(row, "in", commit && *commit ? commit : "-");
		json_sets(row, "what",
			  *json_str(row, "commit") ? json_str(row, "subject") : else_what);
	}
}

int verb_log(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "at", "SIGNED", false },	 { "by", "KEY", false },
		{ "verdict", "VERDICT", false }, { "in", "COMMIT", false },
		{ "author", "AUTHOR", false },	 { "what", "SUBJECT", false },
	};
	long most = cli->opt.limit ? strtol(cli->opt.limit, NULL, 10) : LOG_DEFAULT;
	auto_json json_t *rows = json_array();
	auto_named struct named_item item = { .space_fd = -1 };
	auto_blob struct rye_blob *now = NULL;
	struct log_rows log = { .cli = cli, .item = &item, .rows = rows };
	struct git_past ask = { .most = (size_t)most };
	int status;

	if (most < 1 || most > LOG_MAX)
		return cli_misuse(cli, "--limit %s: wanted a number from 1", cli->opt.limit);
	status = named_item_find(cli, 0, NULL, &item);
	if (status == CLI_OK)
		status = named_item_read(cli, &item, &now);
	if (status != CLI_OK)
		return status;
	log.now = now;
	ask.path = item.file;
	if (item.kind == RYE_SKILL) {
		ask.end = item.ext;
		ask.beside = "/SKILL.md";
	}
	git_each(&ask, log_take, &log);
	if (!json_array_size(rows))
		log_working(&log);
	if (!cli->opt.json)
		log_shorten(rows,
			    item.space == RYE_SYSTEM ? "came with the program" : "not committed");
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns), NULL);
}
