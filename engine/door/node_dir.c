/* SPDX-License-Identifier: MIT */
/*
 * A node's directory: made once, opened by each door. Its keys are a signing pair as a person's
 * (trust/keystore.c), in keys/; its owner alone may look into it. No lock.
 */
#include "door/door_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "space/space.h"
#include "str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CARD_MAX 4096
#define BOX_TEXT_MAX 64

char *node_default_path(void)
{
	const char *named = getenv("RYE_NODE"), *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int n;

	if (named && *named)
		return memory_note(strdup(named));
	if (data && *data == '/')
		n = asprintf(&path, "%s/ryefs/node", data);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.local/share/ryefs/node", home);
	else
		return NULL;
	return n < 0 ? memory_note(NULL) : path;
}

/* ---- making ---- */

/* mkdir -p, for its owner alone where it is new. */
static int make_dirs(const char *path, struct rye_err *err)
{
	auto_free char *copy = memory_note(strdup(path));

	if (!copy)
		return memory_fail(err);
	for (char *c = copy + 1;; c++) {
		char was = *c;

		if (was && was != '/')
			continue;
		*c = 0;
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return rye_fail_sys(err, errno, "cannot make %s", copy);
		*c = was;
		if (!was)
			return 0;
	}
}

/* Is nothing else in it? Or -errno. */
static int dir_is_free(const char *path)
{
	auto_dir DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 1 : -errno;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return strcmp(entry->d_name, "keys") == 0; /* of an init that was cut */
	return 1;
}

static int check_place(const char *path, struct rye_err *err)
{
	int r = *path == '/' ? dir_is_free(path) : -EINVAL;

	if (r == -EINVAL)
		return rye_fail(err, RYE_INVALID, "%s: wanted is an absolute path", path);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot look into %s", path);
	return r ? 0 :
		   rye_fail(err, RYE_INVALID,
			    "%s has other things in it: wanted is a new directory", path);
}

/* The key files' functions want no more of it than where the keys are. */
static struct spaces *keys_at(const char *path)
{
	struct spaces *spaces = memory_note(calloc(1, sizeof(*spaces)));

	if (spaces && asprintf(&spaces->key_dir, "%s/keys", path) < 0) {
		memory_note(NULL);
		spaces->key_dir = NULL;
	}
	return spaces;
}

static void keys_done(struct spaces **spaces)
{
	if (*spaces)
		free((*spaces)->key_dir);
	free(*spaces);
}

#define auto_keys __attribute__((cleanup(keys_done)))

static int load_key(const char *path, struct key_secret *ret, struct rye_err *err)
{
	auto_keys struct spaces *keys = keys_at(path);

	return keys && keys->key_dir ? keystore_load(keys, ret, err) : memory_fail(err);
}

