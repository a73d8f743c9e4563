/* SPDX-License-Identifier: MIT */
/*
 * The end of a run that was carried out elsewhere: its receipt has to be one of the pinned node, for this
 * very order, and the result the one that the receipt names. What does not fit is not shown as a result.
 */
#include "away/away_inner.h"

#include "base/io.h"
#include "base/sha.h"
#include "bounds.h"
#include "memory.h"
#include "record/record.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Of the thread there, beside its result; of a tool there are none. */
static const char *const end_files[] = { "thread.json", "capabilities.md", "diagnostics.json" };

/* Beside the result, which is written last: without that the run is followed again. */
static int end_write(const struct away *away, const char *name, const struct rye_blob *text,
		     struct rye_err *err)
{
	int r = io_replace_before_at(away->ask->dir, name,
				     (struct rye_span){ text->data, text->len }, 0600);

	return r < 0 ? rye_fail_sys(err, -r, "%s", name) : 0;
}

static int end_receipt(const struct away *away, struct receipt *ret, struct rye_err *err)
{
	const struct receipt_want want = { .node = &away->link.pin.key,
					   .id = away->id,
					   .order = away->order.sha };
	const char *text = json_str(away->stands, "receipt");
	auto_blob struct rye_blob *kept = rye_blob_new(text, strlen(text));
	int r;

	if (!*text)
		return rye_fail(err, RYE_UNSIGNED,
				"%s says that the run is over, without a receipt",
				away->remote.name);
	r = receipt_read(span_of(text), ret, err);
	if (!r)
		r = receipt_check(ret, &want, err);
	if (r)
		return rye_wrap(err, "%s: the receipt", away->remote.name);
	return kept ? end_write(away, "receipt.json", kept, err) : memory_fail(err);
}

static int end_result(struct away *away, const struct receipt *receipt, struct rye_blob **ret,
		      struct rye_err *err)
{
	char sha[SHA_HEX];
	int r = away_fetch(away, "result.json", ret, err);

	if (r)
		return r;
	sha256_hex((struct rye_span){ (*ret)->data, (*ret)->len }, sha);
	if (!strcmp(sha, receipt->result))
		return 0;
	rye_blob_unref(*ret);
	*ret = NULL;
	return rye_fail(err, RYE_MODIFIED, "%s: the result is not the one that its receipt names",
			away->remote.name);
}

/* Of a run that has no result: refused, lost, cancelled before it began. */
static struct rye_blob *end_sentence(const struct away *away, const struct receipt *receipt)
{
	auto_json json_t *doc = json_object();
	const char *state = json_str(away->stands, "state");

	json_sets(doc, "status", "error");
	json_sets(doc, "code", !strcmp(state, "lost") ? rye_code_name(RYE_LOST) : receipt->code);
	if (!strcmp(state, "lost"))
		json_set(doc, "error",
			 json_sprintf("%s: the worker has not been heard since %s; what the tool "
				      "did until then is not known; it was not started again",
				      away->remote.name, json_str(away->stands, "heard")));
	else
		json_set(doc, "error",
			 json_sprintf("%s: %s", away->remote.name,
				      *receipt->reason ? receipt->reason : state));
	return json_blob(doc, false);
}

static enum rye_code end_code(const struct rye_blob *reply)
{
	auto_json json_t *doc = json_parse((struct rye_span){ reply->data, reply->len },
					   JSON_LOAD_LAST_WINS, "result.json", NULL);
	enum rye_code code = rye_code_named(json_str(doc, "code"));

	if (doc && (strcmp(json_str(doc, "status"), "error") != 0 ||
		    !strcmp(json_str(doc, "state"), "continued")))
		return RYE_OK;
	return code == RYE_OK ? RYE_TOOL_FAILED : code;
}

static int end_others(struct away *away, struct rye_err *err)
{
	/* each is a question to the node and its answer */
	size_t n = away->order.fork ? ARRAY_SIZE(end_files) : 0;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		auto_blob struct rye_blob *text = NULL;

		r = away_fetch(away, end_files[i], &text, err);
		if (r == -(int)RYE_NOT_FOUND)
			r = 0;
		else if (!r)
			r = end_write(away, end_files[i], text, err);
	}
	return r;
}

int away_vouch(const struct away *away, const struct receipt *receipt, struct rye_err *err)
{
	auto_key struct key_secret key = { 0 };
	const struct record record = { .ai = -1,
				       .dir = away->ask->dir,
				       .id = away->id,
				       .key = &key };
	unsigned char bytes[KEY_LEN];
	struct key_public signer;
	int r;

	if (!b64url_to(span_of(receipt->signer), bytes, sizeof(bytes)))
		return rye_fail(err, RYE_INVALID, "%s: the receipt's signer is no key",
				away->remote.name);
	key_public_of(bytes, &signer);
	r = keystore_automatic(away->items, &key, err);
	return r ? r : record_vouch(&record, away->remote.name, signer.pem, err);
}

/* A model's thread: its records have to be those of the receipt. */
static int end_vouch(const struct away *away, const struct receipt *receipt, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;

	if (!*receipt->signer || io_read_at(away->ask->dir, "thread.json", RYE_BUF_CAP, &text))
		return 0;
	doc = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
			 "thread.json", NULL);
	if (strcmp(json_str(doc, "transcript_head"), receipt->transcript_head) != 0)
		return rye_fail(err, RYE_MODIFIED,
				"%s: thread.json is not the one that the receipt is of",
				away->remote.name);
	return away_vouch(away, receipt, err);
}

static int end_lost(struct away *away, struct rye_err *err)
{
	away->open = true;
	return remote_lost_note(away->items, away->remote.name, &away->order, err);
}

static int end_output(struct away *away, struct away_end *ret, struct rye_err *err)
{
	int r = away_fetch(away, "output", &ret->outcome.output, err);

	return r == -(int)RYE_NOT_FOUND ? 0 : r;
}

int away_take(struct away *away, struct away_end *ret, struct rye_err *err)
{
	auto_receipt struct receipt receipt = { .gen = 0 };
	bool lost = !strcmp(json_str(away->stands, "state"), "lost");
	int r = lost ? 0 : end_receipt(away, &receipt, err);

	if (!r && receipt.cost)
		thread_cost_read(receipt.cost, &away->cost);
	if (lost)
		r = end_lost(away, err);
	if (!r && *receipt.result)
		r = end_result(away, &receipt, &ret->outcome.reply, err);
	if (!r && *receipt.result)
		r = end_others(away, err);
	if (!r && *receipt.result)
		r = end_output(away, ret, err);
	if (!r)
		r = end_vouch(away, &receipt, err);
	/* last: a node that never ends to send files has told the rest */
	if (!r)
		r = away_changes(away, &receipt, err);
	if (r)
		return r;
	if (!*receipt.result)
		ret->outcome.reply = end_sentence(away, &receipt);
	if (!ret->outcome.reply)
		return memory_fail(err);
	ret->outcome.code = end_code(ret->outcome.reply);
	snprintf(ret->status, sizeof(ret->status), "%s",
		 *receipt.result ? receipt.status :
		 lost		 ? "error" :
				   json_str(away->stands, "state"));
	if (!strcmp(ret->status, "refused"))
		snprintf(ret->status, sizeof(ret->status), "error");
	return 0;
}
