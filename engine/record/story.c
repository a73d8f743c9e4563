/* SPDX-License-Identifier: MIT */
/*
 * The transcript as a knowledge entry for people: what was said, which tools ran, what it cost. It is
 * written by a model, so nothing in it can end a block that it stands in, and it is signed by the key
 * that vouches for such entries alone. No lock.
 */
#include "record/record_inner.h"

#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of the format: what an entry shows of a result, and of a file that a call writes. */
#define RESULT_MAX 2000
#define CONTENT_MAX 500
#define STORY_DIR "knowledge/agent/threads"

struct story_walk {
	struct rye_buf *out;
	int turn; /* inputs so far, those of tools too */
	bool begun;
};

/* ---- pieces ---- */

static size_t longest_ticks(struct rye_span text)
{
	size_t longest = 0, n = 0;

	for (size_t i = 0; i < text.len; i++) {
		n = text.ptr[i] == '`' ? n + 1 : 0;
		longest = MAX_OF(longest, n);
	}
	return longest;
}

/* A block that the text in it cannot end. */
static void story_fence(struct rye_buf *out, const char *info, struct rye_span text)
{
	size_t ticks = MAX_OF(longest_ticks(text) + 1, 3);

	for (size_t i = 0; i < ticks; i++)
		buf_addc(out, '`');
	buf_addf(out, "%s\n", info);
	buf_addspan(out, text);
	if (text.len && text.ptr[text.len - 1] != '\n')
		buf_addc(out, '\n');
	for (size_t i = 0; i < ticks; i++)
		buf_addc(out, '`');
	buf_addc(out, '\n');
}

static struct rye_span cut_text(const char *text, size_t max)
{
	size_t n = strlen(text);

	return (struct rye_span){ text, n > max ? utf8_start(text, max) : n };
}

static void put_result_block(struct rye_buf *out, const char *title, const char *text)
{
	auto_buf struct rye_buf shown = RYE_BUF_INIT;
	struct rye_span cut = cut_text(text, RESULT_MAX);

	buf_addspan(&shown, cut);
	if (cut.len < strlen(text))
		buf_adds(&shown, "\n... (truncated)");
	buf_addf(out, "### %s\n\n", title);
	story_fence(out, "", (struct rye_span){ shown.data, shown.len });
	buf_addc(out, '\n');
}

/* A plain word as it is, everything else in quotes that YAML and JSON share. */
static void put_scalar(struct rye_buf *out, const char *key, const char *text)
{
	auto_json json_t *value = json_string(text);
	bool plain = isalpha((unsigned char)*text);

	for (const char *c = text; *c; c++)
		plain = plain && (isalnum((unsigned char)*c) || strchr("_./-", *c));
	buf_addf(out, "%s: ", key);
	if (plain)
		buf_adds(out, text);
	else
		json_python_dumps(out, value);
	buf_addc(out, '\n');
}

static void put_duration(struct rye_buf *out, double seconds)
{
	if (seconds < 60)
		buf_addf(out, "%.1fs", seconds);
	else
		buf_addf(out, "%.1fm", seconds / 60);
}

/* ---- events ---- */

static void tell_system(struct story_walk *walk, const json_t *payload)
{
	const json_t *layers = json_object_get(payload, "layers");
	json_t *layer;
	size_t i;

	buf_adds(walk->out, "## System Prompt (");
	json_array_foreach(layers, i, layer) {
		buf_addf(walk->out, "%s%s", i ? ", " : "",
			 json_is_string(layer) ? json_string_value(layer) : "");
	}
	buf_addf(walk->out, "%s)\n\n%s\n\n", json_array_size(layers) ? "" : "custom",
		 json_str(payload, "text"));
}

static void tell_input(struct story_walk *walk, const json_t *payload)
{
	walk->turn++;
	if (!strcmp(json_str(payload, "role"), "tool"))
		return;
	if (!walk->begun)
		buf_adds(walk->out, "---\n\n");
	walk->begun = true;
	buf_addf(walk->out, "## Input — Turn %d\n\n%s\n\n", walk->turn, json_str(payload, "text"));
}

static void tell_answer(struct story_walk *walk, const json_t *payload)
{
	buf_addf(walk->out, "### Response — Turn %d\n\n%s\n\n", walk->turn,
		 json_str(payload, "text"));
}

static void tell_reasoning(struct story_walk *walk, const json_t *payload)
{
	struct rye_span text = span_of(json_str(payload, "text")), line;

	while (span_line(&text, &line)) {
		if (line.len)
			buf_addf(walk->out, "> *%.*s*\n", (int)line.len, line.ptr);
		else
			buf_adds(walk->out, ">\n");
	}
	buf_addc(walk->out, '\n');
}

static void tell_call(struct story_walk *walk, const json_t *payload)
{
	auto_json json_t *input = json_copy(json_object_get(payload, "input"));
	auto_buf struct rye_buf json = RYE_BUF_INIT;
	const char *content = json_str(input, "content");

	if (strlen(content) > CONTENT_MAX) {
		struct rye_span cut = cut_text(content, CONTENT_MAX);

		json_set(input, "content", json_sprintf("%.*s...", (int)cut.len, cut.ptr));
	}
	json_pretty(&json, input);
	buf_addf(walk->out, "### Tool: %s\n\n", json_str(payload, "tool"));
	story_fence(walk->out, "json", (struct rye_span){ json.data, json.len });
	buf_addc(walk->out, '\n');
}

static void tell_result(struct story_walk *walk, const json_t *payload)
{
	const char *error = json_str(payload, "error");

	if (*error)
		put_result_block(walk->out, "Error", error);
	else
		put_result_block(walk->out, "Result", json_str(payload, "output"));
}

