/* SPDX-License-Identifier: MIT */
/*
 * test_fs_caller.c - callers: ancestry, the guard against confined callers, children of runs, and
 * which last reply a reader gets. Real processes, forked here.
 */
#include "rye_test.h"

#include "caller/caller_inner.h"
#include "proc.h"
#include "clock.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the engine would say of runs; set by the cases. */
static uint64_t fake_run;
static bool fake_may;
static pid_t fake_leader;
/* Of the line that the engine was shown last. */
static size_t line_length;
static bool line_has_us;
static pid_t line_parent;

uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session);
pid_t __wrap_rye_run_leader(struct rye *rye, uint64_t run, const pid_t *chain, size_t n);
bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id);

uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session)
{
	line_length = n;
	line_has_us = false;
	line_parent = n > 1 ? chain[1] : 0;
	for (size_t i = 0; i < n; i++)
		line_has_us |= chain[i] == getpid();
	return fake_run;
}

pid_t __wrap_rye_run_leader(struct rye *rye, uint64_t run, const pid_t *chain, size_t n)
{
	return fake_leader;
}

bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id)
{
	return fake_may;
}

static struct callers *open_callers(bool any)
{
	struct callers_env env = { .rye = (struct rye *)&fake_run,
				   .owner = getuid(),
				   .trust_any = any };
	struct callers *callers;

	assert_int_equal(callers_open(&env, &callers), 0);
	return callers;
}

/* A child that has done `prepare` and then waits to be killed; -1: it could not. */
static pid_t spawn(int (*prepare)(void))
{
	int ready[2];
	char ok = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		ok = !prepare || prepare() == 0;
		if (write(ready[1], &ok, 1) != 1 || !ok)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &ok, 1) != 1)
		ok = 0;
	close(ready[0]);
	if (!ok) {
		waitpid(pid, NULL, 0);
		return -1;
	}
	return pid;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Identities are remembered for 2 ms. */
static void forget_identities(void)
{
	usleep((CALLER_FRESH_MS + 1) * 1000);
}

static void ourselves(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller *caller = caller_identify(callers, getpid(), getuid());

	assert_true(caller->allowed);
	assert_int_equal(caller->chain[0].pid, getpid());
	assert_in_range(caller->n, 1, CALLER_CHAIN_MAX);
	assert_int_equal(caller->session, getsid(0));
	caller_unref(caller);
	caller = caller_identify(callers, getpid(), getuid() + 1);
	assert_false(caller->allowed);
	caller_unref(caller);
	caller = caller_identify(callers, 0, getuid());
	assert_false(caller->allowed);
	caller_unref(caller);
	callers_close(callers);
}

/* Its ancestors are not looked at again, what confines it is, however soon. */
static void *examine_twice(void *arg)
{
	struct callers *callers = arg;
	struct caller *first = caller_identify(callers, gettid(), getuid());
	struct caller *again = caller_examine(callers, gettid(), getuid());
	struct caller *confined;

	assert_true(first->allowed && again->allowed);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	confined = caller_examine(callers, gettid(), getuid());
	assert_false(confined->allowed);
	assert_non_null(strstr(confined->why, "no_new_privs"));
	caller_unref(confined);
	caller_unref(again);
	caller_unref(first);
	return NULL;
}

static void confined_since(void **state)
{
	struct callers *callers = open_callers(false);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, examine_twice, callers), 0);
	pthread_join(thread, NULL);
	callers_close(callers);
}

/* Of the last writer one read is enough, by descriptors that are its own: what has its number now is
 * another thread. */
static void *stand_twice(void *arg)
{
	struct callers *callers = arg;
	struct caller *first = caller_identify(callers, gettid(), getuid());
	struct proc_look *look = &callers->looks[(unsigned)gettid() % CALLER_LOOKS];

	assert_true(caller_stands(callers, first));
	assert_int_equal(look->tid, gettid());
	first->at_ns -= CALLER_FRESH_MS * NS_PER_MS;
	assert_false(caller_stands(callers, first));
	first->at_ns = clock_ns();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	assert_false(caller_stands(callers, first));
	caller_unref(first);
	return NULL;
}

