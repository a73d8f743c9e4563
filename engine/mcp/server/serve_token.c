/* SPDX-License-Identifier: MIT */
/*
 * What makes a client of HTTP the user's: a token, or a Unix socket. The token is in a file that only
 * its user can read. Without a name it is made anew in the runtime directory for as long as the server
 * lives; a named file is kept, so that a client's settings stay good. Token and socket lie only where
 * no tool sees them: a tool with either would run everything as its user does. What goes through the socket is
 * read by its two ends alone, so no token is sent there; serve_web.c looks at the process that connects. One
 * thread; servers that start at the same time take turns by a lock of the socket's directory, which
 * ends with its descriptor.
 */
#include "mcp/server/server_inner.h"

#include "base/io.h"
#include "err.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void new_token(char ret[SERVE_TOKEN_SIZE])
{
	unsigned char bytes[SERVE_TOKEN_BYTES];

	randombytes_buf(bytes, sizeof(bytes));
	b64url_of(bytes, sizeof(bytes), ret);
	sodium_memzero(bytes, sizeof(bytes));
}

static int write_token(const struct serve_token *token, struct rye_err *err)
{
	const struct rye_span bytes = { token->text, strlen(token->text) };
	const char *slash = strrchr(token->path, '/');
	auto_free char *dir = slash ? strndup(token->path, (size_t)(slash - token->path) + 1) :
				      strdup(".");
	auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int r = fd < 0 ? -errno : io_replace_at(fd, slash ? slash + 1 : token->path, bytes, 0600);

	return r < 0 ? rye_fail_sys(err, -r, "cannot write the token to %s", token->path) : 0;
}

