/* SPDX-License-Identifier: MIT */
/*
 * The table of verbs: --help, --version, and from a first word to its verb. A verb is a row here, a
 * declaration in cli.h and a file of its own; it sees the engine through rye.h only.
 */
#include <rye/ryefs.h>

#include "cli/cli.h"
#include "scope.h"

#include <string.h>

#define REFS                                                                                  \
	"REF is an ID, KIND:ID as in tool:rye/bash/bash, a pattern as in 'tool:my/*', or a\n" \
	"path: of the source, or of anything of the item's in a mount.\n"

/* For verbs that want one. */
#define ONE_REF                                                                             \
	"REF is an ID, KIND:ID as in tool:rye/bash/bash, or a path: of the source, or of\n" \
	"anything of the item's in a mount.\n"

static const struct cli_verb verbs[] = {
	{ .name = "complete",
	  .usage = "[WORD]",
	  .help = "what a reference that begins so may become (for the shells)",
	  .max = 1,
	  .traits = CLI_HIDDEN,
	  .run = verb_complete },
	{ .name = "completion",
	  .usage = "bash | fish | zsh",
	  .help = "print the shell's completion, as an installation has it",
	  .examples = "eval \"$(ryefs completion bash)\"\n"
		      "ryefs completion fish > ~/.config/fish/completions/ryefs.fish",
	  .min = 1,
	  .max = 1,
	  .run = verb_completion },
	{ .name = "diff",
	  .usage = "[REF...]",
	  .help = "show what changed in refused items since they were signed",
	  .more = REFS
	  "Where git, a copy beside the file (FILE~) or another space still has it as it was.",
	  .examples = "ryefs diff\n"
		      "ryefs diff knowledge:sample/house-rules",
	  .max = -1,
	  .traits = CLI_REFS | CLI_OPENS,
	  .run = verb_diff },
	{ .name = "doctor",
	  .usage = "",
	  .help = "say what is wrong with this workspace and machine, and what mends it",
	  .more = "Exit status 1 when something wants mending.",
	  .examples = "ryefs doctor",
	  .traits = CLI_WARNS | CLI_OPENS,
	  .run = verb_doctor },
	{ .name = "edit",
	  .usage = "REF",
	  .help = "change an item in your editor, and sign it",
	  .more = ONE_REF
	  "The editor ($VISUAL, $EDITOR) has a copy. What it saves is checked as sign checks\n"
	  "it, what changed is shown, and you are asked: until your yes the item is as it was.\n"
	  "What does not pass goes back to the editor. Without a terminal --yes is that yes.",
	  .examples = "EDITOR=nano ryefs edit sample/house-rules",
	  .min = 1,
	  .max = 1,
	  .seek = "ryefs search '*'",
	  .traits = CLI_REFS | CLI_WRITES | CLI_OPENS,
	  .run = verb_edit },
	{ .name = "execute",
	  .usage = "REF [JSON | - | KEY=VALUE...]",
	  .help = "run a tool, follow a directive, consult knowledge",
	  .more = REFS
	  "Parameters are one JSON object (- reads it from standard input), or KEY=VALUE\n"
	  "words: VALUE is text where the item's schema says so, else JSON if it reads\n"
	  "as JSON; KEY:=JSON is always JSON. Prints the output as it comes.",
	  .examples = "ryefs execute sample/count-words text='to be or not to be'\n"
		      "echo '{\"text\": \"to be\"}' | ryefs execute sample/count-words -",
	  .min = 1,
	  .max = -1,
	  .traits = CLI_REFS | CLI_WAITS,
	  .run = verb_execute },
	{ .name = "fetch",
	  .usage = "REF",
	  .help = "print an item's source, or copy it to another space",
	  .more = REFS "Only verified bytes are printed.",
	  .examples = "ryefs fetch sample/house-rules\n"
		      "ryefs fetch tool:rye/bash/bash --to project",
	  .min = 1,
	  .max = 1,
	  .traits = CLI_REFS | CLI_WRITES | CLI_WAITS | CLI_OPENS_ANY,
	  .run = verb_fetch },
	{ .name = "init",
	  .usage = "[DIR]",
	  .help = "make DIR a workspace: directories, a signing key if you have none",
	  .more = "What is there already is left alone.",
	  .examples = "ryefs init --sample ~/work\n"
		      "ryefs init --vscode ~/work",
	  .max = 1,
	  .traits = CLI_WRITES,
	  .run = verb_init },
	{ .name = "keygen",
	  .usage = "",
	  .help = "make your signing key and trust it",
	  .more = "It lies in your user space, in .ai/config/keys/signing, readable by you alone.\n"
		  "With --force the one before stays beside it as private_key.pem.old, until the next.",
	  .examples = "ryefs keygen --owner Ann",
	  .traits = CLI_WRITES | CLI_OPENS_ANY,
	  .run = verb_keygen },
	{ .name = "keys",
	  .usage = "",
	  .help = "list the keys there are and which of them count",
	  .examples = "ryefs keys --json",
	  .traits = CLI_OPENS_ANY,
	  .run = verb_keys },
	{ .name = "link",
	  .usage = "[MOUNTPOINT]",
	  .help = "let agents' clients find verified skills, and no others",
	  .more = "Makes .claude/skills and .agents/skills of the project links to skills/ of its mount, or of\n"
		  "the one that is named. What is there already stays, and is named. --each makes a real\n"
		  "directory with a link for each skill, for clients that follow no other; say it again\n"
		  "when skills have come or gone.",
	  .examples = "ryefs link --help",
	  .max = 1,
	  .seek = "ryefs list",
	  .run = verb_link },
	{ .name = "list",
	  .usage = "",
	  .help = "list your mounts: place, project, since when, process, state",
	  .more = "A mount is silent where its daemon does not answer, and dead where it has ended.",
	  .examples = "ryefs list --json",
	  .max = -1,
	  .run = verb_list },
	{ .name = "log",
	  .usage = "REF",
	  .help = "show which key has signed an item, and when",
	  .more = ONE_REF
	  "Where git has the file, of each commit that changed it, under the names that it had\n"
	  "(a skill: from its last move on); else of the file as it is. A commit's author is what\n"
	  "git says, a key what was verified.",
	  .examples = "ryefs log sample/house-rules",
	  .min = 1,
	  .max = 1,
	  .seek = "ryefs search '*'",
	  .traits = CLI_REFS | CLI_OPENS,
	  .run = verb_log },
	{ .name = "mcp",
	  .usage =
		  "[serve] | add NAME URL [\"HEADER: VALUE\"...] |\n"
		  "       add NAME [VAR=VALUE...] -- COMMAND [ARG...] | list | refresh NAME | remove NAME",
	  .help = "be a server of the Model Context Protocol; make items of other servers' tools",
	  .more = "serve, or no word: the workspace for a client that starts this and speaks through\n"
		  "standard input and output, or with --http for clients on this machine that know the\n"
		  "token, with --unix for yours that connect to a socket. Items run with your rights:\n"
		  "say --read-only to one that is only to read.\n\n"
		  "add shows what will run, and each text that a model would see, and asks; then the\n"
		  "server and its tools are items, signed with your key: mcp/NAME/TOOL. refresh shows\n"
		  "what the server has changed since, and asks. Values may name ${VARIABLES} and\n"
		  "secrets, which are filled in when the server is called.",
	  .examples = "ryefs mcp --read-only --project ~/work\n"
		      "ryefs mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
	  .max = -1,
	  .seek = "ryefs mcp list",
	  .traits = CLI_WRITES | CLI_WAITS,
	  .run = verb_mcp },
	{ .name = "merge",
	  .usage = "BASE OURS THEIRS PATH | --textconv FILE",
	  .help = "merges items for git, which calls it; ryefs init tells git so",
	  .min = 1,
	  .max = 4,
	  .traits = CLI_HIDDEN,
	  .run = verb_merge },
	{ .name = "minder",
	  .usage = "",
	  .help = "ends what a killed engine has left behind; started by the engine, not by hand",
	  .max = 1,
	  .traits = CLI_HIDDEN,
	  .run = verb_minder },
	{ .name = "mv",
	  .usage = "OLD NEW",
	  .help = "give an item another id, signed there",
	  .more = ONE_REF
	  "NEW is an id, or a directory with a slash behind it. The fields that say where the item\n"
	  "lies are written anew. What lies at NEW stays; an item that does not verify is not\n"
	  "moved. Which items name the old id is told. Killed half-way, the same call goes on.",
	  .examples = "ryefs mv sample/house-rules sample/rules-of-the-house --dry-run",
	  .min = 2,
	  .max = 2,
	  .seek = "ryefs search '*'",
	  .traits = CLI_REFS | CLI_WRITES | CLI_OPENS,
	  .run = verb_mv },
	{ .name = "new",
	  .usage = "KIND ID",
	  .help = "begin an item: small, signed, with comments that teach its fields",
	  .more = "KIND is tool, directive, knowledge, skill, graph (a workflow), http (a request of a\n"
		  "web server) or mcp (a server of the Model Context Protocol). ID is the path below the\n"
		  "kind's directory, as my/hello; of a skill or server its name alone. It works at\n"
		  "once; the command that tries it is printed. On a terminal it asks for what is\n"
		  "missing. What is there already stays.",
	  .examples = "ryefs new tool my/hello\n"
		      "ryefs new knowledge my/notes --space user",
	  .max = 2,
	  .traits = CLI_WRITES,
	  .run = verb_new },
	{ .name = "node",
	  .usage = "init [DIR] [NAME=VALUE...] | admit KEY [NAME=VALUE...] | list |\n"
		   "       remove FINGERPRINT | gc [DIR] | --stdio | --http | --work [DIR]",
	  .help = "let other machines' runs come here: a directory, its keys, who may",
	  .more = "It wants no root and no port: ssh starts ryefs node --stdio; --http is for a proxy of TLS. KEY: a\n"
		  "fingerprint that has asked, or a file. NAME: allow, signers, env, jobs, queued, bytes, push,\n"
		  "seconds, spend_month, expires; of init board, store, labels, uids, keep_new, keep_gone, keep_runs.",
	  .examples = "ryefs node init",
	  .max = -1,
	  .seek = "ryefs node list",
	  .run = verb_node },
	{ .name = "node-work",
	  .usage = "DIR [IDLE_MS]",
	  .help = "a worker of the node in DIR; its door starts one, too",
	  .min = 1,
	  .max = 2,
	  .traits = CLI_HIDDEN,
	  .run = verb_node_work },
	{ .name = "reload",
	  .usage = "MOUNTPOINT",
	  .help = "have a mount taken over by the program as it is now, with no gap",
	  .more = "After an upgrade. Paths lead to the next daemon at once. What is open, shells that stand\n"
		  "inside and runs under way stay with the one before, which ends when the last has left.\n"
		  "Wanted is a mount in the background; of root's Linux 6.5, and with io_uring root.",
	  .examples = "ryefs reload mnt",
	  .min = 1,
	  .max = 1,
	  .run = verb_reload },
	{ .name = "remote",
	  .usage = "[list] | add NAME [URL [PROJECT]] | status [NAME] |\n"
		   "       push|diff|gc|rm NAME | pull NAME ID",
	  .help = "other machines that runs may go to: see, pin, ask and forget them",
	  .more = "add shows the key that answers at URL, asks, and pins it in your user space; a NAME\n"
		  "that is not configured is written to your remotes/remotes. URL is\n"
		  "ssh://[USER@]HOST[:PORT][/DIR], https://HOST or command:PROGRAM ARG... . --again looks anew.\n"
		  "list reads files alone; status connects. push sends what has changed of this project:\n"
		  "what push: of the remote names, else what git would add; never keys and .env*.\n"
		  "gc frees what lies there and is needed no more.",
	  .examples = "ryefs remote list",
	  .max = -1,
	  .seek = "ryefs remote list",
	  .traits = CLI_WRITES,
	  .run = verb_remote },
	{ .name = "rm",
	  .usage = "REF",
	  .help = "take an item away, and say which others name it",
	  .more = ONE_REF "You are asked; without a terminal --yes is that yes.",
	  .examples = "ryefs rm sample/house-rules --dry-run",
	  .min = 1,
	  .max = 1,
	  .seek = "ryefs search '*'",
	  .traits = CLI_REFS | CLI_WRITES | CLI_OPENS,
	  .run = verb_rm },
	{ .name = "schema",
	  .usage = "[NAME]",
	  .help = "JSON Schemas of what is YAML here, and which of them editors want",
	  .more = "Without NAME: which there are, and for which files. They come from the tables that\n"
		  "items and configuration are checked with.",
	  .examples = "ryefs schema tool\n"
		      "ryefs schema --editor helix",
	  .max = 1,
	  .seek = "ryefs schema",
	  .run = verb_schema },
	{ .name = "search",
	  .usage = "WORD...",
	  .help = "find items; \"a phrase\", AND, OR, NOT and * are understood",
	  .examples = "ryefs search edit lines\n"
		      "ryefs search 'tool AND NOT web' --limit 5",
	  .min = 1,
	  .max = -1,
	  .traits = CLI_OPENS_ANY,
	  .run = verb_search },
	{ .name = "secret",
	  .usage = "set NAME | list | rm NAME",
	  .help = "values for items that ask for ${NAME}, kept encrypted",
	  .more = "set reads the value from standard input, or asks for it without showing it; an\n"
		  "argument would be seen by every process. An item whose signed text asks for NAME\n"
		  "gets it where neither the environment nor, for items of the project, its .env has it.",
	  .examples = "echo sk-1234 | ryefs secret set OPENAI_API_KEY\n"
		      "ryefs secret list",
	  .max = -1,
	  .seek = "ryefs secret list",
	  .traits = CLI_WRITES,
	  .run = verb_secret },
	{ .name = "sign",
	  .usage = "REF... | --all | -i [REF...]",
	  .help = "sign items of the project (or, with --space user, of yours)",
	  .more = REFS
	  "--all and patterns leave alone what is good, whoever signed it, and tell what\n"
	  "another key signed that is not: name it, or say -i or --take-over.",
	  .examples = "ryefs sign knowledge:sample/house-rules\n"
		      "ryefs sign --all",
	  .max = -1,
	  .traits = CLI_REFS | CLI_WRITES,
	  .run = verb_sign },
	{ .name = "skill",
	  .usage = "[list] | add SOURCE | update | diff NAME | export DIR | remove NAME",
	  .help = "Agent Skills: look at a folder, sign it, and serve it verified",
	  .more = "add shows a folder, what acts by itself in it and what has changed, asks, and signs it\n"
		  "with your key; --expect DIGEST is the yes without a terminal. SOURCE is a directory,\n"
		  "github:OWNER/REPO[/PATH][@REF], URL[#REF[:PATH]] of git or a skills-lock.json. update\n"
		  "does it anew (--yes will do), diff compares, export writes verified copies.",
	  .examples = "ryefs skill list",
	  .max = -1,
	  .seek = "ryefs skill list",
	  .traits = CLI_WRITES,
	  .run = verb_skill },
	{ .name = "thread-run",
	  .usage = "",
	  .help = "the runner of a thread; started by the engine, not by hand",
	  .max = 1, /* for the processes that look at it: spawn_runner.c */
	  .traits = CLI_HIDDEN,
	  .run = verb_thread_run },
	{ .name = "threads",
	  .usage = "[list | prune --older TIME | VERB ID [WORD...]]",
	  .help = "runs that go on by themselves: see, await, end and forget them",
	  .more = "VERB is show, tail, wait, tree, cost, cancel, kill or delete; of a model's thread also\n"
		  "say TEXT, limit NAME=VALUE, handoff, verify and, when it has ended, resume TEXT. Of a run\n"
		  "elsewhere apply takes over what it changed, and forget lets go of a lost one. tree and\n"
		  "cost without ID are of all threads. ID may be its beginning, or @last.\n"
		  "wait prints the final status; its exit status is 0 for \"completed\".",
	  .examples = "ryefs threads list --running\n"
		      "ryefs threads prune --older 30d --yes",
	  .max = -1,
	  .seek = "ryefs threads list",
	  .run = verb_threads },
	{ .name = "trust",
	  .usage = "KEY",
	  .help = "trust a public key: a PEM or key file, a fingerprint, or \"self\"",
	  .more = "A fingerprint is looked for among the project's own key files, which do not\n"
		  "count until you say so here: whose key it is and where it lies is shown, and\n"
		  "you are asked. The key is added to your user space.",
	  .examples = "ryefs trust self\n"
		      "ryefs trust colleague.pem --owner Eve",
	  .min = 1,
	  .max = 1,
	  .seek = "ryefs keys",
	  .traits = CLI_WRITES | CLI_OPENS_ANY,
	  .run = verb_trust },
	{ .name = "umount",
	  .usage = "MOUNTPOINT",
	  .help = "end a mount; runs that it waits for are cancelled",
	  .examples = "ryefs umount mnt",
	  .min = 1,
	  .max = 1,
	  .run = verb_umount },
	{ .name = "untrust",
	  .usage = "FINGERPRINT",
	  .help = "take a key out of your user space's trusted ones",
	  .examples = "ryefs untrust 9d1c02f4a6b7e358",
	  .min = 1,
	  .max = 1,
	  .seek = "ryefs keys",
	  .traits = CLI_WRITES | CLI_OPENS_ANY,
	  .run = verb_untrust },
	{ .name = "verify",
	  .usage = "[REF...]",
	  .help = "check signatures: of every item, or of those named",
	  .more = REFS "Without REF only what is refused is printed, many of one cause as one.",
	  .examples = "ryefs verify\n"
		      "ryefs verify 'tool:sample/*'",
	  .max = -1,
	  .traits = CLI_REFS,
	  .run = verb_verify },
	{ .name = "watch",
	  .usage = "DIR | REF [KEY=VALUE...]",
	  .help = "sign what you write as you save it, and run it with --run",
	  .more = REFS
	  "Each item that is saved is checked, as sign checks it, and signed: a line each, until ^C.\n"
	  "What you have not written is left and told: what git puts there, what another key\n"
	  "signed, many files at once. Do not let agents write there meanwhile: it would sign that.",
	  .examples = "timeout 1 ryefs watch . || true",
	  .min = 1,
	  .max = -1,
	  .seek = "ryefs search '*'",
	  .traits = CLI_REFS | CLI_WRITES | CLI_WAITS,
	  .run = verb_watch },
	{ .name = NULL },
};