/* A signing and a box pair, unless they are there. */
static int make_keys(const char *path, struct key_secret *ret, struct rye_err *err)
{
	auto_keys struct spaces *keys = keys_at(path);
	struct rye_err why = { 0 };
	char fp[KEY_FP];
	int r;

	if (!keys || !keys->key_dir)
		return memory_fail(err);
	r = keystore_load(keys, ret, &why);
	if (r == -(int)RYE_NO_KEY) {
		r = keystore_generate(keys, false, NULL, fp, err);
		return r < 0 ? r : keystore_load(keys, ret, err);
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

static int read_box(int dir, const char *name, char ret[BOX_TEXT_MAX], struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	int r = io_read_at(dir, name, BOX_TEXT_MAX, &text);
	struct rye_span box;

	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read %s of the node", name);
	box = span_trim((struct rye_span){ text->data, text->len });
	snprintf(ret, BOX_TEXT_MAX, "%.*s", (int)MIN_OF(box.len, (size_t)BOX_TEXT_MAX - 1),
		 box.ptr);
	explicit_bzero(text->data, text->len);
	return 0;
}

static int make_card(int dir, const struct key_secret *key, struct rye_err *err)
{
	auto_json json_t *card = NULL;
	auto_blob struct rye_blob *text = NULL;
	char box[BOX_TEXT_MAX], made[24];
	int r = read_box(dir, "keys/box_pub.pem", box, err);

	if (r < 0)
		return r;
	clock_stamp(time(NULL), made);
	card = card_make(key, box, made);
	text = card ? json_blob(card, true) : NULL;
	if (!text)
		return memory_fail(err);
	r = io_replace_at(dir, "card.json", (struct rye_span){ text->data, text->len }, 0600);
	return r < 0 ? rye_fail_sys(err, -r, "cannot write card.json") : 0;
}

static int make_rest(const char *path, const struct key_secret *key, struct rye_err *err)
{
	static const char *const dirs[] = { "principals", "asked", "store", "work", "tmp" };
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return rye_fail_sys(err, errno, "cannot open %s", path);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(dir, dirs[i], 0700) < 0 && errno != EEXIST)
			return rye_fail_sys(err, errno, "cannot make %s/%s", path, dirs[i]);
	return make_card(dir, key, err);
}

int node_init(const char *path, char ret_fp[KEY_FP], bool *ret_new, struct rye_err *err)
{
	auto_key struct key_secret key = { 0 };
	auto_node struct node_dir *there = NULL;
	int r = node_open(path, &there, NULL);

	if (!r) {
		*ret_new = false;
		memcpy(ret_fp, there->key.pub.fp, KEY_FP);
		return 0;
	}
	r = check_place(path, err);
	if (!r)
		r = make_dirs(path, err);
	if (!r)
		r = make_keys(path, &key, err);
	if (!r)
		r = make_rest(path, &key, err);
	*ret_new = true;
	memcpy(ret_fp, key.pub.fp, KEY_FP);
	return r;
}

/* ---- opening ---- */

static int no_node(const char *path, int sys, struct rye_err *err)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;
	auto_free char *usual = node_default_path();

	if (sys != ENOENT)
		return rye_fail_sys(err, sys, "cannot read the node in %s", path);
	if (!usual || strcmp(usual, path) != 0) {
		buf_addc(&word, ' ');
		buf_shell(&word, path);
	}
	return rye_fail(err, RYE_NOT_FOUND,
			"there is no node in %s\n" MEND_WITH "ryefs node init%s", path,
			word.data ? word.data : "");
}

static int read_card(struct node_dir *node, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;
	int r = io_read_at(node->dir, "card.json", CARD_MAX, &text);

	if (r < 0)
		return no_node(node->path, -r, err);
	doc = json_parse((struct rye_span){ text->data, text->len }, 0, "card.json", err);
	r = doc ? card_read(doc, &node->card, err) : -(int)RYE_UNPARSABLE;
	if (!r && strcmp(node->card.sign.fp, node->key.pub.fp) != 0)
		r = rye_fail(err, RYE_INVALID, "its card.json is of %s, its key is %s",
			     node->card.sign.fp, node->key.pub.fp);
	return r < 0 ? rye_wrap(err, "%s", node->path) : 0;
}

static int open_parts(struct node_dir *node, struct rye_err *err)
{
	struct stat st;
	int r;

	node->dir = open(node->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (node->dir < 0)
		return no_node(node->path, errno, err);
	if (fstat(node->dir, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 022)
		return rye_fail(err, RYE_DENIED,
				"%s may be changed by others: a node's directory is its owner's "
				"alone (chmod 700)",
				node->path);
	if (faccessat(node->dir, "card.json", F_OK, 0) < 0)
		return no_node(node->path, errno, err);
	r = load_key(node->path, &node->key, err);
	if (!r)
		r = read_card(node, err);
	return r < 0 ? r : node_settings_read(node, err);
}

int node_open(const char *path, struct node_dir **ret, struct rye_err *err)
{
	auto_node struct node_dir *node = memory_note(calloc(1, sizeof(*node)));
	int r;

	if (!node)
		return memory_fail(err);
	node->dir = -1;
	/* what a worker begins has another working directory */
	node->path = realpath(path, NULL);
	r = node->path ? open_parts(node, err) : no_node(path, errno, err);
	if (!r)
		*ret = steal(&node);
	return r;
}

void node_close(struct node_dir *node)
{
	if (!node)
		return;
	key_wipe(&node->key);
	if (node->dir >= 0)
		close(node->dir);
	json_decref(node->labels);
	free(node->board);
	free(node->store);
	free(node->path);
	free(node);
}

int node_box_key(const struct node_dir *node, unsigned char ret[KEY_LEN], struct rye_err *err)
{
	char text[BOX_TEXT_MAX];
	int r = read_box(node->dir, "keys/box_key.pem", text, err);

	if (!r && !b64url_to(span_of(text), ret, KEY_LEN))
		r = rye_fail(err, RYE_INVALID, "keys/box_key.pem of the node is no key");
	explicit_bzero(text, sizeof(text));
	return r;
}
