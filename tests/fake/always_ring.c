/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into all that tests start by `meson test --setup ring`: each mount of ryefs is made with -o io_uring,
 * whatever its own options say. What a mount starts does not have it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 64

typedef int (*main_fn)(int argc, char **argv, char **envp);
typedef int (*start_fn)(main_fn fn, int argc, char **argv, void (*init)(void), void (*fini)(void),
			void (*rtld_fini)(void), void *stack_end);

static int is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* As fs/main.c asks, but that it knows no verbs: where tests stand some are the names of what lies there. */
static int is_mount(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;

	if (argc < 3 || strcmp(slash ? slash + 1 : argv[0], "ryefs") ||
	    !strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))
		return 0;
	return !strcmp(argv[1], "mount") || (is_dir(argv[1]) && is_dir(argv[2]));
}

static void forget_oneself(void)
{
	const char *all = getenv("LD_PRELOAD"), *at = all ? strstr(all, "always_ring.so") : NULL;
	char rest[4096] = "";
	const char *from = at;

	while (from && from > all && from[-1] != ':' && from[-1] != ' ')
		from--;
	if (!at || strlen(all) >= sizeof(rest))
		return;
	memcpy(rest, all, (size_t)(from - all));
	at += strcspn(at, ": ");
	at += *at != 0;
	memcpy(rest + strlen(rest), at, strlen(at) + 1);
	if (*rest)
		setenv("LD_PRELOAD", rest, 1);
	else
		unsetenv("LD_PRELOAD");
}

static main_fn real_main;

static int ring_main(int argc, char **argv, char **envp)
{
	char option[] = "-o", ring[] = "io_uring", *words[WORDS_MAX + 3];

	if (argc > WORDS_MAX || !is_mount(argc, argv))
		return real_main(argc, argv, envp);
	memcpy(words, argv, (size_t)argc * sizeof(*argv));
	words[argc] = option;
	words[argc + 1] = ring;
	words[argc + 2] = NULL;
	forget_oneself();
	return real_main(argc + 2, words, envp);
}

__attribute__((visibility("default"))) int __libc_start_main(main_fn fn, int argc, char **argv,
							     void (*init)(void), void (*fini)(void),
							     void (*rtld_fini)(void),
							     void *stack_end);
__attribute__((visibility("default"))) int __libc_start_main(main_fn fn, int argc, char **argv,
							     void (*init)(void), void (*fini)(void),
							     void (*rtld_fini)(void),
							     void *stack_end)
{
	start_fn real = (start_fn)dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = fn;
	return real(ring_main, argc, argv, init, fini, rtld_fini, stack_end);
}
