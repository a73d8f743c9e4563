/* SPDX-License-Identifier: MIT */
/*
 * pass_names.c - by which names the kernel knows a file below spaces/.
 *
 * A file's descriptor was opened under one name and stays; its node is the same under every name that
 * the kernel asks by. So where a file is linked to another name and its first one is removed, as
 * editors save and ln(1) replaces, /proc tells of the descriptor a name that is gone. What a change
 * of the file is a change of is therefore remembered here: the directory's node and the name of each
 * LOOKUP, CREATE, LINK and RENAME that led to it. Whether it still does is looked at when the file
 * changes.
 *
 * Owns the names, under the lock of struct pass, and a reference to each directory.
 */
#include "pass/pass.h"

#include "scope.h"

#include <fcntl.h>
#include <string.h>

/* More names than these are known by the file's number of links, with which the engine looks at it
 * in each lookup. */
#define NAMES_MAX 16

struct pass_name {
	struct pass_name *next; /* an older one */
	struct node *dir;
	char name[];
};

static void pass_names_free(struct pass_name *name)
{
	while (name) {
		struct pass_name *next = name->next;

		node_unref(name->dir);
		free(name);
		name = next;
	}
}

void pass_names_drop(struct pass_node *pass)
{
	pass_names_free(steal(&pass->names));
}

/* Puts the name first. Lock held; what is to be freed when it is not: one of the same name, or the
 * oldest of too many. */
static struct pass_name *put_first(struct pass_node *pass, struct pass_name *name)
{
	struct pass_name **at = &pass->names, *old;

	for (size_t n = 1; *at; at = &(*at)->next, n++)
		if (n == NAMES_MAX ||
		    ((*at)->dir == name->dir && strcmp((*at)->name, name->name) == 0))
			break;
	old = *at;
	if (old) {
		*at = old->next;
		old->next = NULL;
	}
	name->next = pass->names;
	pass->names = name;
	return old;
}

static bool is_first(struct pass_node *pass, const struct node *dir, const char *text)
{
	GUARD(&pass->pass->lock);
	return pass->names && pass->names->dir == dir && strcmp(pass->names->name, text) == 0;
}

/* A file that was made under a name that shows nowhere else may have got another one. */
static void note_zone(struct pass_node *pass, const struct node *dir, const char *text)
{
	enum pass_zone zone;

	if (pass->zone == ZONE_PLAIN && pass_zone(pass_of(dir)->zone, text, &zone))
		pass->zone = zone;
	/* what is changed by that name is told of nowhere */
	if (pass_of(dir)->zone != ZONE_ITEMS)
		pass->beside = false;
}

void pass_names_note(struct node *node, struct node *dir, const char *text)
{
	struct pass_node *pass = pass_of(node);
	struct pass_name *name, *old;
	size_t len = strlen(text);

	if (!S_ISREG(node->mode) || is_first(pass, dir, text))
		return;
	note_zone(pass, dir, text);
	name = malloc(sizeof(*name) + len + 1);
	/* short of memory, /proc knows the name in most cases */
	if (!name)
		return;
	name->dir = node_ref(dir);
	memcpy(name->name, text, len + 1);
	{
		GUARD(&pass->pass->lock);
		old = put_first(pass, name);
	}
	pass_names_free(old);
}

/* The i-th of its names and, with a reference, the node of that one's directory; NULL: it has none. */
static struct node *get_name(const struct node *node, size_t i, char ret[TREE_NAME_MAX + 1])
{
	struct pass_node *pass = pass_of(node);

	GUARD(&pass->pass->lock);
	const struct pass_name *name = pass->names;

	while (name && i--)
		name = name->next;
	if (!name)
		return NULL;
	snprintf(ret, TREE_NAME_MAX + 1, "%s", name->name);
	return node_ref(name->dir);
}

static bool is_at(const struct node *node, const struct node *dir, const char *name)
{
	const struct pass_node *pass = pass_of(node);
	struct stat raw;

	return fstatat(pass_of(dir)->fd, name, &raw, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
	       raw.st_dev == pass->dev && raw.st_ino == pass->ino;
}

bool pass_names_next(const struct node *node, struct pass_at *at)
{
	for (;;) {
		node_unref(steal(&at->dir));
		at->dir = get_name(node, at->i++, at->name);
		if (!at->dir || is_at(node, at->dir, at->name))
			return at->dir != NULL;
	}
}
