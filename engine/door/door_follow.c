/* SPDX-License-Identifier: MIT */
/*
 * FOLLOW: bytes of a file of a run, from an offset on, until the run is over. A follower is one thread, which
 * looks at the board until its stream is dropped; of a run that is over all is there, and told at once.
 * It shares with the door's thread only `stop` and `over`.
 */
#include "door/door_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

/* Of one frame. */
#define FOLLOW_PART (256u << 10)
/* What is printed there is told within that time; a wake-up may have gone to another waiter. */
#define FOLLOW_LOOK_MS 100
/* So often it is made sure that a worker is there. */
#define FOLLOW_WORKER_MS 1000
#define FOLLOW_FILE_MAX 256

struct run_follow {
	struct run_follow *next; /* of session->follows */
	struct door_session *session;
	uint32_t stream;
	char run[ID_UUID_MAX], file[FOLLOW_FILE_MAX];
	int64_t off;
	bool once; /* it is asked how the run stands, and not waited for */
	pthread_t thread;
	bool started;
	_Atomic bool over; /* it has answered */
	_Atomic bool stop;
	int wake; /* eventfd, readable once it is to stop */
};

/* All that is there. */
static int follow_tell(struct run_follow *follow, struct rye_err *err)
{
	const struct board_part part = { follow->run, follow->file, 0 };
	int r = 0;

	while (!r && !follow->stop) {
		auto_buf struct rye_buf bytes = RYE_BUF_INIT;
		struct board_part from = part;

		from.off = follow->off;
		r = board_read(follow->session->board, &from, FOLLOW_PART, &bytes, err);
		if (r || !bytes.len)
			break;
		r = session_data(follow->session, follow->stream, buf_span(&bytes), err);
		follow->off += (int64_t)bytes.len;
	}
	return r;
}

/* 1: all of the file was told that will be: the run is over, or it is asked for what there is. */
static int follow_look(struct run_follow *follow, struct rye_err *err)
{
	struct door_session *session = follow->session;
	auto_json json_t *reply = NULL;
	struct board_run run;
	bool over;
	/* before the bytes: those of its end are there when it is over */
	int r = board_find(session->board, session->who.key.fp, follow->run, &run, err);

	if (r)
		return r;
	over = board_is_over(run.state) || follow->once;
	r = follow_tell(follow, err);
	/* with its receipt: nothing more has to be asked */
	if (!r && over)
		reply = run_json(&run);
	board_run_done(&run);
	if (r || !over)
		return r;
	r = session_reply(session, follow->stream, reply, err);
	return r ? r : 1;
}

/* What the board cannot answer now it may answer later. */
static bool is_passing(const struct rye_err *err)
{
	return err->code == RYE_BUSY || err_scarce(err);
}

static void *follow_thread(void *arg)
{
	struct run_follow *follow = arg;
	struct door_session *session = follow->session;
	struct rye_err err = { 0 };
	int64_t worker_at = clock_ms() + FOLLOW_WORKER_MS;
	int r = 0;

	while (!follow->stop && (r = follow_look(follow, &err)) <= 0) {
		if (r < 0 && !is_passing(&err))
			break;
		err = (struct rye_err){ 0 };
		if (clock_ms() >= worker_at) {
			door_worker(session->node);
			worker_at = clock_ms() + FOLLOW_WORKER_MS;
		}
		board_wait(session->board, follow->wake, BOARD_TOLD, FOLLOW_LOOK_MS);
	}
	if (r < 0)
		conn_send_fault(session->conn, follow->stream, &err);
	follow->over = true;
	return NULL;
}

/* On the door's thread. */
static void follow_free(void *own)
{
	struct run_follow *follow = own;
	struct run_follow **at = &follow->session->follows;

	follow->stop = true;
	eventfd_write(follow->wake, 1);
	if (follow->started)
		pthread_join(follow->thread, NULL);
	while (*at && *at != follow)
		at = &(*at)->next;
	if (*at)
		*at = follow->next;
	auto_close_(&follow->wake);
	free(follow);
}

/* Those that have answered make room. */
static void follow_sweep(struct door_session *session)
{
	for (struct run_follow *follow = session->follows, *next; follow; follow = next) {
		next = follow->next;
		if (follow->over)
			session_drop(session, follow->stream);
	}
}

static int follow_make(struct door_session *session, const json_t *doc, uint32_t stream,
		       struct run_follow **ret, struct rye_err *err)
{
	const char *file = json_str(doc, "file");
	struct run_follow *follow;

	if (!*file || strlen(file) >= FOLLOW_FILE_MAX || strchr(file, '/') ||
	    json_int(doc, "offset", 0) < 0)
		return rye_fail(err, RYE_INVALID,
				"wanted is {\"run\", \"file\": a name, \"offset\": from 0 on}");
	follow = memory_note(calloc(1, sizeof(*follow)));
	if (!follow)
		return memory_fail(err);
	follow->session = session;
	follow->stream = stream;
	follow->off = json_int(doc, "offset", 0);
	follow->once = json_flag(doc, "once", false);
	snprintf(follow->run, sizeof(follow->run), "%s", json_str(doc, "run"));
	snprintf(follow->file, sizeof(follow->file), "%s", file);
	follow->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (follow->wake < 0) {
		free(follow);
		return rye_fail_sys(err, errno, "cannot follow");
	}
	*ret = follow;
	return 0;
}

static int follow_start(struct run_follow *follow, struct rye_err *err)
{
	struct door_session *session = follow->session;
	int r = session_keep(session, follow->stream, follow, follow_free, err);

	if (r) {
		follow_free(follow);
		return r;
	}
	follow->next = session->follows;
	session->follows = follow;
	r = pthread_create(&follow->thread, NULL, follow_thread, follow);
	follow->started = !r;
	if (!r)
		return 0;
	session_drop(session, follow->stream);
	return rye_fail_sys(err, r, "cannot follow");
}

int door_follow(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	struct run_follow *follow = NULL;
	int r = frame_run(frame, &doc, err);

	follow_sweep(session);
	if (!r)
		r = session_board(session, err);
	if (!r)
		r = follow_make(session, doc, frame->stream, &follow, err);
	if (r)
		return r;
	r = follow_look(follow, err);
	if (!r)
		return follow_start(follow, err);
	follow_free(follow);
	return r < 0 ? r : 0;
}
