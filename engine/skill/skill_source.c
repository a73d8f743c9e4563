/* SPDX-License-Identifier: MIT */
/*
 * Where a skill is from, as a person writes it, as a manifest tells it and as a lock file of other programs
 * has it. What is read here becomes words of git's command line, so each part is held to an alphabet in
 * which nothing is an option, a second address or a secret. Pure; no lock.
 */
#include "skill/skill.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

#define GITHUB "github:"

static const char *const schemes[] = { "https://", "ssh://", "file://" };

static int bad_source(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_INVALID, "a skill's source: %s", what);
}

static bool only(struct rye_span text, const char *others)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isalnum((unsigned char)text.ptr[i]) &&
		    (!text.ptr[i] || !strchr(others, text.ptr[i])))
			return false;
	return true;
}

/* What git lets a branch or a tag be called, and less: nothing that means more than a name to it. */
static bool ref_ok(struct rye_span ref)
{
	return ref.len && ref.len <= SKILL_REF_MAX && isalnum((unsigned char)*ref.ptr) &&
	       only(ref, "._/+-") && span_find(ref, 0, "..") < 0 && span_find(ref, 0, "//") < 0 &&
	       !span_ends(ref, "/") && !span_ends(ref, ".") && !span_ends(ref, ".lock");
}

static int take_text(char **to, struct rye_span text, struct rye_err *err)
{
	free(*to);
	*to = span_dup(text);
	return *to ? 0 : memory_fail(err);
}

/* An empty one is none. */
static int take_path(struct skill_source *source, struct rye_span path, struct rye_err *err)
{
	if (path.len && !skill_path_ok(path))
		return bad_source(err, "its path leads elsewhere, or has characters that are not "
				       "shown");
	return take_text(&source->path, path, err);
}

static int take_ref(struct skill_source *source, struct rye_span ref, struct rye_err *err)
{
	if (!ref_ok(ref))
		return bad_source(err, "wanted is the name of a branch or tag, or a commit");
	return take_text(&source->ref, ref, err);
}

/* The part before c, and what is behind it; false: there is none, and the first is all of it. */
static bool split_at(struct rye_span text, char c, struct rye_span *ret, struct rye_span *ret_rest)
{
	const char *at = text.len ? memchr(text.ptr, c, text.len) : NULL;
	size_t n = at ? (size_t)(at - text.ptr) : text.len;

	*ret = (struct rye_span){ text.ptr, n };
	*ret_rest = span_skip(text, at ? n + 1 : n);
	return at;
}

/* ---- github:OWNER/REPO[/PATH][@REF] ---- */

static bool part_of_github(struct rye_span part, size_t most)
{
	return part.len && part.len <= most && isalnum((unsigned char)*part.ptr) &&
	       only(part, "._-") && span_find(part, 0, "..") < 0;
}

static int read_github(struct rye_span word, struct skill_source *source, struct rye_err *err)
{
	struct rye_span rest = span_skip(word, strlen(GITHUB)), owner, repo, path, ref;
	bool has_ref = split_at(rest, '@', &rest, &ref);
	auto_buf struct rye_buf url = RYE_BUF_INIT, from = RYE_BUF_INIT;
	int r = has_ref ? take_ref(source, ref, err) : 0;

	if (r)
		return r;
	split_at(rest, '/', &owner, &rest);
	split_at(rest, '/', &repo, &path);
	if (span_ends(repo, ".git"))
		repo.len -= strlen(".git");
	if (!part_of_github(owner, 39) || !part_of_github(repo, 100))
		return bad_source(err, "wanted is github:OWNER/REPO[/PATH][@REF]");
	buf_addf(&from, GITHUB "%.*s/%.*s", (int)owner.len, owner.ptr, (int)repo.len, repo.ptr);
	buf_addf(&url, "https://github.com/%s.git", from.data + strlen(GITHUB));
	source->from = buf_steal(&from);
	source->url = buf_steal(&url);
	if (!source->from || !source->url)
		return memory_fail(err);
	return take_path(source, path, err);
}

/* ---- URL[#REF[:PATH]] ---- */

