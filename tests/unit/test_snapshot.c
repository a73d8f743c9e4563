/* SPDX-License-Identifier: MIT */
/*
 * Which files of a project are sent, and what never is; what is not read again; how big files are cut;
 * where links may lead.
 */
#include "own_fds.h"
#include "str.h"
#include "told.h"

#include "base/io.h"
#include "snapshot/snapshot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

struct place {
	char base[64], project[96];
	int dir, top; /* of the project, of base */
};

static void start(struct place *p)
{
	*p = (struct place){ .base = "/tmp/rye-snap-XXXXXX" };
	assert_non_null(mkdtemp(p->base));
	snprintf(p->project, sizeof(p->project), "%s/project", p->base);
	assert_int_equal(mkdir(p->project, 0755), 0);
	p->dir = open(p->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->top = open(p->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void done(struct place *p)
{
	close(p->dir);
	close(p->top);
	io_remove_tree(AT_FDCWD, p->base, 12);
}

static void put(struct place *p, const char *path, const char *text)
{
	char dir[256];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash) {
		*slash = '\0';
		assert_int_equal(io_mkdirs_at(p->dir, dir, 0755), 0);
	}
	assert_int_equal(io_replace_at(p->dir, path, span_of(text), 0644), 0);
}

static struct snapshot *snap(struct place *p, const char *rules)
{
	auto_json json_t *list = rules ? json_loads(rules, 0, NULL) : NULL;
	const struct snapshot_ask ask = { p->project, list, p->top, "stat" };
	struct snapshot *snapshot;

	assert_works(&told_err, snapshot_make(&ask, &snapshot, &told_err));
	return snapshot;
}

/* "path path …" of the manifest. */
static void assert_sent(struct place *p, const char *rules, const char *want)
{
	auto_snapshot struct snapshot *snapshot = snap(p, rules);
	auto_buf struct rye_buf got = RYE_BUF_INIT;

	for (size_t i = 0; i < snapshot->manifest->n; i++)
		buf_addf(&got, "%s%s", i ? " " : "", snapshot->manifest->v[i].path);
	assert_string_equal(buf_span(&got).ptr, want);
}

static void fill(struct place *p)
{
	static const char *const paths[] = {
		".ai/tools/a.py",
		".ai/config/agent/x.yaml",
		".ai/config/keys/signing/private_key.pem",
		".ai/config/keys/signing/old",
		".ai/state/threads/t/output",
		".ai/secrets/store",
		".env",
		".Env.local",
		"src/a.c",
		"src/.env",
		"src/.hidden",
		"src/x.secrets",
		"data/one.csv",
		"data/deep/two.csv",
		"node_modules/m/index.js",
		".git/config",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		put(p, paths[i], "planted");
	put(p, "src/key.txt", "x\n-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n");
	put(p, "src/not_key.txt", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY\n");
}

static void what_is_sent(void **state)
{
	static const char ai[] = ".ai/config/agent/x.yaml .ai/tools/a.py";
	char want[400];
	struct place p;

	start(&p);
	fill(&p);
	snprintf(want, sizeof(want), "%s data/deep/two.csv data/one.csv src/a.c src/not_key.txt",
		 ai);
	assert_sent(&p, NULL, want);
	snprintf(want, sizeof(want), "%s src/.hidden src/a.c src/not_key.txt", ai);
	assert_sent(&p, "[\"src/\"]", want);
	snprintf(want, sizeof(want), "%s data/one.csv", ai);
	assert_sent(&p, "[\"data/*.csv\"]", want);
	snprintf(want, sizeof(want), "%s data/one.csv src/a.c", ai);
	assert_sent(&p, "[\"src/a.c\", \"data/one.csv\", \"src/a.c\", \"nothing\"]", want);
	assert_sent(&p, "[]", ai);
	/* all, and .ai and .git in words of their own: nothing that is never sent */
	snprintf(want, sizeof(want), "%s", ai);
	assert_sent(&p, "[\".ai\", \".ai/state\", \".git\", \".ai/config/keys\", \".env\"]", want);
	done(&p);
}

static void refusals_are_named(void **state)
{
	static const char *const refused[] = { "src/.env", "src/x.secrets", "src/key.txt", ".env",
					       ".Env.local" };
	auto_snapshot struct snapshot *snapshot = NULL, *plain = NULL;
	struct place p;

	start(&p);
	fill(&p);
	snapshot = snap(&p, "[\"./\"]");
	plain = snap(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_non_null(json_find(snapshot->refused, "path", refused[i]));
		assert_non_null(json_find(plain->refused, "path", refused[i]));
	}
	/* a program fills the one again, and the other is git's */
	assert_null(json_find(plain->refused, "path", "node_modules"));
	assert_null(json_find(plain->refused, "path", ".git"));
	assert_string_equal(json_str(json_find(snapshot->refused, "path", "src/key.txt"), "reason"),
			    "private keys are never sent");
	done(&p);
}

static void git(struct place *p, const char *const *words)
{
	const char *argv[12] = { "git", "-C", p->project };
	pid_t pid;
	int status = -1;

	for (size_t i = 0; words[i]; i++)
		argv[3 + i] = words[i];
	assert_int_equal(posix_spawnp(&pid, "git", NULL, NULL, (char **)argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void what_git_names(void **state)
{
	char monitor[200], mark[100];
	struct place p;

	if (access("/usr/bin/git", X_OK))
		test_skip("no git");
	start(&p);
	put(&p, "a.c", "1");
	put(&p, "gone.c", "1");
	put(&p, "out/b.o", "1");
	put(&p, "node_modules/c.js", "1");
	put(&p, ".gitignore", "out/\n");
	put(&p, ".env", "planted");
	put(&p, ".ai/tools/a.py", "1");
	put(&p, ".ai/state/x", "planted");
	git(&p, (const char *const[]){ "init", "-q", NULL });
	git(&p, (const char *const[]){ "add", "a.c", "gone.c", NULL });
	unlinkat(p.dir, "gone.c", 0);
	/* a repository that names a program to start */
	snprintf(mark, sizeof(mark), "%s/started", p.base);
	snprintf(monitor, sizeof(monitor), "touch %s; false", mark);
	git(&p, (const char *const[]){ "config", "core.fsmonitor", monitor, NULL });
	assert_sent(&p, NULL, ".ai/tools/a.py .gitignore a.c node_modules/c.js");
	assert_int_equal(access(mark, F_OK), -1);
	done(&p);
}

static void links(void **state)
{
	static const struct {
		const char *path, *target;
		bool good;
	} rows[] = {
		{ "l", "a", true },	      { "l", "./a/b", true },
		{ "d/l", "../a", true },      { "d/l", "../../a", false },
		{ "l", "..", false },	      { "l", "/etc/passwd", false },
		{ "l", "", false },	      { "l", "a/../../b", false },
		{ "d/e/l", "../../x", true }, { "d/e/l", "../f/../../x", false },
		{ "l", "a/..", false },	      { "d/l", "a/../b", false },
	};
	auto_snapshot struct snapshot *snapshot = NULL;
	struct place p;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(!checkout_link_check(rows[i].path, rows[i].target, NULL),
				 rows[i].good);
	start(&p);
	put(&p, "d/a", "1");
	assert_int_equal(symlinkat("d/a", p.dir, "in"), 0);
	assert_int_equal(symlinkat("/etc/passwd", p.dir, "out"), 0);
	assert_int_equal(symlinkat("d", p.dir, "way"), 0);
	assert_int_equal(mkfifoat(p.dir, "fifo", 0600), 0);
	snapshot = snap(&p, "[\"./\", \"way/a\"]");
	assert_int_equal(snapshot->manifest->n, 3);
	assert_non_null(json_find(snapshot->refused, "path", "out"));
	assert_non_null(json_find(snapshot->refused, "path", "fifo"));
	assert_null(manifest_find(snapshot->manifest, "way/a"));
	done(&p);
}

static void settled_files_are_not_read_again(void **state)
{
	const struct timespec old[2] = { { 1000000, 1 }, { 1000000, 1 } };
	auto_snapshot struct snapshot *first = NULL, *second = NULL, *third = NULL;
	struct place p;

	start(&p);
	put(&p, "a", "1");
	put(&p, "b", "-----BEGIN PRIVATE KEY-----");
	/* Until their times are old enough to be believed: 100 ms, in which some machines make thousands. */
	for (int i = 0; i < 2000 && (!second || second->hashed); i++) {
		usleep(5000);
		snapshot_free(second);
		second = snap(&p, NULL);
	}
	assert_int_equal(second->hashed, 0);
	assert_int_equal(second->manifest->n, 1);
	assert_non_null(json_find(second->refused, "path", "b"));
	put(&p, "a", "2");
	assert_int_equal(utimensat(p.dir, "a", old, 0), 0);
	third = snap(&p, NULL);
	assert_int_equal(third->hashed, 1);
	assert_false(digest_is(&third->manifest->name, &second->manifest->name));
	/* a memory of something else is no harm */
	assert_int_equal(io_replace_at(p.top, "stat", SPAN("1 2 3\n! x\n9 9 9 9 ! a\n\n"), 0600),
			 0);
	first = snap(&p, NULL);
	assert_true(digest_is(&first->manifest->name, &third->manifest->name));
	done(&p);
}

#define BIG (40u << 20)

static size_t cut_all(const unsigned char *bytes, size_t len, struct digest *ret)
{
	struct piece_cutter cutter;
	size_t n = 0, at = 0;

	piece_cutter_init(&cutter);
	while (at < len) {
		struct rye_span rest = { (const char *)bytes + at, len - at };
		size_t size = piece_cut(&cutter, rest);

		assert_in_range(size, 1, BLOB_MAX);
		ret[n++] = digest_of((struct rye_span){ rest.ptr, size });
		at += size;
	}
	return n;
}

static void an_insertion_changes_pieces_around_it(void **state)
{
	auto_free unsigned char *bytes = malloc(BIG + 100);
	static struct digest before[100], after[100];
	uint64_t x = 88172645463325252u;
	size_t n, m, same = 0;

	for (size_t i = 0; i < BIG; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		bytes[i] = (unsigned char)x;
	}
	n = cut_all(bytes, BIG, before);
	assert_in_range(n, 20, 80);
	memmove(bytes + BIG / 2 + 100, bytes + BIG / 2, BIG / 2);
	memset(bytes + BIG / 2, 7, 100);
	m = cut_all(bytes, BIG + 100, after);
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++)
			same += digest_is(&after[i], &before[j]);
	assert_in_range(m - same, 1, 4);
	memset(bytes, 0, BIG);
	assert_int_equal(cut_all(bytes, BIG, before), BIG / BLOB_MAX);
}

static int no_pack(void *arg, struct rye_span pack, struct rye_err *err)
{
	(void)arg;
	(void)pack;
	(void)err;
	fail_msg("a pack of nothing");
	return 0;
}

/* Each run elsewhere begins with a push, and most of these have nothing to send. */
static void what_sends_nothing_starts_no_thread(void **state)
{
	struct packing *packing = packing_new(NULL, no_pack, NULL);
	struct rye_err err = { 0 };

	(void)state;
	assert_non_null(packing);
	assert_int_equal(packing_flush(packing, &err), 0);
	assert_int_equal(packing_count(packing), 0);
	assert_int_equal(own_threads(), 1);
	packing_free(packing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_sends_nothing_starts_no_thread),
		cmocka_unit_test(what_is_sent),
		cmocka_unit_test(refusals_are_named),
		cmocka_unit_test(what_git_names),
		cmocka_unit_test(links),
		cmocka_unit_test(settled_files_are_not_read_again),
		cmocka_unit_test(an_insertion_changes_pieces_around_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
