/* SPDX-License-Identifier: MIT */
/*
 * What a remote thread's runner needs before it connects: an engine of its own, which of the remotes it is,
 * the file of the transcript. And its end.
 */
#include "away/away_inner.h"

#include "api/api.h"
#include "base/engine_options.h"

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

int away_open(struct away *away, struct rye_err *err)
{
	struct rye_options opt;
	int r;

	options_from_json(json_object_get(away->ask->doc, "options"), &opt);
	umask(opt.umask);
	opt.scan = false;
	opt.log = away_log;
	r = rye_open(&opt, &away->rye, err);
	if (r)
		return r;
	away->items = engine_items(away->rye);
	away->withheld = json_array();
	if (!strcmp(json_str(away->request, "thread"), "fork"))
		away->transcript = openat(away->ask->dir, "transcript.jsonl",
					  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					  0600);
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
