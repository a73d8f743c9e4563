/* SPDX-License-Identifier: MIT */
/*
 * dot_ryefs.c - what the mount tells of itself: .ryefs, and README.md in the root.
 *
 * Owns the generated pages. Each lookup makes the page anew as a version of its own; `log`
 * alone is one growing file, of which the kernel is told. No lock.
 */
#include "views/views.h"

#include "buf.h"
#include "caller/caller.h"
#include "core/ctl.h"
#include "core/enter.h"
#include "core/page.h"
#include "core/reply.h"
#include "str.h"
#include "views/views_inner.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- the summary ---- */

/* Another person may have changed them: each one is shown, and asked for. */
#define EACH "ryefs sign -i"

static const struct {
	enum rye_code code;
	const char *words;
	const char *remedy;
} reasons[] = {
	{ RYE_UNSIGNED, "unsigned", "ryefs sign --all" },
	{ RYE_BAD_LINE, "with a malformed signature line", EACH },
	{ RYE_MODIFIED, "changed since signing", EACH },
	{ RYE_UNTRUSTED, "signed by a key that is not trusted", "ryefs trust KEY" },
	{ RYE_BAD_SIGNATURE, "with a wrong signature", EACH },
	{ RYE_UNCOVERED, "not covered by their signature", EACH },
	{ RYE_MOVED, "moved since signing", EACH },
	{ RYE_UNPARSABLE, "not parsable", NULL },
	{ RYE_TOO_BIG, "too big", NULL },
};

/* 1 204 567 */
static const char *grouped(size_t n, char ret[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%zu", n), out = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			ret[out++] = ' ';
		ret[out++] = digits[i];
	}
	ret[out] = 0;
	return ret;
}

static size_t refused_for(const struct rye_counts *counts, size_t i)
{
	return counts->by_code[reasons[i].code];
}

void dot_summary(const struct rye_counts *counts, struct text *text)
{
	const char *before = " (";
	char a[32], b[32];

	text_addf(text, "%s item%s served, %s refused", grouped(counts->served, a),
		  PLURAL(counts->served), grouped(counts->refused, b));
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (refused_for(counts, i)) {
			text_addf(text, "%s%s %s", before, grouped(refused_for(counts, i), a),
				  reasons[i].words);
			before = ", ";
		}
	if (strcmp(before, ", ") == 0)
		text_add(text, ")");
	if (counts->refused)
		text_add(text, "; see ls -l");
}

/* Deeper trees are cut off by the engine; this only bounds our stack. */
#define DEPTH_MAX 40
/* So many refused items tell in which space most of them are. */
#define WHOSE_ENOUGH 100
/* What the remedy of an item of the user space names. */
#define USERS " --space user"

/* What the own remedies of the items refused for one reason name. */
struct signers {
	struct front *front;
	enum rye_code code;
	enum rye_kind kind;
	const char *dir;
	unsigned depth;
	struct signer {
		char key[24]; /* a fingerprint, with .toml where the key's file is not here */
		bool several;
		size_t named, unnamed; /* unnamed: "trust" is not what mends it */
		size_t bundled, users, others; /* whose they are: of bundles, of the user space */
	} * found;
};

static void find_signers(const struct signers *signers);

#define FINGERPRINT_LEN 16

static void note_signer(struct signer *found, const char *reason)
{
	static const char command[] = "mend with: ryefs trust ";
	const char *key = reason ? strstr(reason, command) : NULL;

	if (reason && str_ends(reason, "mend with: reinstall the bundle"))
		found->bundled++;
	else if (reason && strstr(reason, USERS))
		found->users++;
	else
		found->others++;
	key = key ? key + strlen(command) : "";
	if (strcspn(key, ".") != FINGERPRINT_LEN || strlen(key) >= sizeof(found->key)) {
		found->unnamed++;
		return;
	}
	found->named++;
	found->several |= *found->key && strcmp(found->key, key) != 0;
	snprintf(found->key, sizeof(found->key), "%s", key);
}

/* The rest of a big tree would not change the answer. */
static bool signers_known(const struct signers *signers)
{
	const struct signer *found = signers->found;

	return signers->code == RYE_UNTRUSTED ? found->several :
						found->users + found->others >= WHOSE_ENOUGH;
}

