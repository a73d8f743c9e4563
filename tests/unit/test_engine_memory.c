/* SPDX-License-Identifier: MIT */
/*
 * Memory that runs out. Every call of the engine is made again and again while its N-th allocation
 * fails, N = 1, 2, 3 …, once alone and once with all that follow: each time it says the same as with
 * enough memory, or that memory ran out, and afterwards it says the same as ever. The linker puts the
 * functions here before those of the library (tests/unit/meson.build), jansson's go through them.
 */
#include "exec_tools.h"
#include "own_crypto.h"

#include "clock.h"
#include "thread/thread_inner.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>

/* ---- allocations that fail ---- */

static struct {
	_Atomic bool armed;
	_Atomic long left; /* allocations until the one that fails */
	_Atomic long failed;
	bool on; /* all after it fail too */
	void *where[24]; /* the callers of the first one that failed, for addr2line */
	int depth;
} fault;

static bool is_lacking(void)
{
	long left;

	if (!atomic_load(&fault.armed))
		return false;
	left = atomic_fetch_sub(&fault.left, 1);
	if (left > 1 || (left < 1 && !fault.on))
		return false;
	if (!atomic_fetch_add(&fault.failed, 1))
		fault.depth = backtrace(fault.where, ARRAY_SIZE(fault.where));
	errno = ENOMEM;
	return true;
}

#define WRAPPED(type, name, declared, used)                      \
	type __real_##name declared;                             \
	type __wrap_##name declared;                             \
	type __wrap_##name declared                              \
	{                                                        \
		return is_lacking() ? NULL : __real_##name used; \
	}

WRAPPED(void *, malloc, (size_t size), (size))
WRAPPED(void *, calloc, (size_t n, size_t size), (n, size))
WRAPPED(void *, realloc, (void *old, size_t size), (old, size))
WRAPPED(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size))
WRAPPED(char *, strdup, (const char *text), (text))
WRAPPED(char *, strndup, (const char *text, size_t n), (text, n))
WRAPPED(char *, realpath, (const char *path, char *to), (path, to))
WRAPPED(DIR *, fdopendir, (int fd), (fd))
WRAPPED(DIR *, opendir, (const char *path), (path))
WRAPPED(FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAPPED(FILE *, fdopen, (int fd, const char *mode), (fd, mode))

int __wrap_asprintf(char **ret, const char *format, ...) RYE_PRINTF(2, 3);
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int n;

	if (is_lacking())
		return -1;
	va_start(args, format);
	n = vasprintf(ret, format, args);
	va_end(args);
	return n;
}

/* SQLite's allocations are ours, too. */
static void *sqlite_malloc(int n)
{
	return malloc((size_t)n);
}

static void *sqlite_realloc(void *old, int n)
{
	return realloc(old, (size_t)n);
}

static int sqlite_size(void *p)
{
	return (int)malloc_usable_size(p);
}

static int sqlite_roundup(int n)
{
	return n;
}

static int sqlite_begin(void *arg)
{
	return SQLITE_OK;
}

static void sqlite_end(void *arg)
{
}

/* ---- what a call said ---- */

/* Not on the heap: it is filled while memory is short. Numbers change from call to call: 0. */
struct said {
	enum rye_code code;
	char msg[960];
	size_t len;
	char text[60000];
};

static void said_add(struct said *said, const char *text, size_t len)
{
	for (size_t i = 0; i < len && said->len < sizeof(said->text) - 1; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (digit && said->len && said->text[said->len - 1] == '0')
			continue;
		said->text[said->len++] = digit ? '0' : text[i];
	}
	said->text[said->len] = 0;
}

static void said_adds(struct said *said, const char *text)
{
	said_add(said, text, strlen(text));
	said_add(said, "|", 1);
}

static void said_blob(struct said *said, struct rye_blob *blob)
{
	if (!blob)
		fail_msg("success without bytes");
	said_add(said, blob->data, blob->len);
	said_add(said, "|", 1);
	rye_blob_unref(blob);
}

static int said_name(void *arg, const char *name)
{
	said_adds(arg, name);
	return 0;
}

static int said_entry(void *arg, const struct rye_entry *entry)
{
	said_adds(arg, entry->name);
	said_adds(arg, rye_code_name(entry->verdict));
	said_adds(arg, entry->reason);
	return 0;
}

