/* SPDX-License-Identifier: MIT */
/*
 * Signing one item: read, parsed, checked by the sign-time rules, bound and signed in memory,
 * then put in the old file's place in one step. A reader sees the old file or the new one. No
 * lock: a file that changed while it was being signed is left alone and reported.
 */
#include "sign/sign.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "parse/parse.h"
#include "sign/sign_inner.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>

/* One signing from the found file to its reply. */
struct sign_job {
	const struct item_env *env;
	const struct sign_ask *ask;
	struct located at;
	struct parsed_item item; /* as the file lies there, verified by nothing */
	struct rye_blob *lf; /* the text with LF only */
	struct sign_report report;
	struct signature sig;
	const char *title; /* "Tool", "Knowledge entry" … */
	unsigned long memory; /* memory_failures() when it began */
};

static void sign_job_done(struct sign_job *job)
{
	if (job->at.fd >= 0)
		close(job->at.fd);
	rye_blob_unref(job->item.raw);
	rye_blob_unref(job->lf);
	json_decref(job->item.meta);
	free(job->item.abspath);
	sign_report_done(&job->report);
}

static const char *title_of(enum rye_kind kind)
{
	return kind == RYE_KNOWLEDGE ? "Knowledge entry" : kind_title(kind);
}

int sign_refuse(json_t **ret_reply, enum rye_code code, struct rye_err *err, const char *format,
		...)
{
	char text[900];

	STR_FORMAT(text, format);
	*ret_reply = json_pack("{s:s, s:s}", "status", "error", "error", text);
	return rye_fail(err, code, "%s", text);
}

/* The same from an error that is there, as the reply's only detail. */
static int refuse_because(json_t **reply, const struct rye_err *why, struct rye_err *err,
			  const char *sentence)
{
	int r = sign_refuse(reply, why->code, err, "%s", sentence);

	json_object_set_new(*reply, "details", json_pack("[s]", why->msg));
	if (err)
		rye_fail(err, why->code, "%s: %.600s", sentence, why->msg);
	return r;
}

/* ---- before ---- */

static int take_given(const struct sign_given *given, struct rye_blob **ret)
{
	if (given->text.len > RYE_ITEM_MAX)
		return -EFBIG;
	*ret = rye_blob_new(given->text.ptr, given->text.len);
	return *ret ? 0 : -ENOMEM;
}

static int sign_read_text(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	struct parsed_item *item = &job->item;
	int r;

	item->space = job->at.space;
	item->abspath = space_abspath(job->at.space, job->at.path);
	if (!item->abspath)
		return sign_refuse(reply, RYE_IO, err, "out of memory");
	r = job->ask->given ? take_given(job->ask->given, &item->raw) :
			      io_read_fd(job->at.fd, RYE_ITEM_MAX, &item->raw, &item->st);
	if (r < 0)
		return sign_refuse(reply, rye_code_from_errno(-r), err, "cannot read %s: %s",
				   item->abspath, strerrordesc_np(-r));
	job->lf = digest_newlines((struct rye_span){ item->raw->data, item->raw->len });
	return job->lf ? 0 : sign_refuse(reply, RYE_IO, err, "out of memory");
}

static int parse_failed(struct sign_job *job, const struct rye_err *why, json_t **reply,
			struct rye_err *err)
{
	bool is_text = rye_kind_has(job->ask->kind, RYE_KIND_ELEMENT | RYE_KIND_FRONT);
	char told[64];

	snprintf(told, sizeof(told), is_text ? "Invalid %s structure" : "Failed to parse %s file",
		 rye_kind_name(job->ask->kind));
	return refuse_because(reply, why, err, told);
}

/* Where the header lines end is for signing what it is for verifying. */
static struct rye_span sign_body_of(const struct sign_job *job)
{
	struct rye_span text = { job->lf->data, job->lf->len };
	struct sig_rule rule;
	struct sig_head head;
	struct sig_cut cut;

