/* SPDX-License-Identifier: MIT */
/*
 * Reading requests. The order of checks is the format's: id, target's syntax, thread, target, then
 * the matrix of all of them. The texts are the format's where it has them. Pure but for comparing the project path.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "bounds.h"
#include "err.h"
#include "memory.h"
#include "parse/parse.h"
#include "schema/schema.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

void request_done(struct request *request)
{
	free(request->spelled);
	json_decref(request->doc);
	json_decref(request->params);
	json_decref(request->order);
	json_decref(request->warnings);
	*request = (struct request){ 0 };
}

int request_project(const json_t *doc, const char *project, struct rye_err *err)
{
	const json_t *value = json_object_get(doc, "project_path");
	auto_free char *real = NULL;

	if (!value || json_is_null(value) || !project)
		return 0;
	real = json_is_string(value) ? realpath(json_string_value(value), NULL) : NULL;
	if (real && !strcmp(real, project))
		return 0;
	return rye_fail(err, RYE_INVALID, "project_path: this is the project %s", project);
}

static int bad_id(const char *id, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID, "Invalid item_id: %s", id);
}

/* A text member without NUL; "" when absent. */
static const char *request_text_member(const json_t *doc, const char *key, bool *ret_bad)
{
	const json_t *value = json_object_get(doc, key);

	if (!value || json_is_null(value))
		return "";
	if (!json_is_string(value)) {
		*ret_bad = true;
		return "";
	}
	return json_string_value(value);
}

int request_ref(const json_t *doc, struct request *ret, struct rye_err *err)
{
	bool bad = false;
	const char *spelled = request_text_member(doc, "item_id", &bad);
	const char *type = request_text_member(doc, "item_type", &bad);
	enum rye_kind named;

	if (bad)
		return rye_fail(err, RYE_INVALID, "item_id and item_type must be strings");
	if (!*spelled)
		return rye_fail(err, RYE_INVALID, "item_id is required.");
	ret->spelled = strdup(spelled);
	if (!ret->spelled)
		return memory_fail(err);
	ret->kind = id_split(ret->spelled, &ret->id);
	if (ret->kind == RYE_KIND__MAX)
		ret->id = ret->spelled;
	else if (!*ret->id)
		return rye_fail(err, RYE_INVALID,
				"Canonical ref must include an ID after '%s:' (e.g. '%s:my/item')",
				rye_kind_name(ret->kind), rye_kind_name(ret->kind));
	if (!*type)
		return 0;
	named = kind_from_name(type);
	if (named == RYE_KIND__MAX)
		return rye_fail(err, RYE_INVALID,
				"Unknown item_type: '%s'. Must be directive, tool or knowledge.",
				type);
	if (ret->kind != RYE_KIND__MAX && ret->kind != named)
		return rye_fail(err, RYE_INVALID, "item_type '%s' contradicts item_id '%s'", type,
				spelled);
	ret->kind = named;
	ret->by_type = true;
	return 0;
}

/*
 * Checked late, as everything that looks at the disk is. A leading slash is an id that no
 * file can have, which the format calls "not found".
 */
static int check_id(const struct request *request, struct rye_err *err)
{
	const char *id = request->id;

	if (*id == '/' && id_check(span_of(id + 1), NULL) == 0)
		return rye_fail(err, RYE_NOT_FOUND, "%s not found: %s",
				request->kind == RYE_KIND__MAX ? "Item" : kind_title(request->kind),
				id);
	return id_check(span_of(id), NULL) ? bad_id(id, err) : 0;
}

static int read_flag(const json_t *doc, const char *key, bool *ret, struct rye_err *err)
{
	const json_t *value = json_object_get(doc, key);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_boolean(value))
		return rye_fail(err, RYE_INVALID, "%s must be true or false", key);
	*ret = json_is_true(value);
	return 0;
}

/* What is carried out elsewhere is sent the project before, unless that is not wanted. */
int request_sending(const json_t *doc, struct request *ret, struct rye_err *err)
{
	json_t *order = json_object_get(doc, "order");
	bool push = true;
	int r = read_flag(doc, "push", &push, err);

	ret->unpushed = !push;
	if (*ret->remote && json_string_length(order))
		ret->order = json_incref(order);
	return !r && !push && !*ret->remote ?
		       rye_fail(err, RYE_INVALID, "push goes with a target of \"remote:<name>\"") :
		       r;
}

