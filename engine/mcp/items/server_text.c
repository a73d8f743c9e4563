/* SPDX-License-Identifier: MIT */
/*
 * Texts of a server as a person has to see them: a description is read by a model, and what cannot be
 * seen can be meant for it alone. Pure.
 */
#include "mcp/items/items_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

/* Of a description in an item. */
#define TEXT_MAX 4096

static bool is_invisible(uint32_t cp)
{
	return utf8_unseen(cp) && cp != '\n' && cp != '\t';
}

char *server_visible(const char *text, size_t *ret_unseen)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_span rest = span_of(text);
	uint32_t cp;
	size_t n;

	buf_adds(&out, "");
	for (; rest.len && out.len < TEXT_MAX; rest = span_skip(rest, n)) {
		n = utf8_next(rest, &cp);
		n = n ? n : 1;
		if (is_invisible(cp))
			buf_addf(&out, "\\u{%x}", cp);
		else
			buf_add(&out, rest.ptr, n);
		*ret_unseen += is_invisible(cp);
	}
	if (rest.len)
		buf_addf(&out, " … (%zu bytes more)", rest.len);
	return memory_note(buf_steal(&out));
}

static size_t count_unseen(struct rye_span text)
{
	size_t n, count = 0;
	uint32_t cp;

	for (; text.len; text = span_skip(text, n ? n : 1)) {
		n = utf8_next(text, &cp);
		count += is_invisible(cp);
	}
	return count;
}

size_t server_unseen(const json_t *value)
{
	json_t *object = (json_t *)value, *element;
	size_t i, count = 0;
	const char *key;

	if (json_is_string(value))
		return count_unseen(
			(struct rye_span){ json_string_value(value), json_string_length(value) });
	json_object_foreach(object, key, element)
		count += count_unseen(span_of(key)) + server_unseen(element);
	json_array_foreach(value, i, element)
		count += server_unseen(element);
	return count;
}

char *server_line(const json_t *config)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	json_t *word;
	size_t i;

	buf_shell(&line, json_str(config, "command"));
	json_array_foreach(json_object_get(config, "args"), i, word) {
		auto_buf struct rye_buf other = RYE_BUF_INIT;

		if (!json_is_string(word))
			json_put(&other, word, false);
		buf_addc(&line, ' ');
		buf_shell(&line, json_is_string(word) ? json_string_value(word) :
				 other.data	      ? other.data :
							"");
	}
	return memory_note(buf_steal(&line));
}

/* ---- commands ---- */

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* name@1.2.3, name==1.2.3 */
static bool has_exact_version(const char *package)
{
	const char *at = *package ? strrchr(package + 1, '@') : NULL;
	const char *equals = strstr(package, "==");

	at = equals ? equals + 2 : at ? at + 1 : "";
	return isdigit((unsigned char)*at) && strchr(at, '.') && !strpbrk(at, "*xX^~<>|");
}

/* The package of `npx -y PACKAGE ARG...` and its like; NULL: none is named. */
static const char *package_of(const json_t *args)
{
	static const char *const words[] = { "exec", "dlx", "x", "run", "tool", NULL };
	json_t *word;
	size_t i;

	json_array_foreach(args, i, word) {
		const char *text = json_string_value(word);

		if (text && *text != '-' && !is_one_of(text, words))
			return text;
	}
	return NULL;
}

static void warn_addresses(const json_t *args, json_t *warnings)
{
	json_t *word;
	size_t i;

	json_array_foreach(args, i, word)
		if (json_is_string(word) && strstr(json_string_value(word), "://"))
			json_array_append_new(warnings,
					      json_sprintf("an address among its arguments: %s",
							   json_string_value(word)));
}

static const char *const runners[] = { "npx",  "pnpx", "bunx", "uvx",  "npm",  "pnpm",
				       "yarn", "bun",  "uv",   "pipx", "deno", NULL };

bool server_fetches(const json_t *config)
{
	return is_one_of(base_of(json_str(config, "command")), runners);
}

void server_warn_command(const json_t *config, json_t *warnings)
{
	static const char *const shells[] = { "sh",   "bash", "dash", "zsh", "ksh",
					      "fish", "cmd",  "pwsh", NULL };
	static const char *const roots[] = { "sudo", "doas", "su", "pkexec", NULL };
	const char *name = base_of(json_str(config, "command"));
	const json_t *args = json_object_get(config, "args");
	const char *package = package_of(args);

	if (is_one_of(name, shells))
		json_array_append_new(
			warnings, json_sprintf("%s is a shell: its arguments are a program", name));
	if (is_one_of(name, roots))
		json_array_append_new(warnings,
				      json_sprintf("%s: the server runs as another user", name));
	if (is_one_of(name, runners) && package && !has_exact_version(package))
		json_array_append_new(
			warnings, json_sprintf("%s fetches %s, of which no exact version is named: "
					       "what runs may be another program tomorrow",
					       name, package));
	warn_addresses(args, warnings);
}