static int dot_ryefs_on_signed(void *arg, const struct rye_entry *entry)
{
	const struct signers *signers = arg;
	struct signers below = *signers;
	char path[2048];

	if (entry->is_dir && signers->depth < DEPTH_MAX) {
		snprintf(path, sizeof(path), "%s%s%s", signers->dir, *signers->dir ? "/" : "",
			 entry->name);
		below.dir = path;
		below.depth++;
		find_signers(&below);
	} else if (entry->has_verdict && entry->verdict == signers->code) {
		note_signer(signers->found, entry->reason);
	}
	return signers_known(signers);
}

static void find_signers(const struct signers *signers)
{
	struct signers here = *signers;
	struct rye_walk walk = { signers->kind, signers->dir, true, dot_ryefs_on_signed, &here };
	struct rye_err err;

	if (!signers_known(&here))
		rye_list(here.front->rye, &walk, &err);
}

static void add_project(const char *project, struct text *text)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_shell(&word, project);
	if (!word.failed)
		text_addf(text, " --project %s", word.data);
}

bool dot_remedy(struct front *front, const struct rye_counts *counts, const char *lead,
		struct text *text)
{
	struct signer signer = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (refused_for(counts, i) * 2 > counts->refused)
			break;
	if (i == ARRAY_SIZE(reasons) || !reasons[i].remedy)
		return false;
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		find_signers(&(struct signers){ front, reasons[i].code, kind, "", 0, &signer });
	if (signer.bundled && !signer.others && !signer.users) {
		text_addf(text, "%sreinstalling the bundle", lead);
		return true;
	}
	if (signer.named > signer.unnamed && !signer.several)
		text_addf(text, "%sryefs trust %s", lead, signer.key);
	else
		text_addf(text, "%s%s%s", lead, reasons[i].remedy,
			  signer.users > signer.others ? USERS : "");
	if (front->opt->elsewhere)
		add_project(front->opt->source, text);
	return true;
}

/* ---- doctor ---- */

struct sick {
	struct front *front;
	struct text *text;
	enum rye_kind kind;
	const char *dir;
	unsigned depth;
};

static void dot_ryefs_examine(const struct sick *sick);

static int dot_ryefs_on_entry(void *arg, const struct rye_entry *entry)
{
	struct sick *sick = arg;
	char path[2048];

	snprintf(path, sizeof(path), "%s%s%s", sick->dir, *sick->dir ? "/" : "", entry->name);
	if (entry->is_dir) {
		struct sick below = *sick;

		below.dir = path;
		below.depth++;
		if (below.depth < DEPTH_MAX)
			dot_ryefs_examine(&below);
	} else if (entry->has_verdict && entry->reason && *entry->reason &&
		   entry->verdict == RYE_OK) {
		text_addf(sick->text, "%s/%s: served, but %s\n", rye_kind_dir(sick->kind), path,
			  entry->reason);
	} else if (entry->has_verdict && entry->verdict != RYE_OK) {
		text_addf(sick->text, "%s/%s: %s: %s\n", rye_kind_dir(sick->kind), path,
			  tree_errno_name(rye_code_errno(entry->verdict)),
			  entry->reason && *entry->reason ? entry->reason :
							    rye_code_name(entry->verdict));
	}
	return 0;
}

static void dot_ryefs_examine(const struct sick *sick)
{
	struct sick here = *sick;
	struct rye_walk walk = { sick->kind, sick->dir, true, dot_ryefs_on_entry, &here };
	struct rye_err err;

	if (rye_list(sick->front->rye, &walk, &err) && err.code != RYE_NOT_FOUND)
		text_addf(sick->text, "%s/%s: %s\n", rye_kind_dir(sick->kind), sick->dir, err.msg);
}

static struct rye_blob *doctor(struct front *front)
{
	struct rye_counts counts;
	struct text text = { 0 };
	unsigned doubts = rye_doubts(front->rye);

