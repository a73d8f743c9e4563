/* SPDX-License-Identifier: MIT */
/*
 * prop_messages.c - what a writer of random messages is told, and what runs.
 *
 * A round is one conversation: messages of both forms, good and bad, joined, cut into writes
 * anywhere and written until one fails. A model that shares no state with the feed says before each
 * write what has to come of it: the bytes that are taken or the errno, and the messages that start.
 * Kernel and tool are made up; the engine's reader of messages is the real one. RYE_ROUNDS: how
 * many rounds. RYE_SEED replays a run; it is printed. In half of the rounds the item takes several
 * parameters: then a line may be a part of a message.
 */
#include "fake/talk_world.h"
#include "random_steps.h"

#include "parse/parse.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 2000
#define STREAM 600
#define RUNS 64

/* ---- chance ---- */

static struct random chance;

static size_t below(size_t n)
{
	return random_below(&chance, n);
}

/* ---- the model ---- */

struct text {
	char ptr[2 * STREAM];
	size_t len;
};

struct model {
	struct text open; /* of an object that is not closed yet, and of half a mark before one */
	bool behind; /* a message: blank lines are its own */
	bool several; /* the item takes more than one parameter */
	bool refused; /* a line: no other is taken behind it */
	/* of the last write */
	size_t taken;
	int sys;
	size_t runs;
	struct text run[RUNS];
};

static void add(struct text *text, const char *ptr, size_t len)
{
	memcpy(text->ptr + text->len, ptr, len);
	text->len += len;
	text->ptr[text->len] = '\0';
}

static size_t blanks(const char *p, size_t len, const char *set)
{
	size_t n = 0;

	while (n < len && p[n] && strchr(set, p[n]))
		n++;
	return n;
}

/* Length of the object that begins here; 0: not closed; -1: it can never be one. */
static ssize_t object_len(const char *p, size_t len)
{
	char closers[STREAM];
	size_t depth = 0, i, first = 1 + blanks(p + 1, len - 1, " \t\r\n");

	if (first < len && p[first] != '"' && p[first] != '}')
		return -1;
	for (i = 0; i < len; i++) {
		if (p[i] == '\0')
			return -1;
		if (p[i] == '{' || p[i] == '[')
			closers[depth++] = p[i] == '{' ? '}' : ']';
		if (p[i] == '}' || p[i] == ']') {
			if (closers[--depth] != p[i])
				return -1;
			if (depth == 0)
				return (ssize_t)i + 1;
		}
		if (p[i] != '"')
			continue;
		for (i++; i < len && p[i] != '"'; i++) {
			i += p[i] == '\\' && i + 1 < len;
			if (p[i] == '\n' || p[i] == '\0')
				return -1;
		}
	}
	return 0;
}

static bool has_word(const struct text *text, const char *word)
{
	return strstr(text->ptr, word) != NULL;
}

/* One of the lines that rounds are made of, in a mapping that has no other of its name. */
static bool pair_is_good(const char *line, size_t len, bool seen[26])
{
	size_t i = 3;

	if (len == 2 && memcmp(line, "o:", 2) == 0)
		return !seen['o' - 'a'] && (seen['o' - 'a'] = true);
	if (len < 4 || line[0] < 'a' || line[0] > 'z' || line[1] != ':' || line[2] != ' ')
		return false;
	while (i < len && ((line[i] >= 'a' && line[i] <= 'z') || line[i] == '1'))
		i++;
	if (i < len || seen[line[0] - 'a'])
		return false;
	return seen[line[0] - 'a'] = true;
}

static bool yaml_is_good(const struct text *text)
{
	bool seen[26] = { false }, flow = false;
	size_t pairs = 0, indent = 0, at = 0;

	while (at < text->len) {
		size_t len = strcspn(text->ptr + at, "\n"), next = at + len + 1;
		size_t begin = blanks(text->ptr + at, len, " ");
		size_t mute = blanks(text->ptr + at, len, " \t\r");
		const char *line = text->ptr + at + begin;

		len -= begin;
		at = next;
		len -= len && line[len - 1] == '\r';
		if (mute >= begin + len || line[mute - begin] == '#')
			continue;
		if (flow || (pairs && indent != begin))
			return false;
		flow = len == 14 && memcmp(line, "{y: [x, 'z'] }", 14) == 0 && !pairs;
		indent = begin;
		if (!flow && !pair_is_good(line, len, seen))
			return false;
		pairs++;
	}
	return pairs > 0;
}

