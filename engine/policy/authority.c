/* SPDX-License-Identifier: MIT */
/*
 * The authority of an asker: whether what holds it allows what is asked. Items and threads say what they grant
 * in two languages: an item's signed `requires` ("rye.execute" means all below it, fetching is open) and
 * a thread's capabilities, which name fetching and signing, too. Both are compared here alone.
 *
 * An authority belongs to the thread that makes it until the request is carried out, and is frozen then.
 * Its lists are shared with items and runs, by reference. No lock, no I/O.
 */
#include "policy/policy.h"

#include "base/engine_options.h"
#include "base/id.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fnmatch.h>
#include <string.h>

/* ---- what is never allowed, and what the mount has switched off ---- */

#define NEVER(text) "Permission denied: " text
#define NOT_KNOWN NEVER("the asking run is not known")
#define NO_COPY NEVER("a running item may not copy into a space")
#define NO_SIGN NEVER("a running item may not sign")
#define NO_KEYS NEVER("a running item may not manage keys")
#define NO_RESUME NEVER("only a person resumes a thread")

/* NULL: as far as what holds it allows. */
static const char *const never[ASKER__MAX][ACT__MAX] = {
	[ASKER_MODEL] = { [ACT_RESUME] = NO_RESUME },
	[ASKER_RUNNER] = { [ACT_COPY] = NO_COPY,
			   [ACT_SIGN] = NO_SIGN,
			   [ACT_RESUME] = NO_RESUME,
			   [ACT_KEYS] = NO_KEYS },
	[ASKER_GRAPH] = { [ACT_COPY] = NO_COPY,
			  [ACT_SIGN] = NEVER("signing is for a person, not for a graph"),
			  [ACT_RESUME] = NO_RESUME,
			  [ACT_KEYS] = NO_KEYS },
	[ASKER_RUN] = { [ACT_COPY] = NO_COPY,
			[ACT_SIGN] = NO_SIGN,
			[ACT_RESUME] = NO_RESUME,
			[ACT_KEYS] = NO_KEYS },
	[ASKER_STRANGER] = { [ACT_ASK] = NOT_KNOWN,
			     [ACT_BEGIN] = NOT_KNOWN,
			     [ACT_RUN] = NOT_KNOWN,
			     [ACT_FORK] = NOT_KNOWN,
			     [ACT_READ] = NOT_KNOWN,
			     [ACT_COPY] = NOT_KNOWN,
			     [ACT_SIGN] = NOT_KNOWN,
			     [ACT_RESUME] = NOT_KNOWN,
			     [ACT_KEYS] = NOT_KNOWN },
};

/* What an act is in capabilities; NULL: no list is asked. */
static const struct act_row {
	const char *primary;
	bool runs; /* switched off with norun */
	const char *signs; /* what is switched off with nosign, or NULL */
} acts[ACT__MAX] = {
	[ACT_BEGIN] = { .runs = true },
	[ACT_RUN] = { "execute", true, NULL },
	[ACT_FORK] = { .runs = true },
	[ACT_READ] = { "fetch", false, NULL },
	[ACT_COPY] = { "fetch", false, "copying" },
	[ACT_SIGN] = { "sign", false, "signing" },
	[ACT_RESUME] = { .runs = true },
	[ACT_KEYS] = { .signs = "managing keys" },
};

static int authority_switched(const struct authority *authority, const struct act_row *act,
			      struct rye_err *err)
{
	if (authority->no_run && act->runs)
		return rye_fail(err, RYE_DENIED, "running is switched off (norun)");
	if (authority->no_sign && act->signs)
		return options_no_sign(act->signs, err);
	return 0;
}

/* ---- an item's `requires` ---- */

static size_t count_dots(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '.';
	return n;
}

bool requires_cover(const json_t *list, const char *wanted)
{
	json_t *element;
	size_t i;

	json_array_foreach(list, i, element) {
		const char *pattern = json_string_value(element);
		size_t n = pattern ? strlen(pattern) : 0;

		if (!n || strncmp(pattern, "rye.", 4))
			continue;
		if (fnmatch(pattern, wanted, 0) == 0)
			return true;
		/* The short forms "rye.execute" and "rye.execute.tool" mean all below. */
		if (count_dots(pattern) <= 2 && !strncmp(pattern, wanted, n) && wanted[n] == '.')
			return true;
	}
	return false;
}

