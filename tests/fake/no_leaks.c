/* SPDX-License-Identifier: MIT */
/*
 * Linked into a program that AddressSanitizer watches, for the leaks that it looks for at the end.
 */
#include <stdlib.h>

#define SEEN __attribute__((visibility("default")))

SEEN int __lsan_is_turned_off(void);
SEEN const char *__lsan_default_suppressions(void);

/* It stops the program's threads by ptrace, which no tool may do; what it cannot do is an error. */
int __lsan_is_turned_off(void)
{
	return getenv("RYE_RUN") != NULL;
}

/* setenv drops a variable that main.c has copied: a runner's runner replaces RYE_THREAD_ID. */
const char *__lsan_default_suppressions(void)
{
	return "leak:copied_environment\n";
}