static bool is_line(const struct text *text)
{
	size_t first = strcspn(text->ptr, "\n") + 1;

	return blanks(text->ptr + first, text->len - first, " \t\r\n") == text->len - first;
}

/* What lines of pairs do not decide: a mark, a tab or an object inside of YAML, a pair below a name. */
static bool yaml_is_strange(const struct text *text)
{
	return has_word(text, "\xef\xbb\xbf") || has_word(text, "\t") ||
	       (has_word(text, "o:\n") && !is_line(text)) ||
	       (has_word(text, "{") && !has_word(text, "{y: [x, 'z'] }"));
}

/* Several are the engine's to refuse: it knows the item. */
static json_t *world_reads(struct rye_span text, enum rye_form form, bool several)
{
	json_t *doc = message_read(text, form, NULL);
	size_t first = blanks(text.ptr, text.len, " \t\r");

	if (form != RYE_FORM_LINE || !several || text.ptr[first] == '{')
		return doc;
	json_decref(doc);
	return NULL;
}

static bool engine_reads(const struct text *text)
{
	json_t *doc = message_read((struct rye_span){ text->ptr, text->len }, RYE_FORM_YAML, NULL);

	json_decref(doc);
	return doc;
}

static bool json_is_good(const struct text *text)
{
	json_t *doc = json_loadb(text->ptr, text->len, JSON_REJECT_DUPLICATES, NULL);
	bool good = doc && !json_object_get(doc, "status");

	json_decref(doc);
	return good;
}

/* A single line that may have others behind it, or that is none. */
static bool model_refuses(const struct model *m, const struct text *text, bool good)
{
	bool flow = text->ptr[blanks(text->ptr, text->len, " \t\r")] == '{';

	return is_line(text) && (!good || (!flow && (m->several || has_word(text, "o:"))));
}

/* False: the write ends here. at: behind it. */
static bool model_run(struct model *m, const char *ptr, size_t len, bool yaml, size_t at)
{
	struct text message = { .len = 0 };
	bool good;

	add(&message, ptr, len);
	if (yaml)
		good = yaml_is_strange(&message) ? engine_reads(&message) : yaml_is_good(&message);
	else
		good = json_is_good(&message);
	m->refused = yaml && model_refuses(m, &message, good);
	good = good && !m->refused;
	m->behind = true;
	if (good)
		m->run[m->runs++] = message;
	if (good && !has_word(&message, "fail")) {
		m->taken = at;
		return true;
	}
	m->sys = m->taken ? 0 : good ? EREMOTEIO : EINVAL;
	return false;
}

static bool model_wrong(struct model *m)
{
	m->sys = m->taken ? 0 : EINVAL;
	return false;
}

/* YAML's braces: what is behind the first one says so, in the same write. */
static bool model_is_flow(const char *p, size_t left, bool same)
{
	size_t first = 1 + blanks(p + 1, left - 1, " \t\r\n");

	return same && first < left && p[first] && p[first] != '"' && p[first] != '}';
}

static bool model_object(struct model *m, const struct text *all, size_t before, const char *p,
			 size_t *at)
{
	size_t left = all->len - (size_t)(p - all->ptr);
	ssize_t len = object_len(p, left);

	if (len < 0)
		return model_wrong(m);
	if (len > 0) {
		*at = (size_t)(p - all->ptr) + (size_t)len;
		return model_run(m, p, (size_t)len, false, *at - before);
	}
	m->behind = false;
	add(&m->open, p, left);
	return true;
}

