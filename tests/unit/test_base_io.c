/* SPDX-License-Identifier: MIT */
/* Files beneath a root: nothing gets out, whole files come in, replacing is atomic. */
#include "scope.h"
#include "base/io.h"

#include "str.h"

#include "rye_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

struct test_place {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct test_place *place = calloc(1, sizeof(*place));

	snprintf(place->path, sizeof(place->path), "%s/rye-io-XXXXXX", P_tmpdir);
	assert_non_null(mkdtemp(place->path));
	place->fd = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "f",   "big",  "out", "in", "loop", "fifo",
					     "d/f", "d/up", "abs", "n",	 NULL };
	struct test_place *place = *state;

	for (int i = 0; names[i]; i++)
		unlinkat(place->fd, names[i], 0);
	unlinkat(place->fd, "a/b/c", AT_REMOVEDIR);
	unlinkat(place->fd, "a/b", AT_REMOVEDIR);
	unlinkat(place->fd, "a", AT_REMOVEDIR);
	unlinkat(place->fd, "d", AT_REMOVEDIR);
	assert_int_equal(rmdir(place->path), 0);
	close(place->fd);
	free(place);
	return 0;
}

static void put(struct test_place *place, const char *name, const char *text)
{
	assert_int_equal(io_replace_at(place->fd, name, span_of(text), 0644), 0);
}

static int opens(struct test_place *place, const char *path)
{
	int fd = io_open_beneath(place->fd, path, O_RDONLY);

	if (fd < 0)
		return fd;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	return 0;
}

static void beneath(void **state)
{
	struct test_place *place = *state;

	put(place, "f", "x");
	assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
	assert_int_equal(symlinkat("f", place->fd, "in"), 0);
	assert_int_equal(symlinkat("/etc/passwd", place->fd, "out"), 0);
	assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
	assert_int_equal(symlinkat("../..", place->fd, "d/up"), 0);
	assert_int_equal(opens(place, "f"), 0);
	assert_int_equal(opens(place, "in"), 0);
	assert_int_equal(opens(place, "d/../f"), 0);
	assert_int_equal(opens(place, ""), 0);
	assert_int_equal(opens(place, "out"), -EXDEV);
	assert_int_equal(opens(place, "d/up/etc"), -EXDEV);
	assert_int_equal(opens(place, "../x"), -EXDEV);
	assert_int_equal(opens(place, "/etc/passwd"), -EXDEV);
	assert_int_equal(opens(place, "loop"), -ELOOP);
	assert_int_equal(opens(place, "nope"), -ENOENT);
}

