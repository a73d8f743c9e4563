/* SPDX-License-Identifier: MIT */
/*
 * What is another file in one manifest than in another, as a manifest of the new ones alone and as a document.
 * What comes from a node is not believed to be harmless: what is never sent there never comes from there. Pure.
 */
#include "remote/remote_inner.h"

#include "memory.h"
#include "str.h"

struct comparing {
	const struct manifest *before, *after;
	struct manifest_line *lines;
	size_t n;
	json_t *changed, *removed;
	uint64_t bytes;
};

static json_t *change_doc(const char *path, const struct manifest_line *was)
{
	json_t *doc = json_pack("{s:s}", "path", path);
	char hex[SHA_HEX];

	if (was) {
		digest_hex(&was->sha, hex);
		json_set(doc, "was",
			 json_pack("{s:s, s:s}", "sha", hex, "mode",
				   manifest_mode_name(was->mode)));
	}
	return doc;
}

static int add_changed(struct comparing *comparing, const struct manifest_line *line,
		       const struct manifest_line *was, struct rye_err *err)
{
	const char *why = sent_never(line->path);
	json_t *doc = change_doc(line->path, was);
	char hex[SHA_HEX];

	if (why) {
		json_decref(doc);
		return rye_fail(err, RYE_DENIED, "the run says that it left '%s': %s", line->path,
				why);
	}
	digest_hex(&line->sha, hex);
	json_sets(doc, "sha", hex);
	json_sets(doc, "mode", manifest_mode_name(line->mode));
	json_set(doc, "size", json_integer((json_int_t)line->size));
	comparing->lines[comparing->n++] = *line;
	comparing->bytes += line->size;
	return json_array_append_new(comparing->changed, doc) ? memory_fail(err) : 0;
}

/* Both are in the order of their paths. */
static int compare(struct comparing *comparing, struct rye_err *err)
{
	const struct manifest *before = comparing->before, *after = comparing->after;
	size_t i = 0, j = 0;
	int r = 0;

	while (!r && (i < before->n || j < after->n)) {
		const struct manifest_line *was = i < before->n ? &before->v[i] : NULL;
		const struct manifest_line *is = j < after->n ? &after->v[j] : NULL;
		int order = !was ? 1 : !is ? -1 : strcmp(was->path, is->path);

		i += order <= 0;
		j += order >= 0;
		if (order < 0)
			r = json_array_append_new(comparing->removed, change_doc(was->path, was)) ?
				    memory_fail(err) :
				    0;
		else if (order > 0 || !digest_is(&was->sha, &is->sha) || was->mode != is->mode)
			r = add_changed(comparing, is, order ? NULL : was, err);
	}
	return r;
}

int pull_changes(const struct manifest *before, const struct manifest *after,
		 struct pull_changes *ret, struct rye_err *err)
{
	auto_free struct manifest_line *lines = memory_note(calloc(after->n + 1, sizeof(*lines)));
	struct comparing comparing = { .before = before, .after = after, .lines = lines };
	char base[SHA_HEX], manifest[SHA_HEX];
	int r;

	*ret = (struct pull_changes){ .doc = json_object() };
	if (!lines)
		return memory_fail(err);
	digest_hex(&before->name, base);
	digest_hex(&after->name, manifest);
	json_sets(ret->doc, "base", base);
	json_sets(ret->doc, "manifest", manifest);
	comparing.changed = json_array();
	comparing.removed = json_array();
	if (!json_set(ret->doc, "changed", comparing.changed) ||
	    !json_set(ret->doc, "removed", comparing.removed))
		return memory_fail(err);
	r = compare(&comparing, err);
	if (r)
		return r;
	ret->bytes = comparing.bytes;
	json_set(ret->doc, "bytes", json_integer((json_int_t)comparing.bytes));
	return manifest_make(lines, comparing.n, &ret->changed, err);
}

void pull_changes_done(struct pull_changes *changes)
{
	manifest_free(changes->changed);
	json_decref(changes->doc);
}
