/* SPDX-License-Identifier: MIT */
/* bounds.h: every limit of the engine, with its reason. Sizes in bytes unless the name says. */
#ifndef RYE_COMMON_BOUNDS_H
#define RYE_COMMON_BOUNDS_H

/* No internal text is bigger than a message with its reply. */
#define RYE_BUF_CAP (64u << 20)
/* An item is read whole into memory; far above any real one, small enough for bounded memory. */
#define RYE_ITEM_MAX (16u << 20)
/* One message to a control file; the same bound as an item. */
#define RYE_MESSAGE_MAX (16u << 20)
/* A request: two messages, since a thread's orders hold the message beside what confines it. */
#define RYE_JOB_MESSAGE_MAX (2 * RYE_MESSAGE_MAX)
/* Ids become paths: PATH_MAX less the space root and the extension. */
#define RYE_ID_MAX 1000
/* NAME_MAX of Linux. */
#define RYE_NAME_MAX 255
/* Directories below a kind directory: deeper trees are a mistake or an attack. */
#define RYE_DEPTH_MAX 32
/* Directories of a space reached through symbolic links: links among n directories can name
 * n! paths, and a cloned project must not keep a mount busy without end. */
#define RYE_LINK_DIRS 10000
/* A search: what fits a file name, JSON requests may have a little more; its terms and brackets. */
#define RYE_QUERY_MAX 4096
#define RYE_QUERY_TERMS 256
#define RYE_QUERY_DEPTH 32
/* Texts kept in memory for searching: some ten thousand items whole. Of what comes later only the
 * fields are kept, and what may match is read again. */
