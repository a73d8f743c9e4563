/* SPDX-License-Identifier: MIT */
/*
 * The keys there are, and the person's own one for keygen and init: made and trusted, in two steps. A
 * process that is killed between them leaves a key whose signatures do not count, so the next call does
 * the second.
 */
#include "cli/cli.h"

#include "base/self.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int own_key_add(void *arg, const struct rye_key *key)
{
	json_t *row = json_object();

	json_sets(row, "fingerprint", key->fingerprint);
	json_sets(row, "owner", key->owner ? key->owner : "");
	json_sets(row, "space", key->space ? key->space : "");
	json_sets(row, "status", key->status ? key->status : "");
	json_sets(row, "path", key->path ? key->path : "");
	if (key->scope)
		json_sets(row, "scope", key->scope);
	json_array_append_new(arg, row);
	return 0;
}

json_t *key_rows(struct cli *cli, struct rye_err *err)
{
	auto_json json_t *rows = json_array();

	return rye_key_list(cli->rye, own_key_add, rows, err) ? NULL : steal(&rows);
}

const json_t *key_row(const json_t *rows, const char *fingerprint, const char *status)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
		if ((!fingerprint || !strcmp(json_str(row, "fingerprint"), fingerprint)) &&
		    !strcmp(json_str(row, "status"), status))
			return row;
	return NULL;
}

const json_t *key_broken(const json_t *rows)
{
	const json_t *first = json_array_get(rows, 0);

	return first && !*json_str(first, "fingerprint") ? first : NULL;
}

static bool own_key_trusted(const json_t *rows, const json_t *own)
{
	return own && key_row(rows, json_str(own, "fingerprint"), "trusted");
}

int own_key_make(struct cli *cli, enum rye_keygen how, char ret_fp[17], struct rye_err *err)
{
	auto_json json_t *rows = key_rows(cli, err);
	const json_t *own = key_row(rows, NULL, "signing");
	char made[17];
	int r = 0;

	if (!rows)
		return -(int)err->code;
	if (how == RYE_KEY_NEW && own && !own_key_trusted(rows, own))
		cli_note(cli, "there is a signing key already; it was not trusted yet");
	else
		r = rye_key_generate(cli->rye, how, made, err);
	return r ? r : rye_key_trust(cli->rye, "self", cli->opt.owner, NULL, ret_fp, err);
}

bool own_key_is_ready(struct cli *cli)
{
	struct rye_err ignored = { 0 };
	auto_json json_t *rows = key_rows(cli, &ignored);

	return own_key_trusted(rows, key_row(rows, NULL, "signing"));
}

/* Tried, not asked for: what access(2) says of sysfs, and of root, is not what a write meets. */
static bool can_make_in(const char *dir)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/.ryefs-XXXXXX", dir) < 0 || !mkdtemp(path))
		return false;
	rmdir(path);
	return true;
}

/* Whether keygen could make its directory, or what is missing above it. */
static bool own_key_has_place(const struct cli *cli)
{
	auto_free char *base = cli_user_base(cli), *path = NULL;
	struct stat st;
	char *slash;

	if (!base || asprintf(&path, "%s/.ai/config/keys/signing", base) < 0)
		return false;
	while (stat(path, &st) < 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	return can_make_in(path);
}

const char *own_key_remedy(const struct cli *cli)
{
	return cli->opt.user || own_key_has_place(cli) ? "ryefs keygen" :
							 SELF_ELSEWHERE " && ryefs keygen";
}