static int said_hit(void *arg, const struct rye_hit *hit)
{
	said_adds(arg, hit->id);
	said_adds(arg, hit->title);
	return 0;
}

static int said_verdict(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	if (verdict && verdict->code == RYE_IO && !strstr(verdict->message, "emory"))
		fail_msg("%s: %s", verdict->id, verdict->message);
	/* one that could not be looked at for lack of memory says so */
	if (verdict && verdict->code == RYE_IO) {
		((struct said *)arg)->code = RYE_IO;
		snprintf(((struct said *)arg)->msg, 960, "%s", verdict->message);
	} else if (verdict) {
		said_adds(arg, verdict->id);
		said_adds(arg, rye_code_name(verdict->code));
		said_adds(arg, verdict->message);
	}
	return 0;
}

/* ---- the calls ---- */

struct world {
	struct exec_place place;
	struct rye *rye;
};

static void said_run(struct world *w, const struct rye_request *req, struct said *said)
{
	struct rye_outcome outcome = { .message = "" };
	const char *at;

	rye_call_sync(w->rye, req, &outcome);
	if (!outcome.reply || !outcome.output)
		fail_msg("an outcome without texts");
	said->code = outcome.code;
	if (outcome.code != RYE_OK) {
		at = strstr(outcome.reply->data, "\"error\":");
		if (!at || !strstr(outcome.reply->data, "\"status\":\"error\""))
			fail_msg("half a reply: %s", outcome.reply->data);
		snprintf(said->msg, sizeof(said->msg), "%.950s", at);
	}
	said_add(said, outcome.reply->data, outcome.reply->len);
	said_add(said, outcome.output->data, outcome.output->len);
	rye_outcome_done(&outcome);
}

static void said_item(struct world *w, enum rye_verb verb, const char *ref, struct said *said)
{
	const struct rye_request req = {
		.verb = verb,
		.kind = *ref == 'd' ? RYE_DIRECTIVE : RYE_TOOL,
		.id = strchr(ref, ':') + 1,
		.message = SPAN("{\"name\":\"x\",\"text\":\"abc\"}"),
	};

	said_run(w, &req, said);
}

static void call_tool(struct world *w, struct said *said)
{
	said_item(w, RYE_RUN, "tool:t/a", said);
}

static void call_script(struct world *w, struct said *said)
{
	said_item(w, RYE_RUN, "tool:t/s", said);
}

static void call_dry(struct world *w, struct said *said)
{
	said_item(w, RYE_DRY_RUN, "tool:t/a", said);
}

static void call_directive(struct world *w, struct said *said)
{
	const struct rye_request req = { .verb = RYE_RUN,
					 .kind = RYE_DIRECTIVE,
					 .id = "vec/b1",
					 .message = SPAN("{\"who\":\"you\"}") };

	said_run(w, &req, said);
}

static void call_execute(struct world *w, struct said *said)
{
	const struct rye_request req = {
		.verb = RYE_EXECUTE,
		.id = "",
		.form = RYE_FORM_YAML,
		.message = SPAN("item_id: tool:t/a\nparameters: {name: x, text: abc}\n"),
	};

	said_run(w, &req, said);
}

static void call_fetch(struct world *w, struct said *said)
{
	const struct rye_request req = { .verb = RYE_FETCH,
					 .id = "",
					 .message = SPAN("{\"item_id\":\"tool:t/a\"}") };

	said_run(w, &req, said);
}

static void call_find(struct world *w, struct said *said)
{
	const struct rye_request req = { .verb = RYE_FETCH,
					 .id = "",
					 .message =
						 SPAN("{\"query\":\"test\",\"scope\":\"tool\"}") };

	said_run(w, &req, said);
}

