/* SPDX-License-Identifier: MIT */
/*
 * The options of all verbs in one table, so that the same word means the same everywhere,
 * and what they mean for the engine: which project, which spaces. Owns nothing but
 * cli->project.
 */
#include "cli/cli.h"

#include "base/self.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct flag {
	const char *name;
	char letter;
	const char *of; /* the verbs that take it, " a b "; NULL: every one */
	size_t at; /* in struct cli_opts: a bool, or a const char * when there is an arg */
	const char *arg;
	const char *help; /* NULL: of all verbs, and told in one paragraph */
};

#define AT(field) offsetof(struct cli_opts, field)

static const struct flag flags[] = {
	{ "again", 0, " remote ", AT(again), NULL, "add: look at the key anew and ask" },
	{ "all", 'a', " sign ", AT(all), NULL, "every item of the space" },
	{ "all", 'a', " doctor verify ", AT(all), NULL, "of many refused items: each on its own" },
	{ "as", 0, " node ", AT(as), "FP", "with --stdio: for the owner of this key alone" },
	{ "as", 0, " skill ", AT(as), "NAME", "add: under this name" },
	{ "async", 0, " execute ", AT(async), NULL, "start it as a thread and return" },
	{ "changed-since", 0, " verify ", AT(since), "COMMIT",
	  "what commits and the index change since" },
	{ "check", 0, " skill ", AT(check), NULL, "update: only tell what has moved" },
	{ "client", 0, " link ", AT(client), "NAME",
	  "for this client alone: claude, codex, gemini …" },
	{ "dir", 0, " node ", AT(dir), "DIR", "the node's directory" },
	{ "dry-run", 'n', " execute ", AT(dry_run), NULL, "check everything, run nothing" },
	{ "dry-run", 'n', " new ", AT(dry_run), NULL, "print the text, write nothing" },
	{ "dry-run", 'n', " node remote ", AT(dry_run), NULL, "gc: say what would go" },
	{ "dry-run", 'n', " mv rm ", AT(dry_run), NULL, "say what would be done, and do nothing" },
	{ "each", 0, " link ", AT(each), NULL, "a real directory, with a link for each skill" },
	{ "editor", 0, " schema ", AT(editor), "NAME",
	  "the lines for an editor: vscode, helix, neovim" },
	{ "expect", 0, " skill ", AT(expect), "DIGEST",
	  "add: the yes, where there is no terminal" },
	{ "force", 'f', " fetch keygen ", AT(force), NULL, "replace what is there" },
	{ "force", 'f', " remote ", AT(force), NULL, "push: over what was pushed from elsewhere" },
	{ "force", 'f', " sign ", AT(force), NULL, "of many: also what is good already" },
	{ "forget-secrets", 0, " keygen ", AT(forget), NULL, "also where they cannot be opened" },
	{ "fork", 0, " execute ", AT(fork), NULL, "let a model work through the directive" },
	{ "from", 0, " fetch ", AT(from), "SPACE", "look only in project, user or system" },
	{ "frozen", 0, " skill ", AT(frozen), NULL, "export: nothing, if any is refused" },
	{ "hooks", 0, " init ", AT(hooks), NULL, "let git commit only what is signed" },
	{ "lang", 0, " new ", AT(lang), "LANG",
	  "python, shell, javascript, typescript, yaml, perl" },
	{ "limit", 0, " log ", AT(limit), "N", "at most N commits (20)" },
	{ "limit", 0, " search ", AT(limit), "N", "at most N hits (20)" },
	{ "of", 0, " threads ", AT(of), "REF", "list, prune: only this item's, or a pattern's" },
	{ "older", 0, " threads ", AT(older), "TIME", "prune: ended longer ago, as in 30d" },
	{ "output", 0, " execute ", AT(output), NULL,
	  "print the plain output; so it does without" },
	{ "owner", 0, " keygen node trust ", AT(owner), "NAME", "whose key it is" },
	{ "run", 0, " watch ", AT(run), NULL, "run what was signed, with the parameters" },
	{ "running", 0, " threads ", AT(running), NULL, "list: those that have not ended" },
	{ "sample", 0, " init ", AT(sample), NULL, "put signed sample items in" },
	{ "since", 0, " threads ", AT(since), "TIME", "list: started since, as in 2h, 30m, 1w" },
	{ "sarif", 0, " verify ", AT(sarif), NULL, "answer with SARIF 2.1.0, for code hosts" },
	{ "scope", 0, " trust ", AT(scope), "PATTERNS",
	  "for this alone, as knowledge:notes/**,tool:my/*" },
	{ "signer", 0, " skill ", AT(signer), "FP", "add, update: by this key from now on" },
	{ "space", 0, " mcp new sign skill ", AT(space), "SPACE", "project (default) or user" },
	{ "space", 0, " edit log mv rm ", AT(space), "SPACE",
	  "project or user; else the one that counts" },
	{ "stdio", 0, " node ", AT(stdio), NULL, "be the node that the other end talks to" },
	{ "take-over", 0, " sign ", AT(take), NULL, "of many: also what somebody else signed" },
	{ "target", 0, " execute ", AT(target), "remote:NAME",
	  "run it there; remote: the default one" },
	{ "textconv", 0, " merge ", AT(text), NULL, "print FILE without its header lines" },
	{ "to", 0, " fetch ", AT(to), "SPACE", "copy it to project or user" },
	{ "trace", 0, " execute ", AT(trace), NULL, "tell on stderr what was resolved, and how" },
	{ "with-deps", 0, " skill ", AT(deps), NULL, "add: with node_modules" },
	{ "vscode", 0, " init ", AT(vscode), NULL, "settings of VS Code: what it checks YAML by" },
	{ "work", 0, " node ", AT(work), NULL, "be a worker more, until it is ended" },
	{ "yes", 'y', " edit mcp remote rm skill threads trust ", AT(yes), NULL, "do not ask" },
	{ "http", 0, " mcp node ", AT(http), NULL, "listen on this machine's own addresses" },
	{ "port", 0, " mcp node ", AT(port), "N",
	  "with --http: the port (7393, node 7394); 0 is any" },
	{ "token", 0, " mcp ", AT(token), "FILE", "with --http: keep the token there; or none" },
	{ "unix", 0, " mcp ", AT(socket), "PATH", "listen on a Unix socket there, for you alone" },
	{ "read-only", 0, " mcp ", AT(read_only), NULL, "let clients find and read, no more" },
	{ "allow-sign", 0, " mcp ", AT(allow_sign), NULL, "let clients have items signed" },
	{ "aliases", 0, " mcp ", AT(aliases), NULL, "list rye_load and rye_search, too" },
	{ "no-prompts", 0, " mcp ", AT(no_prompts), NULL, "do not offer directives as prompts" },
	{ "no-resources", 0, " mcp ", AT(no_resources), NULL, "nor knowledge as resources" },
	{ "color", 0, NULL, AT(color), "WHEN", NULL },
	{ "project", 0, NULL, AT(project), "DIR", NULL },
	{ "user", 0, NULL, AT(user), "DIR", NULL },
	{ "system", 0, NULL, AT(system), "DIR[:DIR]", NULL },
	{ "env", 0, NULL, AT(env), "NAME[:NAME]", NULL },
	{ "compat", 0, NULL, AT(compat), NULL, NULL },
	{ "venv", 0, NULL, AT(venv), NULL, NULL },
	{ "interactive", 'i', " sign ", AT(ask), NULL, "show what changed and ask, item by item" },
	{ "json", 0, NULL, AT(json), NULL, NULL },
	{ "quiet", 'q', NULL, AT(quiet), NULL, NULL },
	{ "help", 'h', NULL, AT(help), NULL, NULL },
};

