/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails while a thread writes. The N-th write, sync or rename fails, N = 1, 2, 3 …, once
 * without room and once broken, a write after half of its bytes: what was there before is there still,
 * the error says why, and with the disk mended everything goes on. The same with the N-th allocation:
 * nothing is written of which a part was lost, and no secret that could not be taken out.
 */
#include "record_place.h"

#include "clock.h"
#include "memory.h"
#include "sign/sign.h"

#include <errno.h>
#include <sys/uio.h>

/* ---- calls that fail ---- */

static struct {
	bool armed, memory; /* memory: allocations fail, else the disk */
	int left, code, failed;
} fault;

static bool fails_now(bool memory)
{
	if (!fault.armed || fault.memory != memory || --fault.left)
		return false;
	fault.failed++;
	errno = fault.code;
	return true;
}

static bool is_failing(void)
{
	return fails_now(false);
}

#define WRAPPED(type, name, declared, used)                         \
	type __real_##name declared;                                \
	type __wrap_##name declared;                                \
	type __wrap_##name declared                                 \
	{                                                           \
		return fails_now(true) ? NULL : __real_##name used; \
	}

WRAPPED(void *, malloc, (size_t size), (size))
WRAPPED(void *, calloc, (size_t n, size_t size), (n, size))
WRAPPED(void *, realloc, (void *old, size_t size), (old, size))
WRAPPED(char *, strdup, (const char *text), (text))
WRAPPED(char *, strndup, (const char *text, size_t n), (text, n))

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
	static bool half;

	if (half && fault.armed) {
		half = false;
		errno = fault.code;
		return -1;
	}
	if (!is_failing())
		return __real_write(fd, bytes, n);
	half = n > 1;
	return half ? __real_write(fd, bytes, n / 2) : -1;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	return is_failing() ? -1 : __real_fsync(fd);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	return is_failing() ? -1 : __real_fdatasync(fd);
}

int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	return is_failing() ? -1 : __real_renameat(from, old, to, new);
}

/* ---- what is written ---- */

struct work {
	struct record_place r;
	struct chronicle *chronicle;
	int step; /* another one each time: another content */
	struct rye_err err;
};

#define SECRET "sk-secret-of-a-provider"

typedef int (*work_fn)(struct work *w);

static int write_document(struct work *w)
{
	struct thread_json what = { .directive = "t/hello", .status = "running" };

	what.more = json_pack("{s:i, s:s}", "step", ++w->step, "error", "x " SECRET);
	int r = thread_json_write(&w->r.record, &what, &w->err);

	json_decref((json_t *)what.more);
	return r;
}

static int write_event(struct work *w)
{
	return chronicle_event(w->chronicle, "cognition_in",
			       json_pack("{s:s, s:i}", "text", SECRET, "step", ++w->step), &w->err);
}

static int write_point(struct work *w)
{
	return chronicle_checkpoint(w->chronicle, ++w->step, &w->err);
}

static int write_tools(struct work *w)
{
	auto_json json_t *tools = json_pack("[{s:i, s:s}]", "step", ++w->step, "x", SECRET);

	return !tools ? memory_fail(&w->err) :
			capabilities_md_write(&w->r.record, tools, NULL, &w->err);
}

static int write_story(struct work *w)
{
	struct story story = { .directive = "t/hello", .status = "running" };

	story.cost.turns = ++w->step;
	return story_write(&w->r.record, &story, SPAN(""), &w->err);
}

static int write_artifact(struct work *w)
{
	auto_json json_t *value = json_pack("{s:i, s:s}", "step", ++w->step, "x", SECRET);
	char key[ARTIFACT_KEY_MAX];

	return !value ? memory_fail(&w->err) :
			artifact_put(&w->r.record, &(struct artifact){ "c", "t", 1, 0 }, value, key,
				     &w->err);
}

static int look_at(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	auto_blob struct rye_blob *blob = NULL;

	if (type == FTW_F && io_read_at(AT_FDCWD, path, 1 << 20, &blob) == 0 &&
	    memmem(blob->data, blob->len, SECRET, strlen(SECRET)))
		fail_msg("%s has a secret in it", path);
	return 0;
}

