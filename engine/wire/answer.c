/* SPDX-License-Identifier: MIT */
/*
 * One answer while it comes: the bytes of its body, the blocks that the wire's rows make of its
 * events, and at the end the message. However the bytes are cut, the message is the same (fuzzed).
 * No lock: an answer belongs to one thread. Failures of memory show at the end.
 */
#include "wire/wire_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void answer_open(struct answer *answer, const struct provider *provider,
		 const struct provider_request *request)
{
	*answer = (struct answer){ .provider = provider,
				   .request = request,
				   .sse = SSE_INIT,
				   .said = { .delay_ms = -1 },
				   .body = { .cap = RYE_PROVIDER_ANSWER_MAX },
				   .warnings = json_array() };
	if (json_flag(json_object_get(provider->fields, "reasoning"), "think_tags", false))
		answer->think = THINK_LEAD;
}

static void block_release(struct answer_block *block)
{
	free(block->key);
	free(block->fault);
	json_decref(block->start);
	json_decref(block->extra);
	json_decref(block->arguments);
	buf_done(&block->text);
	buf_done(&block->args);
	buf_done(&block->raw);
}

void answer_close(struct answer *answer)
{
	for (size_t i = 0; i < answer->n; i++)
		block_release(&answer->v[i]);
	free(answer->v);
	fault_said_done(&answer->said);
	free(answer->refusal_kind);
	free(answer->refusal_text);
	free(answer->continuation);
	json_decref(answer->warnings);
	buf_done(&answer->held);
	buf_done(&answer->veiled);
	buf_done(&answer->body);
	sse_done(&answer->sse);
	*answer = (struct answer){ 0 };
}

/* ---- what the wires tell ---- */

/* A NUL becomes U+FFFD: a file, a shell and a program would take it for the end of the text. */
static void add_seen(struct rye_buf *out, struct rye_span text)
{
	const char *nul;

	while ((nul = memchr(text.ptr, 0, text.len))) {
		buf_add(out, text.ptr, (size_t)(nul - text.ptr));
		buf_adds(out, "\xef\xbf\xbd");
		text = span_skip(text, (size_t)(nul - text.ptr) + 1);
	}
	buf_addspan(out, text);
}

static void tell_now(struct answer *answer, enum provider_event_type type, size_t index,
		     struct rye_span text)
{
	struct provider_event event = { .type = type, .text = text, .index = index };
	const json_t *extra;

	if (!answer->fn)
		return;
	extra = index < answer->n ? answer->v[index].extra : NULL;
	event.call_id = json_str(extra, "id");
	event.name = json_str(extra, "name");
	answer->fn(answer->arg, &event);
}

/* How many of the last bytes may be the beginning of a key. */
static size_t key_tail(const struct answer *answer, struct rye_span text)
{
	const json_t *secret;
	size_t i, most = 0;

	json_array_foreach(answer->provider->secrets, i, secret) {
		const char *key = json_string_value(secret);
		size_t n = MIN_OF(text.len, json_string_length(secret));

		n -= n && n == json_string_length(secret);
		while (n > most && memcmp(text.ptr + text.len - n, key, n) != 0)
			n--;
		most = MAX_OF(most, n);
	}
	return most;
}

static void veil_end(struct answer *answer)
{
	struct rye_buf rest = answer->veiled;

	answer->veiled = RYE_BUF_INIT;
	if (rest.len)
		tell_now(answer, answer->veiled_type, answer->veiled_index, buf_span(&rest));
	buf_done(&rest);
}

/*
 * What is shown as it comes shows no key: neither one that comes in two pieces. Without a key that the text
 * could be the beginning of, it is told at once.
 */
static void tell_veiled(struct answer *answer, enum provider_event_type type, size_t index,
			struct rye_span text)
{
	auto_free char *clean = NULL;
	size_t tail;

	if (answer->veiled_type != type || answer->veiled_index != index)
		veil_end(answer);
	answer->veiled_type = type;
	answer->veiled_index = index;
	add_seen(&answer->veiled, text);
	buf_adds(&answer->veiled, "");
	clean = buf_steal(&answer->veiled);
	if (!clean)
		return;
	fault_hide_keys(answer->provider, &clean);
	text = span_of(clean);
	tail = key_tail(answer, text);
	if (text.len > tail)
		tell_now(answer, type, index, (struct rye_span){ text.ptr, text.len - tail });
	buf_add(&answer->veiled, text.ptr + text.len - tail, tail);
}

