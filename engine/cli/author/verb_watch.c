/* SPDX-License-Identifier: MIT */
/*
 * ryefs watch: as long as its caller writes, each item that is saved is checked, signed and, with --run,
 * run: a line each. To sign is to answer for a text, so what the caller has not written stays as it is, and
 * is told: what git has put there, what another key signed, many files at once.
 *
 * The engine's watching thread puts a record for each change into a pipe; all else is done by the main
 * thread. A full pipe is many files at once. No lock.
 */
#include "cli/author/author.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An editor's save is several changes: it is over when there was none for so long, or after so long. */
#define WATCH_QUIET_MS 60
#define WATCH_MOST_MS 1000
/* Of one save; more is a script, a merge or a copy. */
#define WATCH_FILES 8

struct watch_record { /* shorter than PIPE_BUF, so written and read whole */
	int space;
	enum rye_kind kind;
	char id[1024];
};

struct watching {
	struct cli *cli;
	int out, in; /* ends of the pipe */
	int signals;
	_Atomic bool many;
	char ref[REF_MAX]; /* the one item; "": all below dir */
	char *dir; /* absolute, with a slash at its end; or NULL */
	char *project; /* what --project would say, or NULL */
	json_t *changed; /* {ref, space} of one save */
	json_t *seen; /* path: its inode and times when it was looked at last */
};

/* ---- what has changed ---- */

/* On the engine's thread. */
static void watch_hears(void *arg, const struct rye_change *change)
{
	struct watching *watching = arg;
	struct watch_record record = { change->space, change->kind, "" };

	if (change->type != RYE_CHANGE_PATH || change->kind == RYE_KIND__MAX || !change->id)
		return;
	snprintf(record.id, sizeof(record.id), "%s", change->id);
	if (write(watching->in, &record, sizeof(record)) != (ssize_t)sizeof(record))
		watching->many = true;
}

static void watch_note(struct watching *watching, const struct watch_record *record)
{
	struct rye_space_info info;
	json_t *row, *old;
	char ref[REF_MAX];
	size_t i;

	snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(record->kind), record->id);
	rye_space_get(watching->cli->rye, record->space, &info);
	if (info.type == RYE_SYSTEM || (*watching->ref && strcmp(watching->ref, ref) != 0))
		return;
	json_array_foreach(watching->changed, i, old)
		if (!strcmp(json_str(old, "ref"), ref) &&
		    !strcmp(json_str(old, "space"), named_space(info.type)))
			return;
	row = json_object();
	json_sets(row, "ref", ref);
	json_sets(row, "space", named_space(info.type));
	json_array_append_new(watching->changed, row);
}

static void watch_read(struct watching *watching)
{
	struct watch_record record;

	while (read(watching->out, &record, sizeof(record)) == (ssize_t)sizeof(record))
		watch_note(watching, &record);
}

/* One save. False: it was ended. */
static bool watch_next(struct watching *watching)
{
	struct pollfd fds[] = { { watching->out, POLLIN, 0 }, { watching->signals, POLLIN, 0 } };
	int64_t begun = 0;

	json_array_clear(watching->changed);
	watching->many = false;
	for (;;) {
		int wait = json_array_size(watching->changed) ? WATCH_QUIET_MS : -1;
		int n = poll(fds, ARRAY_SIZE(fds), wait);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0 && fds[1].revents)
			return false;
		if (n == 0)
			return true;
		watch_read(watching);
		begun = begun ? begun : clock_ms();
		if (json_array_size(watching->changed) && clock_ms() - begun > WATCH_MOST_MS)
			return true;
	}
}

/* ---- a line ---- */

static void watch_tell(const struct watching *watching, const char *event, const char *ref,
		       const char *message)
{
	struct cli *cli = watching->cli;
	auto_json json_t *row = json_object();
	time_t now = time(NULL);
	char clock[16] = "";
	struct tm tm;

	/* among paths, which begin with a slash */
	if (!strcmp(event, "refused") || !strcmp(event, "left"))
		json_set(watching->seen, ref, json_true());
	else
		json_object_del(watching->seen, ref);
	if (cli->opt.json) {
		json_sets(row, "event", event);
		json_sets(row, "ref", ref);
		json_sets(row, "message", message);
		out_json(row);
	} else if (localtime_r(&now, &tm)) {
		auto_free char *line = strndup(message, strcspn(message, "\n"));

		strftime(clock, sizeof(clock), "%T", &tm);
		printf("%s  %-8s ", clock, event);
		out_text(stdout, ref);
		if (line && *line) {
			fputs(": ", stdout);
			out_text(stdout, line);
		}
		putchar('\n');
	}
	fflush(stdout);
}

