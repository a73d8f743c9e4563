/* SPDX-License-Identifier: MIT */
/*
 * Principals in the node's directory: admitted, removed, listed; and keys that have asked and are not
 * known, of which the last are kept so that a fingerprint is enough to admit one. No lock: each file
 * is replaced in one step.
 */
#include "door/door_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

/* Keys that have asked: a stranger with many of them pushes out the others, and no more. */
#define ASKED_MAX 64

static void fp_path(const char *where, const char *fp, const char *ext, char ret[64])
{
	snprintf(ret, 64, "%s/%.16s%s", where, fp, ext);
}

void node_words(const struct node_dir *node, struct rye_buf *ret)
{
	auto_free char *usual = node_default_path();

	if (usual && !strcmp(usual, node->path))
		return;
	buf_adds(ret, " --dir ");
	buf_shell(ret, node->path);
}

static int not_known(const struct node_dir *node, const char *fp, struct rye_err *err)
{
	auto_buf struct rye_buf words = RYE_BUF_INIT;

	node_words(node, &words);
	return rye_fail(err, RYE_DENIED,
			"does not know your key %s; its owner says: ryefs node admit%s %s", fp,
			words.data ? words.data : "", fp);
}

static int expired(const struct node_dir *node, const struct principal *who, struct rye_err *err)
{
	auto_buf struct rye_buf words = RYE_BUF_INIT;
	struct timespec when;

	if (!*who->expires || !clock_iso_read(who->expires, &when) || time(NULL) < when.tv_sec)
		return 0;
	node_words(node, &words);
	return rye_fail(err, RYE_DENIED,
			"knew your key %s until %s; its owner says: ryefs node admit%s %s expires=",
			who->key.fp, who->expires, words.data ? words.data : "", who->key.fp);
}

/* Whatever its date. RYE_NOT_FOUND: there is none. */
static int principal_fetch(const struct node_dir *node, const char *fp, struct principal *ret,
			   struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	char path[64];
	int r;

	fp_path("principals", fp, ".toml", path);
	r = io_read_at(node->dir, path, PRINCIPAL_FILE_MAX, &text);
	if (r == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "there is no principal %s", fp);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read %s/%s", node->path, path);
	r = principal_read(node, fp, (struct rye_span){ text->data, text->len }, ret, err);
	return r < 0 ? rye_wrap(err, "%s", path) : 0;
}

int principal_load(const struct node_dir *node, const char *fp, struct principal *ret,
		   struct rye_err *err)
{
	auto_principal struct principal who = { 0 };
	struct rye_err why = { 0 };
	int r = principal_fetch(node, fp, &who, &why);

	if (r == -(int)RYE_NOT_FOUND)
		return not_known(node, fp, err);
	if (r < 0) /* what is wrong there its owner sees with `list` */
		return rye_fail(err, RYE_DENIED,
				"cannot say whether it knows your key %s; its owner says: ryefs "
				"node list",
				fp);
	r = expired(node, &who, err);
	if (r < 0)
		return r;
	*ret = who;
	who = (struct principal){ 0 };
	return 0;
}

/* ---- keys that have asked ---- */

/* The oldest goes once there are too many. */
static void asked_trim(const struct node_dir *node)
{
	auto_close int fd = openat(node->dir, "asked", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(dup(fd));
	const struct dirent *entry;
	struct timespec oldest = { 0 };
	char name[256] = "";
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (*entry->d_name == '.' || fstatat(fd, entry->d_name, &st, 0) < 0)
			continue;
		if (!n++ || st.st_mtim.tv_sec < oldest.tv_sec) {
			oldest = st.st_mtim;
			snprintf(name, sizeof(name), "%s", entry->d_name);
		}
	}
	if (n >= ASKED_MAX)
		unlinkat(fd, name, 0);
}

void principal_asked(const struct node_dir *node, const struct key_public *key)
{
	char path[64];

	asked_trim(node);
	fp_path("asked", key->fp, ".pem", path);
	io_replace_at(node->dir, path, span_of(key->pem), 0600);
}

static int read_known(const struct node_dir *node, const char *fp, struct key_public *ret,
		      struct rye_err *err)
{
	auto_blob struct rye_blob *pem = NULL;
	char path[64];
	int r;

	fp_path("asked", fp, ".pem", path);
	r = io_read_at(node->dir, path, KEY_PEM_MAX, &pem);
	if (r == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND,
				"no key %s has asked here yet: let its owner say ryefs remote add, "
				"or give the file of the key",
				fp);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read %s/%s", node->path, path);
	r = key_public_parse((struct rye_span){ pem->data, pem->len }, ret, err);
	if (!r && strcmp(ret->fp, fp) != 0)
		r = rye_fail(err, RYE_INVALID, "%s is the key %s", path, ret->fp);
	return r;
}

