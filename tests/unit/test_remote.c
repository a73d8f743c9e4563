/* SPDX-License-Identifier: MIT */
/* Remotes as configuration, pins, a node and its principals: each part, and all of them together. */
#include "item_place.h"

#include "clock.h"
#include "conn/conn.h"
#include "door/door.h"
#include "remote/remote.h"

#include <pthread.h>
#include <sys/socket.h>

#define URL "command:/bin/true"

/* A place whose person has a trusted key, and a node beside it. */
struct world {
	struct test_place place;
	char dir[128];
	struct node_dir *node;
	char own[KEY_FP];
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct test_place *p = &world->place;
	struct rye_err err = { 0 };
	char fp[KEY_FP];
	bool is_new;

	place_make(p);
	place_write(p->project, "config/x", SPAN(""));
	place_write(p->user, "config/x", SPAN(""));
	place_open(p, false);
	snprintf(world->dir, sizeof(world->dir), "%s/node", p->base);
	if (keystore_generate(p->spaces, false, NULL, world->own, &err) ||
	    keystore_trust(&p->env, "self", "me", NULL, fp, &err) ||
	    node_init(world->dir, fp, &is_new, &err) || node_open(world->dir, &world->node, &err))
		fail_msg("%s", err.msg);
	assert_true(is_new);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	node_close(world->node);
	place_drop(&world->place);
	free(world);
	return 0;
}

static enum rye_code read_entry(const char *name, const char *text)
{
	auto_json json_t *entry = json_parse(span_of(text), JSON_LOAD_ANY, "test", NULL);
	auto_remote struct remote remote = { 0 };
	struct rye_err err = { 0 };

	remote_read(name, entry, &remote, &err);
	return err.code;
}

