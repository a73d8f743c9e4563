/* SPDX-License-Identifier: MIT */
/*
 * References typed by people: id, kind:id, pattern, path of the source, path in a mount. After
 * editing .ai/tools/my/tool.py a user has its path on the command line already, so a file's path
 * names its item too. No file is opened here.
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

bool ref_from_below(const char *below, bool keep_end, char ret[REF_MAX])
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
	if (rye_kind_has(kind, RYE_KIND_MANIFEST) && strchr(slash + 1, '/'))
		ext = strchr(slash + 1, '/');
	if (!ext && !keep_end)
		return false;
	snprintf(ret, REF_MAX, "%s:%.*s", rye_kind_name(kind),
		 (int)(strlen(slash + 1) - (ext ? strlen(ext) : 0)), slash + 1);
	return true;
}

/* The last .ai of the path: a workspace may lie inside another one's directory. */
static const char *below_marker(const char *path)
{
	const char *marker = NULL;

	for (const char *at = path; at && (at = strstr(at, "/.ai/")); at++)
		marker = at;
	return marker;
}

/* "spaces/project/tools/x.py" and "tools/x/run?a=b" of a mount, as far as they name an item. */
static bool from_mount(const char *below, char ret[REF_MAX])
{
	char path[REF_MAX];
	int skip = !strncmp(below, "spaces/system/", 14) ? 3 :
		   !strncmp(below, "spaces/", 7)	 ? 2 :
							   0;

	for (; skip && below; skip--)
		below = strchr(below, '/') ? strchr(below, '/') + 1 : NULL;
	if (!below)
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(below, "?"), below);
	return ref_from_below(path, true, ret);
}

void ref_from_word(struct cli *cli, const char *word, char ret[REF_MAX])
{
	const char *id, *marker = NULL;
	auto_free char *real = NULL, *source = NULL, *below = NULL;
	enum rye_kind kind = id_kind(word, &id);

	(void)cli;
	snprintf(ret, REF_MAX, "%s", word);
	if (kind != RYE_KIND__MAX) {
		snprintf(ret, REF_MAX, "%s:%s", rye_kind_name(kind), id);
		return;
	}
	/* first of all: nothing below a mount is touched, its daemon may hang */
	if (mounts_holds(word, &source, &below)) {
		from_mount(below, ret);
		return;
	}
	real = realpath(word, NULL);
	marker = below_marker(real);
	if (marker)
		ref_from_below(marker + strlen("/.ai/"), false, ret);
	else if (!strncmp(word, ".ai/", 4))
		ref_from_below(word + 4, true, ret); /* of the project, from wherever it is typed */
	else if (!real)
		ref_from_below(word, false, ret);
}

char *ref_project(const char *word, const char *user_base)
{
	auto_free char *source = NULL, *below = NULL, *real = NULL, *user = NULL;
	const char *id, *marker;

	if (id_kind(word, &id) != RYE_KIND__MAX)
		return NULL;
	if (mounts_holds(word, &source, &below))
		return steal(&source);
	real = realpath(word, NULL);
	marker = below_marker(real);
	user = user_base ? realpath(user_base, NULL) : NULL;
	if (!marker)
		return NULL;
	real[marker - real] = 0;
	return user && !strcmp(real, user) ? NULL : strdup(*real ? real : "/");
}

bool ref_is_user(const struct cli *cli, const char *word)
{
	auto_free char *user_base = cli_user_base(cli);
	auto_free char *source = NULL, *below = NULL, *real = NULL, *user = NULL;
	const char *id, *marker;

	if (id_kind(word, &id) != RYE_KIND__MAX)
		return false;
	if (mounts_holds(word, &source, &below))
		return !strncmp(below, "spaces/user/", strlen("spaces/user/"));
	real = realpath(word, NULL);
	marker = below_marker(real);
	user = marker && user_base ? realpath(user_base, NULL) : NULL;
	if (!user)
		return false;
	real[marker - real] = 0;
	/* a home directory that is the project, too, stays that */
	return !strcmp(real, user) && (!cli->project || strcmp(real, cli->project) != 0);
}

/* ---- what the merged view makes of it ---- */

static bool ref_known(struct cli *cli, enum rye_kind kind, const char *path, char ret[REF_MAX])
{
	struct rye_stat st;

	if (rye_lookup(cli->rye, kind, path, &st, NULL) || (!st.is_file && !st.is_item_dir))
		return false;
	snprintf(ret, REF_MAX, "%s:%s", rye_kind_name(kind), st.id);
	return true;
}

/* The longest beginning of the path that is an item: "my/tool/run" is my/tool's. */
static bool known_above(struct cli *cli, enum rye_kind kind, const char *path, char ret[REF_MAX])
{
	char cut[REF_MAX];
	char *slash;

	snprintf(cut, sizeof(cut), "%s", path);
	for (int tries = 0; tries < 4; tries++) {
		if (ref_known(cli, kind, cut, ret))
			return true;
		slash = strrchr(cut, '/');
		if (!slash)
			return false;
		*slash = 0;
	}
	return false;
}

