/* SPDX-License-Identifier: MIT */
/*
 * How far two words are from each other, for "did you mean …?". Three rows of the usual table are
 * enough. Pure; bounded by NEAR_MAX.
 */
#include "near.h"

#include <string.h>

static int near_least(int a, int b)
{
	return a < b ? a : b;
}

int near_distance(const char *a, const char *b)
{
	int rows[3][NEAR_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > NEAR_MAX || m > NEAR_MAX)
		return NEAR_MAX;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *now = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = near_least(now[j], above[j] + 1);
			now[j] = near_least(now[j], now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = near_least(now[j], before[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

int near_limit(const char *word)
{
	size_t n = strlen(word);

	return n < 6 ? 2 : n < 12 ? 3 : 4;
}

void near_start(struct near_word *near, const char *word)
{
	*near = (struct near_word){ .word = word, .nearest = near_limit(word) };
}

void near_offer(struct near_word *near, const char *known, const char *meant)
{
	int d = near_distance(near->word, known);
	size_t n = strlen(near->word);

	/* two letters begin many a word */
	if (!near->whole && n > 1 && !strncmp(known, near->word, n))
		d = near_least(d, n > 2 ? 1 : 2);
	if (d >= near->nearest)
		return;
	near->nearest = d;
	near->best = meant;
}
