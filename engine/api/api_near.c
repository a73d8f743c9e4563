/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean tool:sample/count-words?": among all items of the merged view the one whose
 * reference is most like a word that names none. Names are listed, nothing is verified. Asked by
 * the verbs, and by a run whose item is not there.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <string.h>

#define DEPTH_MAX 20 /* deeper items are not offered */

struct api_near_search {
	struct rye *rye;
	const char *word, *leaf; /* without its kind; its last component */
	enum rye_kind kind, typed; /* listed now; of the word, or RYE_KIND__MAX */
	char dir[RYE_REF_MAX];
	int depth, best;
	char *ret;
};

static const char *leaf_of(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash ? slash + 1 : id;
}

/* Smaller is nearer. The same name in another directory counts as one change. */
static int api_near_score(const struct api_near_search *search, const char *id)
{
	int whole = near_distance(search->word, id);
	int leaf = near_distance(search->leaf, leaf_of(id));

	/* where the kind is wrong, too, not also the directory and the name */
	if (search->typed != RYE_KIND__MAX && search->typed != search->kind && leaf &&
	    whole >= near_limit(search->word))
		return NEAR_MAX;
	/* another of two letters is another word */
	if (leaf && strlen(search->leaf) < 3)
		whole = NEAR_MAX;
	if (whole >= near_limit(search->word))
		whole = NEAR_MAX;
	/* with a directory in front, only one thing may be wrong: that, or the name */
	if (leaf >= near_limit(search->leaf) || (leaf && search->leaf != search->word))
		leaf = NEAR_MAX - 1;
	leaf++;
	return 2 * (whole < leaf ? whole : leaf) + (search->typed != search->kind);
}

static void api_near_offer(struct api_near_search *search, const char *id)
{
	int score = api_near_score(search, id);

	if (score >= search->best || score >= NEAR_MAX)
		return;
	search->best = score;
	snprintf(search->ret, RYE_REF_MAX, "%s:%s", rye_kind_name(search->kind), id);
}

static void api_near_list(struct api_near_search *search);

static int api_near_take(void *arg, const struct rye_entry *entry)
{
	struct api_near_search *search = arg;
	const char *ext = entry->is_dir ? "" : kind_extension_of(search->kind, entry->name);
	size_t n = strlen(search->dir);

	if (!ext)
		return 0;
	snprintf(search->dir + n, RYE_REF_MAX - n, "%s%.*s", n ? "/" : "",
		 (int)(strlen(entry->name) - strlen(ext)), entry->name);
	if (!entry->is_dir)
		api_near_offer(search, search->dir);
	else if (search->depth < DEPTH_MAX)
		api_near_list(search);
	search->dir[n] = 0;
	return 0;
}

static void api_near_list(struct api_near_search *search)
{
	struct rye_walk walk = { .kind = search->kind,
				 .dir = search->dir,
				 .fn = api_near_take,
				 .arg = search };

	search->depth++;
	rye_list(search->rye, &walk, NULL);
	search->depth--;
}

bool rye_near(struct rye *rye, const char *word, char ret[RYE_REF_MAX])
{
	const char *colon = strchr(word, ':'), *id = colon ? colon + 1 : word;
	struct api_near_search search = { .rye = rye,
					  .word = id,
					  .leaf = leaf_of(id),
					  .typed = id_kind(word, &id),
					  .best = NEAR_MAX,
					  .ret = ret };

	if (strlen(search.leaf) < 2 || strpbrk(word, "*?"))
		return false;
	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		search.kind = (enum rye_kind)kind;
		api_near_list(&search);
	}
	return search.best < NEAR_MAX;
}