	rye_counts(front->rye, &counts);
	dot_summary(&counts, &text);
	text_add(&text, counts.scanned ? "\n" : " so far: the first scan is not done\n");
	if (dot_remedy(front, &counts, "most would be mended by: ", &text))
		text_add(&text, "\n");
	if (doubts & RYE_DOUBT_ONE_SPACE)
		text_addf(&text, "the user space lies in the project: %s may add trusted keys\n",
			  doubts & RYE_DOUBT_NO_VEIL ? "tools and others who write there" :
						       "whoever writes there, but for tools,");
	if (doubts & RYE_DOUBT_NO_VEIL)
		text_add(&text, "tools are not kept from signing keys, trust and .ai/state: no "
				"mount namespaces, or sandbox=off\n");
	if (doubts & RYE_DOUBT_LEDGER)
		text_add(&text,
			 "the ledger of the threads' money is damaged: the next thread begins it "
			 "anew\n");
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		dot_ryefs_examine(&(struct sick){ front, &text, kind, "", 0 });
	return text_blob(&text);
}

/* ---- stats.json ---- */

/* As the file spells the counters of struct front, which the operations touch. */
static const char *const counter_names[] = {
	[STAT_LOOKUP] = "lookup",
	[STAT_FORGET] = "forget",
	[STAT_GETATTR] = "getattr",
	[STAT_SETATTR] = "setattr",
	[STAT_READLINK] = "readlink",
	[STAT_OPEN] = "open",
	[STAT_OPENDIR] = "opendir",
	[STAT_FLUSH] = "flush",
	[STAT_RELEASE] = "release",
	[STAT_READ] = "read",
	[STAT_WRITE] = "write",
	[STAT_READDIR] = "readdir",
	[STAT_READDIRPLUS] = "readdirplus",
	[STAT_CREATE] = "create",
	[STAT_MAKE] = "make",
	[STAT_REMOVE] = "remove",
	[STAT_RENAME] = "rename",
	[STAT_XATTR] = "xattr",
	[STAT_OTHER] = "other",
	[STAT_INVAL] = "invalidations",
	[STAT_LATE] = "late",
};
_Static_assert(sizeof(counter_names) / sizeof(counter_names[0]) == STAT__MAX,
	       "one name per counter");

const char *dot_uring(const struct front *front)
{
	static const char *const words[URING__MAX] = {
		[URING_OFF] = "off",
		[URING_NONE] = "this kernel does not offer it",
		[URING_SHUT] = "fuse.enable_uring is N",
		[URING_OFFERED] = "libfuse begins a mount in a way that is not known here",
		[URING_ON] = "on",
		[URING_DENIED] = "io_uring is not allowed here",
		[URING_FAILED] = "the kernel did not take it",
	};

	return words[atomic_load(&front->uring)];
}

static struct rye_blob *stats(struct front *front)
{
	struct text text = { 0 };
	struct node_counts nodes;
	struct rye_counts counts;
	struct timespec now;

	nodes_count(front->nodes, &nodes);
	rye_counts(front->rye, &counts);
	clock_gettime(CLOCK_REALTIME, &now);
	text_addf(&text, "{\"pid\":%ld,\"uptime_s\":%lld,\"requests\":{", (long)getpid(),
		  (long long)(now.tv_sec - front->started.tv_sec));
	for (int i = 0; i < STAT__MAX; i++)
		text_addf(&text, "%s\"%s\":%llu", i ? "," : "", counter_names[i],
			  (unsigned long long)atomic_load(&front->stats.n[i]));
	text_addf(&text, "},\"nodes\":{\"alive\":%llu,\"made\":%llu,\"forgotten\":%llu},",
		  (unsigned long long)nodes.alive, (unsigned long long)nodes.made,
		  (unsigned long long)nodes.forgotten);
	text_addf(
		&text,
		"\"items\":{\"served\":%zu,\"refused\":%zu,\"scanned\":%s},"
		"\"engine\":{\"verifications\":%llu,\"verifies\":%llu,\"hits\":%llu,\"runs\":%llu,"
		"\"texts_memory\":%zu,\"texts_file\":%zu,\"looked\":%llu},"
		"\"open_refused\":%s,\"reloads\":%s,\"io_uring\":\"%s\"",
		counts.served, counts.refused, counts.scanned ? "true" : "false",
		(unsigned long long)counts.verifications, (unsigned long long)counts.verifies,
		(unsigned long long)counts.hits, (unsigned long long)counts.runs,
		counts.texts_memory, counts.texts_file, (unsigned long long)nodes.looked,
		front->answer_open ? "false" : "true", front->reloads ? "true" : "false",
		dot_uring(front));
	if (front->death.times) {
		text_addf(&text,
			  ",\"deaths\":{\"times\":%d,\"at_s\":%lld,\"why\":", front->death.times,
			  (long long)front->death.at_s);
		text_add_json(&text, front->death.why);
		text_add(&text, "}");
	}
	text_add(&text, "}\n");
	return text_blob(&text);
}

