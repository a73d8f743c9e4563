# SPDX-License-Identifier: MIT
"""A server of S3 for tests: one bucket, in memory. It works every signature out by itself and refuses what a real one
refuses: a wrong secret, an unknown key, a body that is not the one that was signed, a clock that is off.

    s3_server.py BUCKET KEY SECRET FAULTS LOG     prints its address

FAULTS is a file that may be there: "KIND [N]" is done to the next N requests for objects (without N: to all): 500, wrong,
cut, endless, redirect, lost, html, hang, short. LOG gets a line for each request: METHOD PATH STATUS.
"""
import datetime
import hashlib
import hmac
import http.server
import os
import sys
import time
import urllib.parse
import xml.sax.saxutils

BUCKET, KEY, SECRET, FAULTS, LOG = sys.argv[1:6]
OBJECTS = {}
PAGE = int(os.environ.get("S3_PAGE", "1000"))
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def sha(data):
    return hashlib.sha256(data).hexdigest()


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def quoted(text):
    return urllib.parse.quote(text, safe="-_.~")


class Refused(Exception):
    pass


class S3(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        with open(LOG, "a") as log:
            log.write("%s %s %d\n" % (self.command, self.path, status))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code):
        body = "%s<Error><Code>%s</Code><Message>of the test</Message></Error>" % (XML, code)
        self.answer(status, body.encode(), [("Content-Type", "application/xml")])

    def signature(self, body):
        words = self.headers.get("Authorization", "").replace("AWS4-HMAC-SHA256 ", "").split(", ")
        given = dict(word.split("=", 1) for word in words if "=" in word)
        scope = given.get("Credential", "").split("/")
        if len(scope) != 5:
            raise Refused(403, "AccessDenied")
        key, day, region, service, end = scope
        if key != KEY:
            raise Refused(403, "InvalidAccessKeyId")
        stamp = self.headers.get("x-amz-date", "")
        signed = given["SignedHeaders"].split(";")
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed) or signed != sorted(signed):
            raise Refused(403, "AccessDenied")
        if self.headers.get("Range") and "range" not in signed:
            raise Refused(403, "AccessDenied")
        at = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs(time.time() - at.timestamp()) > 900 or day != stamp[:8]:
            raise Refused(403, "RequestTimeTooSkewed")
        url = urllib.parse.urlsplit(self.path)
        pairs = sorted((quoted(k), quoted(v)) for k, v in urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        canonical = "\n".join([
            self.command,
            urllib.parse.quote(urllib.parse.unquote(url.path), safe="/-_.~"),
            "&".join("%s=%s" % pair for pair in pairs),
            "".join("%s:%s\n" % (name, " ".join(self.headers.get(name, "").split())) for name in signed),
            ";".join(signed),
            self.headers.get("x-amz-content-sha256", ""),
        ])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope[1:]), sha(canonical.encode())])
        derived = ("AWS4" + SECRET).encode()
        for part in (day, region, service, end):
            derived = mac(derived, part)
        if not hmac.compare_digest(mac(derived, text).hex(), given.get("Signature", "")):
            raise Refused(403, "SignatureDoesNotMatch")
        if self.headers.get("x-amz-content-sha256") != sha(body):
            raise Refused(400, "XAmzContentSHA256Mismatch")

    def fault(self):
        try:
            with open(FAULTS) as file:
                kind, _, count = file.read().strip().partition(" ")
        except OSError:
            return None
        if count:
            left = int(count) - 1
            if left < 0:
                return None
            with open(FAULTS, "w") as file:
                file.write("%s %d" % (kind, left))
        return kind or None

    def misbehave(self, kind, body):
        if kind == "500":
            self.refuse(500, "InternalError")
        elif kind == "redirect":
            self.answer(307, b"", [("Location", "http://127.0.0.1:1/elsewhere")])
        elif kind == "lost":
            self.refuse(404, "NoSuchKey")
        elif kind == "html":
            self.answer(404, b"<html><body>not here</body></html>", [("Content-Type", "text/html")])
        elif kind == "hang":
            time.sleep(30)  # reason: the client is to give up
        elif kind == "wrong":
            at = len(body) // 2
            status = 206 if self.headers.get("Range") else 200
            self.answer(status, body[:at] + bytes([body[at] ^ 1]) + body[at + 1:] if body else body)
        elif kind == "short":
            self.answer(206 if self.headers.get("Range") else 200, body[:-1])
        elif kind == "cut":
            self.send_response(206 if self.headers.get("Range") else 200)
            self.send_header("Content-Length", str(len(body) + 10))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True
        elif kind == "endless":
            self.send_response(206 if self.headers.get("Range") else 200)
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass

    def list(self, query):
        after = query.get("continuation-token", "")
        names = sorted(name for name in OBJECTS if name.startswith(query.get("prefix", "")) and name > after)
        rest = names[PAGE:]
        body = XML + '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        body += "<IsTruncated>%s</IsTruncated>" % ("true" if rest else "false")
        if rest:
            body += "<NextContinuationToken>%s</NextContinuationToken>" % xml.sax.saxutils.escape(names[PAGE - 1])
        for name in names[:PAGE]:
            data, made = OBJECTS[name]
            at = datetime.datetime.fromtimestamp(made, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            body += "<Contents><Key>%s</Key><LastModified>%s</LastModified><Size>%d</Size></Contents>" % (
                xml.sax.saxutils.escape(name), at, len(data))
        self.answer(200, (body + "</ListBucketResult>").encode(), [("Content-Type", "application/xml")])

    def get(self, name):
        if name not in OBJECTS:
            return self.refuse(404, "NoSuchKey")
        body, status = OBJECTS[name][0], 200
        wanted = self.headers.get("Range")
        if wanted:
            first, last = (int(part) for part in wanted.split("=")[1].split("-"))
            if first >= len(body):
                return self.refuse(416, "InvalidRange")
            body, status = body[first:last + 1], 206
        kind = self.fault()
        if kind:
            return self.misbehave(kind, body)
        return self.answer(status, body)

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        try:
            self.signature(body)
        except Refused as refused:
            return self.refuse(*refused.args)
        bucket, _, name = url.path.lstrip("/").partition("/")
        if bucket != BUCKET:
            return self.refuse(404, "NoSuchBucket")
        if self.command == "GET" and name:
            return self.get(name)
        if self.command == "GET":
            return self.list(dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        kind = self.fault()
        if kind:
            return self.misbehave(kind, b"")
        if self.command == "PUT":
            OBJECTS[name] = (body, time.time())
            return self.answer(200)
        OBJECTS.pop(name, None)
        return self.answer(204)

    do_GET = do_PUT = do_DELETE = handle_one


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), S3)
print("http://127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
