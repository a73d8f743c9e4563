/* SPDX-License-Identifier: MIT */
/*
 * Searching: snapshot of the sources, documents for those that have none yet (several threads,
 * no lock), then one pass of substring search over texts that lie in memory, or are read again
 * when their sieve lets the query through. An item is found when the query matches all of its
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

/* ---- documents ---- */

struct search_making {
	const struct search_env *env;
	struct index_docs *docs;
	pthread_t asker;
	_Atomic size_t next;
	_Atomic bool lacking; /* memory ran out in one of the threads */
};

static bool is_stopped(const struct search_env *env)
{
	return env->stop && *env->stop;
}

static struct rye_blob *search_make(const struct search_env *env, const struct index_doc *of,
				    const char *id, bool whole)
{
	const struct space *spaces = env->items->spaces->v;
	auto_item struct rye_item *item = NULL;
	struct rye_err err = { 0 };
	char path[1100];
	const struct path_ask ask = { .space = &spaces[of->space],
				      .kind = (enum rye_kind)of->kind,
				      .path = path,
				      .passing = true };
	int n = snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(ask.kind), id, of->ext), r = 0;

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	for (int i = 0; i < of->space && !r; i++)
		r = space_barred(&spaces[i], ask.kind, id, &err);
	if (!r)
		r = rye_load_path(env->items, &ask, &item, &err);
	/* memory that runs out is no verdict */
	if (r)
		return err.code == RYE_NOT_FOUND || err.sys == ENOMEM ? NULL :
									doc_refused(id, err.code);
	return doc_make(item, whole);
}

static void *make_some(void *arg)
{
	struct search_making *making = arg;
	const struct search_env *env = making->env;
	bool tells = env->progress && pthread_equal(pthread_self(), making->asker);
	unsigned long since = memory_failures();
	size_t i;

	while ((i = atomic_fetch_add(&making->next, 1)) < making->docs->n && !is_stopped(env)) {
		struct index_doc *of = &making->docs->v[i];

		if (tells)
			env->progress(env->progress_arg, i, making->docs->n);
		if (of->doc)
			continue;
		of->doc =
			search_make(env, of, of->id, index_doc_bytes(env->index) < env->texts_max);
		if (of->doc)
			index_keep_doc(env->index, of, of->doc);
	}
	if (memory_failures() != since)
		making->lacking = true;
	return NULL;
}

/* False: not all could be made. */
static bool make_missing(const struct search_env *env, struct index_docs *docs)
{
	struct search_making making = { .env = env, .docs = docs, .asker = pthread_self() };
	pthread_t threads[THREADS_MAX];
	size_t missing = 0;
	int n = 0;

	for (size_t i = 0; i < docs->n; i++)
		missing += !docs->v[i].doc;
	/* A few are not worth a thread. */
	while (missing > 64 && n < env->threads - 1 && n < THREADS_MAX &&
	       pthread_create(&threads[n], NULL, make_some, &making) == 0)
		n++;
	if (missing)
		make_some(&making);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	return !making.lacking;
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

/* Texts that a model wrote are found only by a search whose prefix asks for them. */
static bool is_transcript(const struct index_doc *of, const struct doc *doc)
{
	return of->kind == RYE_KNOWLEDGE &&
	       !strncmp(doc->text + doc->id, "agent/threads/", strlen("agent/threads/"));
}

static bool search_wanted(const struct search_env *env, const struct search_ask *ask,
			  const struct index_doc *of)
{
	enum rye_space type = env->items->spaces->v[of->space].type;

	if (!of->doc || !(ask->spaces & 1u << type) || (!of->best && !ask->losers))
		return false;
	return !strncmp(ask->prefix, "agent/threads", strlen("agent/threads")) ||
	       !is_transcript(of, doc_of(of->doc));
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

/* Documents are handed out in runs of this many; a run is some tens of microseconds. */
#define RUN 256
/* A thread pays from here on: starting it costs as much as looking at these. */
#define THREAD_DOCS 2000

struct matching {
	const struct search_env *env;
	const struct search_ask *ask;
	const struct query *query;
	struct search_result *result;
	_Atomic size_t next;
	_Atomic bool lacking; /* memory ran out in one of the threads */
};

/* Without its body a document says "found", "not found", or that the item has to be read. */
static double score_doc(const struct matching *m, const struct index_doc *of, const struct doc *doc)
{
	const struct query *query = m->query;
	struct rye_blob *whole;
	double found;

	if (!doc->sieve_len || (m->ask->fields && !m->ask->opt.proximity))
		return search_score(query, doc, m->ask->fields);
	if (!m->ask->opt.proximity && query_grows(query)) {
		found = search_score(query, doc, m->ask->fields);
		if (found >= 0)
			return found;
	}
	if (!query_may(query, doc_sieve(doc)))
		return -1;
	whole = search_make(m->env, of, doc->text + doc->id, true);
	found = whole ? search_score(query, doc_of(whole), m->ask->fields) : -1;
	rye_blob_unref(whole);
	return found;
}

static void match_one(const struct matching *m, size_t i)
{
	const struct index_doc *of = &m->result->docs.v[i];
	struct search_hit *hit = &m->result->v[i];

	*hit = (struct search_hit){ .of = of, .score = -1 };
	if (!search_wanted(m->env, m->ask, of))
		return;
	hit->doc = doc_of(of->doc);
	hit->score = query_empty(m->query) ? 1 : score_doc(m, of, hit->doc);
}

static void *match_some(void *arg)
{
	struct matching *m = arg;
	size_t n = m->result->docs.n, at;
	unsigned long since = memory_failures();

	while ((at = atomic_fetch_add(&m->next, RUN)) < n)
		for (size_t i = at; i < n && i < at + RUN && !is_stopped(m->env); i++)
			match_one(m, i);
	if (memory_failures() != since)
		m->lacking = true;
	return NULL;
}

static void match_all(struct matching *m)
{
	pthread_t threads[THREADS_MAX];
	struct search_result *result = m->result;
	size_t worth = result->docs.n / THREAD_DOCS;
	int n = 0;

	while (n < (int)worth && n < m->env->threads - 1 && n < THREADS_MAX &&
	       pthread_create(&threads[n], NULL, match_some, m) == 0)
		n++;
	match_some(m);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	for (size_t i = 0; i < result->docs.n; i++)
		if (result->v[i].score >= 0)
			result->v[result->n++] = result->v[i];
	if (result->n > 1)
		qsort(result->v, result->n, sizeof(*result->v), by_rank);
}

static int search_find(const struct search_env *env, struct matching *matching, struct rye_err *err)
{
	const struct index_want want = { matching->ask->kinds, matching->ask->prefix, false };
	struct search_result *ret = matching->result;

	if (!index_docs(env->index, &want, &ret->docs) || !make_missing(env, &ret->docs))
		return memory_fail(err);
	ret->v = calloc(ret->docs.n + 1, sizeof(*ret->v));
	if (!ret->v)
		return memory_fail(err);
	if (!is_stopped(env))
		match_all(matching);
	if (is_stopped(env))
		return rye_fail(err, RYE_CANCELLED, "the search was given up");
	return matching->lacking ? memory_fail(err) : 0;
}

int search_run(const struct search_env *env, const struct search_ask *ask,
	       struct search_result *ret, struct rye_err *err)
{
	auto_query struct query *query = NULL;
	int r = query_parse(ask->query, &ask->opt, &query, err);
	struct matching matching = { .env = env, .ask = ask, .query = query, .result = ret };

	*ret = (struct search_result){ 0 };
	if (!r)
		r = search_find(env, &matching, err);
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