/* A short form as capabilities have it, which know none: "rye.execute" is "rye.execute.*". */
static json_t *requires_capability(const char *text)
{
	bool brief = count_dots(text) && count_dots(text) <= 2 && !strpbrk(text, "*?[");

	return json_sprintf("%s%s", text, brief ? ".*" : "");
}

/* ---- asking ---- */

/* The sentence of a run's list that does not name the item. */
static int refuse_requires(const struct authority *authority, const struct authority_ask *ask,
			   const char *wanted, struct rye_err *err)
{
	if (authority->asker != ASKER_RUN)
		return rye_fail(err, RYE_DENIED,
				"Permission denied: what runs above it does not name %s:%.900s",
				ask->kind, ask->id);
	return rye_fail(err, RYE_DENIED,
			"Permission denied: the running item's signed `requires` does not name "
			"%.900s",
			wanted);
}

static int ask_thread(const json_t *bound, const struct authority_ask *ask, struct rye_err *err)
{
	const struct capability_ask all = { .lists = json_object_get(bound, "capabilities"),
					    .primary = acts[ask->act].primary,
					    .kind = ask->kind,
					    .id = ask->id,
					    .writes = ask->act == ACT_COPY };

	return capability_check(&all, err);
}

/* What holds reading as well: a thread's lists, and what a graph permits itself. */
static int ask_all(const struct authority *authority, const struct authority_ask *ask,
		   const char *wanted, struct rye_err *err)
{
	json_t *bound;
	size_t i;
	int r = 0;

	json_array_foreach(authority->all, i, bound) {
		if (json_is_object(bound))
			r = ask_thread(bound, ask, err);
		else if (!requires_cover(bound, wanted))
			r = rye_fail(err, RYE_DENIED,
				     "Permission denied: '%.900s' not covered by capabilities",
				     wanted);
		if (r)
			return r;
	}
	return 0;
}

static int ask_running(const struct authority *authority, const struct authority_ask *ask,
		       const char *wanted, struct rye_err *err)
{
	json_t *bound;
	size_t i;

	json_array_foreach(authority->running, i, bound) {
		bool named = json_is_object(bound) ? !ask_thread(bound, ask, NULL) :
						     requires_cover(bound, wanted);

		if (!named)
			return refuse_requires(authority, ask, wanted, err);
	}
	return 0;
}

/* A model's thread starts its children itself, which are held to it and live of its money. */
static int ask_fork(const struct authority *authority, struct rye_err *err)
{
	const json_t *const parts[] = { authority->all, authority->running };
	json_t *bound;
	size_t i;

	for (size_t k = 0; !*authority_thread(authority) && k < ARRAY_SIZE(parts); k++)
		json_array_foreach(parts[k], i, bound)
			if (json_is_object(bound))
				return rye_fail(err, RYE_DENIED,
						NEVER("only the model of a thread starts threads "
						      "of models below it"));
	return 0;
}

int authority_check(const struct authority *authority, const struct authority_ask *ask,
		    struct rye_err *err)
{
	auto_buf struct rye_buf wanted = RYE_BUF_INIT;
	const struct act_row *act = &acts[ask->act];
	const char *why = never[authority->asker][ask->act];
	int r;

	if (why)
		return rye_fail(err, RYE_DENIED, "%s", why);
	r = authority_switched(authority, act, err);
	if (!r && ask->act == ACT_FORK)
		r = ask_fork(authority, err);
	if (r || !act->primary)
		return r;
	capability_name(&wanted, act->primary, ask->kind, ask->id);
	if (wanted.failed)
		return memory_fail(err);
	r = ask_all(authority, ask, wanted.data, err);
	return r || ask->act != ACT_RUN ? r : ask_running(authority, ask, wanted.data, err);
}

/* ---- making one ---- */

