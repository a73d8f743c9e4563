/* SPDX-License-Identifier: MIT */
/*
 * Events of a call: their order, that the end comes last, that characters are not cut, and that
 * a listener which does not return holds up neither the worker nor the tool.
 */
#include "exec_tools.h"

#include "clock.h"
#include "bounds.h"
#include "process/process.h"

#include <semaphore.h>

/* What a listener heard, in one line: "S0 1:text 2:text S1 end". */
struct heard {
	pthread_mutex_t lock;
	pthread_cond_t told;
	struct rye_buf line;
	uint64_t number, bytes, progress;
	bool ended, is_torn;
	sem_t *gate; /* waited for at the first text; NULL: at once */
};

static void on_event(void *arg, const struct rye_event *event)
{
	struct heard *heard = arg;

	if (heard->gate && event->type == RYE_EVENT_OUTPUT) {
		sem_wait(heard->gate);
		heard->gate = NULL;
	}
	GUARD(&heard->lock);
	assert_false(heard->ended);
	assert_int_equal(event->number, ++heard->number);
	if (event->type == RYE_EVENT_STATE)
		buf_addf(&heard->line, "S%d ", event->state);
	heard->progress += event->type == RYE_EVENT_PROGRESS;
	if (event->type == RYE_EVENT_OUTPUT) {
		assert_true(event->bytes.len > 0 && event->bytes.len <= EVENTS_PIECE);
		heard->is_torn |= !utf8_valid(event->bytes);
		heard->bytes += event->bytes.len;
		if (event->bytes.len < 64)
			buf_addf(&heard->line, "%d:%.*s ", event->stream, (int)event->bytes.len,
				 event->bytes.ptr);
	}
	pthread_cond_broadcast(&heard->told);
}

static void on_end(void *arg, const struct rye_outcome *outcome)
{
	struct heard *heard = arg;

	assert_non_null(outcome->reply);
	GUARD(&heard->lock);
	buf_addf(&heard->line, "end %d", outcome->code);
	heard->ended = true;
	pthread_cond_broadcast(&heard->told);
}

static void heard_init(struct heard *heard)
{
	*heard = (struct heard){ .gate = NULL };
	pthread_mutex_init(&heard->lock, NULL);
	pthread_cond_init(&heard->told, NULL);
}

static void heard_wait(struct heard *heard)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 40;
	{
		GUARD(&heard->lock);
		while (!heard->ended && !r)
			r = pthread_cond_timedwait(&heard->told, &heard->lock, &until);
	}
	assert_int_equal(r, 0);
}

/* ---- the queue alone ---- */

struct queue {
	struct tellers tellers;
	struct heard heard;
	struct events *events;
	struct rye_outcome outcome;
};

static int queue_open(void **state)
{
	struct queue *q = test_calloc(1, sizeof(*q));
	const struct rye_event_listener who = { on_event, &q->heard };

	tellers_init(&q->tellers);
	heard_init(&q->heard);
	q->events = events_new(&q->tellers, &who);
	assert_non_null(q->events);
	q->outcome = (struct rye_outcome){ .reply = rye_blob_new("{}\n", 3),
					   .output = rye_blob_new("", 0),
					   .message = "" };
	*state = q;
	return 0;
}

static int queue_close(void **state)
{
	struct queue *q = *state;

	tellers_done(&q->tellers);
	events_free(q->events);
	rye_outcome_done(&q->outcome);
	buf_done(&q->heard.line);
	test_free(q);
	return 0;
}

static void queue_end(struct queue *q, const char *want)
{
	assert_true(events_end(q->events, &q->outcome, on_end, &q->heard));
	heard_wait(&q->heard);
	assert_string_equal(q->heard.line.data, want);
}

static void put(struct queue *q, enum rye_stream stream, const char *text)
{
	events_output(q->events, stream, span_of(text));
}

static void events_come_in_order(void **state)
{
	struct queue *q = *state;
	sem_t gate;

	sem_init(&gate, 0, 0);
	q->heard.gate = &gate;
	events_state(q->events, RYE_STATE_STARTED);
	put(q, RYE_STDOUT, "a");
	usleep(20000); /* the teller is at the gate with it */
	put(q, RYE_STDOUT, "b");
	put(q, RYE_STDOUT, "c");
	put(q, RYE_STDERR, "d");
	put(q, RYE_STDOUT, "e");
	events_state(q->events, RYE_STATE_ENDING);
	sem_post(&gate);
	queue_end(q, "S0 0:a 0:bc 1:d 0:e S1 end 0");
	sem_destroy(&gate);
}

