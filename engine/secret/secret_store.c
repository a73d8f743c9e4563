/* SPDX-License-Identifier: MIT */
/*
 * The file of the secrets, replaced as a whole. Beside it lie the dates, which are no secret,
 * and, while the signing key is being replaced, the same secrets under the next key: whichever file
 * the key opens counts, so a process that is killed on the way loses nothing. The lock is flock(2)
 * of the directory, held by the process that changes it.
 */
#include "secret/secret.h"

#include "base/io.h"
#include "memory.h"
#include "secret/secret_inner.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>

/* The format's own name for the purpose of the key. */
#define PURPOSE "ryeos-secret-store-v1"
#define STORE "store.enc"
#define NEXT "store.next"

/* ---- the directory ---- */

/* -ENOENT: there is none; another -errno: nothing is known of it. */
static int dir_open(const struct spaces *spaces)
{
	int dir;

	if (!spaces->secret_dir)
		return -ENOENT;
	dir = open(spaces->secret_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

static int secret_dir_make(const struct spaces *spaces, int *ret, struct rye_err *err)
{
	auto_free char *ai = NULL;
	bool made;

	*ret = -ENOENT;
	if (!spaces->secret_dir)
		return rye_fail(err, RYE_NOT_FOUND, "there is no user space to keep secrets in");
	ai = memory_note(
		strndup(spaces->secret_dir, strlen(spaces->secret_dir) - strlen("/secrets")));
	*ret = -ENOMEM;
	if (!ai)
		return memory_fail(err);
	made = mkdir(ai, 0755) == 0 || errno == EEXIST;
	if (made)
		made = mkdir(spaces->secret_dir, 0700) == 0 || errno == EEXIST;
	*ret = made ? dir_open(spaces) : -errno;
	if (*ret < 0 || fchmod(*ret, 0700) < 0)
		return rye_fail_sys(err, *ret < 0 ? -*ret : errno, "cannot keep secrets in %s",
				    spaces->secret_dir);
	return 0;
}

/* Held until the descriptor is closed. What killed processes have left is removed on the way. */
static void dir_lock(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (flock(dir, LOCK_EX) < 0 && errno == EINTR)
		;
	while (list && (entry = readdir(list)))
		io_is_left(dir, entry->d_name, true);
}

int secret_store_put(int dir, const char *name, const struct rye_blob *blob, struct rye_err *err)
{
	int r = io_replace_at(dir, name, (struct rye_span){ blob->data, blob->len }, 0600);

	return r < 0 ? rye_fail_sys(err, -r, "cannot write %s", name) : 0;
}

/* ---- the values ---- */

/* Only what is known not to be there is not: one that cannot be looked at may hold all secrets. */
static bool store_is_there(int dir)
{
	static const char *const names[] = { STORE, NEXT };

	for (size_t i = 0; i < ARRAY_SIZE(names) && dir >= 0; i++)
		if (!faccessat(dir, names[i], F_OK, 0) || errno != ENOENT)
			return true;
	return dir < 0 && dir != -ENOENT;
}

static int store_read(int dir, const unsigned char key[KEY_LEN], json_t **ret, struct rye_err *err)
{
	static const char *const names[] = { STORE, NEXT };
	struct rye_err first = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_blob struct rye_blob *blob = NULL;
		int sys = dir < 0 ? dir : io_read_at(dir, names[i], SECRET_FILE_MAX, &blob);
		struct rye_err *why = i ? NULL : &first;

		if (sys < 0)
			rye_fail_sys(why, -sys, "cannot read %s", names[i]);
		else if (!secret_unseal((struct rye_span){ blob->data, blob->len }, key, ret, why))
			return 0;
	}
	if (err)
		*err = first;
	return -(int)first.code;
}

static int store_write(int dir, const char *name, const json_t *values,
		       const unsigned char key[KEY_LEN], struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	int r = secret_seal(values, key, &blob, err);

	return r ? r : secret_store_put(dir, name, blob, err);
}

int secret_load(const struct spaces *spaces, json_t **ret, struct rye_err *err)
{
	auto_close int dir = dir_open(spaces);
	int r = -RYE_IO;

	*ret = NULL;
	if (!store_is_there(dir)) {
		*ret = json_object();
		return *ret ? 0 : memory_fail(err);
	}
	/* the key may be replaced between its reading and the store's */
	for (int i = 0; i < 2 && r; i++) {
		unsigned char key[KEY_LEN];

		r = keystore_derive(spaces, PURPOSE, key, err);
		if (r)
			return r;
		r = store_read(dir, key, ret, err);
		sodium_memzero(key, sizeof(key));
	}
	return r ? rye_wrap(err, "%s", spaces->secret_dir) : 0;
}

static void mark_below(struct marks *marks, const char *dir, const char *name)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		marks_unfit(marks);
	else
		marks_add(marks, AT_FDCWD, path, false);
}

void secret_mark(const struct spaces *spaces, struct marks *marks)
{
	if (!spaces->secret_dir)
		return;
	mark_below(marks, spaces->secret_dir, STORE);
	mark_below(marks, spaces->secret_dir, NEXT);
	/* as its key is derived from the signing key */
	if (spaces->key_dir)
		marks_add(marks, AT_FDCWD, spaces->key_dir, true);
}

/* ---- changes ---- */

