/* SPDX-License-Identifier: MIT */
/*
 * The signing pair on disk and the listing of keys. Secrets pass through auto_key variables
 * and blobs that are wiped here; nothing of them reaches a message or the log. No lock of its
 * own: the files of a pair are replaced together (trust/keystage.c), and what a process that
 * was ended has left of that is settled before a key is read or made.
 */
#include "trust/trust.h"

#include "base/io.h"
#include "base/self.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>

static const char no_pair[] = "No signing keypair found. Generate one first.\n" MEND_WITH
			      "ryefs keygen";

/* A blob that has held a secret. */
static void wipe_blob(struct rye_blob **blob)
{
	if (*blob)
		sodium_memzero((*blob)->data, (*blob)->len);
	rye_blob_unref(*blob);
}

#define auto_secret __attribute__((cleanup(wipe_blob)))

static struct rye_span keystore_text_of(const struct rye_blob *blob)
{
	return (struct rye_span){ blob->data, blob->len };
}

/* ---- the directory ---- */

static char *key_path(const struct spaces *spaces, const char *sub)
{
	char *path = NULL;

	if (spaces->key_dir && asprintf(&path, "%s/%s", spaces->key_dir, sub) < 0)
		return memory_note(NULL);
	return path;
}

/* For reading. sub: "" the person's, "automatic" the second pair's. -ENOENT: it does not exist. */
static int open_dir(const struct spaces *spaces, const char *sub)
{
	auto_free char *path = key_path(spaces, sub);
	int dir;

	if (!path)
		return -ENOENT;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	keystage_share(dir);
	return dir;
}

static int keystore_make_dir(const struct spaces *spaces, const char *sub, int *ret,
			     struct rye_err *err)
{
	auto_free char *path = key_path(spaces, sub);
	int r = 0;

	if (!path)
		return spaces->key_dir ?
			       memory_fail(err) :
			       rye_fail(err, RYE_NOT_FOUND, "no directory for the signing keys");
	for (char *c = path + 1; *c && !r; c++) {
		if (*c != '/')
			continue;
		*c = 0;
		/* its parents are ordinary directories of the person's, itself is private */
		r = mkdir(path, strlen(path) < strlen(spaces->key_dir) ? 0755 : 0700);
		r = r < 0 && errno == EEXIST ? 0 : r;
		*c = '/';
	}
	if (!r && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = -1;
	*ret = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret < 0)
		return rye_fail_sys(err, errno, "cannot make %s", path);
	if (fchmod(*ret, 0700) < 0)
		return rye_fail_sys(err, errno, "cannot make %s private", path);
	return 0;
}

void keystore_settle(const struct spaces *spaces)
{
	auto_close int dir = open_dir(spaces, "");
	auto_close int automatic = open_dir(spaces, "automatic");
}

/* ---- reading ---- */

/* With a lock; dir: negative as open_dir says. */
static int read_pair(int dir, struct key_secret *ret, struct rye_err *err)
{
	auto_secret struct rye_blob *pem = NULL;
	auto_secret struct rye_blob *public_pem = NULL;
	auto_key struct key_secret key = { 0 };
	struct key_public pub;
	int r = dir < 0 ? dir : io_read_at(dir, KEYSTAGE_FIRST, KEY_PEM_MAX, &pem);

	if (r == -ENOENT)
		return rye_fail(err, RYE_NO_KEY, "%s", no_pair);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read private_key.pem");
	r = key_secret_parse(keystore_text_of(pem), &key, err);
	if (r < 0)
		return rye_wrap(err, "private_key.pem");
	/* the fingerprint is of the public file's text, when there is one */
	if (io_read_at(dir, "public_key.pem", KEY_PEM_MAX, &public_pem) == 0) {
		r = key_public_parse(keystore_text_of(public_pem), &pub, err);
		if (r < 0)
			return rye_wrap(err, "public_key.pem");
		if (memcmp(pub.bytes, key.pub.bytes, KEY_LEN))
			return rye_fail(err, RYE_INVALID,
					"public_key.pem is not the public half of private_key.pem");
		key.pub = pub;
	}
	*ret = key;
	return 0;
}

/* Which directory it is, and what helps: the right to read, or another pair, the old one laid aside. */
static int keystore_explain(const struct spaces *spaces, int r, struct rye_err *err)
{
	auto_free char *path = NULL;

	if (!r || !err || err->code == RYE_NO_KEY)
		return r;
	rye_wrap(err, "%s", spaces->key_dir);
	path = key_path(spaces, KEYSTAGE_FIRST);
	if (err->sys == EACCES && path)
		self_may(path, false, err);
	else if (!err->sys)
		snprintf(err->msg + strlen(err->msg), sizeof(err->msg) - strlen(err->msg),
			 "\n" MEND_WITH "ryefs keygen --force");
	return r;
}

int keystore_load(const struct spaces *spaces, struct key_secret *ret, struct rye_err *err)
{
	auto_close int dir = open_dir(spaces, "");
	int r = read_pair(dir, ret, err);

	return keystore_explain(spaces, r, err);
}

