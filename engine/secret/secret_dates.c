/* SPDX-License-Identifier: MIT */
/*
 * When each secret was set: a file beside theirs, since the format's own map has no place for that.
 */
#include "secret/secret_inner.h"

#include "base/io.h"
#include "clock.h"

#include <string.h>

#define DATES "dates.json"
#define DATES_MAX (256u << 10)

json_t *secret_dates_read(int dir)
{
	auto_blob struct rye_blob *blob = NULL;
	json_t *dates = NULL;

	if (!io_read_at(dir, DATES, DATES_MAX, &blob))
		dates = json_parse((struct rye_span){ blob->data, blob->len }, JSON_LOAD_LAST_WINS,
				   DATES, NULL);
	return dates ? dates : json_object();
}

void secret_dates_write(int dir, const json_t *values, const char *name)
{
	auto_json json_t *old = secret_dates_read(dir);
	auto_json json_t *dates = json_object();
	auto_blob struct rye_blob *blob = NULL;
	json_t *object = (json_t *)values, *value;
	const char *each;
	char now[24];

	clock_stamp(time(NULL), now);
	json_object_foreach(object, each, value)
		json_sets(dates, each, name && !strcmp(each, name) ? now : json_str(old, each));
	blob = json_blob(dates, false);
	if (blob)
		secret_store_put(dir, DATES, blob, NULL);
}
