/* SPDX-License-Identifier: MIT */
/*
 * Search over a private workspace: cases T47, T93 to T95. Items are unsigned and served in dev
 * mode, so that a case can say what is in them; system items stay refused.
 */
#include "item_place.h"

#include "api/api_inner.h"
#include "space/space.h"

struct bench {
	struct test_place place;
	struct rye *rye;
};

static void tool(const char *root, const char *id, const char *category, const char *about)
{
	char path[300], text[1000], header[220];

	/* As long as a signature line: the 200 characters of the preview lie in it. */
	memset(header, '#', sizeof(header) - 1);
	header[sizeof(header) - 1] = 0;
	snprintf(path, sizeof(path), "tools/%s.py", id);
	snprintf(text, sizeof(text),
		 "%s\n__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n"
		 "__category__ = \"%s\"\n__tool_description__ = \"%s\"\n",
		 header, category, about);
	place_text(root, path, text);
}

static void directive(const char *root, const char *id, const char *about, const char *body)
{
	char path[300], text[1000];

	snprintf(path, sizeof(path), "directives/%s.md", id);
	snprintf(text, sizeof(text),
		 "```xml\n<directive name=\"%s\" version=\"1.0.0\">\n<metadata>\n"
		 "<description>%s</description>\n<category></category>\n<author>a</author>\n"
		 "</metadata>\n</directive>\n```\n%s\n",
		 id, about, body);
	place_text(root, path, text);
}

static void start(struct bench *b)
{
	b->rye = place_engine(&b->place, (struct rye_options){ .dev_mode = true });
}

static void done(struct bench *b)
{
	rye_close(b->rye);
	place_drop(&b->place);
}

static json_t *ask(struct bench *b, const char *request, struct rye_err *err)
{
	auto_json json_t *doc = json_loads(request, 0, NULL);
	json_t *reply = NULL;

	assert_non_null(doc);
	*err = (struct rye_err){ 0 };
	if (api_search_reply(b->rye, &(struct exec_search){ .request = doc }, &reply, err) == 0)
		assert_non_null(reply);
	return reply;
}

/* "id score, id score" of a reply's results. */
static void check(struct bench *b, const char *request, const char *wanted)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct rye_err err;
	auto_json json_t *reply = ask(b, request, &err);
	const json_t *results = json_object_get(reply, "results");

	if (!reply)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < json_array_size(results); i++) {
		const json_t *row = json_array_get(results, i);

		buf_addf(&buf, "%s%s ", i ? ", " : "", json_str(row, "id"));
		json_python_float(&buf, json_number_value(json_object_get(row, "score")));
	}
	buf_adds(&buf, "");
	assert_string_equal(buf.data, wanted);
}

/* A user space with three tools and three directives. */
static void corpus(struct bench *b)
{
	place_make(&b->place);
	tool(b->place.user, "rye/bash/bash", "rye/bash", "Execute shell commands");
	tool(b->place.user, "rye/file/read", "rye/file", "Read a file");
	tool(b->place.user, "x/other", "x", "Runs bash scripts");
	directive(b->place.user, "create_tool", "Create a new tool", "Steps");
	directive(b->place.user, "create_threaded_tool", "Create a threaded tool", "Steps");
	directive(b->place.user, "create_advanced_tool", "Create a tool with more", "Steps");
	start(b);
}

static void T93_scores(void **state)
{
	struct bench b;

	corpus(&b);
	check(&b, "{\"query\": \"bash\", \"scope\": \"tool\"}",
	      "rye/bash/bash 0.7143, x/other 0.1905");
	check(&b, "{\"query\": \"create tool NOT threaded\", \"scope\": \"directive\"}",
	      "create_advanced_tool 0.8571, create_tool 0.8571");
	done(&b);
}

/* Of a run that is held to capabilities: neither what is found nor how much there is tells of others. */
static void what_may_not_be_read_is_not_found(void **state)
{
	static const char request[] = "{\"query\": \"bash\", \"scope\": \"tool\", \"limit\": 1}";
	auto_json json_t *doc = json_loads(request, 0, NULL);
	auto_json json_t *lists = json_pack("[[s], [s, s]]", "rye.fetch.*", "rye.fetch.tool.x.*",
					    "rye.execute.tool.*");
	auto_authority struct authority model;
	auto_json json_t *reply = NULL;
	struct rye_err err = { 0 };
	struct bench b;

	authority_model(&model, lists);
	corpus(&b);
	assert_works(&err, api_search_reply(
				   b.rye, &(struct exec_search){ .request = doc, .asker = &model },
				   &reply, &err));
	assert_string_equal(json_str(json_array_get(json_object_get(reply, "results"), 0), "id"),
			    "x/other");
	assert_int_equal(json_int(reply, "total", 0), 1);
	done(&b);
}

