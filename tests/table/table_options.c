/* SPDX-License-Identifier: MIT */
/*
 * options: input is a command line without the program's name, words between blanks; expected
 * what a mount would be made with: the two paths, then what differs from the defaults, then
 * what libfuse is handed; or the refusal. The context is not used.
 */
#include "mount/mount.h"

#include "table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

static void add(char *out, size_t size, const char *word)
{
	size_t n = strlen(out);

	snprintf(out + n, size - n, "%s%s", n ? " " : "", word);
}

static void add_text(char *out, size_t size, const char *name, const char *value)
{
	char word[512];

	if (!value)
		return;
	snprintf(word, sizeof(word), "%s=%s", name, value);
	add(out, size, word);
}

static void add_number(char *out, size_t size, const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	add_text(out, size, name, value ? text : NULL);
}

static void tell(const struct options *o, char *out, size_t size)
{
	const struct {
		const char *name;
		bool on;
	} flags[] = {
		{ "foreground", o->foreground },
		{ "debug", o->debug },
		{ "xattr", o->xattr },
		{ "allow_other", o->allow_other },
		{ "list=all", o->list_all },
		{ "trust_callers=any", o->trust_any },
		{ "ro", o->read_only },
		{ "spaces=ro", o->spaces == SPACES_RO },
		{ "spaces=none", o->spaces == SPACES_NONE },
		{ "coverage=compat", o->engine.compat },
		{ "devmode", o->engine.dev_mode },
		{ "venv", o->engine.venv },
		{ "nosign", o->engine.no_sign },
		{ "norun", o->engine.no_run },
	};

	out[0] = 0;
	add(out, size, o->source);
	add(out, size, o->mountpoint);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].on)
			add(out, size, flags[i].name);
	add_text(out, size, "userspace", o->engine.user_base);
	add_text(out, size, "system", o->engine.system_roots);
	add_text(out, size, "env", o->engine.env_names);
	add_number(out, size, "wait", o->wait_s);
	add_number(out, size, "jobs", o->engine.jobs);
	add_number(out, size, "sandbox", o->engine.sandbox);
	if (o->args.argc > 1)
		add(out, size, "|");
	for (int i = 1; i < o->args.argc; i++)
		if (strcmp(o->args.argv[i], "-o") != 0)
			add(out, size, o->args.argv[i]);
}

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	char text[8192], *rest = text, *words[WORDS_MAX] = { text + sizeof(text) - 1 };
	struct options opt;
	struct rye_err err = { 0 };
	int n = 1;

	snprintf(text, sizeof(text), "%s", input.bytes);
	while (n < WORDS_MAX - 1 && (words[n] = strtok_r(rest, " ", &rest)))
		n++;
	if (options_parse(n, words, &opt, &err))
		snprintf(out, size, "%s", err.msg);
	else
		tell(&opt, out, size);
	options_done(&opt);
}
