/* SPDX-License-Identifier: MIT */
/*
 * Changing and listing the trust store. Trust is only ever added to user space, which a cloned
 * project cannot write; the file is signed by the person's key when there is one. After each
 * change the snapshot is made anew, so the next verification already knows.
 */
#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust.h"
#include "trust/trust_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>

static struct rye_span keytrust_text_of(const struct rye_blob *blob)
{
	return (struct rye_span){ blob->data, blob->len };
}

static const struct space *user_space(const struct spaces *spaces)
{
	size_t i = 0;

	/* spaces_open refuses to be without one */
	while (i + 1 < spaces->n && spaces->v[i].type != RYE_USER)
		i++;
	return &spaces->v[i];
}

/* A signature by a key that may not vouch would make the file worth less than none. */
static bool may_vouch(struct trust_box *box, const struct key_secret *own,
		      const struct key_public *key)
{
	auto_trust struct trust *trust = trust_get(box);
	const struct trust_key *known = trust_find(trust, span_of(own->pub.fp));

	return !strcmp(own->pub.fp, key->fp) || (known && !known->n_scope);
}

/* Into config/keys/<where>/<fp>.toml of a space. */
static int put_file(const struct item_env *env, const struct space *into, const char *where,
		    struct trustfile_new what, struct rye_err *err)
{
	auto_key struct key_secret own = { 0 };
	char stamp[24], path[96], category[48];
	struct rye_blob *text;
	int r;

	clock_stamp_signed(stamp);
	snprintf(category, sizeof(category), "keys/%s", where);
	snprintf(path, sizeof(path), "config/%s/%s.toml", category, what.key->fp);
	what.stamp = stamp;
	what.category = category;
	if (!keystore_load(env->spaces, &own, NULL) && may_vouch(env->trust, &own, what.key))
		what.signer = &own;
	text = trustfile_write(&what);
	if (!text)
		return memory_fail(err);
	r = space_write(into, path, keytrust_text_of(text), 0644);
	rye_blob_unref(text);
	return r < 0 ? rye_fail_sys(err, -r, "cannot write %s/.ai/%s", into->root, path) : 0;
}

static bool is_trusted(struct trust_box *box, const char *fp)
{
	auto_trust struct trust *trust = trust_get(box);

	return trust_find(trust, span_of(fp));
}

int keystore_signer(const struct item_env *env, struct key_secret *ret, struct rye_err *err)
{
	int r = keystore_load(env->spaces, ret, err);

	if (r < 0 || is_trusted(env->trust, ret->pub.fp))
		return r;
	r = rye_fail(
		err, RYE_UNTRUSTED,
		"your signing key %s is not trusted: what it signs would be refused\n" MEND_WITH
		"ryefs trust self",
		ret->pub.fp);
	key_wipe(ret);
	return r;
}

/* ---- the automatic pair ---- */

int keystore_automatic(const struct item_env *env, struct key_secret *ret, struct rye_err *err)
{
	static const char *const scope[] = { "knowledge:agent/threads/**", "state:**", NULL };
	bool is_new;
	int r = keystore_second(env->spaces, ret, &is_new, err);

	if (r < 0 || (!is_new && is_trusted(env->trust, ret->pub.fp)))
		return r;
	r = put_file(
		env, user_space(env->spaces), "automatic",
		(struct trustfile_new){ .key = &ret->pub, .owner = "automatic", .scope = scope },
		err);
	return r < 0 ? r : trust_reload(env->trust, err);
}

/* ---- trust ---- */

/* A key on its way into the store. */
struct incoming {
	struct trustfile file; /* its key, owner and scope */
	bool no_owner;
};

static void incoming_done(struct incoming *in)
{
	trustfile_done(&in->file);
}

static bool is_fingerprint(const char *key)
{
	return strlen(key) == KEY_FP - 1 && is_hex_lower(span_of(key));
}