/* ---- errors: the caller's own ---- */

static struct rye_blob *errors(fuse_req_t req)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	struct rye_blob *blob = NULL;
	struct own_origin origin;

	if (caller)
		blob = own_errors(front->talks, caller, CTL_ERRORS_KEY, &origin);
	caller_unref(caller);
	return blob;
}

/* ---- log, changes: files that grow ---- */

static struct journal *journal_of(struct front *front, const char *name)
{
	return strcmp(name, "log") == 0 ? front->journal : front->changes;
}

static void log_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct front *front = front_of(req);
	struct stat st;

	node_stat(front, node, &st);
	st.st_size = (off_t)journal_size(journal_of(front, node->text));
	st.st_blocks = (st.st_size + 511) / 512;
	reply_attr(req, &st, TIMEOUT_LONG_S);
}

static void log_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	auto_blob struct rye_blob *text = journal_text(journal_of(front_of(req), node->text));

	reply_blob(req, text, off, size);
}

static const struct node_class log_class = {
	.name = "log",
	.getattr = log_getattr,
	.read = log_read,
};

static int enter_log(struct front *front, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct node_want want = {
		.key = key,
		.class = &log_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFREG | 0400,
	};
	int r = enter_node(front, node_make(front->nodes, &want), TIMEOUT_LONG_S, ret);

	ret->attr.st_size = (off_t)journal_size(journal_of(front, key->text));
	return r;
}

/* ---- the table ---- */

static struct rye_blob *make_doctor(fuse_req_t req)
{
	return doctor(front_of(req));
}

static struct rye_blob *make_stats(fuse_req_t req)
{
	return stats(front_of(req));
}

static struct rye_blob *make_version(fuse_req_t req)
{
	static const char text[] = "ryefs " RYE_VERSION "\n";

	return rye_blob_new(text, sizeof(text) - 1);
}

/* A new file here is a row, with its line in docs/files.md. */
static const struct dot_file {
	const char *name;
	mode_t mode;
	struct rye_blob *(*make)(fuse_req_t req); /* its bytes, made anew at each lookup … */
	int (*enter)(struct front *front, const struct tree_key *key, struct fuse_entry_param *ret);
} dot_files[] = {
	{ "changes", 0400, NULL, enter_log },
	{ "doctor", 0444, NULL, NULL }, /* waits for what is not verified yet: make_doctor */
	{ "errors", 0400, errors, NULL },
	{ "log", 0400, NULL, enter_log }, /* … or its own lookup */
	{ "stats.json", 0444, make_stats, NULL },
	{ "version", 0444, make_version, NULL },
};

const char *dot_name(size_t i)
{
	return i < ARRAY_SIZE(dot_files) ? dot_files[i].name : NULL;
}

static const struct dot_file *dot_find(const struct tree_key *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(dot_files); i++)
		if (strcmp(dot_files[i].name, key->text) == 0)
			return &dot_files[i];
	return NULL;
}

static int dot_enter(fuse_req_t req, const struct tree_key *key, const struct dot_file *file,
		     struct rye_blob *taken, struct fuse_entry_param *ret)
{
	struct content_file what = { .key = key, .fresh = true, .mode = file->mode };

	clock_gettime(CLOCK_REALTIME_COARSE, &what.mtime);
	what.blob = taken;
	if (!what.blob)
		return ENOMEM;
	return enter_node(front_of(req), content_make(front_of(req), &what), 0, ret);
}

int enter_dot_now(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	const struct dot_file *file = dot_find(key);

	if (!file)
		return enter_nothing(ret, TIMEOUT_LONG_S);
	if (file->enter)
		return file->enter(front_of(req), key, ret);
	return file->make ? dot_enter(req, key, file, file->make(req), ret) : ENTER_ASIDE;
}

int enter_dot_file(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	int sys = enter_dot_now(req, key, ret);

	return sys == ENTER_ASIDE ? dot_enter(req, key, dot_find(key), make_doctor(req), ret) : sys;
}
