/* SPDX-License-Identifier: MIT */
/*
 * mount_options.c - the command line of a mount.
 *
 * Owns the table of options. `ryefs [mount] SOURCE MOUNTPOINT [-o opt,…] [-f] [-d]`; mount(8)
 * calls us the same way. It reads no file and changes nothing but *ret; mountpoint.c decides
 * whether the two paths will do.
 */
#include "mount/mount.h"

#include "buf.h"
#include "err.h"
#include "near.h"
#include "scope.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Longest value of `wait=`: a day. */
#define WAIT_MAX_S 86400
/* Largest value of `jobs=`: more is taken for a typing error. */
#define JOBS_MAX 1024

enum option_id {
	OPT_USERSPACE,
	OPT_SYSTEM,
	OPT_ENV,
	OPT_RO,
	OPT_DEVMODE,
	OPT_COVERAGE,
	OPT_NORUN,
	OPT_NOSIGN,
	OPT_WAIT,
	OPT_JOBS,
	OPT_SANDBOX,
	OPT_TRUST_CALLERS,
	OPT_VENV,
	OPT_LIST,
	OPT_SPACES,
	OPT_SKILLS,
	OPT_XATTR,
	OPT_IO_URING,
	OPT_SURVIVE,
	OPT_ALLOW_OTHER,
	OPT_LIBFUSE, /* handed on as it is */
	OPT_MOUNT8, /* means nothing to us */
};

struct mount_options_option_row {
	const char *name; /* one that ends in '=' wants a value; in '*': any word with that prefix */
	enum option_id id;
};

static const struct mount_options_option_row rows[] = {
	{ "userspace=", OPT_USERSPACE },
	{ "system=", OPT_SYSTEM },
	{ "env=", OPT_ENV },
	{ "ro", OPT_RO },
	{ "devmode", OPT_DEVMODE },
	{ "coverage=", OPT_COVERAGE },
	{ "norun", OPT_NORUN },
	{ "nosign", OPT_NOSIGN },
	{ "wait=", OPT_WAIT },
	{ "jobs=", OPT_JOBS },
	{ "sandbox=", OPT_SANDBOX },
	{ "trust_callers=", OPT_TRUST_CALLERS },
	{ "venv", OPT_VENV },
	{ "list=", OPT_LIST },
	{ "spaces=", OPT_SPACES },
	{ "skills=", OPT_SKILLS },
	{ "xattr", OPT_XATTR },
	{ "io_uring", OPT_IO_URING },
	{ "survive=", OPT_SURVIVE },
	{ "allow_other", OPT_ALLOW_OTHER },

	{ "allow_root", OPT_LIBFUSE },
	{ "auto_unmount", OPT_LIBFUSE },
	{ "async", OPT_LIBFUSE },
	{ "blkdev", OPT_LIBFUSE },
	{ "dirsync", OPT_LIBFUSE },
	{ "max_read=", OPT_LIBFUSE },
	{ "noatime", OPT_LIBFUSE },
	{ "noexec", OPT_LIBFUSE },
	{ "sync", OPT_LIBFUSE },

	{ "atime", OPT_MOUNT8 },
	{ "auto", OPT_MOUNT8 },
	{ "comment=", OPT_MOUNT8 },
	{ "default_permissions", OPT_MOUNT8 }, /* always on */
	{ "defaults", OPT_MOUNT8 },
	{ "dev", OPT_MOUNT8 },
	{ "diratime", OPT_MOUNT8 },
	{ "exec", OPT_MOUNT8 },
	{ "fsname=", OPT_MOUNT8 }, /* ours says where the project is */
	{ "group", OPT_MOUNT8 },
	{ "lazytime", OPT_MOUNT8 },
	{ "loud", OPT_MOUNT8 },
	{ "noauto", OPT_MOUNT8 },
	{ "nodev", OPT_MOUNT8 },
	{ "nodiratime", OPT_MOUNT8 },
	{ "nofail", OPT_MOUNT8 },
	{ "nogroup", OPT_MOUNT8 },
	{ "nolazytime", OPT_MOUNT8 },
	{ "nonempty", OPT_MOUNT8 },
	{ "noowner", OPT_MOUNT8 },
	{ "norelatime", OPT_MOUNT8 },
	{ "nostrictatime", OPT_MOUNT8 },
	{ "nosuid", OPT_MOUNT8 },
	{ "nouser", OPT_MOUNT8 },
	{ "nousers", OPT_MOUNT8 },
	{ "owner", OPT_MOUNT8 },
	{ "relatime", OPT_MOUNT8 },
	{ "rw", OPT_MOUNT8 },
	{ "silent", OPT_MOUNT8 },
	{ "strictatime", OPT_MOUNT8 },
	{ "subtype=", OPT_MOUNT8 },
	{ "suid", OPT_MOUNT8 },
	{ "user", OPT_MOUNT8 },
	{ "user=", OPT_MOUNT8 },
	{ "users", OPT_MOUNT8 },
	{ "uhelper=", OPT_MOUNT8 },
	{ "_netdev", OPT_MOUNT8 },
	{ "x-*", OPT_MOUNT8 },
	{ "X-*", OPT_MOUNT8 },
};

