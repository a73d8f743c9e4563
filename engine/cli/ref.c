/* SPDX-License-Identifier: MIT */
/*
 * References typed by people. After editing .ai/tools/my/tool.py a user has its path on the command
 * line already, so a file's path names its item too. Nothing is opened here.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <string.h>

void ref_of(const struct rye_verdict *verdict, char ret[REF_MAX])
{
	if (verdict->kind < RYE_KIND__MAX && verdict->id && *verdict->id)
		snprintf(ret, REF_MAX, "%s:%s", rye_kind_name(verdict->kind), verdict->id);
	else
		snprintf(ret, REF_MAX, "%s", verdict->path ? verdict->path : "?");
}

json_t *ref_verdict_json(const struct rye_verdict *verdict)
{
	json_t *row = json_object();
	char ref[REF_MAX];

	ref_of(verdict, ref);
	json_sets(row, "ref", ref);
	json_sets(row, "space", verdict->space ? verdict->space : "");
	json_sets(row, "path", verdict->path ? verdict->path : "");
	json_set(row, "ok", json_boolean(verdict->code == RYE_OK));
	json_sets(row, "verdict", rye_code_name(verdict->code));
	json_sets(row, "message", verdict->message ? verdict->message : "");
	return row;
}

/* "tools/my/tool.py" → tool:my/tool */
static bool from_below(const char *below, char ret[REF_MAX])
{
	const char *slash = strchr(below, '/');
	const char *ext;
	enum rye_kind kind;

	if (!slash)
		return false;
	kind = kind_from_dir((struct rye_span){ below, (size_t)(slash - below) });
	if (kind == RYE_KIND__MAX)
		return false;
	ext = kind_extension_of(kind, slash + 1);
	if (!ext)
		return false;
	snprintf(ret, REF_MAX, "%s:%.*s", rye_kind_name(kind),
		 (int)(strlen(slash + 1) - strlen(ext)), slash + 1);
	return true;
}

void ref_from_word(struct cli *cli, const char *word, char ret[REF_MAX])
{
	const char *id, *marker = NULL;
	auto_free char *real = NULL;

	(void)cli;
	snprintf(ret, REF_MAX, "%s", word);
	if (id_split(word, &id) != RYE_KIND__MAX)
		return;
	real = realpath(word, NULL);
	/* the last .ai of the path: a workspace may lie inside another one's directory */
	for (const char *at = real; at && (at = strstr(at, "/.ai/")); at++)
		marker = at;
	if (marker)
		from_below(marker + strlen("/.ai/"), ret);
}
