/* SPDX-License-Identifier: MIT */
/*
 * ryefs mv: an item under another id. Its text, with the fields that say where it lies written anew, is put
 * into the new place, signed; then the old file goes. Killed in between, both are there, and the same call
 * goes on. What is at the new place stays, and a text that does not verify is not moved, since no key that counts vouches for it.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct move {
	struct cli *cli;
	struct named_item item;
	char to[REF_MAX];
	const char *id; /* of to */
	char *path; /* the new file, absolute */
	struct rye_blob *was, *text; /* the old file's bytes; the text for the new one */
	bool there; /* a call that was killed has put it there */
	json_t *mentions;
};

static void move_done(struct move *move)
{
	named_item_done(&move->item);
	free(move->path);
	rye_blob_unref(move->was);
	rye_blob_unref(move->text);
	json_decref(move->mentions);
}

/* ---- where to ---- */

/* The words that were typed, with another new id. */
static char *move_retyped(const struct move *move, const char *id)
{
	char *word = move->cli->argv[1];

	return cli_retyped(move->cli, "mv", word, id);
}

static int move_bad_id(const struct move *move, const char *why)
{
	const struct skeleton *row = skeleton_find(rye_kind_name(move->item.kind), NULL);
	auto_free char *fit = row ? skeleton_id(row, move->id) : NULL;
	auto_free char *mend = fit && strcmp(fit, move->id) ? move_retyped(move, fit) : NULL;

	return cli_complain(move->cli, CLI_USAGE, mend, "%s cannot be called %s: %s",
			    move->item.ref, move->id, why);
}

/* What is no word in every shell, nor a new item's name; older names, as my_tool, stay possible. */
static bool move_is_plain(const char *id)
{
	for (; *id; id++)
		if (isascii(*id) && !isalnum((unsigned char)*id) && !strchr("-_./", *id))
			return false;
	return true;
}

static int move_no_id(const struct move *move, const char *word)
{
	const struct skeleton *row = skeleton_find(rye_kind_name(move->item.kind), NULL);
	auto_free char *fit = row && move->id ? skeleton_id(row, move->id) : NULL;
	auto_free char *mend = fit && !id_check(span_of(fit), NULL) ? move_retyped(move, fit) :
								      NULL;

	return cli_complain(move->cli, CLI_USAGE, mend, "\"%s\" is no id%s%s", word,
			    row ? ": " : "", row ? skeleton_wanted(row) : "");
}

/* "my/": the same name in another directory. Ends of files' names are left out, and have to be the same. */
static int move_read_to(struct move *move)
{
	struct cli *cli = move->cli;
	const struct named_item *item = &move->item;
	const char *word = cli->argv[1], *id, *ext, *slash = strrchr(item->id, '/');
	auto_free char *mend = NULL;
	char ref[REF_MAX];
	struct rye_err err = { 0 };
	enum rye_kind kind;

	ref_from_word(cli, word, ref);
	kind = id_kind(ref, &id);
	if (kind == RYE_KIND__MAX)
		id = ref;
	else if (kind != item->kind)
		return cli_complain(cli, CLI_USAGE, NULL,
				    "%s is a %s, and %s would be a %s: that takes another text",
				    item->ref, rye_kind_name(item->kind), ref, rye_kind_name(kind));
	snprintf(move->to, sizeof(move->to), "%s:%s%s", rye_kind_name(item->kind), id,
		 !str_ends(id, "/") ? "" :
		 slash		    ? slash + 1 :
				      item->id);
	ext = kind_extension_of(item->kind, word);
	if (ext && strcmp(ext, item->ext)) {
		mend = cli_retyped(cli, "mv", word, move->to);
		return cli_complain(cli, CLI_USAGE, NULL, "%s is written in %s, not in %s",
				    item->ref, item->ext, ext);
	}
	if (ext && str_ends(move->to, ext))
		move->to[strlen(move->to) - strlen(ext)] = 0;
	id_split(move->to, &move->id);
	if (!move->id || id_check(span_of(move->id), &err) || !move_is_plain(move->id))
		return move_no_id(move, word);
	if (!strcmp(move->to, item->ref))
		return cli_complain(cli, CLI_USAGE, NULL, "%s is its id already", move->to);
	return asprintf(&move->path, "%.*s%s/%s%s", (int)(item->below - item->file), item->file,
			rye_kind_dir(item->kind), move->id, item->ext) < 0 ?
		       cli_complain(cli, CLI_FAILED, NULL, "out of memory") :
		       CLI_OK;
}