/* PEM, or a trust file whose name may be anything as long as its text agrees with its key. */
static int keytrust_read_text(struct rye_span text, struct incoming *ret, struct rye_err *err)
{
	struct rye_span at = span_trim(text);
	ssize_t field;
	char fp[KEY_FP];

	if (span_starts(at, "-----BEGIN")) {
		ret->no_owner = true;
		return key_public_parse(text, &ret->file.key, err);
	}
	field = span_find(text, 0, "fingerprint = \"");
	if (field < 0 || text.len - (size_t)field < 15 + KEY_FP)
		return rye_fail(err, RYE_INVALID,
				"neither a PEM public key nor a trust file\n" MEND_WITH
				"ryefs keys");
	memcpy(fp, text.ptr + field + 15, KEY_FP - 1);
	fp[KEY_FP - 1] = 0;
	return trustfile_read(text, fp, &ret->file, err);
}

static int read_path(const char *path, struct incoming *ret, struct rye_err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct rye_blob *text;
	int r;

	if (fd < 0 && errno == ENOENT && !strchr(path, '/') && !strchr(path, '.'))
		return rye_fail(
			err, RYE_NOT_FOUND,
			"%s is neither a key file nor a fingerprint (16 of 0-9a-f)\n" MEND_WITH
			"ryefs keys",
			path);
	if (fd < 0)
		return rye_fail_sys(err, errno, "cannot read key %s", path);
	r = io_read_fd(fd, TRUSTFILE_MAX, &text, NULL);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read key %s", path);
	r = keytrust_read_text(keytrust_text_of(text), ret, err);
	rye_blob_unref(text);
	return r < 0 ? rye_wrap(err, "%s", path) : 0;
}

int keystore_read(const char *path, struct key_public *ret, char owner[128], struct rye_err *err)
{
	__attribute__((cleanup(incoming_done))) struct incoming in = { 0 };
	int r = read_path(path, &in, err);

	if (r < 0)
		return r;
	*ret = in.file.key;
	memcpy(owner, in.file.owner, sizeof(in.file.owner));
	return 0;
}

static int read_known(const struct item_env *env, const char *fp, struct incoming *ret,
		      struct rye_err *err)
{
	auto_trust struct trust *trust = trust_get(env->trust);
	struct rye_blob *text;
	int r = -ENOENT;

	for (size_t i = 0; i < trust->n_keys && r < 0; i++) {
		const struct trust_key *key = &trust->keys[i];

		if (strcmp(key->fp, fp) || space_fd(key->space) < 0)
			continue;
		if (io_read_at(space_fd(key->space), key->path, TRUSTFILE_MAX, &text) < 0)
			continue;
		r = trustfile_read(keytrust_text_of(text), fp, &ret->file, err);
		rye_blob_unref(text);
	}
	if (r == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND,
				"there is no key file of %s here; ask the signer for "
				".ai/config/keys/trusted/%s.toml, which init and sign put into "
				"their project; then: ryefs trust FILE",
				fp, fp);
	return r;
}

static int read_incoming(const struct item_env *env, const char *key, struct incoming *ret,
			 struct rye_err *err)
{
	auto_key struct key_secret own = { 0 };
	int r;

	if (is_fingerprint(key))
		return read_known(env, key, ret, err);
	if (strcmp(key, "self"))
		return read_path(key, ret, err);
	r = keystore_load(env->spaces, &own, err);
	if (r < 0)
		return r;
	ret->no_owner = true;
	ret->file.key = own.pub;
	return 0;
}

/* What a model writes must never become trusted for more by a slip. */
static bool is_automatic(struct trust_box *box, const char *fp)
{
	auto_trust struct trust *trust = trust_get(box);

	for (size_t i = 0; i < trust->n_keys; i++)
		if (!strcmp(trust->keys[i].fp, fp) && strstr(trust->keys[i].path, "/automatic/"))
			return true;
	return false;
}