static void characters_are_whole(void **state)
{
	struct queue *q = *state;

	put(q, RYE_STDOUT, "\xe2");
	put(q, RYE_STDERR, "\xc3");
	put(q, RYE_STDOUT, "\x82");
	put(q, RYE_STDOUT, "\xac");
	usleep(20000); /* the teller has had its time: half a character stays with it */
	put(q, RYE_STDERR, "x");
	usleep(20000); /* the same */
	put(q, RYE_STDOUT, "\xf0\x9f");
	queue_end(q, "0:\u20ac 1:\ufffdx 0:\ufffd end 0");
}

/* More pieces than may wait: nothing is lost, little is kept. */
static void a_listener_that_lags_gets_everything(void **state)
{
	struct queue *q = *state;
	sem_t gate;

	sem_init(&gate, 0, 0);
	q->heard.gate = &gate;
	for (int i = 0; i < 200000; i++)
		put(q, i % 2 ? RYE_STDOUT : RYE_STDERR, "\u20ac");
	sem_post(&gate);
	assert_true(events_end(q->events, &q->outcome, on_end, &q->heard));
	heard_wait(&q->heard);
	assert_int_equal(q->heard.bytes, 600000);
	assert_false(q->heard.is_torn);
	assert_true(q->heard.number <= EVENTS_WAITING + 32);
	sem_destroy(&gate);
}

static void without_an_event_there_is_no_teller(void **state)
{
	struct queue *q = *state;

	assert_false(events_end(q->events, &q->outcome, on_end, &q->heard));
	assert_false(events_end(NULL, &q->outcome, on_end, &q->heard));
}

/* ---- of a run ---- */

static int one_worker(void **state)
{
	struct exec_place *p = test_calloc(1, sizeof(*p));

	exec_place_make(p);
	p->opt.jobs = 1;
	exec_place_open(p);
	*state = p;
	return 0;
}

/* gate: the listener stops there at the first text; NULL: it does not. */
static void begin(struct exec_place *p, struct heard *heard, sem_t *gate, struct rye_call **ret)
{
	const struct rye_request req = { .verb = RYE_RUN,
					 .kind = RYE_TOOL,
					 .id = "t/a",
					 .message = SPAN("{}"),
					 .events = { on_event, heard } };

	heard_init(heard);
	heard->gate = gate;
	exec_start(p->exec, &req, on_end, heard, ret);
}

static void each_line_is_told_as_it_is_printed(void **state)
{
	struct exec_place *p = *state;
	struct rye_call *call;
	struct heard heard;

	exec_shell(p, "t/a.yaml", "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; echo x >&2",
		   "");
	begin(p, &heard, NULL, &call);
	heard_wait(&heard);
	assert_string_equal(heard.line.data, "S0 0:1\n 0:2\n 0:3\n 0:4\n 0:5\n 1:x\n end 0");
	rye_call_unref(call);
	buf_done(&heard.line);
}

/* Its whole output is not kept, nor told; that it goes on is. */
static void endless_output_is_bounded(void **state)
{
	struct exec_place *p = *state;
	struct rye_call *call;
	struct heard heard;

	exec_shell(p, "t/a.yaml", "yes", "  timeout: 2\n");
	begin(p, &heard, NULL, &call);
	heard_wait(&heard);
	assert_true(heard.bytes <= RYE_OUTPUT_MAX);
	assert_true(heard.bytes > 0 && heard.progress >= 1 && heard.progress <= 6);
	assert_non_null(strstr(heard.line.data, "S1 end"));
	rye_call_unref(call);
	buf_done(&heard.line);
}

/* The only worker does other runs while the listener of one does not return. */
static void a_stuck_listener_stalls_nothing(void **state)
{
	struct exec_place *p = *state;
	int64_t start = clock_ms();
	struct rye_call *call;
	struct heard heard;
	sem_t gate;

	sem_init(&gate, 0, 0);
	exec_shell(p, "t/a.yaml", "echo begun; echo $$ >mark", "");
	begin(p, &heard, &gate, &call);
	for (int i = 0; i < 20; i++) {
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_int_equal(said.code, RYE_OK);
	}
	assert_true(clock_ms() - start < 30000);
	sem_post(&gate);
	heard_wait(&heard);
	rye_call_unref(call);
	buf_done(&heard.line);
	sem_destroy(&gate);
}

#define queue_test(name) cmocka_unit_test_setup_teardown(name, queue_open, queue_close)
#define told_test(name) cmocka_unit_test_setup_teardown(name, one_worker, exec_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		queue_test(events_come_in_order),
		queue_test(characters_are_whole),
		queue_test(a_listener_that_lags_gets_everything),
		queue_test(without_an_event_there_is_no_teller),
		told_test(each_line_is_told_as_it_is_printed),
		told_test(endless_output_is_bounded),
		told_test(a_stuck_listener_stalls_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