static void tell(struct answer *answer, enum provider_event_type type, size_t index,
		 struct rye_span text)
{
	bool shown = type == PROVIDER_TEXT || type == PROVIDER_REASONING;

	if (!answer->fn)
		return;
	if (shown && json_array_size(answer->provider->secrets)) {
		tell_veiled(answer, type, index, text);
		return;
	}
	veil_end(answer);
	tell_now(answer, type, index, text);
}

void answer_warn(struct answer *answer, const char *word)
{
	if (json_lists(answer->warnings, word))
		return;
	json_array_append_new(answer->warnings, json_string(word));
	tell(answer, PROVIDER_NOTICE, answer->n, span_of(word));
}

struct answer_block *answer_add(struct answer *answer, enum block_kind kind)
{
	struct answer_block *block;

	if (answer->n >= RYE_PROVIDER_BLOCKS) {
		answer_warn(answer, "blocks_dropped");
		return NULL;
	}
	if (answer->n == answer->size) {
		size_t size = answer->size ? 2 * answer->size : 8;
		struct answer_block *v = reallocarray(answer->v, size, sizeof(*v));

		if (!v)
			return NULL;
		answer->v = v;
		answer->size = size;
	}
	assert(answer->v);
	answer->last = answer->n;
	block = &answer->v[answer->n++];
	*block = (struct answer_block){ .kind = kind,
					.index = -1,
					.open = true,
					.extra = json_object() };
	return block;
}

struct answer_block *answer_at(struct answer *answer, json_int_t index)
{
	for (size_t i = answer->n; index >= 0 && i-- > 0;)
		if (answer->v[i].index == index)
			return &answer->v[i];
	return NULL;
}

struct answer_block *answer_named(struct answer *answer, const char *key)
{
	for (size_t i = answer->n; *key && i-- > 0;)
		if (answer->v[i].key && !strcmp(answer->v[i].key, key))
			return &answer->v[i];
	return NULL;
}

struct answer_block *answer_run(struct answer *answer, enum block_kind kind)
{
	struct answer_block *last = answer->n ? &answer->v[answer->n - 1] : NULL;

	if (last && last->kind == kind && !json_object_get(last->extra, "signature"))
		return last;
	return answer_add(answer, kind);
}

bool answer_has(const struct answer *answer, enum block_kind kind)
{
	for (size_t i = 0; i < answer->n; i++)
		if (answer->v[i].kind == kind)
			return true;
	return false;
}

/* The text as it is, or U+FFFD in place of a half whose other half does not come. */
static void grow_text(struct answer *answer, struct answer_block *block, struct rye_span text)
{
	struct rye_buf *to = block->kind == BLOCK_CALL ? &block->args : &block->text;
	size_t before = to->len;

	if (block->kind == BLOCK_TEXT)
		add_seen(to, text);
	else
		buf_addspan(to, text);
	block->changed = true;
	answer->last = (size_t)(block - answer->v);
	text = span_skip(buf_span(to), before);
	if (block->kind == BLOCK_TEXT)
		tell(answer, PROVIDER_TEXT, answer->last, text);
	else if (block->kind == BLOCK_REASONING)
		tell(answer, PROVIDER_REASONING, answer->last, text);
	else if (block->kind == BLOCK_CALL)
		tell(answer, PROVIDER_CALL_ARGS, answer->last, text);
}

static void end_half(struct answer *answer, struct answer_block *block)
{
	if (!block->high)
		return;
	block->high = 0;
	grow_text(answer, block, SPAN(UNREADABLE));
}

/* Halves of a pair in two events become one character; what was read has U+FFFD for either. */
static struct rye_span join_halves(struct answer *answer, struct answer_block *block,
				   struct rye_span text)
{
	size_t n = strlen(UNREADABLE);
	char joined[4];