#define SCOPE_MAX 16 /* patterns that are typed; a file has as many as it likes */

struct asked_scope {
	char *text; /* cut at the commas */
	const char *globs[SCOPE_MAX + 1];
};

static void asked_scope_done(struct asked_scope *scope)
{
	free(scope->text);
}

/* Patterns with commas between them. */
static int read_scope(const char *text, struct asked_scope *ret, struct rye_err *err)
{
	size_t n = 0;
	char *rest;

	ret->text = rest = strdup(text);
	if (!rest)
		return memory_fail(err);
	for (char *glob; (glob = strsep(&rest, ","));) {
		if (!trustfile_scope_ok(glob))
			return rye_fail(
				err, RYE_INVALID,
				"scope \"%s\": wanted <kind>:<pattern>, as knowledge:notes/**",
				glob);
		if (n == SCOPE_MAX)
			return rye_fail(err, RYE_INVALID, "scope: wanted %d patterns at most",
					SCOPE_MAX);
		ret->globs[n++] = glob;
	}
	return 0;
}

int keystore_trust(const struct item_env *env, const char *key, const char *owner,
		   const char *scope, char ret_fp[KEY_FP], struct rye_err *err)
{
	__attribute__((cleanup(asked_scope_done))) struct asked_scope asked = { 0 };
	__attribute__((cleanup(incoming_done))) struct incoming in = { 0 };
	struct trustfile_new what = { .key = &in.file.key };
	int r = read_incoming(env, key, &in, err);

	if (r < 0)
		return r;
	if (is_automatic(env->trust, in.file.key.fp))
		return rye_fail(err, RYE_DENIED,
				"key %s signs what models write and is trusted for that alone",
				in.file.key.fp);
	what.owner = owner && *owner ? owner : in.no_owner ? "local" : in.file.owner;
	if (in.file.n_scope)
		what.scope = (const char *const *)in.file.scope;
	if (scope && !strcmp(key, "self"))
		return rye_fail(err, RYE_INVALID, "your own key has no scope");
	r = scope ? read_scope(scope, &asked, err) : 0;
	if (r)
		return r;
	if (scope)
		what.scope = asked.globs;
	r = put_file(env, user_space(env->spaces), "trusted", what, err);
	if (!r)
		r = trust_reload(env->trust, err);
	if (!r)
		memcpy(ret_fp, in.file.key.fp, KEY_FP);
	return r;
}

static int refuse_elsewhere(const struct item_env *env, const char *fp, struct rye_err *err)
{
	auto_trust struct trust *trust = trust_get(env->trust);
	const struct trust_key *key = trust_find(trust, span_of(fp));

	if (key)
		return rye_fail(err, RYE_DENIED, "key %s comes from %s space (%s/.ai/%s)", fp,
				key->space->full, key->space->root, key->path);
	return rye_fail(err, RYE_NOT_FOUND, "no trusted key %s in user space", fp);
}

int keystore_untrust(const struct item_env *env, const char *fp, struct rye_err *err)
{
	static const char *const places[] = { "config/keys/trusted", "config/keys/automatic",
					      "trusted_keys" };
	const struct space *user = user_space(env->spaces);
	bool removed = false;

	if (!is_fingerprint(fp))
		return rye_fail(err, RYE_INVALID,
				"fingerprint %.40s: wanted 16 hex digits\n" MEND_WITH "ryefs keys",
				fp);
	for (size_t i = 0; i < ARRAY_SIZE(places) && space_fd(user) >= 0; i++) {
		auto_close int dir =
			io_open_mounted(space_fd(user), places[i], O_RDONLY | O_DIRECTORY);
		char name[32];

		snprintf(name, sizeof(name), "%s.toml", fp);
		if (dir >= 0 && !unlinkat(dir, name, 0))
			removed = true;
		else if (dir >= 0 && errno != ENOENT)
			return rye_fail_sys(err, errno, "cannot remove %s/.ai/%s/%s", user->root,
					    places[i], name);
	}
	return removed ? trust_reload(env->trust, err) : refuse_elsewhere(env, fp, err);
}

