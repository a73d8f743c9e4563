/* SPDX-License-Identifier: MIT */
/*
 * ryefs skill update: what skills are from is asked whether it has another folder there by now; that is
 * shown against what is signed, as when it was added, and waits for the same yes. A skill that was
 * changed here since it was signed would lose that, so it is not updated.
 */
#include "cli/skill/skill_words.h"

#include "scope.h"
#include "str.h"

#include <string.h>

struct updating {
	struct cli *cli;
	struct skill_place place;
	size_t moved, from; /* those that have changed; those that are from somewhere */
	struct rye_buf digests; /* of those that wait for --expect */
};

static int update_changed_here(struct updating *all, const struct skill *was)
{
	auto_close int dir = skill_open_folder(all->place.info.fd, was->name);
	auto_folder struct folder folder = { 0 };
	struct rye_err err = { 0 };
	auto_free char *mend = mend_with("ryefs skill diff %s", was->name);

	if (dir >= 0 && folder_read(dir, true, &folder, &err))
		return cli_fail(all->cli, &err, NULL);
	if (dir < 0 || !folder_changes(&folder, was, NULL))
		return CLI_OK;
	return cli_complain(all->cli, CLI_REFUSED, mend,
			    "%s was changed here since it was signed, and would lose that",
			    was->name);
}

static int update_fetched(struct updating *all, const struct skill *was,
			  struct skill_source *source)
{
	auto_skill_fetched struct skill_fetched from = { 0 };
	int status = skill_fetch(all->cli, source, NULL, &from);
	auto_skill_adding struct skill_adding adding = {
		.cli = all->cli,
		.place = all->place,
		.word = was->name,
		.as = was->name,
		.source = source,
		.commit = from.commit,
		.path = from.path,
		.theirs = buf_span(&from.manifest),
		.digests = &all->digests,
	};

	if (status == CLI_OK)
		status = adding_read(&adding, from.dir);
	if (status != CLI_OK)
		return status;
	if (!folder_changes(&adding.folder, was, NULL)) {
		cli_note(all->cli, "%s is what %s has", was->name, source->from);
		return CLI_OK;
	}
	all->moved++;
	if (all->cli->opt.check) {
		printf("%s\n", was->name);
		folder_changes(&adding.folder, was, stdout);
		return CLI_OK;
	}
	status = update_changed_here(all, was);
	if (status == CLI_OK)
		status = adding_ask(&adding);
	if (status != CLI_OK || adding_only_shows(&adding))
		return status;
	return adding_put(&adding);
}

/* named: it was asked for. */
static int update_one(struct updating *all, const char *name, bool named)
{
	auto_skill struct skill was = { 0 };
	auto_skill_source struct skill_source source = { 0 };
	auto_free char *mend = NULL;
	struct rye_err err = { 0 };
	const json_t *told;
	int status = skill_manifest(all->cli, all->place.space, name, &was);

	if (status != CLI_OK)
		return status;
	told = json_object_get(was.data, "source");
	if (!told && !named)
		return CLI_OK;
	if (!told) {
		mend = mend_with("ryefs skill add %s", name);
		return cli_complain(all->cli, CLI_FAILED, mend,
				    "%s is from no repository; what is changed in it is signed as "
				    "it is",
				    name);
	}
	if (skill_source_of(told, &source, &err))
		return cli_fail(all->cli, &err, NULL);
	all->from++;
	return update_fetched(all, &was, &source);
}

struct update_names {
	const struct updating *all;
	json_t *names;
};

static int update_on_skill(void *arg, const char *name, bool refused)
{
	const struct update_names *list = arg;
	auto_blob struct rye_blob *text = NULL;
	struct rye_err ignored;

	(void)refused;
	if (!rye_skill_manifest(list->all->cli->rye, list->all->place.space, name, &text, &ignored))
		json_object_set_new(list->names, name, json_true());
	return 0;
}

static int update_all(struct updating *all)
{
	auto_json json_t *names = json_object();
	struct update_names list = { all, names };
	struct rye_err err = { 0 };
	const char *name;
	json_t *value;
	int status = CLI_OK;

	if (rye_skill_list(all->cli->rye, update_on_skill, &list, &err))
		return cli_fail(all->cli, &err, NULL);
	json_object_foreach(names, name, value) {
		int one = update_one(all, name, false);

		status = status == CLI_OK ? one : status;
	}
	if (!all->from)
		cli_note(all->cli, "no skill is from a repository");
	return status;
}

int skill_update_word(struct cli *cli)
{
	struct updating all = { .cli = cli };
	int status = cli_open(cli, CLI_PROJECT);

	if (status == CLI_OK)
		status = skill_place(cli, &all.place);
	if (status == CLI_OK && cli->argc < 2)
		status = update_all(&all);
	for (int i = 1; i < cli->argc && status == CLI_OK; i++)
		status = update_one(&all, cli->argv[i], true);
	if (status == CLI_OK && all.digests.len)
		status = adding_unasked(cli, all.digests.data);
	buf_done(&all.digests);
	return status == CLI_OK && cli->opt.check && all.moved ? CLI_FAILED : status;
}
