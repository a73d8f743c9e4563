/* SPDX-License-Identifier: MIT */
/*
 * ryefs mount --help. The mount itself is fs/main.c's; a lint compares this text with the
 * table of options in fs/mount/mount_options.c.
 */
#include "cli/cli.h"

#include "scope.h"

void mount_help(FILE *to)
{
	static const struct {
		const char *name, *help;
	} rows[] = {
		{ "userspace=DIR", "parent of your own .ai ($USER_SPACE, home)" },
		{ "system=DIR[:DIR]", "parents of the bundles' .ai" },
		{ "ro", "write to no space" },
		{ "norun", "run nothing" },
		{ "nosign", "sign and trust nothing" },
		{ "coverage=strict|compat", "compat: also what other implementations sign" },
		{ "devmode", "serve what is not signed, with a warning" },
		{ "wait=SECONDS", "longer runs go on as threads" },
		{ "jobs=N", "runs at once" },
		{ "sandbox=auto|strict|off", "how tools are confined" },
		{ "trust_callers=same|any", "any: sandboxed callers too" },
		{ "venv", "let project tools use .venv, node_modules" },
		{ "env=NAME[:NAME]", "variables that items may read" },
		{ "list=items|all", "all: list items' directories as well" },
		{ "spaces=rw|ro|none", "whether spaces/ may be written to, is there" },
		{ "skills=WHICH", "of skills/: own, all, only or none (docs/skills.md)" },
		{ "xattr", "answer user.rye.* attributes" },
		{ "io_uring", "requests by io_uring, if the kernel offers it" },
		{ "survive=auto|on|off", "go on when the daemon was killed" },
		{ "allow_other", "let other users read" },
	};

	fputs("usage: ryefs [mount] SOURCE MOUNTPOINT [-o OPTION,...] [-f] [-d]\n\n"
	      "show SOURCE/.ai, verified, at MOUNTPOINT\n\n"
	      "  -f                        stay in the foreground\n"
	      "  -d                        the same, and trace requests\n"
	      "  -o OPTION,...\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		fprintf(to, "     %-22s %s\n", rows[i].name, rows[i].help);
	fputs("\nEnd it with ryefs umount MOUNTPOINT. man ryefs says more, man 7 ryefs shows the "
	      "files.\n",
	      to);
}
