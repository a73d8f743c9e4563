/* SPDX-License-Identifier: MIT */
/*
 * A skill that is to be signed: its folder, read once, the manifest that lists it, and the key of what is in
 * its place now. What would take the place of something else unseen is refused with what to do:
 * another skill of the name, a folder that is in no manifest, a skill that another key signed.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "format/format.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MANIFEST_MAX (1u << 24)

void adding_done(struct skill_adding *adding)
{
	folder_done(&adding->folder);
	skill_done(&adding->was);
	rye_blob_unref(adding->manifest);
	buf_done(&adding->text);
}

static int adding_fail(const struct skill_adding *adding, const struct rye_err *err)
{
	return cli_fail(adding->cli, err, NULL);
}

/* The same call with an option more; to free. */
static char *again_with(const struct skill_adding *adding, const char *option)
{
	auto_free char *verb = NULL;

	return asprintf(&verb, "skill %s", option) < 0 ? NULL :
							 cli_retyped(adding->cli, verb, NULL, NULL);
}

static int fail_deps(const struct skill_adding *adding, const struct rye_err *err)
{
	auto_free char *mend = again_with(adding, "--with-deps");

	return cli_complain(adding->cli, CLI_USAGE, mend, "%s", err->msg);
}

/* Where the folder lies, to free; NULL: that is not known. */
static char *path_of(int dir)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	return io_real_path(link);
}

/* ---- what was there ---- */

static struct rye_put place_of(const struct skill_adding *adding, struct rye_span text)
{
	return (struct rye_put){ .kind = RYE_SKILL,
				 .id = adding->name,
				 .ext = ".yaml",
				 .space = adding->place.space,
				 .text = text };
}

static int manifest_read(struct rye_span text, const char *name, struct skill *ret)
{
	auto_blob struct rye_blob *bare = rye_bare(RYE_SKILL, ".yaml", text);
	auto_json json_t *data = NULL;
	struct rye_err ignored = { 0 };

	if (bare)
		data = parse_yaml((struct rye_span){ bare->data, bare->len }, &ignored);
	return data ? skill_read(data, name, ret, &ignored) : -(int)RYE_UNPARSABLE;
}

