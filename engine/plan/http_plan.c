/* SPDX-License-Identifier: MIT */
/*
 * config {method, url, query, headers, body, auth, retry …} and parameters → one request. What
 * a parameter brings is percent-encoded in an address, a value in a body, and never a new line in
 * a header; only an address that is one parameter whole is taken as it is. Where a parameter has a part in
 * the server's name or port, that may be a public host alone (where.c). On a worker; no lock.
 */
#include "plan/plan_inner.h"

#include "bounds.h"
#include "http/http.h"
#include "scope.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Headers of one request: no tool needs as many. */
#define HTTP_HEADERS_MAX 64

struct template http_template(const struct planner *planner)
{
	return (struct template){
		.env = &planner->env,
		.context = planner->context,
		.config = planner->config,
		.params = planner->params,
		.seen = planner->seen,
	};
}

static struct rye_span text_of(const json_t *text)
{
	return (struct rye_span){ json_string_value(text), json_string_length(text) };
}

/* ---- the address ---- */

/* struct template's spell: ".." alone would climb, encoded or not. */
void http_spell(struct rye_buf *out, const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	template_value(&text, value);
	if (text.len && strspn(text.data, ".") == text.len)
		for (size_t i = 0; i < text.len; i++)
			buf_adds(out, "%2E");
	else
		buf_percent(out, buf_span(&text), false);
}

/* A placeholder that nothing has filled would be sent as it stands. */
static int left_open(struct rye_span text, struct rye_err *err)
{
	ssize_t at = span_find(text, 0, "{");
	ssize_t end = at < 0 ? -1 : span_find(text, (size_t)at, "}");

	if (at < 0 || end < 0)
		return 0;
	return rye_fail(err, RYE_INVALID, "Missing required parameters: %.*s (config.url needs it)",
			(int)(end - at - 1), text.ptr + at + 1);
}

static void put_query_pair(struct rye_buf *out, const char *name, const json_t *value)
{
	buf_addc(out, out->data && strchr(out->data, '?') ? '&' : '?');
	buf_percent(out, span_of(name), false);
	buf_addc(out, '=');
	http_spell(out, value);
}

/* One name of config.query: "{name}" of a parameter that was not given is left out. */
static void put_query(const struct planner *planner, const char *name, const json_t *value,
		      struct rye_buf *out)
{
	struct template in = http_template(planner);
	json_t *given = template_param(planner->params, value), *element;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *made = NULL;
	size_t i;

	if (json_is_array(given)) {
		json_array_foreach(given, i, element)
			put_query_pair(out, name, element);
		return;
	}
	if (given) {
		put_query_pair(out, name, given);
		return;
	}
	if (!json_is_string(value)) {
		put_query_pair(out, name, value);
		return;
	}
	template_text(&in, text_of(value), &text);
	if (text.len && text.data[0] == '{' && text.data[text.len - 1] == '}')
		return;
	made = json_stringn(text.data ? text.data : "", text.len);
	if (made)
		put_query_pair(out, name, made);
}

static int make_url(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *url = json_object_get(planner->config, "url"), *value;
	struct template in = http_template(planner);
	json_t *whole = template_param(planner->params, url);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *name;

	if (!json_is_string(url) || !json_string_length(url))
		return rye_fail(err, RYE_INVALID,
				"config.url is missing: an address, https://HOST/PATH, is wanted");
	in.spell = http_spell;
	plan->strange = where_is_strange(&in, url);
	if (json_is_string(whole))
		buf_addspan(&text, text_of(whole));
	else
		template_text(&in, text_of(url), &text);
	if (!json_is_string(whole) && left_open((struct rye_span){ text.data, text.len }, err))
		return -RYE_INVALID;
	json_object_foreach(json_object_get(planner->config, "query"), name, value)
		put_query(planner, name, value, &text);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f)
			return rye_fail(err, RYE_INVALID,
					"url: a blank or control character at byte %zu", i);
	plan->url = buf_steal(&text);
	return plan->url ? 0 : rye_fail(err, RYE_TOO_BIG, "url: too long");
}

/* ---- headers ---- */

struct header_list {
	char **v;
	size_t n;
	bool typed;
};

static int add_header_row(struct header_list *list, const char *name, struct rye_span value,
			  struct rye_err *err)
{
	auto_buf struct rye_buf row = RYE_BUF_INIT;

	if (list->n >= HTTP_HEADERS_MAX)
		return rye_fail(err, RYE_INVALID, "headers: more than %d", HTTP_HEADERS_MAX);
	if (!http_is_token(span_of(name)))
		return rye_fail(err, RYE_INVALID, "headers: %s is no name of a header", name);
	for (size_t i = 0; i < value.len; i++)
		if (strchr("\r\n", value.ptr[i]))
			return rye_fail(err, RYE_INVALID,
					"headers: %s: a line end or NUL in its value", name);
	buf_addf(&row, "%s: ", name);
	buf_addspan(&row, value);
	list->v[list->n] = buf_steal(&row);
	if (!list->v[list->n])
		return rye_fail(err, RYE_IO, "headers: out of memory");
	list->n++;
	list->typed |= !strcasecmp(name, "content-type");
	return 0;
}

