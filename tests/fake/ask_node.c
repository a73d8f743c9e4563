/* SPDX-License-Identifier: MIT */
/*
 * ask_node - stands in for a door: makes a node, signs orders and puts them on its board, and says what has
 * become of them. Everything a worker and a reader of receipts look at is what a door would have put there.
 *
 *   ask_node init DIR KEY               a node, and the key's owner as its principal
 *   ask_node admit DIR KEY NAME=VALUE   changes what the principal may
 *   ask_node submit DIR KEY REF SHA PROJECT PARAMETERS COUNT [again] [reserve=X]    prints the ids; a
 *                                       parameter n is the number of each
 *   ask_node sign …                     the same, which prints the envelopes and submits none; id=ID
 *   ask_node send DIR KEY RYEFS FILE COUNT    over a connection to the node's door; prints the answers
 *   ask_node cancel DIR KEY ID
 *   ask_node say DIR KEY ID TEXT
 *   ask_node state DIR KEY ID           state, status and reason, of a receipt that is checked
 *   ask_node file DIR KEY ID NAME
 *   ask_node counts DIR KEY             how many runs are in which state
 *   ask_node check DIR KEY              every receipt is good, and of its run
 *   ask_node spent DIR KEY
 *   ask_node post DIR KEY FILE          submits what `sign` has printed, a line each
 *   ask_node tally DIR KEY FILE         how many of the ids in it are in which state, and have a good receipt
 *   ask_node drone DIR KEY NAME FILE [MS]    a worker whose runs are a line of FILE each, and whose receipts are
 *                                       their ids: for counts that would take too long with processes; it
 *                                       looks by itself each MS
 */
#include "base/io.h"
#include "board/board.h"
#include "clock.h"
#include "door/door.h"
#include "order/order.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

struct ask {
	const char *dir;
	struct node_dir *node;
	struct board *board;
	struct key_secret key;
	int argc;
	char **argv;
	bool only_sign;
};

/* For one answer of a door. */
#define SEND_MS 20000

static int fail(const struct rye_err *err)
{
	fprintf(stderr, "ask_node: %s: %s\n", rye_code_name(err->code), err->msg);
	return 1;
}

static int ask_admit(struct ask *ask, struct rye_err *err)
{
	auto_json json_t *set = json_object();
	auto_principal struct principal who = { 0 };
	char path[64] = "/tmp/ask-node-XXXXXX";
	auto_close int fd = mkstemp(path);
	int r;

	for (int i = 0; i < ask->argc; i++) {
		char *eq = strchr(ask->argv[i], '=');

		if (!eq)
			return rye_fail(err, RYE_INVALID, "wanted NAME=VALUE");
		*eq = 0;
		json_sets(set, ask->argv[i], eq + 1);
	}
	r = io_write_all(fd, ask->key.pub.pem, strlen(ask->key.pub.pem));
	if (!r)
		r = principal_admit(ask->node, path, set, &who, err);
	unlink(path);
	return r;
}

/* To the board, or where `sign` is asked for to the caller. */
static int order_out(struct ask *ask, const struct order *order, const char *body,
		     struct rye_err *err)
{
	struct board_run run;
	auto_buf struct rye_buf labels = RYE_BUF_INIT;
	auto_json json_t *none = json_array();
	struct board_order row = { .id = order->id,
				   .principal = order->asker,
				   .sha = order->sha,
				   .body = body,
				   .again = order->again,
				   .queued = 100000,
				   .jobs = 100 };
	int r = 0;

	json_canonical(&labels, order->labels ? order->labels : none);
	row.labels = labels.data;
	r = ask->only_sign ? 0 : board_submit(ask->board, &row, &run, err);

	if (!r)
		printf("%s\n", ask->only_sign ? body : order->id);
	return r;
}