static void watch_broken(void *arg, const char *path, long line, const char *what)
{
	(void)path;
	buf_addf(arg, "line %ld: this is not Python: %s", line, what);
}

static void watch_run(const struct watching *watching, const char *ref)
{
	int status = watch_execute(watching->cli, ref);
	char end[48];

	snprintf(end, sizeof(end), status < 0 ? "it could not be started" : "exit status %d",
		 status);
	watch_tell(watching, "ran", ref, end);
}

/* ---- one item ---- */

static int watch_signed(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	json_t *row = arg;

	(void)done;
	(void)total;
	if (!verdict)
		return 0;
	json_sets(row, "event", verdict->left ? "left" : verdict->code ? "refused" : "signed");
	json_sets(row, "message",
		  verdict->left	   ? "another key signed it; see ryefs diff" :
		  verdict->message ? verdict->message :
				     "");
	return 0;
}

/* Signs it; is it good then? */
static bool watch_sign(const struct watching *watching, const char *ref, const char *space,
		       const char *path)
{
	auto_json json_t *answer = json_object(), *paths = json_array();
	struct rye_batch batch = { .pattern = ref,
				   .space = strcmp(space, "user") ? RYE_PROJECT : RYE_USER,
				   .fn = watch_signed,
				   .arg = answer,
				   .many = true };
	auto_buf struct rye_buf broken = RYE_BUF_INIT;
	struct rye_err err = { 0 };

	if (str_ends(path, ".py"))
		json_array_append_new(paths, json_string(path));
	compiles_check(paths, watch_broken, &broken);
	if (broken.len) {
		watch_tell(watching, "refused", ref, broken.data);
		return false;
	}
	if (rye_sign_all(watching->cli->rye, &batch, &err)) {
		watch_tell(watching, "refused", ref, err.msg);
		return false;
	}
	if (!*json_str(answer, "event")) {
		/* it was good already */
		if (json_object_del(watching->seen, ref) == 0)
			watch_tell(watching, "good", ref, "");
		return true;
	}
	watch_tell(watching, json_str(answer, "event"), ref, json_str(answer, "message"));
	return !strcmp(json_str(answer, "event"), "signed");
}

/* Does the file lie below the directory that was named? */
static bool watch_in_dir(const struct watching *watching, const char *path)
{
	return !watching->dir || !strncmp(path, watching->dir, strlen(watching->dir));
}

/* A change of its attributes, or one that was told twice, is none of the text. */
static bool watch_is_seen(const struct watching *watching, const char *path)
{
	char now[96] = "";
	struct stat st;
	bool same;

	if (stat(path, &st) == 0)
		snprintf(now, sizeof(now), "%llu %lld.%09ld %lld", (unsigned long long)st.st_ino,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size);
	same = !strcmp(json_str(watching->seen, path), now);
	json_sets(watching->seen, path, now);
	return same;
}

static void watch_look(const struct watching *watching, const char *ref, const char *space)
{
	auto_json json_t *rows = ref_verdicts(watching->cli, ref, NULL);
	const json_t *row = json_find(rows, "space", space);
	const char *path = json_str(row, "path");
	bool good = json_flag(row, "ok", false);

	if (!row) {
		watch_tell(watching, "gone", ref, "");
		return;
	}
	if (!watch_in_dir(watching, path))
		return;
	/* any file of the folder may have changed, and what a client may run is looked at first */
	if (named_is_folder(ref)) {
		if (!good)
			watch_tell(
				watching, "left", ref,
				"not what was signed; see ryefs skill diff, then ryefs skill add");
		return;
	}
	if (watch_is_seen(watching, path))
		return;
	if (!good && git_has(path)) {
		watch_tell(watching, "left", ref,
			   "git has put it there; see ryefs diff, then sign it");
		return;
	}
	/* a line that said no is not the last word */
	if (good && json_object_del(watching->seen, ref) == 0)
		watch_tell(watching, "good", ref, "");
	/* what is good by now was signed by another program, or by the line above this one */
	if (good || !watch_sign(watching, ref, space, path))
		return;
	if (watching->cli->opt.run)
		watch_run(watching, ref);
}

