/* SPDX-License-Identifier: MIT */
/*
 * Items that would be shown as skills and are not, for their names: two of a kind have the same, another
 * kind's or a skill counts first, or it is none that a skill may have. May wait; no lock.
 */
#include "offer/offer_inner.h"

#include "str.h"

/* The item that has the name in its place; NULL: that is another skill, or there is none. */
static const struct offer *offer_rival(const struct offer_table *table, size_t at)
{
	const struct offer *one = &table->v[at];

	for (size_t i = 0; i < table->n; i++) {
		const struct offer *other = &table->v[i];

		if (i != at && other->wanted && !strcmp(other->name, one->name) &&
		    (other->kind == one->kind || i < at))
			return other;
	}
	return NULL;
}

/* A folder or a manifest has it; such a name is told of as it is. */
static bool is_skill_name(struct rye_offers *offers, const char *name)
{
	struct rye_skill skill;
	struct rye_err ignored;

	return rye_offer_find(offers, name, &skill, &ignored) == 0 && skill.kind == RYE_SKILL;
}

int offer_table_clashes(struct rye_offers *offers, const struct offer_table *table, rye_clash_fn fn,
			void *arg)
{
	int stop = 0;

	for (size_t i = 0; i < table->n && !stop; i++) {
		const struct offer *one = &table->v[i], *rival;
		struct rye_clash clash = { .kind = one->kind,
					   .path = one->path,
					   .name = one->name };

		if (!one->wanted)
			continue;
		rival = *one->name ? offer_rival(table, i) : NULL;
		if (*one->name && is_skill_name(offers, one->name))
			clash.by = RYE_SKILL;
		else if (rival)
			clash.by = rival->kind;
		else if (*one->name)
			continue;
		else
			clash.by = RYE_KIND__MAX;
		clash.by_path = rival ? rival->path : "";
		stop = fn(arg, &clash);
	}
	return stop;
}
