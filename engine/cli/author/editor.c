/* SPDX-License-Identifier: MIT */
/*
 * The person's editor, as git starts it: $VISUAL, else $EDITOR, by a shell, so that words behind the
 * program's name count; else one that the system has. It has the terminal, and its keys. One thread.
 */
#include "cli/author/author.h"

#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* NULL: the system has none. known: one that is itself, not what leads to another, which may be the one that failed. */
static const char *editor_usual(bool known)
{
	static const char *const paths[] = { "/usr/bin/sensible-editor",
					     "/usr/bin/editor",
					     "/usr/bin/nano",
					     "/usr/bin/vi",
					     "/bin/vi",
					     "/usr/bin/ed" };

	for (size_t i = known ? 2 : 0; i < ARRAY_SIZE(paths); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static const char *editor_named(void)
{
	const char *name = getenv("VISUAL");

	if (!name || !*name)
		name = getenv("EDITOR");
	return name && *name ? name : NULL;
}

/* The same command with an editor that is there. */
static char *editor_mend(const struct cli *cli)
{
	auto_free char *typed = cli_retyped(cli, cli->verb->name, NULL, NULL);
	const char *usual = editor_usual(true);
	char *mend = NULL;

	if (!usual)
		return strdup("apt install nano");
	return typed && asprintf(&mend, "VISUAL=%s %s", usual, typed) >= 0 ? mend : NULL;
}

/* ^C and ^\ are the editor's: it has them as they were, here they do nothing meanwhile. */
static int editor_wait(const char *const argv[])
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, on_int, on_quit;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int status = -1;
	pid_t pid;

	sigaction(SIGINT, &ignore, &on_int);
	sigaction(SIGQUIT, &ignore, &on_quit);
	sigemptyset(&defaults);
	if (on_int.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGINT);
	if (on_quit.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	if (posix_spawn(&pid, argv[0], NULL, &attr, (char *const *)argv, environ))
		pid = -1;
	posix_spawnattr_destroy(&attr);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &on_int, NULL);
	sigaction(SIGQUIT, &on_quit, NULL);
	return status;
}

int editor_run(struct cli *cli, const char *path)
{
	const char *editor = editor_named();
	auto_free char *mend = editor_mend(cli), *script = NULL, *again = NULL;
	int status;

	if (!editor && isatty(STDIN_FILENO))
		editor = editor_usual(false);
	if (!editor)
		return cli_complain(cli, CLI_USAGE, mend,
				    "neither VISUAL nor EDITOR names an editor");
	if (asprintf(&script, "%s \"$@\"", editor) < 0)
		return CLI_FAILED;
	fflush(stdout);
	status = editor_wait((const char *const[]){ "/bin/sh", "-c", script, editor, path, NULL });
	if (status == 0)
		return CLI_OK;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
		return cli_complain(cli, CLI_FAILED, mend, "the editor \"%s\" cannot be started",
				    editor);
	again = cli_retyped(cli, cli->verb->name, NULL, NULL);
	/* the shell's own end tells a signal that ended its child */
	if (WIFEXITED(status) && WEXITSTATUS(status) < 128)
		return cli_complain(cli, CLI_FAILED, again, "the editor ended with status %d",
				    WEXITSTATUS(status));
	return cli_complain(cli, CLI_FAILED, again, "the editor was ended by signal %d",
			    WIFEXITED(status) ? WEXITSTATUS(status) - 128 : WTERMSIG(status));
}