	if (!sig_rule_of(job->ask->kind, job->at.ext, &rule))
		return text;
	text = span_skip(text, sig_unclosed_at(rule, text).len);
	sig_head_of(rule, text, &head);
	if (head.line.len)
		return head.rest;
	sig_cut_of(rule, text, &cut);
	return span_skip(cut.rest, sig_binding_at(rule, cut.rest).len);
}

/* Only the line is looked at: what it covered may have changed since. */
static bool sign_was_before(const struct sign_job *job)
{
	auto_trust struct trust *trust = trust_get(job->env->trust);
	struct sig_rule rule;
	struct sig_head head;

	if (!sig_rule_of(job->ask->kind, job->at.ext, &rule))
		return false;
	sig_head_of(rule, (struct rye_span){ job->lf->data, job->lf->len }, &head);
	return head.line.len && trust_find(trust, head.fp);
}

static bool is_dashed(struct rye_span body)
{
	return span_starts(span_trim(body), "---");
}

/* A broken YAML file counts as one without any field: those are told as well. */
static void tell_missing(struct sign_job *job, json_t *reply)
{
	if (!rye_kind_has(job->ask->kind, RYE_KIND_PROCESS) ||
	    !json_object_get(job->item.meta, "data"))
		return;
	sign_check(&job->item, &job->report);
	json_object_set(reply, "issues", job->report.issues);
	json_sets(reply, "path", job->item.abspath);
}

static int sign_parse(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	const struct parser *parser = parse_row(job->ask->kind, job->at.ext);
	enum rye_kind kind = job->ask->kind;
	struct rye_err why = { 0 };

	job->item.body = sign_body_of(job);
	job->report.signed_before = sign_was_before(job);
	job->item.shebang = sig_shebang((struct rye_span){ job->lf->data, job->lf->len });
	if (!job->item.body.len && !rye_kind_has(kind, RYE_KIND_ELEMENT | RYE_KIND_FRONT))
		return sign_refuse(reply, RYE_INVALID, err, "%s file is empty", job->title);
	if (!parser)
		rye_fail(&why, RYE_UNSUPPORTED, "No parser registered for extension: %s",
			 job->at.ext);
	else if (rye_kind_has(kind, RYE_KIND_FRONT) && is_dashed(job->item.body))
		rye_fail(&why, RYE_UNPARSABLE,
			 "Found --- YAML frontmatter (unsupported). Use a ```yaml fenced code "
			 "block for metadata instead.");
	else
		job->item.meta = parse_item(parser, job->item.body, job->item.abspath, &why);
	if (why.code == RYE_OK)
		return 0;
	parse_failed(job, &why, reply, err);
	tell_missing(job, *reply);
	return -(int)why.code;
}

/* All of them, so that one look into an editor is enough. */
static void fail_issues(const struct sign_job *job, struct rye_err *err)
{
	const struct rye_span file = { job->lf->data, job->lf->len };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const json_t *issue;
	size_t i;

	json_array_foreach(job->report.issues, i, issue) {
		buf_adds(&text, i ? "; " : "");
		sign_where(file, job->at.ext, json_string_value(issue), &text);
	}
	rye_fail(err, RYE_INVALID, "Validation failed: %.700s", text.data ? text.data : "");
}

/* name, title, version, entry_type */
#define FRONT_FIELDS 4

/* Where some of it is there: what is not. */
static void add_missing(const json_t *issues, char *text, size_t size)
{
	const json_t *issue;
	size_t i, n = strlen(text);

	if (json_array_size(issues) >= FRONT_FIELDS)
		return;
	json_array_foreach(issues, i, issue)
		n += (size_t)snprintf(text + MIN_OF(n, size), size - MIN_OF(n, size), "%s%s",
				      i ? "; " : " ", json_string_value(issue));
}

static int check_manifest(const struct sign_job *job, json_t **reply, struct rye_err *err)
{
	struct rye_err why = { 0 };

	if (!rye_kind_has(job->ask->kind, RYE_KIND_MANIFEST) || !sign_check_skill(&job->item, &why))
		return 0;
	return sign_refuse(reply, why.code, err, "%s", why.msg);
}