static void scopes(void **state)
{
	struct bench b;

	corpus(&b);
	/* An empty query, a prefix, a page. */
	check(&b, "{\"query\": \"\", \"scope\": \"rye.fetch.tool.rye.*\"}",
	      "rye/bash/bash 1.0, rye/file/read 1.0");
	check(&b, "{\"query\": \"\", \"scope\": \"tool\", \"limit\": 1, \"offset\": 2}",
	      "x/other 1.0");
	check(&b, "{\"query\": \"file\", \"scope\": \"tool\", \"fields\": [\"category\"]}",
	      "rye/file/read 1.0");
	/* Steps stand in the body alone. */
	check(&b, "{\"query\": \"steps threaded\", \"item_type\": \"directive\"}",
	      "create_threaded_tool 0.0476");
	check(&b, "{\"query\": \"nothing_like_this\", \"scope\": \"tool\"}", "");
	done(&b);
}

/* Options of the search engine underneath. */
static void options(void **state)
{
	struct bench b;

	place_make(&b.place);
	tool(b.place.user, "x/alpha", "x", "deploys to kubernetes at once");
	usleep(20000); /* another tick of the file system's clock */
	tool(b.place.user, "x/beta", "x", "deploy many other things before kubernetes is asked");
	usleep(20000); /* and another */
	tool(b.place.project, "x/gamma", "x", "nothing");
	start(&b);
	check(&b, "{\"query\": \"kubernets\", \"scope\": \"tool\"}", "");
	check(&b, "{\"query\": \"kubernets\", \"scope\": \"tool\", \"fuzzy\": 1}",
	      "x/alpha 0.1905, x/beta 0.1905");
	check(&b,
	      "{\"query\": \"deploy kubernetes\", \"scope\": \"tool\", "
	      "\"proximity\": {\"max_distance\": 3}}",
	      "x/alpha 0.1905");
	check(&b,
	      "{\"query\": \"\", \"scope\": \"tool\", \"filters\": {\"version\": \">=1.0\", "
	      "\"category\": [\"x\", \"y\"], \"tool_description\": \"!nothing\"}}",
	      "x/alpha 1.0, x/beta 1.0");
	check(&b, "{\"query\": \"\", \"scope\": \"tool\", \"filters\": {\"version\": \">1.9\"}}",
	      "");
	check(&b, "{\"query\": \"\", \"scope\": \"tool\", \"sort_by\": \"name\"}",
	      "x/alpha 1.0, x/beta 1.0, x/gamma 1.0");
	check(&b, "{\"query\": \"\", \"scope\": \"tool\", \"sort_by\": \"date\"}",
	      "x/gamma 1.0, x/beta 1.0, x/alpha 1.0");
	done(&b);
}

static void T94_no_scope(void **state)
{
	static const char *const bad[] = { "{\"query\": \"a\"}",
					   "{\"query\": \"a\", \"scope\": \"foo\"}",
					   "{\"query\": \"a\", \"scope\": \"rye.search.tool.*\"}",
					   "{\"query\": \"a\", \"scope\": \"config\"}" };
	struct rye_err err;
	struct bench b;

	place_make(&b.place);
	start(&b);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_null(ask(&b, bad[i], &err));
		assert_string_equal(err.msg,
				    "scope must specify a kind (e.g., rye.fetch.directive.*)");
	}
	/* what belongs to the other mode */
	assert_null(ask(&b, "{\"query\": \"a\", \"scope\": \"tool\", \"destination\": \"user\"}",
			&err));
	assert_string_equal(err.msg, "Invalid params for query mode: {'destination'}");
	done(&b);
}

static void T47_shadows(void **state)
{
	struct bench b;
	struct rye_err err;
	json_t *reply, *rows;

	place_make(&b.place);
	tool(b.place.project, "rye/bash/bash", "rye/bash", "Mine");
	tool(b.place.user, "rye/bash/bash", "rye/bash", "Theirs");
	place_text(b.place.system, "tools/rye/bash/bash.py", "unsigned");
	start(&b);
	reply = ask(&b, "{\"query\": \"bash\", \"scope\": \"tool\"}", &err);
	rows = json_object_get(reply, "results");
	assert_int_equal(json_integer_value(json_object_get(reply, "total")), 3);
	assert_string_equal(json_str(json_array_get(rows, 0), "source"), "project");
	assert_string_equal(
		json_str(json_array_get(json_object_get(json_array_get(rows, 0), "shadows"), 1),
			 "source"),
		"system");
	assert_string_equal(json_str(json_array_get(rows, 1), "shadowed_by"), "project");
	assert_string_equal(json_str(json_array_get(rows, 2), "shadowed_by"), "project");
	/* A refused one is known by name and place, its text is not told. */
	assert_string_equal(json_str(json_array_get(rows, 2), "integrity"), "unsigned");
	assert_string_equal(json_str(json_array_get(rows, 2), "preview"), "");
	json_decref(reply);
	done(&b);
}