static const struct mount_options_option_row *mount_options_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name = rows[i].name;
		size_t len = strlen(name);

		if (name[len - 1] == '*' || name[len - 1] == '=') {
			if (strncmp(word, name, name[len - 1] == '*' ? len - 1 : len) == 0)
				return &rows[i];
		} else if (strcmp(word, name) == 0) {
			return &rows[i];
		}
	}
	return NULL;
}

const char *options_keep(struct options *opt, const char *text)
{
	char *copy = opt->n_texts < OPTIONS_TEXTS ? strdup(text) : NULL;

	if (copy)
		opt->texts[opt->n_texts++] = copy;
	return copy;
}

static int mount_options_set_text(struct options *opt, const char **where, const char *word,
				  struct rye_err *err)
{
	*where = options_keep(opt, strchr(word, '=') + 1);
	if (!*where)
		return rye_fail(err, RYE_INVALID, "option '%s' is given too often", word);
	return 0;
}

static int set_number(const char *word, int min, int max, int *ret, struct rye_err *err)
{
	const char *value = strchr(word, '=') + 1;
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < min || n > max)
		return rye_fail(err, RYE_INVALID, "option '%s': wanted a number from %d to %d",
				word, min, max);
	*ret = (int)n;
	return 0;
}

/* One of `names` (NULL-terminated): its index. */
static int set_choice(const char *word, const char *const *names, int *ret, struct rye_err *err)
{
	const char *value = strchr(word, '=') + 1;
	char all[64] = "";
	size_t n = 0;

	for (int i = 0; names[i]; i++) {
		if (strcmp(value, names[i]) == 0) {
			*ret = i;
			return 0;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "", names[i]);
		n = n < sizeof(all) ? n : sizeof(all) - 1;
	}
	return rye_fail(err, RYE_INVALID, "option '%s': wanted one of %s", word, all);
}

static int set_flag_or_choice(struct options *opt, enum option_id id, const char *word,
			      struct rye_err *err)
{
	static const char *const coverage[] = { "strict", "compat", NULL };
	static const char *const sandbox[] = { "auto", "strict", "off", NULL };
	static const char *const trust[] = { "same", "any", NULL };
	static const char *const list[] = { "items", "all", NULL };
	static const char *const spaces[] = { "rw", "ro", "none", NULL };
	static const char *const survive[] = { "auto", "on", "off", NULL };
	static const char *const skills[] = { "own", "all", "only", "none", NULL };
	int n = 0, r = 0;

