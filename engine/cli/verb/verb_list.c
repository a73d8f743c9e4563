/* SPDX-License-Identifier: MIT */
/*
 * ryefs list: the mounts that this user has made, as the kernel has them. Of those whose daemon answers
 * its process and since when; one that is silent is not touched, so this cannot hang.
 */
#include "cli/cli.h"

#include "clock.h"
#include "connection.h"
#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIST_PATIENCE_MS 1000

static int list_add(void *arg, const struct mountinfo *mount)
{
	json_t *rows = arg, *row;

	if (!mountinfo_is_ours(mount) || mount->owner != getuid())
		return 0;
	row = json_object();
	json_sets(row, "place", mount->point);
	json_sets(row, "project", mount->source);
	json_array_append_new(rows, row);
	return 0;
}

/* What the daemon tells of itself. */
static void list_ask(json_t *row, const json_t *stats)
{
	char since[24];

	if (!stats)
		return;
	clock_stamp(time(NULL) - (time_t)json_int(stats, "uptime_s", 0), since);
	json_sets(row, "since", since);
	json_set(row, "pid", json_integer(json_int(stats, "pid", 0)));
}

static const struct {
	const char *word;
	enum color color;
} list_states[] = {
	[CONNECTION_ANSWERS] = { "serves", COLOR_GOOD },
	[CONNECTION_DEAD] = { "dead", COLOR_BAD },
	[CONNECTION_SILENT] = { "silent", COLOR_DOUBT },
};

static void list_look(json_t *row, bool tints)
{
	const char *place = json_str(row, "place");
	enum connection_state state = connection_probe(place, LIST_PATIENCE_MS);
	auto_json json_t *stats = state == CONNECTION_ANSWERS ? mounts_stats(place) : NULL;
	json_t *deaths = mounts_deaths(place, stats);

	json_sets(row, "since", "");
	json_set(row, "pid", json_null());
	json_sets(row, "state", list_states[state].word);
	if (tints)
		json_set(row, "tint", json_integer(list_states[state].color));
	list_ask(row, stats);
	if (deaths)
		json_set(row, "deaths", deaths);
}

/* For a person times are as they are spoken, as in `threads list`. */
static void list_spoken(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		char ago[40];

		if (ago_of(json_str(row, "since")) < 0)
			continue;
		ago_spoken(ago_of(json_str(row, "since")), ago);
		json_sets(row, "since", ago);
	}
}

/* Below the table: which daemons have died, how often, when, how. */
static void list_deaths(struct cli *cli, const json_t *row)
{
	const json_t *deaths = json_object_get(row, "deaths");

	if (deaths)
		cli_note(cli, "%s: its daemon has died %lld time%s; the last one, at %s, %s",
			 json_str(row, "place"), (long long)json_int(deaths, "times", 0),
			 PLURAL(json_int(deaths, "times", 0)), json_str(deaths, "at"),
			 json_str(deaths, "why"));
}

int verb_list(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "place", "MOUNTPOINT" },
		{ "project", "PROJECT" },
		{ "since", "SINCE" },
		{ "pid", "PID", .right = true },
		{ "state", "STATE", .tint = "tint" },
	};
	auto_json json_t *rows = json_array();
	auto_free char *mend = cli->argc ? cli_retyped(cli, "search", NULL, NULL) : NULL;
	json_t *row;
	size_t i;
	int r;

	if (cli->argc)
		return cli_complain(cli, CLI_USAGE, mend,
				    "list tells the mounts; items are found by search");
	mountinfo_each(list_add, rows);
	json_array_foreach(rows, i, row)
		list_look(row, !cli->opt.json);
	if (color_person(cli))
		list_spoken(rows);
	r = out_rows(cli, rows, columns, ARRAY_SIZE(columns),
		     "nothing is mounted by you: ryefs SOURCE MOUNTPOINT");
	fflush(stdout);
	json_array_foreach(rows, i, row)
		list_deaths(cli, row);
	return r;
}
