/* SPDX-License-Identifier: MIT */
/*
 * What became of mounts whose daemon died, as files: for list and doctor, which cannot ask a mount
 * that does not answer. Called by a watchdog, by a mount that begins, by verbs; no lock, one file is
 * replaced as a whole.
 */
#include <rye/deaths.h>

#include "base/io.h"
#include "base/json.h"
#include "base/self.h"
#include "clock.h"
#include "hash.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>
#include <unistd.h>

#define DEATHS_DIR ".ai/state/mounts"
#define DEATH_MAX 4096 /* bytes of a file */

/* The directory; -1: there is none, or no user space. */
static int deaths_open(bool create)
{
	auto_free char *base = self_user_base(NULL);
	int dir = base ? io_open_dir(base, DEATHS_DIR, create) : -1;

	return dir < 0 ? -1 : dir;
}

static void death_name(const char *mountpoint, char ret[32])
{
	snprintf(ret, 32, "%016llx.json", (unsigned long long)hash_text(HASH_BASIS, mountpoint));
}

void rye_death_note(const char *mountpoint, const struct rye_death *death)
{
	auto_close int dir = deaths_open(true);
	auto_json json_t *doc = json_object();
	auto_free char *text = NULL;
	char name[32], why[sizeof(death->why)];

	snprintf(why, sizeof(why), "%s", death->why);
	utf8_mend(why);
	json_set(doc, "times", json_integer(death->times));
	json_set(doc, "at_s", json_integer(death->at_s));
	json_sets(doc, "why", why);
	text = json_dumps(doc, JSON_COMPACT);
	death_name(mountpoint, name);
	if (dir >= 0 && text)
		io_replace_at(dir, name, span_of(text), 0600);
}

bool rye_death_read(const char *mountpoint, struct rye_death *ret)
{
	auto_close int dir = deaths_open(false);
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	char name[32];

	death_name(mountpoint, name);
	if (dir < 0 || io_read_at(dir, name, DEATH_MAX, &blob) < 0)
		return false;
	doc = json_loadb(blob->data, blob->len, 0, NULL);
	*ret = (struct rye_death){ .times = (int)json_int(doc, "times", 0),
				   .at_s = json_int(doc, "at_s", 0) };
	snprintf(ret->why, sizeof(ret->why), "%s", json_str(doc, "why"));
	return ret->times > 0;
}

void rye_death_forget(const char *mountpoint)
{
	auto_close int dir = deaths_open(false);
	char name[32];

	death_name(mountpoint, name);
	if (dir >= 0)
		unlinkat(dir, name, 0);
}
