/* SPDX-License-Identifier: MIT */
/*
 * The watcher over a real directory tree: every way in which editors save, whole directories
 * that come and go, spaces that appear, bursts, and how long it takes until it is told.
 */
#include "item_place.h"

#include "clock.h"
#include "space/space.h"

#include <sys/resource.h>

struct bench {
	struct test_place place;
	struct watch *watch;
	struct index *index;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int told, all, keys; /* under lock */
	bool hold; /* under lock: telling waits until it is false */
	char last[1100]; /* the last item's id */
};

static void on_changes(void *arg, const struct index_changes *changes)
{
	struct bench *b = arg;

	GUARD(&b->lock);
	b->told++;
	b->all += changes->all;
	b->keys += changes->keys;
	for (size_t i = 0; i < changes->n; i++)
		if (changes->v[i].id)
			snprintf(b->last, sizeof(b->last), "%s", changes->v[i].id);
	pthread_cond_broadcast(&b->cond);
	while (b->hold)
		pthread_cond_wait(&b->cond, &b->lock);
}

static void start(struct bench *b)
{
	static const struct log silent = { 0 }; /* lives as long as the watch */
	struct index_env env = { 0 };
	struct rye_err err = { 0 };

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->cond, NULL);
	place_open(&b->place, false);
	if (watch_open(&silent, &b->watch, &err) < 0)
		fail_msg("%s", err.msg);
	env.spaces = b->place.spaces;
	env.log = &silent;
	env.watch = watch_add;
	env.unwatch = watch_del;
	env.arg = b->watch;
	if (index_open(&env, &b->index, &err) < 0)
		fail_msg("%s", err.msg);
	index_scan(b->index, 2, false);
	if (watch_start(b->watch, b->index, on_changes, b, &err) < 0)
		fail_msg("%s", err.msg);
}

static void done(struct bench *b)
{
	watch_stop(b->watch);
	index_close(b->index);
	watch_close(b->watch);
	place_drop(&b->place);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->cond);
}

static uint64_t gen(struct bench *b, const char *id)
{
	struct index_item item;

	if (!index_item(b->index, RYE_TOOL, id, &item))
		return 0;
	index_state_done(&item.state);
	return item.gen;
}

/* Waits until the item's generation is another one; false after two seconds. */
static bool changes(struct bench *b, const char *id, uint64_t old)
{
	for (int i = 0; i < 4000; i++) {
		if (gen(b, id) != old)
			return true;
		usleep(500);
	}
	return false;
}

static char *full(struct bench *b, const char *path)
{
	char *text = NULL;

	if (asprintf(&text, "%s/.ai/%s", b->place.project, path) < 0)
		fail();
	return text;
}

static void rename_to(struct bench *b, const char *from, const char *to)
{
	auto_free char *x = full(b, from), *y = full(b, to);

	assert_int_equal(rename(x, y), 0);
}

static void append(struct bench *b, const char *path)
{
	auto_free char *x = full(b, path);
	int fd = open(x, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "y", 1), 1);
	close(fd);
}

static void saves(void **state)
{
	struct bench b = { 0 };
	auto_free char *x = NULL;
	uint64_t old;

	place_make(&b.place);
	place_text(b.place.project, "tools/a/x.py", "x");
	start(&b);
	x = full(&b, "tools/a/x.py");
	old = gen(&b, "a/x");
	assert_true(old != 0);
	place_text(b.place.project, "tools/a/x.py", "in place");
	assert_true(changes(&b, "a/x", old));
	/* vim, most of the others: a new file takes the name. */
	old = gen(&b, "a/x");
	place_text(b.place.project, "tools/a/.x.py.swp", "new");
	rename_to(&b, "tools/a/.x.py.swp", "tools/a/x.py");
	assert_true(changes(&b, "a/x", old));
	/* Unlink, then create. */
	assert_int_equal(unlink(x), 0);
	assert_true(changes(&b, "a/x", gen(&b, "a/x")) || gen(&b, "a/x") == 0);
	place_text(b.place.project, "tools/a/x.py", "again");
	assert_true(changes(&b, "a/x", 0));
	/* Backup by rename, then a new one. */
	old = gen(&b, "a/x");
	rename_to(&b, "tools/a/x.py", "tools/a/x.py~");
	place_text(b.place.project, "tools/a/x.py", "newer");
	assert_true(changes(&b, "a/x", old));
	usleep(5000); /* a rename is several events */
	old = gen(&b, "a/x");
	append(&b, "tools/a/x.py");
	assert_true(changes(&b, "a/x", old));
	old = gen(&b, "a/x");
	assert_int_equal(chmod(x, 0600), 0);
	assert_true(changes(&b, "a/x", old));
	done(&b);
}

static bool vanishes(struct bench *b, const char *id)
{
	for (int i = 0; i < 4000 && gen(b, id); i++)
		usleep(500);
	return gen(b, id) == 0;
}

static void directories(void **state)
{
	struct bench b = { 0 };

	place_make(&b.place);
	place_text(b.place.project, "tools/a/x.py", "x");
	place_text(b.place.project, "tools/a/deep/y.py", "x");
	start(&b);
	rename_to(&b, "tools/a", "tools/b");
	assert_true(changes(&b, "b/deep/y", 0));
	assert_true(vanishes(&b, "a/x"));
	/* Its new name is watched, the files in it as before. */
	place_text(b.place.project, "tools/b/deep/z.py", "x");
	assert_true(changes(&b, "b/deep/z", 0));
	/* A tree put together elsewhere and moved in. */
	place_text(b.place.project, "new/c/d/e.py", "x");
	rename_to(&b, "new", "tools/n");
	assert_true(changes(&b, "n/c/d/e", 0));
	rename_to(&b, "tools/n", "gone");
	assert_true(vanishes(&b, "n/c/d/e"));
	/* What is left no longer matters. */
	place_text(b.place.project, "gone/c/d/f.py", "x");
	/* A directory in the place of another one. */
	rename_to(&b, "tools/b", "old");
	rename_to(&b, "gone", "tools/b");
	assert_true(changes(&b, "b/c/d/f", 0));
	assert_true(vanishes(&b, "b/x"));
	done(&b);
}

