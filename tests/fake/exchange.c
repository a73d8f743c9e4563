/* SPDX-License-Identifier: MIT */
/*
 * exchange SECONDS FILE [TEXT]: writes a message to a control file and prints what the same descriptor
 * gives; without TEXT only that. It dies of SIGALRM when it takes longer; a message that is refused is
 * said on stderr, and what there is to read is read all the same. Tests ask thousands of times: linked
 * without a library it starts in a tenth of the time that timeout, a shell and cat take.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *what)
{
	fprintf(stderr, "exchange: %s: %s\n", what, strerror(errno));
	return 1;
}

static int put(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char piece[1 << 16];
	ssize_t n;
	int fd;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: exchange SECONDS FILE [TEXT]\n");
		return 2;
	}
	alarm((unsigned)atoi(argv[1]));
	fd = open(argv[2], argc > 3 ? O_RDWR : O_RDONLY);
	if (fd < 0)
		return failed(argv[2]);
	if (argc > 3 && put(fd, argv[3], strlen(argv[3])))
		failed("write error");
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		if (put(STDOUT_FILENO, piece, (size_t)n))
			return failed("standard output");
	return n < 0 ? failed(argv[2]) : 0;
}