/* Of the rows without a help line of their own. */
static const char of_all[] =
	"Every verb takes --project DIR, --user DIR, --system DIR[:DIR] (parents of the .ai to\n"
	"work on, of your own, of the bundles), --env NAME[:NAME], --compat, --venv,\n"
	"--color WHEN, --json, -q (--quiet), -h (--help); ryefs(1) says more.\n";

static void help_examples(const char *examples, FILE *to)
{
	struct rye_span rest = span_of(examples), line;

	fputs("\nExamples:\n", to);
	while (span_line(&rest, &line))
		fprintf(to, "  %.*s\n", (int)line.len, line.ptr);
}

static bool verb_takes(const struct cli_verb *verb, const struct flag *flag)
{
	char word[32];

	snprintf(word, sizeof(word), " %s ", verb->name);
	return !flag->of || strstr(flag->of, word);
}

void options_help(const struct cli_verb *verb, FILE *to)
{
	int own = 0;

	fprintf(to, "usage: ryefs %s [OPTION...]%s%s\n\n%s\n", verb->name, *verb->usage ? " " : "",
		verb->usage, verb->help);
	if (verb->more)
		fprintf(to, "\n%s\n", verb->more);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const struct flag *f = &flags[i];
		char name[32], letter[8] = "";

		if (!f->help || !verb_takes(verb, f))
			continue;
		fputs(own++ ? "" : "\n", to);
		snprintf(name, sizeof(name), "--%s%s%s", f->name, f->arg ? " " : "",
			 f->arg ? f->arg : "");
		if (f->letter)
			snprintf(letter, sizeof(letter), "-%c, ", f->letter);
		fprintf(to, "  %4s%-19s %s\n", letter, name, f->help);
	}
	if (verb->examples)
		help_examples(verb->examples, to);
	fprintf(to, "\n%s", of_all);
}