static void stands(void **state)
{
	struct callers *callers = open_callers(false);
	struct proc_look old, *slot = &callers->looks[(unsigned)gettid() % CALLER_LOOKS];
	struct caller *caller;
	pthread_t thread;
	pid_t pid = spawn(NULL);

	assert_int_equal(pthread_create(&thread, NULL, stand_twice, callers), 0);
	pthread_join(thread, NULL);
	/* as if ours were a number that another process had when it was looked at */
	assert_int_equal(proc_look_open(pid, &old), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	old.tid = gettid();
	proc_look_close(slot);
	*slot = old;
	caller = caller_examine(callers, gettid(), getuid());
	assert_true(caller->allowed);
	assert_int_equal(caller->chain[0].pid, getpid());
	caller_unref(caller);
	callers_close(callers);
}

static void *report_tid(void *arg)
{
	struct callers *callers = arg;
	struct caller *caller = caller_identify(callers, gettid(), getuid());

	assert_int_equal(caller->chain[0].pid, getpid());
	assert_int_not_equal(gettid(), getpid());
	caller_unref(caller);
	return NULL;
}

static void threads(void **state)
{
	struct callers *callers = open_callers(false);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, report_tid, callers), 0);
	pthread_join(thread, NULL);
	callers_close(callers);
}

static void chain(void **state)
{
	struct callers *callers = open_callers(false);
	pid_t child = spawn(NULL);
	struct caller *caller = caller_identify(callers, child, getuid());

	assert_int_equal(caller->chain[0].pid, child);
	assert_int_equal(caller->chain[1].pid, getpid());
	assert_true(proc_alive(&caller->chain[0]));
	assert_true(proc_age_s(&caller->chain[0]) >= 0 && proc_age_s(&caller->chain[0]) < 60);
	reap(child);
	assert_false(proc_alive(&caller->chain[0]));
	assert_true(proc_age_s(&caller->chain[0]) < 0);
	caller_unref(caller);
	forget_identities();
	caller = caller_identify(callers, child, getuid());
	assert_false(caller->allowed);
	caller_unref(caller);
	callers_close(callers);
}

/* Ancestors that were seen a second ago are of no use: others that come give their descriptors back. */
static void ancestors_past_their_time(void **state)
{
	struct callers *callers = open_callers(false);
	size_t kept = 0;

	for (size_t i = 0; i < CALLER_ANCESTORS; i++) {
		callers->ancestors[i].pidfd = dup(0);
		callers->ancestors[i].at_ns = clock_ns() - NS_PER_S;
	}
	for (int i = 0; i < CALLER_ANCESTORS / 4; i++) {
		pid_t child = spawn(NULL);
		struct caller *caller = caller_identify(callers, child, getuid());

		assert_int_equal(caller->chain[1].pid, getpid());
		caller_unref(caller);
		reap(child);
		/* we are to be looked at anew for the next one */
		callers->ancestors[getpid() % CALLER_ANCESTORS].at_ns = clock_ns() - NS_PER_S;
	}
	for (size_t i = 0; i < CALLER_ANCESTORS; i++)
		kept += callers->ancestors[i].pidfd >= 0;
	assert_in_range(kept, 1, 2);
	callers_close(callers);
}

static int no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int filter(void)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = allow };

	if (getuid() != 0 && no_new_privs() < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int user_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int net_namespace(void)
{
	return unshare(CLONE_NEWNET);
}

static int mount_namespace(void)
{
	return unshare(CLONE_NEWNS);
}

static int other_root(void)
{
	return chroot("/tmp");
}

/* Inside a mount namespace of its own: "/" again, by a mount at another place. */
static int same_root_again(void)
{
	return mount("/", "/mnt", NULL, MS_BIND | MS_REC, NULL) < 0 || chroot("/mnt") < 0 ? -1 : 0;
}

static void look_from_a_namespace(int result)
{
	struct callers *callers;
	struct caller *caller;
	pid_t child;
	char ok = 's';

	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
		callers = open_callers(false);
		child = spawn(same_root_again);
		caller = child < 0 ? NULL : caller_identify(callers, child, getuid());
		if (caller)
			ok = caller->allowed ? 'n' : 'y';
		if (child > 0)
			reap(child);
	}
	if (write(result, &ok, 1) != 1)
		_exit(1);
	_exit(0);
}

