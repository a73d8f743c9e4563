/* SPDX-License-Identifier: MIT */
/*
 * The store `s3` against a server of ours that works signatures out by itself (tests/fake/s3_server.py): what it keeps,
 * what is told when the way to it is wrong, and what of a hostile one never comes back as an object.
 */
#include "pack/pack.h"
#include "store/s3_inner.h"

#include "told.h"

#include "base/io.h"
#include "str.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "kR7/se+cret0"
#define NAME "packs/ab/abababababababababababababababababababababababababababababababab"

struct s3 {
	char base[32], faults[64], log[64], keys[64], url[64], where[320];
	pid_t server;
};

static void write_text(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void s3_where(struct s3 *s, const char *bucket, const char *keys)
{
	snprintf(s->where, sizeof(s->where),
		 "s3://%s/some/place?endpoint=%s&credentials=%s&timeout=2", bucket, s->url, keys);
}

static int s3_start(void **state)
{
	static struct s3 s;
	char server[512];
	const char *const argv[] = { "/usr/bin/python3", server, "bucket", "KEYID", SECRET,
				     s.faults,		 s.log,	 NULL };
	posix_spawn_file_actions_t actions;
	int out[2];

	if (access(argv[0], X_OK) < 0)
		return 0;
	s = (struct s3){ .base = "/tmp/rye-s3-XXXXXX" };
	assert_non_null(mkdtemp(s.base));
	snprintf(server, sizeof(server), "%s/fake/s3_server.py", getenv("RYE_TEST_SRC"));
	snprintf(s.faults, sizeof(s.faults), "%s/faults", s.base);
	snprintf(s.log, sizeof(s.log), "%s/log", s.base);
	snprintf(s.keys, sizeof(s.keys), "%s/keys", s.base);
	write_text(s.keys,
		   "[default]\naws_access_key_id = KEYID\naws_secret_access_key = " SECRET "\n",
		   0600);
	setenv("S3_PAGE", "2", 1);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	assert_int_equal(
		posix_spawn(&s.server, argv[0], &actions, NULL, (char *const *)argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	while (!strchr(s.url, '\n')) {
		size_t len = strlen(s.url);
		ssize_t n = read(out[0], s.url + len, sizeof(s.url) - 1 - len);

		assert_true(n > 0);
	}
	close(out[0]);
	s.url[strcspn(s.url, "\n")] = '\0';
	s3_where(&s, "bucket", s.keys);
	*state = &s;
	return 0;
}

static int s3_end(void **state)
{
	struct s3 *s = *state;

	if (!s)
		return 0;
	kill(s->server, SIGKILL);
	waitpid(s->server, NULL, 0);
	io_remove_tree(AT_FDCWD, s->base, 4);
	return 0;
}

#define NEEDS_SERVER(state)                                             \
	do {                                                            \
		if (!*(state))                                          \
			test_skip("/usr/bin/python3 is not installed"); \
	} while (0)

static struct store *s3_opened(const struct s3 *s)
{
	struct store *store;

	unlink(s->faults);
	assert_works(&told_err, store_open(s->where, &store, &told_err));
	return store;
}

static int get(struct store *store, const char *name, uint64_t off, size_t len, struct rye_buf *ret)
{
	const struct store_range range = { name, off, len };

	buf_clear(ret);
	return store_get(store, &range, ret, &told_err);
}

struct listed {
	size_t n;
	uint64_t bytes;
	bool timely;
};

static int list_one(void *arg, const struct store_object *object)
{
	struct listed *listed = arg;

	assert_true(str_ends(object->name, "b"));
	listed->n++;
	listed->bytes += object->size;
	listed->timely = llabs(object->made - time(NULL)) < 600;
	return 0;
}

static void it_keeps_what_it_has(void **state)
{
	auto_buf struct rye_buf back = RYE_BUF_INIT;
	struct listed listed = { 0 };
	struct store *store;
	char name[] = NAME;

	NEEDS_SERVER(state);
	assert_works(&told_err, store_try(((struct s3 *)*state)->where, &told_err));
	store = s3_opened(*state);
	assert_works(&told_err, store_put(store, NAME, SPAN("0123456789"), &told_err));
	assert_works(&told_err, get(store, NAME, 0, STORE_WHOLE, &back));
	assert_string_equal(back.data, "0123456789");
	assert_works(&told_err, get(store, NAME, 3, 4, &back));
	assert_string_equal(back.data, "3456");
	assert_refused(&told_err, RYE_IO, get(store, NAME, 8, 4, &back));
	assert_refused(&told_err, RYE_IO, get(store, NAME, 80, 4, &back));
	assert_works(&told_err, store_put(store, NAME, SPAN("0123456789"), &told_err));
	for (char c = 'b'; c < 'f'; c++) {
		name[9] = c;
		assert_works(&told_err, store_put(store, name, SPAN("more"), &told_err));
	}
	/* three pages */
	assert_works(&told_err, store_list(store, list_one, &listed, &told_err));
	assert_int_equal(listed.n, 5);
	assert_int_equal(listed.bytes, 10 + 4 * 4);
	assert_true(listed.timely);
	assert_works(&told_err, store_del(store, NAME, &told_err));
	assert_works(&told_err, store_del(store, NAME, &told_err));
	assert_refused(&told_err, RYE_NOT_FOUND, get(store, NAME, 0, STORE_WHOLE, &back));
	assert_refused(&told_err, RYE_INVALID, store_put(store, "../x", SPAN(""), &told_err));
	store_close(store);
}

static void refused(struct s3 *s, enum rye_code code, const char *words)
{
	assert_refused(&told_err, code, store_try(s->where, &told_err));
	if (!strstr(told_err.msg, words))
		fail_msg("%s: wanted is: %s", told_err.msg, words);
	assert_null(strstr(told_err.msg, SECRET));
	assert_null(strchr(told_err.msg, '\n'));
}

static void what_is_wrong_with_the_way_is_told(void **state)
{
	struct s3 *s = *state, other;

	NEEDS_SERVER(state);
	unlink(s->faults);
	other = *s;
	snprintf(other.keys, sizeof(other.keys), "%s/other", s->base);
	write_text(other.keys, "aws_access_key_id=KEYID\naws_secret_access_key=wrong\n", 0600);
	s3_where(&other, "bucket", other.keys);
	refused(&other, RYE_DENIED, "the secret to the key is not right");
	write_text(other.keys, "aws_access_key_id=NOBODY\naws_secret_access_key=" SECRET "\n",
		   0600);
	refused(&other, RYE_DENIED, "does not know the key");
	assert_int_equal(chmod(other.keys, 0640), 0);
	assert_refused(&told_err, RYE_DENIED, store_try(other.where, &told_err));
	assert_non_null(strstr(told_err.msg, "chmod 600"));
	write_text(other.keys, "aws_access_key_id=KEYID\n", 0600);
	refused(&other, RYE_INVALID, "aws_secret_access_key = SECRET");
	s3_where(&other, "another", s->keys);
	refused(&other, RYE_UNREACHABLE, "there is no such bucket");
	snprintf(other.where, sizeof(other.where),
		 "s3://bucket?endpoint=http://127.0.0.1:1&credentials=%s", s->keys);
	refused(&other, RYE_UNREACHABLE, "is endpoint= right?");
	snprintf(other.where, sizeof(other.where), "s3://bucket?endpoint=%s", s->url);
	unsetenv("AWS_ACCESS_KEY_ID");
	refused(&other, RYE_INVALID, "AWS_ACCESS_KEY_ID");
	setenv("AWS_ACCESS_KEY_ID", "KEYID", 1);
	setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
	assert_works(&told_err, store_try(other.where, &told_err));
	unsetenv("AWS_SECRET_ACCESS_KEY");
}

static void addresses_are_looked_at(void **state)
{
	static const char *const bad[] = {
		"s3:bucket",
		"s3://",
		"s3://no",
		"s3://Bucket",
		"s3://bucket/../up",
		"s3://bucket/a b",
		"s3://bucket?endpoint=ftp://x",
		"s3://bucket?endpoint=https://key:secret@host",
		"s3://bucket?secret=" SECRET,
		"s3://bucket?credentials=relative",
		"s3://bucket?region=" SECRET,
		"s3://bucket?timeout=0",
	};
	struct s3_place place;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct store *store;

		assert_refused(&told_err, RYE_INVALID, store_open(bad[i], &store, &told_err));
		assert_null(strstr(told_err.msg, SECRET));
	}
	assert_works(&told_err, s3_place_read("//some.bucket/a/b/", &place, &told_err));
	assert_string_equal(place.prefix, "a/b");
	assert_string_equal(place.host, "s3.us-east-1.amazonaws.com");
}

/* The example of the document that describes the signature. */
static void a_known_request_has_its_signature(void **state)
{
	const struct s3_place place = { .host = "examplebucket.s3.amazonaws.com",
					.region = "us-east-1" };
	const struct s3_keys keys = { "AKIAIOSFODNN7EXAMPLE",
				      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "" };
	const struct s3_request request = { "GET", "/test.txt", "", "bytes=0-9", { "", 0 } };
	struct s3_headers headers;
	size_t n = 0;

	s3_sign(&place, &keys, &request, "20130524T000000Z", &headers);
	while (headers.v[n])
		n++;
	assert_non_null(strstr(
		headers.v[n - 1],
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

static size_t lines_of(const char *path)
{
	auto_blob struct rye_blob *text = NULL;
	size_t n = 0;

	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(io_read_fd(fd, 1 << 20, &text, NULL), 0);
	close(fd);
	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static void a_hostile_server_gives_nothing(void **state)
{
	/* of the way, and nothing is thought to be lost; of the object */
	static const struct {
		const char *fault;
		enum rye_code code;
		size_t asked; /* requests, of those that are logged */
	} rows[] = {
		{ "500", RYE_UNREACHABLE, 4 },	{ "redirect", RYE_UNREACHABLE, 1 },
		{ "html", RYE_UNREACHABLE, 1 }, { "cut", RYE_UNREACHABLE, 0 },
		{ "lost", RYE_NOT_FOUND, 1 },	{ "short", RYE_IO, 1 },
		{ "endless", RYE_IO, 0 },
	};
	auto_buf struct rye_buf back = RYE_BUF_INIT;
	struct s3 *s = *state;
	struct store *store;

	NEEDS_SERVER(state);
	store = s3_opened(s);
	assert_works(&told_err, store_put(store, NAME, SPAN("0123456789"), &told_err));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t before = lines_of(s->log);

		write_text(s->faults, rows[i].fault, 0600);
		assert_refused(&told_err, rows[i].code, get(store, NAME, 2, 5, &back));
		assert_int_equal(back.len, 0);
		assert_int_equal(lines_of(s->log) - before, rows[i].asked);
	}
	/* what passes by itself is not seen */
	write_text(s->faults, "500 2", 0600);
	assert_works(&told_err, get(store, NAME, 2, 5, &back));
	write_text(s->faults, "cut 1", 0600);
	assert_works(&told_err, get(store, NAME, 2, 5, &back));
	write_text(s->faults, "500 1", 0600);
	assert_works(&told_err, store_put(store, NAME, SPAN("0123456789"), &told_err));
	store_close(store);
}

#define ME "0123456789abcdef"

/* Wrong bytes are no blob; what cannot be reached is not lost. */
static void no_wrong_byte_comes_out_of_a_depot(void **state)
{
	auto_packer struct packer *packer = packer_new();
	auto_buf struct rye_buf pack = RYE_BUF_INIT, back = RYE_BUF_INIT;
	struct digest sha = digest_of(SPAN("some bytes")), name;
	struct s3 *s = *state;
	struct depot_place place = { .store = s->where };
	char index[96];
	struct depot_used used;
	struct depot *depot;

	NEEDS_SERVER(state);
	unlink(s->faults);
	snprintf(index, sizeof(index), "sqlite:%s/index.db", s->base);
	place.index = index;
	assert_works(&told_err, depot_open_at(&place, &depot, &told_err));
	assert_works(&told_err, packer_add(packer, &sha, SPAN("some bytes"), &told_err));
	assert_works(&told_err, packer_end(packer, &pack, &name, &told_err));
	write_text(s->faults, "500", 0600);
	assert_refused(&told_err, RYE_UNREACHABLE,
		       depot_take(depot, ME, buf_span(&pack), -1, &told_err));
	assert_works(&told_err, depot_used(depot, ME, &used, &told_err));
	assert_int_equal(used.bytes, 0);
	unlink(s->faults);
	assert_works(&told_err, depot_take(depot, ME, buf_span(&pack), -1, &told_err));
	write_text(s->faults, "500", 0600);
	assert_refused(&told_err, RYE_UNREACHABLE, depot_read(depot, ME, &sha, &back, &told_err));
	write_text(s->faults, "wrong", 0600);
	assert_refused(&told_err, RYE_IO, depot_read(depot, ME, &sha, &back, &told_err));
	assert_int_equal(back.len, 0);
	unlink(s->faults);
	assert_refused(&told_err, RYE_NOT_FOUND, depot_read(depot, ME, &sha, &back, &told_err));
	assert_works(&told_err, depot_take(depot, ME, buf_span(&pack), -1, &told_err));
	assert_works(&told_err, depot_read(depot, ME, &sha, &back, &told_err));
	assert_string_equal(back.data, "some bytes");
	depot_close(depot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_request_has_its_signature),
		cmocka_unit_test(addresses_are_looked_at),
		cmocka_unit_test(it_keeps_what_it_has),
		cmocka_unit_test(what_is_wrong_with_the_way_is_told),
		cmocka_unit_test(a_hostile_server_gives_nothing),
		cmocka_unit_test(no_wrong_byte_comes_out_of_a_depot),
	};

	return cmocka_run_group_tests(tests, s3_start, s3_end);
}
