/* SPDX-License-Identifier: MIT */
/*
 * pass_own.c - which names below spaces/ the kernel has from changes of its own.
 *
 * A change that came through the mount is seen by the engine, too, and told like any other. But the
 * kernel has made it itself, in its names, its listing and its attributes: to be told again costs it
 * all of those, and the next save a LOOKUP and a GETATTR. So the newest changes are remembered here,
 * and as long as the disk shows a name as one of them left it, nothing is told.
 *
 * Direct-mapped by a hash of directory and name: a change that is no longer remembered is told.
 * Under the lock of struct pass.
 */
#include "pass/pass.h"

#include "hash.h"
#include "scope.h"

#include <stdio.h>

static uint64_t pass_own_hash(const struct node *dir, const char *name)
{
	const struct pass_node *pass = pass_of(dir);
	uint64_t hash = hash_add(hash_add(HASH_BASIS, pass->dev), pass->ino);

	hash = hash_text(hash, name);
	return hash ^ hash >> 32;
}

static struct pass_own *pass_own_slot(struct pass *pass, uint64_t hash)
{
	return &pass->own[hash % PASS_OWN];
}

void pass_own_note(struct node *dir, const char *name, const struct pass_own_file *file)
{
	struct pass *pass = pass_of(dir)->pass;
	uint64_t hash = pass_own_hash(dir, name);

	GUARD(&pass->lock);
	*pass_own_slot(pass, hash) = (struct pass_own){ hash, *file, true };
}

bool pass_own_is(const struct node *dir, const char *name, const struct pass_own_file *file)
{
	struct pass *pass = pass_of(dir)->pass;
	uint64_t hash = pass_own_hash(dir, name);

	GUARD(&pass->lock);
	const struct pass_own *own = pass_own_slot(pass, hash);

	return own->known && own->hash == hash && own->file.dev == file->dev &&
	       own->file.ino == file->ino;
}

void pass_own_forget(struct node *dir, const char *name, const struct pass_own_file *file)
{
	struct pass *pass = pass_of(dir)->pass;
	uint64_t hash = pass_own_hash(dir, name);

	GUARD(&pass->lock);
	struct pass_own *own = pass_own_slot(pass, hash);

	if (own->hash == hash &&
	    (!file || own->file.dev != file->dev || own->file.ino != file->ino))
		own->known = false;
}

void pass_own_move(const struct node_rename *what)
{
	struct pass *pass = pass_of(what->from)->pass;
	uint64_t from = pass_own_hash(what->from, what->name);
	uint64_t to = pass_own_hash(what->to, what->new_name);
	bool plain = !(what->flags & ~RENAME_NOREPLACE);

	GUARD(&pass->lock);
	struct pass_own *own = pass_own_slot(pass, from);
	const struct pass_own moved = {
		.hash = to,
		.file = own->file,
		.known = plain && own->known && own->hash == from && own->file.ino,
	};

	*own = (struct pass_own){ from, { 0, 0 }, plain };
	*pass_own_slot(pass, to) = moved;
}