/* Device and inode of a root directory do not say what is mounted below it. */
static void same_root_of_another_mount(void **state)
{
	int result[2];
	char ok = 0;
	pid_t child;

	assert_int_equal(pipe(result), 0);
	child = fork();
	if (child == 0)
		look_from_a_namespace(result[1]);
	close(result[1]);
	assert_int_equal(read(result[0], &ok, 1), 1);
	close(result[0]);
	waitpid(child, NULL, 0);
	if (ok == 's')
		test_skip("no mount namespace, or no mounts in it");
	assert_int_equal(ok, 'y');
}

static void confined(void **state)
{
	const struct {
		int (*prepare)(void);
		const char *why;
	} cases[] = {
		{ no_new_privs, "no_new_privs" },
		/* only root may install a filter and keep the right to new privileges */
		{ filter, getuid() ? "no_new_privs" : "seccomp" },
		{ user_namespace, "user" },
		{ net_namespace, "network" },
		{ mount_namespace, "mount" },
		{ other_root, "root directory" },
	};
	struct callers *callers = open_callers(false), *any = open_callers(true);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child = spawn(cases[i].prepare);
		struct caller *caller;

		if (child < 0) {
			print_message("# not possible here: %s\n", cases[i].why);
			continue;
		}
		caller = caller_identify(callers, child, getuid());
		assert_false(caller->allowed);
		assert_non_null(strstr(caller->why, cases[i].why));
		caller_unref(caller);
		caller = caller_identify(any, child, getuid());
		assert_true(caller->allowed);
		caller_unref(caller);
		reap(child);
	}
	callers_close(callers);
	callers_close(any);
}

static int session_and_filter(void)
{
	if (setsid() < 0)
		return -1;
	return no_new_privs();
}

/* Every sort of caller with every sort of file, and the reason of each refusal. */
static void who_may_use_what(void **state)
{
	static const struct caller_target targets[] = {
		{ RYE_RUN, RYE_TOOL, "a/b", false }, /* beside an item */
		{ RYE_EXECUTE, RYE_KIND__MAX, "", false }, /* at the root: the engine asks itself */
		{ RYE_FETCH, RYE_KIND__MAX, "", false },   { RYE_SIGN, RYE_KIND__MAX, "", false },
		{ RYE_RUN, RYE_KIND__MAX, "", true }, /* a thread's ctl, spaces/ */
	};
	static const struct {
		const char *name;
		bool allowed, confined, named; /* by the guard; its item names what is asked */
		uint64_t run;
		const char *want; /* y: yes; guard, confined, not named, signing, persons */
	} rows[] = {
		{ "a person", true, false, false, 0, "yyyyy" },
		{ "another user", false, false, true, 0, "ggggg" },
		{ "a process in a sandbox", false, true, true, 0, "ccccc" },
		{ "a child of a run", true, false, true, 7, "yyysp" },
		{ "a child whose item does not name it", true, false, false, 7, "nyysp" },
		{ "a child in a sandbox of its own", false, true, true, 7, "ccccc" },
	};
	struct callers *callers = open_callers(false);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
			struct caller who = { .allowed = rows[i].allowed,
					      .confined = rows[i].confined,
					      .why = "guarded",
					      .run = rows[i].run };
			char why[CALLER_WHY] = "", want = rows[i].want[t];
			bool may;

			fake_may = rows[i].named;
			may = caller_may(callers, &who, &targets[t], why);
			if (may != (want == 'y') || (want == 'g' && strcmp(why, "guarded") != 0) ||
			    (want == 'c' &&
			     !strstr(why, "confined: guarded; mend with: ryefs execute")) ||
			    (want == 'n' && !strstr(why, "does not name a/b")) ||
			    (want == 's' && !strstr(why, "sign, which none may")) ||
			    (want == 'p' && !strstr(why, "what a run has started")))
				fail_msg("%s, target %zu: %d '%s', wanted %c", rows[i].name, t, may,
					 why, want);
		}
	callers_close(callers);
}

