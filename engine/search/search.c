/* SPDX-License-Identifier: MIT */
/*
 * Searching: snapshot of the sources, then one pass (several threads, no lock) of substring search
 * over texts that lie in memory, over those that have no document yet while theirs is made, or
 * that are read again when their sieve lets the query through. An item is found when the query matches all of its
 * text; its score says in which fields alone it matches.
 */
#include "search/search.h"

#include "base/id.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS_MAX 8
/* A match in the body alone: behind every match in a field, before none. */
#define BODY_WEIGHT 0.5

static const double weights[DOC_FIELD__MAX] = { 3, 3, 2, 1.5, 1 };

struct search_doing {
	const struct search_env *env;
	const struct search_ask *ask;
	const struct query *query;
	struct search_result *result;
	size_t missing; /* sources that have no document yet */
	size_t run; /* documents that a thread takes at once */
	pthread_t asker;
	_Atomic size_t next;
	_Atomic bool lacking; /* memory ran out in one of the threads */
};

static bool is_stopped(const struct search_env *env)
{
	return env->stop && *env->stop;
}

static const char *search_id_of(const struct index_doc *of)
{
	return of->doc ? doc_of(of->doc)->text + doc_of(of->doc)->id : of->id;
}

/* ---- documents ---- */

/* What is found of a skill is as whole as the skill is. */
static struct rye_blob *make_attached(const struct search_env *env, const struct rye_item *item,
				      struct rye_err *err)
{
	auto_attached struct attached attached = { 0 };

	return item_attached(env->items, item, &attached, err) ? NULL :
								 doc_make_attached(item, &attached);
}

static struct rye_blob *search_make(const struct search_env *env, const struct index_doc *of)
{
	const struct space *spaces = env->items->spaces->v;
	const char *id = search_id_of(of);
	auto_item struct rye_item *item = NULL;
	struct rye_err err = { 0 };
	struct rye_blob *doc = NULL;
	unsigned char sha[SHA_LEN];
	char path[1100];
	const struct path_ask ask = { .space = &spaces[of->space],
				      .kind = (enum rye_kind)of->kind,
				      .path = path,
				      .known = index_doc_known(env->index, of, id, sha) ? sha :
											  NULL,
				      .passing = true };
	int n = snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(ask.kind), id, of->ext), r = 0;

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	for (int i = 0; i < of->space && !r; i++)
		r = space_barred(&spaces[i], ask.kind, id, &err);
	if (!r)
		r = rye_load_path(env->items, &ask, &item, &err);
	if (!r)
		doc = rye_kind_has(ask.kind, RYE_KIND_MANIFEST) ? make_attached(env, item, &err) :
								  doc_make(item);
	/* memory that runs out is no verdict */
	if (doc || err.code == RYE_OK || err.code == RYE_NOT_FOUND || err.sys == ENOMEM)
		return doc;
	return doc_refused(id, err.code);
}

/* Keeps it with its item: as it is, or where memory is short without its body. */
static void search_keep(const struct search_env *env, struct index_doc *of, struct rye_blob *whole)
{
	of->doc = index_doc_bytes(env->index) < env->texts_max ? rye_blob_ref(whole) :
								 doc_without_body(whole);
	if (of->doc)
		index_keep_doc(env->index, of, of->doc);
}

/* ---- matching ---- */

/* Below 0: not found. */
static double search_score(const struct query *query, const struct doc *doc, unsigned fields)
{
	double sum = 0, all = 0;
	const struct rye_span whole = { doc->text, doc->all };
	bool found = !fields && query_match(query, whole);

	if ((!fields && !found) || !query_near(query, whole))
		return -1;
	for (int i = 0; i < DOC_FIELD__MAX; i++) {
		if (fields && !(fields & 1u << i))
			continue;
		all += weights[i];
		if (query_match(query, doc_field(doc, (enum doc_field)i))) {
			sum += weights[i];
			found = true;
		}
	}
	if (!found)
		return -1;
	if (sum < BODY_WEIGHT)
		sum = BODY_WEIGHT;
	return (double)(long)(sum / all * 10000 + 0.5) / 10000;
}

static bool search_wanted(const struct search_env *env, const struct search_ask *ask,
			  const struct index_doc *of)
{
	enum rye_space type = env->items->spaces->v[of->space].type;
	static const char transcripts[] = "agent/threads/";
	const size_t dir = sizeof(transcripts) - 2;

	if (!(ask->spaces & 1u << type) || (!of->best && !ask->losers))
		return false;
	/* Texts that a model wrote are found only by a search whose prefix asks for them. */
	return of->kind != RYE_KNOWLEDGE || !strncmp(ask->prefix, transcripts, dir) ||
	       strncmp(search_id_of(of), transcripts, dir + 1) != 0;
}

static int by_rank(const void *pa, const void *pb)
{
	const struct search_hit *a = pa, *b = pb;
	int order;

	if (a->score > b->score || a->score < b->score)
		return a->score > b->score ? -1 : 1;
	if (a->of->space != b->of->space)
		return a->of->space < b->of->space ? -1 : 1;
	order = strcmp(a->doc->text + a->doc->id, b->doc->text + b->doc->id);
	return order ? order : (int)a->of->kind - (int)b->of->kind;
}