	switch (id) {
	case OPT_COVERAGE:
		r = set_choice(word, coverage, &n, err);
		opt->engine.compat = n == 1;
		return r;
	case OPT_SANDBOX:
		r = set_choice(word, sandbox, &n, err);
		opt->engine.sandbox = n;
		return r;
	case OPT_TRUST_CALLERS:
		r = set_choice(word, trust, &n, err);
		opt->trust_any = n == 1;
		return r;
	case OPT_LIST:
		r = set_choice(word, list, &n, err);
		opt->list_all = n == 1;
		return r;
	case OPT_SPACES:
		r = set_choice(word, spaces, &n, err);
		opt->spaces = (unsigned)n;
		return r;
	case OPT_SKILLS:
		r = set_choice(word, skills, &n, err);
		opt->skills = (enum rye_offer)n;
		return r;
	case OPT_SURVIVE:
		r = set_choice(word, survive, &n, err);
		opt->survive = (unsigned)n;
		return r;
	case OPT_WAIT:
		return set_number(word, 1, WAIT_MAX_S, &opt->wait_s, err);
	case OPT_JOBS:
		return set_number(word, 1, JOBS_MAX, &opt->engine.jobs, err);
	default:
		return rye_fail(err, RYE_INVALID, "option '%s' is not understood", word);
	}
}

static void hand_on(struct options *opt, const char *word)
{
	fuse_opt_add_arg(&opt->args, "-o");
	fuse_opt_add_arg(&opt->args, word);
}

static int unknown_near(const char *word, struct rye_err *err)
{
	struct near_word near;
	char typed[64], name[32];

	snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
	near_start(&near, typed);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(rows[i].name, "="), rows[i].name);
		near_offer(&near, name, rows[i].name);
	}
	if (!near.best)
		return rye_fail(err, RYE_INVALID, "unknown option '%s'", word);
	return rye_fail(err, RYE_INVALID, "unknown option '%s'; did you mean '%s'?", word,
			near.best);
}

/* Says of a known option that it lacks a value, or takes none. */
static int mount_options_unknown(const char *word, struct rye_err *err)
{
	int len = (int)strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strncmp(rows[i].name, word, (size_t)len) == 0 &&
		    strcmp(rows[i].name + len, word[len] ? "" : "=") == 0)
			return rye_fail(err, RYE_INVALID, "option '%s': wanted %.*s%s", word, len,
					word, word[len] ? " without a value" : "=VALUE");
	return unknown_near(word, err);
}

static int mount_options_set(struct options *opt, const char *word, struct rye_err *err)
{
	const struct mount_options_option_row *row = mount_options_find(word);

	if (!row)
		return mount_options_unknown(word, err);
	switch (row->id) {
	case OPT_USERSPACE:
		return mount_options_set_text(opt, &opt->engine.user_base, word, err);
	case OPT_SYSTEM:
		return mount_options_set_text(opt, &opt->engine.system_roots, word, err);
	case OPT_ENV:
		return mount_options_set_text(opt, &opt->engine.env_names, word, err);
	case OPT_RO:
		opt->read_only = true;
		hand_on(opt, word);
		return 0;
	case OPT_DEVMODE:
		opt->engine.dev_mode = true;
		return 0;
	case OPT_NORUN:
		opt->engine.no_run = true;
		return 0;
	case OPT_NOSIGN:
		opt->engine.no_sign = true;
		return 0;
	case OPT_VENV:
		opt->engine.venv = true;
		return 0;
	case OPT_XATTR:
		opt->xattr = true;
		return 0;
	case OPT_IO_URING:
		opt->io_uring = true;
		return 0;
	case OPT_ALLOW_OTHER:
		opt->allow_other = true;
		hand_on(opt, word);
		return 0;
	case OPT_LIBFUSE:
		hand_on(opt, word);
		return 0;
	case OPT_MOUNT8:
		return 0;
	default:
		return set_flag_or_choice(opt, row->id, word, err);
	}
}

/* "a,b=c\,d": a backslash keeps the comma. */
static int set_list(struct options *opt, const char *text, struct rye_err *err)
{
	char word[OPTIONS_MAX];
	size_t n = 0;
	int r = 0;

	if (strlen(text) >= sizeof(word))
		return rye_fail(err, RYE_INVALID, "the options are longer than %d bytes",
				OPTIONS_MAX);
	for (const char *p = text; r == 0; p++) {
		if (*p == '\\' && p[1]) {
			word[n++] = *++p;
		} else if (*p && *p != ',') {
			word[n++] = *p;
		} else {
			word[n] = 0;
			r = n ? mount_options_set(opt, word, err) : 0;
			n = 0;
			if (!*p)
				break;
		}
	}
	return r;
}