/* A child of a run is measured against its run, and may what `requires` names. */
static void children_of_runs(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller_target run = { RYE_RUN, RYE_TOOL, "a/b", false };
	struct caller_target sign = { RYE_SIGN, RYE_TOOL, "", false };
	pid_t child = spawn(session_and_filter), stranger = spawn(no_new_privs);
	struct caller *caller;
	char why[CALLER_WHY];

	fake_run = 7;
	fake_leader = child;
	caller = caller_identify(callers, child, getuid());
	assert_true(caller->allowed);
	assert_int_equal(caller->run, 7);
	fake_may = false;
	assert_false(caller_may(callers, caller, &run, why));
	assert_non_null(strstr(why, "a/b"));
	fake_may = true;
	assert_true(caller_may(callers, caller, &run, why));
	assert_false(caller_may(callers, caller, &sign, why));
	caller_unref(caller);
	/* more confined than its run is, also where it leads a session of its own */
	fake_leader = getpid();
	caller = caller_identify(callers, stranger, getuid());
	assert_false(caller->allowed);
	caller_unref(caller);
	forget_identities();
	caller = caller_identify(callers, child, getuid());
	assert_false(caller->allowed);
	assert_non_null(strstr(caller->why, "no_new_privs"));
	caller_unref(caller);
	/* a child of a run that the engine does not know any more */
	fake_leader = 0;
	forget_identities();
	caller = caller_identify(callers, child, getuid());
	assert_false(caller->allowed);
	caller_unref(caller);
	fake_run = 0;
	reap(child);
	reap(stranger);
	callers_close(callers);
}

/* The last of so many processes, each the child of the one before and named as systemd is. */
static void nest(size_t depth, int result)
{
	pid_t self;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "systemd");
	for (; depth; depth--) {
		if (fork() > 0)
			for (;;)
				pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	setsid();
	self = getpid();
	if (write(result, &self, sizeof(self)) != sizeof(self))
		_exit(1);
	for (;;)
		pause();
}

static struct caller *identify_nested(struct callers *callers, size_t depth)
{
	struct caller *caller;
	pid_t top, last = 0;
	int result[2];

	assert_int_equal(pipe(result), 0);
	top = fork();
	if (top == 0)
		nest(depth, result[1]);
	close(result[1]);
	assert_int_equal(read(result[0], &last, sizeof(last)), sizeof(last));
	close(result[0]);
	caller = caller_identify(callers, last, getuid());
	reap(top);
	return caller;
}

/* No name and no number of forks hides that a process descends from us. */
static void the_whole_line(void **state)
{
	static const size_t depths[] = { 0, 1, 11, 12, 16, 40 };
	struct callers *callers = open_callers(false);
	struct caller *caller;

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		caller = identify_nested(callers, depths[i]);
		assert_true(caller->allowed);
		assert_int_equal(caller->n, 0); /* a session manager by its name */
		assert_int_equal(line_length, depths[i] + 2);
		assert_true(line_has_us);
		caller_unref(caller);
	}
	caller = identify_nested(callers, CALLER_LINE_MAX);
	assert_false(caller->allowed);
	assert_non_null(strstr(caller->why, "ancestors"));
	caller_unref(caller);
	callers_close(callers);
}

/* A process that ends leaves its children to another: what was remembered is looked up again. */
static void adopted_children(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller *caller;
	pid_t top, last = 0;
	int result[2];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe(result), 0);
	top = fork();
	if (top == 0) {
		if (fork() == 0) {
			if (fork() == 0)
				nest(0, result[1]);
			for (;;)
				pause();
		}
		for (;;)
			pause();
	}
	assert_int_equal(read(result[0], &last, sizeof(last)), sizeof(last));
	caller_unref(caller_identify(callers, last, getuid()));
	assert_int_equal(line_length, 4);
	reap(top);
	forget_identities();
	caller = caller_identify(callers, last, getuid());
	assert_true(caller->allowed);
	assert_true(line_has_us);
	assert_int_equal(line_length, 3);
	caller_unref(caller);
	reap(line_parent);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(result[0]);
	close(result[1]);
	callers_close(callers);
}

