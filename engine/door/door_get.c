/* SPDX-License-Identifier: MIT */
/*
 * GET: what a principal has here comes back: {manifest, base}: a manifest, as what differs from another one;
 * {blobs}: digests, and a pack of them, of which the asker verifies each. One pack at most, so that other
 * frames of the connection are not long behind it. The door's thread alone.
 */
#include "door/door_inner.h"

#include "memory.h"
#include "pack/pack.h"
#include "str.h"

static int get_send(struct door_session *session, uint32_t stream, struct rye_span bytes,
		    struct rye_err *err)
{
	auto_json json_t *reply = json_object();
	int r = 0;

	while (!r && bytes.len) {
		size_t n = MIN_OF(bytes.len, FRAME_MAX);

		r = session_data(session, stream, (struct rye_span){ bytes.ptr, n }, err);
		bytes = span_skip(bytes, n);
	}
	return r ? r : session_reply(session, stream, reply, err);
}

static int get_named(struct door_session *session, struct depot *depot, const char *hex,
		     struct manifest **ret, struct rye_err *err)
{
	struct digest name;

	if (!digest_parse(span_of(hex), &name))
		return rye_fail(err, RYE_INVALID, "a manifest is named by its digest");
	return depot_manifest(depot, session->who.key.fp, &name, ret, err);
}

static int get_manifest(struct door_session *session, struct depot *depot, const json_t *doc,
			struct rye_buf *ret, struct rye_err *err)
{
	auto_manifest struct manifest *manifest = NULL, *base = NULL;
	int r = get_named(session, depot, json_str(doc, "manifest"), &manifest, err);

	if (!r && *json_str(doc, "base"))
		r = get_named(session, depot, json_str(doc, "base"), &base, err);
	return r ? r : manifest_shrink(base ? base->text : NULL, manifest->text, ret, err);
}

static int get_blob(struct door_session *session, struct depot *depot, const char *hex,
		    struct packer *packer, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	struct digest sha;
	int r;

	if (!hex || !digest_parse(span_of(hex), &sha))
		return rye_fail(err, RYE_INVALID, "blobs: wanted is a list of digests");
	r = depot_read(depot, session->who.key.fp, &sha, &bytes, err);
	if (r)
		return r;
	if (!packer_has_room(packer, bytes.len))
		return rye_fail(err, RYE_TOO_BIG, "blobs: more than one pack can have");
	return packer_add(packer, &sha, buf_span(&bytes), err);
}

static int get_blobs(struct door_session *session, struct depot *depot, const json_t *blobs,
		     struct rye_buf *ret, struct rye_err *err)
{
	auto_packer struct packer *packer = memory_note(packer_new());
	const json_t *blob;
	struct digest name;
	size_t i;
	int r = 0;

	if (!packer)
		return memory_fail(err);
	json_array_foreach((json_t *)blobs, i, blob) {
		r = get_blob(session, depot, json_string_value(blob), packer, err);
		if (r)
			return r;
	}
	if (!packer_count(packer))
		return rye_fail(err, RYE_INVALID, "wanted is {manifest} or {blobs}");
	return packer_end(packer, ret, &name, err);
}

int door_get(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = frame_json(frame, err);
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	struct depot *depot;
	int r = doc ? session_depot(session, &depot, err) : -(int)err->code;

	if (!r && *json_str(doc, "manifest"))
		r = get_manifest(session, depot, doc, &bytes, err);
	else if (!r)
		r = get_blobs(session, depot, json_object_get(doc, "blobs"), &bytes, err);
	return r ? r : get_send(session, frame->stream, buf_span(&bytes), err);
}
