/* SPDX-License-Identifier: MIT */
/*
 * thread_states.h: what a thread's row, its directory and the processes come to, and what each event
 * does then. Pure: the facts are gathered by thread_view.c, the acts carried out by thread_control.c.
 */
#ifndef RYE_THREAD_THREAD_STATES_H
#define RYE_THREAD_THREAD_STATES_H

#include <rye/rye.h>

enum thread_state {
	THREAD_STARTING, /* a launcher holds its lock and has not named the runner yet */
	THREAD_RUNNING, /* its runner lives, and may be signalled */
	THREAD_CARRIED, /* by a mount, which reads marks: a signal would end the mount */
	THREAD_ELSEWHERE, /* its runner is of another host, boot or pid namespace */
	THREAD_FOREIGN, /* another implementation's, and its process lives */
	THREAD_LOST, /* its row is open and no process works on it */
	THREAD_ENDED, /* its row says so */
	THREAD_STATE__MAX
};

struct thread_facts {
	bool terminal; /* the row's status */
	bool named; /* runner.json is there */
	bool here; /* named: of this host, boot and pid namespace */
	bool alive; /* named: that process lives */
	bool carried; /* named: it is a mount */
	bool locked; /* another process holds `.lock` */
	bool pid_alive; /* the row's pid is a process that lives here */
};
enum thread_state thread_state_of(const struct thread_facts *facts);

enum thread_event {
	THREAD_LOOK, /* a scan, a waiter, or the end of a watched process */
	THREAD_CANCEL,
	THREAD_KILL,
	THREAD_DELETE,
	THREAD_EVENT__MAX
};

enum thread_act {
	THREAD_LATER, /* nothing now; another look may find more */
	THREAD_WATCH, /* the end of its process will wake the watching worker */
	THREAD_TELL, /* the waiters, that it has ended */
	THREAD_SIGNAL, /* SIGTERM: the runner cancels */
	THREAD_SHOOT, /* SIGKILL to runner and tools, then its end is recorded as killed */
	THREAD_MARK, /* leave the event's mark in the directory; then look once more */
	THREAD_RECORD, /* how it ended; then the event again, in that state */
	THREAD_BURY, /* record that it was killed: there is no process left to signal */
	THREAD_REMOVE, /* directory and row */
	THREAD_REFUSE, /* with code and sentence */
};

struct thread_step {
	enum thread_act act;
	enum rye_code code; /* of a refusal */
	const char *sentence; /* follows "thread ID" */
};
const struct thread_step *thread_step(enum thread_state state, enum thread_event event);

#endif
