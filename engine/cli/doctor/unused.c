/* SPDX-License-Identifier: MIT */
/*
 * Files that lie where items lie and are none, because of their names: doctor's answer to "why
 * does it not show?". Data beside tools is as it should be; only what looks like an item is
 * named. One remark for each reason, kind and space, with the first file and how many more.
 */
#include "cli/doctor/doctor.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <strings.h>

/* Deeper than any workspace; bounds the descriptors that are open at once. */
#define DEPTH_MAX 40

enum unused_reason { REASON_NAME, REASON_END, REASON_DATA, REASON__MAX };

struct unused {
	enum rye_kind kind;
	int root; /* of the space, an .ai */
	const char *above; /* the directory that holds it */
	struct rye_buf first[REASON__MAX]; /* path below the root */
	size_t n[REASON__MAX];
};

static void unused_note(struct unused *unused, enum unused_reason reason, const char *path)
{
	struct rye_buf *first = &unused->first[reason];

	if (unused->n[reason]++ && !first->failed && strcmp(first->data, path) <= 0)
		return;
	buf_clear(first);
	buf_adds(first, path);
}

/* Beside tools lie data of all sorts; a program without an end that counts was meant as one. */
static bool looks_like_program(const char *name)
{
	static const char *const ends[] = { ".bash", ".go", ".jsx", ".lua", ".php", ".pl", ".ps1",
					    ".py3",  ".r",  ".rb",  ".rs",  ".tsx", ".zsh" };
	static const char *const texts[] = { "README", "LICENSE", "Makefile", "TODO" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(name, texts[i]))
			return false;
	for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++)
		if (!strcasecmp(dot, ends[i]))
			return true;
	return !dot;
}

static bool ends_otherwise(enum rye_kind kind, const char *name)
{
	size_t len = strlen(name);

	if (kind_extension_of(kind, name) || str_ends(name, "~"))
		return false;
	if (kind != RYE_TOOL)
		return true;
	if (looks_like_program(name))
		return true;
	for (const char *const *ext = kind_extensions(kind); *ext; ext++)
		if (len > strlen(*ext) && !strcasecmp(name + len - strlen(*ext), *ext))
			return true;
	return false;
}

/* JSON beside tools is data; one that says what executes it was meant as a tool. */
static bool is_meant_as_tool(const struct unused *unused, const char *path)
{
	struct rye_blob *blob = NULL;
	bool meant;

	if (unused->kind != RYE_TOOL || !str_ends(path, ".json") ||
	    io_read_at(unused->root, path, RYE_ITEM_MAX, &blob) < 0)
		return false;
	meant = strstr(blob->data, "executor_id") && !strstr(blob->data, "rye:signed:");
	rye_blob_unref(blob);
	return meant;
}

static bool is_passed_over(const char *name)
{
	return *name == '.' || !strcmp(name, "__pycache__") || !strcmp(name, "node_modules");
}

static void look_into(struct unused *unused, const char *path, unsigned depth);

static void unused_look_at(struct unused *unused, const char *dir, const struct dirent *entry,
			   unsigned depth)
{
	bool below = entry->d_type == DT_DIR, file = entry->d_type == DT_REG;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	const char *name = entry->d_name;

	buf_addf(&path, "%s/%s", dir, name);
	if (path.failed || is_passed_over(name) || (!below && !file))
		return;
	if (id_check(span_of(name), NULL)) {
		if (below || kind_extension_of(unused->kind, name))
			unused_note(unused, REASON_NAME, path.data);
	} else if (below) {
		look_into(unused, path.data, depth + 1);
	} else if (ends_otherwise(unused->kind, name)) {
		unused_note(unused, REASON_END, path.data);
	} else if (is_meant_as_tool(unused, path.data)) {
		unused_note(unused, REASON_DATA, path.data);
	}
}

