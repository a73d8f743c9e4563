/* SPDX-License-Identifier: MIT */
/*
 * Which program runs a script: the one that its first line names, if the signature covers that line
 * (verification leaves no other in an item) and the system has the program. The kernel is not asked
 * to read the line: it would take any path, and give all that follows as one argument. Pure but for
 * looking programs up.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

/* The next word, cut from the beginning of the line; empty: there is none. */
static struct rye_span shebang_word(struct rye_span *line)
{
	struct rye_span word = { line->ptr, 0 };

	while (word.len < line->len && !isspace((unsigned char)line->ptr[word.len]))
		word.len++;
	*line = span_trim(span_skip(*line, word.len));
	return word;
}

/* What stands behind the last slash, if there is one. */
static struct rye_span word_stem(struct rye_span word)
{
	const char *slash = word.len ? memrchr(word.ptr, '/', word.len) : NULL;

	return slash ? span_skip(word, (size_t)(slash + 1 - word.ptr)) : word;
}

/* The interpreter as it is written, `env` passed over; the rest of the line is what follows it. */
static struct rye_span shebang_read(const struct rye_item *tool, struct rye_span *rest)
{
	struct rye_span line = tool->shebang, word;

	*rest = (struct rye_span){ line.ptr, 0 };
	if (line.len < 2)
		return *rest;
	line = span_trim(span_skip(line, 2));
	word = shebang_word(&line);
	if (span_eq(word_stem(word), "env")) {
		word = shebang_word(&line);
		if (span_eq(word, "-S"))
			word = shebang_word(&line);
	}
	*rest = line;
	return word;
}

struct rye_span shebang_options(const struct rye_item *tool)
{
	struct rye_span rest;

	shebang_read(tool, &rest);
	return rest;
}

/* An absolute path counts where the system would find a bare name, too. */
static bool is_of_system(const struct plan_base *base, struct rye_span word)
{
	struct rye_span stem = word_stem(word);
	struct rye_span dir = { word.ptr, word.len - stem.len };

	return !dir.len ||
	       (dir.len > 1 && interp_looks_in(base, (struct rye_span){ dir.ptr, dir.len - 1 }));
}

char *shebang_program(struct planner *planner, struct rye_err *err)
{
	const struct rye_item *tool = planner->chain->v[0].item;
	struct rye_span rest, word = shebang_read(tool, &rest);
	auto_free char *name = span_dup(word);
	char *path = NULL;

	if (!name) {
		memory_fail(err);
		return NULL;
	}
	if (!*name || *name == '-' || strchr(name, '=')) {
		rye_fail(err, RYE_INVALID,
			 "%s: no signed first line says what runs it: write #!/usr/bin/env NAME "
			 "there and sign it",
			 tool->id);
		return NULL;
	}
	if (!is_of_system(planner->base, word)) {
		rye_fail(err, RYE_NO_EXECUTOR,
			 "interpreter %s is not on the system's PATH: write #!/usr/bin/env %s",
			 name, strrchr(name, '/') + 1);
		return NULL;
	}
	if (*name != '/') {
		path = interp_find(planner, name);
	} else {
		marks_add(planner->marks, AT_FDCWD, name, true);
		if (access(name, X_OK) == 0)
			path = steal(&name);
	}
	if (!path)
		rye_fail(err, RYE_NO_EXECUTOR,
			 "interpreter %s not found: install it where the system finds it", name);
	return path;
}