static int collect(void *arg, const struct rye_hit *hit)
{
	buf_addf(arg, "%s:%s %s|", rye_kind_name(hit->kind), hit->id, hit->name);
	return 0;
}

static void hits(void **state)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct rye_query query = { "deploy", 10, collect, &buf };
	struct bench b;

	place_make(&b.place);
	directive(b.place.project, "deploy", "To production", "x");
	tool(b.place.user, "ops/deploy", "ops", "x");
	place_text(b.place.user, "knowledge/agent/threads/a/b-1.md", "deploy\n");
	start(&b);
	assert_works(&told_err, rye_search(b.rye, &query, &told_err));
	assert_string_equal(buf.data, "directive:deploy deploy.md|tool:ops/deploy deploy.py|");
	buf_clear(&buf);
	query.text = "NOT (deploy OR x)";
	assert_works(&told_err, rye_search(b.rye, &query, &told_err));
	assert_int_equal(buf.len, 0);
	/* What a model wrote is found when it is asked for. */
	check(&b, "{\"query\": \"deploy\", \"scope\": \"knowledge\"}", "");
	check(&b, "{\"query\": \"deploy\", \"scope\": \"knowledge.agent.threads\"}",
	      "agent/threads/a/b-1 0.0952");
	/* Changes show. */
	tool(b.place.user, "ops/deploy", "ops", "changed");
	done(&b);
}

/* An entry with a long body: the last words lie far behind the preview. */
static void entry(const char *root, const char *id, const char *last)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char path[300];

	buf_addf(&text, "```yaml\nname: %s\ntitle: T\nversion: \"1.0.0\"\n```\n", id);
	for (int i = 0; i < 500; i++)
		buf_addf(&text, "filler %d of %s, ", i * 7919, id);
	buf_addf(&text, "\n%s\n", last);
	buf_adds(&text, "");
	snprintf(path, sizeof(path), "knowledge/%s.md", id);
	place_text(root, path, text.data);
}

static void check_entries(struct bench *b)
{
	check(b, "{\"query\": \"Zebra\", \"scope\": \"knowledge\"}", "a 0.0476, b 0.0476");
	check(b, "{\"query\": \"zebra NOT crossing\", \"scope\": \"knowledge\"}", "b 0.0476");
	check(b, "{\"query\": \"\\\"zebra crossing\\\"\", \"scope\": \"knowledge\"}", "a 0.0476");
	check(b, "{\"query\": \"cro*ing OR stripe?\", \"scope\": \"knowledge\"}", "a 0.0476");
	check(b, "{\"query\": \"zebar\", \"scope\": \"knowledge\", \"fuzzy\": 2}",
	      "a 0.0476, b 0.0476");
	check(b, "{\"query\": \"zebra crossing\", \"scope\": \"knowledge\", \"proximity\": 2}",
	      "a 0.0476");
	check(b, "{\"query\": \"NOT zebra\", \"scope\": \"knowledge\"}", "c 1.0");
	check(b, "{\"query\": \"zebra\", \"scope\": \"knowledge\", \"fields\": [\"title\"]}", "");
	check(b, "{\"query\": \"quagga\", \"scope\": \"knowledge\"}", "");
}

/* The same is found whether texts lie in memory, are read again, or some of each. */
static void short_of_memory(void **state)
{
	static const size_t rooms[] = { 48 << 20, 0, 12000 };

	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		struct bench b;
		size_t bytes;

		place_make(&b.place);
		entry(b.place.project, "a", "A zebra crossing");
		entry(b.place.project, "b", "A zebra");
		entry(b.place.user, "c", "Nothing");
		start(&b);
		b.rye->search_texts = rooms[i];
		check_entries(&b);
		bytes = index_doc_bytes(b.rye->index);
		assert_true(bytes > 0);
		/* at most one text crosses the line; a document without one is small */
		assert_true(bytes < rooms[i] + 20000);
		assert_true(rooms[i] > 20000 || bytes < 30000);
		assert_true(rooms[i] || bytes < 3 * 4096);
		index_drop_docs(b.rye->index);
		assert_int_equal(index_doc_bytes(b.rye->index), 0);
		done(&b);
	}
}

