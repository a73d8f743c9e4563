/* SPDX-License-Identifier: MIT */
/* The table of a thread's life: every combination of facts, every state with every event. */
#include "rye_test.h"

#include "thread/thread_inner.h"

#include <string.h>

static void every_combination_of_facts_is_one_state(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 128; bits++) {
		const struct thread_facts facts = {
			.terminal = bits & 1,
			.named = bits & 2,
			.here = bits & 4,
			.alive = bits & 8,
			.carried = bits & 16,
			.locked = bits & 32,
			.pid_alive = bits & 64,
		};
		enum thread_state is = thread_state_of(&facts);
		bool ours = facts.named && facts.here;

		assert_true(is < THREAD_STATE__MAX);
		assert_int_equal(is == THREAD_ENDED, facts.terminal);
		if (facts.terminal)
			continue;
		assert_int_equal(is == THREAD_ELSEWHERE, facts.named && !facts.here);
		assert_int_equal(is == THREAD_RUNNING, ours && facts.alive && !facts.carried);
		assert_int_equal(is == THREAD_CARRIED, ours && facts.alive && facts.carried);
		/* what may still be worked on is never called lost */
		if (facts.locked || (ours && facts.alive) || (!facts.named && facts.pid_alive))
			assert_int_not_equal(is, THREAD_LOST);
		if (is == THREAD_FOREIGN)
			assert_true(!facts.named && !facts.locked && facts.pid_alive);
	}
}

#define LATER THREAD_LATER
#define WATCH THREAD_WATCH
#define MARK THREAD_MARK
#define REFUSE THREAD_REFUSE
#define RECORD THREAD_RECORD

static void every_state_answers_every_event(void **state)
{
	static const enum thread_act want[THREAD_STATE__MAX][THREAD_EVENT__MAX] = {
		/* look, cancel, kill, delete */
		[THREAD_STARTING] = { LATER, MARK, MARK, REFUSE },
		[THREAD_RUNNING] = { WATCH, THREAD_SIGNAL, THREAD_SHOOT, REFUSE },
		[THREAD_CARRIED] = { WATCH, MARK, MARK, REFUSE },
		[THREAD_ELSEWHERE] = { LATER, REFUSE, REFUSE, REFUSE },
		[THREAD_FOREIGN] = { LATER, REFUSE, REFUSE, REFUSE },
		[THREAD_LOST] = { RECORD, RECORD, THREAD_BURY, RECORD },
		[THREAD_ENDED] = { THREAD_TELL, REFUSE, REFUSE, THREAD_REMOVE },
	};

	(void)state;
	for (unsigned s = 0; s < THREAD_STATE__MAX; s++)
		for (unsigned e = 0; e < THREAD_EVENT__MAX; e++) {
			const struct thread_step *step =
				thread_step((enum thread_state)s, (enum thread_event)e);

			if (step->act != want[s][e])
				fail_msg("state %u, event %u: act %d", s, e, step->act);
			assert_int_equal(step->act == REFUSE, step->sentence != NULL);
			assert_int_equal(step->act == REFUSE, step->code != RYE_OK);
		}
}

/* The acts that apply the event again lead on: no state is recorded for ever. */
static void recording_ends(void **state)
{
	(void)state;
	for (unsigned e = 0; e < THREAD_EVENT__MAX; e++) {
		enum thread_act act = thread_step(THREAD_ENDED, (enum thread_event)e)->act;

		assert_true(act != RECORD && act != MARK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_combination_of_facts_is_one_state),
		cmocka_unit_test(every_state_answers_every_event),
		cmocka_unit_test(recording_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
