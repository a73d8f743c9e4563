/* SPDX-License-Identifier: MIT */
/* fuzz_glob.c - pattern, line end, text: against a slow matcher that is plainly right. */
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* By dynamic programming: may[j] tells whether the pattern so far matches text[0..j). */
static bool slow(const char *pattern, const char *text)
{
	size_t n = strlen(text);
	bool may[257] = { true };

	while (*pattern) {
		bool deep = pattern[0] == '*' && pattern[1] == '*', star = *pattern == '*';
		bool next[257] = { false };

		next[0] = star && may[0];
		for (size_t j = 1; j <= n; j++) {
			if (star)
				next[j] = may[j] || (next[j - 1] && (deep || text[j - 1] != '/'));
			else
				next[j] = may[j - 1] && (*pattern == text[j - 1] ||
							 (*pattern == '?' && text[j - 1] != '/'));
		}
		memcpy(may, next, sizeof(may));
		pattern += deep ? 2 : 1;
	}
	return may[n];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *lf = memchr(data, '\n', size);
	char pattern[128] = "", text[257] = "";
	size_t n = lf ? (size_t)(lf - (const char *)data) : size;
	size_t m = lf ? size - n - 1 : 0;

	memcpy(pattern, data, n < 127 ? n : 127);
	if (lf)
		memcpy(text, lf + 1, m < 256 ? m : 256);
	if (glob_match(pattern, text) != slow(pattern, text))
		abort();
	return 0;
}
