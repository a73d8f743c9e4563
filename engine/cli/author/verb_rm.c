/* SPDX-License-Identifier: MIT */
/*
 * ryefs rm: takes an item away, signed or not, after a yes. Before that it tells which items name it and
 * whether git still has the text. What another program writes there meanwhile stays.
 */
#include "cli/author/author.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"

#include <string.h>

struct rm_wish {
	struct cli *cli;
	struct named_item item;
	struct rye_blob *was;
	json_t *mentions;
};

static void rm_done(struct rm_wish *wish)
{
	named_item_done(&wish->item);
	rye_blob_unref(wish->was);
	json_decref(wish->mentions);
}

static int rm_ask(const struct rm_wish *wish)
{
	const struct named_item *item = &wish->item;
	auto_free char *text = NULL, *mend = cli_retyped(wish->cli, "rm --yes", NULL, NULL);
	bool folder = named_is_folder(item->ref);

	if (asprintf(&text, "remove %s, %s%s?%s", item->ref, item->file,
		     folder ? " and the folder beside it" : "",
		     git_has(item->file) ? "" : " git has no copy of it") < 0)
		return CLI_FAILED;
	mentions_tell(wish->cli, wish->mentions, item->ref);
	return cli_asks(wish->cli, &(struct cli_question){ text, mend, item->ref, "stays" });
}

/* The same name in a weaker space counts from now on. */
static void rm_note_uncovered(const struct rm_wish *wish)
{
	auto_json json_t *rows = ref_verdicts(wish->cli, wish->item.ref, NULL);
	const json_t *row = json_array_get(rows, 0);

	if (row)
		cli_note(wish->cli, "%s of the %s space counts now", wish->item.ref,
			 json_str(row, "space"));
}

static void rm_tell(const struct rm_wish *wish)
{
	const struct named_item *item = &wish->item;
	struct cli *cli = wish->cli;
	auto_json json_t *answer = json_object();

	if (cli->opt.json) {
		json_sets(answer, "status", "success");
		json_sets(answer, cli->opt.dry_run ? "would_remove" : "removed", item->ref);
		json_sets(answer, "path", item->file);
		json_set(answer, "mentions", json_incref(wish->mentions));
		out_json(answer);
	} else if (!cli->opt.quiet) {
		printf(cli->opt.dry_run ? "would remove " : "removed ");
		out_text(stdout, item->ref);
		fputs(": ", stdout);
		out_text(stdout, item->file);
		putchar('\n');
	}
	fflush(stdout);
}

static int rm_now(const struct rm_wish *wish)
{
	const struct named_item *item = &wish->item;
	struct rye_err err = { 0 };

	if (named_is_folder(item->ref))
		return skill_drop(wish->cli, item->space, item->id);
	return named_item_drop(wish->cli, item, wish->was, &err) ?
		       cli_fail(wish->cli, &err, item->ref) :
		       CLI_OK;
}

int verb_rm(struct cli *cli)
{
	__attribute__((cleanup(rm_done))) struct rm_wish wish = { .cli = cli };
	struct named_item *item = &wish.item;
	int status = named_item_find(cli, 0, NULL, item);

	if (status == CLI_OK)
		status = named_item_read(cli, item, &wish.was);
	if (status == CLI_OK)
		status = mentions_of(cli, item->ref, &wish.mentions);
	if (status == CLI_OK && cli->opt.dry_run)
		mentions_tell(cli, wish.mentions, item->ref);
	else if (status == CLI_OK)
		status = rm_ask(&wish);
	if (status == CLI_OK && !cli->opt.dry_run)
		status = rm_now(&wish);
	if (status != CLI_OK)
		return status;
	rm_tell(&wish);
	if (!cli->opt.dry_run)
		rm_note_uncovered(&wish);
	return CLI_OK;
}