/* Documents that are there are handed out in runs of this many: some tens of microseconds. */
#define RUN 256
/* Those that have to be made, some tens of microseconds each. */
#define RUN_MADE 4
/* A thread pays from here on: starting it costs as much as looking at these. */
#define THREAD_DOCS 2000
#define THREAD_MADE 64

static double score_whole(const struct search_doing *m, const struct rye_blob *whole)
{
	return query_empty(m->query) ? 1 : search_score(m->query, doc_of(whole), m->ask->fields);
}

/* Without its body a document says "found", "not found", or that the item has to be read. */
static double score_doc(const struct search_doing *m, const struct index_doc *of)
{
	const struct doc *doc = doc_of(of->doc);
	const struct query *query = m->query;
	struct rye_blob *whole;
	double found;

	if (!doc->sieve_len || query_empty(query) || (m->ask->fields && !m->ask->opt.proximity))
		return score_whole(m, of->doc);
	if (!m->ask->opt.proximity && query_grows(query)) {
		found = search_score(query, doc, m->ask->fields);
		if (found >= 0)
			return found;
	}
	if (!query_may(query, doc_sieve(doc)))
		return -1;
	whole = search_make(m->env, of);
	found = whole ? score_whole(m, whole) : -1;
	rye_blob_unref(whole);
	return found;
}

/* What has no document yet is looked at while its text is here: it may go, and is read once. */
static double score_new(const struct search_doing *m, struct index_doc *of)
{
	struct rye_blob *whole = search_make(m->env, of);
	double found = whole ? score_whole(m, whole) : -1;

	if (whole)
		search_keep(m->env, of, whole);
	rye_blob_unref(whole);
	return of->doc ? found : -1;
}

static void match_one(const struct search_doing *m, size_t i)
{
	struct index_doc *of = &m->result->docs.v[i];
	struct search_hit *hit = &m->result->v[i];

	*hit = (struct search_hit){ .of = of, .score = -1 };
	if (!search_wanted(m->env, m->ask, of))
		return;
	hit->score = of->doc ? score_doc(m, of) : score_new(m, of);
	hit->doc = of->doc ? doc_of(of->doc) : NULL;
}

static void *match_some(void *arg)
{
	struct search_doing *m = arg;
	const struct search_env *env = m->env;
	size_t n = m->result->docs.n, at;
	bool tells = env->progress && m->missing && pthread_equal(pthread_self(), m->asker);
	unsigned long since = memory_failures();

	while ((at = atomic_fetch_add(&m->next, m->run)) < n && !is_stopped(env)) {
		if (tells)
			env->progress(env->progress_arg, at, n);
		for (size_t i = at; i < n && i < at + m->run && !is_stopped(env); i++)
			match_one(m, i);
	}
	if (memory_failures() != since)
		m->lacking = true;
	return NULL;
}

static void match_all(struct search_doing *m)
{
	pthread_t threads[THREADS_MAX];
	struct search_result *result = m->result;
	size_t worth = result->docs.n / THREAD_DOCS + m->missing / THREAD_MADE;
	int n = 0;

	while (n < (int)worth && n < m->env->threads - 1 && n < THREADS_MAX &&
	       pthread_create(&threads[n], NULL, match_some, m) == 0)
		n++;
	match_some(m);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	/* one without a document was not looked at: the search was given up */
	for (size_t i = 0; i < result->docs.n; i++)
		if (result->v[i].doc && result->v[i].score >= 0)
			result->v[result->n++] = result->v[i];
	if (result->n > 1)
		qsort(result->v, result->n, sizeof(*result->v), by_rank);
}

static int search_find(struct search_doing *m, struct rye_err *err)
{
	const struct index_want want = { m->ask->kinds, m->ask->prefix, false };
	struct search_result *ret = m->result;

	if (!index_docs(m->env->index, &want, &ret->docs))
		return memory_fail(err);
	ret->v = calloc(ret->docs.n + 1, sizeof(*ret->v));
	if (!ret->v)
		return memory_fail(err);
	for (size_t i = 0; i < ret->docs.n; i++)
		m->missing += !ret->docs.v[i].doc && search_wanted(m->env, m->ask, &ret->docs.v[i]);
	m->run = m->missing ? RUN_MADE : RUN;
	if (!is_stopped(m->env))
		match_all(m);
	if (is_stopped(m->env))
		return rye_fail(err, RYE_CANCELLED, "the search was given up");
	return m->lacking ? memory_fail(err) : 0;
}

int search_run(const struct search_env *env, const struct search_ask *ask,
	       struct search_result *ret, struct rye_err *err)
{
	auto_query struct query *query = NULL;
	int r = query_parse(ask->query, &ask->opt, &query, err);
	struct search_doing doing = { .env = env,
				      .ask = ask,
				      .query = query,
				      .result = ret,
				      .asker = pthread_self() };

	*ret = (struct search_result){ 0 };
	if (!r)
		r = search_find(&doing, err);
	if (r)
		search_done(ret);
	return r;
}

void search_done(struct search_result *result)
{
	index_docs_done(&result->docs);
	free(result->v);
	*result = (struct search_result){ 0 };
}
