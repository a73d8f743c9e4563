/* SPDX-License-Identifier: MIT */
/*
 * Environments of children: pure lists and the rules about names. No lock: an env belongs to
 * one run. Called while planning. It never reads the process's own environ by itself, so that
 * what a child may see is decided in one place (env_base).
 */
#include "process/process.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void env_done(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
	free(env->v);
	free(env->from);
	*env = (struct env){ 0 };
}

static size_t environment_find(const struct env *env, const char *name, size_t len)
{
	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], name, len) && env->v[i][len] == '=')
			return i;
	return env->n;
}

const char *env_get(const struct env *env, const char *name)
{
	size_t len = strlen(name), i = environment_find(env, name, len);

	return i < env->n ? env->v[i] + len + 1 : NULL;
}

unsigned env_from(const struct env *env, const char *name)
{
	size_t i = environment_find(env, name, strlen(name));

	return i < env->n ? env->from[i] : 0;
}

/* The rows last: until they are there, what is read of them is the old ones with their NULL, or none. */
static bool environment_resize(struct env *env, size_t size)
{
	unsigned char *from = realloc(env->from, size * sizeof(*from));
	char **v;

	if (!from)
		return false;
	env->from = from;
	v = realloc(env->v, size * sizeof(*v));
	if (!v)
		return false;
	env->v = v;
	env->size = size;
	return true;
}

static bool environment_grow(struct env *env)
{
	return env->n + 1 < env->size || environment_resize(env, env->size ? env->size * 2 : 32);
}

void env_put_from(struct env *env, const char *name, const char *value, unsigned from)
{
	size_t len = strlen(name), i = environment_find(env, name, len),
	       need = len + strlen(value) + 2;
	char *row;

	if (env->failed)
		return;
	row = malloc(need);
	if (!row || !environment_grow(env)) {
		free(row);
		env->failed = true;
		return;
	}
	memcpy(row, name, len);
	row[len] = '=';
	memcpy(row + len + 1, value, need - len - 1);
	if (i < env->n)
		free(env->v[i]);
	else
		env->n++;
	env->v[i] = row;
	env->from[i] = (unsigned char)from;
	env->v[env->n] = NULL;
}

void env_put(struct env *env, const char *name, const char *value)
{
	env_put_from(env, name, value, ENV_OTHER);
}

static void put_row(struct env *env, const char *row, unsigned from)
{
	const char *equals = strchr(row, '=');
	auto_free char *name = equals ? strndup(row, (size_t)(equals - row)) : NULL;

	if (name)
		env_put_from(env, name, equals + 1, from);
	else if (equals)
		env->failed = true;
}

void env_rows(struct env *env, char *const *rows)
{
	for (; rows && *rows; rows++)
		put_row(env, *rows, ENV_OTHER);
}

/* Into an empty one: no name is there twice, so none is looked for. */
static bool copy_rows(struct env *env, const struct env *from)
{
	if (!environment_resize(env, from->n + 1))
		return false;
	while (env->n < from->n && (env->v[env->n] = strdup(from->v[env->n]))) {
		env->from[env->n] = from->from[env->n];
		env->n++;
	}
	env->v[env->n] = NULL;
	return env->n == from->n;
}

void env_copy(struct env *env, const struct env *from)
{
	if (!env->n && !env->v && !env->failed)
		env->failed = !copy_rows(env, from);
	else
		for (size_t i = 0; i < from->n; i++)
			put_row(env, from->v[i], from->from[i]);
	env->failed |= from->failed;
}

bool env_name_ok(const char *name)
{
	if (!*name || isdigit((unsigned char)*name))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return true;
}

static bool in_list(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static bool starts_in_list(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

/*
 * RYE_* that a child must not inherit: keys, what loaders believe to be set by the engine, and the parent
 * thread that a shell once named.
 */
static bool private_name(const char *name)
{
	static const char *const words[] = { "KEY", "SECRET", "TOKEN", "PASSWORD", NULL };
	static const char *const own[] = { "RYE_PYTHON",
					   "RYE_NODE",
					   "RYE_BASH",
					   "RYE_TOOL_FD",
					   "RYE_PARAMS",
					   "RYE_ANCHOR",
					   "RYE_RUN",
					   "RYE_RYEFS",
					   "RYE_NODE_MODULES",
					   "RYE_INTERPRETER",
					   "RYE_PARENT_THREAD_ID",
					   NULL };

	for (const char *const *word = words; *word; word++)
		if (strstr(name, *word))
			return true;
	return !strncmp(name, "RYE_SIGNING_", 12) || !strncmp(name, "RYE_MODULE_", 11) ||
	       in_list(name, own);
}

static bool is_allowed(const char *name)
{
	static const char *const names[] = { "HOME",   "PATH",	     "LANG",  "TERM",
					     "USER",   "LOGNAME",    "SHELL", "TZ",
					     "TMPDIR", "USER_SPACE", NULL };

	if (!strncmp(name, "LC_", 3))
		return true;
	if (!strncmp(name, "RYE_", 4))
		return !private_name(name);
	return in_list(name, names);
}

static bool named_in(const char *name, size_t len, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

/* By its name, or by where its links lead. */
static bool environment_inside(const char *dir, size_t len, const char *project)
{
	auto_free char *name = memory_note(strndup(dir, len));
	auto_free char *real = name ? realpath(name, NULL) : NULL;

	return !name || path_below(name, project) || (real && path_below(real, project));
}

/* Without entries that are empty, relative or inside the project. */
static void put_path(const char *path, const char *project, struct rye_buf *out)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, ":");

		if (n && *p == '/' && !environment_inside(p, n, project)) {
			if (out->len)
				buf_addc(out, ':');
			buf_add(out, p, n);
		}
		p += n + (p[n] == ':');
	}
	if (!out->len)
		buf_adds(out, "/usr/local/bin:/usr/bin:/bin");
}

