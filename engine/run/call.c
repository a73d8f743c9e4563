/* SPDX-License-Identifier: MIT */
/*
 * Reference counting, cancelling and answering of calls. The call's lock guards its eventfd;
 * nothing is called while it is held. Callers: the queue's workers, rye_start, the thread that
 * cancels. The answer is told exactly once, by the first of them.
 */
#include "run/run.h"

#include "process/process.h"
#include "scope.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

void call_init(struct rye_call *call, const struct call_ops *ops, rye_done_fn fn, void *arg)
{
	atomic_init(&call->refs, 2);
	call->ops = ops;
	call->fn = fn;
	call->arg = arg;
	call->wake = -1;
	pthread_mutex_init(&call->lock, NULL);
}

struct rye_call *call_new(const struct call_ops *ops, void *owner, rye_done_fn fn, void *arg)
{
	struct rye_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call_init(call, ops, fn, arg);
	call->owner = owner;
	return call;
}

void call_ref(struct rye_call *call)
{
	atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
}

void rye_call_unref(struct rye_call *call)
{
	if (!call || atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1)
		return;
	events_free(call->events);
	if (call->wake >= 0)
		close(call->wake);
	pthread_mutex_destroy(&call->lock);
	if (call->ops->destroy)
		call->ops->destroy(call);
	else
		free(call);
}

static void call_ring(int fd)
{
	if (fd >= 0)
		(void)!eventfd_write(fd, 1);
}

int call_wake(struct rye_call *call)
{
	GUARD(&call->lock);
	if (call->wake < 0)
		call->wake =
			eventfd(atomic_load(&call->cancel) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
	return call->wake;
}

bool call_pause(struct rye_call *call, int64_t ms)
{
	struct pollfd wake = { call_wake(call), POLLIN, 0 };

	if (ms > 0)
		(void)!poll(&wake, 1, (int)ms);
	return call_cancelled(call) == RYE_OK;
}

enum rye_code call_cancelled(struct rye_call *call)
{
	return (enum rye_code)atomic_load(&call->cancel);
}

void rye_call_cancel(struct rye_call *call, enum rye_code code)
{
	int none = 0;

	if (!call || !atomic_compare_exchange_strong(&call->cancel, &none, (int)code))
		return;
	{
		GUARD(&call->lock);
		call_ring(call->wake);
	}
	if (call->ops->cancelled)
		call->ops->cancelled(call);
}

bool rye_call_detach(struct rye_call *call, char thread_id[64])
{
	if (!call->ops->detach || atomic_load(&call->done) || atomic_load(&call->cancel))
		return false;
	return call->ops->detach(call, thread_id);
}

static void tell_end(void *arg, const struct rye_outcome *outcome)
{
	struct rye_call *call = arg;

	call->fn(call->arg, outcome);
	rye_call_unref(call);
}

void call_finish(struct rye_call *call, const struct rye_outcome *outcome)
{
	if (atomic_exchange(&call->done, true))
		return;
	if (!events_end(call->events, outcome, tell_end, call))
		tell_end(call, outcome);
}
