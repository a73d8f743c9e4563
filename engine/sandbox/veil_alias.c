/* SPDX-License-Identifier: MIT */
/*
 * The other paths by which a veiled place can be reached: a bind mount shows a part of a file system
 * a second time, an overlay shows its layers. Told by /proc/self/mountinfo, and believed only where
 * the same device and inode are found there. Called by the worker that makes a veil; no lock, no state.
 */
#include "sandbox/sandbox_inner.h"

#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of one machine; a host of containers has thousands. */
#define MOUNTS_MAX 16384

/* One mount, as far as it is of interest here. */
struct seen_mount {
	dev_t dev;
	char *root, *point, *layers; /* layers: the options of an overlay; else NULL */
};

struct seen_mounts {
	struct seen_mount *v;
	size_t n, size;
	bool failed;
};

static void seen_done(struct seen_mounts *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].root);
		free(list->v[i].point);
		free(list->v[i].layers);
	}
	free(list->v);
}

static int note_mount(void *arg, const struct mountinfo *mount)
{
	struct seen_mounts *list = arg;
	bool overlay = !strcmp(mount->type, "overlay");
	struct seen_mount one = { mount->dev, strdup(mount->root), strdup(mount->point),
				  overlay ? strdup(mount->options) : NULL };

	if (list->n == list->size && list->size < MOUNTS_MAX) {
		size_t size = list->size ? list->size * 2 : 64;
		struct seen_mount *v = realloc(list->v, size * sizeof(*v));

		list->v = v ? v : list->v;
		list->size = v ? size : list->size;
	}
	list->failed |= list->n == list->size || !one.root || !one.point ||
			(overlay && !one.layers);
	if (list->failed) {
		free(one.root);
		free(one.point);
		free(one.layers);
		return 1;
	}
	list->v[list->n++] = one;
	return 0;
}

static const struct seen_mount *mount_of(const struct seen_mounts *list, const char *path)
{
	const struct seen_mount *best = NULL;

	for (size_t i = 0; i < list->n; i++)
		if (path_below(path, list->v[i].point) &&
		    (!best || strlen(list->v[i].point) >= strlen(best->point)))
			best = &list->v[i];
	return best;
}

/* A path below a mountpoint; NULL: no memory. */
static char *alias_path(const char *point, const char *rest)
{
	char *path = NULL;

	if (!*rest)
		return strdup(point);
	return asprintf(&path, "%s/%s", strcmp(point, "/") ? point : "", rest) < 0 ? NULL : path;
}

struct alias_of {
	const struct seen_mounts *list;
	struct veil_rows *rows;
	enum veil_how how;
	const char *path; /* of the place, without links */
	struct stat st; /* its own */
};

/* Takes over alias, which counts if it is there. */
static void add_alias(const struct alias_of *of, char *alias)
{
	if (!alias)
		of->rows->failed = true;
	else if (strcmp(alias, of->path) && access(alias, F_OK) == 0)
		veil_rows_add(of->rows, of->how, alias);
	free(alias);
}

/* A mount of the same file system, in which the place lies at `inside`. */
static void by_bind(const struct alias_of *of, const struct seen_mount *mount, const char *inside)
{
	const char *rest = path_below(inside, mount->root);
	auto_free char *alias = rest ? alias_path(mount->point, rest) : NULL;
	struct stat st;

	/* it shows a part of the place, and nothing else */
	if (!rest && path_below(mount->root, inside))
		add_alias(of, strdup(mount->point));
	if (rest && !alias)
		of->rows->failed = true;
	/* where another mount lies over it, it is not to be seen */
	if (alias && stat(alias, &st) == 0 && st.st_dev == of->st.st_dev &&
	    st.st_ino == of->st.st_ino)
		add_alias(of, steal(&alias));
}

/*
 * Layers stand as "lowerdir=A:B,upperdir=C". A place in a layer is seen in the overlay, and one in
 * the overlay (ours: its mount is `mount`) in a layer.
 */
static void by_layers(const struct alias_of *of, const struct seen_mount *mount, bool ours)
{
	const char *at = mount->layers, *below = path_below(of->path, mount->point);

	while ((at = strpbrk(at, "=:"))) {
		size_t n = strcspn(++at, ":,");
		auto_free char *layer = strndup(at, n);
		const char *rest = layer && *layer == '/' ? path_below(of->path, layer) : NULL;

		of->rows->failed |= !layer;
		if (ours && below && layer && *layer == '/')
			add_alias(of, alias_path(layer, below));
		else if (rest)
			add_alias(of, alias_path(mount->point, rest));
		else if (layer && *layer == '/' && path_below(layer, of->path))
			add_alias(of, strdup(mount->point));
	}
}

static void aliases_of(struct alias_of *of)
{
	const struct seen_mount *own = mount_of(of->list, of->path);
	const char *rest = own ? path_below(of->path, own->point) : NULL;
	auto_free char *inside = rest ? alias_path(own->root, rest) : NULL;

	of->rows->failed |= rest && !inside;
	for (size_t i = 0; inside && i < of->list->n; i++) {
		const struct seen_mount *mount = &of->list->v[i];

		if (mount->dev == own->dev)
			by_bind(of, mount, inside);
		if (mount->layers)
			by_layers(of, mount, mount == own);
	}
}

void veil_rows_aliases(struct veil_rows *rows)
{
	__attribute__((cleanup(seen_done))) struct seen_mounts list = { 0 };

	rows->failed |= mountinfo_each(note_mount, &list) != 0;
	/* what is found may be shown somewhere else again */
	for (size_t i = 0; i < rows->n && !rows->failed; i++) {
		auto_free char *real = realpath(rows->v[i].path, NULL);
		struct alias_of of = { .list = &list,
				       .rows = rows,
				       .how = rows->v[i].how,
				       .path = real };

		if (real && of.how != VEIL_ANCHOR && stat(real, &of.st) == 0)
			aliases_of(&of);
	}
}
