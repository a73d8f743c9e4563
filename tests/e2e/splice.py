# SPDX-License-Identifier: MIT
# splice.py RUN REPLY: the limit of sendfile and splice on a held descriptor, as the manual has it.
# The kernel takes the size that it knew before the message for the end of the file, without
# asking; a read and an fstat ask.
import os
import sys
import tempfile

run, reply = sys.argv[1], sys.argv[2].encode()


def talk(run, look, message=b'{"x":1}\n'):
    """What sendfile gives of the reply to a message, and what a read gets behind it."""
    fd = os.open(run, os.O_RDWR)
    os.write(fd, message)
    if look:
        os.fstat(fd)
    with tempfile.TemporaryFile() as out:
        while os.sendfile(out.fileno(), fd, None, 1 << 20):
            pass
        out.seek(0)
        sent = out.read()
    rest = os.read(fd, 1 << 20)
    os.close(fd)
    return sent, rest

sent, rest = talk(run, True)
assert (sent, rest) == (reply, b""), ("after fstat all of it", sent, rest)
sent, rest = talk(run, False)
assert sent + rest == reply, ("no byte is lost", sent, rest)
print("# sendfile alone gave %d of %d bytes" % (len(sent), len(reply)))