static int add_templated(const struct planner *planner, struct header_list *list, const char *name,
			 const json_t *value, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	plan_text(planner, value, &text);
	return add_header_row(list, name, (struct rye_span){ text.data ? text.data : "", text.len },
			      err);
}

/* Of a secret that is empty; the first variable in its text is the one that lacks a value. */
static int auth_missing(const char *key, const json_t *value, struct rye_err *err)
{
	auto_json json_t *names = json_array();
	const char *name;

	template_names(value, names);
	name = json_string_value(json_array_get(names, 0));
	if (!name)
		return rye_fail(err, RYE_DENIED, "config.auth: %s (%s) is empty", key,
				json_is_string(value) ? json_string_value(value) : "not given");
	return rye_fail(err, RYE_DENIED,
			"config.auth: %s (%s) is empty: set it in the environment, or keep it "
			"as a secret; " MEND_WITH "ryefs secret set %s",
			key, json_string_value(value), name);
}

/* A secret of config.auth; one that is empty would be sent as one. */
static int auth_text(const struct planner *planner, const char *key, struct rye_buf *out,
		     struct rye_err *err)
{
	const json_t *auth = json_object_get(planner->config, "auth");
	const json_t *value = json_object_get(auth, key);

	plan_text(planner, value, out);
	if (out->len)
		return 0;
	return auth_missing(key, value, err);
}

static int add_auth(const struct planner *planner, struct header_list *list, struct rye_err *err)
{
	const json_t *auth = json_object_get(planner->config, "auth");
	const char *type = json_str(auth, "type"), *name = json_str(auth, "header");
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r;

	if (!auth || json_is_null(auth))
		return 0;
	if (!strcmp(type, "bearer")) {
		auto_buf struct rye_buf token = RYE_BUF_INIT;

		r = auth_text(planner, "token", &token, err);
		buf_addf(&text, "Bearer %s", token.data ? token.data : "");
		name = "Authorization";
	} else if (!strcmp(type, "api_key")) {
		r = auth_text(planner, "key", &text, err);
		name = *name ? name : "X-API-Key";
	} else {
		r = rye_fail(err, RYE_INVALID,
			     "config.auth: type is \"%s\"; bearer or api_key is wanted", type);
	}
	return r ? r : add_header_row(list, name, (struct rye_span){ text.data, text.len }, err);
}

static int make_headers(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	struct header_list list = { calloc(HTTP_HEADERS_MAX + 1, sizeof(char *)), 0, false };
	const char *name;
	json_t *value;
	int r = 0;

	plan->headers = list.v;
	if (!list.v)
		return rye_fail(err, RYE_IO, "headers: out of memory");
	json_object_foreach(json_object_get(planner->config, "headers"), name, value) {
		r = add_templated(planner, &list, name, value, err);
		if (r)
			return r;
	}
	r = add_auth(planner, &list, err);
	if (!r && plan->body && !list.typed)
		r = add_header_row(&list, "Content-Type", SPAN("application/json"), err);
	return r;
}

/* ---- body ---- */

static json_t *fill_json(const struct planner *planner, const json_t *value, int depth);

/* A member of an object; one whose "{name}" the caller has not given is left out. */
static void fill_member(const struct planner *planner, json_t *object, const char *key,
			const json_t *value, int depth)
{
	auto_json json_t *made = fill_json(planner, value, depth);
	struct rye_span text = text_of(value);

	if (json_is_string(value) && text.len > 2 && text.ptr[0] == '{' &&
	    text.ptr[text.len - 1] == '}' && !template_param(planner->params, value) &&
	    json_equal(made, value))
		return;
	json_object_set(object, key, made);
}

/* A copy with its placeholders filled; "{name}" alone keeps the parameter's type. */
static json_t *fill_json(const struct planner *planner, const json_t *value, int depth)
{
	struct template in = http_template(planner);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *made, *element, *object = (json_t *)value;
	const char *key;
	size_t i;

	if (depth > RYE_JSON_DEPTH)
		return json_null();
	if (json_is_object(value)) {
		made = json_object();
		json_object_foreach(object, key, element)
			fill_member(planner, made, key, element, depth + 1);
		return made;
	}
	if (json_is_array(value)) {
		made = json_array();
		json_array_foreach(value, i, element)
			json_array_append_new(made, fill_json(planner, element, depth + 1));
		return made;
	}
	if (!json_is_string(value))
		return json_incref(object);
	made = template_param(planner->params, value);
	if (made)
		return json_incref(made);
	template_text(&in, text_of(value), &text);
	return json_stringn(text.data ? text.data : "", text.len);
}

static bool takes_body(const char *method)
{
	return !strcmp(method, "POST") || !strcmp(method, "PUT") || !strcmp(method, "PATCH");
}