bool rye_cli_knows(const char *word)
{
	static const char *const own[] = { "--help", "-h", "help", "--version", "-V" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (!strcmp(own[i], word))
			return true;
	return cli_find(verbs, word) != NULL;
}

bool rye_cli_early(int argc, char **argv)
{
	return unknown_early(verbs, argc, argv) != 0;
}

const char *rye_cli_suggest(const char *word)
{
	return unknown_near(verbs, word);
}

static void help_all(FILE *to)
{
	fputs("ryefs: a file system over a signed .ai workspace\n\n"
	      "usage: ryefs [mount] SOURCE MOUNTPOINT [-o OPTION,...] [-f] [-d]\n"
	      "       ryefs VERB [OPTION...] [OPERAND...]\n\n"
	      "  mount      show SOURCE/.ai, verified, at MOUNTPOINT (ryefs mount --help)\n",
	      to);
	for (const struct cli_verb *at = verbs; at->name; at++)
		if (!(at->traits & CLI_HIDDEN))
			fprintf(to, "  %-10s %s\n", at->name, at->help);
	fputs("\nryefs VERB --help says more; man ryefs, man 7 ryefs. Exit status: 0 well,\n"
	      "1 failed, 2 wrong call, 3 not found, 4 refused (signature, trust), 5 denied.\n",
	      to);
}

int rye_cli_main(int argc, char **argv, rye_cli_name_fn is_control)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct cli_verb *verb = cli_find(verbs, word);

	if (verb)
		return cli_run((struct cli){ .verb = verb, .is_control = is_control }, argc - 2,
			       argv + 2);
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		printf("ryefs %s\n%s\nloaded when it is wanted: %s\n", RYE_VERSION, RYE_WITH,
		       RYE_LOADS);
		return CLI_OK;
	}
	if (!strcmp(word, "mount") ||
	    (!strcmp(word, "help") && argc == 3 && !strcmp(argv[2], "mount"))) {
		mount_help(stdout);
		return CLI_OK;
	}
	if (!strcmp(word, "help") && argc == 3 && (verb = cli_find(verbs, argv[2]))) {
		options_help(verb, stdout);
		return CLI_OK;
	}
	if (!strcmp(word, "help") && argc == 3) {
		const char *near = unknown_near(verbs, argv[2]);

		fputs("ryefs help: \"", stderr);
		out_text(stderr, argv[2]);
		fprintf(stderr, "\" is no verb%s%s%s\nmend with: ryefs help%s%s\n",
			near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "",
			near ? " " : "", near ? near : "");
		return CLI_USAGE;
	}
	if (!*word || !rye_cli_knows(word)) {
		if (*word)
			return cli_unknown(verbs, argc, argv);
		help_all(stderr);
		return CLI_USAGE;
	}
	help_all(stdout);
	return CLI_OK;
}
