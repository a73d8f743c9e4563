/* SPDX-License-Identifier: MIT */
/* test_fs_talk_states.c - the tables of a conversation's life: every state with every event. */
#include "rye_test.h"

#include "talk/talk_states.h"

#define NEVER                    \
	{                        \
		0, WRITING_NEVER \
	}
#define W(state, what)                          \
	{                                       \
		WRITING_##state, WRITING_##what \
	}

static void every_write_answers_every_event(void **state)
{
	static const struct writing_step want[WRITING_STATE__MAX][WRITING_EVENT__MAX] = {
		/* CAME, MESSAGE, ANSWER, ENDS, RECORDED, SIGNAL, DUE, LEFT, READERS, TOLD */
		[WRITING_NONE] = { W(IN_HAND, FEED), NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
				   NEVER, NEVER, NEVER },
		[WRITING_IN_HAND] = { NEVER, W(RUNS, START), W(DROPS, DROP), NEVER, NEVER, NEVER,
				      NEVER, NEVER, NEVER, NEVER },
		[WRITING_RUNS] = { W(RUNS, AGAIN), NEVER, NEVER, W(RECORDS, RECORD), NEVER,
				   W(CANCELS, CANCEL), W(RUNS, DETACH), W(IN_HAND, LEAVE), NEVER,
				   NEVER },
		[WRITING_CANCELS] = { W(CANCELS, AGAIN), NEVER, NEVER, W(RECORDS, RECORD), NEVER,
				      W(CANCELS, STAY), W(CANCELS, LEAVE), W(IN_HAND, LEAVE), NEVER,
				      NEVER },
		[WRITING_RECORDS] = { W(RECORDS, AGAIN), NEVER, NEVER, NEVER, W(IN_HAND, GO_ON),
				      W(RECORDS, STAY), W(RECORDS, STAY), W(RECORDS, STAY), NEVER,
				      NEVER },
		[WRITING_DROPS] = { W(DROPS, AGAIN), NEVER, NEVER, NEVER, NEVER, W(DROPS, STAY),
				    W(DROPS, STAY), NEVER, W(LAST, FOLLOW), W(NONE, REPLY) },
		[WRITING_LAST] = { W(LAST, AGAIN), NEVER, NEVER, NEVER, NEVER, W(LAST, STAY),
				   W(LAST, STAY), NEVER, NEVER, W(NONE, REPLY) },
	};

	for (unsigned s = 0; s < WRITING_STATE__MAX; s++)
		for (unsigned e = 0; e < WRITING_EVENT__MAX; e++) {
			const struct writing_step *is =
				writing_step((enum writing_state)s, (enum writing_event)e);

			if (is->act != want[s][e].act || is->next != want[s][e].next)
				fail_msg("state %u, event %u: act %d, then %d", s, e, is->act,
					 is->next);
		}
}

/* What is said of a state holds in each of its cells. */
static void writes_are_answered_once(void **state)
{
	for (unsigned s = 0; s < WRITING_STATE__MAX; s++) {
		unsigned told = 0;

		for (unsigned e = 0; e < WRITING_EVENT__MAX; e++) {
			const struct writing_step *is =
				writing_step((enum writing_state)s, (enum writing_event)e);

			told += is->act == WRITING_REPLY;
			assert_true(is->act < WRITING_ACT__MAX && is->next < WRITING_STATE__MAX);
			/* the answer alone leads back, from where it is known */
			if (is->act != WRITING_NEVER)
				assert_int_equal(is->act == WRITING_REPLY,
						 is->next == WRITING_NONE);
			/* a second one changes nothing, a cancel comes once */
			if (is->act == WRITING_AGAIN || is->act == WRITING_STAY)
				assert_int_equal(is->next, s);
			if (is->act == WRITING_CANCEL)
				assert_int_equal(writing_step(is->next, WRITING_SIGNAL)->act,
						 WRITING_STAY);
			/* what the lock's holder works on is seen by no other thread */
			if (s == WRITING_IN_HAND && is->act != WRITING_NEVER)
				assert_true(e == WRITING_MESSAGE || e == WRITING_ANSWER);
		}
		assert_int_equal(told, s == WRITING_DROPS || s == WRITING_LAST);
	}
}

#undef W
#define W(state, what)                      \
	{                                   \
		SHOWS_##state, SHOWS_##what \
	}

static void every_reader_and_writer_finds_its_text(void **state)
{
	static const struct shows_step want[SHOWS_STATE__MAX][SHOWS_EVENT__MAX] = {
		/* WANTED, WRITTEN, EMPTIED */
		[SHOWS_LAST] = { W(LAST, GIVE), W(OWN, CUT), W(OWN, CUT) },
		[SHOWS_DISPUTED] = { W(REFUSED, COMPLAIN), W(OWN, CUT), W(OWN, CUT) },
		[SHOWS_REFUSED] = { W(REFUSED, REFUSE), W(OWN, CUT), W(OWN, CUT) },
		[SHOWS_OWN] = { W(READ, GIVE), W(OWN, ADD), W(OWN, CUT) },
		[SHOWS_READ] = { W(READ, GIVE), W(OWN, AFRESH), W(OWN, CUT) },
	};

	for (unsigned s = 0; s < SHOWS_STATE__MAX; s++)
		for (unsigned e = 0; e < SHOWS_EVENT__MAX; e++) {
			const struct shows_step *is =
				shows_step((enum shows_state)s, (enum shows_event)e);

			if (is->act != want[s][e].act || is->next != want[s][e].next)
				fail_msg("state %u, event %u: act %d, then %d", s, e, is->act,
					 is->next);
			/* nothing leads back to a reply of another conversation */
			if (s >= SHOWS_OWN || e != SHOWS_WANTED)
				assert_true(is->next >= SHOWS_OWN);
		}
}

#undef W
#define W(state, what)                    \
	{                                 \
		OPEN_##state, OPEN_##what \
	}

static void every_unfinished_message_is_listed_once(void **state)
{
	static const struct open_step want[OPEN_STATE__MAX][OPEN_EVENT__MAX] = {
		/* PIECE, UNFINISHED, FINISHED, COUNT */
		[OPEN_NONE] = { W(NONE, STAY), W(LISTED, LIST), W(NONE, STAY), W(NONE, STAY) },
		[OPEN_LISTED] = { W(LISTED, STAY), W(LISTED, STAY), W(NONE, UNLIST),
				  W(COUNTED, UNLIST) },
		[OPEN_COUNTED] = { W(NONE, STAY), W(COUNTED, STAY), W(NONE, STAY),
				   W(COUNTED, STAY) },
	};

	for (unsigned s = 0; s < OPEN_STATE__MAX; s++)
		for (unsigned e = 0; e < OPEN_EVENT__MAX; e++) {
			const struct open_step *is =
				open_step((enum open_state)s, (enum open_event)e);

			if (is->act != want[s][e].act || is->next != want[s][e].next)
				fail_msg("state %u, event %u: act %d, then %d", s, e, is->act,
					 is->next);
			/* it is in the list exactly while the state says so */
			assert_int_equal(is->act == OPEN_LIST,
					 s != OPEN_LISTED && is->next == OPEN_LISTED);
			assert_int_equal(is->act == OPEN_UNLIST,
					 s == OPEN_LISTED && is->next != OPEN_LISTED);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_write_answers_every_event),
		cmocka_unit_test(writes_are_answered_once),
		cmocka_unit_test(every_reader_and_writer_finds_its_text),
		cmocka_unit_test(every_unfinished_message_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