static int sign_check_text(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	int r;

	sign_check(&job->item, &job->report);
	if (job->ask->kind == RYE_CONFIG)
		sign_check_config(job->env, &job->item, &job->report);
	sign_check_meaning(job->env, &job->item, job->ask->dry, &job->report);
	if (!json_array_size(job->report.issues))
		return check_manifest(job, reply, err);
	if (rye_kind_has(job->ask->kind, RYE_KIND_FRONT) && sign_only_missing(&job->report)) {
		char text[400] = "No metadata found. Knowledge entries require a ```yaml fenced "
				 "code block with name, title, version, and entry_type fields.";

		add_missing(job->report.issues, text, sizeof(text));
		r = sign_refuse(reply, RYE_INVALID, err, "%s", text);
	} else
		r = sign_refuse(reply, RYE_INVALID, err, "Validation failed");
	json_object_set(*reply, "issues", job->report.issues);
	json_sets(*reply, "path", job->item.abspath);
	if (err && !strcmp(err->msg, "Validation failed"))
		fail_issues(job, err);
	return r;
}

/* ---- signing ---- */

static bool sign_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Does the file hold what the writer of the given text has seen? */
static int check_seen(const struct sign_job *job, json_t **reply, struct rye_err *err)
{
	struct rye_err why = { 0 };

	if (sign_seen(job->at.space, job->at.path, job->ask->given->was, &why) == 0)
		return 0;
	return sign_refuse(reply, why.code, err, "%s", why.msg);
}

/* A text that was given takes the place of exactly what its writer has seen, be it nothing. */
static int sign_place(const struct sign_job *job, struct rye_span text, json_t **reply,
		      struct rye_err *err)
{
	const char *path = job->item.abspath;
	bool over = job->ask->given->was.ptr;
	int r = over ? check_seen(job, reply, err) : 0;

	if (r)
		return r;
	r = over ? space_write(job->at.space, job->at.path, text, 0644) :
		   sign_write_new(job->at.space, job->at.path, text);
	if (r == -EEXIST)
		return sign_refuse(reply, RYE_BUSY, err, "%s is there already", path);
	if (r < 0)
		return sign_refuse(reply, rye_code_from_errno(-r), err, "cannot write %s: %s", path,
				   strerrordesc_np(-r));
	return 0;
}

static int sign_replace(struct sign_job *job, const struct rye_blob *text, json_t **reply,
			struct rye_err *err)
{
	int root = space_fd(job->at.space), r;
	struct stat now;

	if (job->ask->given)
		return sign_place(job, (struct rye_span){ text->data, text->len }, reply, err);
	if (fstatat(root, job->at.path, &now, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(now.st_mode))
		return sign_refuse(reply, RYE_INVALID, err,
				   "%s is a symbolic link; sign the file it leads to",
				   job->item.abspath);
	if (fstatat(root, job->at.path, &now, 0) < 0 || !sign_same_file(&now, &job->item.st))
		return sign_refuse(reply, RYE_BUSY, err, "%s changed while it was being signed",
				   job->item.abspath);
	r = io_replace_at(root, job->at.path, (struct rye_span){ text->data, text->len },
			  now.st_mode & 07777);
	if (r < 0)
		return sign_refuse(reply, rye_code_from_errno(-r), err, "cannot write %s: %s",
				   job->item.abspath, strerrordesc_np(-r));
	return 0;
}

static int sign_with(struct sign_job *job, const struct key_secret *key, json_t **reply,
		     struct rye_err *err)
{
	struct sign_text what = {
		.key = key,
		.place = { job->ask->kind, job->at.id, job->at.ext },
		.raw = { job->item.raw->data, job->item.raw->len },
		.stamp = job->ask->stamp,
	};
	struct rye_err why = { 0 };
	struct rye_blob *text;
	int r = sign_text(&what, &text, &job->sig, &why);