void env_base(struct env *env, char *const *own, const char *extra, const char *project)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	const char *given;

	for (; own && *own; own++) {
		size_t len = strcspn(*own, "=");
		auto_free char *name = memory_note(strndup(*own, len));

		if (name && (is_allowed(name) || named_in(name, len, extra)))
			put_row(env, *own, ENV_OWN);
	}
	given = env_get(env, "PATH");
	put_path(given ? given : "", project, &path);
	env_put_from(env, "PATH", path.data ? path.data : "", ENV_OWN);
	env->failed |= path.failed;
}

/* What our own process reads before it has run anything: where bundles and authorities are, how it was built. */
static bool is_of_start(const char *name)
{
	static const char *const names[] = { "RYE_SYSTEM_SPACES",
					     "XDG_RUNTIME_DIR",
					     "SSL_CERT_FILE",
					     "SSL_CERT_DIR",
					     "LD_LIBRARY_PATH",
					     "MALLOC_PERTURB_",
					     NULL };
	static const char *const checkers[] = { "ASAN_", "LSAN_", "TSAN_", "UBSAN_", NULL };

	return in_list(name, names) || starts_in_list(name, checkers);
}

void env_lend(struct env *env, char *const *own, const json_t *names)
{
	for (; own && *own; own++) {
		auto_free char *name = memory_note(strndup(*own, strcspn(*own, "=")));
		bool ours = name && !strncmp(name, "RYE_", 4), named = false;
		const json_t *one;
		size_t i;

		json_array_foreach((json_t *)names, i, one)
			named |= name && json_is_string(one) &&
				 !strcmp(json_string_value(one), name);
		if (name && (named || is_of_start(name) || (!ours && is_allowed(name))))
			put_row(env, *own, ENV_OWN);
		env->failed |= !name;
	}
}

/*
 * The allow-list is the signed chain: envres_give hands over what it asks for by name, nothing else.
 * These names stay out even then, for a signer may ask for one without thought of an unsigned file.
 */
bool env_dotenv_may(const char *name)
{
	static const char *const names[] = { "PATH",
					     "HOME",
					     "USER",
					     "SHELL",
					     "LOGNAME",
					     "USER_SPACE",
					     "BASH_ENV",
					     "ENV",
					     "IFS",
					     "NODE_OPTIONS",
					     "NODE_PATH",
					     "TMPDIR",
					     "PERL5OPT",
					     "PERL5LIB",
					     "RUBYOPT",
					     "RUBYLIB",
					     "SHELLOPTS",
					     "BASHOPTS",
					     "PS4",
					     "PROMPT_COMMAND",
					     "LOCPATH",
					     "LESSOPEN",
					     "PAGER",
					     "EDITOR",
					     "VISUAL",
					     "CLASSPATH",
					     "PHPRC",
					     "MAKEFLAGS",
					     "NODE_EXTRA_CA_CERTS",
					     "TCLLIBPATH",
					     "TCL_LIBRARY",
					     "TK_LIBRARY",
					     "NODE_REPL_EXTERNAL_MODULE",
					     "AWKPATH",
					     "AWKLIBPATH",
					     "HOSTALIASES",
					     "GCONV_PATH",
					     NULL };
	static const char *const families[] = { "LD_",	   "DYLD_", "PYTHON",  "RYE_",	   "GIT_",
						"JAVA_",   "_JAVA", "PERL",    "RUBY",	   "GEM_",
						"BUNDLE_", "LUA_",  "R_",      "OPENSSL_", "GLIBC_",
						"MALLOC_", "XDG_",  "DOCKER_", "NPM_",	   "npm_",
						"BASH",	   NULL };

	return !in_list(name, names) && !starts_in_list(name, families);
}

void env_dotenv(struct env *env, struct rye_span text)
{
	struct rye_span line;

	while (span_line(&text, &line)) {
		ssize_t at = span_find(line, 0, "=");
		auto_free char *name = NULL;
		auto_free char *value = NULL;

		line = span_trim(line);
		at = span_find(line, 0, "=");
		if (at <= 0 || line.ptr[0] == '#' || span_starts(line, "export "))
			continue;
		name = span_dup(span_trim((struct rye_span){ line.ptr, (size_t)at }));
		value = span_dup(span_trim(span_skip(line, (size_t)at + 1)));
		if (name && value && env_name_ok(name) && strlen(value) + at + 1 <= line.len)
			env_put(env, name, value);
	}
}

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *env_which(const char *name, const char *path)
{
	auto_buf struct rye_buf file = RYE_BUF_INIT;

	if (strchr(name, '/'))
		return *name == '/' ? memory_note(strdup(name)) : NULL;
	while (*name && *path) {
		size_t n = strcspn(path, ":");

		buf_clear(&file);
		buf_add(&file, path, n);
		buf_addf(&file, "/%s", name);
		if (!file.failed && is_executable(file.data))
			return buf_steal(&file);
		path += n + (path[n] == ':');
	}
	return NULL;
}