static int make_body(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *body = json_object_get(planner->config, "body");
	auto_json json_t *made = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (!body || json_is_null(body) || !takes_body(plan->method))
		return 0;
	made = fill_json(planner, body, 0);
	/* A text is sent as it is: what it is, its Content-Type says. */
	if (json_is_string(body) && json_is_string(made))
		buf_addspan(&text, text_of(made));
	else if (made)
		json_put(&text, made, false);
	plan->body = made ? buf_blob(&text) : NULL;
	return plan->body ? 0 : rye_fail(err, RYE_TOO_BIG, "body: too big");
}

/* ---- the rest ---- */

static int make_method(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *method = json_object_get(planner->config, "method");
	const char *text = json_is_string(method) ? json_string_value(method) : "GET";
	size_t n = strlen(text);

	plan->method = strdup(*text ? text : "GET");
	if (!plan->method)
		return rye_fail(err, RYE_IO, "method: out of memory");
	for (char *c = plan->method; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (n > 20 || plan->method[strspn(plan->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] ||
	    !strcmp(plan->method, "CONNECT") || !strcmp(plan->method, "TRACE"))
		return rye_fail(err, RYE_INVALID,
				"config.method: %s: GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS "
				"is wanted",
				text);
	return 0;
}

static int make_mode(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *retry = json_object_get(planner->config, "retry");
	const char *mode = json_str(planner->params, "mode");
	json_int_t most = json_int(retry, "max_attempts", 1);

	if (!*mode || json_object_get(planner->config, "mode"))
		mode = json_str(planner->config, "mode");
	plan->stream = !strcmp(mode, "stream");
	if (*mode && !plan->stream && strcmp(mode, "sync") != 0)
		return rye_fail(err, RYE_INVALID, "mode is \"%s\": sync or stream is wanted", mode);
	plan->attempts = (int)MIN_OF(MAX_OF(most, 1), RYE_ATTEMPTS_MAX);
	plan->linear = !strcmp(json_str(retry, "backoff"), "linear");
	plan->redirects = (unsigned)MIN_OF(MAX_OF(json_int(planner->config, "max_redirects", 0), 0),
					   RYE_HTTP_REDIRECTS);
	return 0;
}

static int make_ca(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *ca = json_object_get(planner->config, "ca_file");
	auto_buf struct rye_buf text = RYE_BUF_INIT, whole = RYE_BUF_INIT;

	if (!json_is_string(ca))
		return 0;
	plan_text(planner, ca, &text);
	buf_addf(&whole, "%s%s%s", text.data && text.data[0] == '/' ? "" : planner->base->project,
		 text.data && text.data[0] == '/' ? "" : "/", text.data ? text.data : "");
	plan->ca_file = buf_steal(&whole);
	return plan->ca_file ? 0 : rye_fail(err, RYE_IO, "ca_file: out of memory");
}

/* Which of several sites a server answers for is said by `Host`. */
static int check_host(const struct planner *planner, const struct template *in, struct rye_err *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(json_object_get(planner->config, "headers"), name, value) {
		const struct where host = { "headers: Host", value, WHERE_WHOLE };

		if (!r && !strcasecmp(name, "host"))
			r = where_check(in, &host, err);
	}
	return r;
}

/* Everything that decides where the request goes, when all that it carries is known. */
static int check_where(const struct planner *planner, struct rye_err *err)
{
	struct template in = http_template(planner);
	const struct where url = { "url", json_object_get(planner->config, "url"), WHERE_ADDRESS };
	const struct where ca = { "ca_file", json_object_get(planner->config, "ca_file"),
				  WHERE_WHOLE };
	const char *name;
	json_t *value;
	int r;

	in.spell = http_spell;
	r = where_check(&in, &url, err);
	json_object_foreach(json_object_get(planner->config, "query"), name, value) {
		const struct where query = { "query", value, WHERE_REST };

		if (!r)
			r = where_check(&in, &query, err);
	}
	if (!r)
		r = check_host(planner, &in, err);
	if (!r)
		r = where_check(&in, &ca, err);
	return r ? r : sink_plans_check(planner, err);
}

static int make_parts(const struct planner *planner, struct http_plan *ret, struct rye_err *err)
{
	int r = make_method(planner, ret, err);

	if (!r)
		r = make_mode(planner, ret, err);
	if (!r)
		r = make_url(planner, ret, err);
	if (!r)
		r = make_body(planner, ret, err);
	if (!r)
		r = make_headers(planner, ret, err);
	if (!r)
		r = make_ca(planner, ret, err);
	if (!r)
		r = sink_plans_make(planner, ret, err);
	return r ? r : check_where(planner, err);
}

int http_plan_make(struct planner *planner, struct http_plan *ret, struct rye_err *err)
{
	struct template_seen seen = { 0, SIZE_MAX };
	int r;

	planner->seen = &seen;
	r = make_parts(planner, ret, err);
	planner->seen = NULL;
	return r;
}

void http_plan_done(struct http_plan *plan)
{
	for (char **row = plan->headers; row && *row; row++)
		free(*row);
	free(plan->headers);
	free(plan->method);
	free(plan->url);
	free(plan->ca_file);
	rye_blob_unref(plan->body);
	sink_plans_done(plan);
}
