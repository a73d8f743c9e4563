/* SPDX-License-Identifier: MIT */
/*
 * talk_states.c - the tables of a conversation's life: each state and event, what is done, and the
 * state after it. A cell that is not named cannot happen (NEVER); the test names those, too.
 */
#include "talk/talk_states.h"

#define TO(state, what)                         \
	{                                       \
		WRITING_##state, WRITING_##what \
	}

static const struct writing_step writing_steps[WRITING_STATE__MAX][WRITING_EVENT__MAX] = {
	[WRITING_NONE] = {
		[WRITING_CAME] = TO(IN_HAND, FEED),
	},
	[WRITING_IN_HAND] = {
		[WRITING_MESSAGE] = TO(RUNS, START),
		[WRITING_ANSWER] = TO(DROPS, DROP),
	},
	[WRITING_RUNS] = {
		[WRITING_CAME] = TO(RUNS, AGAIN),
		[WRITING_ENDS] = TO(RECORDS, RECORD),
		[WRITING_SIGNAL] = TO(CANCELS, CANCEL),
		[WRITING_DUE] = TO(RUNS, DETACH),
		[WRITING_LEFT] = TO(IN_HAND, LEAVE),
	},
	[WRITING_CANCELS] = {
		[WRITING_CAME] = TO(CANCELS, AGAIN),
		[WRITING_ENDS] = TO(RECORDS, RECORD),
		[WRITING_SIGNAL] = TO(CANCELS, STAY),
		[WRITING_DUE] = TO(CANCELS, LEAVE),
		[WRITING_LEFT] = TO(IN_HAND, LEAVE),
	},
	/* its answer is a moment away: whatever is wanted of it waits for that */
	[WRITING_RECORDS] = {
		[WRITING_CAME] = TO(RECORDS, AGAIN),
		[WRITING_RECORDED] = TO(IN_HAND, GO_ON),
		[WRITING_SIGNAL] = TO(RECORDS, STAY),
		[WRITING_DUE] = TO(RECORDS, STAY),
		[WRITING_LEFT] = TO(RECORDS, STAY),
	},
	[WRITING_DROPS] = {
		[WRITING_CAME] = TO(DROPS, AGAIN),
		[WRITING_SIGNAL] = TO(DROPS, STAY),
		[WRITING_DUE] = TO(DROPS, STAY),
		[WRITING_READERS] = TO(LAST, FOLLOW),
		[WRITING_TOLD] = TO(NONE, REPLY),
	},
	[WRITING_LAST] = {
		[WRITING_CAME] = TO(LAST, AGAIN),
		[WRITING_SIGNAL] = TO(LAST, STAY),
		[WRITING_DUE] = TO(LAST, STAY),
		[WRITING_TOLD] = TO(NONE, REPLY),
	},
};

const struct writing_step *writing_step(enum writing_state state, enum writing_event event)
{
	return &writing_steps[state][event];
}

#undef TO
#define TO(state, what)                     \
	{                                   \
		SHOWS_##state, SHOWS_##what \
	}

static const struct shows_step shows_steps[SHOWS_STATE__MAX][SHOWS_EVENT__MAX] = {
	/* WANTED, WRITTEN, EMPTIED */
	[SHOWS_LAST] = { TO(LAST, GIVE), TO(OWN, CUT), TO(OWN, CUT) },
	[SHOWS_DISPUTED] = { TO(REFUSED, COMPLAIN), TO(OWN, CUT), TO(OWN, CUT) },
	[SHOWS_REFUSED] = { TO(REFUSED, REFUSE), TO(OWN, CUT), TO(OWN, CUT) },
	[SHOWS_OWN] = { TO(READ, GIVE), TO(OWN, ADD), TO(OWN, CUT) },
	[SHOWS_READ] = { TO(READ, GIVE), TO(OWN, AFRESH), TO(OWN, CUT) },
};

const struct shows_step *shows_step(enum shows_state state, enum shows_event event)
{
	return &shows_steps[state][event];
}

#undef TO
#define TO(state, what)                   \
	{                                 \
		OPEN_##state, OPEN_##what \
	}

static const struct open_step open_steps[OPEN_STATE__MAX][OPEN_EVENT__MAX] = {
	/* PIECE, UNFINISHED, FINISHED, COUNT */
	[OPEN_NONE] = { TO(NONE, STAY), TO(LISTED, LIST), TO(NONE, STAY), TO(NONE, STAY) },
	[OPEN_LISTED] = { TO(LISTED, STAY), TO(LISTED, STAY), TO(NONE, UNLIST),
			  TO(COUNTED, UNLIST) },
	[OPEN_COUNTED] = { TO(NONE, STAY), TO(COUNTED, STAY), TO(NONE, STAY), TO(COUNTED, STAY) },
};

const struct open_step *open_step(enum open_state state, enum open_event event)
{
	return &open_steps[state][event];
}
