/* SPDX-License-Identifier: MIT */
/*
 * prop_lookup.c - an id is found where it lies now, with the bytes that it has now.
 *
 * Files, directories and links in three spaces are made, changed, moved and removed; after each step
 * every id is looked up and compared with what a plain reading of the disk says. Now and then all is left
 * alone until times are believed, so that what is remembered is asked, and then changed. In a second test
 * threads look up meanwhile, and remember what they saw. RYE_SEED replays a run, RYE_ROUNDS lengthens it.
 */
#include "item_place.h"
#include "random_steps.h"

#include "base/id.h"

#include <errno.h>
#include <limits.h>

#define ROUNDS 60
#define STEPS 12
#define READERS 2
/* Until a directory's times, and a file's, are old enough. */
#define DIRS_SETTLED_US 25000
#define FILES_SETTLED_US 110000

static const char *const dirs[] = { "", "/a", "/a/b", "/b", "/b/c" };
static const char *const stems[] = { "x", "y" };
static const char *const exts[] = { ".py", ".yaml", ".sh" };

struct bench {
	struct test_place place;
	struct random random;
	unsigned written;
	bool stop; /* atomic */
};

static void start(struct bench *b)
{
	*b = (struct bench){ .random = random_seed() };
	place_make(&b->place);
	for (int i = 0; i < 3; i++) {
		char path[200];

		snprintf(path, sizeof(path), "%s/.ai", b->place.roots[i]);
		mkdir(path, 0755);
	}
	place_open(&b->place, false);
	b->place.env.dev_mode = true;
}

/* ---- steps ---- */

#define ANY(b, list) ((list)[random_below(&(b)->random, ARRAY_SIZE(list))])

static void any_dir(struct bench *b, const char *root, char ret[300])
{
	snprintf(ret, 300, "%s/.ai/tools%s", root, ANY(b, dirs));
}

static void write_any(struct bench *b, const char *root)
{
	char dir[300], path[400];
	FILE *file;

	any_dir(b, root, dir);
	for (char *c = strstr(dir, "/.ai/") + 5; (c = strchr(c, '/')); c++) {
		*c = 0;
		mkdir(dir, 0755);
		*c = '/';
	}
	mkdir(dir, 0755);
	snprintf(path, sizeof(path), "%s/%s%s", dir, ANY(b, stems), ANY(b, exts));
	file = fopen(path, "w");
	if (!file)
		return; /* a directory or a link to nowhere has the name */
	fprintf(file, "# %08u\n", b->written++);
	fclose(file);
}

static void move_any(struct bench *b, const char *root)
{
	char from[300], to[300], aside[400];

	any_dir(b, root, from);
	any_dir(b, root, to);
	snprintf(aside, sizeof(aside), "%s/aside%zu", random_below(&b->random, 2) ? root : from,
		 random_below(&b->random, 2));
	switch (random_below(&b->random, 4)) {
	case 0:
		(void)!rename(from, aside);
		break;
	case 1:
		(void)!rename(aside, from);
		break;
	case 2: /* it lies elsewhere, and a link leads there */
		if (!rename(from, aside))
			(void)!symlink(aside, from);
		break;
	default:
		(void)!rename(from, to);
	}
}

static void file_any(struct bench *b, const char *root)
{
	char dir[300], from[400], to[400];

	any_dir(b, root, dir);
	snprintf(from, sizeof(from), "%s/%s%s", dir, ANY(b, stems), ANY(b, exts));
	if (random_below(&b->random, 2))
		any_dir(b, root, dir);
	snprintf(to, sizeof(to), "%s/%s%s", dir, ANY(b, stems), ANY(b, exts));
	switch (random_below(&b->random, 6)) {
	case 0:
	case 1:
		unlink(from);
		break;
	case 2:
		(void)!rename(from, to);
		break;
	case 3:
		(void)!symlink(strrchr(from, '/') + 1, to);
		break;
	case 4:
		(void)!link(from, to);
		break;
	default:
		mkdir(to, 0755);
	}
}

static void step(struct bench *b)
{
	const char *root = ANY(b, b->place.roots);
	char path[300];

	switch (random_below(&b->random, 12)) {
	case 0:
	case 1:
		move_any(b, root);
		break;
	case 2:
	case 3:
	case 4:
		file_any(b, root);
		break;
	case 5:
		any_dir(b, root, path);
		if (unlink(path))
			nftw(path, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
		break;
	default:
		write_any(b, root);
	}
}

/* ---- the model: a plain reading ---- */

struct model {
	enum rye_code code;
	int space;
	char path[200];
	bool more; /* beside it lies another file of that id */
};

/* -1: it leads out of the space, or in a circle; 0: nothing is there; 1: it is */
static int model_real(const char *root, const char *path, char ret[PATH_MAX])
{
	char ai[300];
	struct stat st;
	size_t n = (size_t)snprintf(ai, sizeof(ai), "%s/.ai/", root);

	if (!realpath(path, ret))
		return errno == ELOOP || !lstat(path, &st) ? -1 : 0;
	return strncmp(ret, ai, n) ? -1 : 1;
}

/* 1: found; 0: no; -1: refused */
static int model_space(const struct bench *b, int space, const char *id, struct model *ret)
{
	const char *const *all = kind_extensions(RYE_TOOL);
	char path[400], real[PATH_MAX];
	int found = 0, files = 0;

	for (; *all && found >= 0; all++) {
		struct stat st;
		int is;

		snprintf(path, sizeof(path), "%s/.ai/tools/%s%s", b->place.roots[space], id, *all);
		files += !lstat(path, &st);
		is = found ? 0 : model_real(b->place.roots[space], path, real);
		if (is < 0)
			return -1;
		if (!is || stat(real, &st) || !S_ISREG(st.st_mode))
			continue;
		found = 1;
		snprintf(ret->path, sizeof(ret->path), "tools/%s%s", id, *all);
	}
	ret->more = files > 1;
	return found;
}

/* A link as a directory is taken where it stays in the space alone. */
static bool escapes(const struct bench *b, int space, const char *id)
{
	char path[400], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s/.ai/tools/%s", b->place.roots[space], id);
	for (char *slash; (slash = strrchr(path, '/')) && strstr(path, "/.ai/"); *slash = 0) {
		struct stat st;

		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
		    model_real(b->place.roots[space], path, real))
			return true;
	}
	return false;
}

