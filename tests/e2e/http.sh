#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# http.sh: tools on the HTTP primitive against a server on loopback: what is sent, what comes
# back, retries, streams, redirects, limits, and where a request may not go.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces
beside server "$PY" "$E2E/http_server.py" "$T/port"
until_true test -s "$T/port"
PORT=$(<"$T/port")
URL=http://127.0.0.1:$PORT
REFS=

# tool NAME LINE...: a tool whose config has these lines
tool() {
  local name=$1
  shift
  mkdir -p "$P/.ai/tools/h"
  {
    printf '%s\n' "tool_id: $name" 'tool_type: http' 'version: "1.0.0"' 'category: h' \
      'description: a request' 'executor_id: rye/core/primitives/http_client' "${MORE:-requires: [net.http]}" \
      'input_schema: {type: object}' 'config:'
    printf '  %s\n' "$@"
  } >"$P/.ai/tools/h/$name.yaml"
  REFS="$REFS tool:h/$name"
}
# run NAME [JSON]: the reply to it, whatever it was
run() { converse "$M/tools/h/$1/run" "${2:-}"; }
# of NAME JSON FILTER: a part of that reply
of() {
  run "$1" "$2" | jq -c "$3"
}

tool get "url: $URL/echo/{name}/x" 'query: {q: "{q}", list: "{list}", fixed: 1}' 'headers: {X-One: "a {name}", Accept: text/plain}'
tool post "url: $URL/echo" 'method: post' 'body: {n: "{n}", text: "n is {n}", deep: [{v: "{v}"}], left: "{nobody}"}'
tool text "url: $URL/echo" 'method: PUT' 'body: "a={v}"' 'headers: {Content-Type: text/x}'
tool bearer "url: $URL/echo" 'auth: {type: bearer, token: "${HTTP_TEST_TOKEN}"}'
tool key "url: $URL/echo" 'auth: {type: api_key, key: "${HTTP_TEST_TOKEN}", header: X-Key}'
tool nokey "url: $URL/echo" 'auth: {type: bearer, token: "${HTTP_TEST_NONE}"}'
tool status "url: $URL/status/{n}"
tool flaky "url: $URL/flaky/{name}/3" 'method: POST' 'retry: {max_attempts: 4}'
tool later "url: $URL/later/429" 'retry: {max_attempts: 3}'
tool drop "url: $URL/drop/get" 'retry: {max_attempts: 3, backoff: linear}'
tool droppost "url: $URL/drop/post" 'method: POST' 'retry: {max_attempts: 3}'
tool count "url: $URL/count/{name}"
tool connections "url: $URL/connections"
tool slow "url: $URL/slow" 'timeout: 1'
tool long "url: $URL/slow"
tool big "url: $URL/big/{n}"
tool sse "url: $URL/sse" 'mode: stream'
tool cut "url: $URL/cut" 'mode: stream'
tool notstream "url: $URL/status/500" 'mode: stream'
tool to "url: $URL/to/{code}/{where}" 'max_redirects: 3' 'auth: {type: bearer, token: secret}'
tool stay "url: $URL/to/302/{where}"
tool any 'url: "{address}"'
tool refused 'url: http://127.0.0.1:1/'
tool noserver 'url: https://no-such-host.invalid/'
tool plain 'url: http://192.0.2.1/'
tool file 'url: file:///etc/passwd'
tool user "url: http://me:pw@127.0.0.1:$PORT/echo"
tool badmethod "url: $URL/echo" 'method: "GET /x"'
tool nourl 'method: GET'
MORE='requires: [fs.write]' tool nonet "url: $URL/echo"
# shellcheck disable=SC2086
fx_sign "$P" $REFS
export HTTP_TEST_TOKEN=t0ken
allow '^ryefs: (info refused: )?(tool|execute)'
fx_mount

# --- what is sent ---
reply=$(run get '{"name":"a/b?c#d %","q":"x&y=z","list":["1","2 3"]}')
is 'a parameter is percent-encoded in the address' "$(jq -r .data.body.path <<<"$reply")" \
  '/echo/a%2Fb%3Fc%23d%20%25/x?q=x%26y%3Dz&list=1&list=2%203&fixed=1'
