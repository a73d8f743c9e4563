/* SPDX-License-Identifier: MIT */
/*
 * An entry of the person's own remotes.yaml, put in or taken out by one line of its text: comments and
 * what others have written there stay. Where that does not lead to what was meant, a person has to. The
 * result is signed as an item; no lock: a file that has changed meanwhile is refused.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "format/format.h"
#include "memory.h"
#include "sign/sign.h"
#include "str.h"

#include <errno.h>
#include <string.h>

static const char beginning[] = "# Machines that runs may go to; ryefs remote add writes here.\n"
				"version: \"1.0.0\"\n"
				"category: remotes\n"
				"remotes:\n";

struct edit {
	const struct space *user;
	struct rye_blob *was; /* the file as it is; NULL: there is none */
	struct rye_buf text; /* as it is to be */
};

static void edit_done(struct edit *edit)
{
	rye_blob_unref(edit->was);
	buf_done(&edit->text);
}

#define auto_edit __attribute__((cleanup(edit_done)))

/* The file has to be good: what has no signature gets none on the way. */
static int edit_open(const struct item_env *env, struct edit *edit, struct rye_err *err)
{
	const struct config_file file = { remote_user_space(env), REMOTES_FILE, ".yaml" };
	auto_item struct rye_item *item = NULL;
	struct rye_err why = { 0 };
	int r;

	edit->user = file.space;
	if (!file.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no user space to write remotes in");
	if (space_fd(file.space) < 0)
		return 0;
	r = config_load_file(env, &file, &item, &why);
	if (r == -(int)RYE_NOT_FOUND)
		return 0;
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	edit->was = rye_blob_ref(item->raw);
	return 0;
}

static int edit_put(const struct item_env *env, const struct edit *edit, struct rye_err *err)
{
	auto_json json_t *reply = NULL;
	struct sign_given given = { .ext = ".yaml", .text = buf_span(&edit->text) };
	struct sign_ask ask = { .kind = RYE_CONFIG,
				.id = REMOTES_FILE,
				.space = edit->user,
				.given = &given };

	if (edit->text.failed)
		return memory_fail(err);
	if (edit->was)
		given.was = (struct rye_span){ edit->was->data, edit->was->len };
	return sign_put(env, &ask, &reply, err);
}

/* What the text says of that name now; a new reference, NULL: nothing. */
static json_t *edit_entry(const struct edit *edit, const char *name)
{
	auto_json json_t *doc = parse_yaml(buf_span(&edit->text), NULL);

	return json_incref(json_object_get(json_object_get(doc, "remotes"), name));
}

static int by_hand(const struct edit *edit, const char *name, const char *what, struct rye_err *err)
{
	return rye_fail(err, RYE_STATE,
			"%s/.ai/config/" REMOTES_FILE ".yaml is written so that %s of it has to be "
			"%s by hand\n" MEND_WITH "ryefs edit --space user config:" REMOTES_FILE,
			edit->user->root, name, what);
}

static bool is_head(struct rye_span line)
{
	return span_starts(line, "remotes:") && !span_trim(span_skip(line, strlen("remotes:"))).len;
}

static void put_entry(struct rye_buf *ret, const char *name, const char *url, const char *project)
{
	auto_json json_t *entry = json_pack("{s:s, s:s*}", "url", url, "project_path", project);

	buf_addf(ret, "  %s: ", name);
	json_put(ret, entry, true);
}

int remote_enter(const struct item_env *env, const char *name, const char *url, const char *project,
		 struct rye_err *err)
{
	auto_edit struct edit edit = { 0 };
	auto_json json_t *now = NULL;
	struct rye_span rest = { beginning, strlen(beginning) }, line;
	bool done = false;
	int r = edit_open(env, &edit, err);

	if (r < 0)
		return r;
	if (edit.was)
		rest = (struct rye_span){ edit.was->data, edit.was->len };
	while (span_line(&rest, &line)) {
		buf_addspan(&edit.text, line);
		buf_addc(&edit.text, '\n');
		if (!done && is_head(line)) {
			put_entry(&edit.text, name, url, project);
			done = true;
		}
	}
	now = edit_entry(&edit, name);
	if (!done || strcmp(json_str(now, "url"), url) != 0)
		return by_hand(&edit, name, "written into it", err);
	return edit_put(env, &edit, err);
}

int remote_leave(const struct item_env *env, const char *name, struct rye_err *err)
{
	auto_edit struct edit edit = { 0 };
	auto_json json_t *now = NULL;
	char head[ID_NAME_MAX + 8];
	struct rye_span rest, line;
	bool done = false;
	int r = edit_open(env, &edit, err);

	if (r < 0 || !edit.was)
		return r < 0 ? r : 0;
	snprintf(head, sizeof(head), "  %.64s: {", name);
	rest = (struct rye_span){ edit.was->data, edit.was->len };
	while (span_line(&rest, &line)) {
		bool here = !done && span_starts(line, head) && span_ends(line, "}");

		done |= here;
		if (here)
			continue;
		buf_addspan(&edit.text, line);
		buf_addc(&edit.text, '\n');
	}
	now = edit_entry(&edit, name);
	if (now)
		return by_hand(&edit, name, "taken out of it", err);
	if (!done)
		return 0;
	r = edit_put(env, &edit, err);
	return r < 0 ? r : 1;
}