static int ask_submit(struct ask *ask, struct rye_err *err)
{
	auto_json json_t *parameters = json_parse(span_of(ask->argv[3]), 0, "parameters", err);
	auto_json json_t *labels = NULL, *above = NULL;
	struct order order = { .made = time(NULL), .parameters = parameters };
	int count = atoi(ask->argv[4]), r = 0;

	order.not_after = order.made + 3600;
	snprintf(order.ref, sizeof(order.ref), "%s", ask->argv[0]);
	snprintf(order.item_sha, sizeof(order.item_sha), "%s", ask->argv[1]);
	snprintf(order.project, sizeof(order.project), "%s", ask->argv[2]);
	memcpy(order.node, ask->node->card.sign.fp, KEY_FP);
	for (int i = 5; i < ask->argc; i++) {
		order.again |= !strcmp(ask->argv[i], "again");
		if (!strncmp(ask->argv[i], "manifest=", 9))
			snprintf(order.manifest, sizeof(order.manifest), "%s", ask->argv[i] + 9);
		if (!strncmp(ask->argv[i], "label=", 6))
			order.labels = labels = json_pack("[s]", ask->argv[i] + 6);
		if (!strncmp(ask->argv[i], "above=", 6))
			order.above = above = json_pack("[[s]]", ask->argv[i] + 6);
		if (!strncmp(ask->argv[i], "reserve=", 8))
			order.reserve = atof(ask->argv[i] + 8);
	}
	for (int i = 0; !r && i < count; i++) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		if (json_object_get(parameters, "n"))
			json_object_set_new(parameters, "n", json_integer(i));
		id_uuid(order.id);
		if (ask->argc > 5 && !strncmp(ask->argv[5], "id=", 3))
			snprintf(order.id, sizeof(order.id), "%s", ask->argv[5] + 3);
		r = order_sign(&order, &ask->key, err);
		if (!r)
			r = order_put(&order, &text, err);
		if (!r)
			r = order_out(ask, &order, text.data, err);
	}
	order_done(&order);
	return r;
}

static int ask_sign(struct ask *ask, struct rye_err *err)
{
	ask->only_sign = true;
	return ask_submit(ask, err);
}

/* One order over one connection. */
static int send_one(struct conn *conn, struct rye_span order, struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	uint32_t stream = conn_stream(conn);
	int r = conn_send(conn, FRAME_ORDER, stream, order, err);

	if (!r)
		r = conn_recv(conn, clock_ms() + SEND_MS, &frame, err);
	if (!r && frame.type == FRAME_ERR)
		r = frame_fault_read(&frame, err);
	if (!r)
		printf("%.*s\n", (int)frame.body->len, frame.body->data);
	return r;
}

static int ask_send(struct ask *ask, struct rye_err *err)
{
	auto_close int fd = open(ask->argv[1], O_RDONLY | O_CLOEXEC);
	auto_blob struct rye_blob *order = NULL;
	auto_conn struct conn *conn = NULL;
	auto_json json_t *ready = NULL;
	int64_t until = clock_ms() + SEND_MS;
	struct hello hello = { 0 };
	struct card card;
	struct stat st;
	char url[1024];
	int r = fd < 0 ? -ENOENT : io_read_fd(fd, ORDER_MAX, &order, &st);

	if (r < 0)
		return rye_fail_sys(err, -r, "%s", ask->argv[1]);
	snprintf(url, sizeof(url), "command:%s node --stdio %s", ask->argv[0], ask->dir);
	r = conn_open(url, &conn, err);
	if (!r)
		r = hello_node(conn, until, &hello, &card, err);
	if (!r)
		r = hello_auth(conn, &hello, &ask->key, until, &ready, err);
	for (int i = 0; !r && i < atoi(ask->argv[2]); i++)
		r = send_one(conn, (struct rye_span){ order->data, order->len }, err);
	return r;
}

static int ask_cancel(struct ask *ask, struct rye_err *err)
{
	struct board_run run;

	return board_cancel(ask->board, ask->key.pub.fp, ask->argv[0], &run, err);
}

static int ask_say(struct ask *ask, struct rye_err *err)
{
	int64_t n;

	return board_say(ask->board, ask->key.pub.fp, ask->argv[0], ask->argv[1], &n, err);
}

static int checked(struct ask *ask, const struct board_run *run, struct rye_span text,
		   struct receipt *ret, struct rye_err *err)
{
	const struct receipt_want want = { &ask->node->card.sign, run->id, run->sha };
	int r = receipt_read(text, ret, err);

	return r ? r : receipt_check(ret, &want, err);
}

static int ask_state(struct ask *ask, struct rye_err *err)
{
	auto_receipt struct receipt receipt = { .gen = 0 };
	struct board_run run;
	int r = board_find(ask->board, ask->key.pub.fp, ask->argv[0], &run, err);

	if (!r && run.receipt)
		r = checked(ask, &run, (struct rye_span){ run.receipt->data, run.receipt->len },
			    &receipt, err);
	if (!r)
		printf("%s %s%s%s%s\n", run.state, receipt.status, *receipt.reason ? ": " : "",
		       receipt.reason, run.late ? " late" : "");
	board_run_done(&run);
	return r;
}