	if (r < 0)
		return parse_failed(job, &why, reply, err);
	/* A rule may have been passed over for want of memory: nothing is signed then. */
	r = memory_check(job->memory, &why);
	r = r ? sign_refuse(reply, why.code, err, "%s", why.msg) :
		sign_replace(job, text, reply, err);
	rye_blob_unref(text);
	return r;
}

void sign_share(const struct item_env *env, const struct space *space, const struct key_secret *key)
{
	struct rye_err why = { 0 };

	if (keystore_share(env, space, &key->pub, &why) < 0)
		log_line(env->log, RYE_LOG_WARN, "sign", "the project does not get the key: %s",
			 why.msg);
}

static int sign_now(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	auto_key struct key_secret own = { 0 };
	struct rye_err why = { 0 };
	int r;

	if (job->ask->key)
		return sign_with(job, job->ask->key, reply, err);
	if (keystore_signer(job->env, &own, &why) < 0)
		return sign_refuse(reply, why.code, err, "%s", why.msg);
	r = sign_with(job, &own, reply, err);
	if (!r)
		sign_share(job->env, job->ask->space, &own);
	return r;
}

/* ---- the reply ---- */

/* What an older signature left open and this one covers. */
static void tell_newly_covered(struct sign_job *job, json_t *reply)
{
	static const char head[] = "not covered by the signature: ";
	const struct verify_ask ask = { .kind = job->ask->kind,
					.id = job->at.id,
					.ext = job->at.ext,
					.path = job->item.abspath,
					.raw = { job->item.raw->data, job->item.raw->len },
					.compat = true };
	struct verified old;

	if (verify_bytes(job->env, &ask, &old, NULL) < 0)
		return;
	rye_blob_unref(old.text);
	if (!old.verdict.bound && !strncmp(old.verdict.notice, head, strlen(head)))
		json_sets(reply, "newly_covered", old.verdict.notice + strlen(head));
}

static int sign_answer(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	char message[64];

	snprintf(message, sizeof(message), "%s validated and signed.", job->title);
	*reply = json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:O, s:s}", "status",
			   "signed", "item_id", job->at.id, "path", job->item.abspath, "location",
			   job->at.space->label, "signature", "timestamp", job->sig.stamp, "hash",
			   job->sig.hash, "ed25519_sig", job->sig.sig, "pubkey_fp", job->sig.fp,
			   "warnings", job->report.warnings, "message", message);
	if (!*reply)
		return sign_refuse(reply, RYE_IO, err, "out of memory");
	tell_newly_covered(job, *reply);
	return 0;
}

static int check_conflict(const struct sign_job *job, json_t **reply, struct rye_err *err)
{
	char mend[160] = "";

	if (!span_conflict((struct rye_span){ job->item.raw->data, job->item.raw->len }))
		return 0;
	/* what a manifest lists is settled in the folder */
	if (rye_kind_has(job->ask->kind, RYE_KIND_MANIFEST))
		sign_skill_mend(job->at.space, job->at.id, mend);
	return sign_refuse(reply, RYE_INVALID, err,
			   "%s has conflict marks of a merge (<<<<<<<)%s%s", job->item.abspath,
			   *mend ? "; " MEND_WITH : ": settle it, then sign", mend);
}

enum sign_state { SIGN_NEW, SIGN_GOOD, SIGN_LEFT };

/* Of one among many: is it to be signed? Good is good under every key that is trusted here. */
static enum sign_state state_of(const struct sign_job *job)
{
	const struct sign_ask *ask = job->ask;
	const struct verify_ask look = { .kind = ask->kind,
					 .id = job->at.id,
					 .ext = job->at.ext,
					 .path = job->item.abspath,
					 .raw = { job->item.raw->data, job->item.raw->len } };
	struct verified now = { 0 };
	struct rye_err why = { 0 };
	bool good = verify_bytes(job->env, &look, &now, &why) == 0;
	bool own = ask->key && !strcmp(now.verdict.fingerprint, ask->key->pub.fp);

