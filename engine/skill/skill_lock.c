/* SPDX-License-Identifier: MIT */
/*
 * skills-lock.json, as installers of skills leave it in a project: which skills there are, where each is
 * from, and a digest of its folder. Only read: what is locked here is a manifest. Pure; no lock.
 */
#include "skill/skill.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

static int bad_lock(struct rye_err *err, const char *name, const char *what)
{
	return rye_fail(err, RYE_UNPARSABLE, "skills-lock.json: %.64s: %s", name, what);
}

/* "skills/pdf/SKILL.md" is in skills/pdf. */
static struct rye_span folder_of(const char *path)
{
	struct rye_span text = span_of(path);

	if (span_ends(text, "/" SKILL_TEXT))
		text.len -= strlen("/" SKILL_TEXT);
	else if (span_eq(text, SKILL_TEXT))
		text.len = 0;
	return text;
}

/* "owner/repo" of a row of sort github; an address else. */
static char *word_of(const char *sort, const char *from)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_addf(&word, "%s%s", !strcmp(sort, "github") && !skill_source_is(from) ? "github:" : "",
		 from);
	return buf_steal(&word);
}

static int read_origin(const json_t *row, struct skill_locked *one, struct rye_err *err)
{
	const char *sort = json_str(row, "sourceType"), *from = json_str(row, "source");
	const char *commit = json_str(row, "commit"), *path = json_str(row, "skillPath");
	const char *ref = *commit ? commit : json_str(row, "ref");
	struct rye_span folder = folder_of(path);
	auto_json json_t *told = json_object();
	auto_free char *word = word_of(sort, from);
	int r;

	if (!word || !told)
		return memory_fail(err);
	if (*commit && !skill_commit_is(commit))
		return bad_lock(err, one->name, "commit: wants all of its digits");
	r = skill_source_read(word, &one->source, err);
	if (r)
		return bad_lock(err, one->name,
				"source: wants an owner and a repository, or an "
				"address of git");
	if (folder.len)
		json_set(told, "path", json_stringn(folder.ptr, folder.len));
	else if (*one->source.path)
		json_sets(told, "path", one->source.path);
	json_sets(told, "from", one->source.from);
	json_sets(told, "ref", *ref ? ref : one->source.ref);
	one->somewhere = !*path && !*one->source.path;
	skill_source_done(&one->source);
	return skill_source_of(told, &one->source, err);
}

static int read_locked(const char *name, const json_t *row, struct skill_locked *one,
		       struct rye_err *err)
{
	const char *sort = json_str(row, "sourceType");
	struct rye_span hash = span_of(json_str(row, "computedHash"));

	if (!skill_name_ok(span_of(name)))
		return bad_lock(err, "a name", "wants 1 to 64 of a-z, 0-9 and single hyphens");
	snprintf(one->name, sizeof(one->name), "%s", name);
	if (hash.len != SHA_HEX - 1 || !is_hex_lower(hash))
		return bad_lock(err, name, "computedHash: wants 64 hexadecimal digits");
	memcpy(one->hash, hash.ptr, hash.len);
	if (strcmp(sort, "github") != 0 && strcmp(sort, "git") != 0)
		return bad_lock(err, name,
				"sourceType: wanted is github or git; add it from where "
				"it is with: ryefs skill add DIR");
	return read_origin(row, one, err);
}

int skill_lock_read(struct rye_span text, skill_locked_fn fn, void *arg, struct rye_err *err)
{
	auto_json json_t *lock = json_parse(text, 0, "skills-lock.json", err);
	const json_t *rows = json_object_get(lock, "skills");
	const char *name;
	json_t *row;
	int r = 0;

	if (!lock)
		return -(int)RYE_UNPARSABLE;
	if (json_int(lock, "version", 0) != 1)
		return rye_fail(err, RYE_UNPARSABLE, "skills-lock.json: version: wanted is 1");
	if (!json_is_object(rows) || json_object_size(rows) > SKILL_LOCKED_MAX)
		return rye_fail(err, RYE_UNPARSABLE,
				"skills-lock.json: skills: wants a mapping of at most %d names",
				SKILL_LOCKED_MAX);
	json_object_foreach((json_t *)rows, name, row) {
		struct skill_locked one = { 0 };

		r = read_locked(name, row, &one, err);
		if (!r)
			r = fn(arg, &one);
		skill_source_done(&one.source);
		if (r)
			return r;
	}
	return 0;
}