	if (block->high && answer->halves.low && span_starts(text, UNREADABLE)) {
		size_t size = utf8_put(joined, halves_joined(block->high, answer->halves.low));

		block->high = 0;
		grow_text(answer, block, (struct rye_span){ joined, size });
		text = span_skip(text, n);
	}
	end_half(answer, block);
	if (answer->halves.high && span_ends(text, UNREADABLE)) {
		block->high = answer->halves.high;
		text.len -= n;
	}
	return text;
}

void answer_text(struct answer *answer, struct answer_block *block, struct rye_span text)
{
	if (!block || !text.len)
		return;
	text = join_halves(answer, block, text);
	if (text.len)
		grow_text(answer, block, text);
}

/* Of a call; other blocks of the provider's own may have some, too. */
void answer_args(struct answer *answer, struct answer_block *block, struct rye_span text)
{
	if (!block || !text.len)
		return;
	if (block->kind == BLOCK_CALL) {
		answer_text(answer, block, text);
		return;
	}
	buf_addspan(&block->args, text);
	block->changed = true;
	answer->last = (size_t)(block - answer->v);
}

/* Is it the id of another call of this answer, or of an earlier one? */
static bool is_taken(const struct answer *answer, const struct answer_block *own, const char *id)
{
	const json_t *messages = answer->request ? answer->request->messages : NULL;
	const json_t *message, *block;
	size_t i, k;

	for (i = 0; i < answer->n; i++)
		if (&answer->v[i] != own && !strcmp(json_str(answer->v[i].extra, "id"), id))
			return true;
	json_array_foreach(messages, i, message)
		json_array_foreach(json_object_get(message, "blocks"), k, block)
			if (block_is(block, "tool_call") && !strcmp(json_str(block, "id"), id))
				return true;
	return false;
}

/* Unique in the thread, and the same whenever the same answer is read. */
static void make_id(struct answer *answer, struct answer_block *block)
{
	size_t turn = answer->request ? json_array_size(answer->request->messages) : 0;
	char id[64];

	do
		snprintf(id, sizeof(id), "call_r%zu_%zu", turn, ++answer->ids);
	while (is_taken(answer, block, id));
	json_sets(block->extra, "id", id);
	json_set(block->extra, "own_id", json_true());
	answer_warn(answer, "id_generated");
}

void answer_call(struct answer *answer, struct answer_block *block, const char *id,
		 const char *name)
{
	if (block->kind != BLOCK_CALL)
		return;
	if (*name)
		json_sets(block->extra, "name", name);
	if (json_object_get(block->extra, "id"))
		return;
	if (!*id || is_taken(answer, block, id))
		make_id(answer, block);
	else
		json_sets(block->extra, "id", id);
	tell(answer, PROVIDER_CALL_OPEN, (size_t)(block - answer->v), SPAN(""));
}

static void set_fault(struct answer_block *block, const char *why)
{
	json_decref(block->arguments);
	block->arguments = NULL;
	block->incomplete = true;
	if (!block->fault)
		block->fault = strdup(why);
}

static void parse_args(const struct answer *answer, struct answer_block *block)
{
	struct rye_span text = span_trim(buf_span(&block->args));
	struct tool_telling how = telling_of(answer->provider);
	struct rye_err err = { 0 };
	json_t *value;

	if (!text.len || span_eq(text, "null"))
		text = SPAN("{}");
	value = json_parse(text, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "arguments",
			   &err);
	if (json_is_object(value)) {
		block->arguments = value;
		arguments_from_wire(&how, answer->request ? answer->request->tools : NULL,
				    json_str(block->extra, "name"), value);
		return;
	}
	set_fault(block, value ? "arguments: a JSON object is wanted" : err.msg);
	json_decref(value);
}

void answer_sign(struct answer_block *block, const char *signature)
{
	if (*signature)
		json_sets(block->extra, "signature", signature);
}

bool answer_done(struct answer *answer, struct answer_block *block)
{
	if (!block || !block->open)
		return false;
	end_half(answer, block);
	block->open = false;
	if (block->kind == BLOCK_CALL && !block->arguments) {
		parse_args(answer, block);
		tell(answer, PROVIDER_CALL_DONE, (size_t)(block - answer->v), SPAN(""));
	}
	return true;
}