	if (good)
		rye_blob_unref(now.text);
	good = good && now.verdict.bound;
	if (good)
		return ask->again && (own || ask->take) ? SIGN_NEW : SIGN_GOOD;
	return own || ask->take || why.code == RYE_UNSIGNED ? SIGN_NEW : SIGN_LEFT;
}

static int sign_unchanged(const struct sign_job *job, const char *status, json_t **reply,
			  struct rye_err *err)
{
	*reply = json_pack("{s:s, s:O}", "status", status, "warnings", job->report.warnings);
	return *reply ? 0 : sign_refuse(reply, RYE_IO, err, "out of memory");
}

static int sign_run(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	struct parsed_item *item = &job->item;
	enum sign_state state;
	bool kept;
	int r;

	item->kind = job->ask->kind;
	item->space = job->at.space;
	item->id = job->at.id;
	item->ext = job->at.ext;
	if (!sign_report_init(&job->report))
		return sign_refuse(reply, RYE_IO, err, "out of memory");
	r = sign_read_text(job, reply, err);
	state = !r && job->ask->many && !job->ask->dry ? state_of(job) : SIGN_NEW;
	/* a manifest that verifies is good when its files are what it lists: that is looked at below */
	kept = state == SIGN_GOOD && rye_kind_has(item->kind, RYE_KIND_MANIFEST);
	if (state != SIGN_NEW && !kept)
		return sign_unchanged(job, state == SIGN_GOOD ? "unchanged" : "left", reply, err);
	if (!r)
		r = check_conflict(job, reply, err);
	if (!r)
		r = sign_parse(job, reply, err);
	if (!r)
		r = sign_check_text(job, reply, err);
	if (!r && (job->ask->dry || kept))
		return sign_unchanged(job, "unchanged", reply, err);
	if (!r)
		r = sign_now(job, reply, err);
	if (r >= 0 && job->ask->signed_fn)
		job->ask->signed_fn(job->ask->arg, job->at.space, job->at.path);
	return r < 0 ? r : sign_answer(job, reply, err);
}

/* Whatever the reason seems to be: what a file lacks, memory may have lacked. */
static int sign_whole(struct sign_job *job, json_t **reply, struct rye_err *err)
{
	int r = sign_run(job, reply, err);

	if (r >= 0 || !memory_check(job->memory, NULL))
		return r;
	json_decref(*reply);
	return sign_refuse(reply, RYE_IO, err, "out of memory");
}

/* ---- entries ---- */

bool sign_is_glob(const char *id)
{
	return strpbrk(id, "*?");
}

static int sign_not_found(const struct sign_ask *ask, json_t **reply, struct rye_err *err)
{
	struct rye_err why = { 0 };
	char dir[4200];
	int r;

	if (rye_kind_has(ask->kind, RYE_KIND_MANIFEST) &&
	    sign_no_manifest(ask->space, ask->id, &why))
		return sign_refuse(reply, why.code, err, "%s", why.msg);
	r = sign_refuse(reply, RYE_NOT_FOUND, err, "%s not found: %s", title_of(ask->kind),
			ask->id);
	if (ask->kind == RYE_CONFIG)
		return r;
	snprintf(dir, sizeof(dir), "%s/.ai/%s", ask->space->root, rye_kind_dir(ask->kind));
	json_sets(*reply, "searched_in", dir);
	json_sets(*reply, "hint",
		  "Ensure project_path is the parent of the .ai/ directory containing this item.");
	return r;
}

/* What may not be signed whatever is in it. */
static int sign_guard(const struct sign_ask *ask, const char *id, json_t **reply,
		      struct rye_err *err)
{
	if (ask->space->type == RYE_SYSTEM)
		return sign_refuse(reply, RYE_READ_ONLY, err,
				   "System space items are immutable and cannot be signed. Copy to "
				   "project or user space first.");
	/* a signature makes a key file trusted: a caller that may only sign must not get that */
	if (ask->kind == RYE_CONFIG && !strncmp(id, "keys/", 5))
		return sign_refuse(reply, RYE_DENIED, err,
				   "Key files are signed by trusting them: ryefs trust KEY");
	return 0;
}