/* From `at` of all: one message, or what is left. False: the write has failed. */
static bool model_step(struct model *m, const struct text *all, size_t before, size_t *at)
{
	size_t line = *at, left = all->len - *at, n;
	const char *p = all->ptr + *at;
	bool mark = false, blank = false;

	*at = all->len;
	for (;;) {
		n = blanks(p, left, " \t\r");
		p += n, left -= n;
		if (left && *p == '\n') {
			p++, left--;
			blank = true;
			mark = false;
			line = (size_t)(p - all->ptr);
		} else if (left >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
			if (mark)
				return model_wrong(m);
			mark = true;
			p += 3, left -= 3;
			line = (size_t)(p - all->ptr);
		} else {
			break;
		}
	}
	if (left == 0 && blank && !mark && !m->behind && line > before) {
		if (!model_run(m, "{}", 2, false, all->len - before))
			return false;
		m->behind = false;
		return true;
	}
	if (left == 0 || (left < 3 && memcmp(p, "\xef\xbb\xbf", left) == 0)) {
		if (mark && left)
			return model_wrong(m);
		if (mark)
			add(&m->open, "\xef\xbb\xbf", 3);
		add(&m->open, p, left);
		return true;
	}
	if (*p == '{' && !model_is_flow(p, left, (size_t)(p - all->ptr) >= before))
		return model_object(m, all, before, p, at);
	if (all->ptr[all->len - 1] != '\n' || memchr(p, '\0', left))
		return model_wrong(m);
	return model_run(m, all->ptr + line, all->len - line, true, all->len - before);
}

static void model_write(struct model *m, const char *ptr, size_t len)
{
	struct text all = m->open;
	size_t before = m->open.len, at = 0;

	add(&all, ptr, len);
	m->open.len = 0;
	m->runs = 0;
	m->taken = 0;
	m->sys = 0;
	while (at < all.len)
		if (!model_step(m, &all, before, &at))
			return;
	m->taken = len;
}

/* ---- the world around the conversation ---- */

static struct {
	size_t n;
	struct text v[RUNS];
} runs;

/* A message that was given to the engine ends. */
static void finish_run(size_t i, bool several)
{
	struct rye_span message = { world.calls[i].message, strlen(world.calls[i].message) };
	json_t *doc = world_reads(message, world.calls[i].form, several);
	bool fail = strstr(message.ptr, "fail");

	if (doc) {
		runs.v[runs.n].len = 0;
		add(&runs.v[runs.n++], message.ptr, message.len);
	}
	finish(i, !doc ? RYE_INVALID : fail ? RYE_TOOL_FAILED : RYE_OK, OK);
	json_decref(doc);
}

static struct fuse_req write_to(const struct model *m, size_t off, const char *ptr, size_t len)
{
	fuse_req_t req;

	runs.n = world.n = 0;
	req = put_bytes(off, ptr, len);
	for (size_t i = 0; i < world.n; i++)
		finish_run(i, m->several);
	assert_true(req->answered);
	return *req;
}

/* ---- rounds ---- */