static void record(struct callers *callers, struct caller *caller, const char *key,
		   const char *text)
{
	struct last last = { .reply = rye_blob_new(text, strlen(text)) };

	callers_record(callers, caller, key, &last);
	rye_blob_unref(last.reply);
}

static void expect(struct callers *callers, struct caller *caller, const char *key,
		   const char *text)
{
	struct last last = { 0 };
	bool found = callers_last(callers, caller, key, &last);

	assert_int_equal(found, text != NULL);
	if (found)
		assert_string_equal(last.reply->data, text);
	last_done(&last);
}

static bool caller_lacking;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return caller_lacking ? NULL : __real_calloc(n, size);
}

/* A reply that there is no memory to keep: none is better than the one before. */
static void never_an_older_reply(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller *us = caller_identify(callers, getpid(), getuid());

	record(callers, us, "tool:x", "the first");
	caller_lacking = true;
	record(callers, us, "tool:x", "the second");
	caller_lacking = false;
	expect(callers, us, "tool:x", NULL);
	record(callers, us, "tool:x", "the third");
	expect(callers, us, "tool:x", "the third");
	caller_unref(us);
	callers_close(callers);
}

static void own_reply(void **state)
{
	struct callers *callers = open_callers(false);
	pid_t a = spawn(NULL), b = spawn(NULL);
	struct caller *us = caller_identify(callers, getpid(), getuid());
	struct caller *in_a = caller_identify(callers, a, getuid());
	struct caller *in_b = caller_identify(callers, b, getuid());
	struct caller other = *us;

	record(callers, in_a, "tool:x", "a's");
	expect(callers, in_a, "tool:x", "a's");
	expect(callers, in_a, "tool:y", NULL);
	expect(callers, in_b, "tool:x", NULL);
	expect(callers, us, "tool:x", NULL);
	assert_false(callers_related(callers, in_a, in_b));
	record(callers, us, "tool:x", "ours");
	expect(callers, in_b, "tool:x", "ours");
	expect(callers, in_a, "tool:x", "a's");
	record(callers, us, "tool:x", "ours again");
	expect(callers, in_b, "tool:x", "ours again");
	assert_int_equal(callers->count, 2);
	assert_true(callers_related(callers, us, in_b));
	/* what a left is its parent's now; the older of two of one owner loses */
	reap(a);
	expect(callers, us, "tool:x", "ours again");
	record(callers, in_b, "tool:x", "b's");
	reap(b);
	expect(callers, us, "tool:x", "b's");
	other.uid = us->uid + 1;
	expect(callers, &other, "tool:x", NULL);
	caller_unref(us);
	caller_unref(in_a);
	caller_unref(in_b);
	callers_close(callers);
}

/* So that CALLER_PASS_S are over for all that was recorded. */
static void time_passes(struct callers *callers)
{
	for (struct kept *kept = callers->newest; kept; kept = kept->older)
		kept->at_ns -= (CALLER_PASS_S + 1) * NS_PER_S;
	callers_sweep(callers);
}

static void passes_up(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller *us = caller_identify(callers, getpid(), getuid()), *who[4];
	pid_t pids[4];

	for (size_t i = 0; i < 4; i++)
		who[i] = caller_identify(callers, pids[i] = spawn(NULL), getuid());
	/* it ends soon: its parent's, for good */
	record(callers, who[0], "tool:soon", "soon");
	reap(pids[0]);
	time_passes(callers);
	expect(callers, us, "tool:soon", "soon");
	/* it lives on: it takes the reply along */
	record(callers, who[1], "tool:late", "late");
	time_passes(callers);
	expect(callers, who[1], "tool:late", "late");
	reap(pids[1]);
	expect(callers, us, "tool:late", NULL);
	/* what comes later of a run that went on is whose its beginning was */
	record(callers, who[2], "tool:on", "running");
	record(callers, who[3], "tool:on", "running, too");
	reap(pids[2]);
	time_passes(callers);
	reap(pids[3]);
	record(callers, who[2], "tool:on", "ours");
	record(callers, who[3], "tool:on", "not ours");
	expect(callers, us, "tool:on", "ours");
	for (size_t i = 0; i < 4; i++)
		caller_unref(who[i]);
	caller_unref(us);
	callers_close(callers);
}

