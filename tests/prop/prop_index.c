/* SPDX-License-Identifier: MIT */
/*
 * prop_index.c - after any edits the merged trees are what the files say.
 *
 * Random files and directories are made, removed and renamed in three spaces while an engine
 * watches, in a second test while several threads look names up; in the end every listing
 * must be the one that a plain reading of the disk gives. RYE_SEED replays a run.
 */
#include "item_place.h"
#include "random_steps.h"

#include "clock.h"
#include "base/id.h"

#include <dirent.h>

#define ROUNDS 40
#define EDITS 25
#define READERS 3

struct bench {
	struct test_place place;
	struct rye *rye;
	bool stop; /* atomic */
};

static void start(struct bench *b)
{
	*b = (struct bench){ 0 };
	place_make(&b->place);
	b->rye = place_engine(&b->place, (struct rye_options){ .dev_mode = true, .scan = true });
}

static void done(struct bench *b)
{
	rye_close(b->rye);
	place_drop(&b->place);
}

/* ---- edits ---- */

static void random_path(struct random *r, char *path, size_t size)
{
	static const char *const dirs[] = { "a", "b", "a/b", "b/c", "a/b/c", "x.py", "" };
	static const char *const names[] = { "x.py",  "x.yaml", "x.sh", "b.py", "c.py",
					     "x.txt", ".x.py",	"a.py", "k.md" };
	static const char *const kinds[] = { "tools", "tools", "knowledge" };
	const char *dir = dirs[random_below(r, ARRAY_SIZE(dirs))];

	snprintf(path, size, "%s%s%s/%s", kinds[random_below(r, ARRAY_SIZE(kinds))],
		 *dir ? "/" : "", dir, names[random_below(r, ARRAY_SIZE(names))]);
}

static void write_file(const char *root, const char *path, unsigned n)
{
	char full[700], dir[700];
	FILE *file;

	snprintf(full, sizeof(full), "%s/.ai/%s", root, path);
	snprintf(dir, sizeof(dir), "%s", full);
	for (char *c = strstr(dir, "/.ai") + 1; *c; c++)
		if (*c == '/') {
			*c = 0;
			mkdir(dir, 0755);
			*c = '/';
		}
	file = fopen(full, "w");
	if (!file)
		return; /* a directory has the name, or a file stands in the way */
	fprintf(file, "__version__ = \"%u\"\n", n);
	fclose(file);
}

static void edit(struct bench *b, struct random *r)
{
	const char *root = b->place.roots[random_below(r, 3)];
	char path[200], other[200], from[700], to[700];

	random_path(r, path, sizeof(path));
	random_path(r, other, sizeof(other));
	snprintf(from, sizeof(from), "%s/.ai/%s", root, path);
	snprintf(to, sizeof(to), "%s/.ai/%s", root, other);
	switch (random_below(r, 8)) {
	case 0:
		unlink(from);
		break;
	case 1:
		(void)!rename(from, to);
		break;
	case 2: /* the directory of the one takes the name of the other's */
		*strrchr(from, '/') = 0;
		*strrchr(to, '/') = 0;
		(void)!rename(from, to);
		break;
	case 3:
		*strrchr(from, '/') = 0;
		nftw(from, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
		break;
	default:
		write_file(root, path, (unsigned)random_next(r));
	}
}

/* ---- the model: a plain reading ---- */

struct model {
	char *lines[4096]; /* "tools/a/x\tRANK .py": rank decides between the same ids */
	size_t n;
};

static void model_file(struct model *m, const char *dir, const char *name, int space)
{
	enum rye_kind kind = !strncmp(dir, "tools", 5) ? RYE_TOOL : RYE_KNOWLEDGE;
	const char *ext = kind_extension_of(kind, name);
	const char *const *all = kind_extensions(kind);
	int rank = 0;

	if (!ext || *name == '.')
		return;
	while (strcmp(all[rank], ext) != 0)
		rank++;
	assert_true(m->n < ARRAY_SIZE(m->lines));
	assert_true(asprintf(&m->lines[m->n++], "%s/%.*s\t%d%02d%s", dir,
			     (int)(strlen(name) - strlen(ext)), name, space, rank, ext) > 0);
}

static void model_dir(struct model *m, const char *root, const char *below_ai, int space)
{
	char full[800], sub[400];
	DIR *dir;
	struct dirent *d;

	snprintf(full, sizeof(full), "%s/.ai/%s", root, below_ai);
	dir = opendir(full);
	while (dir && (d = readdir(dir))) {
		snprintf(sub, sizeof(sub), "%s/%s", below_ai, d->d_name);
		if (d->d_type == DT_REG)
			model_file(m, below_ai, d->d_name, space);
		else if (d->d_type == DT_DIR && d->d_name[0] != '.')
			model_dir(m, root, sub, space);
	}
	if (dir)
		closedir(dir);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line a served file, sorted: "tools/a/x.py". */
static char *model_text(struct bench *b)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct model m = { .n = 0 };
	char *files[4096];
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		model_dir(&m, b->place.roots[i], "tools", i);
		model_dir(&m, b->place.roots[i], "knowledge", i);
	}
	qsort(m.lines, m.n, sizeof(char *), by_text);
	for (size_t i = 0; i < m.n; i++) {
		size_t id = strcspn(m.lines[i], "\t");

		if (i && !strncmp(m.lines[i], m.lines[i - 1], id + 1))
			continue;
		assert_true(asprintf(&files[n++], "%.*s%s", (int)id, m.lines[i],
				     m.lines[i] + id + 4) > 0);
	}
	qsort(files, n, sizeof(char *), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_addf(&buf, "%s\n", files[i]);
		free(files[i]);
	}
	for (size_t i = 0; i < m.n; i++)
		free(m.lines[i]);
	buf_adds(&buf, "");
	return buf_steal(&buf);
}