static void watch_save(const struct watching *watching)
{
	const json_t *row;
	size_t i;

	if (watching->many || json_array_size(watching->changed) > WATCH_FILES) {
		watch_tell(watching, "left", *watching->ref ? watching->ref : "all",
			   "many files changed at once; see ryefs verify, then sign them");
		return;
	}
	json_array_foreach(watching->changed, i, row)
		watch_look(watching, json_str(row, "ref"), json_str(row, "space"));
}

/* ---- what is watched ---- */

static int watch_read_operand(struct watching *watching)
{
	struct cli *cli = watching->cli;
	auto_free char *real = realpath(cli->argv[0], NULL);
	struct stat st;

	if (real && stat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (cli->argc > 1)
			return cli_misuse(cli, "parameters are for one item: name it instead of %s",
					  cli->argv[0]);
		return asprintf(&watching->dir, "%s/", real) < 0 ? CLI_FAILED : CLI_OK;
	}
	return CLI_OK;
}

/* Below .ai the path itself tells the project; above, it is the project. */
static void watch_project(struct watching *watching)
{
	struct cli *cli = watching->cli;
	size_t n = strlen(watching->dir);

	if (cli->opt.project || strstr(watching->dir, "/.ai/") != watching->dir + n - 5)
		return;
	watching->project = strndup(watching->dir, n > 5 ? n - 5 : 1);
	cli->opt.project = watching->project;
}

static int watch_read_ref(struct watching *watching)
{
	struct cli *cli = watching->cli;
	auto_json json_t *rows = NULL;
	struct rye_err err = { 0 };
	int status = ref_one(cli, 0, watching->ref);

	if (status != CLI_OK)
		return status;
	rows = ref_verdicts(cli, watching->ref, &err);
	return rows ? CLI_OK : cli_fail(cli, &err, watching->ref);
}

static int watch_open(struct watching *watching)
{
	struct cli *cli = watching->cli;
	int ends[2], status;
	sigset_t set;

	cli->stays = true;
	if (watching->dir && strstr(watching->dir, "/.ai/"))
		watch_project(watching);
	else if (watching->dir && !cli->opt.project)
		cli->opt.project = watching->dir;
	status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK && !watching->dir)
		status = watch_read_ref(watching);
	if (status != CLI_OK)
		return status;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot watch: %s", strerror(errno));
	watching->out = ends[0];
	watching->in = ends[1];
	cli_signals(&set);
	watching->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watching->signals < 0 ? CLI_FAILED : CLI_OK;
}

/* Until the engine has seen what there is: what changes then is told. False: it was ended. */
static bool watch_begin(struct watching *watching)
{
	struct pollfd ended = { watching->signals, POLLIN, 0 };
	struct rye_counts counts;

	for (;;) {
		rye_counts(watching->cli->rye, &counts);
		if (counts.scanned)
			break;
		if (poll(&ended, 1, 10) > 0)
			return false;
	}
	cli_note(watching->cli, "watching %s; ^C ends it",
		 watching->dir ? watching->dir : watching->ref);
	return true;
}

/* The engine may still tell changes: it is closed before the pipe is. */
static void watch_end(struct watching *watching)
{
	struct cli *cli = watching->cli;

	if (cli->rye)
		rye_close(steal(&cli->rye));
	if (watching->out >= 0)
		close(watching->out);
	if (watching->in >= 0)
		close(watching->in);
	if (watching->signals >= 0)
		close(watching->signals);
	cli->opt.project = NULL;
	json_decref(watching->changed);
	json_decref(watching->seen);
	free(watching->project);
	free(watching->dir);
}

int verb_watch(struct cli *cli)
{
	__attribute__((cleanup(watch_end))) struct watching watching = { .cli = cli,
									 .out = -1,
									 .in = -1,
									 .signals = -1,
									 .changed = json_array(),
									 .seen = json_object() };
	int status = watch_read_operand(&watching);

	if (status == CLI_OK && cli->argc > 1 && !cli->opt.run)
		return cli_misuse(cli, "parameters are for --run");
	if (status == CLI_OK)
		status = watch_open(&watching);
	if (status != CLI_OK)
		return status;
	rye_watch(cli->rye, watch_hears, &watching);
	if (!watch_begin(&watching))
		return CLI_OK;
	while (watch_next(&watching))
		watch_save(&watching);
	return CLI_OK;
}
