/* SPDX-License-Identifier: MIT */
/*
 * What clients are offered. A skill is asked for first, for it counts first; only then the table of other
 * items, which is made anew when something has changed, or may have without our hearing of it. One lock,
 * that of the table: it is filled beside it, then put into its place. May wait.
 */
#include "offer/offer_inner.h"

#include "memory.h"
#include "str.h"

#include <pthread.h>
#include <stdatomic.h>

struct rye_offers {
	struct rye *rye;
	enum rye_offer which;
	_Atomic uint64_t changes; /* grows with each change */
	pthread_mutex_t lock; /* of what follows */
	struct offer_table *table; /* frozen; NULL: there was none yet */
	uint64_t seen; /* the changes that are in it */
};

struct rye_offers *rye_offers_open(struct rye *rye, enum rye_offer which)
{
	struct rye_offers *offers = calloc(1, sizeof(*offers));

	if (!offers)
		return NULL;
	offers->rye = rye;
	offers->which = which;
	atomic_init(&offers->changes, 1);
	pthread_mutex_init(&offers->lock, NULL);
	return offers;
}

void rye_offers_close(struct rye_offers *offers)
{
	if (!offers)
		return;
	offer_table_unref(offers->table);
	pthread_mutex_destroy(&offers->lock);
	free(offers);
}

void rye_offers_stale(struct rye_offers *offers)
{
	atomic_fetch_add(&offers->changes, 1);
}

/* ---- the table ---- */

/* Can it be that a change was not heard of? */
static bool is_deaf(struct rye_offers *offers)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (rye_kind_has(kind, RYE_KIND_RUNS) && rye_unwatched(offers->rye, kind, ""))
			return true;
	return false;
}

static struct offer_table *table_now(struct rye_offers *offers, uint64_t *ret_seen)
{
	GUARD(&offers->lock);
	*ret_seen = offers->seen;
	return offer_table_ref(offers->table);
}

/* Frozen; the caller's reference. Two threads may fill one each: the newer stays. */
static int table_get(struct rye_offers *offers, struct offer_table **ret, struct rye_err *err)
{
	uint64_t changes = atomic_load(&offers->changes), seen;
	auto_offers struct offer_table *was = table_now(offers, &seen), *now = NULL;

	int r;

	if (was && seen == changes && !is_deaf(offers)) {
		*ret = steal(&was);
		return 0;
	}
	r = offer_table_fill(offers->rye, offers->which == RYE_OFFER_ALL, was, &now, err);
	if (r)
		return r;
	{
		GUARD(&offers->lock);
		if (offers->seen <= changes) {
			struct offer_table *old = offers->table;

			offers->table = offer_table_ref(now);
			offers->seen = changes;
			offer_table_unref(was);
			was = old;
		}
	}
	*ret = steal(&now);
	return 0;
}

static int find_offered(struct rye_offers *offers, const struct offer_table *table,
			const char *name, struct rye_skill *ret, struct rye_err *err)
{
	const struct offer *one = offer_table_find(table, name);
	struct rye_stat st;
	int r = one ? rye_lookup(offers->rye, one->kind, one->path, &st, err) : 0;

	if (!one || (!r && !st.is_file))
		return rye_fail(err, RYE_NOT_FOUND, "Skill not found: %.900s", name);
	if (r)
		return r;
	*ret = (struct rye_skill){ .kind = one->kind,
				   .verdict = st.verdict,
				   .version = st.version,
				   .mtime = st.mtime };
	snprintf(ret->id, sizeof(ret->id), "%s", st.id);
	snprintf(ret->reason, sizeof(ret->reason), "%s", st.reason);
	return 0;
}

static bool has_items(const struct rye_offers *offers)
{
	return offers->which == RYE_OFFER_OWN || offers->which == RYE_OFFER_ALL;
}

static bool is_guide(const struct rye_skill *skill)
{
	return skill->kind == RYE_KIND__MAX;
}

int rye_offer_find(struct rye_offers *offers, const char *name, struct rye_skill *ret,
		   struct rye_err *err)
{
	auto_offers struct offer_table *table = NULL;
	int r;

	if (offers->which == RYE_OFFER_NONE)
		return rye_fail(err, RYE_NOT_FOUND, "Skill not found: %.900s", name);
	if (!strcmp(name, OFFER_GUIDE)) {
		*ret = (struct rye_skill){ .kind = RYE_KIND__MAX, .id = OFFER_GUIDE, .version = 1 };
		return 0;
	}
	r = rye_skill_find(offers->rye, name, ret, err);
	if (r != -(int)RYE_NOT_FOUND || !has_items(offers) || !skill_name_ok(span_of(name)))
		return r;
	r = table_get(offers, &table, err);
	return r ? r : find_offered(offers, table, name, ret, err);
}

/* ---- which there are ---- */

struct offers_listing {
	rye_skill_fn fn;
	void *arg;
	json_t *names; /* of skills */
	bool stop;
};