int sign_item(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
	      struct rye_err *err)
{
	const struct item_ask where = { .kind = ask->kind, .id = ask->id, .only = ask->space };
	__attribute__((
		cleanup(sign_job_done))) struct sign_job job = { .env = env,
								 .ask = ask,
								 .title = title_of(ask->kind),
								 .memory = memory_failures() };
	struct rye_err why = { 0 };
	int r = sign_guard(ask, ask->id, ret_reply, err);

	job.at.fd = -1;
	if (r < 0)
		return r;
	r = space_locate(env->spaces, &where, &job.at, &why);
	if (r < 0 && why.code == RYE_NOT_FOUND)
		return sign_not_found(ask, ret_reply, err);
	if (r < 0)
		return sign_refuse(ret_reply, why.code, err, "%s", why.msg);
	return sign_whole(&job, ret_reply, err);
}

int sign_path(const struct item_env *env, const struct sign_ask *ask, const char *path,
	      json_t **ret_reply, struct rye_err *err)
{
	__attribute__((
		cleanup(sign_job_done))) struct sign_job job = { .env = env,
								 .ask = ask,
								 .title = title_of(ask->kind),
								 .memory = memory_failures() };
	const char *id = path + strlen(rye_kind_dir(ask->kind)) + 1;
	int r = sign_guard(ask, id, ret_reply, err);

	job.at.fd = -1;
	if (r < 0)
		return r;
	job.at.space = ask->space;
	job.at.ext = kind_extension_of(ask->kind, path);
	snprintf(job.at.path, sizeof(job.at.path), "%s", path);
	snprintf(job.at.id, sizeof(job.at.id), "%.*s", (int)(strlen(id) - strlen(job.at.ext)), id);
	job.at.fd = io_open_mounted(space_fd(ask->space), path, O_RDONLY);
	if (job.at.fd < 0)
		return sign_refuse(ret_reply, rye_code_from_errno(-job.at.fd), err,
				   "cannot open %s: %s", path, strerrordesc_np(-job.at.fd));
	return sign_whole(&job, ret_reply, err);
}

int sign_put(const struct item_env *env, const struct sign_ask *ask, json_t **ret_reply,
	     struct rye_err *err)
{
	__attribute__((
		cleanup(sign_job_done))) struct sign_job job = { .env = env,
								 .ask = ask,
								 .title = title_of(ask->kind),
								 .memory = memory_failures() };
	int r = sign_guard(ask, ask->id, ret_reply, err);

	job.at.fd = -1;
	if (r < 0)
		return r;
	if (id_check(span_of(ask->id), err) < 0)
		return sign_refuse(ret_reply, RYE_INVALID, err, "Invalid item_id: %.200s", ask->id);
	job.at.space = ask->space;
	snprintf(job.at.id, sizeof(job.at.id), "%s", ask->id);
	if (snprintf(job.at.path, sizeof(job.at.path), "%s/%s%s", rye_kind_dir(ask->kind), ask->id,
		     ask->given->ext) < (int)sizeof(job.at.path))
		job.at.ext = kind_extension_of(ask->kind, job.at.path);
	if (!job.at.ext)
		return sign_refuse(ret_reply, RYE_INVALID, err, "no %s ends in %s",
				   rye_kind_name(ask->kind), ask->given->ext);
	if (!ask->given->bare)
		return sign_whole(&job, ret_reply, err);
	r = sign_read_text(&job, ret_reply, err);
	if (!r)
		r = sign_place(&job, ask->given->text, ret_reply, err);
	if (r)
		return r;
	*ret_reply = json_pack("{s:s}", "status", "unsigned");
	return *ret_reply ? 0 : sign_refuse(ret_reply, RYE_IO, err, "out of memory");
}