static void model_of(const struct bench *b, const char *id, struct model *ret)
{
	*ret = (struct model){ .code = RYE_NOT_FOUND };
	for (int i = 0; i < 3; i++) {
		int r = model_space(b, i, id, ret);

		ret->space = i;
		if (r)
			ret->code = r > 0 ? RYE_OK : RYE_DENIED;
		if (r)
			return;
	}
}

/* ---- looking ---- */

static void check_bytes(const struct bench *b, const struct rye_item *item)
{
	char text[64] = "";
	FILE *file = fopen(item->abspath, "r");

	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), item->raw->len);
	fclose(file);
	assert_memory_equal(item->raw->data, text, item->raw->len);
}

/* What is in the way may be told in more than one way. */
static void check_code(const char *id, const struct rye_err *err, enum rye_code wanted)
{
	bool refused = err->code != RYE_OK && err->code != RYE_NOT_FOUND;

	if (wanted == RYE_DENIED ? refused : err->code == wanted)
		return;
	fail_msg("%s: %s, wanted %s: %s", id, rye_code_name(err->code), rye_code_name(wanted),
		 err->msg);
}

static void check_id(struct bench *b, const char *id)
{
	struct item_ask ask = { .kind = RYE_TOOL, .id = id };
	bool more = false;
	struct rye_item *item = NULL;
	struct located at = { .fd = -1 };
	struct rye_err err = { 0 };
	struct model model;

	ask.ret_ambiguous = &more;
	model_of(b, id, &model);
	space_locate(b->place.spaces, &ask, &at, &err);
	if (at.fd >= 0)
		close(at.fd);
	check_code(id, &err, model.code);
	if (model.code == RYE_OK) {
		assert_string_equal(at.path, model.path);
		assert_int_equal(at.space->index, model.space);
		assert_int_equal(at.ambiguous, model.more);
	}
	err = (struct rye_err){ 0 };
	if (rye_load(&b->place.env, &ask, &item, &err) == 0) {
		assert_string_equal(item->path, model.path);
		assert_int_equal(item->space->index, model.space);
		assert_int_equal(more, model.more);
		check_bytes(b, item);
	} else if (model.code != RYE_OK) {
		check_code(id, &err, model.code);
	}
	rye_item_unref(item);
}

static bool any_escapes(const struct bench *b, const char *id)
{
	for (int i = 0; i < 3; i++)
		if (escapes(b, i, id))
			return true;
	return false;
}

static void check_all(struct bench *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(stems); k++) {
			char id[100];

			snprintf(id, sizeof(id), "%s/%s", dirs[i], stems[k]);
			/* what a link's target has for those below is the unit test's */
			if (!any_escapes(b, id + 1))
				check_id(b, id + 1);
		}
}

static void rounds(struct bench *b)
{
	int n = getenv("RYE_ROUNDS") ? atoi(getenv("RYE_ROUNDS")) : ROUNDS;

	for (int i = 0; i < n; i++) {
		usleep(i % 8 ? DIRS_SETTLED_US : FILES_SETTLED_US);
		check_all(b);
		for (int k = 0; k < STEPS; k++) {
			step(b);
			check_all(b);
		}
	}
}

static void found_is_model(void **state)
{
	struct bench b;

	start(&b);
	rounds(&b);
	place_drop(&b.place);
}

static void *reader(void *arg)
{
	struct bench *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED))
		for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
			struct rye_item *item = NULL;
			char id[100];
			struct item_ask ask = { .kind = RYE_TOOL, .id = id + 1 };

			snprintf(id, sizeof(id), "%s/%s", dirs[i], stems[i % ARRAY_SIZE(stems)]);
			if (rye_load(&b->place.env, &ask, &item, NULL) == 0)
				rye_item_unref(item);
		}
	return NULL;
}

static void found_beside_readers(void **state)
{
	pthread_t threads[READERS];
	struct bench b;

	start(&b);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &b), 0);
	rounds(&b);
	__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	place_drop(&b.place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_is_model),
		cmocka_unit_test(found_beside_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
