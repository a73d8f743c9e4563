/* SPDX-License-Identifier: MIT */
#pragma once
/* item_place.h - private spaces for tests: a project, a user space, a bundle, vectors where a case wants them. */
#include "item_files.h"

#include "item/item.h"
#include "trust/trust.h"
#include "space/space.h"

struct test_place {
	char base[64];
	union { /* parents of .ai, the strongest first */
		struct {
			char project[128], user[128], system[128];
		};
		char roots[3][128];
	};
	struct spaces *spaces;
	struct trust_box *trust;
	struct item_env env;
};

#define KEY1 "f0ff50dacf109dea"
#define KEY2 "a2bf86faa1298f7a"
#define KEY3 "c570e6bfab07a82d"

static inline void place_open(struct test_place *p, bool compat)
{
	const struct rye_options opt = { .project = p->project,
					 .user_base = p->user,
					 .system_roots = p->system };
	struct rye_err err = { 0 };

	if (spaces_open(&opt, &p->spaces, &err) < 0 ||
	    trust_box_new(p->spaces, NULL, &p->trust, &err) < 0)
		fail_msg("%s", err.msg);
	p->env = (struct item_env){ .spaces = p->spaces,
				    .trust = p->trust,
				    .compat = compat,
				    .store = item_store_open(),
				    .keep = config_keep_open() };
}

static inline void place_close(struct test_place *p)
{
	item_store_close(p->env.store);
	config_keep_close(p->env.keep);
	trust_box_free(p->trust);
	spaces_close(p->spaces);
	p->trust = NULL;
	p->spaces = NULL;
}

/* Empty spaces; the environment of the test names them too. Not opened yet. */
static inline void place_make(struct test_place *p)
{
	static const char *const names[] = { "project", "user", "bundle" };
	char path[200];

	*p = (struct test_place){ .base = "/tmp/rye-item-XXXXXX" };
	assert_non_null(mkdtemp(p->base));
	for (int i = 0; i < 3; i++) {
		snprintf(p->roots[i], sizeof(p->roots[i]), "%s/%s", p->base, names[i]);
		mkdir(p->roots[i], 0755);
	}
	setenv("HOME", p->user, 1);
	unsetenv("USER_SPACE");
	snprintf(path, sizeof(path), "%s/keys", p->base);
	setenv("RYE_SIGNING_KEY_DIR", path, 1);
}

/* The same with key 1 trusted in user space. */
static inline void place_vectors(struct test_place *p)
{
	place_make(p);
	place_put(p->user, "config/keys/trusted/" KEY1 ".toml",
		  ".ai/config/keys/trusted/" KEY1 ".toml");
}

/* An engine over these spaces. */
static inline struct rye *place_engine(const struct test_place *p, struct rye_options opt)
{
	struct rye_err err = { 0 };
	struct rye *rye = NULL;

	opt.project = p->project;
	opt.user_base = p->user;
	opt.system_roots = p->system;
	if (rye_open(&opt, &rye, &err) < 0)
		fail_msg("%s", err.msg);
	return rye;
}

static inline void place_drop(struct test_place *p)
{
	place_close(p);
	nftw(p->base, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
}

/* Loads; the code of the outcome. ret and err may be NULL. */
static inline enum rye_code place_load(struct test_place *p, enum rye_kind kind, const char *id,
				       struct rye_item **ret, struct rye_err *err)
{
	struct item_ask ask = { .kind = kind, .id = id };
	struct rye_item *item = NULL;
	struct rye_err why = { 0 };
	int r = rye_load(&p->env, &ask, &item, &why);

	assert_int_equal(-r, why.code);
	if (r < 0)
		assert_true(why.msg[0] != 0);
	if (err)
		*err = why;
	if (ret)
		*ret = item;
	else
		rye_item_unref(item);
	return why.code;
}

/* Seed bytes first, first + 1 … as the vectors were made with. */
static inline void place_key(unsigned char first, struct key_secret *ret)
{
	unsigned char seed[KEY_LEN];

	for (int i = 0; i < KEY_LEN; i++)
		seed[i] = (unsigned char)(first + i);
	key_secret_seed(seed, ret);
}

/* ---- fixture of cmocka: the vectors' spaces, not opened yet ---- */

static inline int place_setup(void **state)
{
	struct test_place *p = test_malloc(sizeof(*p));

	place_vectors(p);
	*state = p;
	return 0;
}

static inline int place_teardown(void **state)
{
	place_drop(*state);
	test_free(*state);
	return 0;
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