static const struct flag *find_long(const struct cli *cli, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (strlen(flags[i].name) == len && !memcmp(flags[i].name, name, len) &&
		    verb_takes(cli->verb, &flags[i]))
			return &flags[i];
	return NULL;
}

static const struct flag *find_letter(const struct cli *cli, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (flags[i].letter == letter && verb_takes(cli->verb, &flags[i]))
			return &flags[i];
	return NULL;
}

static void cli_options_set(struct cli *cli, const struct flag *flag, const char *value)
{
	char *at = (char *)&cli->opt + flag->at;
	bool on = true;

	if (flag->arg)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &on, sizeof(on));
}

/* Is there a word from there on that is neither an option nor a parameter? */
static bool has_plain(const struct cli *cli, int from)
{
	for (int i = from; i < cli->n_typed; i++)
		if (*cli->typed[i] != '-' && !strchr(cli->typed[i], '='))
			return true;
	return false;
}

/* "execute REF --name Ann": parameters are KEY=VALUE. */
static int options_as_parameters(struct cli *cli)
{
	bool has_ref = false;
	auto_buf struct rye_buf mend = RYE_BUF_INIT, pairs = RYE_BUF_INIT;

	buf_addf(&mend, "ryefs %s", cli->verb->name);
	for (int i = 0; i < cli->n_typed; i++) {
		const char *word = cli->typed[i], *name = word + strspn(word, "-");
		const char *value = i + 1 < cli->n_typed ? cli->typed[i + 1] : NULL;
		auto_free char *pair = NULL;
		const struct flag *known = find_long(cli, name, strcspn(name, "="));
		bool is_parameter = !strncmp(word, "--", 2) && *name && !known;
		/* all of them stand behind the REF, which is the first word of its own */
		struct rye_buf *to = is_parameter || (*word != '-' && strchr(word, '=')) ? &pairs :
											   &mend;

		if (is_parameter && !strchr(name, '=') && value && *value != '-' &&
		    (has_ref || has_plain(cli, i + 2))) {
			i++;
			if (asprintf(&pair, "%s=%s", name, value) < 0)
				return CLI_FAILED;
		} else if (is_parameter && !strchr(name, '=') &&
			   asprintf(&pair, "%s=true", name) < 0) {
			return CLI_FAILED;
		}
		has_ref |= to == &mend && *word != '-';
		buf_addc(to, ' ');
		buf_shell(to, pair ? pair : is_parameter ? name : word);
		if (!is_parameter && known && known->arg && !strncmp(word, "--", 2) &&
		    !strchr(word, '=') && value) {
			i++;
			buf_addc(&mend, ' ');
			buf_shell(&mend, value);
		}
	}
	buf_adds(&mend, pairs.data ? pairs.data : "");
	mend.failed |= pairs.failed;
	return cli_complain(cli, CLI_USAGE, mend.failed ? NULL : mend.data,
			    "parameters of an item are words as KEY=VALUE, without --");
}