/* What was signed before, if that still verifies, and by which key, if that is told at all. */
static void adding_before(struct skill_adding *adding)
{
	char path[SKILL_NAME_MAX + 16];
	struct rye_span text;
	struct rye_put put;
	struct rye_signed by;

	snprintf(path, sizeof(path), "skills/%s.yaml", adding->name);
	if (io_read_at(adding->place.info.fd, path, MANIFEST_MAX, &adding->manifest))
		return;
	text = (struct rye_span){ adding->manifest->data, adding->manifest->len };
	put = place_of(adding, text);
	rye_signed_by(adding->cli->rye, &put, &by);
	snprintf(adding->before, sizeof(adding->before), "%s", by.key);
	if (by.code == RYE_OK && manifest_read(text, adding->name, &adding->was))
		adding->was = (struct skill){ 0 };
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* Is what is signed there from where this is from? What is added by hand is from nowhere. */
static bool same_source(const struct skill_adding *adding)
{
	const json_t *told = json_object_get(adding->was.data, "source");

	if (!adding->source)
		return !told;
	return same_text(json_str(told, "from"), adding->source->from) &&
	       same_text(json_str(told, "path"), adding->source->path);
}

/* One that was killed before it wrote the manifest, or a copy of it: nothing would be lost. */
static bool same_folder(const struct skill_adding *adding, int own)
{
	auto_folder struct folder there = { 0 };
	struct rye_err ignored;
	bool same = own >= 0 && !folder_read(own, true, &there, &ignored) &&
		    there.n == adding->folder.n;

	for (size_t i = 0; same && i < there.n; i++) {
		const struct rye_blob *a = there.v[i].blob, *b = adding->folder.v[i].blob;

		same = same_text(there.v[i].path, adding->folder.v[i].path) && a->len == b->len &&
		       !memcmp(a->data, b->data, a->len);
	}
	return same;
}

static int adding_clash(const struct skill_adding *adding, int own)
{
	const char *from = json_str(json_object_get(adding->was.data, "source"), "from");
	const char *name = adding->name;
	auto_free char *as = again_with(adding, "--as OTHER");
	auto_free char *mend = NULL;

	if (!strcmp(name, "ryefs"))
		return cli_complain(adding->cli, CLI_REFUSED, as,
				    "the name ryefs is that of the skill that tells of the mount");
	if (adding->in_place || (own < 0 && !adding->manifest) ||
	    (!adding->manifest && same_folder(adding, own)))
		return CLI_OK;
	if (!adding->manifest) {
		mend = mend_with("ryefs skill add %s", name);
		return cli_complain(adding->cli, CLI_REFUSED, mend,
				    "a folder %s is there already, and no key has signed it: "
				    "sign it as it is, or move it away",
				    name);
	}
	if (!adding->was.n || same_source(adding))
		return CLI_OK;
	return cli_complain(adding->cli, CLI_REFUSED, as,
			    "there is a skill %s already, from %s; ryefs skill remove %s takes it "
			    "away",
			    name, *from ? from : "a folder", name);
}

/* A folder of the workspace whose text gives it another name: that one would be signed, and this one not. */
static int adding_misnamed(const struct skill_adding *adding, int dir)
{
	auto_close int skills =
		io_open_mounted(adding->place.info.fd, "skills", O_RDONLY | O_DIRECTORY);
	auto_free char *mend = NULL, *path = NULL;
	const char *name;
	struct stat a, b;

	if (adding->as || adding->in_place || skills < 0 || fstat(skills, &a) < 0 ||
	    fstatat(dir, "..", &b, 0) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return CLI_OK;
	path = path_of(dir);
	name = path ? strrchr(path, '/') : NULL;
	if (name)
		mend = mend_with("${EDITOR:-vi} %s/" SKILL_TEXT " && ryefs skill add %s", path,
				 name + 1);
	return cli_complain(adding->cli, CLI_REFUSED, mend,
			    "%s/" SKILL_TEXT
			    " says name: %s, and a skill is called as its folder is",
			    path ? path : adding->word, adding->name);
}

/* The text names the skill, not the folder: that is said where they differ. */
static void adding_named(const struct skill_adding *adding, int dir)
{
	auto_free char *path = path_of(dir);
	const char *leaf = path ? strrchr(path, '/') : NULL;

	if (leaf && !adding->as && !adding->source && !adding->in_place && !adding->silent &&
	    strcmp(leaf + 1, adding->name) != 0)
		cli_note(adding->cli, "%s is added as %s, the name that its " SKILL_TEXT " says",
			 leaf + 1, adding->name);
}

static int adding_place(struct skill_adding *adding, int dir)
{
	auto_close int own = skill_open_folder(adding->place.info.fd, adding->name);
	struct stat a, b;

	adding->in_place = own >= 0 && fstat(own, &a) == 0 && fstat(dir, &b) == 0 &&
			   a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	adding_before(adding);
	return adding_misnamed(adding, dir) ? CLI_REFUSED : adding_clash(adding, own);
}

/* ---- its own manifest ---- */

static bool is_version(const char *text)
{
	for (int i = 0; i < 3; i++) {
		size_t n = strspn(text, "0123456789");

		if (!n || n > 9 || text[n] != (i < 2 ? '.' : 0))
			return false;
		text += n + (i < 2);
	}
	return true;
}

/* What the skill itself says, else what the manifest said before. */
static const char *version_for(const struct skill_adding *adding, const json_t *front)
{
	const char *own = json_str(json_object_get(front, "metadata"), "version");
	const char *before = adding->was.n ? adding->was.version : adding->version;

	if (is_version(own))
		return own;
	return before && is_version(before) ? before : "1.0.0";
}

static void put_file(struct rye_buf *text, const struct folder_file *file)
{
	auto_json json_t *path = json_string(file->path);
	char hex[SHA_HEX];

	sha256_hex((struct rye_span){ file->blob->data, file->blob->len }, hex);
	buf_adds(text, "  ");
	json_put(text, path, false);
	buf_addf(text, ": {sha256: \"%s\", size: %zu%s}\n", hex, file->blob->len,
		 file->x ? ", x: true" : "");
}

/* What is signed where it lies stays from where it was. */
static void put_source(struct skill_adding *adding)
{
	const json_t *told = json_object_get(adding->was.data, "source");
	auto_skill_source struct skill_source kept = { 0 };
	struct rye_err ignored = { 0 };

	if (adding->source)
		skill_source_put(adding->source, adding->commit, &adding->text);
	else if (adding->in_place && told && !skill_source_of(told, &kept, &ignored))
		skill_source_put(&kept, "", &adding->text);
}

static int adding_write(struct skill_adding *adding, const json_t *front, struct rye_err *err)
{
	auto_skill struct skill checked = { 0 };
	auto_json json_t *data = NULL;
	size_t files;

	buf_addf(&adding->text, "name: %s\nversion: \"%s\"\n", adding->name,
		 version_for(adding, front));
	put_source(adding);
	files = adding->text.len;
	buf_adds(&adding->text, "files:\n");
	for (size_t i = 0; i < adding->folder.n; i++)
		put_file(&adding->text, &adding->folder.v[i]);
	if (adding->text.failed)
		return memory_fail(err);
	sha256_hex(span_skip(buf_span(&adding->text), files), adding->digest);
	data = parse_yaml(buf_span(&adding->text), err);
	return data ? skill_read(data, adding->name, &checked, err) : -(int)RYE_UNPARSABLE;
}

/* ---- its author's ---- */

/* Stays as it is where it lists exactly these files, and its key counts for this name. */
static void adding_theirs(struct skill_adding *adding)
{
	struct rye_put put = place_of(adding, adding->theirs);
	auto_skill struct skill theirs = { 0 };
	struct rye_signed by;

	if (!adding->theirs.len || manifest_read(adding->theirs, adding->name, &theirs) ||
	    folder_changes(&adding->folder, &theirs, NULL))
		return;
	rye_signed_by(adding->cli->rye, &put, &by);
	if (by.code == RYE_OK) {
		buf_clear(&adding->text);
		buf_addspan(&adding->text, adding->theirs);
		snprintf(adding->signer, sizeof(adding->signer), "%s", by.key);
		adding->kept = true;
	} else if (*by.key) {
		cli_note(adding->cli,
			 "its author has signed it with %s, which does not count here; to have "
			 "that signature: ryefs trust KEYFILE --scope 'skill:%s'",
			 by.key, adding->name);
	}
}

/* Which key it would be: one that is there has to be said if it is another than before. */
static int adding_signer(struct skill_adding *adding)
{
	struct rye_err err = { 0 };
	auto_json json_t *rows = key_rows(adding->cli, &err);
	const char *own = json_str(key_row(rows, NULL, "signing"), "fingerprint");
	const char *said = adding->cli->opt.signer;
	auto_free char *mend = NULL, *option = NULL;

	if (!adding->kept && !*own) {
		rye_fail(&err, RYE_NO_KEY, "there is no key to sign with");
		return adding_fail(adding, &err);
	}
	if (!adding->kept)
		snprintf(adding->signer, sizeof(adding->signer), "%.16s", own);
	if (said && strcmp(said, adding->signer) != 0)
		return cli_complain(adding->cli, CLI_REFUSED, NULL,
				    "%s would be signed by %s, not by %.40s", adding->name,
				    adding->signer, said);
	if (!*adding->before || said || !strcmp(adding->before, adding->signer))
		return CLI_OK;
	if (asprintf(&option, "--signer %s", adding->signer) < 0)
		option = NULL;
	mend = option ? again_with(adding, option) : NULL;
	return cli_complain(adding->cli, CLI_REFUSED, mend,
			    "%s was signed by %s, and would be by %s from now on", adding->name,
			    adding->before, adding->signer);
}

static int fail_open(const struct skill_adding *adding, int dir, const char *path)
{
	auto_free char *folder = path_of(dir);

	return cli_complain(adding->cli, CLI_FAILED, NULL,
			    "%s/%s has conflict marks of a merge (<<<<<<<): settle it, then sign",
			    folder ? folder : adding->word, path);
}

/* Its metadata cannot be read: git has left its marks there, or it is as it is. */
static int fail_front(const struct skill_adding *adding, int dir, const struct rye_err *err)
{
	const struct folder_file *text = folder_find(&adding->folder, SKILL_TEXT);

	if (dir < 0 || !text ||
	    !span_conflict((struct rye_span){ text->blob->data, text->blob->len }))
		return adding_fail(adding, err);
	return fail_open(adding, dir, SKILL_TEXT);
}

/* Where it lies, git merges it: what is open is not signed, unless a text that was signed has such lines. */
static int adding_settled(const struct skill_adding *adding, int dir)
{
	for (size_t i = 0; adding->in_place && i < adding->folder.n; i++) {
		const struct folder_file *file = &adding->folder.v[i];
		const struct skill_file *was = skill_find(&adding->was, file->path);
		struct rye_span text = { file->blob->data, file->blob->len };
		unsigned char sha[SHA_LEN];

		sha256_of(text, sha);
		if (!span_conflict(text) || (was && !memcmp(sha, was->sha, SHA_LEN)))
			continue;
		return fail_open(adding, dir, file->path);
	}
	return CLI_OK;
}

/* ---- all of it ---- */

/* SKILL.md says the name, or is made to. */
static int adding_name(struct skill_adding *adding, json_t **ret_front, struct rye_err *err)
{
	const struct folder_file *text;
	int r = adding->as ? folder_rename(&adding->folder, adding->as, err) : 0;

	if (r)
		return r;
	text = folder_find(&adding->folder, SKILL_TEXT);
	if (!text)
		return rye_fail(err, RYE_INVALID, "there is no " SKILL_TEXT " in %s", adding->word);
	r = skill_front((struct rye_span){ text->blob->data, text->blob->len }, ret_front, NULL,
			err);
	if (r)
		return r;
	if (!skill_name_ok(span_of(json_str(*ret_front, "name"))))
		return rye_fail(err, RYE_INVALID,
				SKILL_TEXT ": name: wants 1 to 64 of a-z, 0-9 and single hyphens");
	snprintf(adding->name, sizeof(adding->name), "%s", json_str(*ret_front, "name"));
	return skill_front_check(*ret_front, adding->as ? adding->as : adding->name, err);
}

static int adding_locked(const struct skill_adding *adding)
{
	auto_free char *word = NULL, *mend = NULL;

	if (!adding->hash || folder_is_locked(&adding->folder, adding->hash))
		return CLI_OK;
	if (span_starts(span_of(adding->source->from), "github:") &&
	    asprintf(&word, "%s/%s", adding->source->from, adding->source->path) >= 0)
		mend = mend_with("ryefs skill add %s", word);
	return cli_complain(adding->cli, CLI_REFUSED, mend,
			    "%s is not what skills-lock.json has the digest of: it has changed "
			    "at %s since; to look at it as it is",
			    adding->as ? adding->as : "a skill", adding->source->from);
}

int adding_read(struct skill_adding *adding, int dir)
{
	auto_json json_t *front = NULL;
	struct rye_err err = { 0 };
	int r, status;

	if (adding->as && !skill_name_ok(span_of(adding->as)))
		return cli_misuse(adding->cli,
				  "--as wants 1 to 64 of a-z, 0-9 and single hyphens, not %s",
				  adding->as);
	if (!adding->folder.n && folder_read(dir, adding->cli->opt.deps, &adding->folder, &err))
		return adding->folder.has_deps ? fail_deps(adding, &err) :
						 adding_fail(adding, &err);
	status = adding_locked(adding);
	if (status != CLI_OK)
		return status;
	r = adding_name(adding, &front, &err);
	if (r)
		return fail_front(adding, dir, &err);
	status = adding_place(adding, dir);
	if (status == CLI_OK)
		adding_named(adding, dir);
	if (status == CLI_OK)
		status = adding_settled(adding, dir);
	if (status == CLI_OK && adding_write(adding, front, &err))
		status = adding_fail(adding, &err);
	if (status != CLI_OK)
		return status;
	adding_theirs(adding);
	return adding_signer(adding);
}
