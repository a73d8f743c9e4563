/* SPDX-License-Identifier: MIT */
/*
 * rye_verify_all: every file that a pattern names, in every space, the hidden ones too; and the
 * same of a text that lies nowhere, and which files name an item. Files are loaded one after the
 * other by the caller's thread; nothing is kept, nothing is changed.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "memory.h"
#include "item/item.h"
#include "sign/sign.h"
#include "space/space.h"
#include "str.h"

#include <stdio.h>

#define ALL_KINDS ((1u << RYE_KIND__MAX) - 1)

struct api_verify_survey {
	struct rye *rye;
	const struct rye_batch *batch;
	enum rye_kind kind; /* RYE_KIND__MAX: all, or those that have the bare id */
	const char *glob; /* NULL: all */
	bool unread, stop; /* a directory was told that cannot be read; the caller has enough */
};

static bool is_glob(const char *id)
{
	return strpbrk(id, "*?") != NULL;
}

/* Key files are checked by `ryefs keys`, here only when the pattern names them. */
static bool api_verify_wanted(const struct api_verify_survey *survey, const struct index_doc *of)
{
	const char *leaf = space_stem(of->id);

	if (!survey->glob)
		return of->kind != RYE_CONFIG || strncmp(of->id, "keys/", 5) != 0;
	if (!is_glob(survey->glob))
		return !strcmp(survey->glob, of->id);
	/* Without a slash the pattern speaks of names at any depth. */
	return glob_match(survey->glob, strchr(survey->glob, '/') ? of->id : leaf);
}

/* With the files that it lists, where it lists some. */
static int load_whole(const struct rye *rye, const struct path_ask *ask, struct rye_item **ret,
		      struct rye_err *err)
{
	int r = rye_load_path(&rye->items, ask, ret, err);
	bool linked;

	return r ? r : item_check_attached(&rye->items, *ret, &linked, err);
}

static int verify_one(const struct api_verify_survey *survey, const struct index_doc *of,
		      size_t done, size_t total)
{
	struct rye *rye = survey->rye;
	const struct space *space = &rye->spaces->v[of->space];
	auto_item struct rye_item *item = NULL;
	auto_free char *abspath = NULL;
	auto_buf struct rye_buf notices = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	unsigned long since = memory_failures();
	char path[1100];
	const struct path_ask ask = { .space = space,
				      .kind = (enum rye_kind)of->kind,
				      .path = path,
				      .passing = true };
	const struct config_file file = { space, of->id, of->ext };
	struct rye_verdict verdict = { .kind = ask.kind,
				       .id = of->id,
				       .space = space->full,
				       .message = "" };

	snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(ask.kind), of->id, of->ext);
	abspath = space_abspath(space, path);
	verdict.path = abspath ? abspath : path;
	if (ask.kind == RYE_CONFIG ? config_load_file(&rye->items, &file, &item, &err) :
				     load_whole(rye, &ask, &item, &err)) {
		/* Gone since the index was asked. */
		if (err.code == RYE_NOT_FOUND)
			return survey->batch->fn(survey->batch->arg, NULL, done, total);
		verdict.code = err.code;
		verdict.message = err.msg;
	} else {
		verdict.unread = item->parse.code != RYE_OK;
		buf_adds(&notices, item->verdict.notice);
		if (verdict.unread)
			buf_addf(&notices, "%sits metadata cannot be read: %s",
				 notices.len ? "; " : "", item->parse.msg);
		buf_adds(&notices, "");
		verdict.message = notices.data;
	}
	if (memory_check(since, &err)) {
		verdict.code = err.code;
		verdict.message = err.msg;
	}
	return survey->batch->fn(survey->batch->arg, &verdict, done, total);
}

static int by_ref(const void *pa, const void *pb)
{
	const struct index_doc *a = pa, *b = pb;
	int order = (int)a->kind - (int)b->kind;

	if (!order)
		order = strcmp(a->id, b->id);
	return order ? order : (int)a->space - (int)b->space;
}

static int read_pattern(struct api_verify_survey *survey, struct rye_err *err)
{
	survey->kind = RYE_KIND__MAX;
	if (!survey->batch->pattern)
		return 0;
	survey->kind = id_split(survey->batch->pattern, &survey->glob);
	if (survey->kind == RYE_KIND__MAX && !strchr(survey->batch->pattern, ':'))
		survey->glob = survey->batch->pattern;
	else if (survey->kind == RYE_KIND__MAX)
		survey->glob = "";
	if (!*survey->glob)
		return rye_fail(err, RYE_INVALID, "%.200s: wanted <kind>:<id or pattern>",
				survey->batch->pattern);
	return 0;
}

static int no_match(const struct api_verify_survey *survey, struct rye_err *err)
{
	if (!survey->glob)
		return 0;
	if (is_glob(survey->glob))
		return rye_fail(err, RYE_NOT_FOUND, "No %ss found matching pattern: %s",
				survey->kind == RYE_KIND__MAX ? "item" :
								rye_kind_name(survey->kind),
				survey->glob);
	return rye_fail(err, RYE_NOT_FOUND, "%s not found: %s",
			survey->kind == RYE_KIND__MAX ? "Item" : kind_title(survey->kind),
			survey->glob);
}

/* Keeps what is wanted, in front, each file once; an alias stands for its tool. */
static void select_wanted(struct api_verify_survey *survey, struct index_docs *docs,
			  struct index_item *item)
{
	const struct spaces *spaces = survey->rye->spaces;
	uint64_t again = 0; /* bits; a space beyond them is only looked at again */
	size_t n = 0;

	for (size_t i = 0; i < MIN_OF(spaces->n, 64u); i++)
		again |= (uint64_t)space_again(spaces, i) << i;

