/* SPDX-License-Identifier: MIT */
/*
 * Pins: which key a remote has to show, and at which address. A pin is configuration of the user space
 * that the person has signed, so it is read as every item is; a project brings none. It is no key file:
 * what it vouches for is state/remotes/NAME and nothing else.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "format/format.h"
#include "memory.h"
#include "sign/sign.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

void pin_done(struct pin *pin)
{
	free(pin->url);
	*pin = (struct pin){ 0 };
}

static void pin_scope(const char *name, char ret[ID_NAME_MAX + 32])
{
	snprintf(ret, ID_NAME_MAX + 32, "state:remotes/%.64s/**", name);
}

static int pin_bad(const char *name, const char *what, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID,
			"config:remotes/%.64s is no pin: %s\n" MEND_WITH
			"ryefs remote add --again %.64s",
			name, what, name);
}

int pin_read(const char *name, const json_t *doc, struct pin *ret, struct rye_err *err)
{
	const json_t *scopes = json_object_get(doc, "scope");
	const char *box = json_str(doc, "box"), *url = json_str(doc, "url");
	char scope[ID_NAME_MAX + 32];
	unsigned char bytes[KEY_LEN];
	struct pin pin = { 0 };

	pin_scope(name, scope);
	if (json_array_size(scopes) != 1 || !json_lists(scopes, scope))
		return pin_bad(name, "its scope is not the remote's own state", err);
	if (key_public_parse(span_of(json_str(doc, "key")), &pin.key, NULL) ||
	    strcmp(pin.key.fp, json_str(doc, "fingerprint")) != 0)
		return pin_bad(name, "it has no key, or another fingerprint's", err);
	if (strlen(box) + 1 != sizeof(pin.box) || !b64url_to(span_of(box), bytes, sizeof(bytes)))
		return pin_bad(name, "box is no key", err);
	memcpy(pin.box, box, sizeof(pin.box));
	utf8_cut(json_str(doc, "pinned"), pin.pinned, sizeof(pin.pinned));
	pin.url = memory_note(strdup(url));
	if (!pin.url)
		return memory_fail(err);
	*ret = pin;
	return 0;
}

static void pin_path(const char *name, char ret[ID_NAME_MAX + 32])
{
	snprintf(ret, ID_NAME_MAX + 32, "config/remotes/%.64s.toml", name);
}

static int unpinned(const char *name, struct rye_err *err)
{
	return rye_fail(err, RYE_NOT_FOUND, "%s is not pinned\n" MEND_WITH "ryefs remote add %s",
			name, name);
}

int pin_load(const struct item_env *env, const char *name, struct pin *ret, struct rye_err *err)
{
	char path[ID_NAME_MAX + 32];
	struct path_ask ask = { .space = remote_user_space(env), .kind = RYE_CONFIG, .path = path };
	auto_item struct rye_item *item = NULL;
	struct rye_err why = { 0 };
	int r;

	if (!ask.space || space_fd(ask.space) < 0)
		return unpinned(name, err);
	pin_path(name, path);
	r = rye_load_path(env, &ask, &item, &why);
	if (r == -(int)RYE_NOT_FOUND)
		return unpinned(name, err);
	if (r < 0 && err)
		*err = why;
	return r < 0 ? r : pin_read(name, remote_doc(item), ret, err);
}

/* ---- writing ---- */

static json_t *pin_doc(const char *name, const char *url, const struct card *card)
{
	char scope[ID_NAME_MAX + 32], now[24];

	pin_scope(name, scope);
	clock_stamp(time(NULL), now);
	return json_pack("{s:s, s:s, s:s, s:s, s:[s], s:s, s:s, s:s, s:s}", "version", "1.0.0",
			 "category", "remotes", "description",
			 "The key of a remote, pinned by ryefs remote add.", "fingerprint",
			 card->sign.fp, "scope", scope, "key", card->sign.pem, "box", card->box,
			 "url", url, "pinned", now);
}

/* What lies there now: the text that is replaced; ret->ptr NULL: nothing. */
static int pin_old(const struct space *user, const char *path, struct rye_blob **ret,
		   struct rye_err *err)
{
	int r = space_fd(user) < 0 ? -ENOENT : io_read_at(space_fd(user), path, RYE_ITEM_MAX, ret);

	return !r || r == -ENOENT ? 0 : rye_fail_sys(err, -r, "cannot read %s", path);
}

int pin_write(const struct item_env *env, const char *name, const char *url,
	      const struct card *card, struct rye_err *err)
{
	char path[ID_NAME_MAX + 32], id[ID_NAME_MAX + 16];
	auto_json json_t *doc = pin_doc(name, url, card);
	auto_json json_t *reply = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_blob struct rye_blob *was = NULL;
	struct sign_given given = { .ext = ".toml" };
	struct sign_ask ask = { .kind = RYE_CONFIG,
				.id = id,
				.space = remote_user_space(env),
				.given = &given };
	int r;

	if (!ask.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no user space to pin a key in");
	pin_path(name, path);
	snprintf(id, sizeof(id), "remotes/%.64s", name);
	mapping_toml(&text, doc);
	if (!doc || text.failed)
		return memory_fail(err);
	r = pin_old(ask.space, path, &was, err);
	if (r < 0)
		return r;
	given.text = buf_span(&text);
	if (was)
		given.was = (struct rye_span){ was->data, was->len };
	return sign_put(env, &ask, &reply, err);
}

int pin_remove(const struct item_env *env, const char *name, struct rye_err *err)
{
	const struct space *user = remote_user_space(env);
	char path[ID_NAME_MAX + 32];
	auto_close int dir = -1;

	if (!user || space_fd(user) < 0)
		return unpinned(name, err);
	pin_path(name, path);
	dir = io_open_mounted(space_fd(user), "config/remotes", O_RDONLY | O_DIRECTORY);
	if (dir >= 0 && unlinkat(dir, strrchr(path, '/') + 1, 0) == 0)
		return 0;
	return errno == ENOENT || dir == -ENOENT ?
		       unpinned(name, err) :
		       rye_fail_sys(err, errno, "cannot remove %s/.ai/%s", user->root, path);
}