static int story_event(void *arg, const struct chronicle_line *line)
{
	struct story_walk *walk = arg;
	static const struct {
		const char *type;
		void (*fn)(struct story_walk *walk, const json_t *payload);
	} rows[] = {
		{ "system_prompt", tell_system }, { "cognition_in", tell_input },
		{ "cognition_out", tell_answer }, { "cognition_reasoning", tell_reasoning },
		{ "tool_call_start", tell_call }, { "tool_call_result", tell_result },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(line->type, rows[i].type))
			rows[i].fn(walk, line->payload);
	return walk->out->failed;
}

/* ---- the entry ---- */

static int first_time(void *arg, const struct chronicle_line *line)
{
	clock_stamp((time_t)line->timestamp, arg);
	return 1;
}

static void put_place(struct rye_buf *out, const char *id, const char *directive)
{
	const char *slash = strrchr(id, '/'), *leaf = strrchr(directive, '/');
	auto_json json_t *title = json_string(leaf ? leaf + 1 : directive);
	auto_free char *dir = strndup(id, slash ? (size_t)(slash - id) : 0);
	char category[1100];

	snprintf(category, sizeof(category), "agent/threads%s%s", slash ? "/" : "", dir ? dir : "");
	put_scalar(out, "name", slash ? slash + 1 : id);
	buf_adds(out, "title: ");
	json_python_dumps(out, title);
	buf_adds(out, "\nentry_type: thread_transcript\n");
	put_scalar(out, "category", category);
	buf_adds(out, "version: \"1.0.0\"\nauthor: rye\n");
}

static void put_numbers(struct rye_buf *out, const struct thread_cost *cost)
{
	buf_adds(out, "duration: ");
	put_duration(out, cost->elapsed_seconds);
	buf_addf(out,
		 "\nelapsed_seconds: %.2f\nturns: %" PRId64 "\ninput_tokens: %" PRId64
		 "\noutput_tokens: %" PRId64 "\nspend: ",
		 cost->elapsed_seconds, cost->turns, cost->input_tokens, cost->output_tokens);
	json_python_float(out, cost->spend);
	buf_addc(out, '\n');
}

static void put_front(struct rye_buf *out, const char *id, const struct story *what,
		      const char *created)
{
	put_place(out, id, what->directive);
	if (*created)
		buf_addf(out, "created_at: \"%s\"\n", created);
	put_scalar(out, "thread_id", id);
	put_scalar(out, "directive", what->directive);
	put_scalar(out, "status", what->status);
	if (what->model)
		put_scalar(out, "model", what->model);
	put_numbers(out, &what->cost);
	buf_addf(out, "tags: [thread, %s]\n", what->status);
	if (json_array_size(what->capabilities)) {
		buf_adds(out, "permissions: ");
		json_python_dumps(out, what->capabilities);
		buf_addc(out, '\n');
	}
	put_scalar(out, "capabilities_ref", "capabilities.md");
}

static void put_footer(struct rye_buf *out, const struct story *what)
{
	const struct thread_cost *cost = &what->cost;

	buf_addf(out, "---\n\n**%c%s** -- %" PRId64 " turns, %" PRId64 " tokens, $%.4f, ",
		 toupper((unsigned char)*what->status), *what->status ? what->status + 1 : "",
		 cost->turns, cost->input_tokens + cost->output_tokens, cost->spend);
	put_duration(out, cost->elapsed_seconds);
	buf_addc(out, '\n');
}

/* A transcript that is corrupt from some line on is told up to there. */
static int story_each(const struct chronicle_source *source, chronicle_fn fn, void *arg,
		      struct rye_err *err)
{
	int r = chronicle_each(source, fn, arg, err);

	return r == -(int)RYE_UNPARSABLE ? 0 : MIN_OF(r, 0);
}

int story_put(struct rye_buf *out, const char *id, const struct story *what,
	      const struct chronicle_source *source, struct rye_err *err)
{
	struct story_walk walk = { .out = out };
	unsigned long since = memory_failures();
	char created[24] = "";
	int r = story_each(source, first_time, created, err);

	if (r)
		return r;
	buf_adds(out, "```yaml\n");
	put_front(out, id, what, created);
	buf_addf(out, "```\n\n# %s\n\n", what->directive);
	r = story_each(source, story_event, &walk, err);
	put_footer(out, what);
	if (!r && !memory_check(since, NULL) && out->failed)
		r = rye_fail(err, RYE_TOO_BIG,
			     "what was said in thread %.700s has more than %u MiB: it is kept in "
			     "its transcript, and no page is made of it",
			     id, RYE_BUF_CAP >> 20);
	return r ? r : memory_result(since, out->failed ? -(int)RYE_IO : 0, err);
}

static void story_place(const struct record *record, char id[1100], char path[1200])
{
	snprintf(id, 1100, "agent/threads/%.1024s", record->id);
	snprintf(path, 1200, "knowledge/%s.md", id);
}

bool story_is_due(const struct record *record)
{
	char id[1100], path[1200];
	struct stat st;

	story_place(record, id, path);
	return fstatat(record->ai, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       record_now(record) / 1000000 - st.st_mtim.tv_sec >= 1;
}

int story_write(const struct record *record, const struct story *what,
		const struct chronicle_source *source, struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	char id[1100], path[1200];
	int r = story_put(&out, record->id, what, source, err);

	if (r)
		return r;
	story_place(record, id, path);
	return record_put_signed(
		record, &(struct record_text){ record->ai, path, id, { out.data, out.len } }, err);
}