static void call_lookup(struct world *w, struct said *said)
{
	struct rye_err err = { 0 };
	struct rye_stat st;

	said->code = (enum rye_code) - rye_lookup(w->rye, RYE_TOOL, "t/a.py", &st, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
	if (said->code == RYE_OK) {
		said_adds(said, st.id);
		said_adds(said, rye_code_name(st.verdict));
		said_adds(said, st.reason);
	}
}

static bool want_all(void *arg, const struct rye_stat *st)
{
	return true;
}

static void read_want(struct world *w, const struct rye_want *want, struct said *said)
{
	struct rye_err err = { 0 };
	struct rye_blob *blob = NULL;
	struct rye_file file;

	said->code = (enum rye_code) - rye_read(w->rye, want, &file, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
	if (said->code == RYE_OK) {
		said_adds(said, rye_code_name(file.st.verdict));
		said_adds(said, file.st.reason);
		if (!file.text)
			fail_msg("success without bytes");
		said->code = (enum rye_code) - rye_text_get(file.text, &blob, &err);
		snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
		rye_text_unref(file.text);
		if (said->code == RYE_OK)
			said_blob(said, blob);
	}
}

static void call_read(struct world *w, struct said *said)
{
	const struct rye_want want = { RYE_DIRECTIVE, "vec/b1.md", want_all, NULL };

	read_want(w, &want, said);
}

static void call_read_inputs(struct world *w, struct said *said)
{
	const struct rye_want want = { RYE_DIRECTIVE, "vec/b1.md", want_all, NULL, "who=Ann" };

	read_want(w, &want, said);
}

static void call_list(struct world *w, struct said *said)
{
	const struct rye_walk walk = { RYE_TOOL, "t", true, said_entry, said };
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_list(w->rye, &walk, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

/* Every view of a directive, a tool and a knowledge entry: the first error counts. */
static void call_views(struct world *w, struct said *said)
{
	static const struct rye_ask of[] = { { RYE_DIRECTIVE, "vec/b1", 0, NULL },
					     { RYE_TOOL, "t/a", 0, NULL },
					     { RYE_KNOWLEDGE, "vec/b3", 0, NULL },
					     { RYE_CONFIG, "app/set", 0, NULL } };

	for (size_t i = 0; i < ARRAY_SIZE(of) && said->code == RYE_OK; i++)
		for (int view = 0; view < RYE_VIEW__MAX && said->code == RYE_OK; view++) {
			struct rye_ask ask = of[i];
			struct rye_blob *blob = NULL;
			struct rye_err err = { 0 };

			ask.view = (enum rye_view)view;
			said->code = (enum rye_code) - rye_view(w->rye, &ask, &blob, &err);
			if (said->code == RYE_NOT_FOUND && strstr(err.msg, " has no ")) {
				said->code = RYE_OK;
				continue;
			}
			snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
			if (said->code == RYE_OK)
				said_blob(said, blob);
		}
}

static void call_verify(struct world *w, struct said *said)
{
	const struct rye_batch batch = { .fn = said_verdict, .arg = said };
	struct rye_err err = { 0 };
	int r = rye_verify_all(w->rye, &batch, &err);

	if (!r)
		return;
	said->code = (enum rye_code) - r;
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

/* What lies in the file afterwards belongs to what the call said: all or nothing. */
static void call_sign(struct world *w, struct said *said)
{
	const struct rye_batch batch = { .pattern = "knowledge:n/new",
					 .space = RYE_PROJECT,
					 .fn = said_verdict,
					 .arg = said };
	const struct rye_batch check = { .pattern = "knowledge:n/new",
					 .fn = said_verdict,
					 .arg = said };
	static const char page[] = "```yaml\nname: new\ntitle: T\nentry_type: reference\n"
				   "category: n\nversion: \"1.0.0\"\nauthor: a\n"
				   "created_at: 2026-01-01T00:00:00Z\n```\n\nText.\n";
	char path[300];
	struct rye_blob *blob;
	struct rye_err err = { 0 };
	bool armed = atomic_exchange(&fault.armed, false);
	int r;

	place_text(w->place.place.project, "knowledge/n/new.md", page);
	atomic_store(&fault.armed, armed);
	r = rye_sign_all(w->rye, &batch, &err);
	if (r) {
		said->code = (enum rye_code) - r;
		snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
	}
	armed = atomic_exchange(&fault.armed, false);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/n/new.md", w->place.place.project);
	blob = place_read(path);
	if (said->code != RYE_OK && strcmp(blob->data, page) &&
	    strncmp(blob->data, "<!-- rye:signed:", 16))
		fail_msg("half signed: %s", blob->data);
	rye_blob_unref(blob);
	if (said->code == RYE_OK)
		rye_verify_all(w->rye, &check, &err);
	atomic_store(&fault.armed, armed);
}

static void call_search(struct world *w, struct said *said)
{
	const struct rye_query query = { .text = "test", .limit = 20, .fn = said_hit, .arg = said };
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_search(w->rye, &query, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

static void call_threads(struct world *w, struct said *said)
{
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_thread_list(w->rye, said_name, said, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

/* One that has ended: its names, the derived files, the real ones. */
static void call_thread(struct world *w, struct said *said)
{
	static const char *const files[] = { "status", "directive", "error", "result.json" };
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_thread_names(w->rye, "one", said_name, said, &err);
	for (size_t i = 0; i < ARRAY_SIZE(files) && said->code == RYE_OK; i++) {
		struct rye_blob *blob = NULL;

		said->code =
			(enum rye_code) - rye_thread_file(w->rye, "one", files[i], &blob, &err);
		if (said->code == RYE_OK)
			said_blob(said, blob);
	}
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

static int said_key(void *arg, const struct rye_key *key)
{
	said_adds(arg, key->fingerprint);
	said_adds(arg, key->status);
	return 0;
}

static void call_keys(struct world *w, struct said *said)
{
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_key_list(w->rye, said_key, said, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

/* ---- the test ---- */

static void world_open(struct world *w, struct said *said)
{
	const struct rye_options opt = { .project = w->place.place.project,
					 .user_base = w->place.place.user,
					 .system_roots = w->place.place.system,
					 .jobs = 1 };
	struct rye_err err = { 0 };

	said->code = (enum rye_code) - rye_open(&opt, &w->rye, &err);
	snprintf(said->msg, sizeof(said->msg), "%s", err.msg);
}

static void make_thread(struct world *w)
{
	const char *project = w->place.place.project;
	struct rye_err err = { 0 };
	struct db *db;
	char path[300];

	place_text(project, "state/threads/one/result.json", "{\"error\":\"it failed\"}");
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", project);
	if (registry_open(path, &db, &err) ||
	    registry_add(db, &(struct registry_new){ .id = "one", .directive = "tool:t/a" },
			 &err) ||
	    registry_finish(db, "one", "error", "{}", &err))
		fail_msg("%s", err.msg);
	db_close(db);
}

static void world_make(struct world *w)
{
	struct said said = { 0 };
	struct rye_err err = { 0 };
	char fp[17];

	*w = (struct world){ 0 };
	exec_place_make(&w->place);
	place_put(w->place.place.project, "directives/vec/b1.md", "binding/b1.md");
	place_put(w->place.place.user, "knowledge/vec/b3.md", "binding/b3.md");
	exec_function(&w->place, "t/a.py", "return {'got': p, 'list': [1, 'a', {'b': None}]}\n");
	exec_sign(w->place.place.project, RYE_TOOL, "t/s.sh",
		  SPAN("# version: 1.0.0\n# executor_id: rye/core/runtimes/bash/bash\n"
		       "# category: t\n# description: a test\necho out; echo err >&2\n"));
	exec_sign(w->place.place.project, RYE_CONFIG, "app/set.yaml", SPAN("a: 1\nb: [x, y]\n"));
	place_text(w->place.place.project, "tools/t/unsigned.py", "print(1)\n");
	make_thread(w);
	world_open(w, &said);
	if (said.code || rye_key_generate(w->rye, RYE_KEY_NEW, fp, &err) ||
	    rye_key_trust(w->rye, "self", "me", NULL, fp, &err))
		fail_msg("%s %s", said.msg, err.msg);
}

typedef void (*call_fn)(struct world *w, struct said *said);

/* The engine's own opening is a call like the others. */
static void call_open(struct world *w, struct said *said)
{
	rye_close(w->rye);
	w->rye = NULL;
	world_open(w, said);
	if (said->code != RYE_OK && w->rye)
		fail_msg("an engine that did not open");
}

static void world_fresh(struct world *w)
{
	struct said said = { 0 };

	rye_close(w->rye);
	w->rye = NULL;
	world_open(w, &said);
	if (said.code)
		fail_msg("%s", said.msg);
}

static void fail_at(long n, const struct said *good, const struct said *said)
{
	size_t same = 0;

	while (good->text[same] && good->text[same] == said->text[same])
		same++;
	same = same > 100 ? same - 100 : 0;
	backtrace_symbols_fd(fault.where, fault.depth, 2);
	fail_msg("allocation %ld: %s '%s': wanted\n%.500s\ngot\n%.500s", n,
		 rye_code_name(said->code), said->msg, good->text + same, said->text + same);
}

/* One round: the n-th allocation fails. False: there were not so many. */
static bool run_short(struct world *w, call_fn call, long n, const struct said *good)
{
	static struct said said;
	long failed;

	world_fresh(w);
	said = (struct said){ 0 };
	atomic_store(&fault.left, n);
	atomic_store(&fault.failed, 0);
	atomic_store(&fault.armed, true);
	call(w, &said);
	atomic_store(&fault.armed, false);
	failed = atomic_load(&fault.failed);
	if (said.code == RYE_OK && strcmp(said.text, good->text))
		fail_at(n, good, &said);
	if (said.code != RYE_OK && !strstr(said.msg, "emory"))
		fail_at(n, good, &said);
	if (!w->rye)
		return failed;
	said = (struct said){ 0 };
	call(w, &said);
	if (said.code != RYE_OK || strcmp(said.text, good->text))
		fail_at(n, good, &said);
	return failed;
}

/* For one call; RYE_ROUNDS times as long, to leave out fewer. */
#define ROUND_MS 500
/* For those of few allocations, so that none is left out. */
#define WHOLE_MS 20000

static void check_call(call_fn call, int64_t limit_ms)
{
	static struct said good;
	struct world w;
	const char *more = getenv("RYE_ROUNDS");
	int64_t start = clock_ms(), most = limit_ms * (more ? atoi(more) : 1);
	long n = 1, rounds = 0;

	world_make(&w);
	good = (struct said){ 0 };
	world_fresh(&w);
	call(&w, &good);
	if (good.code != RYE_OK)
		fail_msg("with memory: %s", good.msg);
	good = (struct said){ 0 };
	world_fresh(&w);
	call(&w, &good);
	for (int on = 0; on < 2; on++) {
		fault.on = on;
		/* big steps only when the machine is too slow for all of them */
		for (n = 1; run_short(&w, call, n, &good); rounds++)
			n += 1 + (clock_ms() - start > most) * n / 4;
	}
	print_message("# %ld allocations, %ld rounds, %lld ms\n", n, rounds,
		      (long long)(clock_ms() - start));
	rye_close(w.rye);
	nftw(w.place.place.base, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
}

#define SHORT(name)                                      \
	static void short_of_memory_##name(void **state) \
	{                                                \
		check_call(call_##name, ROUND_MS);       \
	}
#define SHORT_WHOLE(name)                                \
	static void short_of_memory_##name(void **state) \
	{                                                \
		check_call(call_##name, WHOLE_MS);       \
	}

SHORT(open)
SHORT(lookup)
SHORT_WHOLE(read)
SHORT_WHOLE(read_inputs)
SHORT(list)
SHORT(views)
SHORT(verify)
SHORT(sign)
SHORT(search)
SHORT(threads)
SHORT(thread)
SHORT(keys)
SHORT(dry)
SHORT(directive)
SHORT(execute)
SHORT(fetch)
SHORT(find)
SHORT(tool)
SHORT(script)

int main(void)
{
	static const struct sqlite3_mem_methods memory = {
		sqlite_malloc,	free,	      sqlite_realloc, sqlite_size,
		sqlite_roundup, sqlite_begin, sqlite_end,     NULL,
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_of_memory_open),
		cmocka_unit_test(short_of_memory_lookup),
		cmocka_unit_test(short_of_memory_read),
		cmocka_unit_test(short_of_memory_read_inputs),
		cmocka_unit_test(short_of_memory_list),
		cmocka_unit_test(short_of_memory_views),
		cmocka_unit_test(short_of_memory_verify),
		cmocka_unit_test(short_of_memory_sign),
		cmocka_unit_test(short_of_memory_search),
		cmocka_unit_test(short_of_memory_threads),
		cmocka_unit_test(short_of_memory_keys),
		cmocka_unit_test(short_of_memory_dry),
		cmocka_unit_test(short_of_memory_directive),
		cmocka_unit_test(short_of_memory_execute),
		cmocka_unit_test(short_of_memory_fetch),
		cmocka_unit_test(short_of_memory_find),
		cmocka_unit_test(short_of_memory_tool),
		cmocka_unit_test(short_of_memory_script),
		cmocka_unit_test(short_of_memory_thread),
	};

	sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	if (!own_crypto())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