/* ---- what stands there ---- */

static int move_taken(const struct move *move, const char *path)
{
	auto_free char *other = NULL, *mend = NULL;

	if (asprintf(&other, "%s%c2", move->id, move->item.kind == RYE_DIRECTIVE ? '_' : '-') < 0)
		return CLI_FAILED;
	mend = move_retyped(move, other);
	return cli_complain(move->cli, CLI_USAGE, mend, "%s is there already: %s", move->to, path);
}

/* Is the file there what this very move makes? */
static bool move_is_same(const struct move *move)
{
	const struct named_item *item = &move->item;
	auto_blob struct rye_blob *now = NULL, *bare = NULL;

	if (io_read_at(item->space_fd, move->path + (item->below - item->file), RYE_ITEM_MAX,
		       &now) < 0)
		return false;
	bare = rye_bare(item->kind, item->ext, (struct rye_span){ now->data, now->len });
	return bare && bare->len == move->text->len &&
	       !memcmp(bare->data, move->text->data, bare->len);
}

/* In the same space it stays; in another it is hidden, or hides. */
static int move_look(struct move *move)
{
	auto_json json_t *rows = ref_verdicts(move->cli, move->to, NULL);
	const char *space = named_space(move->item.space);
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!strcmp(json_str(row, "space"), space) && named_is_folder(move->to))
			continue;
		if (!strcmp(json_str(row, "space"), space)) {
			move->there = json_flag(row, "ok", false) && move_is_same(move);
			if (!move->there)
				return move_taken(move, json_str(row, "path"));
			continue;
		}
		note_hidden(move->cli, move->to, json_str(row, "space"), space);
	}
	return CLI_OK;
}

/* ---- the text ---- */

static int move_refuse(const struct move *move)
{
	auto_free char *what = NULL, *mend = told_split(move->item.message, &what);
	auto_blob struct rye_blob *now = NULL;

	/* a text that a merge has left open is not signed as it stands */
	if (move->item.space_fd >= 0 &&
	    io_read_at(move->item.space_fd, move->item.below, RYE_ITEM_MAX, &now) == 0 &&
	    span_conflict((struct rye_span){ now->data, now->len })) {
		free(mend);
		mend = editing_mend(move->cli, move->item.ref);
	}
	return cli_complain(move->cli, CLI_REFUSED, mend, "%s is not moved: %.*s", move->item.ref,
			    what ? (int)strcspn(what, "\n") : 0, what);
}

static int move_read(struct move *move)
{
	const struct named_item *item = &move->item;
	auto_blob struct rye_blob *bare = NULL;
	int status;

	if (!item->good)
		return move_refuse(move);
	status = named_item_read(move->cli, item, &move->was);
	if (status != CLI_OK)
		return status;
	bare = rye_bare(item->kind, item->ext,
			(struct rye_span){ move->was->data, move->was->len });
	if (bare)
		move->text =
			rye_renamed(item->id, move->id, (struct rye_span){ bare->data, bare->len });
	return move->text ? CLI_OK : cli_complain(move->cli, CLI_FAILED, NULL, "out of memory");
}

/* It is moved under the mover's name: what was read has to be what a trusted key has signed. */
static int move_check_read(struct move *move)
{
	const struct named_item *item = &move->item;
	const struct rye_put put = { .kind = item->kind,
				     .id = item->id,
				     .ext = item->ext,
				     .space = item->space,
				     .text = { move->was->data, move->was->len } };
	struct rye_err err = { 0 };
	struct rye_signed now;

	rye_signed_by(move->cli->rye, &put, &now);
	if (now.code == RYE_OK)
		return CLI_OK;
	err.code = now.code;
	snprintf(err.msg, sizeof(err.msg), "%.400s is not moved: %.*s", item->ref,
		 (int)strcspn(now.message, "\n"), now.message);
	return cli_fail(move->cli, &err, item->ref);
}