	if (survey->kind != RYE_KIND__MAX && survey->glob && !is_glob(survey->glob) &&
	    index_item(survey->rye->index, survey->kind, survey->glob, item)) {
		index_state_done(&item->state);
		survey->glob = item->id;
	}
	for (size_t i = 0; i < docs->n; i++) {
		struct index_doc swap = docs->v[i];

		if ((swap.space < 64 && again >> swap.space & 1) ||
		    !api_verify_wanted(survey, &swap))
			continue;
		docs->v[i] = docs->v[n];
		docs->v[n++] = swap;
	}
	if (n > 1)
		qsort(docs->v, n, sizeof(*docs->v), by_ref);
	for (size_t i = n; i < docs->n; i++) {
		rye_blob_unref(docs->v[i].doc);
		free(docs->v[i].id);
	}
	docs->n = n;
}

/* ---- one text, and what texts say ---- */

void rye_signed_by(struct rye *rye, const struct rye_put *put, struct rye_signed *ret)
{
	const struct space *space = &rye->spaces->v[0];
	auto_free char *path = NULL;
	struct verify_ask ask = { .kind = put->kind,
				  .id = put->id,
				  .ext = put->ext,
				  .raw = put->text,
				  .compat = rye->opt.compat };
	struct verified now = { 0 };
	struct rye_err err = { 0 };

	*ret = (struct rye_signed){ .code = RYE_IO };
	for (size_t i = 0; i < rye->spaces->n; i++)
		if (rye->spaces->v[i].type == put->space)
			space = &rye->spaces->v[i];
	if (asprintf(&path, "%s/.ai/%s/%s%s", space->root, rye_kind_dir(put->kind), put->id,
		     put->ext) < 0) {
		path = NULL;
		return;
	}
	ask.path = path;
	if (verify_bytes(&rye->items, &ask, &now, &err) == 0)
		rye_blob_unref(now.text);
	ret->code = err.code;
	snprintf(ret->key, sizeof(ret->key), "%s", now.verdict.fingerprint);
	snprintf(ret->owner, sizeof(ret->owner), "%s", now.verdict.owner);
	snprintf(ret->at, sizeof(ret->at), "%s", now.verdict.signed_at);
	utf8_cut(err.msg, ret->message, sizeof(ret->message));
}

static size_t line_of(struct rye_span text, size_t at)
{
	size_t n = 1;

	for (size_t i = 0; i < at; i++)
		n += text.ptr[i] == '\n';
	return n;
}

int rye_mentions(struct rye *rye, enum rye_kind kind, const char *id, rye_mention_fn fn, void *arg,
		 struct rye_err *err)
{
	__attribute__((cleanup(index_docs_done))) struct index_docs docs = { 0 };
	struct index *index = engine_index(rye);
	struct index_want want = { ALL_KINDS, "", true };

	if (!index_docs(index, &want, &docs) || index_lacks(index))
		return memory_fail(err);
	if (docs.n)
		qsort(docs.v, docs.n, sizeof(*docs.v), by_ref);
	for (size_t i = 0; i < docs.n; i++) {
		const struct index_doc *of = &docs.v[i];
		const struct space *space = &rye->spaces->v[of->space];
		struct rye_mention mention = { (enum rye_kind)of->kind, of->id, space->full };
		auto_blob struct rye_blob *text = NULL;
		auto_free char *abspath = NULL;
		char path[1100];
		ssize_t at;

		if (mention.kind == kind && !strcmp(of->id, id))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(mention.kind), of->id,
			 of->ext);
		if (io_read_at(space_fd(space), path, RYE_ITEM_MAX, &text) < 0)
			continue;
		at = sign_mentions(kind, id, (struct rye_span){ text->data, text->len });
		abspath = at < 0 ? NULL : space_abspath(space, path);
		if (!abspath)
			continue;
		mention.path = abspath;
		mention.line = line_of((struct rye_span){ text->data, text->len }, (size_t)at);
		if (fn(arg, &mention))
			break;
	}
	return 0;
}

static int unread_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct api_verify_survey *survey = arg;

	survey->unread = true;
	survey->stop = survey->batch->fn(survey->batch->arg, verdict, done, total);
	return survey->stop;
}

/* What no index has for it may not be read; true: something was told. */
static bool verify_unread(struct api_verify_survey *survey, unsigned kinds)
{
	const struct spaces *spaces = survey->rye->spaces;

	for (size_t i = 0; i < spaces->n && !survey->stop; i++)
		if (!space_again(spaces, i))
			space_unread(&spaces->v[i], kinds, survey->glob, unread_take, survey);
	return survey->unread;
}

int rye_verify_all(struct rye *rye, const struct rye_batch *batch, struct rye_err *err)
{
	__attribute__((cleanup(index_docs_done))) struct index_docs docs = { 0 };
	struct api_verify_survey survey = { .rye = rye, .batch = batch };
	struct index *index = engine_index(rye);
	struct index_want want = { ALL_KINDS, "", true };
	struct index_item item;
	int r = read_pattern(&survey, err);

	if (survey.kind < RYE_KIND__MAX)
		want.kinds = 1u << survey.kind;
	if (r)
		return r;
	if (!index_docs(index, &want, &docs) || index_lacks(index))
		return memory_fail(err);
	select_wanted(&survey, &docs, &item);
	if (!verify_unread(&survey, want.kinds) && !docs.n)
		return no_match(&survey, err);
	for (size_t i = 0; i < docs.n && !survey.stop; i++)
		if (verify_one(&survey, &docs.v[i], i + 1, docs.n))
			break;
	return 0;
}
