/* SPDX-License-Identifier: MIT */
/*
 * Refused items of one key and one cause, told as one: a clone has dozens of a colleague's whose key is
 * not trusted yet, and one command mends them all. One or two are told each on its own, and so is what has a
 * fault of its own. Pure; nothing is printed here.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"
#include "str.h"

#include <string.h>

#define GROUPS_MANY 3 /* as many are told as one */
#define GROUPS_NAMES 3 /* are named then */

#define ONLY_FOR "  Trusted only for: "

struct groups_cause {
	struct rye_buf key, what, mend;
};

static void groups_cause_done(struct groups_cause *cause)
{
	buf_done(&cause->key);
	buf_done(&cause->what);
	buf_done(&cause->mend);
}

/* "Untrusted key K for PATH" and "Unsigned item: PATH" without the path; false: another sentence. */
static bool cause_says(const struct rye_verdict *verdict, struct rye_buf *ret)
{
	static const char by[] = "  Signed by: ";
	const char *message = verdict->message;
	const char *end = strstr(message, verdict->code == RYE_UNTRUSTED ? " for " : ": ");
	const char *signer = strstr(message, by), *only = strstr(message, ONLY_FOR);

	if (!end || memchr(message, '\n', (size_t)(end - message)))
		return false;
	buf_add(ret, message, (size_t)(end - message));
	if (only) {
		only += strlen(ONLY_FOR);
		buf_addf(ret, ", trusted only for %.*s", (int)strcspn(only, "\n"), only);
	}
	if (!signer)
		return true;
	signer += strlen(by);
	buf_addf(ret, ", signed by %.*s", (int)strcspn(signer, "\n"), signer);
	return true;
}

/* False: its remedy is its own. */
static bool cause_mends(const struct rye_verdict *verdict, struct rye_buf *ret)
{
	const char *fix = strstr(verdict->message, MEND_WITH "ryefs trust ");

	/* its key file may be where nothing can be read */
	fix = fix ? fix : strstr(verdict->message, MEND_WITH "chmod ");
	if (!strncmp(verdict->space, "system", strlen("system"))) {
		buf_adds(ret, "reinstall the bundle");
		return true;
	}
	/* beside the scope of its key: it is read, and signed by its reader */
	if (verdict->code == RYE_UNTRUSTED && (rye_kind_has(verdict->kind, RYE_KIND_MANIFEST) ||
					       !strstr(verdict->message, ONLY_FOR))) {
		buf_adds(ret, fix ? fix + strlen(MEND_WITH) : "");
		return fix != NULL;
	}
	/* what was signed once is looked at before it is signed again */
	buf_addf(ret, "ryefs sign %s%s", verdict->code == RYE_UNSIGNED ? "--all" : "-i",
		 strcmp(verdict->space, "user") ? "" : " --space user");
	return true;
}

static bool cause_of(const struct rye_verdict *verdict, struct groups_cause *ret)
{
	/* what its files want is told of each manifest: signing it alone does not do */
	if (rye_kind_has(verdict->kind, RYE_KIND_MANIFEST) && verdict->code != RYE_UNTRUSTED)
		return false;
	if (!rye_code_integrity(verdict->code) || !verdict->message || !verdict->space ||
	    !cause_says(verdict, &ret->what) || !cause_mends(verdict, &ret->mend))
		return false;
	buf_addf(&ret->key, "%s %s %s", verdict->space, ret->what.data, ret->mend.data);
	return !ret->key.failed && !ret->what.failed && !ret->mend.failed;
}

void groups_add(struct groups *groups, const struct rye_verdict *verdict, json_t *row)
{
	__attribute__((cleanup(groups_cause_done))) struct groups_cause cause = { RYE_BUF_INIT,
										  RYE_BUF_INIT,
										  RYE_BUF_INIT };
	json_t *group, *names;
	char ref[REF_MAX];

	json_array_append_new(groups->rows, row);
	if (!cause_of(verdict, &cause))
		return;
	json_sets(row, "cause", cause.key.data);
	group = json_object_get(groups->causes, cause.key.data);
	if (!group) {
		group = json_pack("{s:s, s:s, s:s, s:i, s:[]}", "what", cause.what.data, "mend",
				  cause.mend.data, "space", verdict->space, "n", 0, "names");
		json_set(groups->causes, cause.key.data, group);
	}
	names = json_object_get(group, "names");
	ref_of(verdict, ref);
	if (json_array_size(names) < GROUPS_NAMES)
		json_array_append_new(names, json_string(ref));
	json_set(group, "n", json_integer(json_int(group, "n", 0) + 1));
}

/* "Untrusted key K: a, b, c and 30 more" */
static void group_words(const json_t *group, struct rye_buf *ret)
{
	const json_t *names = json_object_get(group, "names"), *name;
	json_int_t more = json_int(group, "n", 0) - (json_int_t)json_array_size(names);
	size_t i;

	buf_addf(ret, "%s: ", json_str(group, "what"));
	json_array_foreach((json_t *)names, i, name)
		buf_addf(ret, "%s%s", i ? ", " : "", json_string_value(name));
	if (more > 0)
		buf_addf(ret, " and %lld more", (long long)more);
}

static void groups_tell_many(const json_t *group, const struct groups_teller *to)
{
	auto_buf struct rye_buf about = RYE_BUF_INIT, words = RYE_BUF_INIT;
	const char *space = json_str(group, "space");
	bool here = !strcmp(space, "project");
	size_t n = (size_t)json_int(group, "n", 0);

	buf_addf(&about, "%zu items%s%s%s", n, here ? "" : " (", here ? "" : space,
		 here ? "" : ")");
	group_words(group, &words);
	if (!about.failed && !words.failed)
		to->many(to->arg, n,
			 &(struct groups_line){ about.data, words.data, json_str(group, "mend") });
}

void groups_tell(const struct groups *groups, const struct groups_teller *to)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)groups->rows, i, row) {
		json_t *group = json_object_get(groups->causes, json_str(row, "cause"));

		if (json_int(group, "n", 0) < GROUPS_MANY)
			to->one(to->arg, row);
		else if (!json_flag(group, "told", false))
			groups_tell_many(group, to);
		if (group)
			json_set(group, "told", json_true());
	}
}