static int read_thread(const json_t *doc, struct request *ret, struct rye_err *err)
{
	const json_t *value = json_object_get(doc, "thread");
	const char *text = json_string_value(value);
	auto_buf struct rye_buf shown = RYE_BUF_INIT;

	if (!value || json_is_null(value))
		return 0;
	if (json_is_boolean(value)) {
		ret->fork = json_is_true(value);
		return 0;
	}
	if (text && (!strcmp(text, "inline") || !strcmp(text, "fork"))) {
		ret->fork = *text == 'f';
		return 0;
	}
	json_python_str(&shown, value);
	return rye_fail(err, RYE_INVALID,
			"Unknown thread mode: '%.200s'. Must be \"inline\" or \"fork\".",
			shown.data ? shown.data : "");
}

/* An object; a text that holds one; nothing. */
static int read_params(const json_t *value, json_t **ret, struct rye_err *err)
{
	struct rye_span text = { json_string_value(value), json_string_length(value) };

	if (!value || json_is_null(value))
		*ret = json_object();
	else if (json_is_object(value))
		*ret = json_incref((json_t *)value); /* of a request that is read once */
	else if (json_is_string(value))
		*ret = json_parse(text, 0, "parameters", NULL);
	if (*ret)
		return 0;
	return rye_fail(err, RYE_INVALID, "parameters must be an object");
}

static void warn_unknown(struct request *request)
{
	static const char *const known[] = {
		"item_id",	   "item_type",	       "project_path", "parameters", "dry_run",
		"target",	   "thread",	       "async",	       "trace",	     "model",
		"limit_overrides", "resume_thread_id", "no_net",       "no_write",   "no_shown",
		"input_responses", "request_state",    "message",      "push",	     "order"
	};
	const char *key;
	json_t *value;

	json_object_foreach(request->doc, key, value) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			found |= !strcmp(known[i], key);
		if (!found)
			json_array_append_new(request->warnings,
					      json_sprintf("the request's member %s is unknown and "
							   "was ignored",
							   key));
	}
}

/* Answers to what a tool has asked, and the state that it has given with its questions. */
static int check_answers(const json_t *doc, struct rye_err *err)
{
	const json_t *responses = json_object_get(doc, "input_responses");
	const json_t *state = json_object_get(doc, "request_state");

	if (responses && !json_is_object(responses))
		return rye_fail(err, RYE_INVALID, "input_responses must be an object");
	if (state && (!json_is_string(state) || json_string_length(state) > RYE_MCP_STATE_MAX))
		return rye_fail(err, RYE_INVALID,
				"request_state must be a string of %u bytes at most",
				RYE_MCP_STATE_MAX);
	return 0;
}

/* ---- the execution matrix ----
 * Which request makes sense of which kind of items, all 48 cells of it in one table, and what the
 * others are told. Asked before anything is looked up: before a process, a socket, the disk. */

enum cell {
	CELL_OK,
	CELL_FORK_TOOL,
	CELL_AWAY_INLINE,
	CELL_LOCAL_ONLY,
	CELL_ASYNC_DRY,
	CELL_ASYNC_TEXT,
	CELL_ASYNC_INLINE,
	CELL_DRY_AWAY,
	CELL__MAX
};

static const char *const cell_texts[CELL__MAX] = {
	[CELL_FORK_TOOL] = "thread=\"fork\" is not supported for tools. Only directives run in "
			   "managed threads; use async to detach a tool.",
	[CELL_AWAY_INLINE] = "Directives on remote must use thread=\"fork\". Inline execution "
			     "returns text to the caller, which needs no remote.",
	[CELL_LOCAL_ONLY] = "Knowledge items only support target=\"local\" with "
			    "thread=\"inline\".",
	[CELL_ASYNC_DRY] = "async + dry_run is not supported. Validation is instant, nothing to "
			   "detach.",
	[CELL_ASYNC_TEXT] = "async + knowledge is not supported. Reading is instant, nothing to "
			    "detach.",
	[CELL_ASYNC_INLINE] = "async + directive + inline is not supported. There is nothing to "
			      "detach; use thread=\"fork\".",
	[CELL_DRY_AWAY] = "dry_run + remote is not supported. Dry run validates locally.",
};

/* The columns, by what a kind's items can be. */
enum { COLUMN_DIRECTIVE, COLUMN_TOOL, COLUMN_TEXT, COLUMN__MAX };