static _Atomic int64_t woken_ns;

static void note_wake(void *arg, int64_t due_ns)
{
	woken_ns = due_ns;
}

/* The thread that sweeps is told of the first reply alone, and hears when the next one's time is over. */
static void sweep_in_time(void **state)
{
	struct callers_env env = { .owner = getuid(), .trust_any = true, .wake = note_wake };
	struct callers *callers;
	struct caller *us;
	int64_t now = clock_ns();

	callers_open(&env, &callers);
	us = caller_identify(callers, getpid(), getuid());
	assert_int_equal(callers_sweep(callers), 0);
	record(callers, us, "tool:a", "a");
	assert_in_range(woken_ns - now, CALLER_PASS_S * NS_PER_S, (CALLER_PASS_S + 60) * NS_PER_S);
	woken_ns = 0;
	record(callers, us, "tool:b", "b");
	assert_int_equal(woken_ns, 0);
	assert_true(callers_sweep(callers) > now);
	time_passes(callers);
	assert_int_equal(callers_sweep(callers), 0);
	record(callers, us, "tool:c", "c");
	assert_true(woken_ns > 0);
	caller_unref(us);
	callers_close(callers);
}

/* As record, of a thread and a conversation. */
static void record_of(struct callers *callers, struct caller *caller, pid_t tid, uint64_t from)
{
	struct caller thread = *caller;
	struct last last = { .reply = rye_blob_new("x", 1), .from = from };

	thread.tid = tid;
	callers_record(callers, &thread, "tool:x", &last);
	rye_blob_unref(last.reply);
}

/* What thread tid is shown: the reply of that conversation, or 0 for none of those that compete. */
static void expect_of(struct callers *callers, struct caller *caller, pid_t tid, uint64_t from)
{
	struct caller thread = *caller;
	struct last last = { 0 };

	thread.tid = tid;
	assert_true(callers_last(callers, &thread, "tool:x", &last));
	assert_int_equal(last.disputed, from == 0);
	if (from)
		assert_int_equal(last.from, from);
	last_done(&last);
}

static void threads_compete(void **state)
{
	struct callers *callers = open_callers(false);
	pid_t child = spawn(NULL);
	struct caller *us = caller_identify(callers, getpid(), getuid());
	struct caller *in_child = caller_identify(callers, child, getuid());

	/* one writes, another reads: as in a pool */
	record_of(callers, us, 1, 10);
	expect_of(callers, us, 2, 10);
	callers_read(callers, "tool:x", 10);
	record_of(callers, us, 2, 20);
	expect_of(callers, us, 1, 20);
	/* the same thread's next takes its place */
	record_of(callers, us, 2, 21);
	expect_of(callers, us, 1, 21);
	assert_int_equal(callers->count, 1);
	/* two that nothing has read, for any caller below that process */
	record_of(callers, us, 1, 11);
	expect_of(callers, us, 1, 0);
	expect_of(callers, us, 2, 0);
	expect_of(callers, us, 3, 0);
	expect_of(callers, in_child, child, 0);
	/* one has read its own from its descriptor: what is left is the other's */
	callers_read(callers, "tool:x", 11);
	expect_of(callers, us, 2, 21);
	expect_of(callers, us, 1, 0);
	callers_read(callers, "tool:x", 21);
	expect_of(callers, us, 1, 11);
	/* another process's is not of it */
	record_of(callers, in_child, child, 30);
	expect_of(callers, in_child, child, 30);
	expect_of(callers, us, 1, 11);
	reap(child);
	caller_unref(us);
	caller_unref(in_child);
	callers_close(callers);
}

