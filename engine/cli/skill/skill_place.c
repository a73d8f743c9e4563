/* SPDX-License-Identifier: MIT */
/* Where skills lie, and a verified manifest as the verbs need it. */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "format/format.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

int skill_place_of(struct cli *cli, enum rye_space space, struct skill_place *ret)
{
	int n = rye_space_count(cli->rye);

	ret->space = space;
	for (int i = 0; i < n; i++) {
		rye_space_get(cli->rye, i, &ret->info);
		if (ret->info.type == ret->space && ret->info.fd >= 0)
			return CLI_OK;
	}
	return cli_complain(cli, CLI_NOT_FOUND, NULL, "there is no .ai in the %s space",
			    space == RYE_USER ? "user" : "project");
}

int skill_place(struct cli *cli, struct skill_place *ret)
{
	const char *word = cli->opt.space ? cli->opt.space : "project";

	if (strcmp(word, "project") != 0 && strcmp(word, "user") != 0)
		return cli_misuse(cli, "--space wants project or user, not %s", word);
	return skill_place_of(cli, strcmp(word, "user") ? RYE_PROJECT : RYE_USER, ret);
}

int skill_manifest(struct cli *cli, enum rye_space space, const char *name, struct skill *ret)
{
	auto_blob struct rye_blob *text = NULL, *bare = NULL;
	auto_json json_t *data = NULL;
	struct rye_err err = { 0 };

	if (rye_skill_manifest(cli->rye, space, name, &text, &err))
		return cli_fail(cli, &err, NULL);
	bare = rye_bare(RYE_SKILL, ".yaml", (struct rye_span){ text->data, text->len });
	if (bare)
		data = parse_yaml((struct rye_span){ bare->data, bare->len }, &err);
	if (!data || skill_read(data, name, ret, &err))
		return cli_fail(cli, &err, NULL);
	return CLI_OK;
}

/* ---- stages ---- */

/* Of what is taken away: a stage may hold a whole repository. */
#define STAGE_DEPTH 64

/* ".NAME.PID.tmp" */
static bool is_stage(const char *name)
{
	size_t n = strlen(name);
	const char *pid = n > 5 ? memrchr(name, '.', n - 4) : NULL;

	return *name == '.' && str_ends(name, ".tmp") && pid && pid > name + 1 &&
	       strspn(pid + 1, "0123456789") == strlen(pid + 1) - strlen(".tmp") &&
	       skill_name_ok((struct rye_span){ name + 1, (size_t)(pid - name - 1) });
}

static int open_stage(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What can be locked has no living maker. */
static void sweep_stages(int dir)
{
	auto_dir DIR *list = fdopendir(open_stage(dir, "."));
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		auto_close int fd = is_stage(entry->d_name) ? open_stage(dir, entry->d_name) : -1;

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			io_remove_tree(dir, entry->d_name, STAGE_DEPTH);
	}
}

int skill_stage(int dir, const char *name, struct skill_stage *ret)
{
	struct stat mine, there;

	sweep_stages(dir);
	snprintf(ret->name, sizeof(ret->name), ".%s.%d.tmp", name, (int)getpid());
	/* between the two another process may have taken it for one that was left */
	for (int i = 0; i < 8; i++) {
		if (mkdirat(dir, ret->name, 0755) < 0)
			return -errno;
		ret->fd = open_stage(dir, ret->name);
		if (ret->fd >= 0 && flock(ret->fd, LOCK_EX | LOCK_NB) == 0 &&
		    fstat(ret->fd, &mine) == 0 &&
		    fstatat(dir, ret->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		    mine.st_ino == there.st_ino)
			return 0;
		if (ret->fd >= 0)
			close(ret->fd);
		io_remove_tree(dir, ret->name, 1);
	}
	return -EBUSY;
}

int skill_stage_swap(int dir, const char *name, const struct skill_stage *stage)
{
	if (renameat2(dir, stage->name, dir, name, RENAME_EXCHANGE) == 0 ||
	    renameat2(dir, stage->name, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* a file system that knows neither */
	if (errno != EINVAL)
		return -errno;
	io_remove_tree(dir, name, STAGE_DEPTH);
	return renameat(dir, stage->name, dir, name) < 0 ? -errno : 0;
}

void skill_stage_unswap(int dir, const char *name, const struct skill_stage *stage)
{
	if (renameat2(dir, stage->name, dir, name, RENAME_EXCHANGE) < 0)
		renameat2(dir, name, dir, stage->name, RENAME_NOREPLACE);
}

void skill_stage_end(int dir, struct skill_stage *stage)
{
	if (stage->fd < 0)
		return;
	io_remove_tree(dir, stage->name, STAGE_DEPTH);
	close(stage->fd);
	stage->fd = -1;
}
