/* SPDX-License-Identifier: MIT */
/*
 * The one file that an operand of `edit`, `mv`, `rm` and `log` means: which space's, and where it lies.
 * What lies in a bundle is to read only: `log` alone takes it. One thread.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>

void named_item_done(struct named_item *item)
{
	free(item->file);
	free(item->message);
}

const char *named_space(enum rye_space space)
{
	return space == RYE_USER ? "user" : "project";
}

/* The file that is meant: the space's that was named, else the one that counts. NULL: none is there. */
static const json_t *named_choose(struct cli *cli, const json_t *rows)
{
	const char *space = cli->opt.space;
	const json_t *row;
	size_t i;

	if (!space && ref_is_user(cli, cli->argv[cli->operand]))
		space = "user";
	json_array_foreach((json_t *)rows, i, row)
		if (!space || !strcmp(json_str(row, "space"), space))
			return row;
	return NULL;
}

static bool is_system(const char *space)
{
	return !strncmp(space, "system", strlen("system"));
}

/* The space that was named has it not, another one has. */
static int named_elsewhere(struct cli *cli, const char *ref, const char *space)
{
	bool system = is_system(space);
	auto_free char *mend =
		system ? mend_with("ryefs %s %s", cli->verb->name, ref) :
			 mend_with("ryefs %s --space %s %s", cli->verb->name, space, ref);

	return cli_complain(cli, CLI_NOT_FOUND, cli->argc > 1 ? NULL : mend,
			    "%s is in the %s space, not in the %s space", ref,
			    system ? "system" : space, cli->opt.space);
}

static int named_read_only(struct cli *cli, const char *ref)
{
	const char *to = cli->opt.space ? cli->opt.space : "project", *verb = cli->verb->name;
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (!strcmp(verb, "rm"))
		return cli_complain(cli, CLI_DENIED, NULL,
				    "%s is the system space's, which is read only", ref);
	buf_addf(&mend, "ryefs fetch --to %s ", to);
	buf_shell(&mend, ref);
	buf_addf(&mend, " && ryefs %s", verb);
	for (int i = 0; i < cli->argc; i++) {
		buf_addc(&mend, ' ');
		buf_shell(&mend, i == cli->operand ? ref : cli->argv[i]);
	}
	buf_addf(&mend, " --space %s", to);
	return cli_complain(
		cli, CLI_DENIED, mend.failed ? NULL : mend.data,
		"%s is the system space's, which is read only; a copy of yours hides it", ref);
}

/* project, user, then bundles: which one counts */
static int space_rank(const char *space)
{
	return is_system(space) ? 2 : !strcmp(space, "user");
}

void note_hidden(struct cli *cli, const char *ref, const char *other, const char *here)
{
	cli_note(cli, "%s is in the %s space, too: that of the %s space counts", ref, other,
		 space_rank(other) < space_rank(here) ? other : here);
}

bool named_is_folder(const char *ref)
{
	const char *id;

	return rye_kind_has(id_split(ref, &id), RYE_KIND_MANIFEST);
}

/* Of a skill its manifest is the file, and what there is to edit lies in the folder. */
static int named_manifest(struct cli *cli, const struct named_item *item)
{
	auto_free char *folder = strndup(item->file, strlen(item->file) - strlen(item->ext));
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	buf_adds(&mend, "${EDITOR:-vi} ");
	buf_shell(&mend, folder ? folder : "");
	buf_addf(&mend, "/SKILL.md && ryefs skill add %s",
		 item->space == RYE_USER ? "--space user " : "");
	buf_shell(&mend, item->id);
	return cli_complain(cli, CLI_USAGE, folder && !mend.failed ? mend.data : NULL,
			    "%s is a folder, and %s knows single files", item->ref,
			    cli->verb->name);
}

static int named_fill(struct cli *cli, const json_t *row, struct named_item *ret)
{
	const char *space = json_str(row, "space"), *path = json_str(row, "path");
	int n = rye_space_count(cli->rye);

	ret->kind = id_split(ret->ref, &ret->id);
	ret->space = is_system(space) ? RYE_SYSTEM : strcmp(space, "user") ? RYE_PROJECT : RYE_USER;
	ret->good = json_flag(row, "ok", false);
	ret->ext = kind_extension_of(ret->kind, path);
	ret->file = strdup(path);
	ret->message = strdup(json_str(row, "message"));
	for (int i = 0; i < n && ret->file; i++) {
		struct rye_space_info info;
		size_t len;

		rye_space_get(cli->rye, i, &info);
		len = strlen(info.root);
		if (info.type != ret->space || strncmp(path, info.root, len) != 0)
			continue;
		ret->space_fd = info.fd;
		ret->below = ret->file + len + strlen("/.ai/");
	}
	if (ret->below && ret->ext && ret->message && ret->space_fd >= 0)
		return CLI_OK;
	if (!ret->good && *json_str(row, "message")) {
		auto_free char *what = NULL, *mend = told_split(json_str(row, "message"), &what);

		return cli_complain(cli, CLI_DENIED, mend, "%s: %s", path, what ? what : "");
	}
	return cli_complain(cli, CLI_FAILED, NULL, "%s is no file of an item", path);
}

int named_item_find(struct cli *cli, int operand, named_none_fn *none, struct named_item *ret)
{
	auto_json json_t *rows = NULL;
	struct rye_err err = { 0 };
	int status = ref_one(cli, operand, ret->ref);
	bool folders = cli->verb->run != verb_edit;
	const json_t *row;
	const char *first;

	ret->space_fd = -1;
	if (status != CLI_OK)
		return status;
	if (cli->opt.space && strcmp(cli->opt.space, "project") && strcmp(cli->opt.space, "user"))
		return cli_misuse(cli, "--space %s: wanted project or user", cli->opt.space);
	rows = ref_verdicts(cli, ret->ref, &err);
	if (!rows || !json_array_size(rows))
		return none ? none(cli, &err, ret->ref) : cli_fail(cli, &err, ret->ref);
	row = named_choose(cli, rows);
	first = json_str(row ? row : json_array_get(rows, 0), "space");
	if (is_system(first) && cli->verb->traits & CLI_WRITES)
		return named_read_only(cli, ret->ref);
	if (!row && (cli->opt.space || !is_system(first)))
		return named_elsewhere(cli, ret->ref, first);
	status = named_fill(cli, row ? row : json_array_get(rows, 0), ret);
	if (status == CLI_OK && !folders && named_is_folder(ret->ref))
		status = named_manifest(cli, ret);
	return status;
}

int named_item_read(struct cli *cli, const struct named_item *item, struct rye_blob **ret)
{
	struct stat st;
	int r;

	if (fstatat(item->space_fd, item->below, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode)) {
		auto_free char *real = realpath(item->file, NULL);
		auto_free char *mend = real && cli->argc == 1 ?
					       mend_with("ryefs %s %s", cli->verb->name, real) :
					       NULL;

		return cli_complain(cli, CLI_USAGE, mend, "%s is a link; name what it leads to",
				    item->file);
	}
	r = io_read_at(item->space_fd, item->below, RYE_ITEM_MAX, ret);
	if (r < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot read %s: %s", item->file,
				    strerror(-r));
	return CLI_OK;
}

int named_item_drop(struct cli *cli, const struct named_item *item, const struct rye_blob *was,
		    struct rye_err *err)
{
	const struct rye_put put = { .kind = item->kind,
				     .id = item->id,
				     .ext = item->ext,
				     .space = item->space,
				     .was = { was->data, was->len } };

	return rye_drop(cli->rye, &put, err);
}