static void spaces(void **state)
{
	struct bench b = { 0 };
	char from[300], to[300];

	place_make(&b.place);
	start(&b);
	/* No .ai at all, then one, then its kinds. */
	place_text(b.place.project, "tools/x.py", "x");
	assert_true(changes(&b, "x", 0));
	place_text(b.place.user, "tools/u/y.py", "x");
	assert_true(changes(&b, "u/y", 0));
	/* Another .ai takes its place. */
	snprintf(from, sizeof(from), "%s/.ai", b.place.project);
	snprintf(to, sizeof(to), "%s/.old", b.place.project);
	assert_int_equal(rename(from, to), 0);
	assert_true(vanishes(&b, "x"));
	place_text(b.place.project, "tools/z.py", "x");
	assert_true(changes(&b, "z", 0));
	assert_int_equal(gen(&b, "x"), 0);
	done(&b);
}

static void keys(void **state)
{
	struct bench b = { 0 };
	int n = 0;

	place_vectors(&b.place);
	start(&b);
	place_text(b.place.user, "config/keys/trusted/0123456789abcdef.toml", "x");
	for (int i = 0; i < 4000 && !n; i++) {
		usleep(500);
		GUARD(&b.lock);
		n = b.keys;
	}
	assert_true(n > 0);
	done(&b);
}

/* Without inotify at all the tree is there, and known to be unwatched. */
static void no_inotify(void **state)
{
	struct rlimit limit, few;
	struct bench b = { 0 };

	place_make(&b.place);
	place_text(b.place.project, "tools/x.py", "x");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	/* One descriptor is left, which the wake-up takes. */
	few.rlim_cur = (rlim_t)open("/", O_PATH | O_CLOEXEC) + 1;
	close((int)few.rlim_cur - 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_works(&told_err, watch_open(&(const struct log){ 0 }, &b.watch, &told_err));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(watch_add(b.watch, 0) < 0);
	watch_close(b.watch);
	start(&b);
	assert_false(index_unwatched(b.index, RYE_TOOL, "x.py"));
	done(&b);
}

/* Many writes to one file are few tellings; many files are all told. */
static void bursts(void **state)
{
	struct bench b = { 0 };
	char path[64], text[64];
	int64_t from;
	int n = 0;

	place_make(&b.place);
	place_text(b.place.project, "tools/x.py", "x");
	start(&b);
	from = clock_ms();
	for (int i = 0; i < 2000; i++)
		place_text(b.place.project, "tools/x.py", "xx");
	usleep(20000); /* what is told late is counted, too */
	{
		GUARD(&b.lock);
		n = b.told;
	}
	assert_in_range(n, 1, clock_ms() - from + 2);
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "tools/d%d/f%d.py", i % 10, i);
		place_text(b.place.project, path, "x");
	}
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof(text), "d%d/f%d", i % 10, i);
		assert_true(changes(&b, text, 0));
	}
	done(&b);
}

/* More events than the kernel keeps while the listener is busy: everything is looked at again. */
static void overflow(void **state)
{
	struct bench b = { 0 };
	char path[64];
	int all = 0;

	place_make(&b.place);
	place_text(b.place.project, "tools/x.py", "x");
	start(&b);
	{
		GUARD(&b.lock);
		b.hold = true;
	}
	for (int i = 0; i < 7000; i++) {
		snprintf(path, sizeof(path), "tools/d/f%d.py", i);
		place_text(b.place.project, path, "x");
	}
	{
		GUARD(&b.lock);
		b.hold = false;
		pthread_cond_broadcast(&b.cond);
	}
	assert_true(changes(&b, "d/f6999", 0));
	for (int i = 0; i < 2000 && !all; i++) {
		usleep(1000);
		GUARD(&b.lock);
		all = b.all;
	}
	assert_true(all > 0);
	assert_true(changes(&b, "d/f5000", 0));
	done(&b);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* From the write to the telling: half of them in a moment, nearly all within the pace. */
static void latency(void **state)
{
	struct bench b = { 0 };
	int64_t us[100];

	place_make(&b.place);
	place_text(b.place.project, "tools/x.py", "x");
	start(&b);
	for (int i = 0; i < 100; i++) {
		int64_t from;
		int before = 0;

		usleep(3000);
		{
			GUARD(&b.lock);
			before = b.told;
		}
		from = clock_us();
		place_text(b.place.project, "tools/x.py", "xx");
		{
			GUARD(&b.lock);
			while (b.told == before)
				pthread_cond_wait(&b.cond, &b.lock);
		}
		us[i] = clock_us() - from;
	}
	qsort(us, 100, sizeof(*us), by_value);
	print_message("# told after p50 %d us, p90 %d us, p99 %d us\n", (int)us[50], (int)us[90],
		      (int)us[99]);
	/* A busy machine may be slow; a second is a fault. */
	assert_in_range(us[50], 0, 20000);
	assert_in_range(us[99], 0, 1000000);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saves),   cmocka_unit_test(directories),
		cmocka_unit_test(spaces),  cmocka_unit_test(keys),
		cmocka_unit_test(bursts),  cmocka_unit_test(overflow),
		cmocka_unit_test(latency), cmocka_unit_test(no_inotify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