/* "git@host:path", as ssh has it. */
static bool is_scp(struct rye_span word)
{
	struct rye_span user, rest, host;

	return split_at(word, '@', &user, &rest) && split_at(rest, ':', &host, &rest) && user.len &&
	       host.len && rest.len && isalnum((unsigned char)*user.ptr) &&
	       isalnum((unsigned char)*host.ptr) && only(user, "._-") && only(host, ".-");
}

static bool has_scheme(struct rye_span word)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (span_starts(word, schemes[i]))
			return true;
	return false;
}

/* Between "//" and the path: what stands there becomes a part of a manifest that others read. */
static bool has_secret(struct rye_span url)
{
	struct rye_span host = span_skip(url, (size_t)span_find(url, 0, "//") + 2), rest, user;

	split_at(host, '/', &host, &rest);
	if (!split_at(host, '@', &user, &rest))
		return false;
	return span_starts(url, "https://") || memchr(user.ptr, ':', user.len);
}

static int read_url(struct rye_span word, struct skill_source *source, struct rye_err *err)
{
	struct rye_span url, rest, ref, path;
	bool has_rest = split_at(word, '#', &url, &rest);
	bool has_path = split_at(rest, ':', &ref, &path);
	int r = 0;

	if (url.len > SKILL_URL_MAX || !only(url, ":/@._~%+-"))
		return bad_source(err, "an address has letters, digits and :/@._~%+- alone");
	if (!is_scp(url) && has_secret(url))
		return bad_source(err, "a password in an address would be written into the "
				       "manifest; git's credential helpers keep it better");
	if (has_rest && ref.len)
		r = take_ref(source, ref, err);
	if (!r)
		r = take_path(source, has_path ? path : SPAN(""), err);
	if (!r)
		r = take_text(&source->from, url, err);
	return r ? r : take_text(&source->url, url, err);
}

/* ---- all of them ---- */

bool skill_source_is(const char *word)
{
	struct rye_span text = span_of(word);

	return span_starts(text, GITHUB) || span_find(text, 0, "://") > 0 || is_scp(text);
}

int skill_source_read(const char *word, struct skill_source *ret, struct rye_err *err)
{
	auto_skill_source struct skill_source source = { 0 };
	struct rye_span text = span_of(word);
	int r;

	if (span_starts(text, GITHUB))
		r = read_github(text, &source, err);
	else if (has_scheme(text) || is_scp(text))
		r = read_url(text, &source, err);
	else
		r = bad_source(err, "wanted is github:OWNER/REPO, or a git repository's address "
				    "with https, ssh or file");
	if (!r && !source.ref)
		r = take_text(&source.ref, SPAN(""), err);
	if (r)
		return r;
	*ret = source;
	source = (struct skill_source){ 0 };
	return 0;
}

int skill_source_of(const json_t *told, struct skill_source *ret, struct rye_err *err)
{
	auto_skill_source struct skill_source source = { 0 };
	const char *path = json_str(told, "path"), *ref = json_str(told, "ref");
	int r = skill_source_read(json_str(told, "from"), &source, err);

	if (!r && (*source.path || *source.ref))
		r = bad_source(err, "from: wants the repository alone");
	if (!r)
		r = take_path(&source, span_of(path), err);
	if (!r && *ref)
		r = take_ref(&source, span_of(ref), err);
	if (r)
		return r;
	*ret = source;
	source = (struct skill_source){ 0 };
	return 0;
}

static void put_member(struct rye_buf *out, const char *key, const char *text)
{
	auto_json json_t *value = json_string(text);

	if (!*text)
		return;
	buf_addf(out, ", %s: ", key);
	json_put(out, value, false);
}

void skill_source_put(const struct skill_source *source, const char *commit, struct rye_buf *out)
{
	auto_json json_t *from = json_string(source->from);

	buf_adds(out, "source: {from: ");
	json_put(out, from, false);
	put_member(out, "path", source->path);
	put_member(out, "ref", source->ref);
	put_member(out, "commit", commit);
	buf_adds(out, "}\n");
}

bool skill_commit_is(const char *text)
{
	size_t n = strlen(text);

	return (n == 40 || n == 64) && is_hex_lower(span_of(text));
}

void skill_source_done(struct skill_source *source)
{
	free(source->from);
	free(source->url);
	free(source->path);
	free(source->ref);
	*source = (struct skill_source){ 0 };
}
