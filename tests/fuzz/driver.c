/* SPDX-License-Identifier: MIT */
/*
 * driver.c - replays a corpus through one fuzz target.
 *
 * The ordinary build has no libFuzzer: this main() feeds every file named in
 * argv, and every file of every directory named there, once to the target.
 * An empty or missing corpus is a failure: a target without seeds tests nothing.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Seeds are small by intent; a bigger file in the corpus is a mistake. */
#define SEED_MAX (4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	/* exactly as long as the input, so that a sanitizer sees a read behind it */
	uint8_t *seed = NULL;
	struct stat st;
	bool ok = false;

	if (f && fstat(fileno(f), &st) == 0 && st.st_size <= SEED_MAX) {
		seed = malloc(st.st_size ? st.st_size : 1);
		ok = seed && fread(seed, 1, st.st_size, f) == (size_t)st.st_size;
	}
	if (ok)
		LLVMFuzzerTestOneInput(seed, st.st_size);
	else
		fprintf(stderr, "cannot read seed %s\n", path);
	free(seed);
	if (f)
		fclose(f);
	return ok;
}

static int replay_dir(const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);
	int done = 0;

	for (int i = 0; i < n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			done = replay_file(path) && done >= 0 ? done + 1 : -1;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return done;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		bool is_dir = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
		int n = is_dir ? replay_dir(argv[i]) : replay_file(argv[i]) ? 1 : -1;

		if (n < 0)
			return 1;
		total += n;
	}
	printf("%d seeds replayed\n", total);
	return total > 0 ? 0 : 1;
}