/* Files that were read so far. */
static uint64_t reads(struct bench *b)
{
	struct item_store_counts counts;

	item_store_counts(b->rye->items.store, &counts);
	return counts.verifications + counts.hits;
}

static int count_hit(void *arg, const struct rye_hit *hit)
{
	(void)hit;
	++*(int *)arg;
	return 0;
}

/* Also where no text stays in memory; a source that another space hides is read by the first search
 * that asks for such. */
static void first_search_reads_once(void **state)
{
	int n = 0;
	const struct rye_query query = { "zebra crossing", 1000, count_hit, &n };
	struct bench b;
	char id[20];
	uint64_t before;

	place_make(&b.place);
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		entry(b.place.project, id, "A zebra crossing");
	}
	entry(b.place.user, "e0", "A zebra crossing");
	start(&b);
	b.rye->search_texts = 0;
	before = reads(&b);
	assert_int_equal(rye_search(b.rye, &query, NULL), 0);
	assert_int_equal(n, 100);
	assert_int_equal(reads(&b) - before, 100);
	check(&b, "{\"query\": \"quagga\", \"scope\": \"knowledge\"}", "");
	assert_int_equal(reads(&b) - before, 101);
	done(&b);
}

struct seen {
	pthread_t asker;
	size_t calls, last, total;
};

static int ignore_hit(void *arg, const struct rye_hit *hit)
{
	(void)arg;
	(void)hit;
	return 0;
}

static void see(void *arg, size_t n, size_t total)
{
	struct seen *seen = arg;

	assert_true(pthread_equal(pthread_self(), seen->asker));
	assert_true(!seen->calls || n > seen->last);
	seen->calls++;
	seen->last = n;
	seen->total = total;
}

/* A terminal's bar: told while items are read, and only then. */
static void progress_is_told(void **state)
{
	struct seen seen = { .asker = pthread_self() };
	const struct rye_query query = { .text = "zebra",
					 .limit = 10,
					 .fn = ignore_hit,
					 .arg = &seen,
					 .progress = see };
	struct bench b;
	char id[20];

	place_make(&b.place);
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		entry(b.place.project, id, "A zebra crossing");
	}
	start(&b);
	assert_works(&told_err, rye_search(b.rye, &query, &told_err));
	assert_true(seen.calls && seen.last < 100);
	assert_int_equal(seen.total, 100);
	seen.calls = 0;
	assert_works(&told_err, rye_search(b.rye, &query, &told_err));
	assert_int_equal(seen.calls, 0);
	done(&b);
}

static void given_up(void **state)
{
	_Atomic int stop = RYE_INTERRUPTED;
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct rye_query query = { "zebra", 10, collect, &buf, &stop };
	struct rye_err err = { 0 };
	struct bench b;

	place_make(&b.place);
	entry(b.place.project, "a", "A zebra crossing");
	start(&b);
	assert_refused(&err, RYE_CANCELLED, rye_search(b.rye, &query, &err));
	assert_int_equal(buf.len, 0);
	assert_int_equal(index_doc_bytes(b.rye->index), 0);
	stop = 0;
	assert_works(&err, rye_search(b.rye, &query, &err));
	assert_string_equal(buf.data, "knowledge:a a.md|");
	done(&b);
}

static void give_up(void *arg, size_t n, size_t total)
{
	(void)n;
	(void)total;
	*(_Atomic int *)arg = RYE_INTERRUPTED;
}

/* While it reads: what it has not come to is neither found nor ranked. */
static void given_up_midway(void **state)
{
	_Atomic int stop = 0;
	int n = 0;
	struct rye_query query = { .text = "zebra", .limit = 10, .fn = count_hit, .arg = &n };
	struct rye_query asked = { .text = "zebra", .limit = 10, .fn = ignore_hit };
	struct rye_err err = { 0 };
	struct bench b;
	char id[20];

	place_make(&b.place);
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		entry(b.place.project, id, "A zebra crossing");
	}
	start(&b);
	asked.arg = &stop;
	asked.stop = &stop;
	asked.progress = give_up;
	assert_refused(&err, RYE_CANCELLED, rye_search(b.rye, &asked, &err));
	assert_works(&err, rye_search(b.rye, &query, &err));
	assert_int_equal(n, 10);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T93_scores),
		cmocka_unit_test(scopes),
		cmocka_unit_test(options),
		cmocka_unit_test(T94_no_scope),
		cmocka_unit_test(T47_shadows),
		cmocka_unit_test(hits),
		cmocka_unit_test(short_of_memory),
		cmocka_unit_test(given_up),
		cmocka_unit_test(given_up_midway),
		cmocka_unit_test(first_search_reads_once),
		cmocka_unit_test(progress_is_told),
		cmocka_unit_test(what_may_not_be_read_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
