/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * exec_place.h - spaces with signed tools and an exec layer over them, for tests of
 * engine/exec. Everything is signed with the key of the vectors (seed bytes 00 to 1f); the
 * bundle's runtimes and primitives are copied from the source tree and signed the same way.
 */
#include "item_place.h"

#include "base/id.h"
#include "base/json.h"
#include "run/run.h"
#include "sign/sign.h"

struct exec_place {
	struct test_place place;
	struct rye_options opt;
	struct exec_env env;
	struct exec *exec;
};

static inline void exec_sign(const char *root, enum rye_kind kind, const char *file,
			     struct rye_span text)
{
	auto_key struct key_secret key;
	char id[256], path[300];
	const char *ext = kind_extension_of(kind, file);
	struct sign_text what = { .key = &key, .raw = text };
	struct rye_blob *blob = NULL;
	struct signature signature;
	struct rye_err err = { 0 };

	assert_non_null(ext);
	place_key(0, &key);
	snprintf(id, sizeof(id), "%.*s", (int)(strlen(file) - strlen(ext)), file);
	snprintf(path, sizeof(path), "%s/%s", rye_kind_dir(kind), file);
	what.place = (struct digest_place){ kind, id, ext };
	if (sign_text(&what, &blob, &signature, &err) < 0)
		fail_msg("%s: %s", file, err.msg);
	place_write(root, path, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

/* A file of the source tree's .ai into the system space. */
static inline void exec_bundle(struct exec_place *p, const char *file)
{
	char path[500];
	struct rye_blob *blob;

	snprintf(path, sizeof(path), "%s/../.ai/tools/%s", getenv("RYE_TEST_SRC"), file);
	blob = place_read(path);
	exec_sign(p->place.system, RYE_TOOL, file, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

static inline void exec_place_make(struct exec_place *p)
{
	static const char *const files[] = {
		"rye/core/primitives/execute.yaml",
		"rye/core/primitives/graph.yaml",
		"rye/core/primitives/subprocess.yaml",
		"rye/core/primitives/http_client.yaml",
		"rye/core/runtimes/bash/bash.yaml",
		"rye/core/runtimes/node/node.yaml",
		"rye/core/runtimes/python/function.yaml",
		"rye/core/runtimes/python/lib/rye_files.py",
		"rye/core/runtimes/python/lib/rye_tool.py",
		"rye/core/runtimes/python/script.yaml",
		"rye/core/runtimes/script/script.yaml",
		"rye/core/runtimes/state-graph/runtime.yaml",
		"rye/bash/bash.py",
	};

	*p = (struct exec_place){ 0 };
	place_vectors(&p->place);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		exec_bundle(p, files[i]);
}

static inline void exec_place_open(struct exec_place *p)
{
	struct rye_err err = { 0 };

	place_open(&p->place, false);
	p->place.env.dev_mode = p->opt.dev_mode;
	p->opt.project = p->place.project;
	p->opt.user_base = p->place.user;
	p->opt.system_roots = p->place.system;
	p->env.items = &p->place.env;
	p->env.opt = &p->opt;
	if (exec_open(&p->env, &p->exec, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void exec_place_close(struct exec_place *p)
{
	exec_close(p->exec);
	place_drop(&p->place);
}

/* ---- fixture of cmocka ---- */

static inline int exec_setup(void **state)
{
	struct exec_place *p = test_calloc(1, sizeof(*p));

	exec_place_make(p);
	exec_place_open(p);
	*state = p;
	return 0;
}

static inline int exec_teardown(void **state)
{
	exec_place_close(*state);
	test_free(*state);
	return 0;
}

#define exec_test(name) cmocka_unit_test_setup_teardown(name, exec_setup, exec_teardown)