/* Nothing above a session manager is an owner. */
static int become_sshd(void)
{
	return prctl(PR_SET_NAME, "sshd");
}

static void barrier(void **state)
{
	struct callers *callers = open_callers(false);
	pid_t child = spawn(become_sshd);
	struct caller *caller = caller_identify(callers, child, getuid());

	assert_true(caller->allowed);
	assert_int_equal(caller->n, 0);
	record(callers, caller, "tool:x", "nobody's");
	assert_int_equal(callers->count, 0);
	caller_unref(caller);
	reap(child);
	callers_close(callers);
}

static void bounded(void **state)
{
	struct callers *callers = open_callers(false);
	struct caller *us = caller_identify(callers, getpid(), getuid());
	struct caller *dead;
	char key[32];
	pid_t child;

	for (int i = 0; i < CALLER_REPLIES + 10; i++) {
		snprintf(key, sizeof(key), "tool:%d", i);
		record(callers, us, key, key);
	}
	assert_int_equal(callers->count, CALLER_REPLIES);
	expect(callers, us, "tool:9", NULL);
	expect(callers, us, "tool:10", "tool:10");
	/* a reply none of whose owners lives any more goes with the sweep */
	child = spawn(NULL);
	dead = calloc(1, sizeof(*dead));
	assert_non_null(dead);
	*dead = *us;
	dead->n = 1;
	dead->chain[0].pid = child;
	dead->chain[0].start = 1;
	record(callers, dead, "tool:dead", "x");
	callers_sweep(callers);
	assert_int_equal(callers->count, CALLER_REPLIES - 1);
	reap(child);
	free(dead);
	caller_unref(us);
	callers_close(callers);
}

static void signals(void **state)
{
	pid_t child = spawn(NULL);
	sigset_t set, old;

	assert_false(proc_interrupted(child));
	assert_true(proc_interrupted(1 << 22));
	reap(child);
	/* pending but blocked: it does not end what the thread does */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	raise(SIGINT);
	assert_false(proc_interrupted(gettid()));
	sigtimedwait(&set, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Looking at a new caller takes 20 us at most; measured, printed, and held to a generous bound. */
static void cost(void **state)
{
	struct callers *callers = open_callers(false);
	pid_t children[20];
	int64_t begin, best = INT64_MAX;

	for (size_t i = 0; i < 20; i++)
		children[i] = spawn(NULL);
	for (size_t i = 0; i < 20; i++) {
		begin = clock_ns();
		caller_unref(caller_identify(callers, children[i], getuid()));
		begin = clock_ns() - begin;
		best = begin < best ? begin : best;
	}
	print_message("# a new process: %lld ns\n", (long long)best);
	assert_in_range(best, 0, 200000);
	begin = clock_ns();
	caller_unref(caller_identify(callers, children[19], getuid()));
	print_message("# the same again: %lld ns\n", (long long)(clock_ns() - begin));
	for (size_t i = 0; i < 20; i++)
		reap(children[i]);
	callers_close(callers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ourselves),
		cmocka_unit_test(threads),
		cmocka_unit_test(chain),
		cmocka_unit_test(ancestors_past_their_time),
		cmocka_unit_test(confined),
		cmocka_unit_test(confined_since),
		cmocka_unit_test(stands),
		cmocka_unit_test(same_root_of_another_mount),
		cmocka_unit_test(who_may_use_what),
		cmocka_unit_test(children_of_runs),
		cmocka_unit_test(the_whole_line),
		cmocka_unit_test(adopted_children),
		cmocka_unit_test(passes_up),
		cmocka_unit_test(sweep_in_time),
		cmocka_unit_test(own_reply),
		cmocka_unit_test(never_an_older_reply),
		cmocka_unit_test(threads_compete),
		cmocka_unit_test(barrier),
		cmocka_unit_test(bounded),
		cmocka_unit_test(signals),
		cmocka_unit_test(cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
