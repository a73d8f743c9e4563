/* SPDX-License-Identifier: MIT */
/*
 * fuzz_named.c - request.json written in pieces at places that the input chooses, resized in
 * between; and the whole input as a draft that is renamed. What is run is one JSON object, what is
 * read back is what was written, the same message runs once, and the store's bytes add up.
 *
 * Input: pieces of a head of two bytes and their bytes. The head says where: 0 at the beginning, 1
 * behind the last piece, 2 a resize, else at that place; and how many bytes.
 */
#include "talk/named.h"

#include "parse/parse.h"
#include "scope.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_object(const struct feed *feed)
{
	struct rye_span text = feed_message(feed);
	struct rye_err err = { 0 };
	json_t *doc = message_read(text, RYE_FORM_JSON, &err);

	if (!text.len || text.ptr[0] != '{' || (doc ? !json_is_object(doc) : !err.code))
		abort();
	json_decref(doc);
}

static void say(struct named_file *file, size_t off, struct rye_span bytes)
{
	struct named_wrote wrote, again;
	size_t len;

	named_file_say(file, off, bytes, &wrote);
	len = file->len;
	if (wrote.complete && wrote.sys)
		abort();
	if (!wrote.complete) {
		rye_blob_unref(wrote.request);
		return;
	}
	read_object(&wrote.feed);
	if (wrote.request->len != len || memcmp(wrote.request->data, file->data, len) != 0)
		abort();
	named_file_said(file, 1, 0);
	named_file_say(file, off, bytes, &again);
	if (again.complete || again.sys)
		abort();
	rye_blob_unref(again.request);
	rye_blob_unref(wrote.request);
	feed_done(&wrote.feed);
}

static void write_pieces(struct named *named, const char *bytes, size_t size)
{
	const struct talk_target target = { RYE_RUN, RYE_TOOL, "a" };
	struct named_call *call = named_call_get(named, &target, "n");
	struct named_file *file = call ? named_file_new(call, (struct rye_span){ NULL, 0 }, 0600) :
					 NULL;
	size_t end = 0;

	while (file && size > 2) {
		unsigned char where = (unsigned char)bytes[0];
		size_t n = MIN_OF((size_t)(unsigned char)bytes[1], size - 2);
		size_t off = where == 0 ? 0 : where == 1 ? end : where;

		if (where == 2) {
			named_file_resize(file, n);
			n = 0;
		} else {
			say(file, off, (struct rye_span){ bytes + 2, n });
			end = off + n;
		}
		bytes += 2 + n;
		size -= 2 + n;
	}
	named_file_unref(file);
	named_call_unref(call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct named_env env = { NULL, 0 };
	struct named_wrote wrote;
	struct named *named;

	if (named_open(&env, &named))
		return 0;
	write_pieces(named, (const char *)data, size);
	named_message((struct rye_span){ (const char *)data, size }, &wrote);
	if (!wrote.sys != wrote.complete || (wrote.sys && !*wrote.why))
		abort();
	if (wrote.complete) {
		read_object(&wrote.feed);
		feed_done(&wrote.feed);
	}
	if (named->bytes || named->n)
		abort();
	named_free(named);
	return 0;
}