static int move_put(struct move *move, bool dry)
{
	const struct named_item *item = &move->item;
	const struct rye_put put = { .kind = item->kind,
				     .id = move->id,
				     .ext = item->ext,
				     .space = item->space,
				     .text = { move->text->data, move->text->len },
				     .dry = dry };
	auto_blob struct rye_blob *said = NULL;
	auto_free char *mend = NULL;
	struct rye_err err = { 0 };

	if (rye_put(move->cli->rye, &put, &said, &err) == 0)
		return CLI_OK;
	if (err.code == RYE_BUSY)
		return move_taken(move, move->path);
	if (!dry || err.code != RYE_INVALID)
		return cli_fail(move->cli, &err, move->to);
	if (!strncmp(err.msg, "Validation failed: Field", 24) && strstr(err.msg, "snake_case"))
		return move_bad_id(move, err.msg);
	mend = mend_with("ryefs edit %s", item->ref);
	return cli_complain(move->cli, CLI_FAILED, mend, "%s cannot be signed as %s: %s", item->ref,
			    move->to, err.msg);
}

/* A program stays one. */
static void move_mode(const struct move *move)
{
	const struct named_item *item = &move->item;
	const char *below = move->path + (item->below - item->file);
	struct stat st;

	if (fstatat(item->space_fd, item->below, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st.st_mode & 0111))
		(void)!fchmodat(item->space_fd, below, st.st_mode & 0777, 0);
}

static int move_drop(const struct move *move)
{
	const struct named_item *item = &move->item;
	auto_free char *mend = mend_with("ryefs rm %s", move->to);
	struct rye_err err = { 0 };

	if (named_item_drop(move->cli, item, move->was, &err) == 0)
		return CLI_OK;
	return cli_complain(move->cli, exit_of(err.code), mend, "%s is there, and %s stays: %s",
			    move->to, item->ref, err.msg);
}

/* ---- the answer ---- */

static void move_tell(const struct move *move)
{
	const struct named_item *item = &move->item;
	struct cli *cli = move->cli;

	if (cli->opt.json) {
		auto_json json_t *answer = json_object();

		json_sets(answer, "status", "success");
		json_sets(answer, cli->opt.dry_run ? "would_move" : "moved", item->ref);
		json_sets(answer, "to", move->to);
		json_sets(answer, "path", move->path);
		json_set(answer, "mentions", json_incref(move->mentions));
		out_json(answer);
	} else if (!cli->opt.quiet) {
		printf(cli->opt.dry_run ? "would move " : "moved ");
		out_text(stdout, item->ref);
		fputs(" to ", stdout);
		out_text(stdout, move->to);
		fputs(": ", stdout);
		out_text(stdout, move->path);
		putchar('\n');
	}
	fflush(stdout);
	mentions_tell(cli, move->mentions, item->ref);
}

static int move_file(struct move *move)
{
	bool dry = move->cli->opt.dry_run;
	int status = move_read(move);

	if (status == CLI_OK)
		status = move_check_read(move);
	if (status == CLI_OK)
		status = move_look(move);
	if (status == CLI_OK && !move->there)
		status = move_put(move, true);
	if (status == CLI_OK)
		status = mentions_of(move->cli, move->item.ref, &move->mentions);
	if (status == CLI_OK && !dry && !move->there)
		status = move_put(move, false);
	if (status == CLI_OK && !dry) {
		move_mode(move);
		status = move_drop(move);
	}
	return status;
}

/* Of a skill its folder goes along. */
static int move_folder(struct move *move)
{
	const struct named_item *item = &move->item;
	auto_free char *fit = skeleton_id(skeleton_find(rye_kind_name(item->kind), NULL), move->id);
	const struct skill_moving what = { item->space, item->id, move->id,
					   move->cli->opt.dry_run };
	bool moved;
	int status;

	if (!fit || strcmp(fit, move->id) != 0)
		return move_bad_id(move, "wanted are 1 to 64 of a-z, 0-9 and single hyphens");
	moved = !item->good && skill_moved(move->cli, &what);
	if (!item->good && !moved)
		return move_refuse(move);
	status = move_look(move);
	if (status == CLI_OK)
		status = mentions_of(move->cli, item->ref, &move->mentions);
	if (status == CLI_OK && !moved)
		status = skill_move(move->cli, &what);
	if (status == CLI_OK && !what.dry)
		status = skill_drop(move->cli, item->space, item->id);
	move->path[strlen(move->path) - strlen(item->ext)] = 0;
	return status;
}

int verb_mv(struct cli *cli)
{
	__attribute__((cleanup(move_done))) struct move move = { .cli = cli };
	int status = named_item_find(cli, 0, NULL, &move.item);

	if (status == CLI_OK)
		status = move_read_to(&move);
	if (status == CLI_OK)
		status = named_is_folder(move.item.ref) ? move_folder(&move) : move_file(&move);
	if (status == CLI_OK)
		move_tell(&move);
	return status;
}
