/* SPDX-License-Identifier: MIT */
/*
 * Signed checkpoints for the transcript of something that writes its record itself: a graph's run.
 * The file is read once more for its digest. Called by the worker that has the run's lock.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>

struct seal_place {
	struct record record;
	struct key_secret key;
};

static void seal_place_done(struct seal_place *place)
{
	key_wipe(&place->key);
	if (place->record.dir >= 0)
		close(place->record.dir);
}

#define auto_seal_place __attribute__((cleanup(seal_place_done)))

static int seal_open(const struct seal *seal, struct seal_place *ret, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	int fd;

	buf_addf(&path, ".ai/state/%s/%s", seal->place, seal->id);
	fd = path.failed ? -ENOMEM : io_open_dir(seal->project, path.data, false);
	if (fd < 0)
		return rye_fail_sys(err, -fd, "%s/.ai/state/%s/%s", seal->project, seal->place,
				    seal->id);
	ret->record = (struct record){ .ai = -1,
				       .dir = fd,
				       .id = seal->id,
				       .place = seal->place,
				       .key = &ret->key,
				       .trust = seal->items->trust };
	return 0;
}

int seal_put(const struct seal *seal, int64_t turn, struct rye_err *err)
{
	auto_seal_place struct seal_place place = { .record = { .dir = -1 } };
	auto_chronicle struct chronicle *chronicle = NULL;
	int r = seal_open(seal, &place, err);

	if (!r)
		r = keystore_automatic(seal->items, &place.key, err);
	if (!r)
		r = chronicle_open(&place.record, &chronicle, err);
	return r ? r : chronicle_checkpoint(chronicle, turn, err);
}

int seal_check(const struct seal *seal, int64_t *ret_turn, struct rye_err *err)
{
	auto_seal_place struct seal_place place = { .record = { .dir = -1 } };
	struct chronicle_check check;
	int r = seal_open(seal, &place, err);

	if (!r)
		r = chronicle_audit(&place.record, NULL, NULL, &check, err);
	if (r)
		return r;
	*ret_turn = check.checkpoints ? check.turn : 0;
	/* what a process wrote before it was killed has no checkpoint behind it */
	if (check.code == RYE_OK || check.code == RYE_UNSIGNED || check.code == RYE_UNCOVERED)
		return 0;
	return rye_fail(err, check.code, "%s: %s", seal->id, check.why.msg);
}