is 'status, success, type' "$(jq -c '[.status,.data.status_code,.data.headers["content-type"]]' <<<"$reply")" \
  '["success",200,"application/json"]'
is 'a header is templated' "$(jq -r '.data.body.headers["x-one"]' <<<"$reply")" 'a a/b?c#d %'
is 'headers of the config replace the usual' "$(jq -r '.data.body.headers.accept' <<<"$reply")" text/plain
is 'what was not given is left out of the query' "$(of get '{"name":"n"}' .data.body.path)" '"/echo/n/x?fixed=1"'
has 'a line end in a header is refused' "$(run get '{"name":"a\r\nX-Evil: 1"}')" 'headers: X-One' 'line end'
has 'what the address needs is asked for' "$(run get '{}')" 'Missing required parameters: name'
is 'dots alone do not climb' "$(of get '{"name":".."}' .data.body.path)" '"/echo/%2E%2E/x?fixed=1"'
reply=$(run post '{"n":5,"v":{"a":[1,null]}}')
is 'case 111 a body keeps the types of parameters' "$(command jq -c '.data.body.body|fromjson' <<<"$reply")" \
  '{"n":5,"text":"n is 5","deep":[{"v":{"a":[1,null]}}]}'
is 'and leaves out what was not given' "$(of post '{"n":1,"v":"{v}"}' '.data.body.body|fromjson|[.deep,has("left")]')" '[[{"v":"{v}"}],false]'
is 'its type is JSON' "$(jq -r '.data.body.headers["content-type"]' <<<"$reply")" application/json
is 'a value is never a template' "$(of post '{"n":"{v} ${HTTP_TEST_TOKEN}","v":1}' '.data.body.body|fromjson|.n')" \
  '"{v} ${HTTP_TEST_TOKEN}"'
is 'a text is sent as it is' "$(of text '{"v":"<&>"}' '[.data.body.method,.data.body.body,.data.body.headers["content-type"]]')" \
  '["PUT","a=<&>","text/x"]'
is 'bearer' "$(of bearer '{}' '.data.body.headers.authorization')" '"Bearer t0ken"'
is 'an API key in its header' "$(of key '{}' '.data.body.headers["x-key"]')" '"t0ken"'
reply=$(run nokey)
has 'an empty secret is not sent' "$reply" 'HTTP_TEST_NONE' 'is empty'
has 'no address' "$(run nourl)" 'config.url is missing'
has 'a method that is none' "$(run badmethod)" 'config.method'

# --- what comes back ---
is 'a status of 400 and more is a failure' "$(of status '{"n":404}' '[.status,.error,.data.status_code]')" \
  '["error","HTTP 404: Not Found",404]'
is 'a write tells it' "$(echo '{n: 500}' 2>&1 >"$M/tools/h/status/run" | sed 's/.*: //')" 'Remote I/O error'
is 'a redirect is an answer' "$(of stay '{"where":"/echo"}' '[.status,.data.status_code,.data.headers.location]')" '["success",302,"/echo"]'
is 'text stays text' "$(of big '{"n":3}' .data.body)" '"xxx"'
reply=$(run big '{"n":12000000}')
is 'a big body is cut and says so' "$(jq -c '[(.data.body|length),.data.truncated,.data.body_bytes]' <<<"$reply")" '[10485760,true,12000000]'
is 'no connection' "$(of refused '{}' '[.status,(.error|test("127.0.0.1:1"))]')" '["error",true]'
is 'no such host' "$(of noserver '{}' '[.status,(.error|test("no-such-host.invalid"))]')" '["error",true]'
is 'time is over' "$(of slow '{}' '[.status,(.error|test("1000 ms"))]')" '["error",true]'
is 'as an errno' "$(echo '{}' 2>&1 >"$M/tools/h/slow/run" | sed 's/.*: //')" 'Connection timed out'