static int ask_file(struct ask *ask, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	const struct board_part part = { ask->argv[0], ask->argv[1], 0 };
	int r = board_read(ask->board, &part, 16u << 20, &bytes, err);

	fwrite(buf_span(&bytes).ptr, 1, bytes.len, stdout);
	return r;
}

struct states {
	const char *names[7];
	int n[7];
	int64_t oldest;
	int told;
};

static int count_state(void *arg, const struct board_run *run)
{
	struct states *states = arg;

	for (int i = 0; i < 7; i++)
		states->n[i] += !strcmp(states->names[i], run->state);
	states->oldest = run->made;
	states->told++;
	return 0;
}

/* Of one principal; at most so many as one listing tells. */
static int ask_counts(struct ask *ask, struct rye_err *err)
{
	struct states states = { { "queued", "running", "silent", "lost", "done", "refused",
				   "cancelled" } };
	int r = board_list(ask->board, ask->key.pub.fp, 0, count_state, &states, err);

	for (int i = 0; !r && i < 7; i++)
		printf("%s=%d ", states.names[i], states.n[i]);
	printf("\n");
	return r;
}

struct ids {
	char v[1000][ID_UUID_MAX];
	int n;
};

static int note_id(void *arg, const struct board_run *run)
{
	struct ids *ids = arg;

	if (ids->n < 1000)
		memcpy(ids->v[ids->n++], run->id, ID_UUID_MAX);
	return 0;
}

static int ask_check(struct ask *ask, struct rye_err *err)
{
	struct ids *ids = calloc(1, sizeof(*ids));
	int good = 0, r = board_list(ask->board, ask->key.pub.fp, 0, note_id, ids, err);

	for (int i = 0; !r && i < ids->n; i++) {
		auto_receipt struct receipt receipt = { .gen = 0 };
		struct board_run run;

		r = board_find(ask->board, ask->key.pub.fp, ids->v[i], &run, err);
		if (!r && run.receipt) {
			r = checked(ask, &run,
				    (struct rye_span){ run.receipt->data, run.receipt->len },
				    &receipt, err);
			good += !r;
		}
		board_run_done(&run);
	}
	free(ids);
	printf("%d receipts are good\n", good);
	return r;
}

static int ask_spent(struct ask *ask, struct rye_err *err)
{
	struct board_used used;
	int r = board_account(ask->board, ask->key.pub.fp, NULL, &used, err);

	printf("%.2f\n", used.spend);
	return r;
}

/* fn for each line. */
static int each_line(struct ask *ask, const char *path,
		     int (*fn)(struct ask *ask, char *line, void *arg, struct rye_err *err),
		     void *arg, struct rye_err *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int r = file ? 0 : rye_fail_sys(err, errno, "%s", path);

	while (!r && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		r = fn(ask, line, arg, err);
	}
	free(line);
	if (file)
		fclose(file);
	return r;
}

/* What the database cannot answer now it is asked again, as a client does. */
static int patiently(struct rye_err *err, int r)
{
	if (r && (err->code == RYE_IO || err->code == RYE_BUSY)) {
		usleep(50000); /* a database that has ended says nothing when it is back */
		return 1;
	}
	return r;
}

static int post_line(struct ask *ask, char *line, void *arg, struct rye_err *err)
{
	struct order order = { .made = 0 };
	int r = order_read(span_of(line), &order, err);

	while (!r) {
		r = patiently(err, order_out(ask, &order, line, err));
		if (r <= 0)
			break;
		r = 0;
	}
	order_done(&order);
	return r;
}

static int ask_post(struct ask *ask, struct rye_err *err)
{
	return each_line(ask, ask->argv[0], post_line, NULL, err);
}

struct tally {
	struct states states;
	int good;
};

static int tally_line(struct ask *ask, char *line, void *arg, struct rye_err *err)
{
	struct tally *tally = arg;
	auto_receipt struct receipt receipt = { .gen = 0 };
	struct board_run run;
	int r = board_find(ask->board, ask->key.pub.fp, line, &run, err);

	if (r)
		return r;
	count_state(&tally->states, &run);
	if (run.receipt)
		tally->good += !strcmp(run.receipt->data, run.id) ||
			       !checked(ask, &run,
					(struct rye_span){ run.receipt->data, run.receipt->len },
					&receipt, NULL);
	board_run_done(&run);
	return 0;
}

