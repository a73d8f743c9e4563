/* SPDX-License-Identifier: MIT */
/*
 * What an event does to a thread: looks what state it is in, then carries out the act that the
 * table of thread_states.c has for both. Callers: `ctl`, the command line, the watching worker. No lock
 * of its own; two processes may do this at once, then the registry keeps the first end.
 */
#include "thread/thread_inner.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* A thread that starts or ends meanwhile is looked at again; it changes at most this often. */
#define LOOKS 4

/* So long a model's thread that does not listen yet is waited for. */
#define TELL_MS 5000
#define TELL_AGAIN_MS 20

enum { DONE, AGAIN = 1 };

struct control {
	struct threads *threads;
	const struct thread_control *what;
	const struct thread_step *step;
	struct thread_view view;
	bool marked; /* at an earlier look: an end that is found now is what was asked for */
};

static int do_later(struct control *control, struct rye_err *err)
{
	(void)control;
	(void)err;
	return DONE;
}

static int do_watch(struct control *control, struct rye_err *err)
{
	const struct watch_ask ask = { control->what->id, control->view.runner.pid,
				       steal_fd(&control->view.pidfd), NULL, NULL };

	(void)err;
	threads_watch(control->threads, &ask);
	return DONE;
}

static int do_tell(struct control *control, struct rye_err *err)
{
	(void)err;
	threads_ended(control->threads, control->what->id);
	return DONE;
}

static int send_to_runner(struct control *control, int number, struct rye_err *err)
{
	if (pidfd_send_signal(control->view.pidfd, number, NULL, 0) == 0)
		return DONE;
	if (errno == ESRCH)
		return AGAIN;
	return rye_fail_sys(err, errno, "cannot signal thread %s", control->what->id);
}

/* A signal alone would leave a run elsewhere as it is there: the mark says that it is meant. */
static int do_signal(struct control *control, struct rye_err *err)
{
	int r = thread_marked(control->view.dir, REMOTE_FILE) ?
			thread_write(control->view.dir, CANCEL_MARK, SPAN(""), err) :
			0;

	return r ? r : send_to_runner(control, SIGTERM, err);
}

static int do_bury(struct control *control, struct rye_err *err)
{
	(void)err;
	if (threads_record_lost(control->threads, &control->view, -1, true) == THREAD_LOSS_RECORDED)
		threads_ended(control->threads, control->what->id);
	return DONE;
}

/*
 * What another machine carries out ends there: its runner here tells it so, and records how it ended. One that has
 * no connection is killed, and says so by its end.
 */
static bool shoot_told(const struct control *control)
{
	return thread_marked(control->view.dir, REMOTE_FILE) &&
	       !thread_tell(control->threads->env.opt->project, control->what->id, SPAN("kill"),
			    NULL);
}

/* The mark first: the watching worker of another process may record the end before us. */
static int do_shoot(struct control *control, struct rye_err *err)
{
	int r;

	if (shoot_told(control))
		return DONE;
	r = thread_write(control->view.dir, KILLED_MARK, SPAN(""), err);

	if (r)
		return r;
	r = send_to_runner(control, SIGKILL, err);
	if (r < 0)
		unlinkat(control->view.dir, KILLED_MARK, 0);
	return r == DONE ? do_bury(control, err) : r;
}

/* A runner may have been named just before the mark was there: hence once more. */
static int do_mark(struct control *control, struct rye_err *err)
{
	const char *mark = control->what->event == THREAD_KILL ? KILLED_MARK : CANCEL_MARK;
	int r;

	if (control->marked)
		return DONE;
	r = thread_write(control->view.dir, mark, SPAN(""), err);
	control->marked = true;
	return r ? r : AGAIN;
}

static int do_record(struct control *control, struct rye_err *err)
{
	enum thread_loss loss = threads_record_lost(control->threads, &control->view,
						    control->what->exit_status, false);

	if (loss == THREAD_LOSS_NO_ROOM)
		return control->what->event == THREAD_LOOK ?
			       DONE :
			       rye_fail(err, RYE_NO_SPACE,
					"the end of thread %s cannot be recorded now: no room, or "
					"too many files open",
					control->what->id);
	if (loss == THREAD_LOSS_RECORDED)
		threads_ended(control->threads, control->what->id);
	return AGAIN;
}

static int do_remove(struct control *control, struct rye_err *err)
{
	const char *id = control->what->id;
	auto_close int root = thread_root(control->threads->env.opt->project, false, err);
	int r;

	if (root < 0)
		return root;
	thread_remove(root, id);
	r = registry_delete(control->view.db, id, err);
	if (r)
		return r;
	if (control->threads->env.deleted)
		control->threads->env.deleted(control->threads->env.lost_arg, id);
	threads_ended(control->threads, id);
	return 0;
}

static int do_refuse(struct control *control, struct rye_err *err)
{
	const struct registry_row *row = &control->view.row;

	if (control->marked)
		return DONE;
	if (control->step->code != RYE_STATE)
		return rye_fail(err, control->step->code, "thread %s %s (%s)", row->thread_id,
				control->step->sentence, row->status);
	return rye_fail(err, RYE_STATE, "thread %s %s (%s); " MEND_WITH "ryefs threads %s %s",
			row->thread_id, control->step->sentence, row->status,
			registry_terminal(row->status) ? "show" : "cancel", row->thread_id);
}