static void entries(void **state)
{
	static const char *const bad[] = {
		"1",
		"{}",
		"{\"url\":1}",
		"{\"url\":\"ftp://x\"}",
		"{\"url\":\"ssh://x\",\"timeout\":\"3\"}",
		"{\"url\":\"ssh://x\",\"timeout\":-1}",
		"{\"url\":\"ssh://x\",\"push\":\"src\"}",
		"{\"url\":\"ssh://x\",\"secrets\":[1]}",
		"{\"url\":\"ssh://x\",\"labels\":[\"\"]}",
	};
	static const char *const names[] = { "", ".", "..", "a/b", "a b", "remotes", "\xc3\xa4" };

	assert_int_equal(read_entry("gpu", "{\"url\":\"ssh://me@gpu\",\"timeout\":300,\"push\":"
					   "[\"src/\"],\"secrets\":[\"A\"],\"labels\":[\"x\"]}"),
			 RYE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(read_entry("gpu", bad[i]), RYE_INVALID);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(read_entry(names[i], "{\"url\":\"ssh://x\"}"), RYE_INVALID);
}

static void an_entry_comes_and_goes_and_the_rest_stays(void **state)
{
	struct world *world = *state;
	struct item_env *env = &world->place.env;
	auto_remote struct remote remote = { 0 };
	auto_json json_t *names = NULL;
	struct rye_err err = { 0 };

	assert_refused(&err, RYE_INVALID, remote_find(env, "gpu", &remote, &err));
	assert_non_null(strstr(err.msg, "No remote 'gpu'; none is configured"));
	if (remote_enter(env, "gpu", URL, "demo", &err) ||
	    remote_enter(env, "box", "ssh://me@box", NULL, &err) ||
	    remote_find(env, "gpu", &remote, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(remote.url, URL);
	assert_string_equal(remote.project, "demo");
	assert_int_equal(remote_names(env, &names, NULL), 0);
	assert_string_equal(json_string_value(json_array_get(names, 0)), "box");
	assert_int_equal(json_array_size(names), 2);
	remote_done(&remote);
	assert_refused(&err, RYE_INVALID, remote_find(env, "x", &remote, &err));
	assert_non_null(strstr(err.msg, "No remote 'x'; there are: "));
	assert_int_equal(remote_leave(env, "gpu", &err), 1);
	assert_works(&err, remote_leave(env, "gpu", &err));
	assert_refused(&err, RYE_INVALID, remote_find(env, "gpu", &remote, &err));
	if (remote_find(env, "box", &remote, &err))
		fail_msg("%s", err.msg);
	/* its own directory's name, where it has no other */
	assert_string_equal(remote.project, "project");
}

static json_t *configured(struct world *world)
{
	struct rye_err err = { 0 };
	json_t *map = NULL;

	assert_works(&err, config_map(&world->place.env, "remotes/remotes.yaml", &map, &err));
	return map;
}

/* Times that have just been made are believed by none: until they are old. */
static json_t *configured_kept(struct world *world)
{
	for (int i = 0; i < 2000; i++) {
		auto_json json_t *one = configured(world);
		auto_json json_t *other = configured(world);

		if (one == other)
			return steal(&one);
		usleep(5000); /* reason: the time of a file is compared with the clock, which tells no one */
	}
	fail_msg("it is read at each look");
	return NULL;
}

static void what_is_configured_is_read_once(void **state)
{
	struct world *world = *state;
	struct item_env *env = &world->place.env;
	auto_json json_t *before = NULL, *after = NULL;
	struct rye_err err = { 0 };
	char trusted[256];

	assert_works(&err, remote_enter(env, "gpu", URL, "demo", &err));
	before = configured_kept(world);
	assert_works(&err, remote_enter(env, "box", URL, "demo", &err));
	after = configured_kept(world);
	assert_ptr_not_equal(before, after);
	assert_int_equal(json_object_size(json_object_get(before, "remotes")), 1);
	assert_int_equal(json_object_size(json_object_get(after, "remotes")), 2);
	/* nor is it believed for longer than its key */
	snprintf(trusted, sizeof(trusted), "%s/.ai/config/keys/trusted/%s.toml", world->place.user,
		 world->own);
	assert_int_equal(unlink(trusted), 0);
	assert_works(&err, trust_reload(world->place.trust, &err));
	json_decref(after);
	after = NULL;
	assert_refused(&err, RYE_UNTRUSTED, config_map(env, "remotes/remotes.yaml", &after, &err));
}

static void configuration_that_nobody_signed_is_refused(void **state)
{
	struct world *world = *state;
	auto_remote struct remote remote = { 0 };
	struct rye_err err = { 0 };

	place_write(world->place.project, "config/remotes/remotes.yaml",
		    SPAN("version: \"1.0.0\"\nremotes:\n  gpu: {url: \"" URL "\"}\n"));
	assert_refused(&err, RYE_UNSIGNED, remote_find(&world->place.env, "gpu", &remote, &err));
}

static void a_pin_is_the_persons_and_of_one_remote(void **state)
{
	struct world *world = *state;
	struct item_env *env = &world->place.env;
	auto_pin struct pin pin = { 0 };
	auto_blob struct rye_blob *text = NULL;
	struct rye_err err = { 0 };
	char path[200];

	assert_refused(&err, RYE_NOT_FOUND, pin_load(env, "gpu", &pin, &err));
	if (pin_write(env, "gpu", URL, &world->node->card, &err) ||
	    pin_load(env, "gpu", &pin, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(pin.key.fp, world->node->key.pub.fp);
	assert_string_equal(pin.url, URL);
	/* under another name it vouches for nothing; nor does what the project has */
	snprintf(path, sizeof(path), "%s/.ai/config/remotes/gpu.toml", world->place.user);
	text = place_read(path);
	place_write(world->place.user, "config/remotes/box.toml",
		    (struct rye_span){ text->data, text->len });
	place_write(world->place.project, "config/remotes/web.toml",
		    (struct rye_span){ text->data, text->len });
	pin_done(&pin);
	assert_refused(&err, RYE_UNCOVERED, pin_load(env, "box", &pin, &err));
	assert_refused(&err, RYE_NOT_FOUND, pin_load(env, "web", &pin, &err));
	assert_int_equal(pin_remove(env, "gpu", NULL), 0);
	assert_refused(&err, RYE_NOT_FOUND, pin_load(env, "gpu", &pin, &err));
}

static void a_pin_of_a_wider_scope_is_none(void **state)
{
	struct world *world = *state;
	const struct card *card = &world->node->card;
	auto_json json_t *doc = json_pack("{s:[s], s:s, s:s, s:s, s:s}", "scope",
					  "state:remotes/gpu/**", "fingerprint", card->sign.fp,
					  "key", card->sign.pem, "box", card->box, "url", URL);
	static const char *const scopes[] = { "[]", "[\"state:**\"]", "[\"tool:**\"]",
					      "[\"state:remotes/box/**\"]",
					      "[\"state:remotes/gpu/**\",\"tool:**\"]" };
	auto_pin struct pin pin = { 0 };

	assert_int_equal(pin_read("gpu", doc, &pin, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		pin_done(&pin);
		json_object_set_new(doc, "scope",
				    json_parse(span_of(scopes[i]), JSON_LOAD_ANY, "", NULL));
		assert_int_equal(pin_read("gpu", doc, &pin, NULL), -RYE_INVALID);
	}
}

static void only_the_node_makes_principals(void **state)
{
	struct world *world = *state;
	auto_key struct key_secret thief = { 0 };
	auto_principal struct principal who = { 0 };
	auto_json json_t *set = json_pack("{s:s, s:s, s:s, s:s}", "jobs", "2", "bytes", "10G",
					  "signers", "0123456789abcdef", "owner", "Ann");
	auto_blob struct rye_blob *file = NULL, *forged = NULL;
	auto_free char *text = NULL;
	struct key_secret own;
	struct rye_err err = { 0 };
	struct stamped line;
	char path[200];

	assert_int_equal(keystore_load(world->place.spaces, &own, NULL), 0);
	/* a fingerprint is no path */
	assert_refused(&err, RYE_INVALID, principal_remove(world->node, "../x/../x/../abc", &err));
	assert_refused(&err, RYE_INVALID, principal_remove(world->node, "abc", &err));
	assert_refused(&err, RYE_NOT_FOUND,
		       principal_remove(world->node, "0123456789abcdef", &err));
	assert_refused(&err, RYE_NOT_FOUND,
		       principal_admit(world->node, world->own, NULL, &who, &err));
	principal_asked(world->node, &own.pub);
	if (principal_admit(world->node, world->own, set, &who, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(who.jobs, 2);
	assert_int_equal(who.bytes, INT64_C(10) << 30);
	assert_string_equal(who.owner, "Ann");
	principal_done(&who);
	assert_works(&err, principal_load(world->node, world->own, &who, &err));
	/* a line changed, and the same signed by another */
	snprintf(path, sizeof(path), "%s/principals/%s.toml", world->dir, world->own);
	file = place_read(path);
	text = strdup(file->data);
	principal_done(&who);
	*strstr(text, "jobs = 2") = 'J';
	assert_refused(&err, RYE_INVALID,
		       principal_read(world->node, world->own, span_of(text), &who, &err));
	*strstr(text, "Jobs = 2") = 'j';
	place_key(9, &thief);
	forged = stamped_write(span_of(strchr(text, '\n') + 1), &thief, "2026-01-02T03:04:05Z");
	assert_int_equal(stamped_read((struct rye_span){ forged->data, forged->len }, &line, NULL),
			 0);
	assert_true(stamped_by(&line, thief.pub.bytes));
	assert_refused(&err, RYE_INVALID,
		       principal_read(world->node, world->own,
				      (struct rye_span){ forged->data, forged->len }, &who, &err));
	assert_string_equal(err.msg, "it is not signed by this node");
	key_wipe(&own);
}

static void wrong_limits_are_told(void **state)
{
	struct world *world = *state;
	static const char *const bad[][2] = {
		{ "jobs", "many" },	    { "jobs", "-1" },	    { "bytes", "10X" },
		{ "bytes", "9999999999T" }, { "spend_month", "x" }, { "expires", "soon" },
		{ "colour", "red" },
	};
	struct key_secret own;

	assert_int_equal(keystore_load(world->place.spaces, &own, NULL), 0);
	principal_asked(world->node, &own.pub);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_json json_t *set = json_pack("{s:s}", bad[i][0], bad[i][1]);
		auto_principal struct principal who = { 0 };
		struct rye_err err = { 0 };

		assert_refused(&err, RYE_INVALID,
			       principal_admit(world->node, world->own, set, &who, &err));
	}
	key_wipe(&own);
}

/* ---- both ends ---- */

struct served {
	const struct node_dir *node;
	int fd;
	const char *as;
};

static void *serve_main(void *arg)
{
	struct served *served = arg;

	node_serve(served->node, served->fd, served->fd, served->as, NULL);
	return NULL;
}

/* What INFO answers a key over a connection of its own; the code of what went wrong. */
static enum rye_code ask_info(struct world *world, const struct key_secret *key, const char *as,
			      struct rye_err *err)
{
	struct served served = { .node = world->node, .as = as };
	auto_json json_t *ready = NULL, *reply = NULL, *body = json_object();
	struct conn_ask ask = { FRAME_INFO, body, clock_ms() + 10000, NULL, NULL };
	struct conn *conn = NULL;
	struct hello hello = { 0 };
	struct card card;
	pthread_t thread;
	int pair[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	served.fd = pair[1];
	assert_int_equal(pthread_create(&thread, NULL, serve_main, &served), 0);
	assert_works(err, conn_over(pair[0], pair[0], &conn, err));
	r = hello_node(conn, clock_ms() + 10000, &hello, &card, err);
	if (!r)
		r = hello_auth(conn, &hello, key, clock_ms() + 10000, &ready, err);
	if (!r)
		r = conn_ask(conn, &ask, &reply, err);
	if (!r)
		assert_string_equal(json_str(json_object_get(reply, "limits"), "fingerprint"),
				    key->pub.fp);
	conn_close(conn);
	pthread_join(thread, NULL);
	return r ? err->code : RYE_OK;
}

static void a_node_answers_its_principals(void **state)
{
	struct world *world = *state;
	auto_principal struct principal who = { 0 };
	auto_key struct key_secret own = { 0 };
	auto_json json_t *past = json_pack("{s:s}", "expires", "2020-01-01T00:00:00Z");
	struct rye_err err = { 0 };

	assert_int_equal(keystore_load(world->place.spaces, &own, NULL), 0);
	assert_int_equal(ask_info(world, &own, NULL, &err), RYE_DENIED);
	assert_non_null(strstr(err.msg, "does not know your key"));
	/* that it has asked is enough */
	assert_works(&err, principal_admit(world->node, own.pub.fp, NULL, &who, &err));
	assert_int_equal(ask_info(world, &own, NULL, &err), RYE_OK);
	assert_int_equal(ask_info(world, &own, own.pub.fp, &err), RYE_OK);
	assert_int_equal(ask_info(world, &own, "0123456789abcdef", &err), RYE_DENIED);
	principal_done(&who);
	assert_works(&err, principal_admit(world->node, own.pub.fp, past, &who, &err));
	assert_int_equal(ask_info(world, &own, NULL, &err), RYE_DENIED);
	assert_works(&err, principal_remove(world->node, own.pub.fp, &err));
	assert_int_equal(ask_info(world, &own, NULL, &err), RYE_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(an_entry_comes_and_goes_and_the_rest_stays),
		CASE(what_is_configured_is_read_once),
		CASE(configuration_that_nobody_signed_is_refused),
		CASE(a_pin_is_the_persons_and_of_one_remote),
		CASE(a_pin_of_a_wider_scope_is_none),
		CASE(only_the_node_makes_principals),
		CASE(wrong_limits_are_told),
		CASE(a_node_answers_its_principals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