/* Everything that is there can be read and verifies. */
static void look_through(struct work *w)
{
	auto_blob struct rye_blob *text = NULL, *artifact = NULL;
	auto_json json_t *doc = NULL, *tools = NULL;
	struct chronicle_check check;

	assert_int_equal(thread_json_read(&w->r.record, &doc, &w->err), 0);
	assert_int_equal(capabilities_md_read(&w->r.record, &tools, &w->err), 0);
	assert_int_equal(chronicle_text(&w->r.record, &text, &w->err), 0);
	assert_int_equal(text->len, chronicle_size(w->chronicle));
	assert_int_equal(text->data[text->len - 1], '\n');
	chronicle_check(&w->r.record, (struct rye_span){ text->data, text->len }, NULL, &check);
	assert_true(check.code == RYE_OK || check.code == RYE_UNCOVERED);
	assert_int_equal(artifact_get(&w->r.record, "c", &artifact, &w->err), 0);
	assert_int_equal(place_load(&w->r.p, RYE_KNOWLEDGE, "agent/threads/" RECORD_ID, NULL, NULL),
			 RYE_OK);
}

static void fail_each(struct work *w, work_fn fn, int code)
{
	int n = 0, r;

	do {
		fault.armed = true;
		fault.left = ++n;
		fault.code = code;
		fault.failed = 0;
		r = fn(w);
		fault.armed = false;
		if (fault.failed) {
			assert_int_equal(r, code == ENOSPC ? -RYE_NO_SPACE : -RYE_IO);
			assert_non_null(strstr(w->err.msg, strerror(code)));
		} else {
			assert_int_equal(r, 0);
		}
		look_through(w);
		assert_int_equal(fn(w), 0);
		look_through(w);
	} while (fault.failed && n < 100);
	assert_true(n > 1 && n < 100);
}

static const work_fn all[] = { write_document, write_event, write_point,
			       write_tools,    write_story, write_artifact };

static void work_begin(struct work *w, const json_t *secrets)
{
	record_place_make(&w->r, RECORD_ID);
	w->r.record.secrets = secrets;
	assert_int_equal(chronicle_open(&w->r.record, &w->chronicle, &w->err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(all[i](w), 0);
}

static void work_end(struct work *w)
{
	chronicle_close(w->chronicle);
	record_place_drop(&w->r);
}

static void thread_F30_F32_every_write_can_fail(void **state)
{
	struct work w = { .step = 0 };

	work_begin(&w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		fail_each(&w, all[i], ENOSPC);
		fail_each(&w, all[i], EIO);
	}
	work_end(&w);
}

static void fail_allocations(struct work *w, work_fn fn)
{
	int n = 0, r;

	do {
		fault.armed = fault.memory = true;
		fault.left = ++n;
		fault.failed = 0;
		r = fn(w);
		fault.armed = fault.memory = false;
		if (r) {
			if (r != -RYE_IO)
				fail_msg("%d: %s", n, w->err.msg);
			assert_true(fault.failed > 0);
			assert_int_equal(r, -RYE_IO);
			assert_non_null(strstr(w->err.msg, "emory"));
		}
		look_through(w);
	} while (fault.failed && n < 2000);
	assert_true(n > 1 && n < 2000);
}

static void memory_runs_out(void **state)
{
	auto_json json_t *secrets = json_pack("[s]", SECRET);
	struct work w = { .step = 0 };

	work_begin(&w, secrets);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		fail_allocations(&w, all[i]);
	assert_int_equal(nftw(w.r.p.base, look_at, 8, FTW_PHYS), 0);
	work_end(&w);
}

/* thread F33: nothing can be made there. */
static void thread_F33_no_directory(void **state)
{
	struct work w = { .step = 0 };

	record_place_make(&w.r, RECORD_ID);
	assert_int_equal(unlinkat(w.r.ai, "state/threads/" RECORD_ID, AT_REMOVEDIR), 0);
	assert_int_equal(write_document(&w), -RYE_NOT_FOUND);
	assert_int_equal(chronicle_open(&w.r.record, &w.chronicle, &w.err), -RYE_NOT_FOUND);
	assert_int_equal(write_tools(&w), -RYE_NOT_FOUND);
	record_place_drop(&w.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_F30_F32_every_write_can_fail),
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(thread_F33_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