static int cli_options_unknown(struct cli *cli, const char *name, size_t len)
{
	auto_free char *word = strndup(name, len);
	char what[NEAR_MAX + 64], instead[PATH_MAX + 64];
	struct near_word near;

	near_start(&near, word ? word : "");
	for (size_t i = 0; i < ARRAY_SIZE(flags) && word; i++)
		if (verb_takes(cli->verb, &flags[i]))
			near_offer(&near, flags[i].name, flags[i].name);
	snprintf(what, sizeof(what), "there is no option --%.*s here", (int)len, name);
	if (!near.best && !strcmp(cli->verb->name, "execute"))
		return options_as_parameters(cli);
	if (!near.best)
		return cli_misuse(cli, "%s", what);
	snprintf(instead, sizeof(instead), "--%s%s", near.best, name + len);
	return cli_misspelt(cli, name - 2, instead, what);
}

/* One word that begins with "--"; *i moves over the value when it is a word of its own. */
static int read_long(struct cli *cli, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct flag *flag = find_long(cli, name, len);

	if (!flag)
		return cli_options_unknown(cli, name, len);
	if (!flag->arg && equals)
		return cli_misuse(cli, "--%s takes no value", flag->name);
	if (!flag->arg || equals) {
		cli_options_set(cli, flag, equals ? equals + 1 : NULL);
		return CLI_OK;
	}
	if (++*i >= argc)
		return cli_misuse(cli, "--%s wants %s", flag->name, flag->arg);
	cli_options_set(cli, flag, argv[*i]);
	return CLI_OK;
}

static int read_letters(struct cli *cli, const char *letters)
{
	for (; *letters; letters++) {
		const struct flag *flag = find_letter(cli, *letters);

		if (!flag)
			return cli_misuse(cli, "there is no option -%c here", *letters);
		cli_options_set(cli, flag, NULL);
	}
	return CLI_OK;
}

int options_read(struct cli *cli, int argc, char **argv)
{
	int status = CLI_OK;

	cli->argv = argv;
	for (int i = 0; i < argc && status == CLI_OK; i++) {
		if (!strcmp(argv[i], "--")) {
			while (++i < argc)
				cli->argv[cli->argc++] = argv[i];
		} else if (!strncmp(argv[i], "--", 2)) {
			status = read_long(cli, argc, argv, &i);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			status = read_letters(cli, argv[i] + 1);
		} else {
			cli->argv[cli->argc++] = argv[i];
		}
	}
	if (status == CLI_OK)
		status = color_check(cli);
	if (status != CLI_OK || cli->opt.help)
		return status;
	if (cli->argc < cli->verb->min)
		return cli_misuse(cli, "wanted: %s", cli->verb->usage);
	if (cli->verb->max >= 0 && cli->argc > cli->verb->max)
		return cli_misuse(cli, "\"%s\" is one operand too many", cli->argv[cli->verb->max]);
	return CLI_OK;
}