void answer_stop(struct answer *answer, enum provider_stop stop, const char *raw)
{
	answer->stopped = true;
	/* whole calls are there to be run, whatever it is called */
	if (stop == STOP_UNKNOWN && answer_has(answer, BLOCK_CALL))
		stop = STOP_TOOL;
	answer->stop = stop;
	utf8_cut(raw, answer->stop_raw, sizeof(answer->stop_raw));
}

void answer_refuse(struct answer *answer, const char *kind, const char *text)
{
	answer->refused = true;
	if (*kind && !answer->refusal_kind)
		answer->refusal_kind = strdup(kind);
	if (*text && !answer->refusal_text)
		answer->refusal_text = strdup(text);
}

void answer_fail(struct answer *answer, const json_t *doc)
{
	if (answer->failed)
		return;
	answer->failed = true;
	fault_read(doc, &answer->said);
}

struct rye_span text_member(const json_t *doc, const char *key)
{
	const json_t *value = json_object_get(doc, key);

	return json_is_string(value) ?
		       (struct rye_span){ json_string_value(value), json_string_length(value) } :
		       SPAN("");
}

/* ---- bytes ---- */

/* What is no text is mended into `mended`, and `text` is that then: a model may end in half a character. */
static json_t *read_doc(struct answer *answer, struct rye_span *text, struct rye_buf *mended)
{
	struct rye_err err = { 0 };
	int flags = JSON_LOAD_LAST_WINS | JSON_LOAD_NUL;
	json_t *doc = json_parse(*text, flags, "answer", &err);

	answer->halves = (struct text_halves){ 0 };
	if (!doc && answer_mend(*text, mended, &answer->halves)) {
		*text = buf_span(mended);
		doc = json_parse(*text, flags, "answer", &err);
	}
	if (!doc && !answer->failed) {
		answer->failed = true;
		answer->said.type = strdup("unreadable_answer");
		answer->said.message = strdup(err.msg);
	}
	return doc;
}

/* A stream that goes on behind its failure only says once more that it has failed. */
static void take_doc(struct answer *answer, const char *name, const json_t *doc,
		     struct rye_span text)
{
	const char *type = json_str(doc, "type");
	const json_t *error = json_object_get(doc, "error");

	if (!*type)
		type = json_str(doc, "event_type");
	if (!*type)
		type = name;
	if (str_ends(type, ".failed"))
		snprintf(answer->stop_raw, sizeof(answer->stop_raw), "failed");
	if (answer->failed)
		return;
	if (!strcmp(name, "error") || !strcmp(type, "error") ||
	    (error && !json_is_null(error) && !strchr(type, '.')))
		answer_fail(answer, doc);
	else
		answer_read(answer, type, doc, text);
	usage_by_item(answer->provider->item, doc, &answer->usage);
}

/* sse_fn */
static void take_event(void *arg, const struct sse_event *event)
{
	struct answer *answer = arg;
	struct rye_span text = event->data;
	auto_buf struct rye_buf mended = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;

	if (answer->ended)
		return;
	answer->events += strcmp(event->type, "ping") != 0;
	if (span_eq(span_trim(event->data), "[DONE]")) {
		answer->terminal = answer->ended = true;
		return;
	}
	if (!span_trim(event->data).len)
		return;
	doc = read_doc(answer, &text, &mended);
	if (doc)
		take_doc(answer, event->type, doc, text);
}

/* What was asked for decides: of a stream servers name many types, and some answer at once instead. */
void answer_begin(struct answer *answer, long status, const char *type)
{
	bool ok = status >= 200 && status < 300;

	answer->status = status;
	answer->streams = ok && !strcmp(type, "text/event-stream");
	answer->sniffs = ok && !answer->streams && !(answer->request && answer->request->whole);
	if (!ok)
		answer->body.cap = RYE_PROVIDER_ERROR_MAX;
}

/* A document begins with a bracket, a page with '<'; no line of a stream does. */
static struct rye_span sniff(struct answer *answer, struct rye_span bytes)
{
	while (bytes.len && strchr(" \t\r\n", *bytes.ptr) && *bytes.ptr)
		bytes = span_skip(bytes, 1);
	if (!bytes.len)
		return bytes;
	answer->sniffs = false;
	answer->streams = !strchr("{[<\"", *bytes.ptr);
	return bytes;
}