static int ask_tally(struct ask *ask, struct rye_err *err)
{
	struct tally tally = { { { "queued", "running", "silent", "lost", "done", "refused",
				   "cancelled" } } };
	int r = each_line(ask, ask->argv[0], tally_line, &tally, err);

	for (int i = 0; !r && i < 7; i++)
		printf("%s=%d ", tally.states.names[i], tally.states.n[i]);
	printf("good=%d\n", tally.good);
	return r;
}

static int same_id(struct ask *ask, char *line, void *arg, struct rye_err *err)
{
	return strcmp(line, arg) ? 0 : 1;
}

/* Its effect, once: whether it was, its own file says, as executed.db does for a worker. */
static int drone_run(struct ask *ask, struct board_claim *claim, bool taken_up, int fd,
		     struct rye_err *err)
{
	struct board_end end = { "done", claim->run.id };
	enum board_settled is;
	char line[ID_UUID_MAX + 1];
	int r = 0;

	snprintf(line, sizeof(line), "%s\n", claim->run.id);
	if (!taken_up || each_line(ask, ask->argv[1], same_id, claim->run.id, err) <= 0)
		r = io_write_all(fd, line, strlen(line));
	while (!r) {
		r = patiently(err, board_settle(ask->board, &claim->run, &end, &is, err));
		if (r <= 0)
			break;
		r = 0;
	}
	return r;
}

static int ask_drone(struct ask *ask, struct rye_err *err)
{
	const struct board_seat seat = { ask->argv[0], "[]", 1000, 2000 };
	auto_close int fd = open(ask->argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int64_t expire_at = 0, look_ms = ask->argc > 2 ? atoi(ask->argv[2]) : seat.lease_ms;
	int r = 0;

	/* unsure: a claim whose answer was not heard, or of one that was killed, may be its own */
	for (bool unsure = true; r >= 0;) {
		auto_claim struct board_claim claim = { .body = NULL };
		bool taken_up = false;

		if (clock_ms() >= expire_at) {
			board_expire(ask->board, &seat, err);
			expire_at = clock_ms() + seat.lease_ms;
		}
		r = unsure ? board_claimed(ask->board, &seat, 0, &claim, err) : 0;
		taken_up = r > 0;
		unsure = r != 0;
		if (!r)
			r = board_claim(ask->board, &seat, &claim, err);
		if (r > 0)
			r = drone_run(ask, &claim, taken_up, fd, err);
		else if (!r)
			board_wait(ask->board, -1, BOARD_ORDER, look_ms);
		if (r < 0) {
			unsure = true;
			r = patiently(err, r);
		}
	}
	return r;
}

static const struct ask_row {
	const char *name;
	int args;
	int (*fn)(struct ask *ask, struct rye_err *err);
} rows[] = {
	{ "init", 0, ask_admit },    { "admit", 1, ask_admit },	  { "submit", 5, ask_submit },
	{ "cancel", 1, ask_cancel }, { "say", 2, ask_say },	  { "state", 1, ask_state },
	{ "file", 2, ask_file },     { "counts", 0, ask_counts }, { "check", 0, ask_check },
	{ "post", 1, ask_post },     { "tally", 1, ask_tally },	  { "drone", 2, ask_drone },
	{ "spent", 0, ask_spent },   { "sign", 5, ask_sign },	  { "send", 3, ask_send },
};

static int begin(struct ask *ask, const char *verb, const char *key, struct rye_err *err)
{
	auto_blob struct rye_blob *pem = NULL;
	char fp[KEY_FP];
	auto_close int fd = open(key, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool made;
	int r = fd < 0 ? -ENOENT : io_read_fd(fd, KEY_PEM_MAX, &pem, &st);

	if (r < 0)
		return rye_fail_sys(err, -r, "%s", key);
	r = key_secret_parse((struct rye_span){ pem->data, pem->len }, &ask->key, err);
	if (!r && !strcmp(verb, "init"))
		r = node_init(ask->dir, fp, &made, err);
	if (!r)
		r = node_open(ask->dir, &ask->node, err);
	return r ? r : node_board(ask->node, &ask->board, err);
}

int main(int argc, char **argv)
{
	struct ask ask = { .argc = argc - 4, .argv = argv + 4 };
	struct rye_err err = { 0 };
	int r = 2;

	if (argc < 4 || sodium_init() < 0)
		return 2;
	ask.dir = argv[2];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].name, argv[1]) != 0 || ask.argc < rows[i].args)
			continue;
		r = begin(&ask, argv[1], argv[3], &err);
		if (!r)
			r = rows[i].fn(&ask, &err);
		r = r ? fail(&err) : 0;
	}
	board_close(ask.board);
	node_close(ask.node);
	return r;
}
