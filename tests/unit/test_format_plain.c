/* SPDX-License-Identifier: MIT */
/* What replies say to people and to models. */
#include "rye_test.h"

#include "scope.h"
#include "format/format.h"

static const char *const rows[][2] = {
	/* the text that there is, alone */
	{ "{'status':'success','chain':[1],'data':{'output':'HEY','n':1}}", "HEY" },
	{ "{'status':'success','data':{'output':'','stdout':'x'}}", "" },
	{ "{'status':'success','data':{'status_code':200,'headers':{},'body':'b'}}", "b" },
	{ "{'status':'success','your_directions':'Use it.','content':'text','data':{}}", "text" },
	{ "{'status':'success','data':{'isError':false,'content':[{'type':'text','text':'a'},"
	  "{'type':'image','mimeType':'image/png'}]}}",
	  "a\n[image image/png]\n" },
	/* else the data */
	{ "{'status':'success','chain':[1],'data':{'words':3}}", "{'words':3}" },
	{ "{'status':'success','data':{'status_code':200,'headers':{},'body':[1]}}", "[1]" },
	{ "{'status':'success','data':{'body':'b','title':'t'}}", "{'body':'b','title':'t'}" },
	{ "{'status':'success','thread_id':'x','result':'r','outputs':{'n':1}}", "{'n':1}" },
	{ "{'status':'success','thread_id':'x','result':'r'}", "r" },
	{ "{'status':'success','data':{'graph_run_id':'g','steps':2,'output':{'n':1}}}",
	  "{'n':1}" },
	{ "{'status':'success','data':{'graph_run_id':'g','errors':[1],'output':{}}}",
	  "{'graph_run_id':'g','errors':[1],'output':{}}" },
	{ "{'status':'success','data':{'result':[1,'x']}}", "[1,'x']" },
	{ "{'status':'success','results':[],'metadata':{'duration_ms':1}}",
	  "{'status':'success','results':[]}" },
	/* an error once, after what was printed */
	{ "{'status':'error','error':'no','chain':[1],"
	  "'data':{'success':false,'error':'no','stdout':'','stderr':'no\\n'}}",
	  "no" },
	{ "{'status':'error','error':'no','data':{'output':'it says no'}}", "it says no" },
	{ "{'status':'error','error':'no','data':{'stdout':'a','stderr':'no'}}", "a\nno" },
	{ "{'status':'error','error':'no','data':{'error':'no','hint':'yes'}}",
	  "no\n{'hint':'yes'}" },
	{ "{'status':'error','error':'no','thread_id':'x','result':'half'}", "half\nno" },
	{ "{'status':'error'}", "the tool failed" },
};

/* The rows are written with ' for ". */
static char *quoted(const char *text)
{
	char *copy = strdup(text);

	for (char *at = copy; at && (at = strchr(at, '\''));)
		*at = '"';
	return copy;
}

static void what_is_said(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *given = quoted(rows[i][0]), *wanted = quoted(rows[i][1]);
		auto_json json_t *reply = json_loads(given, 0, NULL);
		auto_json json_t *said = plain_said(reply);
		auto_buf struct rye_buf out = RYE_BUF_INIT;

		plain_put(&out, said);
		buf_adds(&out, "");
		assert_string_equal(out.data, wanted);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_said) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
