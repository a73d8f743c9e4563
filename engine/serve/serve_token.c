/* SPDX-License-Identifier: MIT */
/*
 * The token of the HTTP server, in a file that only its user can read. Without a name it is made
 * anew in the runtime directory for as long as the server lives; a named file is kept, so that a
 * client's settings stay good. One thread; no lock.
 */
#include "serve/serve_inner.h"

#include "base/io.h"
#include "err.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

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
	if (r < 0)
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
				"ryefs mcp --http --token FILE");
	snprintf(ret->path, sizeof(ret->path), "%s/ryefs", dir);
	if (mkdir(ret->path, 0700) < 0 && errno != EEXIST)
		return rye_fail_sys(err, errno, "cannot make %s", ret->path);
	n = snprintf(ret->path, sizeof(ret->path), "%s/ryefs/mcp-%d.token", dir, port);
	return n < (int)sizeof(ret->path) ? 0 :
					    rye_fail(err, RYE_INVALID, "XDG_RUNTIME_DIR: too long");
}

int serve_token_open(const char *file, int port, struct serve_token *ret, struct rye_err *err)
{
	int r;

	*ret = (struct serve_token){ .drop = !file };
	if (file && !strcmp(file, "none"))
		return 0;
	if (!file) {
		r = runtime_path(port, ret, err);
	} else {
		snprintf(ret->path, sizeof(ret->path), "%s", file);
		r = read_token(ret, err);
		if (r <= 0)
			return r;
		r = 0;
	}
	if (r)
		return r;
	new_token(ret->text);
	return write_token(ret, err);
}

void serve_token_close(const struct serve_token *token)
{
	if (token->drop && *token->path)
		unlink(token->path);
}