#define RYE_SEARCH_TEXTS (48u << 20)
/* JSON nesting; jansson's parser would take 2 048, our walks are recursive on small stacks. */
#define RYE_JSON_DEPTH 256
/* YAML nodes after alias expansion: a "billion laughs" stops here. */
#define RYE_YAML_NODES 100000
#define RYE_YAML_DEPTH 64
/* Scalar bytes of a YAML document after alias expansion: two items' worth of text. */
#define RYE_YAML_BYTES (32u << 20)
/* Values and nesting of the literals read from program text (metadata, not data tables). */
#define RYE_LITERAL_NODES 100000
#define RYE_LITERAL_DEPTH 64
/* Elements with attributes, and nesting, of a directive's XML. */
#define RYE_XML_NODES 100000
#define RYE_XML_DEPTH 64
/* Chain elements, as in the format (10 elements are legal, 11 are not). */
#define RYE_CHAIN_MAX 10
/* Work a regular expression of a schema may do (pcre2 match limit) before it is refused. */
#define RYE_REGEX_STEPS 100000
/* The same in milliseconds, for work that steps do not count, and in KiB of match memory. */
#define RYE_REGEX_MS 500
#define RYE_REGEX_HEAP_KIB 16384
/* Longest pattern, and longest text one is tried on; longer ones are refused. */
#define RYE_REGEX_PATTERN 4096
#define RYE_REGEX_SUBJECT (1u << 20)
/* Faults a schema check lists before it stops looking: a message has to be readable. */
#define RYE_SCHEMA_ISSUES 20
/* Captured output of a process, in bytes for each stream; more is counted, not kept. */
#define RYE_OUTPUT_MAX (10u << 20)
/* Seconds: default and longest run of a tool (docs/tools.md). */
#define RYE_TIMEOUT_DEFAULT_S 300
#define RYE_TIMEOUT_MAX_S 86400
/* Milliseconds between SIGTERM and SIGKILL to a group that has to end. */
#define RYE_KILL_GRACE_MS 2000
/* Milliseconds the pipes are still read after the child has ended: its children may hold them. */
#define RYE_DRAIN_MS 200
/* --params goes to argv up to here: one argument may not exceed 128 KiB on Linux. */
#define RYE_ARGV_PARAMS_MAX (96u << 10)
/* RYE_PARAMS in the environment: the same kernel bound, shared with everything else there. */
#define RYE_ENV_PARAMS_MAX (64u << 10)
/* What one tool's process may use: descriptors (the usual soft limit, and what builds need), */
#define RYE_TOOL_FILES 1024
#define RYE_TOOL_FILES_HARD 65536
/* processes of this user (a fork bomb ends here, a parallel build does not), */
#define RYE_TOOL_PROCESSES 4096
/* private memory (Node and Go reserve much address space, so not RLIMIT_AS), and one file. */
#define RYE_TOOL_MEMORY (8ull << 30)
#define RYE_TOOL_FILE_SIZE (16ull << 30)
/* Tries of one call, whatever its retry_policy says. */
#define RYE_ATTEMPTS_MAX 20
/* Runs at once when the options do not say: they wait for children far more than they compute. */
#define RYE_JOBS_DEFAULT 16
#define RYE_JOBS_MAX 256
/* Writers that wait for a model's thread at once: each has a worker that sleeps, 1 MB of address space. */
#define RYE_ASIDE_MAX 256
/* Runs that may wait for a place; more are told to try again (RYE_BUSY). */
#define RYE_QUEUE_MAX 1024
/* Runs above a run: each holds a thread and a process while it waits for the one below. */
#define RYE_NESTED_MAX 64
/* Longer messages are parsed by a worker: a caller's thread gives a few microseconds, no more. */
#define RYE_LIGHT_MESSAGE_MAX 16384
/* Seconds after which an idle worker thread, or a pool of warm interpreters, goes away. */
#define RYE_IDLE_S 60
/* Pools of warm interpreters (one per interpreter, environment and sandbox). */
#define RYE_WARM_POOLS 4
/* Interpreters of one pool that wait for a call; each holds about a megabyte of its own. */
#define RYE_WARM_READY 4
/* Node processes of one pool: each has some ten megabytes of its own. */
#define RYE_WARM_NODES 2
/* Processes of one confinement that wait for a program: more than run at once are rare. */
#define RYE_SPARES 2
/* Tools whose text a pool has compiled ahead, and the longest of them. */
#define RYE_WARM_TEXTS 8
#define RYE_WARM_TEXT_MAX (256 << 10)
/* Connections that wait for the next request to their server. */
#define RYE_HTTP_IDLE 8
/* Milliseconds to connect: far more than any line needs, less than a caller's patience. */
#define RYE_HTTP_CONNECT_MS 30000
/* Headers of an answer, as much as libcurl's newer versions take. */
#define RYE_HTTP_HEAD_MAX (300u << 10)
/* Redirects of one request, whatever its configuration says. */
#define RYE_HTTP_REDIRECTS 10
/* Read beyond the body that is kept, so that its length is told of what is only a little over. */
#define RYE_HTTP_OVER (64u << 20)
/* One event of a stream, with its unfinished line: as a message of the protocols that use them. */
#define RYE_SSE_EVENT_MAX (16u << 20)
/* What is kept of an answer of a model, all events together, and of one that is an error. */
#define RYE_PROVIDER_ANSWER_MAX (64u << 20)
#define RYE_PROVIDER_ERROR_MAX (64u << 10)
/* Blocks of one answer; what comes behind them is dropped: no answer has so many parts. */
#define RYE_PROVIDER_BLOCKS 4096
/* A message of the Model Context Protocol, and its nesting; both sides of the protocol use these. */
#define RYE_MCP_MESSAGE_MAX (16u << 20)
#define RYE_MCP_DEPTH 64
/* Lines of a server that are no messages, within one call; bytes kept of its standard error. */
#define RYE_MCP_JUNK 100
#define RYE_MCP_LOG (8u << 10)
/* Servers that wait for a call; each is a process, often an interpreter. */
#define RYE_MCP_IDLE 8
/* Seconds that is kept what a server at an address has told, its session and its tools: it is no
 * process. Milliseconds that the end of such a session, or a word to a server, may take. */
#define RYE_MCP_REMOTE_S 3600
#define RYE_MCP_TELL_MS 2000
/* A server's tools: more than any model can choose from; pages of their list; all of their texts. */
#define RYE_MCP_TOOLS 1000
#define RYE_MCP_PAGES 100
#define RYE_MCP_LIST_MAX (16u << 20)
/* Seconds that a list of tools is believed at least, over HTTP, and at most. */
#define RYE_MCP_LIST_MIN_S 300
#define RYE_MCP_LIST_MAX_S 3600
/* Times that a broken stream of a server is taken up again; milliseconds before, if it does not say. */
#define RYE_MCP_RESUMES 5
#define RYE_MCP_RESUME_MS 1000
/* What is told of an answer that is no message, in bytes. */
#define RYE_MCP_BODY_TOLD 512
/* Milliseconds to answer what era it is of; seconds for each answer when its item does not say. */
#define RYE_MCP_PROBE_MS 10000
#define RYE_MCP_TIMEOUT_S 30
/* Times that a call goes on with the state that the server has given, and bytes of that state. */
#define RYE_MCP_ROUNDS 8
#define RYE_MCP_STATE_MAX (64u << 10)

#endif
