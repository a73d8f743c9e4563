/* SPDX-License-Identifier: MIT */
/*
 * fuzz_skill_source.c - where a skill is from, as words of a person, of a manifest and of a lock file: what
 * is taken becomes words of a command line, and a manifest that tells it is read as the same.
 */
#include "format/format.h"
#include "skill/skill.h"
#include "str.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_source(const struct skill_source *source)
{
	const char *const words[] = { source->url, source->path, source->ref };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (*words[i] == '-' || strpbrk(words[i], "\n\r\t") || strstr(words[i], "../"))
			abort();
	if (strchr(source->ref, ':') || !*source->url ||
	    (*source->path && !skill_path_ok(span_of(source->path))))
		abort();
}

static bool is_same(const struct skill_source *a, const struct skill_source *b)
{
	return !strcmp(a->from, b->from) && !strcmp(a->url, b->url) && !strcmp(a->path, b->path) &&
	       !strcmp(a->ref, b->ref);
}

static void check_word(const char *word)
{
	struct skill_source source, again;
	struct rye_buf line = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	json_t *told;

	if (skill_source_read(word, &source, &err))
		return;
	check_source(&source);
	skill_source_put(&source, "", &line);
	told = parse_yaml(buf_span(&line), &err);
	if (skill_source_of(json_object_get(told, "source"), &again, &err) ||
	    !is_same(&source, &again))
		abort();
	skill_source_done(&source);
	skill_source_done(&again);
	json_decref(told);
	buf_done(&line);
}

static int on_locked(void *arg, const struct skill_locked *one)
{
	(void)arg;
	check_source(&one->source);
	if (!skill_name_ok(span_of(one->name)) || strlen(one->hash) != SHA_HEX - 1)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size };
	struct rye_err err = { 0 };
	char *word = span_dup(text);
	json_t *told;

	if (!word)
		return 0;
	check_word(word);
	if (skill_lock_read(text, on_locked, NULL, &err) && !err.code)
		abort();
	told = json_parse(text, 0, "source", &err);
	if (told) {
		struct skill_source source;

		if (!skill_source_of(told, &source, &err)) {
			check_source(&source);
			skill_source_done(&source);
		}
	}
	json_decref(told);
	free(word);
	return 0;
}
