/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves behind, read by a program that shares nothing with the engine
 * (tests/e2e/thread_verifier.py): it takes the files as they are and refuses each of many changes.
 */
#include "record_place.h"
#include "told.h"

#include "clock.h"
#include "sign/sign.h"

#include <sys/wait.h>

/* Everything of a thread that has ended. */
static void leave_all(struct record_place *r)
{
	auto_json json_t *limits = json_pack("{s:f, s:i}", "spend", 5.0, "turns", 6);
	auto_json json_t *caps =
		json_pack("[s, s]", "rye.execute.tool.rye.file-system.*", "rye.fetch.knowledge");
	auto_json json_t *tools = json_pack("[{s:s, s:s}]", "name", "rye_read", "description",
					    "reads \xf0\x9f\x98\x80 \x7f");
	auto_json json_t *cost =
		thread_cost_json(&(struct thread_cost){ 2, 200, 20, 1e-05, 0.1 + 0.2 });
	auto_json json_t *outputs = json_pack("{s:s, s:f, s:n}", "greeting", "caf\xc3\xa9 \x7f/\n",
					      "big", 1e16, "none");
	struct thread_json what = { .directive = "t/hello",
				    .status = "completed",
				    .model = "m",
				    .cost = cost,
				    .limits = limits,
				    .capabilities = caps,
				    .outputs = outputs };
	struct story story = { .directive = "t/hello",
			       .status = "completed",
			       .model = "m",
			       .cost = { 2, 200, 20, 1e-05, 0.3 },
			       .capabilities = caps };
	auto_chronicle struct chronicle *chronicle = NULL;
	auto_blob struct rye_blob *text = NULL;

	assert_works(&told_err, capabilities_md_write(&r->record, tools, caps, &told_err));
	assert_works(&told_err, chronicle_open(&r->record, &chronicle, &told_err));
	record_talk(r, chronicle);
	assert_works(&told_err, record_transcript(&r->record, &text, &told_err));
	assert_works(&told_err,
		     story_write(&r->record, &story, CHRONICLE_FILE(&r->record), &told_err));
	what.transcript_head = chronicle_head(chronicle);
	assert_works(&told_err, thread_json_write(&r->record, &what, &told_err));
}

/* The exit status of the verifier. */
static int verify(const struct record_place *r, const char *id)
{
	char ai[300], keys[300], program[500];
	int status;
	pid_t pid;

	snprintf(ai, sizeof(ai), "%s/.ai", r->p.project);
	snprintf(keys, sizeof(keys), "%s/.ai/config/keys/automatic", r->p.user);
	snprintf(program, sizeof(program), "%s/e2e/thread_verifier.py", getenv("RYE_TEST_SRC"));
	pid = fork();
	if (!pid) {
		setenv("RYE_TRUSTED", keys, 1);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl("/usr/bin/python3", "python3", program, ai, id, "--mutations", "25", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void another_program_reads_it(void **state)
{
	struct record_place r;

	if (access("/usr/bin/python3", X_OK))
		test_skip("there is no /usr/bin/python3");
	record_place_make(&r, RECORD_ID);
	leave_all(&r);
	assert_int_equal(verify(&r, RECORD_ID), 0);
	record_place_drop(&r);
}

/* It says no to what the engine says no to: here a key that vouches for nothing. */
static void another_program_knows_no_stranger(void **state)
{
	struct record_place r;

	if (access("/usr/bin/python3", X_OK))
		test_skip("there is no /usr/bin/python3");
	record_place_make(&r, RECORD_ID);
	place_key(0x55, &r.key);
	leave_all(&r);
	assert_int_equal(verify(&r, RECORD_ID), 1);
	record_place_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_program_reads_it),
		cmocka_unit_test(another_program_knows_no_stranger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
