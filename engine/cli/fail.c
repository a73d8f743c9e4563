/* SPDX-License-Identifier: MIT */
/*
 * How a verb fails: a sentence on stderr, "mend with:" and a command that can be typed as it
 * stands, with --json one value on standard output as well, and the exit status. A sentence of the
 * engine may bring its remedy along (MEND_WITH); else the table of codes has one.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "base/self.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum cli_exit exit_of(enum rye_code code)
{
	if (rye_code_integrity(code) || code == RYE_NO_KEY || code == RYE_KEY_CHANGED)
		return CLI_REFUSED;
	switch (code) {
	case RYE_OK:
		return CLI_OK;
	case RYE_NOT_FOUND:
		return CLI_NOT_FOUND;
	case RYE_INVALID:
		return CLI_USAGE;
	case RYE_DENIED:
	case RYE_READ_ONLY:
		return CLI_DENIED;
	default:
		return CLI_FAILED;
	}
}

char *mend_with(const char *format, ...)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *slot;
	va_list args;

	va_start(args, format);
	for (; (slot = strstr(format, "%s")); format = slot + strlen("%s")) {
		buf_add(&text, format, (size_t)(slot - format));
		buf_shell(&text, va_arg(args, const char *));
	}
	va_end(args);
	buf_adds(&text, format);
	return buf_steal(&text);
}

char *cli_remedy(enum rye_code code, const char *ref)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;
	const char *text = rye_code_remedy(code);
	const char *command = strstr(text, ": ryefs "), *slot;

	/* what cannot be typed is no remedy behind "mend with"; words to search for are not known here */
	if (!command || code == RYE_NOT_FOUND)
		return NULL;
	/* the words of the table that stand for something are not typed as they stand */
	if ((!ref && strstr(command, " REF")) || strstr(command, " NAME"))
		return NULL;
	/* "sign it: ryefs sign REF": the command alone */
	if (!strstr(command + 1, ": ryefs "))
		text = command + strlen(": ");
	for (; ref && (slot = strstr(text, "REF")); text = slot + strlen("REF")) {
		buf_add(&ret, text, (size_t)(slot - text));
		buf_shell(&ret, ref);
	}
	buf_adds(&ret, text);
	return buf_steal(&ret);
}

/* On failure too, --json answers with one value. */
static void fail_json(const char *code, const char *message, const char *mend)
{
	auto_json json_t *answer = json_object();

	json_sets(answer, "status", "error");
	json_sets(answer, "error", message);
	json_sets(answer, "code", code);
	if (mend)
		json_sets(answer, "mend", mend);
	out_json(answer);
}

/* A tool's own words often end in line ends; a sentence of ours does not. */
static void put_message(const char *message)
{
	size_t n = strlen(message);
	auto_free char *text = NULL;

	while (n && (message[n - 1] == '\n' || message[n - 1] == ' '))
		n--;
	text = strndup(message, n);
	out_text(stderr, text ? text : message);
	putc('\n', stderr);
}

static void fail_text(struct cli *cli, const char *message, const char *mend)
{
	fflush(stdout);
	if (cli->in_bar)
		fputs("\r\033[K", stderr);
	cli->in_bar = false;
	fprintf(stderr, "ryefs %s: ", cli->verb->name);
	put_message(message);
	if (!mend)
		return;
	fputs(MEND_WITH, stderr);
	out_text(stderr, mend);
	putc('\n', stderr);
}

static void add_option(struct rye_buf *ret, const char *name, const char *value)
{
	if (!value || !*value || strstr(ret->data, name))
		return;
	buf_addf(ret, " %s ", name);
	buf_shell(ret, value);
}

char *mend_here(const struct cli *cli, const char *mend)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;
	bool init = !strncmp(mend, "ryefs init", 10);

	buf_adds(&ret, mend);
	if (strncmp(mend, "ryefs ", 6) != 0 || strstr(mend, " && ") || strstr(mend, ", "))
		return buf_steal(&ret);
	if (!init)
		add_option(&ret, "--project",
			   cli->opt.project || !cli->elsewhere ? cli->opt.project : cli->project);
	add_option(&ret, "--user", cli->opt.user);
	if (!init)
		add_option(&ret, "--system", cli->opt.system);
	return buf_steal(&ret);
}

