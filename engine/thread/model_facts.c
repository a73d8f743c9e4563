/* SPDX-License-Identifier: MIT */
/*
 * What a directive's thread shows beside its real files: facts of thread.json and of its row, each a
 * small text. For reading alone: what a thread may do is decided from its runner's memory, and
 * whether its record is whole is asked of record/ by the one who goes on with it. No state.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define RECORD "thread.json"

struct model_record {
	json_t *doc; /* of thread.json */
	struct registry_links links;
};

typedef void (*model_fact_fn)(const struct model_record *record, const char *key,
			      struct rye_buf *out);

static void fact_text(const struct model_record *record, const char *key, struct rye_buf *out)
{
	if (*json_str(record->doc, key))
		buf_addf(out, "%s\n", json_str(record->doc, key));
}

static void fact_lines(const struct model_record *record, const char *key, struct rye_buf *out)
{
	json_t *line;
	size_t i;

	json_array_foreach(json_object_get(record->doc, key), i, line)
		if (json_is_string(line))
			buf_addf(out, "%s\n", json_string_value(line));
}

static void fact_inputs(const struct model_record *record, const char *key, struct rye_buf *out)
{
	json_pretty(out, json_object_get(record->doc, key));
}

/* While it runs the row has what was counted last. */
static void fact_cost(const struct model_record *record, const char *key, struct rye_buf *out)
{
	const struct thread_cost *cost = &record->links.cost;
	struct thread_cost ended;

	if (json_object_get(record->doc, key)) {
		thread_cost_read(json_object_get(record->doc, key), &ended);
		cost = &ended;
	}
	buf_addf(out, "turns %lld\ninput_tokens %lld\noutput_tokens %lld\nspend ",
		 (long long)cost->turns, (long long)cost->input_tokens,
		 (long long)cost->output_tokens);
	json_python_float(out, cost->spend);
	buf_addc(out, '\n');
}

/* "turns 3 9": what is used, and the most; "-": it is not counted so. */
static void fact_limits(const struct model_record *record, const char *key, struct rye_buf *out)
{
	const struct thread_cost *cost = &record->links.cost;
	json_t *limits = json_object_get(record->doc, key), *value;
	const char *name;

	json_object_foreach(limits, name, value) {
		auto_buf struct rye_buf used = RYE_BUF_INIT;

		if (!json_is_number(value))
			continue;
		if (!strcmp(name, "turns"))
			buf_addf(&used, "%lld", (long long)cost->turns);
		else if (!strcmp(name, "tokens"))
			buf_addf(&used, "%lld",
				 (long long)(cost->input_tokens + cost->output_tokens));
		else if (!strcmp(name, "spend"))
			json_python_float(&used, cost->spend);
		else if (!strcmp(name, "spawns"))
			buf_addf(&used, "%lld", (long long)record->links.spawn_count);
		else
			buf_addc(&used, '-');
		buf_addf(out, "%s %s ", name, used.data ? used.data : "-");
		json_put(out, value, true);
	}
}

struct model_fact {
	const char *name, *key;
	model_fact_fn put;
};

static const struct model_fact model_facts[] = {
	{ "capabilities", "capabilities", fact_lines },
	{ "cost", "cost", fact_cost },
	{ "inputs.json", "inputs", fact_inputs },
	{ "limits", "limits", fact_limits },
	{ "model", "model", fact_text },
	{ "provider", "provider", fact_text },
	{ "warnings", "warnings", fact_lines },
};

static const struct model_fact *model_fact_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_facts); i++)
		if (!strcmp(model_facts[i].name, name))
			return &model_facts[i];
	return NULL;
}

static bool model_is_there(const struct thread_view *view)
{
	return view->dir >= 0 && !faccessat(view->dir, RECORD, F_OK, AT_SYMLINK_NOFOLLOW);
}

bool model_facts_names(const struct thread_view *view, rye_name_fn fn, void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_facts) && model_is_there(view); i++)
		if (fn(arg, model_facts[i].name))
			return true;
	return false;
}

bool model_facts_has(const struct thread_view *view, const char *name)
{
	return model_fact_find(name) && model_is_there(view);
}

int model_facts_put(const struct thread_view *view, const char *name, struct rye_buf *out,
		    struct rye_err *err)
{
	const struct model_fact *fact = model_fact_find(name);
	struct model_record record = { .doc = NULL };
	auto_blob struct rye_blob *text = NULL;
	int r = io_read_at(view->dir, RECORD, RYE_MESSAGE_MAX, &text);

	if (r < 0)
		return rye_fail_sys(err, -r, RECORD);
	record.doc = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
				RECORD, err);
	if (!record.doc)
		return -(int)RYE_UNPARSABLE;
	registry_links(view->db, view->row.thread_id, &record.links, NULL);
	fact->put(&record, fact->key, out);
	json_decref(record.doc);
	return 0;
}
