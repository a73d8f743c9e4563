/* SPDX-License-Identifier: MIT */
/*
 * What tools may neither read nor change although they reach it: private keys, records of threads,
 * trust, other users' shared memory. Each case is a tool that tries.
 */
#include "exec_tools.h"

#include "sandbox/sandbox.h"

/* Ends the case that says so. */
#define NEED_VEIL()                                            \
	do {                                                   \
		if (!veil_possible())                          \
			test_skip("no mount namespaces here"); \
	} while (0)

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void tries(struct exec_place *p, const char *script, const char *want)
{
	exec_shell(p, "t/a.yaml", script, "  env: {BASE: \"{user_space}/..\"}\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_int_equal(said.code, RYE_OK);
		assert_string_equal(said.output, want);
		assert_null(json_object_get(json_object_get(said.reply, "metadata"),
					    "sandbox_skipped"));
	}
}

static void private_keys(void **state)
{
	struct exec_place *p = *state;
	char path[200];

	NEED_VEIL();
	/* boxes and interpreters from before there were any must not be used again */
	exec_function(p, "t/b.py",
		      "import os\n"
		      "keys = os.environ['RYE_TEST_BASE'] + '/keys'\n"
		      "return {'keys': os.listdir(keys) if os.path.isdir(keys) else []}");
	for (int i = 0; i < 4; i++) {
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"data\":{\"keys\":[]}}");
	}
	snprintf(path, sizeof(path), "%s/keys", p->place.base);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/keys/private_key.pem", p->place.base);
	put(path, "secret");
	tries(p,
	      "cat $BASE/keys/* 2>/dev/null; ls -A $BASE/keys; cat $BASE/keys/private_key.pem "
	      "/proc/$PPID/root/$BASE/keys/private_key.pem 2>/dev/null; "
	      "umount $BASE/keys 2>/dev/null && cat $BASE/keys/*; echo done",
	      "done\n");
	for (int i = 0; i < 4; i++) { /* the later ones warm */
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"data\":{\"keys\":[]}}");
	}
}

static void records_of_threads(void **state)
{
	struct exec_place *p = *state;
	char path[200];

	NEED_VEIL();
	/* before there is any, too */
	tries(p,
	      "mkdir -p .ai/state/threads/forged 2>/dev/null && echo made; "
	      "mv .ai/state .ai/old 2>/dev/null && echo moved; "
	      "mv .ai old 2>/dev/null && echo moved; echo x >new && mkdir dir && "
	      "echo y >.ai/tools/t/more && echo written",
	      "written\n");
	snprintf(path, sizeof(path), "%s/.ai/state/threads", p->place.project);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", p->place.project);
	put(path, "rows");
	tries(p,
	      "cat .ai/state/threads/registry.db 2>/dev/null; ls -A .ai/state/threads; "
	      "mkdir -p .ai/state/threads/x 2>/dev/null && echo made; "
	      "(echo x >>.ai/state/threads/registry.db) 2>/dev/null && echo forged; "
	      "ln new .ai/state/link 2>/dev/null && echo linked; echo done",
	      "done\n");
	exec_shell(p, "t/a.yaml",
		   "cat .ai/state/threads/registry.db; (echo x >>.ai/state/threads/registry.db) "
		   "2>/dev/null && echo forged; rm -f .ai/state/threads/registry.db 2>/dev/null; "
		   "mv .ai/state .ai/old 2>/dev/null && echo moved; echo; "
		   "test -s .ai/state/threads/registry.db && echo there",
		   "requires: [fs.write, threads.read]\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_string_equal(said.output, "rows\nthere\n");
	}
}

static void let_settle(void)
{
	usleep(150000); /* until their times tell every later change */
}

/* What is replaced while directories are remembered by their times: the mount over it went with the old. */
static void replaced_names(void **state)
{
	static const char append[] = "for f in .git/config .git/hooks/run .ai/state/kept; do "
				     "(echo x >>$f) 2>/dev/null && echo $f; done; true";
	struct exec_place *p = *state;
	const char *project = p->place.project;
	char from[200], to[200];

	NEED_VEIL();
	snprintf(to, sizeof(to), "%s/.git", project);
	mkdir(to, 0755);
	snprintf(to, sizeof(to), "%s/.git/config", project);
	put(to, "");
	let_settle();
	for (int i = 0; i < 4; i++)
		tries(p, append, "");
	/* as `git config` does it */
	snprintf(from, sizeof(from), "%s/.git/config.lock", project);
	put(from, "");
	assert_int_equal(rename(from, to), 0);
	tries(p, append, "");
	let_settle();
	tries(p, append, "");
	snprintf(to, sizeof(to), "%s/.git/hooks", project);
	mkdir(to, 0755);
	tries(p, append, "");
	let_settle();
	tries(p, append, "");
	snprintf(from, sizeof(from), "%s/.ai/state", project);
	snprintf(to, sizeof(to), "%s/.ai/old", project);
	assert_int_equal(rename(from, to), 0);
	mkdir(from, 0700);
	tries(p, append, "");
	let_settle();
	tries(p, append, "");
}