static int offers_on_skill(void *arg, const char *name, bool refused)
{
	struct offers_listing *list = arg;

	if (!strcmp(name, OFFER_GUIDE))
		return 0;
	json_object_set_new(list->names, name, json_true());
	list->stop = list->fn(list->arg, name, refused);
	return list->stop;
}

static int list_items(struct rye_offers *offers, struct offers_listing *list, struct rye_err *err)
{
	auto_offers struct offer_table *table = NULL;
	const char *before = "";
	int r = table_get(offers, &table, err);

	if (r)
		return r;
	for (size_t i = 0; i < table->n && !list->stop; i++) {
		const char *name = table->v[i].name;
		struct rye_skill skill;
		struct rye_err ignored;

		if (!strcmp(name, before) || json_object_get(list->names, name))
			continue;
		before = name;
		if (find_offered(offers, table, name, &skill, &ignored) == 0)
			list->stop = list->fn(list->arg, name, skill.verdict != RYE_OK);
	}
	return 0;
}

int rye_offer_list(struct rye_offers *offers, rye_skill_fn fn, void *arg, struct rye_err *err)
{
	auto_json json_t *names = json_object();
	struct offers_listing list = { fn, arg, names, false };
	int r;

	if (offers->which == RYE_OFFER_NONE || fn(arg, OFFER_GUIDE, false))
		return 0;
	r = rye_skill_list(offers->rye, offers_on_skill, &list, err);
	return r || list.stop || !has_items(offers) ? r : list_items(offers, &list, err);
}

int rye_offer_clashes(struct rye_offers *offers, rye_clash_fn fn, void *arg, struct rye_err *err)
{
	auto_offers struct offer_table *table = NULL;
	int r = has_items(offers) ? table_get(offers, &table, err) : 0;

	if (table)
		offer_table_clashes(offers, table, fn, arg);
	return r;
}

/* ---- what is in one ---- */

static int note_refused(void *arg, const char *name, bool refused)
{
	if (refused)
		json_array_append_new(arg, json_string(name));
	return 0;
}

/* The text of one that is no skill. */
static int make_text(struct rye_offers *offers, const struct rye_skill *skill, const char *query,
		     struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *refused = NULL;
	char name[SKILL_NAME_MAX + 1];

	if (!is_guide(skill))
		return offer_name(skill->id, name) ?
			       offer_text(offers->rye, skill, name, query, ret, err) :
			       rye_fail(err, RYE_NOT_FOUND, "it has no such name");
	refused = json_array();
	if (rye_offer_list(offers, note_refused, refused, err))
		return -(int)err->code;
	*ret = offer_guide(refused);
	return *ret ? 0 : memory_fail(err);
}

/* "SKILL.md?to=Ann": the part behind the question mark; NULL: it is no such name. */
static const char *query_of(const char *path)
{
	size_t n = strlen(SKILL_TEXT);

	return !strncmp(path, SKILL_TEXT, n) && path[n] == '?' ? path + n + 1 : NULL;
}

static int read_filled(struct rye_offers *offers, const struct rye_skill *skill, const char *query,
		       struct rye_blob **ret, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_skill_file file = { 0 };
	int r = rye_skill_read(offers->rye, skill, SKILL_TEXT, &file, err);

	if (!r)
		r = rye_text_get(file.text, &text, err);
	rye_text_unref(file.text);
	return r ? r : offer_fill(text, query, ret, err);
}

static uint64_t version_of_text(const struct rye_blob *text)
{
	unsigned char sha[SHA_LEN];
	uint64_t version;

	sha256_of((struct rye_span){ text->data, text->len }, sha);
	memcpy(&version, sha, sizeof(version));
	return version | 1;
}

int rye_offer_read(struct rye_offers *offers, const struct rye_skill *skill, const char *path,
		   struct rye_skill_file *ret, struct rye_err *err)
{
	const char *query = query_of(path);
	struct rye_blob *text = NULL;
	int r;

	if (skill->kind == RYE_SKILL) {
		r = rye_skill_read(offers->rye, skill, path, ret, err);
		if (r != -(int)RYE_NOT_FOUND || !query)
			return r;
		r = read_filled(offers, skill, query, &text, err);
	} else if (!*path) {
		*ret = (struct rye_skill_file){ .is_dir = true, .version = 1 };
		return 0;
	} else if (!query && strcmp(path, SKILL_TEXT) != 0) {
		return rye_fail(err, RYE_NOT_FOUND, "skill %s has no such file", skill->id);
	} else {
		r = make_text(offers, skill, query, &text, err);
	}
	if (r)
		return r;
	*ret = (struct rye_skill_file){ .version = version_of_text(text),
					.text = rye_text_new(offers->rye, text) };
	return ret->text ? 0 : memory_fail(err);
}

int rye_offer_names(struct rye_offers *offers, const struct rye_skill *skill, const char *dir,
		    rye_skill_name_fn fn, void *arg, struct rye_err *err)
{
	if (skill->kind == RYE_SKILL)
		return rye_skill_names(offers->rye, skill, dir, fn, arg, err);
	if (!*dir)
		fn(arg, SKILL_TEXT, false);
	return 0;
}