/* ---- sharing ---- */

/* In a user space that is the project's too the file would be trust. */
static bool is_users_own(const struct spaces *spaces, const struct space *space)
{
	const struct space *user = user_space(spaces);
	struct stat a, b;

	return space == user || space_fd(space) < 0 ||
	       (space_fd(user) >= 0 && fstat(space_fd(user), &a) == 0 &&
		fstat(space_fd(space), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* "local" says nothing to another person: the login name then. */
static void name_owner(const struct trust_key *known, char ret[128])
{
	struct passwd pw, *found = NULL;
	char room[2048];

	if (known && strcmp(known->owner, "local") != 0)
		snprintf(ret, 128, "%s", known->owner);
	else if (!getpwuid_r(geteuid(), &pw, room, sizeof(room), &found) && found)
		snprintf(ret, 128, "%s", found->pw_name);
	else
		snprintf(ret, 128, "local");
}

int keystore_share(const struct item_env *env, const struct space *space,
		   const struct key_public *key, struct rye_err *err)
{
	auto_trust struct trust *trust = trust_get(env->trust);
	const struct trust_key *known = trust_find(trust, span_of(key->fp));
	struct trustfile_new what = { .key = key };
	char path[96], owner[128];
	struct stat st;
	int r;

	if (space->type != RYE_PROJECT || is_users_own(env->spaces, space))
		return 0;
	snprintf(path, sizeof(path), "config/keys/trusted/%s.toml", key->fp);
	if (fstatat(space_fd(space), path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	name_owner(known, owner);
	what.owner = owner;
	if (known && known->n_scope)
		what.scope = (const char *const *)known->scope;
	r = put_file(env, space, "trusted", what, err);
	return r < 0 ? r : 1;
}

/* ---- listing ---- */

static int list_own(const struct item_env *env, rye_key_fn fn, void *arg)
{
	auto_key struct key_secret own = { 0 };
	auto_free char *path = NULL;
	struct rye_key key = { .owner = "self", .space = "user", .status = "signing" };
	struct rye_err why = { 0 };
	const char *name = "public";

	if (keystore_load(env->spaces, &own, &why)) {
		key.status = why.msg;
		name = "private";
	}
	if (why.code == RYE_NO_KEY)
		return 0;
	if (asprintf(&path, "%s/%s_key.pem", env->spaces->key_dir, name) < 0) {
		memory_note(NULL);
		return 0;
	}
	memcpy(key.fingerprint, own.pub.fp, KEY_FP);
	key.path = path;
	return fn(arg, &key);
}

/* "A,B", to free; NULL: it has none. */
static char *scope_text(const struct trust_key *key)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	for (size_t i = 0; i < key->n_scope; i++)
		buf_addf(&text, "%s%s", i ? "," : "", key->scope[i]);
	return text.len && !text.failed ? strdup(text.data) : NULL;
}

int keystore_list(const struct item_env *env, rye_key_fn fn, void *arg, struct rye_err *err)
{
	auto_trust struct trust *trust = trust_get(env->trust);
	int stop = list_own(env, fn, arg);

	for (size_t i = 0; i < trust->n_keys && !stop; i++) {
		const struct trust_key *have = &trust->keys[i];
		auto_free char *path = space_abspath(have->space, have->path);
		auto_free char *scope = scope_text(have);
		struct rye_key key = { .owner = have->owner,
				       .path = path,
				       .space = have->space->full,
				       .status = have->status,
				       .scope = scope };

		if (!path || (have->n_scope && !scope))
			return memory_fail(err);
		memcpy(key.fingerprint, have->fp, KEY_FP);
		stop = fn(arg, &key);
	}
	return 0;
}