static int (*const acts[])(struct control *control, struct rye_err *err) = {
	[THREAD_LATER] = do_later,   [THREAD_WATCH] = do_watch, [THREAD_TELL] = do_tell,
	[THREAD_SIGNAL] = do_signal, [THREAD_SHOOT] = do_shoot, [THREAD_MARK] = do_mark,
	[THREAD_RECORD] = do_record, [THREAD_BURY] = do_bury,	[THREAD_REMOVE] = do_remove,
	[THREAD_REFUSE] = do_refuse,
};

static int apply_once(struct control *control, struct rye_err *err)
{
	const struct thread_control *what = control->what;
	int r = what->event == THREAD_LOOK ?
			thread_view_row(control->threads, what->id, &control->view, err) :
			thread_view_open(control->threads, what->id, &control->view, err);

	if (!r) {
		control->step = thread_step(thread_view_state(&control->view), what->event);
		r = acts[control->step->act](control, err);
	}
	thread_view_close(&control->view);
	return r;
}

int threads_apply(struct threads *threads, const struct thread_control *what, struct rye_err *err)
{
	struct control control = { .threads = threads, .what = what };
	int r = AGAIN;

	for (int i = 0; i < LOOKS && r == AGAIN; i++)
		r = apply_once(&control, err);
	return r == AGAIN ? DONE : r;
}

struct thread_control_verb {
	const char *name;
	enum thread_event event;
};

static const struct thread_control_verb verbs[] = {
	{ "cancel", THREAD_CANCEL },
	{ "delete", THREAD_DELETE },
	{ "kill", THREAD_KILL },
};

/* One of the table; what stands behind the word is the person's reason, for the log. */
static int threads_verb(struct threads *threads, const struct thread_control *what,
			struct rye_span reason, struct rye_err *err)
{
	int r = threads_apply(threads, what, err);

	if (!r && reason.len)
		log_line(threads->env.log, RYE_LOG_INFO, "threads", "thread %s: %.*s", what->id,
			 (int)reason.len, reason.ptr);
	return r;
}

/* What its runner hears, beside the signals. */
static const char *const told_verbs[] = { "handoff", "limit", "say" };

/* A model goes on with what is said to it then, but for one that goes on elsewhere already. */
static int fail_ended(const struct registry_row *row, struct rye_err *err)
{
	bool model =
		!strchr(row->directive, ':'); /* a directive by its id, a tool by its reference */
	bool resumes = model && strcmp(row->status, "continued") != 0;

	return rye_fail(err, RYE_STATE,
			"thread %s has ended already (%s); " MEND_WITH "ryefs threads %s %s%s",
			row->thread_id, row->status, resumes ? "resume" : "show", row->thread_id,
			resumes ? " TEXT" : "");
}

static int threads_told_once(struct threads *threads, const char *id, struct rye_span words,
			     bool *ret_model, struct rye_err *err)
{
	auto_thread_view struct thread_view view = THREAD_VIEW_INIT;
	int r = thread_view_open(threads, id, &view, err);

	*ret_model = false;
	if (r)
		return r;
	if (registry_terminal(view.row.status))
		return fail_ended(&view.row, err);
	*ret_model = !strchr(view.row.directive, ':');
	return thread_tell(threads->env.opt->project, id, words, err);
}

/* On a worker. The runner of a model has its row before it listens, and its row for a moment behind. */
static int threads_told(struct threads *threads, const char *id, struct rye_span words,
			struct rye_err *err)
{
	int64_t end = clock_ms() + TELL_MS;
	bool model;
	int r;

	while ((r = threads_told_once(threads, id, words, &model, err)) == -(int)RYE_STATE &&
	       model && clock_ms() < end) {
		*err = (struct rye_err){ .code = RYE_OK };
		usleep(TELL_AGAIN_MS * 1000);
	}
	return r;
}

/* The first word of a verb. */
static struct rye_span first_word(struct rye_span text)
{
	const char *blank = memchr(text.ptr, ' ', text.len);

	return blank ? (struct rye_span){ text.ptr, (size_t)(blank - text.ptr) } : text;
}

bool threads_is_told(struct rye_span text)
{
	struct rye_span word = first_word(text);
	bool told = false;

	for (size_t i = 0; i < ARRAY_SIZE(told_verbs); i++)
		told |= span_eq(word, told_verbs[i]);
	return told;
}

int threads_no_verb(struct rye_span text, const char *known, struct rye_err *err)
{
	struct rye_span word = first_word(text);

	/* the error is one line, whatever was written */
	if (memchr(text.ptr, '\n', text.len))
		return rye_fail(err, RYE_INVALID,
				"several lines in one write: one verb is wanted, of %s", known);
	return rye_fail(err, RYE_INVALID, "unknown verb %.*s: one of %s is wanted",
			(int)MIN_OF(word.len, (size_t)40), word.ptr, known);
}

int threads_ctl(struct threads *threads, const char *id, struct rye_span text, struct rye_err *err)
{
	struct rye_span all = span_trim(text), word = first_word(all);
	struct thread_control what = { .id = id, .exit_status = -1 };

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (span_eq(word, verbs[i].name)) {
			what.event = verbs[i].event;
			return threads_verb(threads, &what, word.len < all.len ? all : span_of(""),
					    err);
		}
	if (threads_is_told(all))
		return threads_told(threads, id, all, err);
	if (span_eq(word, "resume"))
		return rye_fail(err, RYE_INVALID,
				"resume wants what is said to the thread; " MEND_WITH
				"ryefs threads resume %s TEXT",
				id);
	return threads_no_verb(all, RYE_THREAD_VERBS, err);
}