static bool feed_stream(struct answer *answer, struct rye_span bytes)
{
	answer->over = !sse_feed(&answer->sse, bytes, take_event, answer) ||
		       answer->bytes > RYE_PROVIDER_ANSWER_MAX;
	return !answer->over;
}

bool answer_feed(struct answer *answer, struct rye_span bytes)
{
	struct rye_buf *body = &answer->body;
	size_t room;

	if (answer->over)
		return false;
	answer->bytes += bytes.len;
	if (answer->sniffs)
		bytes = sniff(answer, bytes);
	if (answer->streams)
		return feed_stream(answer, bytes);
	if (bytes.len)
		answer->events = 1;
	room = body->cap - 1 > body->len ? body->cap - 1 - body->len : 0;
	buf_add(body, bytes.ptr, MIN_OF(bytes.len, room));
	answer->over = bytes.len > room;
	return !answer->over;
}

/* ---- the end ---- */

static void take_whole(struct answer *answer)
{
	struct rye_span text = buf_span(&answer->body);
	auto_buf struct rye_buf mended = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;
	const json_t *error;

	if (answer->status < 200 || answer->status >= 300) {
		answer->failed = true;
		doc = json_parse(text, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL,
				 "answer", NULL);
		if (doc)
			fault_read(doc, &answer->said);
		else
			answer->said.message = span_dup(span_trim(text));
		if (!doc && answer->said.message)
			utf8_mend(answer->said.message);
		return;
	}
	doc = read_doc(answer, &text, &mended);
	error = json_object_get(doc, "error");
	if (error && !json_is_null(error))
		answer_fail(answer, doc);
	else if (doc && !answer->failed)
		answer_read(answer, NULL, doc, text);
	usage_by_item(answer->provider->item, doc, &answer->usage);
}

static bool all_closed(const struct answer *answer)
{
	for (size_t i = 0; i < answer->n; i++)
		if (answer->v[i].open)
			return false;
	return true;
}

/* Of calls that the answer's end cut none may run. */
static void close_calls(struct answer *answer)
{
	for (size_t i = 0; i < answer->n; i++) {
		struct answer_block *block = &answer->v[i];

		if (block->kind != BLOCK_CALL)
			continue;
		if (block->open)
			set_fault(block, "the answer ended inside the call");
		else if (answer->stop == STOP_LENGTH && i == answer->last)
			set_fault(block, "the answer's length limit ended the call");
	}
}

static size_t said_bytes(const struct answer *answer)
{
	size_t bytes = 0;

	for (size_t i = 0; i < answer->n; i++)
		bytes += answer->v[i].text.len + answer->v[i].args.len;
	return bytes;
}

static json_int_t usage_all(const struct provider_usage *use)
{
	return use->uncached + use->cache_read + use->cache_write + use->cache_write_1h +
	       use->output;
}

static void guess_usage(struct answer *answer, bool complete)
{
	size_t bytes = said_bytes(answer);

	/* a server that tells nothing but zeroes does not count: no limit would ever be reached */
	if ((answer->usage.known && (usage_all(&answer->usage) || !bytes)) || (!complete && !bytes))
		return;
	answer->usage = (struct provider_usage){ .known = true, .estimated = true };
	answer->usage.output = (json_int_t)(bytes + 3) / 4;
	if (answer->request)
		answer->usage.uncached = provider_estimate(answer->request);
	if (complete)
		answer_warn(answer, "usage_missing");
}

static const char *const kind_names[] = { "text", "reasoning", "tool_call", "refusal", "opaque" };

static json_t *buf_json(const struct rye_buf *buf)
{
	return json_stringn_nocheck(buf->data ? buf->data : "", buf->len);
}

/* What a model says is kept and shown without keys; `raw` goes back to it as it came. */
static json_t *text_json(const struct answer *answer, const struct rye_buf *buf)
{
	auto_free char *clean = NULL;

	if (!buf->len || !json_array_size(answer->provider->secrets) ||
	    memchr(buf->data, 0, buf->len))
		return buf_json(buf);
	clean = span_dup(buf_span(buf));
	fault_hide_keys(answer->provider, &clean);
	return json_string_nocheck(clean ? clean : "");
}

