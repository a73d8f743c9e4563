/* SPDX-License-Identifier: MIT */
/*
 * The execution matrix: which request makes sense of which kind of items, all 48 cells of it in one
 * table, and what the others are told. Asked before anything is looked up: before a process, a
 * socket, the disk. Pure; no lock.
 */
#include "run/run_inner.h"

#include "scope.h"

#include <string.h>

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

static bool matrix_name_ok(struct rye_span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    name.ptr[i]))
			return false;
	return name.len && name.len <= REMOTE_NAME_MAX && !span_eq(name, ".") &&
	       !span_eq(name, "..");
}

int target_read(const json_t *value, char ret[REMOTE_NAME_MAX + 1], struct rye_err *err)
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
	if (!matrix_name_ok(text))
		return rye_fail(err, RYE_INVALID,
				"Invalid target \"remote:%.*s\" — a remote's name is 1 to %d of "
				"A-Z a-z 0-9 . _ -, and not . or ..",
				(int)(text.len < 100 ? text.len : 100), text.ptr, REMOTE_NAME_MAX);
	memcpy(ret, text.ptr, text.len);
	ret[text.len] = 0;
	return 0;
}
