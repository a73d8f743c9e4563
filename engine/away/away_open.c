/* SPDX-License-Identifier: MIT */
/*
 * What a remote thread's runner needs before it connects: an engine of its own, which of the remotes it is,
 * the file of the transcript. And its end.
 */
#include "away/away_inner.h"

#include "api/api.h"
#include "base/engine_options.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void away_log(void *arg, enum rye_level level, const char *module, const char *line)
{
	(void)arg;
	if (level <= RYE_LOG_WARN)
		fprintf(stderr, "%s: %s\n", module, line);
}

/* What was taken up: what is here of what grows is told no more. */
static void open_again(struct away *away)
{
	struct stat st;

	away->again = !faccessat(away->ask->dir, RECORD_FOLLOW, F_OK, AT_SYMLINK_NOFOLLOW);
	away->accepted = away->again;
	if (away->again && !fstatat(away->ask->dir, "live", &st, AT_SYMLINK_NOFOLLOW))
		away->live = st.st_size;
	if (away->again && away->transcript >= 0 && !fstat(away->transcript, &st))
		away->story = st.st_size;
}

int away_note(const struct away *away, struct rye_err *err)
{
	static const char *const names[] = { "authority", "before",
					     "chain",	  "continuation_message",
					     "parent_id", "previous_id",
					     "remote",	  "request" };
	auto_key struct key_secret key = { 0 };
	const struct record record = { .ai = -1,
				       .dir = away->ask->dir,
				       .id = away->id,
				       .key = &key };
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_object();
	json_t *orders = json_object();
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *value = json_object_get(away->ask->doc, names[i]);

		if (value)
			json_object_set(orders, names[i], value);
	}
	json_set(doc, "orders", orders);
	json_sets(doc, "ref", away->order.ref);
	r = memory_check(since, err);
	if (!r)
		r = keystore_automatic(away->items, &key, err);
	return r ? r : record_note(&record, RECORD_FOLLOW, false, doc, err);
}

int away_open(struct away *away, struct rye_err *err)
{
	struct rye_options opt;
	int r;

	options_from_json(json_object_get(away->ask->doc, "options"), &opt);
	umask(opt.umask);
	opt.scan = false;
	opt.log = away_log;
	r = engine_open_looking(&opt, &away->rye, err);
	if (r)
		return r;
	away->items = engine_items(away->rye);
	away->withheld = json_array();
	if (!strcmp(json_str(away->request, "thread"), "fork"))
		away->transcript = openat(away->ask->dir, "transcript.jsonl",
					  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					  0600);
	open_again(away);
	return remote_find(away->items, json_str(away->ask->doc, "remote"), &away->remote, err);
}

void away_close(struct away *away)
{
	remote_link_done(&away->link);
	buf_done(&away->news);
	remote_done(&away->remote);
	order_done(&away->order);
	rye_blob_unref(away->envelope);
	json_decref(away->stands);
	json_decref(away->limits);
	json_decref(away->withheld);
	if (away->transcript >= 0)
		close(away->transcript);
	rye_close(away->rye);
}