static json_t *block_json(const struct answer *answer, const struct answer_block *block)
{
	json_t *doc = json_object();

	json_sets(doc, "kind", kind_names[block->kind]);
	if (block->kind == BLOCK_OPAQUE)
		json_sets(doc, "type", json_str(block->start, "type"));
	else if (block->kind != BLOCK_CALL)
		json_set(doc, "text", text_json(answer, &block->text));
	json_object_update(doc, block->extra);
	if (block->kind == BLOCK_CALL && block->incomplete) {
		json_set(doc, "arguments", json_null());
		json_set(doc, "arguments_text", buf_json(&block->args));
		json_set(doc, "incomplete", json_true());
		json_sets(doc, "fault", block->fault);
	} else if (block->kind == BLOCK_CALL) {
		json_set(doc, "arguments", json_incref(block->arguments));
	}
	if (block->raw.len)
		json_set(doc, "raw", buf_json(&block->raw));
	return doc;
}

static json_t *usage_json(const struct provider_usage *usage)
{
	if (!usage->known)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "input_uncached", usage->uncached,
			 "cache_read", usage->cache_read, "cache_write", usage->cache_write,
			 "cache_write_1h", usage->cache_write_1h, "output", usage->output,
			 "reasoning", usage->reasoning, "estimated", usage->estimated);
}

static json_t *message_json(const struct answer *answer, bool complete)
{
	const struct provider *provider = answer->provider;
	json_t *doc = json_object(), *blocks = json_array();

	json_sets(doc, "role", "assistant");
	json_sets(doc, "wire", provider->wire->name);
	json_sets(doc, "provider", provider->name);
	json_sets(doc, "model", provider->model);
	for (size_t i = 0; i < answer->n; i++)
		json_array_append_new(blocks, block_json(answer, &answer->v[i]));
	json_set(doc, "blocks", blocks);
	json_sets(doc, "stop", provider_stop_name(answer->stop));
	json_sets(doc, "stop_raw", *answer->stop_raw ? answer->stop_raw : NULL);
	json_set(doc, "usage", usage_json(&answer->usage));
	json_set(doc, "complete", json_boolean(complete));
	if (answer->refused)
		json_set(doc, "refusal",
			 json_pack("{s:s?, s:s?}", "category", answer->refusal_kind, "text",
				   answer->refusal_text));
	if (answer->continuation)
		json_sets(doc, "continuation", answer->continuation);
	return doc;
}

/* Asking once more would bring the same. */
static void fail_finally(struct answer *answer, const char *type, const char *message)
{
	if (answer->failed)
		return;
	answer->failed = true;
	answer->said.type = strdup(type);
	answer->said.message = strdup(message);
}

/* An answer that is whole: told by its last event, or by a reason to stop with nothing left open. */
static bool is_whole(struct answer *answer)
{
	char why[sizeof(answer->stop_raw) + 64];

	snprintf(why, sizeof(why), "the model stopped for a reason that is not known: %s",
		 answer->stop_raw);
	if (answer->stop == STOP_UNKNOWN)
		fail_finally(answer, "unknown_stop", why);
	if (answer->failed)
		return false;
	if (answer->terminal)
		return true;
	if (!answer->stopped || !all_closed(answer))
		return false;
	answer_warn(answer, "no_done_marker");
	return true;
}

bool answer_end(struct answer *answer, struct provider_result *ret)
{
	bool complete;

	if (answer->over && answer->status >= 200 && answer->status < 300)
		fail_finally(answer, "answer_too_long", "the answer is longer than is read");
	else if (!answer->streams && answer->status)
		take_whole(answer);
	think_end(answer);
	for (size_t i = 0; i < answer->n; i++)
		end_half(answer, &answer->v[i]);
	veil_end(answer);
	complete = is_whole(answer);
	if (complete && !answer->stopped)
		answer->stop = answer_has(answer, BLOCK_CALL) ? STOP_TOOL : STOP_END;
	if (complete && answer->provider->text_calls)
		text_calls_find(answer);
	close_calls(answer);
	guess_usage(answer, complete);
	if (!complete)
		answer->stop = STOP_ERROR;
	ret->complete = complete;
	ret->stop = answer->stop;
	ret->usage = answer->usage;
	ret->message = message_json(answer, complete);
	ret->warnings = json_incref(answer->warnings);
	return complete;
}
