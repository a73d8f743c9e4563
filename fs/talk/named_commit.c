/* SPDX-License-Identifier: MIT */
/*
 * named_commit.c - a call by name that is to be run: from the RENAME, LINK or WRITE that completes
 * request.json to the answer of that request.
 *
 * The run is that of a conversation without a file, so waiting, cancelling, -o wait and the lines
 * of .ryefs/errors are those of `run`; the reply goes to the call instead of the caller. A commit
 * belongs to its conversation from named_run on and ends with it.
 *
 * No lock of its own; none may be held by callers. The engine's thread that ends the run records,
 * then one thread answers.
 */
#include "talk/named.h"

#include "core/front.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct named_commit {
	struct named_file *file; /* a reference */
	enum named_way way;
	uint64_t number; /* 0: none yet */
	size_t count; /* NAMED_WRITE: of the request's bytes */
	bool ended; /* its reply was given to the store */
	char draft[]; /* NAMED_RENAME: its name */
};

struct named_commit *named_commit_new(struct named_file *file, enum named_way way,
				      const char *draft, size_t count)
{
	struct named_commit *commit = calloc(1, sizeof(*commit) + strlen(draft) + 1);

	if (!commit)
		return NULL;
	commit->file = named_file_ref(file);
	commit->way = way;
	commit->count = count;
	memcpy(commit->draft, draft, strlen(draft));
	return commit;
}

void named_commit_free(struct named_commit *commit)
{
	if (!commit)
		return;
	if (commit->number && !commit->ended)
		named_end(commit->file->call, commit->number, NULL);
	named_file_unref(commit->file);
	free(commit);
}

const char *named_commit_name(const struct named_commit *commit)
{
	return commit->file->call->name;
}

void named_record(struct named_commit *commit, const struct last *last)
{
	commit->ended = true;
	named_end(commit->file->call, commit->number, last);
}

void named_answer(struct named_commit *commit, fuse_req_t req, int sys)
{
	if (commit->way == NAMED_WRITE)
		named_file_said(commit->file, commit->number, sys == EINTR ? ECANCELED : sys);
	if (commit->way == NAMED_RENAME && !sys)
		named_remove(commit->file->call, commit->draft);
	if (!sys && commit->way == NAMED_LINK)
		named_reply_link(req, commit->file->call);
	else if (!sys && commit->way == NAMED_WRITE)
		reply_written(req, commit->count);
	else
		reply_errno(req, sys);
}

void named_run(fuse_req_t req, struct named_commit *commit, struct named_wrote *wrote,
	       struct caller *writer)
{
	struct front *front = front_of(req);
	struct named_call *call = commit->file->call;
	auto_blob struct rye_blob *request = wrote->request;
	struct talk *talk = NULL;
	struct park *park = NULL;

	commit->number = named_begin(call, request);
	if (!commit->number) {
		feed_done(&wrote->feed);
		named_answer(commit, req, ENOSPC);
		named_commit_free(commit);
		return;
	}
	talk = talk_of_call(front->talks, &call->target, writer, commit);
	if (talk)
		park = park_new(talk, req, PARK_NAMED);
	if (!park) {
		feed_done(&wrote->feed);
		reply_errno(req, ENOMEM);
	} else {
		talk_hand_over(talk, park, &wrote->feed, caller_ref(writer));
	}
	if (talk)
		talk_unref(talk);
}

/* What cannot be run has a reply all the same: it says why. */
void named_fail(fuse_req_t req, struct named_call *call, const struct named_wrote *wrote,
		struct caller *writer)
{
	struct front *front = front_of(req);

	if (*wrote->why)
		named_tell(front->talks, call, writer, wrote->why);
	reply_errno(req, wrote->sys);
}

void named_tell(struct talks *talks, struct named_call *call, struct caller *writer,
		const char *why)
{
	auto_blob struct rye_blob *line = reply_error_line(why);
	char name[1200], text[FEED_WHY + 2];
	int n = snprintf(text, sizeof(text), "%s\n", why);
	auto_blob struct rye_blob *output = rye_blob_new(text, (size_t)n);
	struct last last = { .reply = line, .output = output };
	uint64_t number = named_begin(call, NULL);

	if (number)
		named_end(call, number, &last);
	snprintf(name, sizeof(name), "%s calls/%s", call->key, call->name);
	talks_complain(talks, writer, name, why);
}