static void fail_tell(struct cli *cli, const char *code, const char *message, const char *mend)
{
	auto_free char *here = mend ? mend_here(cli, mend) : NULL;

	if (cli->opt.json)
		fail_json(code, message, here ? here : mend);
	fail_text(cli, message, here ? here : mend);
}

char *cli_retyped(const struct cli *cli, const char *verb, const char *old, const char *instead)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;

	buf_addf(&ret, "ryefs %s", verb);
	for (int i = 0; i < cli->n_typed; i++) {
		buf_addc(&ret, ' ');
		buf_shell(&ret, old && cli->typed[i] == old ? instead : cli->typed[i]);
	}
	return buf_steal(&ret);
}

char *cli_meant(const struct cli *cli, const char *instead)
{
	return cli_retyped(cli, cli->verb->name, cli->argv[cli->operand], instead);
}

char *mend_json(const char *path, const char *ref)
{
	auto_free char *yaml = NULL;

	if (asprintf(&yaml, "%.*syaml", (int)(strlen(path) - strlen("json")), path) < 0)
		return NULL;
	return mend_with("mv %s %s && ryefs sign %s", path, yaml, ref);
}

char *mend_edit(const struct cli *cli, const struct signed_file *file, const char *space)
{
	const char *below = cli->project ? path_below(file->path, cli->project) : NULL;
	const char *path = file->path;

	/* from the project's own directory a short path does */
	if (below && *below && !cli->opt.project && access(below, F_OK) == 0)
		path = below;
	if (str_ends(path, ".json"))
		return mend_json(path, file->ref);
	return mend_with(space && !strcmp(space, "user") ?
				 "${EDITOR:-vi} %s && ryefs sign %s --space user" :
				 "${EDITOR:-vi} %s && ryefs sign %s",
			 path, file->ref);
}

/* JSON below tools is data, which no listing shows; all of it is YAML as well. False: there is no
 * such file. */
static bool fail_json_tool(struct cli *cli, const char *ref)
{
	auto_free char *path = NULL, *mend = NULL;
	char name[REF_MAX];
	const char *id;
	enum rye_kind kind = id_kind(ref, &id);

	id = kind == RYE_TOOL ? id : ref;
	if ((kind != RYE_TOOL && kind != RYE_KIND__MAX) || !cli->project ||
	    asprintf(&path, "%s/.ai/tools/%s.json", cli->project, id) < 0 ||
	    access(path, F_OK) != 0)
		return false;
	snprintf(name, sizeof(name), "tool:%s", id);
	mend = mend_json(path, name);
	cli_complain(cli, CLI_NOT_FOUND, mend,
		     "%s is JSON, which is data beside tools; a tool would be YAML", ref);
	return true;
}

/* "Tool not found: x" and, where something is like it, what that is. */
static int fail_not_found(struct cli *cli, const char *message, const char *ref)
{
	const char *id = ref ? strrchr(ref, '/') : NULL, *seek = cli->verb->seek;
	bool refs = cli->verb->traits & CLI_REFS;
	auto_free char *mend = NULL;
	char near[REF_MAX];

	if (ref && refs && fail_json_tool(cli, ref))
		return CLI_NOT_FOUND;
	if (ref && refs && cli->rye && cli->argc && rye_near(cli->rye, ref, near)) {
		/* the item is there: it was something else that was not */
		if (!strcmp(near, ref) || !strcmp(strchr(near, ':') + 1, ref))
			return cli_complain(cli, CLI_NOT_FOUND, NULL, "%s", message);
		mend = cli_meant(cli, near);
		return cli_complain(cli, CLI_NOT_FOUND, mend, "%s; did you mean %s?", message,
				    near);
	}
	if (ref && cli->argc && access(cli->argv[cli->operand], F_OK) == 0 &&
	    strstr(cli->argv[cli->operand], ".ai/"))
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs doctor",
				    "%s is no item, for the end of its name", ref);
	/* a path is nothing to search for */
	if (ref && refs && cli->argc && strchr("./", *cli->argv[cli->operand])) {
		mend = mend_with("ryefs search %s", "*");
	} else if (ref && refs && !strpbrk(ref, "*?")) {
		id = id ? id + 1 : strchr(ref, ':') ? strchr(ref, ':') + 1 : ref;
		mend = mend_with("ryefs search %s", id);
	} else if (ref && refs) {
		mend = mend_with("ryefs search %s", "*");
	}
	if (!seek && refs)
		seek = "ryefs search WORDS";
	return cli_complain(cli, CLI_NOT_FOUND, mend ? mend : seek, "%s", message);
}