void authority_init(struct authority *authority, enum asker asker)
{
	*authority = (struct authority){ .asker = asker };
	authority->all = json_array();
	authority->running = json_array();
}

void authority_done(struct authority *authority)
{
	json_decref(authority->all);
	json_decref(authority->running);
	json_decref(authority->doc);
	*authority = (struct authority){ .asker = ASKER_STRANGER };
}

/* Takes the bound over. Where there is no memory for one, nothing is allowed. */
static void authority_hold(struct authority *authority, json_t *part, json_t *bound)
{
	if (json_array_append_new(part, bound))
		authority->asker = ASKER_STRANGER;
}

static void authority_extend(struct authority *authority, json_t *part, json_t *bounds)
{
	if (bounds && json_array_extend(part, bounds))
		authority->asker = ASKER_STRANGER;
}

void authority_model(struct authority *authority, json_t *lists)
{
	authority_init(authority, ASKER_MODEL);
	authority_hold(authority, authority->all, json_pack("{s:O}", "capabilities", lists));
}

void authority_graph(struct authority *authority, const struct authority *run,
		     const json_t *permissions, const json_t *narrowed)
{
	authority_init(authority, run->asker == ASKER_STRANGER ? ASKER_STRANGER : ASKER_GRAPH);
	authority_hold(authority, authority->all,
		       permissions ? json_incref((json_t *)permissions) : json_array());
	if (narrowed)
		authority_hold(authority, authority->all, json_incref((json_t *)narrowed));
	authority_extend(authority, authority->all, run->all);
	authority_extend(authority, authority->running, run->running);
	authority->doc = json_incref(run->doc);
	authority->no_run = run->no_run;
	authority->no_sign = run->no_sign;
}

void authority_above(struct authority *authority, const json_t *requires_list)
{
	authority_hold(authority, authority->running,
		       requires_list ? json_incref((json_t *)requires_list) : json_array());
}

void authority_within(struct authority *authority, const json_t *within)
{
	authority_extend(authority, authority->running, (json_t *)within);
}

void authority_read(struct authority *authority, const char *text)
{
	json_t *doc = json_parse(span_of(text), 0, "authority", NULL);
	json_t *lists;

	if (!json_is_object(doc)) {
		json_decref(doc);
		doc = json_pack("{s:[[]]}", "capabilities");
	}
	authority->doc = doc;
	/* a hook of the configuration is not held to its thread's */
	lists = json_flag(doc, "free", false) ? NULL : json_object_get(doc, "capabilities");
	if (lists || !doc)
		authority_hold(authority, authority->all,
			       json_pack("{s:O}", "capabilities", lists));
	authority_within(authority, json_object_get(doc, "within"));
}

const char *authority_thread(const struct authority *authority)
{
	return json_str(authority->doc, "thread_id");
}

/* ---- handing it on ---- */

json_t *authority_list(const struct authority *authority)
{
	json_t *within = json_array();

	json_array_extend(within, authority->all);
	json_array_extend(within, authority->running);
	return within;
}

const char *authority_text(const char *given, json_t *within, struct rye_buf *ret)
{
	auto_json json_t *doc = given ? json_parse(span_of(given), 0, "authority", NULL) :
					json_object();

	if (!given && !within)
		return NULL;
	if (within)
		json_object_set(doc, "within", within);
	if (doc)
		json_put(ret, doc, true);
	return ret->failed || !ret->len ? "" : ret->data;
}

json_t *authority_below(const char *given, const json_t *within, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *doc = given ? json_parse(span_of(given), 0, "authority", err) :
					json_pack("{s:[]}", "capabilities");
	json_t *bound, *text;
	size_t i, k;

	if (!doc)
		return memory_check(since, err), NULL;
	json_array_foreach(within, i, bound) {
		json_t *list = json_is_array(bound) ? json_array() : NULL;

		if (!list)
			continue;
		json_array_foreach(bound, k, text)
			if (json_is_string(text))
				json_array_append_new(list,
						      requires_capability(json_string_value(text)));
		json_array_append_new(json_object_get(doc, "capabilities"), list);
	}
	return memory_check(since, err) ? NULL : steal(&doc);
}