/* The rows. */
#define ROWS 16
#define AWAY 8
#define FORK 4
#define ASYNC 2
#define DRY 1

static const uint8_t cells[ROWS][COLUMN__MAX] = {
	/*                     directive          tool            text */
	[0] = { CELL_OK, CELL_OK, CELL_OK },
	[DRY] = { CELL_OK, CELL_OK, CELL_OK },
	[ASYNC] = { CELL_ASYNC_INLINE, CELL_OK, CELL_ASYNC_TEXT },
	[ASYNC | DRY] = { CELL_ASYNC_DRY, CELL_ASYNC_DRY, CELL_ASYNC_DRY },
	[FORK] = { CELL_OK, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[FORK | DRY] = { CELL_OK, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[FORK | ASYNC] = { CELL_OK, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[FORK | ASYNC | DRY] = { CELL_ASYNC_DRY, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[AWAY] = { CELL_AWAY_INLINE, CELL_OK, CELL_LOCAL_ONLY },
	[AWAY | DRY] = { CELL_AWAY_INLINE, CELL_DRY_AWAY, CELL_LOCAL_ONLY },
	[AWAY | ASYNC] = { CELL_AWAY_INLINE, CELL_OK, CELL_LOCAL_ONLY },
	[AWAY | ASYNC | DRY] = { CELL_AWAY_INLINE, CELL_ASYNC_DRY, CELL_LOCAL_ONLY },
	[AWAY | FORK] = { CELL_OK, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[AWAY | FORK | DRY] = { CELL_DRY_AWAY, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[AWAY | FORK | ASYNC] = { CELL_OK, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
	[AWAY | FORK | ASYNC | DRY] = { CELL_ASYNC_DRY, CELL_FORK_TOOL, CELL_LOCAL_ONLY },
};

static int matrix_column(enum rye_kind kind)
{
	return rye_kind_has(kind, RYE_KIND_FORKS)   ? COLUMN_DIRECTIVE :
	       rye_kind_has(kind, RYE_KIND_PROCESS) ? COLUMN_TOOL :
						      COLUMN_TEXT;
}

int request_matrix(const struct request *request, enum rye_kind kind, struct rye_err *err)
{
	int row = (*request->remote ? AWAY : 0) | (request->fork ? FORK : 0) |
		  (request->async ? ASYNC : 0) | (request->dry_run ? DRY : 0);
	uint8_t cell;

	if (!rye_kind_has(kind, RYE_KIND_RUNS))
		return rye_fail(err, RYE_INVALID,
				"%s items cannot be executed: %s\n" MEND_WITH "ryefs fetch %s",
				kind_title(kind), request->spelled, request->spelled);
	cell = cells[row][matrix_column(kind)];
	return cell == CELL_OK ? 0 : rye_fail(err, RYE_INVALID, "%s", cell_texts[cell]);
}

int target_read(const json_t *value, char ret[ID_NAME_MAX + 1], struct rye_err *err)
{
	static const char named[] = "remote:";
	struct rye_span text = { json_string_value(value), json_string_length(value) };
	auto_buf struct rye_buf shown = RYE_BUF_INIT;

	ret[0] = 0;
	if (!value || json_is_null(value) || (text.ptr && span_eq(text, "local")))
		return 0;
	if (text.ptr && span_eq(text, "remote")) {
		memcpy(ret, "default", sizeof("default"));
		return 0;
	}
	if (!text.ptr || !span_starts(text, named)) {
		json_python_str(&shown, value);
		return rye_fail(err, RYE_INVALID,
				"Unknown target: '%.200s'. Must be \"local\", \"remote\", or "
				"\"remote:<name>\".",
				shown.data ? shown.data : "");
	}
	text = span_skip(text, strlen(named));
	if (!text.len)
		return rye_fail(err, RYE_INVALID,
				"Invalid target \"remote:\" — remote name cannot be empty. Use "
				"\"remote\" for the default remote or \"remote:<name>\" for a "
				"named remote.");
	if (!id_is_name(text))
		return rye_fail(err, RYE_INVALID,
				"Invalid target \"remote:%.*s\" — a remote's name is 1 to %d of "
				"A-Z a-z 0-9 . _ -, and not . or ..",
				(int)(text.len < 100 ? text.len : 100), text.ptr, ID_NAME_MAX);
	memcpy(ret, text.ptr, text.len);
	ret[text.len] = 0;
	return 0;
}

/* ---- what is to be executed ---- */

static int read_execute(const char *project, struct request *ret, struct rye_err *err)
{
	const json_t *doc = ret->doc;
	int r = 0;

	/* first of all: what is refused below may be so for the misspelt member */
	warn_unknown(ret);
	if (json_object_get(doc, "item_id") || !*json_str(doc, "resume_thread_id"))
		r = request_ref(doc, ret, err);
	/* a tool's own resume is its primitive's */
	if (!r && (ret->kind == RYE_DIRECTIVE || !json_object_get(doc, "item_id")))
		ret->resume = json_str(doc, "resume_thread_id");
	if (!r && *ret->resume)
		r = read_flag(doc, "async", &ret->async, err);
	if (*ret->resume)
		return r ? r : read_params(json_object_get(doc, "parameters"), &ret->params, err);
	/* its syntax first, a word that is no target behind the thread */
	if (!r && !strncmp(json_str(doc, "target"), "remote:", strlen("remote:")))
		r = target_read(json_object_get(doc, "target"), ret->remote, err);
	if (!r)
		r = read_thread(doc, ret, err);
	if (!r)
		r = target_read(json_object_get(doc, "target"), ret->remote, err);
	if (!r)
		r = read_flag(doc, "dry_run", &ret->dry_run, err);
	if (!r)
		r = read_flag(doc, "async", &ret->async, err);
	if (!r)
		r = read_flag(doc, "trace", &ret->trace, err);
	if (!r)
		r = read_flag(doc, "no_net", &ret->no_net, err);
	if (!r)
		r = read_flag(doc, "no_write", &ret->no_write, err);
	if (!r)
		r = read_flag(doc, "no_shown", &ret->no_shown, err);
	if (!r)
		r = request_sending(doc, ret, err);
	if (!r && ret->kind != RYE_KIND__MAX)
		r = request_matrix(ret, ret->kind, err);
	if (!r)
		r = check_answers(doc, err);
	if (!r)
		r = read_params(json_object_get(doc, "parameters"), &ret->params, err);
	if (!r)
		r = request_project(doc, project, err);
	return r ? r : check_id(ret, err);
}

/* Of an item's own verb, by the place where it was written to. */
static int read_ask_target(const struct rye_request *req, struct request *ret, struct rye_err *err)
{
	auto_json json_t *target = req->target ? json_string(req->target) : NULL;
	int r = target_read(target, ret->remote, err);

	return r ? r : request_matrix(ret, ret->kind, err);
}

static int read_item(const struct rye_request *req, struct request *ret, struct rye_err *err)
{
	const struct verb *verb = verb_row(req->verb);

	ret->spelled = strdup(req->id ? req->id : "");
	if (!ret->spelled)
		return memory_fail(err);
	ret->id = ret->spelled;
	ret->kind = req->kind;
	ret->dry_run = verb->ways & RYE_WAY_DRY;
	ret->async = verb->ways & RYE_WAY_ASYNC;
	/* Writing to `async` of a directive: a fork that is not waited for. */
	ret->fork = verb->ways & RYE_WAY_FORK ||
		    (ret->async && rye_kind_has(req->kind, RYE_KIND_FORKS));
	ret->params = json_copy(ret->doc); /* members are taken out of it */
	if (!ret->params)
		return memory_fail(err);
	return read_ask_target(req, ret, err);
}

static void read_thread_flags(json_t *doc)
{
	const char *id = json_str(doc, "item_id");
	const char *type = json_str(doc, "item_type");
	enum rye_kind kind = *type ? kind_from_name(type) : id_split(id, &id);

	if (!json_object_get(doc, "async"))
		json_set(doc, "async", json_true());
	if (!json_object_get(doc, "thread") && rye_kind_has(kind, RYE_KIND_FORKS))
		json_sets(doc, "thread", "fork");
}

/* The execute request of a line that starts a thread: REF, REF {inputs}, or the request itself. */
static json_t *read_thread_line(struct rye_span message, struct rye_err *err)
{
	struct rye_span line = span_trim(message), ref = line;
	auto_json json_t *inputs = NULL;
	json_t *doc;

	if (memchr(line.ptr, '\n', line.len)) {
		rye_fail(err, RYE_INVALID, "one line is wanted: REF, or REF {inputs}");
		return NULL;
	}
	if (span_starts(line, "{"))
		return json_parse(line, 0, "request", err);
	while (ref.len && memchr(line.ptr, ' ', ref.len))
		ref.len = (size_t)((const char *)memchr(line.ptr, ' ', ref.len) - line.ptr);
	line = span_trim(span_skip(line, ref.len));
	inputs = line.len ? json_parse(line, 0, "inputs", err) : json_object();
	if (!inputs)
		return NULL;
	doc = json_pack("{s:s%, s:O}", "item_id", ref.ptr, ref.len, "parameters", inputs);
	if (!doc)
		rye_fail(err, RYE_INVALID, "the reference is not UTF-8");
	return doc;
}

static int request_start(struct rye_span message, struct request *ret, struct rye_err *err)
{
	ret->doc = read_thread_line(message, err);
	if (!ret->doc)
		return -(int)err->code;
	read_thread_flags(ret->doc);
	return 0;
}

static int limit_params(const json_t *params, struct rye_err *err)
{
	size_t n = json_object_size(params);

	if (n <= REQUEST_PARAMETERS)
		return 0;
	return rye_fail(err, RYE_TOO_BIG, "%zu parameters, wanted at most %d", n,
			REQUEST_PARAMETERS);
}

static int request_fail_part(struct request *request, struct rye_err *err)
{
	request->part = true;
	return rye_fail(err, RYE_INVALID, ERR_SEVERAL);
}

/* "name: value", which is an object as soon as it stands in braces? */
static bool is_plain_line(struct rye_span line)
{
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < ' ' || strchr("{}[],#&*!|>%@`'\"", line.ptr[i]))
			return false;
	return line.len < 200;
}

/* The one line that was read, which others may follow. */
static int request_fail_line(const struct rye_request *req, struct request *request,
			     struct rye_err *err)
{
	struct rye_span line = span_trim(req->message);

	request_fail_part(request, err);
	if (json_object_size(request->doc) == 1 && is_plain_line(line))
		rye_fail(
			err, RYE_INVALID,
			"one line may be a part of more: in braces it is all, {%.*s}; more go in one "
			"write (\xe2\x80\xa6 | cat > run)",
			(int)line.len, line.ptr);
	return -(int)RYE_INVALID;
}

static bool may_be_part(const struct rye_request *req)
{
	return req->form == RYE_FORM_LINE && !span_starts(span_trim(req->message), "{");
}

int request_message(const struct rye_request *req, struct request *ret, struct rye_err *err)
{
	ret->doc = message_read(req->message, req->form, err);
	if (!ret->doc)
		return -(int)err->code;
	return verb_row(req->verb)->names && may_be_part(req) ? request_fail_part(ret, err) : 0;
}

int request_whole(const struct rye_request *req, struct request *request,
		  const struct rye_item *item, struct rye_err *err)
{
	auto_json json_t *schema = NULL;

	if (!may_be_part(req))
		return 0;
	schema = meta_schema(item);
	/* beside the inputs of a fork may stand what it costs at most */
	if (request->fork || !schema || !schema_is_narrow(schema) ||
	    json_object_size(meta_get(item, "actions")))
		return request_fail_line(req, request, err);
	return 0;
}

int request_read(const struct rye_request *req, const char *project, struct request *ret,
		 struct rye_err *err)
{
	int r;

	*ret = (struct request){ .verb = req->verb, .kind = RYE_KIND__MAX, .resume = "" };
	ret->warnings = json_array();
	if (req->form == RYE_FORM_THREAD)
		r = request_start(req->message, ret, err);
	else
		r = request_message(req, ret, err);
	if (r)
		return r;
	r = verb_row(req->verb)->names ? read_execute(project, ret, err) : read_item(req, ret, err);
	return r ? r : limit_params(ret->params, err);
}

/* A caller that sets what a model may cost believes in it, and only a thread obeys. */
int request_launch(const struct request *request, struct rye_err *err)
{
	static const char *const names[] = { "model", "limit_overrides" };

	for (size_t i = 0; i < ARRAY_SIZE(names) && !request->fork; i++) {
		const json_t *value = json_object_get(request->doc, names[i]);

		if (verb_row(request->verb)->names && value && !json_is_null(value))
			return rye_fail(err, RYE_INVALID, "%s requires thread=\"fork\"", names[i]);
	}
	return 0;
}