int keystore_derive(const struct spaces *spaces, const char *info, unsigned char ret[KEY_LEN],
		    struct rye_err *err)
{
	auto_close int dir = open_dir(spaces, "");
	auto_secret struct rye_blob *pem = NULL;
	int r = dir < 0 ? dir : io_read_at(dir, KEYSTAGE_FIRST, KEY_PEM_MAX, &pem);

	if (r == -ENOENT)
		return rye_fail(err, RYE_NO_KEY, "%s", no_pair);
	if (r < 0)
		return keystore_explain(spaces,
					rye_fail_sys(err, -r, "cannot read private_key.pem"), err);
	key_derive(keystore_text_of(pem), info, ret);
	return 0;
}

/* ---- making ---- */

/* With the lock of dir. box: with the format's second pair, the person's own. */
static int keystore_put_pair(int dir, const struct key_secret *key, bool box, struct rye_err *err)
{
	char pem[256], secret[44], public[44];
	const struct keystage_file files[] = {
		{ KEYSTAGE_FIRST, pem, 0600 },
		{ "public_key.pem", key->pub.pem, 0644 },
		{ "box_key.pem", secret, 0600 },
		{ "box_pub.pem", public, 0644 },
	};
	int r;

	key_secret_pem(key, pem);
	key_box_pair(secret, public);
	r = keystage_put(dir, files, box ? 4 : 2, err);
	sodium_memzero(pem, sizeof(pem));
	sodium_memzero(secret, sizeof(secret));
	return r;
}

static void random_key(struct key_secret *ret)
{
	unsigned char seed[KEY_LEN];

	randombytes_buf(seed, sizeof(seed));
	key_secret_seed(seed, ret);
	sodium_memzero(seed, sizeof(seed));
}

static int call_before(const struct keystore_before *before, const struct key_secret *key,
		       struct rye_err *err)
{
	char pem[256];
	int r;

	if (!before)
		return 0;
	r = before->fn(before->arg, (struct rye_span){ pem, key_secret_pem(key, pem) }, err);
	sodium_memzero(pem, sizeof(pem));
	return r;
}

/* Where the file system has no links, a copy. */
static int keep_one(int dir, const char *name, const char *old)
{
	auto_secret struct rye_blob *text = NULL;
	int r;

	if (unlinkat(dir, old, 0) < 0 && errno != ENOENT)
		return -errno;
	if (!linkat(dir, name, dir, old, 0) || errno == ENOENT)
		return 0;
	r = io_read_at(dir, name, KEY_PEM_MAX, &text);
	return r < 0 ? r : io_replace_at(dir, old, keystore_text_of(text), 0600);
}

/* With the lock. A key that was replaced by mistake, or whose seals are needed once more, is there until the next. */
static int keep_old(int dir, struct rye_err *err)
{
	static const char *const names[] = { KEYSTAGE_FIRST, "public_key.pem", "box_key.pem",
					     "box_pub.pem" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char old[32];
		int r;

		snprintf(old, sizeof(old), "%s.old", names[i]);
		r = keep_one(dir, names[i], old);
		if (r < 0)
			return rye_fail_sys(err, -r, "cannot keep %s as %s", names[i], old);
	}
	return 0;
}

/* With the lock. What is there may be no key. */
static int refuse_another(const struct spaces *spaces, int dir, struct rye_err *err)
{
	auto_key struct key_secret key = { 0 };
	int r = read_pair(dir, &key, err);

	if (r < 0)
		return keystore_explain(spaces, r, err);
	return rye_fail(
		err, RYE_INVALID,
		"there is a signing key in %s already; --force replaces it, and what only it "
		"signed has to be signed again\n" MEND_WITH "ryefs keys",
		spaces->key_dir);
}

int keystore_generate(const struct spaces *spaces, bool force, const struct keystore_before *before,
		      char ret_fp[KEY_FP], struct rye_err *err)
{
	auto_key struct key_secret key = { 0 };
	auto_close int dir = -1;
	int r = keystore_make_dir(spaces, "", &dir, err);

	if (r < 0)
		return r;
	keystage_lock(dir);
	if (!force && faccessat(dir, KEYSTAGE_FIRST, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_another(spaces, dir, err);
	random_key(&key);
	r = keep_old(dir, err);
	if (!r)
		r = call_before(before, &key, err);
	if (!r)
		r = keystore_put_pair(dir, &key, true, err);
	if (r < 0)
		return r;
	memcpy(ret_fp, key.pub.fp, KEY_FP);
	return 0;
}

int keystore_second(const struct spaces *spaces, struct key_secret *ret, bool *ret_new,
		    struct rye_err *err)
{
	auto_close int dir = open_dir(spaces, "automatic");
	struct rye_err why = { 0 };
	int r = read_pair(dir, ret, &why);

	*ret_new = false;
	if (!r || why.code != RYE_NO_KEY) {
		if (r < 0 && err)
			*err = why;
		return r;
	}
	if (dir >= 0)
		close(steal_fd(&dir));
	r = keystore_make_dir(spaces, "automatic", &dir, err);
	if (r < 0)
		return r;
	keystage_lock(dir);
	r = read_pair(dir, ret, &why);
	if (!r) /* another process has made it meanwhile */
		return 0;
	random_key(ret);
	*ret_new = true;
	return keystore_put_pair(dir, ret, false, err);
}