/* A project that is the user's space, too: the home directory. */
static void trust(void **state)
{
	struct exec_place *p = *state;

	NEED_VEIL();
	exec_close(p->exec);
	place_close(&p->place);
	memcpy(p->place.user, p->place.project, sizeof(p->place.user));
	place_put(p->place.user, "config/keys/trusted/" KEY1 ".toml",
		  ".ai/config/keys/trusted/" KEY1 ".toml");
	exec_place_open(p);
	tries(p,
	      "(echo x >.ai/config/keys/trusted/0000000000000000.toml) 2>/dev/null && echo added; "
	      "mkdir -p .ai/config/keys/automatic 2>/dev/null && echo made; "
	      "mv .ai/config .ai/other 2>/dev/null && echo moved; "
	      "mv .ai/config/keys .ai/keys 2>/dev/null && echo moved; "
	      "rm -rf .ai/config/keys 2>/dev/null; ls .ai/config/keys/trusted; "
	      "echo y >.ai/config/more && echo written",
	      KEY1 ".toml\nwritten\n");
}

static void shared_memory(void **state)
{
	struct exec_place *p = *state;
	char path[64];

	NEED_VEIL();
	snprintf(path, sizeof(path), "/dev/shm/rye-test-%d", getpid());
	put(path, "others");
	for (int i = 0; i < 2; i++)
		tries(p, "ls -A /dev/shm; echo mine >/dev/shm/mine && cat /dev/shm/mine", "mine\n");
	assert_int_equal(access("/dev/shm/mine", F_OK), -1);
	unlink(path);
	exec_function(p, "t/a.py",
		      "import multiprocessing\n"
		      "lock = multiprocessing.Lock()\n"
		      "lock.acquire()\n"
		      "return {'locked': True}");
	exec_wants(p, "{}", "{\"data\":{\"locked\":true}}");
	exec_function(p, "t/a.py",
		      "import os\n"
		      "before = os.listdir('/dev/shm')\n"
		      "open('/dev/shm/left', 'w').close()\n"
		      "return {'before': before}");
	for (int i = 0; i < 5; i++) /* warm ones among them */
		exec_wants(p, "{}", "{\"data\":{\"before\":[]}}");
}

static void working_directory(void **state)
{
	struct exec_place *p = *state;
	char want[200];

	NEED_VEIL();
	snprintf(want, sizeof(want), "%s\n/tmp\n", p->place.project);
	exec_shell(p, "t/a.yaml", "pwd; cd /tmp; pwd; id -u >/dev/null", "");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_string_equal(said.output, want);
	}
}

/*
 * Landlock knows no system call that changes no more than what is told of a file. Nothing is
 * another than before when it succeeds: one of the files is the machine's.
 */
static void facts_of_files(void **state)
{
	struct exec_place *p = *state;
	char path[200];

	NEED_VEIL();
	snprintf(path, sizeof(path), "%s/outside", p->place.base);
	put(path, "text");
	exec_function(
		p, "t/a.py",
		"import os\n"
		"base = os.environ['RYE_TEST_BASE']\n"
		"def done(change, *words):\n"
		"    try:\n"
		"        change(*words)\n"
		"        return True\n"
		"    except OSError:\n"
		"        return False\n"
		"def changes(path):\n"
		"    st = os.stat(path)\n"
		"    return [done(os.chmod, path, st.st_mode & 0o7777), done(os.utime, path),\n"
		"            done(os.chown, path, st.st_uid, st.st_gid)]\n"
		"own = [os.environ['TMPDIR'] + '/x', q + '/x', '/dev/shm/x']\n"
		"for name in own:\n"
		"    open(name, 'w').close()\n"
		"said = [changes(name) for name in own]\n"
		"for name in own:\n"
		"    os.remove(name)\n"
		"return {'outside': changes(base + '/outside'), 'base': changes(base),\n"
		"        'null': changes('/dev/null'), 'own': said}");
	for (int i = 0; i < 2; i++) /* warm, too */
		exec_wants(p, "{}",
			   "{\"data\":{\"outside\":[false,false,false],"
			   "\"base\":[false,false,false],\"null\":[false,false,false],"
			   "\"own\":[[true,true,true],[true,true,true],[true,true,true]]}}");
}

/* There /dev/shm stays what it is, and cannot be written to but for the project. */
static void project_in_shared_memory(void **state)
{
	struct exec_place *p = *state;
	char to[] = "/dev/shm/rye-test-XXXXXX";

	NEED_VEIL();
	if (!mkdtemp(to))
		skip();
	exec_close(p->exec);
	place_close(&p->place);
	snprintf(p->place.project, sizeof(p->place.project), "%s", to);
	exec_place_open(p);
	tries(p,
	      "echo x >here && cat here; (echo x >/dev/shm/rye-other) 2>/dev/null || echo refused",
	      "x\nrefused\n");
	tmpdir_remove(to);
}

static int setup(void **state)
{
	struct exec_place *p;

	exec_setup(state);
	p = *state;
	exec_close(p->exec);
	place_close(&p->place);
	setenv("RYE_TEST_BASE", p->place.base, 1);
	p->opt.env_names = "RYE_TEST_BASE";
	exec_place_open(p);
	return 0;
}

#define veil_test(fn) cmocka_unit_test_setup_teardown(fn, setup, exec_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		veil_test(private_keys),      veil_test(records_of_threads),
		veil_test(replaced_names),    veil_test(trust),
		veil_test(shared_memory),     veil_test(facts_of_files),
		veil_test(working_directory), veil_test(project_in_shared_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
