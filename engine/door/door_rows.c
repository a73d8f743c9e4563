/* SPDX-License-Identifier: MIT */
/*
 * What a principal can ask: the table of frames, and of what INFO tells. A new one is a function in a
 * file of its own and a row here.
 */
#include "door/door_inner.h"

#include "memory.h"

const struct door_row door_rows[] = {
	{ FRAME_PING, "PING", door_ping },
	{ FRAME_INFO, "INFO", door_info },
	{ FRAME_ORDER, "ORDER", door_order },
	{ FRAME_FOLLOW, "FOLLOW", door_follow },
	{ FRAME_WORD, "WORD", door_word },
	{ FRAME_CANCEL, "CANCEL", door_cancel },
	{ FRAME_LIST, "LIST", door_list },
	{ FRAME_HEADS, "HEADS", door_heads },
	{ FRAME_PACK, "PACK", door_pack },
	{ FRAME_ASK, "ASK", door_ask },
	{ FRAME_MANIFEST, "MANIFEST", door_manifest },
	{ FRAME_GET, "GET", door_get },
	{ FRAME_GC, "GC", door_gc },
};
const size_t door_n_rows = ARRAY_SIZE(door_rows);

static door_info_fn *const infos[] = { door_info_self, door_info_used };

/* The names of what can be asked. */
static json_t *offers(void)
{
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(door_rows); i++)
		json_array_append_new(names, json_string(door_rows[i].name));
	return names;
}

int door_info(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = json_object();
	int r = json_set(doc, "offers", offers()) ? 0 : memory_fail(err);

	for (size_t i = 0; !r && i < ARRAY_SIZE(infos); i++)
		r = infos[i](session, doc, err);
	return r < 0 ? r : session_reply(session, frame->stream, doc, err);
}
