/* SPDX-License-Identifier: MIT */
/*
 * errand_end.c: the receipt of a run, of what its thread has recorded. It is made of the record alone, so
 * a worker that was killed before it could settle, and its successor, make the same. No lock.
 */
#include "worker/worker_inner.h"

#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

static int receipt_make(struct errand *errand, struct receipt *receipt, struct rye_err *err)
{
	memcpy(receipt->id, errand->claim.id, sizeof(receipt->id));
	memcpy(receipt->order, errand->claim.sha, sizeof(receipt->order));
	memcpy(receipt->node, errand->worker->node->card.sign.fp, KEY_FP);
	receipt->gen = errand->claim.gen;
	buf_clear(&errand->receipt);
	return receipt_sign(receipt, &errand->worker->key, errand->worker->vouched,
			    &errand->receipt, err);
}

/* The key of the user space that was made for the run, by which it has signed what a model wrote. */
static void receipt_signer(const struct errand *errand, const json_t *record,
			   struct receipt *receipt)
{
	const char *signature = json_str(record, "_signature"), *fp = strrchr(signature, ':');
	struct key_public key;
	char path[PATH_MAX + 128], owner[128];

	if (!fp)
		return;
	snprintf(path, sizeof(path), "%s/.ai/config/keys/automatic/%.16s.toml", errand->user,
		 fp + 1);
	if (!keystore_read(path, &key, owner, NULL))
		b64url_of(key.bytes, KEY_LEN, receipt->signer);
}

/* A verified member of thread.json is not needed here: this node has written it. */
static void receipt_of_record(const struct thread_read *read, struct receipt *receipt)
{
	const char *head = json_str(read->record, "transcript_head");

	if (strlen(head) == SHA_HEX - 1)
		memcpy(receipt->transcript_head, head, SHA_HEX);
	receipt->cost = json_object_get(read->record, "cost");
	if (!receipt->cost)
		receipt->cost = json_object_get(read->result, "cost");
	if (!json_is_object(receipt->cost))
		receipt->cost = NULL;
}

int errand_receipt_begun(struct errand *errand, const json_t *record, struct rye_err *err)
{
	auto_receipt struct receipt receipt = { .status = RECEIPT_BEGUN };

	clock_iso_us(receipt.began);
	receipt_signer(errand, record, &receipt);
	return receipt_make(errand, &receipt, err);
}

static const char *end_state(const char *status)
{
	return !strcmp(status, "cancelled") ? "cancelled" : "done";
}

/* What it has used is counted with its end; what was reserved and not used goes back. */
static void errand_account(struct errand *errand, const struct receipt *receipt)
{
	struct timespec began, ended;
	struct thread_cost cost = { 0 };
	struct board_used *more = &errand->used;

	*more = (struct board_used){ 0 };
	if (receipt->cost)
		thread_cost_read(receipt->cost, &cost);
	more->spend = cost.spend - errand->reserved;
	if (clock_iso_read(receipt->began, &began) && clock_iso_read(receipt->ended, &ended))
		more->seconds = (double)(ended.tv_sec - began.tv_sec) +
				(double)(ended.tv_nsec - began.tv_nsec) / 1e9;
}

int errand_receipt(struct errand *errand, struct rye_err *err)
{
	__attribute__((cleanup(threads_look_done))) struct threads_look look = THREADS_LOOK_INIT;
	auto_receipt struct receipt receipt = { .gen = 0 };
	int r = threads_look(errand->threads, errand->order.id, HAS_RECORD | HAS_RESULT, &look,
			     err);

	if (r)
		return r;
	snprintf(receipt.status, sizeof(receipt.status), "%s", look.row.status);
	snprintf(receipt.began, sizeof(receipt.began), "%s", look.row.created_at);
	snprintf(receipt.ended, sizeof(receipt.ended), "%s", look.row.completed_at);
	if (look.read.result_text)
		sha256_hex((struct rye_span){ look.read.result_text->data,
					      look.read.result_text->len },
			   receipt.result);
	memcpy(receipt.manifest, errand->left, sizeof(receipt.manifest));
	receipt_of_record(&look.read, &receipt);
	receipt_signer(errand, look.read.record, &receipt);
	r = receipt_make(errand, &receipt, err);
	if (r)
		return r;
	errand_account(errand, &receipt);
	errand->end = (struct board_end){ .state = end_state(look.row.status),
					  .receipt = errand->receipt.data,
					  .manifest = errand->left,
					  .used = &errand->used };
	errand_pieces_end(errand, &errand->end);
	return 0;
}

int errand_refusal(struct errand *errand, const struct rye_err *why, struct rye_err *err)
{
	const char *state = errand->cancelled ? "cancelled" : "refused";
	auto_receipt struct receipt receipt = { .gen = 0 };
	int r;

	snprintf(receipt.status, sizeof(receipt.status), "%s", state);
	clock_iso_us(receipt.began);
	clock_iso_us(receipt.ended);
	snprintf(receipt.code, sizeof(receipt.code), "%s", rye_code_name(why->code));
	rye_err_line(why, receipt.reason, sizeof(receipt.reason));
	errand->used = (struct board_used){ .spend = -errand->reserved };
	r = receipt_make(errand, &receipt, err);
	errand->end = (struct board_end){ .state = state,
					  .receipt = errand->receipt.data,
					  .used = errand->reserved > 0 ? &errand->used : NULL };
	return r;
}
