/* SPDX-License-Identifier: MIT */
/*
 * Results that are kept to be taken again: .ai/state/graph-results/KEY.json, KEY the digest of what a
 * result hangs on. Signed as records are: what another program wrote there is no result. On the worker
 * of a run; no lock, a file is replaced in one step.
 */
#include "sign/sign.h"

#include "base/io.h"
#include "base/sha.h"
#include "clock.h"
#include "scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define KEPT_DIR ".ai/state/graph-results"
/* What takes longer to read than to find out again is not kept, and no more than this many are. */
#define KEPT_MAX (1u << 20)
#define KEPT_FILES 1000
#define KEPT_NAME (SHA_HEX + 8)

static bool signkept_verifies(const struct signkept *kept, const json_t *doc)
{
	char ref[sizeof("state:graph-results/.json") + SHA_HEX];
	struct rye_err ignored = { 0 };

	snprintf(ref, sizeof(ref), "state:graph-results/%s.json", kept->key);
	return !strcmp(json_str(doc, "key"), kept->key) &&
	       !signdoc_verify(kept->items->trust, ref, doc, &ignored);
}

json_t *signkept_find(const struct signkept *kept)
{
	auto_close int dir = io_open_dir(kept->project, KEPT_DIR, false);
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	char name[KEPT_NAME];

	snprintf(name, sizeof(name), "%s.json", kept->key);
	if (dir < 0 || io_read_at(dir, name, KEPT_MAX, &blob) < 0)
		return NULL;
	doc = json_parse((struct rye_span){ blob->data, blob->len }, JSON_LOAD_NUL, name, NULL);
	return signkept_verifies(kept, doc) ? json_incref(json_object_get(doc, "result")) : NULL;
}

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec < b->st_mtim.tv_sec ||
	       (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec < b->st_mtim.tv_nsec);
}

/* Of a directory that is full the one that was written first goes. */
static void drop_oldest(int dir)
{
	auto_close int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	struct stat st, first = { 0 };
	char oldest[256] = "";
	struct dirent *entry;
	size_t n = 0;

	if (!list)
		return;
	steal_fd(&again);
	while ((entry = readdir(list))) {
		if (*entry->d_name == '.' || fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!n++ || is_older(&st, &first)) {
			first = st;
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
		}
	}
	closedir(list);
	if (n >= KEPT_FILES)
		unlinkat(dir, oldest, 0);
}

static int sign_kept(const struct signkept *kept, json_t *doc, struct rye_err *err)
{
	auto_key struct key_secret key;
	int r = keystore_automatic(kept->items, &key, err);

	return r ? r : signdoc_sign(&key, doc, NULL, err);
}

int signkept_put(const struct signkept *kept, json_t *doc, struct rye_err *err)
{
	auto_close int dir = io_open_dir(kept->project, KEPT_DIR, true);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char name[KEPT_NAME], now[40];
	int r;

	if (dir < 0)
		return rye_fail_sys(err, -dir, "%s/" KEPT_DIR, kept->project);
	clock_iso_us(now);
	json_sets(doc, "key", kept->key);
	json_sets(doc, "cached_at", now);
	r = sign_kept(kept, doc, err);
	if (r)
		return r;
	json_put(&text, doc, true);
	if (text.failed || text.len > KEPT_MAX)
		return rye_fail(err, RYE_TOO_BIG, "it has more than %u bytes", KEPT_MAX);
	drop_oldest(dir);
	snprintf(name, sizeof(name), "%s.json", kept->key);
	r = io_replace_at(dir, name, (struct rye_span){ text.data, text.len }, 0600);
	return r < 0 ? rye_fail_sys(err, -r, "%s/" KEPT_DIR, kept->project) : 0;
}
