/* SPDX-License-Identifier: MIT */
/*
 * From the request of a thread to the signed order, and to the file that keeps it. The item is loaded
 * and verified here: the order names the bytes that were.
 */
#include "away/away_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AWAY_DAY_S (24 * 60 * 60)

static void outbox_path(const struct away *away, char ret[ID_UUID_MAX + 16])
{
	snprintf(ret, ID_UUID_MAX + 16, "outbox/%.*s", ID_UUID_MAX - 1, away->id);
}

/* What is sent again, if it was kept. */
static int outbox_read(struct away *away, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(away->items, away->remote.name, false);
	char path[ID_UUID_MAX + 16];
	int r;

	outbox_path(away, path);
	r = dir < 0 ? dir : io_read_at(dir, path, ORDER_MAX, &away->envelope);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? rye_fail_sys(err, -r, "state/remotes/%s/%s", away->remote.name, path) : 1;
}

static int outbox_write(struct away *away, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(away->items, away->remote.name, true);
	char path[ID_UUID_MAX + 16];
	int r = dir < 0 ? dir : io_mkdirs_at(dir, "outbox", 0700);

	outbox_path(away, path);
	if (r >= 0)
		r = io_create_at(dir, path,
				 (struct rye_span){ away->envelope->data, away->envelope->len },
				 0600);
	return r < 0 ? rye_fail_sys(err, -r, "state/remotes/%s/%s", away->remote.name, path) : 0;
}

void away_order_drop(const struct away *away)
{
	auto_close int dir = remote_state_dir(away->items, away->remote.name, false);
	char path[ID_UUID_MAX + 16];

	outbox_path(away, path);
	if (dir >= 0)
		unlinkat(dir, path, 0);
}

/* What an order is made of besides its texts. */
struct making {
	struct away_secrets secrets;
	struct away_closure closure;
	char *sealed;
};

static void making_done(struct making *making)
{
	away_secrets_done(&making->secrets);
	away_closure_done(&making->closure);
	free(making->sealed);
}
#define auto_making __attribute__((cleanup(making_done)))

static int order_item(struct away *away, struct order *order, struct making *making,
		      struct rye_err *err)
{
	auto_item struct rye_item *item = NULL;
	struct item_ask ask = { 0 };
	int r;

	ask.kind = id_split(json_str(away->request, "item_id"), &ask.id);
	if (ask.kind == RYE_KIND__MAX)
		return rye_fail(err, RYE_INVALID, "the request names no item");
	r = rye_load(away->items, &ask, &item, err);
	if (r)
		return r;
	snprintf(order->ref, sizeof(order->ref), "%s:%s", rye_kind_name(ask.kind), item->id);
	memcpy(order->item_sha, item->verdict.sha256, sizeof(order->item_sha));
	order->again = json_is_true(meta_get(item, "idempotent"));
	r = away_closure(away, item, &making->closure, err);
	if (!r)
		r = away_secrets(away, item, &making->secrets, err);
	order->signers = making->closure.signers;
	order->items = making->closure.items;
	order->secrets = making->secrets.names;
	return r;
}

/* Once it is signed: the box is of this order alone. */
static int order_close(const struct away *away, struct order *order, struct making *making,
		       struct rye_err *err)
{
	int r;

	if (!json_array_size(order->secrets))
		return 0;
	r = order_seal(order, making->secrets.values, away->link.pin.box, &making->sealed, err);
	order->sealed = making->sealed;
	return r;
}

static void order_terms(const struct away *away, struct order *order)
{
	const json_t *request = away->request;
	const json_t *authority = json_object_get(away->ask->doc, "authority");
	const json_t *above = json_object_get(authority, "capabilities");

	snprintf(order->id, sizeof(order->id), "%s", away->id);
	snprintf(order->node, sizeof(order->node), "%s", away->link.pin.key.fp);
	snprintf(order->project, sizeof(order->project), "%s", away->remote.project);
	snprintf(order->model, sizeof(order->model), "%s", json_str(request, "model"));
	snprintf(order->previous, sizeof(order->previous), "%s",
		 json_str(away->ask->doc, "previous_id"));
	order->fork = !strcmp(json_str(request, "thread"), "fork");
	order->parameters = json_object_get(request, "parameters");
	order->limit_overrides = json_object_get(request, "limit_overrides");
	order->above = above ? above : json_object_get(request, "within");
	order->before = json_object_get(away->ask->doc, "before");
	order->labels = away->remote.labels;
	order->made = time(NULL);
	order->not_after = order->made + (int64_t)ORDER_DAYS * AWAY_DAY_S;
}

/* What a person goes on with an ended thread with. */
static json_t *order_said(const struct away *away)
{
	json_t *text = json_object_get(away->ask->doc, "continuation_message");

	return text ? json_pack("[O]", text) : json_array();
}

static int order_make(struct away *away, struct rye_err *err)
{
	auto_key struct key_secret key = { 0 };
	auto_making struct making making = { .sealed = NULL };
	auto_order struct order order = { .made = 0 };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *said = order_said(away);
	int r = keystore_signer(away->items, &key, err);

	if (!r)
		r = order_item(away, &order, &making, err);
	if (r)
		return r;
	order_terms(away, &order);
	order.message = said;
	r = money_hold(away, &order, err);
	if (!r)
		r = away_push(away, &order, err);
	if (!r)
		r = order_sign(&order, &key, err);
	if (!r)
		r = order_close(away, &order, &making, err);
	if (!r)
		r = order_put(&order, &text, err);
	if (r)
		return r;
	away->envelope = buf_blob(&text);
	return away->envelope ? outbox_write(away, err) : memory_fail(err);
}

int away_order(struct away *away, struct rye_err *err)
{
	int r = outbox_read(away, err);

	if (r < 0)
		return r;
	if (!r && away->again)
		return rye_fail(
			err, RYE_LOST,
			"%s: the order of this run is not here any more; what came of it is not known",
			away->remote.name);
	r = r ? 0 : order_make(away, err);
	return r ? r :
		   order_read((struct rye_span){ away->envelope->data, away->envelope->len },
			      &away->order, err);
}