/* ---- the engine's answer ---- */

struct listing {
	struct bench *b;
	enum rye_kind kind;
	const char *dir;
	char **files;
	size_t *n;
};

static void list_dir(struct bench *b, const struct listing *in);

static int add_name(void *arg, const struct rye_entry *entry)
{
	struct listing *in = arg;
	char path[500];

	snprintf(path, sizeof(path), "%s%s%s", in->dir, *in->dir ? "/" : "", entry->name);
	if (entry->is_dir) {
		struct listing sub = *in;

		sub.dir = path;
		list_dir(in->b, &sub);
	} else if (*in->n < 4096) {
		assert_true(asprintf(&in->files[(*in->n)++], "%s/%s", rye_kind_dir(in->kind),
				     path) > 0);
	}
	return 0;
}

static void list_dir(struct bench *b, const struct listing *in)
{
	struct rye_walk walk = { in->kind, in->dir, false, add_name, (void *)in };

	rye_list(b->rye, &walk, NULL);
}

static char *engine_text(struct bench *b)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	char *files[4096];
	size_t n = 0;
	struct listing in = { b, RYE_TOOL, "", files, &n };

	list_dir(b, &in);
	in.kind = RYE_KNOWLEDGE;
	list_dir(b, &in);
	qsort(files, n, sizeof(char *), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_addf(&buf, "%s\n", files[i]);
		free(files[i]);
	}
	buf_adds(&buf, "");
	return buf_steal(&buf);
}

/*
 * A file hides a directory of its name, so what lies in there is not listed: the model's lines
 * below a listed file are taken out.
 */
static void drop_hidden(char *text)
{
	char *out = text, *end;

	for (char *line = text; *line; line = end) {
		bool hidden = false;

		end = strchr(line, '\n') + 1;
		for (char *slash = strchr(line, '/'); slash && slash < end && !hidden;
		     slash = strchr(slash + 1, '/')) {
			char saved = *slash;
			char *hit;

			*slash = '\n';
			for (hit = text; (hit = memmem(hit, (size_t)(out - hit), line,
						       (size_t)(slash - line + 1)));
			     hit++)
				hidden |= hit == text || hit[-1] == '\n';
			*slash = saved;
		}
		if (hidden)
			continue;
		memmove(out, line, (size_t)(end - line));
		out += end - line;
	}
	*out = 0;
}

static void check(struct bench *b)
{
	auto_free char *wanted = model_text(b);
	auto_free char *got = NULL;

	drop_hidden(wanted);
	for (int i = 0; i < 2000; i++) {
		free(got);
		got = engine_text(b);
		if (!strcmp(got, wanted))
			return;
		usleep(1000);
	}
	assert_string_equal(got, wanted);
}

static void listed_is_model(void **state)
{
	struct random r = random_seed();
	struct bench b;

	start(&b);
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < EDITS; j++)
			edit(&b, &r);
		check(&b);
	}
	done(&b);
}

/* ---- with readers ---- */

static void *reader(void *arg)
{
	struct bench *b = arg;
	struct random r = { (uint64_t)(uintptr_t)&r | 1 };

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		struct rye_ask ask = { RYE_TOOL, NULL, RYE_VIEW_RENDERED, NULL };
		struct rye_blob *blob = NULL;
		struct rye_stat st;
		char path[200], *ext;

		random_path(&r, path, sizeof(path));
		ask.kind = !strncmp(path, "tools/", 6) ? RYE_TOOL : RYE_KNOWLEDGE;
		ask.id = strchr(path, '/') + 1;
		if (rye_lookup(b->rye, ask.kind, ask.id, &st, NULL) == 0 && st.is_file)
			assert_true(st.version != 0);
		ext = strrchr(path, '.');
		*ext = 0;
		if (rye_view(b->rye, &ask, &blob, NULL) == 0)
			rye_blob_unref(blob);
	}
	return NULL;
}

static void edits_and_lookups(void **state)
{
	struct random r = random_seed();
	pthread_t readers[READERS];
	struct bench b;

	start(&b);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, reader, &b), 0);
	for (int i = 0; i < ROUNDS / 4; i++) {
		for (int j = 0; j < EDITS; j++)
			edit(&b, &r);
		rye_touched(b.rye, (int)random_below(&r, 3), "tools/a");
		check(&b);
	}
	__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	check(&b);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_is_model),
		cmocka_unit_test(edits_and_lookups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