static bool has_workspace(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/.ai", dir) < (int)sizeof(path) &&
	       stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool same_dir(const char *a, const char *b)
{
	struct stat x, y;

	return a && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

char *cli_user_base(const struct cli *cli)
{
	const char *named = cli->opt.user;

	return named && *named ? strdup(named) : self_user_base(NULL);
}

/*
 * The nearest directory here or above that holds a .ai. The user space above is not a
 * project of everything below the home directory.
 */
static char *find_project(const struct cli *cli, const char *here)
{
	auto_free char *dir = strdup(here), *user = cli_user_base(cli);
	char *slash;

	while (dir) {
		bool own = strcmp(dir, here) && same_dir(user, *dir ? dir : "/");

		if (!own && has_workspace(dir))
			return strdup(*dir ? dir : "/");
		slash = strrchr(dir, '/');
		if (!slash)
			return NULL;
		*slash = 0;
	}
	return NULL;
}

/* Where the search for a .ai begins: --project, the project of a path that was named, here; where
 * that (but for the path) is in a mount, what is mounted there. */
static char *choose_start(struct cli *cli)
{
	const char *word = cli->verb->traits & CLI_REFS && cli->argc ? cli->argv[0] : NULL;
	auto_free char *source = NULL, *below = NULL, *user = cli_user_base(cli);
	char *named = NULL;

	if (cli->opt.project)
		return mounts_holds(cli->opt.project, &source, &below) ?
			       steal(&source) :
			       realpath(cli->opt.project, NULL);
	if (word)
		named = ref_project(word, user);
	if (named)
		return named;
	if (mounts_holds(".", &source, &below))
		return steal(&source);
	return realpath(".", NULL);
}

static int no_project_dir(struct cli *cli)
{
	const char *dir = cli->opt.project ? cli->opt.project : ".";
	int sys = errno;
	auto_free char *mend = sys == ENOENT ? mend_with("ryefs init %s", dir) : NULL;

	return cli_complain(cli, CLI_NOT_FOUND, mend, "cannot enter the project %s: %s", dir,
			    strerror(sys));
}

static int cannot_look(struct cli *cli, const char *dir, int sys)
{
	struct rye_err err = { 0 };

	rye_fail_sys(&err, sys, "cannot look into %s", dir);
	self_may(dir, false, &err);
	return cli_fail(cli, &err, NULL);
}

static int choose_project(struct cli *cli, enum cli_need need)
{
	auto_free char *here = choose_start(cli), *around = NULL, *own = NULL, *mend = NULL;

	if (!here)
		return no_project_dir(cli);
	if (!cli->opt.project)
		cli->project = find_project(cli, here);
	else if (need == CLI_ANY_PLACE || has_workspace(here))
		cli->project = steal(&here);
	if (!cli->project && need == CLI_ANY_PLACE)
		cli->project = steal(&here);
	if (cli->project) {
		around = realpath(".", NULL);
		own = around ? find_project(cli, around) : NULL;
		cli->elsewhere = has_workspace(cli->project) &&
				 (!own || strcmp(own, cli->project) != 0);
		return CLI_OK;
	}
	if (access(here, X_OK) < 0)
		return cannot_look(cli, here, errno);
	mend = mend_with("ryefs init %s", here);
	return cli_complain(cli, CLI_NOT_FOUND, mend, "there is no .ai in %s%s", here,
			    cli->opt.project ? "" : " or above it, and no --project DIR is named");
}

static void log_to_stderr(void *arg, enum rye_level level, const char *module, const char *line)
{
	struct cli *cli = arg;

	(void)module;
	if (level > (cli->verb->traits & CLI_WARNS ? RYE_LOG_WARN : RYE_LOG_ERR) &&
	    !getenv("RYE_DEBUG"))
		return;
	cli_note(cli, "%s", line);
}

/* "a:/b" becomes "/here/a:/b": the engine takes absolute paths alone. NULL stays NULL. */
static void make_absolute(const char *list, struct rye_buf *ret)
{
	auto_free char *here = getcwd(NULL, 0);

	for (const char *p = list; p && here; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
		int len = (int)strcspn(p, ":");
		bool relative = len && *p != '/';

		buf_addf(ret, "%s%s%s%.*s", p == list ? "" : ":", relative ? here : "",
			 relative ? "/" : "", len, p);
	}
}

/* $USER_SPACE where only this process knows what it is relative to; else NULL. */
static const char *relative_user(void)
{
	const char *dir = getenv("USER_SPACE");

	return dir && *dir && *dir != '/' && *dir != '~' ? dir : NULL;
}

/* Spaces that were named and are not there are a slip of the pen. */
static int check_named(struct cli *cli, const char *list)
{
	auto_free char *mend = NULL;
	struct stat st;

	if (cli->opt.user && stat(cli->opt.user, &st) < 0 && errno == ENOENT) {
		mend = mend_with("mkdir -p %s", cli->opt.user);
		return cli_complain(cli, CLI_NOT_FOUND, mend,
				    "--user %s: there is no such directory", cli->opt.user);
	}
	for (const char *p = list; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		auto_free char *root = strndup(p, strcspn(p, ":"));

		if (root && *root && !has_workspace(root))
			return cli_complain(cli, CLI_NOT_FOUND, NULL,
					    "--system %s: there is no .ai in it", root);
	}
	return CLI_OK;
}

struct cli_lists { /* of directories, made absolute */
	struct rye_buf user, roots;
};

static void cli_lists_done(struct cli_lists *lists)
{
	buf_done(&lists->user);
	buf_done(&lists->roots);
}

static void options_for(struct cli *cli, const char *project, struct cli_lists *lists,
			struct rye_options *ret)
{
	const char *dev = getenv("RYE_DEV_MODE");

	*ret = (struct rye_options){
		.project = project,
		.env_names = cli->opt.env,
		.compat = cli->opt.compat,
		.dev_mode = dev && !strcmp(dev, "1"),
		.venv = cli->opt.venv,
		.scan = cli->stays,
		.no_run = cli->opt.read_only,
		.no_sign = cli->opt.read_only,
		.log = log_to_stderr,
		.log_arg = cli,
	};
	make_absolute(cli->opt.user ? cli->opt.user : relative_user(), &lists->user);
	make_absolute(cli->opt.system, &lists->roots);
	ret->user_base = lists->user.data;
	ret->system_roots = lists->roots.data;
}

struct rye *cli_engine_for(struct cli *cli, const char *project)
{
	__attribute__((cleanup(cli_lists_done))) struct cli_lists lists = { 0 };
	struct rye_options opt;
	struct rye *rye = NULL;

	options_for(cli, project, &lists, &opt);
	opt.dev_mode = false; /* what is good there is signed */
	return rye_open(&opt, &rye, NULL) ? NULL : rye;
}

int cli_open(struct cli *cli, enum cli_need need)
{
	__attribute__((cleanup(cli_lists_done))) struct cli_lists lists = { 0 };
	struct rye_options opt;
	struct rye_err err = { 0 };
	int status = choose_project(cli, need);

	if (status == CLI_OK)
		status = check_named(cli, cli->opt.system);
	if (status != CLI_OK)
		return status;
	options_for(cli, cli->project, &lists, &opt);
	if (rye_open(&opt, &cli->rye, &err))
		return cli_fail(cli, &err, NULL);
	return CLI_OK;
}

int cli_port(struct cli *cli, int usual, int *ret)
{
	const char *text = cli->opt.port;
	char *end;
	long port = text ? strtol(text, &end, 10) : usual;

	*ret = (int)port;
	if (text && (!*text || *end || port < 0 || port > 65535))
		return cli_misuse(cli, "--port wants a number from 0 to 65535, not %s", text);
	return CLI_OK;
}
