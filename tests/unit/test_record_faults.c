/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails while a thread writes. The N-th write, sync or rename fails, N = 1, 2, 3 …, once
 * without room and once broken, a write after half of its bytes: what was there before is there still,
 * the error says why, and with the disk mended everything goes on. The same with the N-th allocation:
 * nothing is written of which a part was lost, and no secret that could not be taken out.
 */
#include "own_crypto.h"
#include "record_place.h"
#include "told.h"

#include "agent/agent_inner.h"
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
	struct record other; /* of a thread whose transcript no chronicle holds open */
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
	return story_write(&w->r.record, &story, CHRONICLE_TEXT(SPAN("")), &w->err);
}

static int write_artifact(struct work *w)
{
	auto_json json_t *value = json_pack("{s:i, s:s}", "step", ++w->step, "x", SECRET);
	char key[ARTIFACT_KEY_MAX];

	return !value ? memory_fail(&w->err) :
			artifact_put(&w->r.record, &(struct artifact){ "c", "t", 1, 0 }, value, key,
				     &w->err);
}

static int write_answer(struct work *w)
{
	auto_json json_t *answer = json_pack("{s:i, s:s}", "step", ++w->step, "x", SECRET),
			 *kept = NULL;
	static char words[ANSWER_INLINE + 1];

	memset(words, 'w', ANSWER_INLINE);
	json_sets(answer, "words", words);
	return !answer ? memory_fail(&w->err) :
			 answer_keep(&w->r.record, w->step, answer, &kept, &w->err);
}

static int write_limits(struct work *w)
{
	const struct agent_ask ask = { .dir = w->r.dir };
	const struct agent agent = { .ask = &ask };
	struct limits limits = { .set = { [LIMIT_TURNS] = true } };

	limits.value[LIMIT_TURNS] = ++w->step;
	return agent_write_limits(&agent, &limits, &w->err);
}

/* What a transcript had grown by goes again: the work of the next step is as much as that of this one. */
static void keep_first_line(int dir)
{
	auto_close int fd = openat(dir, "transcript.jsonl", O_RDWR | O_CLOEXEC);
	char text[500];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (end)
		assert_int_equal(ftruncate(fd, end + 1 - text), 0);
}

static int write_resumed(struct work *w)
{
	keep_first_line(w->other.dir);
	return chronicle_resumed(&w->other, &(struct resumed){ "t/b", "t/hello", "go on" },
				 &w->err);
}

/* A process was killed while it wrote a line; the next one opens the transcript. */
static int write_torn(struct work *w)
{
	auto_chronicle struct chronicle *chronicle = NULL;
	auto_close int fd = openat(w->other.dir, "transcript.jsonl", O_RDWR | O_APPEND | O_CLOEXEC);
	char last;

	assert_true(fd >= 0);
	/* the one that failed before has left it */
	if (pread(fd, &last, 1, lseek(fd, 0, SEEK_END) - 1) == 1 && last == '\n')
		assert_int_equal(__real_write(fd, "{\"torn\": ", 9), 9);
	return chronicle_open(&w->other, &chronicle, &w->err);
}

/* A graph's run signs what it has written. */
static int write_seal(struct work *w)
{
	const struct seal seal = { &w->r.p.env, w->r.p.project, "graphs", "g-1" };
	auto_close int dir =
		openat(w->r.ai, "state/graphs/g-1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	keep_first_line(dir);
	return seal_put(&seal, ++w->step, &w->err);
}

static int look_at(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	auto_blob struct rye_blob *blob = NULL;

	if (type == FTW_F && io_read_at(AT_FDCWD, path, 1 << 20, &blob) == 0 &&
	    memmem(blob->data, blob->len, SECRET, strlen(SECRET)))
		fail_msg("%s has a secret in it", path);
	return 0;
}

static void look_limits(struct work *w)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *limits = NULL;

	assert_int_equal(io_read_at(w->r.dir, RECORD_LIMITS, 4096, &text), 0);
	limits = json_parse((struct rye_span){ text->data, text->len }, 0, RECORD_LIMITS, NULL);
	assert_true(json_number_value(json_object_get(limits, "turns")) > 0);
}

static int count_line(void *arg, const struct chronicle_line *line)
{
	assert_string_equal(line->type, "thread_resumed");
	++*(int *)arg;
	return 0;
}

/* Whole lines, and of a torn one all that there was: in the transcript still, or where it was put. */
static void look_other(struct work *w)
{
	auto_blob struct rye_blob *text = NULL, *torn = NULL;
	struct rye_span lines;
	const char *last;
	int n = 0;

	assert_works(&w->err, record_transcript(&w->other, &text, &w->err));
	lines = (struct rye_span){ text->data, text->len };
	last = memrchr(lines.ptr, '\n', lines.len);
	assert_non_null(last);
	if (last + 1 == lines.ptr + lines.len)
		assert_int_equal(io_read_at(w->other.dir, "transcript.torn", 4096, &torn), 0);
	else
		assert_int_equal(lines.ptr + lines.len - (last + 1), 9);
	if (torn)
		assert_string_equal(torn->data, "{\"torn\": ");
	lines.len = (size_t)(last + 1 - lines.ptr);
	assert_works(&w->err, chronicle_each(CHRONICLE_TEXT(lines), count_line, &n, &w->err));
	assert_true(n > 0);
}

