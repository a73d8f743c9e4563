/* SPDX-License-Identifier: MIT */
/*
 * Finds the installed bundle from the program's own place, so that an installation can be
 * moved and a build tree works without being installed; and what is the person's. Reads
 * /proc/self/exe and one variable of the environment; keeps nothing.
 */
#include "base/self.h"

#include "buf.h"
#include "err.h"
#include "memory.h"
#include "scope.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where `meson install` puts it, for programs that were moved away from their bin/. */
#ifndef RYE_BUNDLE_DIR
#define RYE_BUNDLE_DIR "/usr/local/share/ryefs/bundle"
#endif

char *self_path(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = 0;
	return strdup(path);
}

/* The directory when it holds a .ai, else NULL. */
static char *with_workspace(const char *dir, const char *below)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct stat st;

	buf_addf(&path, "%s%s/.ai", dir, below);
	if (path.failed || stat(path.data, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL;
	path.data[path.len - strlen("/.ai")] = 0;
	return realpath(path.data, NULL); /* messages show it: without the .. */
}

char *self_system_roots(void)
{
	static const char *const below[] = { "/../share/ryefs/bundle", "/bundle" };
	const char *told = getenv("RYE_SYSTEM_SPACES");
	auto_free char *self = self_path();
	char *end = self ? strrchr(self, '/') : NULL;
	char *found = NULL;

	if (told)
		return strdup(told);
	if (end)
		*end = 0;
	for (size_t i = 0; end && !found && i < ARRAY_SIZE(below); i++)
		found = with_workspace(self, below[i]);
	return found ? found : with_workspace(RYE_BUNDLE_DIR, "");
}

char *self_schemas(void)
{
	static const char *const below[] = { "/../share/ryefs/schemas", "/packaging/schemas" };
	auto_free char *self = self_path();
	char *end = self ? strrchr(self, '/') : NULL, *found = NULL;

	if (end)
		*end = 0;
	for (size_t i = 0; end && !found && i < ARRAY_SIZE(below); i++) {
		auto_buf struct rye_buf path = RYE_BUF_INIT;

		buf_addf(&path, "%s%s", self, below[i]);
		found = path.failed ? NULL : realpath(path.data, NULL);
	}
	return found ? found : realpath(RYE_BUNDLE_DIR "/../schemas", NULL);
}

/* ---- the person's ---- */

/* The account's home when the environment does not say. */
static char *self_home(void)
{
	char text[4096];
	struct passwd entry, *found = NULL;
	const char *home = getenv("HOME");

	if (home && *home)
		return memory_note(strdup(home));
	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) || !found)
		return NULL;
	return memory_note(strdup(found->pw_dir));
}

char *self_user_base(const char *wanted)
{
	auto_free char *home = self_home();
	char *path = NULL;

	if (!wanted || !*wanted)
		wanted = getenv("USER_SPACE");
	if (!wanted || !*wanted)
		return steal(&home);
	if (wanted[0] != '~' || (wanted[1] && wanted[1] != '/'))
		return memory_note(strdup(wanted));
	if (!home)
		return NULL;
	if (asprintf(&path, "%s%s", home, wanted + 1) < 0)
		return memory_note(NULL);
	return path;
}

/* The first directory on the way that cannot be entered; *path is cut behind it. */
static void cut_at_barrier(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
			return;
		*slash = '/';
	}
}

void self_may(const char *path, bool write, struct rye_err *err)
{
	auto_free char *at = strdup(path);
	auto_buf struct rye_buf told = RYE_BUF_INIT;
	struct stat st;
	mode_t need;
	bool is_dir;

	if (!at || !err || *path != '/')
		return;
	cut_at_barrier(at);
	if (stat(at, &st) < 0 || st.st_uid != geteuid())
		return;
	is_dir = S_ISDIR(st.st_mode);
	need = is_dir ? S_IRWXU : S_IRUSR | (write ? S_IWUSR : 0u);
	if ((st.st_mode & need) == need)
		return;
	buf_addf(&told, "%s\n" MEND_WITH "chmod u+%s ", err->msg,
		 is_dir ? "rwx" :
		 write	? "rw" :
			  "r");
	buf_shell(&told, at);
	if (!told.failed && told.len < sizeof(err->msg))
		memcpy(err->msg, told.data, told.len + 1);
}