static void look_into(struct unused *unused, const char *path, unsigned depth)
{
	int fd = depth < DEPTH_MAX ? io_open_mounted(unused->root, path, O_RDONLY | O_DIRECTORY) :
				     -1;
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir)))
		unused_look_at(unused, path, entry, depth);
}

static void unused_tell(struct findings *findings, const struct unused *unused,
			enum unused_reason reason, const char *space)
{
	auto_buf struct rye_buf about = RYE_BUF_INIT, what = RYE_BUF_INIT;
	auto_buf struct rye_buf ref = RYE_BUF_INIT, path = RYE_BUF_INIT;
	auto_free char *mend = NULL;
	size_t more = unused->n[reason] - 1;

	buf_addf(&about, "%s/%s", space, unused->first[reason].data);
	if (reason == REASON_NAME) {
		buf_adds(&what, "no item, for its name can be no id");
	} else if (reason == REASON_DATA) {
		const char *id = strchr(unused->first[reason].data, '/') + 1;

		buf_addf(&ref, "tool:%.*s", (int)(strrchr(id, '.') - id), id);
		buf_addf(&path, "%s/.ai/%s", unused->above, unused->first[reason].data);
		buf_adds(&what, "data beside the tools; a tool would be YAML");
		mend = mend_json(path.failed ? "" : path.data, ref.failed ? "" : ref.data);
	} else {
		buf_addf(&what, "no item, for those below %s end in", rye_kind_dir(unused->kind));
		for (const char *const *ext = kind_extensions(unused->kind); *ext; ext++)
			buf_addf(&what, " %s", *ext);
	}
	if (more)
		buf_addf(&what, "; %zu more such %s", more, more == 1 ? "name" : "names");
	if (!about.failed && !what.failed)
		finding_add(findings, FINDING_REMARK, about.data,
			    mend ? mend : "rename it, if it is meant", "%s", what.data);
}

static void check_kind(struct findings *findings, const struct rye_space_info *space,
		       const char *label, enum rye_kind kind)
{
	struct unused unused = { .kind = kind, .root = space->fd, .above = space->root };

	look_into(&unused, rye_kind_dir(kind), 0);
	for (int reason = 0; reason < REASON__MAX; reason++) {
		if (unused.n[reason] && !unused.first[reason].failed)
			unused_tell(findings, &unused, reason, label);
		buf_done(&unused.first[reason]);
	}
}

/* Tools, tool, directive: near to the name of a kind's directory. */
static void check_top(struct findings *findings, DIR *dir, const char *label, enum rye_kind kind)
{
	const char *wanted = rye_kind_dir(kind);
	const struct dirent *entry;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		char about[RYE_NAME_MAX + 16], mend[64];

		if (!strcmp(name, wanted) ||
		    (strcasecmp(name, wanted) && strcasecmp(name, rye_kind_name(kind))))
			continue;
		snprintf(about, sizeof(about), "%s/%s", label, name);
		snprintf(mend, sizeof(mend), "rename it to %s", wanted);
		finding_add(findings, FINDING_REMARK, about, mend, "nothing looks for items there");
	}
}

static void unused_check_space(struct findings *findings, const struct rye_space_info *space)
{
	const char *label = space->type == RYE_USER ? "user" : "project";
	int fd = io_open_beneath(space->fd, ".", O_RDONLY | O_DIRECTORY);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	for (int kind = 0; dir && kind < RYE_KIND__MAX; kind++) {
		check_top(findings, dir, label, kind);
		if (kind != RYE_CONFIG && !rye_kind_has((enum rye_kind)kind, RYE_KIND_MANIFEST))
			check_kind(findings, space, label, kind);
	}
}

void unused_check(struct findings *findings)
{
	int n = rye_space_count(findings->cli->rye);

	for (int i = 0; i < n; i++) {
		struct rye_space_info space;

		rye_space_get(findings->cli->rye, i, &space);
		if (space.fd >= 0 && space.type != RYE_SYSTEM)
			unused_check_space(findings, &space);
	}
}