static void reading(void **state)
{
	struct test_place *place = *state;
	struct rye_blob *blob = NULL;
	struct stat st;
	auto_close int fd = -1;

	put(place, "f", "text");
	assert_int_equal(io_read_at(place->fd, "f", 4, &blob), 0);
	assert_string_equal(blob->data, "text");
	rye_blob_unref(steal(&blob));
	assert_int_equal(io_read_at(place->fd, "f", 3, &blob), -EFBIG);
	assert_int_equal(io_read_at(place->fd, ".", 4, &blob), -EISDIR);
	assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
	assert_int_equal(io_read_at(place->fd, "fifo", 4, &blob), -EINVAL);
	assert_int_equal(io_read_at(place->fd, "nope", 4, &blob), -ENOENT);
	assert_null(blob);
	fd = io_open_mounted(place->fd, "f", O_RDONLY);
	assert_int_equal(io_read_fd(fd, 100, &blob, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(io_read_fd(-1, 100, &blob, NULL), -EBADF);
	assert_int_equal(blob->len, 4);
	rye_blob_unref(blob);
}

static int files_in(const char *path)
{
	auto_dir DIR *dir = opendir(path);
	int n = 0;

	while (readdir(dir))
		n++;
	return n - 2;
}

static void replacing(void **state)
{
	struct test_place *place = *state;
	struct rye_blob *blob = NULL;
	struct stat st;

	put(place, "f", "one");
	assert_int_equal(io_replace_at(place->fd, "f", SPAN("two"), 0600), 0);
	assert_int_equal(io_read_at(place->fd, "f", 10, &blob), 0);
	assert_string_equal(blob->data, "two");
	rye_blob_unref(blob);
	assert_int_equal(fstatat(place->fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(io_replace_at(place->fd, "no/f", SPAN("x"), 0600), -ENOENT);
	assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
	assert_int_equal(io_replace_at(place->fd, "d", SPAN("x"), 0600), -EISDIR);
	assert_int_equal(io_replace_at(place->fd, "d/f", SPAN("x"), 0600), 0);
	/* a link is replaced, not written through */
	assert_int_equal(symlinkat("f", place->fd, "in"), 0);
	assert_int_equal(io_replace_at(place->fd, "in", SPAN("three"), 0600), 0);
	assert_int_equal(io_read_at(place->fd, "f", 10, &blob), 0);
	assert_string_equal(blob->data, "two");
	rye_blob_unref(blob);
	assert_int_equal(files_in(place->path), 3);
}

/* What is there stays, be it a link to nowhere; no temporary file is left either way. */
static void creating(void **state)
{
	struct test_place *place = *state;
	struct rye_blob *blob = NULL;

	assert_int_equal(io_create_at(place->fd, "f", SPAN("one"), 0644), 0);
	assert_int_equal(io_create_at(place->fd, "f", SPAN("two"), 0644), -EEXIST);
	assert_int_equal(io_read_at(place->fd, "f", 10, &blob), 0);
	assert_string_equal(blob->data, "one");
	rye_blob_unref(blob);
	assert_int_equal(symlinkat("nowhere", place->fd, "out"), 0);
	assert_int_equal(io_create_at(place->fd, "out", SPAN("x"), 0644), -EEXIST);
	assert_int_equal(io_create_at(place->fd, "no/f", SPAN("x"), 0644), -ENOENT);
	assert_int_equal(files_in(place->path), 2);
}

static void directories(void **state)
{
	struct test_place *place = *state;
	struct stat st;

	assert_int_equal(io_mkdirs_at(place->fd, "a/b/c", 0700), 0);
	assert_int_equal(io_mkdirs_at(place->fd, "a//b/c/", 0700), 0);
	assert_int_equal(fstatat(place->fd, "a/b/c", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(io_mkdirs_at(place->fd, "a/../../x", 0700), -EXDEV);
	put(place, "n", "");
	assert_int_equal(io_mkdirs_at(place->fd, "n/x", 0700), -ENOTDIR);
	assert_int_equal(io_mkdirs_at(place->fd, "", 0700), 0);
}

/* As realpath(3) says, whether it is asked or not. */
static void real_paths(void **state)
{
	static const char *const names[] = { "",	"/a/b/c",  "/a//b", "/a/./b",
					     "/a/b/..", "/a/b/.",  "/a/b/", "/n",
					     "/in/b",	"/in/b/c", "/loop", "/gone/x" };
	struct test_place *place = *state;
	char path[128];

	assert_int_equal(io_mkdirs_at(place->fd, "a/b/c", 0700), 0);
	put(place, "n", "");
	assert_int_equal(symlinkat("a", place->fd, "in"), 0);
	assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *want = NULL, *got = NULL;
		int sys;

		snprintf(path, sizeof(path), "%s%s", place->path, names[i]);
		want = realpath(path, NULL);
		sys = errno;
		got = io_real_path(path);
		if (want)
			assert_string_equal(got, want);
		else
			assert_true(!got && errno == sys);
	}
}

/* What is too fresh to be told from the next version is not believed. */
static void let_lie(void)
{
	usleep(150000); /* until its times tell every later change */
}

static void note_all(struct test_place *place, struct marks *ret)
{
	*ret = (struct marks){ .v = NULL };
	marks_add(ret, place->fd, "d", true);
	marks_add(ret, place->fd, "f", false);
	marks_add(ret, place->fd, "f", false);
	marks_add(ret, place->fd, "a/b/c", false);
	marks_add(ret, place->fd, "a/b/other", false);
	marks_add(ret, place->fd, "in", true);
}

static void marks_tell(void **state)
{
	struct test_place *place = *state;
	struct marks marks, again;
	struct stat st;

	put(place, "f", "x");
	assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
	assert_int_equal(symlinkat("f", place->fd, "in"), 0);
	note_all(place, &marks);
	assert_true(marks.unfit && !marks_hold(&marks));
	let_lie();
	note_all(place, &marks);
	note_all(place, &again);
	/* what is missing is noted once, by its first directory */
	assert_true(!marks.unfit && marks.n == 4);
	assert_true(marks_hold(&marks) && marks_same(&marks, &again));
	assert_int_equal(mkdirat(place->fd, "a", 0700), 0);
	assert_false(marks_hold(&marks));
	assert_int_equal(unlinkat(place->fd, "a", AT_REMOVEDIR), 0);
	assert_true(marks_hold(&marks));
	put(place, "d/f", "new");
	assert_false(marks_hold(&marks));
	let_lie();
	marks_done(&again);
	note_all(place, &again);
	assert_false(marks_same(&marks, &again));
	assert_true(marks_hold(&again));
	put(place, "f", "x");
	assert_false(marks_hold(&again));
	marks_done(&marks);
	marks_done(&again);
	/* the file that was read is another one by now */
	assert_int_equal(fstatat(place->fd, "f", &st, 0), 0);
	put(place, "f", "y");
	let_lie();
	marks_add_read(&marks, place->fd, "f", &st);
	assert_true(marks.unfit);
	/* where a link leads is not told by the link */
	marks_add(&again, place->fd, "in", false);
	assert_true(again.unfit);
	marks_unfit(NULL);
	marks_add(NULL, place->fd, "f", false);
}

/* Of a path with ".." the kernel says EAGAIN while anything is renamed anywhere (openat2(2)). */
static int ask_kernel(int root, const char *path, struct open_how *how)
{
	int fd = -1;

	for (int i = 0; i < 10000; i++) {
		fd = (int)syscall(SYS_openat2, root, path, how, sizeof(*how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

/* What openat2 opens, and refuses, the walk in a tool's sandbox does, too. */
static void the_same_without_openat2(void **state)
{
	static const char *const paths[] = {
		".",	 "a",	    "a/b",     "a/b/file", "a/b/none", "none/x", "a/../file",
		"..",	 "a/../..", "file/x",  "file/",	   "a/b/",     "/",	 "/etc/passwd",
		"in",	 "in/file", "out",     "out/x",	   "loop",     "loop/x", "up/file",
		"whole", "a//b",    "./a/./b", "dangling", "last",     "last/",	 "a/b/file/..",
	};
	static const uint64_t flags[] = { O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY,
					  O_PATH | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW };
	static const uint64_t resolve[] = {
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	static const char *const links[][2] = {
		{ "a/b", "in" },       { "/etc", "out" },      { "loop", "loop" }, { "a/..", "up" },
		{ "/etc/x", "whole" }, { "none", "dangling" }, { "file", "last" },
	};
	char dir[] = "/tmp/rye-resolve-XXXXXX";
	int root;

	(void)state;
	assert_non_null(mkdtemp(dir));
	root = open(dir, O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(root, "a", 0700) | mkdirat(root, "a/b", 0700), 0);
	close(openat(root, "file", O_CREAT | O_WRONLY, 0600));
	close(openat(root, "a/b/file", O_CREAT | O_WRONLY, 0600));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(symlinkat(links[i][0], root, links[i][1]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths) * ARRAY_SIZE(flags) * ARRAY_SIZE(resolve); i++) {
		const char *path = paths[i % ARRAY_SIZE(paths)];
		struct open_how how = {
			.flags = flags[i / ARRAY_SIZE(paths) % ARRAY_SIZE(flags)] | O_CLOEXEC,
			.resolve = resolve[i / ARRAY_SIZE(paths) / ARRAY_SIZE(flags)],
		};
		int kernels = ask_kernel(root, path, &how);
		int code = kernels < 0 ? -errno : 0, ours = io_resolve(root, path, &how);
		struct stat a = { .st_ino = 0 }, b = { .st_ino = 0 };

		if ((ours < 0 ? ours : 0) != code)
			fail_msg("%s, flags %o, resolve %d: %d, wanted %d", path, (int)how.flags,
				 (int)how.resolve, ours, code);
		if (!code) {
			fstat(kernels, &a);
			fstat(ours, &b);
			assert_int_equal(a.st_ino, b.st_ino);
			close(kernels);
			close(ours);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		unlinkat(root, links[i][1], 0);
	unlinkat(root, "a/b/file", 0);
	unlinkat(root, "file", 0);
	assert_int_equal(unlinkat(root, "a/b", AT_REMOVEDIR) | unlinkat(root, "a", AT_REMOVEDIR),
			 0);
	close(root);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(beneath, setup, teardown),
		cmocka_unit_test_setup_teardown(reading, setup, teardown),
		cmocka_unit_test_setup_teardown(replacing, setup, teardown),
		cmocka_unit_test_setup_teardown(creating, setup, teardown),
		cmocka_unit_test_setup_teardown(directories, setup, teardown),
		cmocka_unit_test(the_same_without_openat2),
		cmocka_unit_test_setup_teardown(real_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(marks_tell, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