/* How many kinds have the bare id; the first one's reference in ret, all of them in names. */
static int known_bare(struct cli *cli, const char *id, char ret[REF_MAX], struct rye_buf *names)
{
	char ref[REF_MAX];
	int n = 0;

	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		if (!ref_known(cli, (enum rye_kind)kind, id, ref))
			continue;
		buf_addf(names, "%s%s", n ? ", " : "", ref);
		if (!n++)
			snprintf(ret, REF_MAX, "%s", ref);
	}
	return n;
}

static int no_kind(struct cli *cli, const char *word)
{
	auto_free char *mend = NULL;
	char near[REF_MAX];

	if (!rye_near(cli->rye, word, near))
		return cli_complain(cli, CLI_USAGE, "ryefs search '*'",
				    "%.*s is no kind; wanted directive, tool, knowledge or config",
				    (int)strcspn(word, ":"), word);
	mend = cli_meant(cli, near);
	return cli_complain(cli, CLI_USAGE, mend, "%.*s is no kind; did you mean %s?",
			    (int)strcspn(word, ":"), word, near);
}

int ref_operand(struct cli *cli, int operand, char ret[REF_MAX])
{
	const char *word = cli->argv[operand], *id;
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	auto_free char *source = NULL, *below = NULL, *mend = NULL;
	char found[REF_MAX];
	enum rye_kind kind;
	int n;

	cli->operand = operand;
	if (!*word)
		return cli_misuse(cli, "a REF is empty; wanted KIND:ID");
	ref_from_word(cli, word, ret);
	kind = id_split(ret, &id);
	if (strpbrk(kind == RYE_KIND__MAX ? ret : id, "*?"))
		return CLI_OK;
	if (kind != RYE_KIND__MAX) {
		if (mounts_holds(word, &source, &below) ? known_above(cli, kind, id, found) :
							  ref_known(cli, kind, id, found))
			snprintf(ret, REF_MAX, "%s", found);
		return CLI_OK;
	}
	if (strchr(ret, ':') && strcspn(ret, ":") < strcspn(ret, "/"))
		return no_kind(cli, word);
	n = known_bare(cli, ret, found, &names);
	if (n == 1)
		snprintf(ret, REF_MAX, "%s", found);
	if (n < 2)
		return CLI_OK;
	mend = cli_meant(cli, found);
	return cli_complain(cli, CLI_USAGE, mend, "\"%s\" may be %s", word,
			    names.failed ? "several items" : names.data);
}

/* ---- patterns where one item is wanted ---- */

struct ref_looking {
	json_t *rows;
	struct progress progress;
};

static int ref_verdict(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct ref_looking *looking = arg;
	json_t *row = verdict ? ref_verdict_json(verdict) : NULL;

	progress_step(&looking->progress, done, total);
	json_set(row, "refused", json_boolean(row && rye_code_integrity(verdict->code)));
	if (row)
		json_array_append_new(looking->rows, row);
	return 0;
}

json_t *ref_verdicts_of(struct cli *cli, struct rye *rye, const char *pattern, struct rye_err *err)
{
	auto_json json_t *rows = json_array();
	struct ref_looking looking = { .rows = rows };
	struct rye_batch batch = { .pattern = pattern, .fn = ref_verdict, .arg = &looking };
	int r;

	progress_start(&looking.progress, cli, "verifying");
	r = rye_verify_all(rye, &batch, err);
	progress_end(&looking.progress);
	return r ? NULL : steal(&rows);
}

json_t *ref_verdicts(struct cli *cli, const char *pattern, struct rye_err *err)
{
	return ref_verdicts_of(cli, cli->rye, pattern, err);
}

int ref_one(struct cli *cli, int operand, char ret[REF_MAX])
{
	auto_json json_t *rows = NULL;
	auto_free char *mend = NULL;
	struct rye_err err = { 0 };
	int status = ref_operand(cli, operand, ret);
	const char *last = "";
	size_t n = 0, i;
	json_t *row;

	if (status != CLI_OK || !strpbrk(ret, "*?"))
		return status;
	rows = ref_verdicts(cli, ret, &err);
	if (!rows)
		return cli_fail(cli, &err, ret);
	json_array_foreach(rows, i, row) {
		n += strcmp(last, json_str(row, "ref")) != 0; /* else hidden by the one before */
		last = json_str(row, "ref");
	}
	snprintf(ret, REF_MAX, "%s", json_str(json_array_get(rows, 0), "ref"));
	if (n == 1)
		return CLI_OK;
	mend = cli_meant(cli, ret);
	return cli_complain(cli, CLI_USAGE, mend, "%s names %zu items, and one is wanted",
			    cli->argv[operand], n);
}