static const char *const words[] = {
	"{}",
	"{}\n",
	"\n",
	" \r\n",
	" \t",
	"{\"a\":1}",
	"{\"a\":\"\\\"}{\"}\r\n",
	"{\"a\":[1,{\"b\":[]}],\n\"c\":\"\xc3\xa9\"}\n",
	"\xef\xbb\xbf{\"m\":1}\n",
	"\xef\xbb\xbf",
	"{\"fail\":1}\n",
	"{\"a\":1,\"a\":2}\n",
	"{\"a\":tru}",
	"{\"open\":",
	"{\n",
	"{",
	"{\"a\":1]",
	"{\"a\":\"b\n",
	"{\"status\":\"error\",\"error\":\"saved\"}\n",
	"k: words\n",
	"o:\n",
	"l: fail\n",
	"a: 1\nb: two\n",
	"\xef\xbb\xbfm: 1\n",
	"  i: 1\r\n  j: 1\n",
	"{y: [x, 'z'] }\n",
	"# nothing\n",
	"k: \"words",
	"nonsense\n",
	"[1]\n",
	"NUL",
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static size_t compose(char *stream)
{
	size_t len = 0, n = 1 + below(6);

	for (size_t i = 0; i < n; i++) {
		const char *word = words[below(WORDS)];
		size_t size = strcmp(word, "NUL") ? strlen(word) : 1;

		if (len + size > STREAM)
			break;
		memcpy(stream + len, size == 1 && *word == 'N' ? "" : word, size);
		len += size;
	}
	return len;
}

/* Mostly at the end of a line, as programs do. */
static size_t cut_at(const char *p, size_t len)
{
	const char *newline = memchr(p, '\n', len);

	switch (below(4)) {
	case 0:
		return 1 + below(len);
	case 1:
		return 1 + below(len < 3 ? len : 3);
	case 2:
		return newline ? (size_t)(newline - p) + 1 : len;
	default:
		return len;
	}
}

static void expect_runs(const struct model *m)
{
	assert_int_equal(runs.n, m->runs);
	for (size_t i = 0; i < m->runs; i++) {
		assert_int_equal(runs.v[i].len, m->run[i].len);
		assert_memory_equal(runs.v[i].ptr, m->run[i].ptr, m->run[i].len);
	}
}

static void expect_unfinished(bool unfinished)
{
	struct caller *who = caller_identify(world.callers, getpid(), getuid());
	struct own_origin origin;
	struct rye_blob *blob = own_output(world.talks, who, "tool:a/b", &origin);

	assert_non_null(blob);
	assert_int_equal(strstr(blob->data, "message unfinished: ") && strstr(blob->data, "came"),
			 unfinished);
	rye_blob_unref(blob);
	caller_unref(who);
}

/* The write that is not as it should be. */
static void show(const char *ptr, size_t off, size_t n, const struct fuse_req *req,
		 const struct model *m)
{
	print_message("# offset %zu, %zu bytes:", off, n);
	for (size_t i = 0; i < off + n; i++)
		print_message(i == off			    ? " | %02x " :
			      ptr[i] > ' ' && ptr[i] < 0x7f ? "%c" :
							      "\\x%02x",
			      (unsigned char)ptr[i]);
	print_message("\n# errno %d of %d, taken %zu of %zu, runs %zu of %zu\n", req->sys, m->sys,
		      req->count, m->taken, runs.n, m->runs);
}

/* Is an object open, not only a mark before one? */
static bool is_open(const struct model *m)
{
	return memchr(m->open.ptr, '{', m->open.len) != NULL;
}

/* A program goes on line by line behind the one that was refused; a person with an object. */
static void expect_refused(const struct model *m, size_t off)
{
	struct fuse_req req = write_to(m, off, "z: 1\n", 5);

	assert_int_equal(req.sys, EINVAL);
	assert_int_equal(runs.n, 0);
	req = write_to(m, off, "{\"a\":1}", 7);
	assert_int_equal(req.sys, 0);
	assert_int_equal(runs.n, 1);
}

static void round_of_writes(void)
{
	static struct model m;
	char stream[STREAM + 1];
	size_t len = compose(stream), off = 0;
	bool failed = false, ran = false;

	world.talk = lookup();
	m.open.len = 0;
	m.behind = false;
	m.refused = false;
	m.several = below(2);
	while (off < len && !failed) {
		size_t n = cut_at(stream + off, len - off);
		struct fuse_req req;

		model_write(&m, stream + off, n);
		req = write_to(&m, off, stream + off, n);
		if (req.sys != m.sys || req.count != (m.sys ? 0 : m.taken) || runs.n != m.runs)
			show(stream, off, n, &req, &m);
		assert_int_equal(req.sys, m.sys);
		assert_int_equal(req.count, m.sys ? 0 : m.taken);
		expect_runs(&m);
		ran |= m.runs > 0;
		failed = m.sys || m.taken < n;
		off += m.taken;
		n -= m.taken;
		if (!failed)
			continue;
		/* sent again, it fails as it did and runs nothing */
		if (m.taken)
			req = write_to(&m, off, stream + off, n);
		req = write_to(&m, off, stream + off, n);
		assert_true(req.sys != 0);
		assert_int_equal(runs.n, 0);
		if (m.refused)
			expect_refused(&m, off);
	}
	if (!failed && (ran || is_open(&m)))
		expect_unfinished(is_open(&m));
	talk_forget(world.talk);
	free_requests();
}

static void rounds(void **state)
{
	const char *many = getenv("RYE_ROUNDS");
	long n = many ? atol(many) : ROUNDS;

	chance = random_seed();
	open_run(0);
	for (long i = 0; i < n; i++)
		round_of_writes();
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
