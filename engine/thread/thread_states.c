/* SPDX-License-Identifier: MIT */
/*
 * The table of a thread's life: each state and event, and the act. A cell that is missing does
 * not compile away: tests/unit/test_thread_states.c walks all of them.
 */
#include "thread/thread_inner.h"

#include "scope.h"

/*
 * A lock or a living process is believed before the row is called lost; runner.json before the
 * row's pid, which has no start time and may be another process's by now.
 */
enum thread_state thread_state_of(const struct thread_facts *facts)
{
	if (facts->terminal)
		return THREAD_ENDED;
	if (facts->named && !facts->here)
		return THREAD_ELSEWHERE;
	if (facts->named && facts->alive)
		return facts->carried ? THREAD_CARRIED : THREAD_RUNNING;
	if (facts->locked)
		return THREAD_STARTING;
	if (!facts->named && facts->pid_alive)
		return THREAD_FOREIGN;
	return THREAD_LOST;
}

#define DO(what)                     \
	{                            \
		.act = THREAD_##what \
	}
#define REFUSE(code_, text)                                                 \
	{                                                                   \
		.act = THREAD_REFUSE, .code = RYE_##code_, .sentence = text \
	}
#define OPEN REFUSE(STATE, "is still open; cancel it first")
#define ELSEWHERE REFUSE(DENIED, "runs on another host or in another pid namespace")
#define FOREIGN REFUSE(DENIED, "is run by another program: end it there")
#define ENDED REFUSE(STATE, "has ended already")

static const struct thread_step steps[THREAD_STATE__MAX][THREAD_EVENT__MAX] = {
	/* LOOK, CANCEL, KILL, DELETE */
	[THREAD_STARTING] = { DO(LATER), DO(MARK), DO(MARK), OPEN },
	[THREAD_RUNNING] = { DO(WATCH), DO(SIGNAL), DO(SHOOT), OPEN },
	[THREAD_CARRIED] = { DO(WATCH), DO(MARK), DO(MARK), OPEN },
	[THREAD_ELSEWHERE] = { DO(LATER), ELSEWHERE, ELSEWHERE, OPEN },
	[THREAD_FOREIGN] = { DO(LATER), FOREIGN, FOREIGN, OPEN },
	[THREAD_LOST] = { DO(RECORD), DO(RECORD), DO(BURY), DO(RECORD) },
	[THREAD_ENDED] = { DO(TELL), ENDED, ENDED, DO(REMOVE) },
};

const struct thread_step *thread_step(enum thread_state state, enum thread_event event)
{
	return &steps[state][event];
}