# --- again ---
is 'a server that asks for it is asked again, a POST too' "$(of flaky '{"name":"f1"}' '[.status,.data.body.asked,.metadata.attempts]')" '["success",3,3]'
is 'not without end' "$(of later '{}' '[.status,.error,.metadata.attempts]')" '["error","HTTP 429: Too Many Requests",3]'
is 'a lost GET is tried again' "$(of drop '{}' .metadata.attempts)" 3
is 'a lost POST is not' "$(of droppost '{}' .metadata.attempts)" null
is 'the server saw it once' "$(of count '{"name":"post"}' .data.body)" 1
before=$(of connections '{}' .data.body)
for _ in 1 2 3 4 5; do run count '{"name":"x"}' >/dev/null; done
is 'connections are kept between runs' "$(of connections '{}' .data.body)" "$before"

# --- streams ---
is 'events of a stream' "$(of sse '{}' '[.status,.data.body,.data.event_count]')" '["success",["one","two\nlines","three"],3]'
is 'one that breaks off is a failure and keeps what came' "$(of cut '{}' '[.status,.data.body]')" '["error",["one","two\nlines","three"]]'
is 'an error is no stream' "$(of notstream '{}' '[.status,.error]')" '["error","HTTP 500: Internal Server Error"]'

# --- redirects ---
is 'followed on the same server, with authorization' "$(of to '{"code":"302","where":"/echo"}' '.data.body.headers.authorization')" '"Bearer secret"'
is 'to another one without' "$(of to "{\"code\":\"307\",\"where\":\"http://localhost:$PORT/echo\"}" '[.data.status_code,.data.body.headers.authorization]')" '[200,null]'
is 'a loop ends' "$(of to "{\"code\":\"302\",\"where\":\"/to/302//echo\"}" .data.status_code)" 200

# --- where it may not go ---
is 'plain http to another machine' "$(of plain '{}' '[.status,(.error|test("use https"))]')" '["error",true]'
is 'an address that a caller names is public' "$(of any "{\"address\":\"$URL/echo\"}" '[.status,(.error|test("public"))]')" '["error",true]'
is 'other schemes' "$(of file '{}' '[.status,(.error|test("https"))]')" '["error",true]'
has 'a password in an address' "$(run user)" 'a user in an address is refused'
lacks 'is not shown' "$(run user)" 'pw@'
has 'a tool whose requires has no network' "$(run nonet)" 'net.http'
is 'as EACCES' "$(echo '{}' 2>&1 >"$M/tools/h/nonet/run" | sed 's/.*: //')" 'Permission denied'

# --- ^C, six at a time, TLS ---
start=$SECONDS
timeout -s INT 1 bash -c "echo '{}' > '$M/tools/h/long/run'" 2>/dev/null
ok '^C ends a request at once' test $((SECONDS - start)) -lt $((5 * PATIENCE))
six=
for i in 1 2 3 4 5 6; do
  (of get "{\"name\":\"n$i\"}" .data.body.path >"$T/six.$i") &
  six="$six $!"
done
# shellcheck disable=SC2086
wait $six
is 'six at a time' "$(cat "$T"/six.* | tr '\n' ' ')" "$(for i in 1 2 3 4 5 6; do printf '"/echo/n%s/x?fixed=1" ' $i; done)"
umount_rye

if need openssl; then
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$P/tls.key" -out "$P/tls.pem" -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost 2>/dev/null
  beside tls "$PY" "$E2E/http_server.py" "$T/tlsport" "$P/tls.pem" "$P/tls.key"
  until_true test -s "$T/tlsport"
  REFS=
  tool tls "url: https://localhost:$(<"$T/tlsport")/echo" 'ca_file: tls.pem'
  tool untrusted "url: https://localhost:$(<"$T/tlsport")/echo"
  # shellcheck disable=SC2086
  fx_sign "$P" $REFS
  fx_mount
  is 'https by an authority of the tool' "$(of tls '{}' '[.status,.data.body.method]')" '["success","GET"]'
  is 'an unknown authority' "$(of untrusted '{}' '[.status,(.error|test("certificate"))]')" '["error",true]'
fi
finish