static int limits_check(const json_t *values, struct rye_err *err)
{
	json_t *object = (json_t *)values, *value;
	const char *name;
	size_t total = 0;

	json_object_foreach(object, name, value)
		total += strlen(name) + json_string_length(value);
	if (json_object_size(values) > SECRET_COUNT_MAX || total > SECRET_TOTAL_MAX)
		return rye_fail(err, RYE_TOO_BIG,
				"there is room for %d secrets of %u bytes together",
				SECRET_COUNT_MAX, SECRET_TOTAL_MAX);
	return 0;
}

/* With the lock. name: the one that was set, or NULL. */
static int store_change(const struct spaces *spaces, int dir, const json_t *values,
			const char *name, struct rye_err *err)
{
	unsigned char key[KEY_LEN];
	int r = keystore_derive(spaces, PURPOSE, key, err);

	if (r)
		return r;
	r = store_write(dir, STORE, values, key, err);
	sodium_memzero(key, sizeof(key));
	if (r)
		return rye_wrap(err, "%s", spaces->secret_dir);
	unlinkat(dir, NEXT, 0);
	secret_dates_write(dir, values, name);
	return 0;
}

int secret_set(const struct spaces *spaces, const char *name, struct rye_span value,
	       struct rye_err *err)
{
	auto_close int dir = -1;
	auto_json json_t *values = NULL;
	int r = secret_name_check(name, err);

	if (!r)
		r = secret_value_check(value, err);
	if (!r)
		r = secret_dir_make(spaces, &dir, err);
	if (r)
		return r;
	dir_lock(dir);
	r = secret_load(spaces, &values, err);
	if (r)
		return r;
	if (!json_set(values, name, json_stringn(value.ptr, value.len)))
		return memory_fail(err);
	r = limits_check(values, err);
	return r ? r : store_change(spaces, dir, values, name, err);
}

int secret_list(const struct spaces *spaces, rye_secret_fn fn, void *arg, struct rye_err *err)
{
	auto_close int dir = dir_open(spaces);
	auto_json json_t *values = NULL;
	auto_json json_t *dates = NULL;
	json_t *value;
	const char *name;
	int r = secret_load(spaces, &values, err);

	if (r)
		return r;
	dates = secret_dates_read(dir);
	json_object_foreach(values, name, value) {
		r = fn(arg, &(struct rye_secret){ name, json_str(dates, name) });
		if (r)
			return r;
	}
	return 0;
}

int secret_remove(const struct spaces *spaces, const char *name, struct rye_err *err)
{
	auto_close int dir = dir_open(spaces);
	auto_json json_t *values = NULL;
	int r;

	if (dir >= 0)
		dir_lock(dir);
	r = secret_load(spaces, &values, err);
	if (r)
		return r;
	if (json_object_del(values, name))
		return rye_fail(err, RYE_NOT_FOUND,
				"there is no secret %.255s\n" MEND_WITH "ryefs secret list", name);
	return store_change(spaces, dir, values, NULL, err);
}

/* ---- another signing key ---- */

struct secret_store_move {
	int dir;
	json_t *values;
};

/* struct keystore_before's */
static int move_to(void *arg, struct rye_span pem, struct rye_err *err)
{
	const struct secret_store_move *move = arg;
	unsigned char key[KEY_LEN];
	int r;

	key_derive(pem, PURPOSE, key);
	r = store_write(move->dir, NEXT, move->values, key, err);
	sodium_memzero(key, sizeof(key));
	return r;
}

/* With the lock, if there can be one. *ret NULL: nothing that a new key would lose. */
static int move_load(const struct spaces *spaces, int dir, json_t **ret, struct rye_err *err)
{
	struct rye_err why = { 0 };
	int r;

	*ret = NULL;
	r = store_is_there(dir) ? secret_load(spaces, ret, &why) : 0;
	/* without a key there is none to lose them by */
	if (!r || why.code == RYE_NO_KEY)
		return 0;
	return rye_fail(err, why.code,
			"the secrets cannot be opened now, and a new key would lose them: %.*s; "
			"--forget-secrets lays them aside\n" MEND_WITH
			"ryefs keygen --force --forget-secrets",
			(int)strcspn(why.msg, "\n"), why.msg);
}

int secret_keygen(const struct spaces *spaces, enum rye_keygen how, char ret_fp[KEY_FP],
		  struct rye_err *err)
{
	auto_close int dir = -1;
	auto_json json_t *values = NULL;
	struct secret_store_move move;
	const struct keystore_before before = { move_to, &move };
	int r = 0;

	/* made for the lock: a secret may be set meanwhile */
	if (how != RYE_KEY_NEW && secret_dir_make(spaces, &dir, NULL) == 0)
		dir_lock(dir);
	if (how != RYE_KEY_NEW)
		r = move_load(spaces, dir, &values, err);
	if (r && how != RYE_KEY_FORGET)
		return r;
	move = (struct secret_store_move){ dir, values };
	r = keystore_generate(spaces, how != RYE_KEY_NEW, values ? &before : NULL, ret_fp, err);
	/* after a failure the key decides which of the two is read */
	if (!r && values)
		renameat(dir, NEXT, dir, STORE);
	/* none of them is opened by the new key; the old one opens this */
	if (!r && how == RYE_KEY_FORGET && !values && dir >= 0) {
		renameat(dir, STORE, dir, STORE ".old");
		unlinkat(dir, NEXT, 0);
	}
	return r;
}