/* ---- admitting ---- */

/* What is there of it, or the defaults for a new one. */
static int principal_begin(const struct node_dir *node, const char *key, struct principal *ret,
			   struct rye_err *err)
{
	char owner[128] = "", fp[KEY_FP];
	struct rye_err why = { 0 };
	struct key_public found;
	int r = principal_is_fp(key) ? 0 : keystore_read(key, &found, owner, err);

	if (r < 0)
		return r;
	memcpy(fp, principal_is_fp(key) ? key : found.fp, KEY_FP);
	r = principal_fetch(node, fp, ret, &why);
	if (!r)
		return 0;
	if (r != -(int)RYE_NOT_FOUND)
		return rye_fail(err, why.code, "%s\n" MEND_WITH "ryefs node remove %s", why.msg,
				fp);
	r = principal_is_fp(key) ? read_known(node, fp, &found, err) : 0;
	if (r < 0)
		return r;
	principal_defaults(ret);
	ret->key = found;
	memcpy(ret->owner, owner, sizeof(owner));
	return ret->allow && ret->signers && ret->env ? 0 : memory_fail(err);
}

int principal_admit(const struct node_dir *node, const char *key, const json_t *set,
		    struct principal *ret, struct rye_err *err)
{
	auto_principal struct principal who = { 0 };
	auto_blob struct rye_blob *text = NULL;
	char path[64];
	int r = principal_begin(node, key, &who, err);

	if (!r)
		r = principal_set(&who, set, err);
	if (r < 0)
		return r;
	text = principal_write(node, &who);
	if (!text)
		return memory_fail(err);
	fp_path("principals", who.key.fp, ".toml", path);
	r = io_replace_at(node->dir, path, (struct rye_span){ text->data, text->len }, 0600);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot write %s/%s", node->path, path);
	fp_path("asked", who.key.fp, ".pem", path);
	unlinkat(node->dir, path, 0);
	*ret = who;
	who = (struct principal){ 0 };
	return 0;
}

int principal_remove(const struct node_dir *node, const char *fp, struct rye_err *err)
{
	char path[64];
	bool gone;

	if (!principal_is_fp(fp))
		return rye_fail(err, RYE_INVALID,
				"%.40s: wanted is a fingerprint, 16 hex digits\n" MEND_WITH
				"ryefs node list",
				fp);
	fp_path("asked", fp, ".pem", path);
	gone = unlinkat(node->dir, path, 0) == 0;
	fp_path("principals", fp, ".toml", path);
	if (unlinkat(node->dir, path, 0) == 0 || gone)
		return 0;
	if (errno != ENOENT)
		return rye_fail_sys(err, errno, "cannot remove %s/%s", node->path, path);
	return rye_fail(err, RYE_NOT_FOUND, "no key %s is known here\n" MEND_WITH "ryefs node list",
			fp);
}

/* ---- listing ---- */

static json_t *row_of(const struct node_dir *node, const char *fp)
{
	auto_principal struct principal who = { 0 };
	struct rye_err err = { 0 };
	int r = principal_fetch(node, fp, &who, &err);
	json_t *row = r < 0 ? json_pack("{s:s, s:s}", "fingerprint", fp, "owner", "") :
			      principal_json(&who);

	if (!r)
		r = expired(node, &who, &err);
	json_sets(row, "status", !r ? "admitted" : err.code == RYE_DENIED ? "expired" : err.msg);
	return row;
}

static json_t *asked_row(const struct node_dir *node, const char *fp)
{
	(void)node;
	return json_pack("{s:s, s:s, s:s}", "fingerprint", fp, "owner", "", "status", "asked");
}

static int principal_list_dir(const struct node_dir *node, const char *sub,
			      json_t *(*row)(const struct node_dir *node, const char *fp),
			      json_t *into, struct rye_err *err)
{
	auto_close int fd = openat(node->dir, sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	int n = fd < 0 ? -1 : scandirat(fd, ".", &names, NULL, alphasort);

	if (n < 0)
		return rye_fail_sys(err, errno, "cannot read %s/%s", node->path, sub);
	for (int i = 0; i < n; i++) {
		char fp[KEY_FP];

		snprintf(fp, sizeof(fp), "%.16s", names[i]->d_name);
		if (principal_is_fp(fp) && names[i]->d_name[KEY_FP - 1] == '.')
			json_array_append_new(into, row(node, fp));
		free(names[i]);
	}
	free(names);
	return 0;
}

int principal_list(const struct node_dir *node, json_t **ret, struct rye_err *err)
{
	auto_json json_t *rows = json_array();
	int r = principal_list_dir(node, "principals", row_of, rows, err);

	if (!r)
		r = principal_list_dir(node, "asked", asked_row, rows, err);
	if (!r)
		*ret = steal(&rows);
	return r;
}