static int take_list(struct options *opt, const char *text, struct rye_err *err)
{
	if (fuse_opt_add_arg(&opt->lists, text))
		return rye_fail(err, RYE_IO, "out of memory");
	return set_list(opt, text, err);
}

void options_escape(struct rye_buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == ',' || *text == '\\')
			buf_addc(buf, '\\');
		buf_addc(buf, *text);
	}
}

static int mount_options_set_path(char **where, const char *arg, const char *what,
				  struct rye_err *err)
{
	if (*where)
		return rye_fail(err, RYE_INVALID,
				"'%s' is one path too many; wanted SOURCE MOUNTPOINT", arg);
	if (!*arg)
		return rye_fail(err, RYE_INVALID, "%s is empty", what);
	*where = strdup(arg);
	return *where ? 0 : rye_fail(err, RYE_IO, "out of memory");
}

/* -f -d -v -n -s, and what stands after -o. *i moves over an argument that was used up. */
static int set_dash(struct options *opt, int argc, char **argv, int *i, struct rye_err *err)
{
	const char *arg = argv[*i];

	if (strcmp(arg, "-f") == 0) {
		opt->foreground = true;
	} else if (strcmp(arg, "-d") == 0) {
		opt->foreground = true;
		opt->debug = true;
		fuse_opt_add_arg(&opt->args, "-d");
	} else if (strncmp(arg, "-o", 2) == 0) {
		if (arg[2])
			return take_list(opt, arg + 2, err);
		if (*i + 1 >= argc)
			return rye_fail(err, RYE_INVALID, "-o wants a list of options");
		return take_list(opt, argv[++*i], err);
	} else if (strcmp(arg, "-s") != 0 && strcmp(arg, "-n") != 0 && strcmp(arg, "-v") != 0) {
		/* mount(8) hands those three on; they are accepted and change nothing */
		return rye_fail(err, RYE_INVALID, "unknown option '%s'", arg);
	}
	return 0;
}

/* How many words of the command come before its paths and options: "mount", or what a watchdog says. */
static int words_before(int argc, char **argv, struct options *ret)
{
	if (argc > 2 && strcmp(argv[1], AGAIN_WORD) == 0) {
		ret->again_fd = (int)strtol(argv[2], NULL, 10);
		return 3;
	}
	return argc > 1 && strcmp(argv[1], "mount") == 0 ? 2 : 1;
}

int options_parse(int argc, char **argv, struct options *ret, struct rye_err *err)
{
	bool paths_only = false;
	int r = 0;

	*ret = (struct options){ .engine = { .scan = true }, .again_fd = -1, .old_fd = -1 };
	if (fuse_opt_add_arg(&ret->args, "ryefs"))
		return rye_fail(err, RYE_IO, "out of memory");
	for (int i = words_before(argc, argv, ret); i < argc && r == 0; i++) {
		if (!paths_only && strcmp(argv[i], "--") == 0)
			paths_only = true;
		else if (!paths_only && argv[i][0] == '-' && argv[i][1])
			r = set_dash(ret, argc, argv, &i, err);
		else if (!ret->source)
			r = mount_options_set_path(&ret->source, argv[i], "SOURCE", err);
		else
			r = mount_options_set_path(&ret->mountpoint, argv[i], "MOUNTPOINT", err);
	}
	if (r)
		return r;
	if (!ret->source || !ret->mountpoint)
		return rye_fail(err, RYE_INVALID,
				"wanted: ryefs SOURCE MOUNTPOINT [-o opt,opt] [-f]");
	return 0;
}

void options_done(struct options *opt)
{
	for (size_t i = 0; i < opt->n_texts; i++)
		free(opt->texts[i]);
	free(opt->source);
	free(opt->mountpoint);
	fuse_opt_free_args(&opt->args);
	fuse_opt_free_args(&opt->lists);
	*opt = (struct options){ 0 };
}