/* 1: there is no such file. */
static int read_token(struct serve_token *token, struct rye_err *err)
{
	auto_close int fd = open(token->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	auto_blob struct rye_blob *blob = NULL;
	struct rye_span text;
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 1;
	r = fd < 0 ? -errno : io_read_fd(fd, 4096, &blob, &st);
	if (fd < 0 || r < 0)
		return rye_fail_sys(err, -r, "cannot read the token in %s", token->path);
	if (st.st_mode & 077 || st.st_uid != geteuid())
		return rye_fail(err, RYE_DENIED,
				"%s: others can read this token\n" MEND_WITH "chmod 600 %s",
				token->path, token->path);
	text = span_trim((struct rye_span){ blob->data, blob->len });
	if (text.len < 16 || text.len >= sizeof(token->text) || memchr(text.ptr, 0, text.len))
		return rye_fail(err, RYE_INVALID, "%s: a token has 16 to %d characters",
				token->path, SERVE_TOKEN_SIZE - 1);
	memcpy(token->text, text.ptr, text.len);
	token->text[text.len] = 0;
	return 0;
}

static int runtime_path(int port, struct serve_token *ret, struct rye_err *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	if (!dir || *dir != '/')
		return rye_fail(err, RYE_NOT_FOUND,
				"there is no XDG_RUNTIME_DIR to keep the token in\n" MEND_WITH
				"ryefs mcp --http --token ~/.ai/secrets/mcp.token");
	snprintf(ret->path, sizeof(ret->path), "%s/ryefs", dir);
	if (mkdir(ret->path, 0700) < 0 && errno != EEXIST)
		return rye_fail_sys(err, errno, "cannot make %s", ret->path);
	n = snprintf(ret->path, sizeof(ret->path), "%s/ryefs/mcp-%d.token", dir, port);
	return n < (int)sizeof(ret->path) ? 0 :
					    rye_fail(err, RYE_INVALID, "XDG_RUNTIME_DIR: too long");
}

/* A refusal names a place where it would do, and has it moved there. */
static int fail_seen(struct rye *rye, const char *file, struct rye_err *err)
{
	const char *place = rye_hidden_place(rye), *slash = strrchr(file, '/');
	auto_buf struct rye_buf from = RYE_BUF_INIT, to = RYE_BUF_INIT, path = RYE_BUF_INIT;

	if (!place)
		return rye_fail(err, RYE_DENIED, "%.400s: tools can read a token that lies there",
				file);
	buf_addf(&path, "%s/%s", place, slash ? slash + 1 : file);
	buf_adds(&path, "");
	buf_shell(&to, path.data);
	if (access(file, F_OK) == 0) {
		buf_adds(&from, "mv ");
		buf_shell(&from, file);
		buf_addf(&from, " %s && ", to.data);
	}
	buf_adds(&from, "");
	return rye_fail(err, RYE_DENIED,
			"%.200s: tools can read a token that lies there\n" MEND_WITH
			"%sryefs mcp --http --token %s",
			file, from.data, to.data);
}

/* 1: it has to be made. */
static int kept_token(struct rye *rye, const char *file, struct serve_token *ret,
		      struct rye_err *err)
{
	/* the place for it may have to be made */
	if (!rye_hides(rye, file) && !(rye_hidden_place(rye) && rye_hides(rye, file)))
		return fail_seen(rye, file, err);
	snprintf(ret->path, sizeof(ret->path), "%s", file);
	return read_token(ret, err);
}

int serve_token_open(struct rye *rye, const struct serve_address *at, int port,
		     struct serve_token *ret, struct rye_err *err)
{
	const char *file = at->token;
	int r;

	*ret = (struct serve_token){ .drop = !file };
	if (file && !strcmp(file, "none"))
		return 0;
	r = file ? kept_token(rye, file, ret, err) : runtime_path(port, ret, err);
	if (file ? r <= 0 : r)
		return r;
	new_token(ret->text);
	return write_token(ret, err);
}

void serve_token_close(const struct serve_token *token)
{
	if (token->drop && *token->path)
		unlink(token->path);
}

/* ---- the Unix socket ---- */

/* The locked directory of the socket, or a code. */
static int unix_dir(struct rye *rye, const char *path, struct rye_err *err)
{
	const char *slash = strrchr(path, '/'), *place = rye_hidden_place(rye);
	auto_free char *name = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	auto_close int fd = -1;
	struct stat st;

	if (!rye_hides(rye, path))
		return rye_fail(err, RYE_DENIED,
				"%.200s: tools can reach a socket that lies there\n" MEND_WITH
				"ryefs mcp --unix %.400s/mcp.socket",
				path, place ? place : "~/.ai/secrets");
	fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return rye_fail_sys(err, errno, "cannot listen at %s", path);
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return rye_fail(err, RYE_DENIED,
				"%s: others can enter its directory\n" MEND_WITH "chmod 700 %s",
				path, name);
	if (flock(fd, LOCK_EX) < 0)
		return rye_fail_sys(err, errno, "cannot listen at %s", path);
	return steal_fd(&fd);
}

/* Takes away what a server that was killed has left there, and nothing else. */
static int unix_room(const struct sockaddr_un *at, struct rye_err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (lstat(at->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : rye_fail_sys(err, errno, "%s", at->sun_path);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return rye_fail(err, RYE_INVALID,
				"%s is there and no socket of a server: give another path",
				at->sun_path);
	/* of one that lives its queue may be full, EAGAIN; a datagram socket says EPROTOTYPE */
	if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ||
	    errno != ECONNREFUSED)
		return rye_fail(err, RYE_BUSY, "another program listens at %s: give another path",
				at->sun_path);
	return unlink(at->sun_path) < 0 ? rye_fail_sys(err, errno, "%s", at->sun_path) : 0;
}

int serve_unix_open(struct rye *rye, const char *path, struct serve_unix *ret, struct rye_err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	auto_close int dir = -1;
	size_t len = strlen(path);
	struct stat st;
	int r;

	if (!len || len >= sizeof(at.sun_path))
		return rye_fail(err, RYE_INVALID, "--unix: a path has 1 to %zu bytes",
				sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, path, len + 1);
	dir = unix_dir(rye, path, err);
	r = dir < 0 ? dir : unix_room(&at, err);
	if (r)
		return r;
	/* the file takes the mode of the socket, unix_bind_bsd in net/unix/af_unix.c */
	if (fd < 0 || fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    lstat(path, &st) < 0 || listen(fd, SERVE_LINKS_MAX) < 0)
		return rye_fail_sys(err, errno, "cannot listen at %s", path);
	*ret = (struct serve_unix){ path, st.st_dev, st.st_ino };
	return steal_fd(&fd);
}

void serve_unix_close(const struct serve_unix *made)
{
	struct stat st;

	if (made->path && !lstat(made->path, &st) && st.st_dev == made->dev &&
	    st.st_ino == made->ino)
		unlink(made->path);
}