char *told_split(const char *message, char **ret_what)
{
	const char *told = strstr(message, MEND_WITH);
	struct rye_span what = { message, told ? (size_t)(told - message) : strlen(message) };

	if (told)
		what = span_trim(what);
	what.len -= told && span_ends(what, ";");
	*ret_what = span_dup(what);
	return told ? span_dup(span_trim(span_of(told + strlen(MEND_WITH)))) : NULL;
}

/* /nonexistent, as accounts of services have it, or /dev/null */
static bool is_no_home(const char *base)
{
	struct stat st;

	return stat(base, &st) < 0 || !S_ISDIR(st.st_mode);
}

/*
 * The system said no to a write below the user space: what lets the person write there, or, where they
 * have none yet, another place. Keys and trust that are there would be missed in that.
 */
static bool fail_at_home(const struct cli *cli, const struct rye_err *err, char **ret_mend)
{
	auto_free char *base = cli_user_base(cli), *ai = NULL, *what = NULL;
	bool denied = err->sys == EROFS || err->sys == EACCES || err->sys == EPERM;
	bool nowhere = err->sys == ENOENT || err->sys == ENOTDIR;
	struct rye_err may = { 0 };
	const char *at;
	struct stat st;

	if (cli->opt.user || !base || (!denied && !(nowhere && is_no_home(base))) ||
	    asprintf(&ai, "%s/.ai", base) < 0)
		return false;
	at = strstr(err->msg, ai);
	if (at && denied && err->sys != EROFS && (lstat(ai, &st) == 0 || errno == EACCES)) {
		auto_free char *path = strndup(at, strcspn(at, ":"));

		self_may(path ? path : ai, true, &may);
		*ret_mend = told_split(may.msg, &what);
	} else if (at) {
		*ret_mend = strdup(SELF_ELSEWHERE);
	}
	return at;
}

int cli_fail(struct cli *cli, const struct rye_err *err, const char *ref)
{
	auto_free char *what = NULL, *mend = told_split(err->msg, &what);
	bool told = mend, at_home = !told && fail_at_home(cli, err, &mend);

	if (!what)
		return exit_of(err->code);
	if (err->code == RYE_NOT_FOUND && !told && !at_home)
		return fail_not_found(cli, what, ref);
	if (err->code == RYE_NO_KEY && told && !strcmp(mend, "ryefs keygen")) {
		free(mend);
		mend = strdup(own_key_remedy(cli));
	}
	if (!told && !at_home && err->sys != EROFS)
		mend = cli_remedy(err->code, ref);
	/* what was just typed says no more the second time */
	if (!told && mend && cli->argc && !strncmp(mend, "ryefs remote status", 19) &&
	    !strcmp(cli->verb->name, "remote") && !strcmp(cli->argv[0], "status")) {
		free(mend);
		mend = NULL;
	}
	fail_tell(cli, rye_code_name(err->code), what, mend);
	return exit_of(err->code);
}

int cli_complain(struct cli *cli, enum cli_exit status, const char *mend, const char *format, ...)
{
	static const char *const names[] = { "ok",	  "failed",  "usage",
					     "not_found", "refused", "denied" };
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	fail_tell(cli, names[status], message, mend);
	return (int)status;
}

int cli_misspelt(struct cli *cli, const char *word, const char *instead, const char *what)
{
	auto_free char *mend = cli_retyped(cli, cli->verb->name, word, instead);

	return cli_complain(cli, CLI_USAGE, mend, "%s; did you mean %s?", what, instead);
}

int cli_misuse(struct cli *cli, const char *format, ...)
{
	char message[512], mend[64];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	snprintf(mend, sizeof(mend), "ryefs %s --help", cli->verb->name);
	fail_text(cli, message, mend);
	return CLI_USAGE;
}