/* Everything that is there can be read and verifies. */
static void look_through(struct work *w)
{
	auto_blob struct rye_blob *text = NULL, *artifact = NULL;
	auto_json json_t *doc = NULL, *tools = NULL;
	const struct seal seal = { &w->r.p.env, w->r.p.project, "graphs", "g-1" };
	struct chronicle_check check;
	int64_t turn;

	assert_works(&w->err, thread_json_read(&w->r.record, &doc, &w->err));
	assert_works(&w->err, capabilities_md_read(&w->r.record, &tools, &w->err));
	assert_works(&w->err, record_transcript(&w->r.record, &text, &w->err));
	assert_int_equal(text->len, chronicle_size(w->chronicle));
	assert_int_equal(text->data[text->len - 1], '\n');
	chronicle_check(&w->r.record, (struct rye_span){ text->data, text->len }, NULL, &check);
	assert_true(check.code == RYE_OK || check.code == RYE_UNCOVERED);
	assert_works(&w->err, record_artifact(&w->r.record, "c", &artifact, &w->err));
	assert_works(&w->err, seal_check(&seal, &turn, &w->err));
	look_limits(w);
	look_other(w);
	assert_works(&told_err, place_load(&w->r.p, RYE_KNOWLEDGE, "agent/threads/" RECORD_ID, NULL,
					   &told_err));
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

static const work_fn all[] = { write_document, write_event,    write_point,  write_tools,
			       write_story,    write_artifact, write_answer, write_limits,
			       write_resumed,  write_torn,     write_seal };

static int place_dir(const struct work *w, const char *path)
{
	int dir;

	assert_int_equal(io_mkdirs_at(w->r.ai, path, 0700), 0);
	dir = openat(w->r.ai, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return dir;
}

/* A thread that is over, and a graph that has run. */
static void work_others(struct work *w)
{
	auto_close int graph = place_dir(w, "state/graphs/g-1");
	static const char line[] = "{\"event_type\": \"graph_started\", \"thread_id\": \"g-1\"}\n";

	w->other = w->r.record;
	w->other.id = "t/other-1";
	w->other.dir = place_dir(w, "state/threads/t/other-1");
	assert_int_equal(io_replace_at(w->other.dir, "transcript.jsonl", SPAN(""), 0600), 0);
	assert_int_equal(io_replace_at(graph, "transcript.jsonl", SPAN(line), 0600), 0);
}

static void work_begin(struct work *w, const json_t *secrets)
{
	record_place_make(&w->r, RECORD_ID);
	w->r.record.secrets = secrets;
	work_others(w);
	assert_works(&w->err, chronicle_open(&w->r.record, &w->chronicle, &w->err));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(all[i](w), 0);
}

static void work_end(struct work *w)
{
	chronicle_close(w->chronicle);
	close(w->other.dir);
	record_place_drop(&w->r);
}

static void thread_F30_every_write_can_fail(void **state)
{
	struct work w = { .step = 0 };

	work_begin(&w, NULL);
	for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
		fail_each(&w, all[i], ENOSPC);
		fail_each(&w, all[i], EIO);
	}
	work_end(&w);
}

/* The document that was there stays until another one is whole. */
static void thread_F32_the_record_is_replaced(void **state)
{
	struct work w = { .step = 0 };

	work_begin(&w, NULL);
	fail_each(&w, write_document, ENOSPC);
	fail_each(&w, write_document, EIO);
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
	/* the last three read what is there, and jansson's lexer heeds no lack of memory within a string */
	for (size_t i = 0; i < ARRAY_SIZE(all) - 3; i++)
		fail_allocations(&w, all[i]);
	assert_int_equal(nftw(w.r.p.base, look_at, 8, FTW_PHYS), 0);
	work_end(&w);
}

/* What opens a transcript, before it reads: the chronicle, the digest of its bytes. */
static void no_memory_for_a_digest(void **state)
{
	struct work w = { .step = 0 };

	work_begin(&w, NULL);
	for (int n = 1; n <= 2; n++) {
		fault.armed = fault.memory = true;
		fault.left = n;
		fault.failed = 0;
		assert_int_equal(write_torn(&w), -RYE_IO);
		fault.armed = fault.memory = false;
		assert_int_equal(fault.failed, 1);
		assert_non_null(strstr(w.err.msg, "emory"));
	}
	assert_int_equal(write_torn(&w), 0);
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
		cmocka_unit_test(thread_F30_every_write_can_fail),
		cmocka_unit_test(thread_F32_the_record_is_replaced),
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(no_memory_for_a_digest),
		cmocka_unit_test(thread_F33_no_directory),
	};

	if (!own_crypto())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
