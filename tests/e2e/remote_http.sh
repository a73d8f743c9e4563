#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_http.sh: a node behind a port of this machine, and behind TLS: met, asked, told what it does not
# want; what a port is sent that is no request of a client.
. "$(dirname "$0")/lib.sh"
command -v jq openssl >/dev/null || skip "jq or openssl is not installed"

export HOME=$T/home USER_SPACE=$U RYE_NODE_IDLE_MS=3000
unset RYE_SIGNING_KEY_DIR RYE_NODE XDG_DATA_HOME SSL_CERT_FILE
mkdir "$HOME"
cd "$P" || exit 1
rye() { timeout 60 "$RYEFS" "$@" 2>&1 </dev/null; }
code() { rye remote status --json "$1" | jq -r '.[0].code // "ok"'; }
rye keygen >/dev/null
FP=$(rye keys --json | jq -r '[.[] | select(.status == "signing")][0].fingerprint')
rye node init "$T/node" >/dev/null
beside node "$RYEFS" node --http --port 0 "$T/node"
NODE_PID=$BESIDE
until_true grep -q '^http' "$T/node.log"
URL=$(head -n 1 "$T/node.log")
PORT=${URL##*:}
like 'a node on a port says where' "$URL" '^http://127\.0\.0\.1:[0-9]+$'
is 'of this machine alone' "$(ss -Hltn "sport = :$PORT" 2>/dev/null | grep -vc '127\.0\.0\.1\|\[::1\]')" 0

# --- plain, on this machine ---
like 'it is pinned' "$(rye remote add --yes gpu "$URL" demo)" 'gpu is pinned'
rye node admit --dir "$T/node" "$FP" >/dev/null
is 'it is reached' "$(code gpu)" ok
head -c 3000000 /dev/urandom >"$P/big"
like 'what is pushed arrives' "$(rye remote push gpu)" '^gpu: [1-9][0-9]* files?, .* 3\.[0-9]+ MB sent'
is 'and is known' "$(rye remote push --json gpu | jq -r .new_blobs)" 0
is 'two at once' "$(for _ in 1 2; do code gpu & done; wait)" "ok
ok"
for url in http://box.example http://127.0.0.1.example/ http://localhost@box http://10.0.0.1:80 https:// 'https://me:pw@box'; do
  rye remote add --yes box "$url" >/dev/null
  is "an address that is refused: $url" $? 2
done
like 'and why' "$(rye remote add --yes box http://10.0.0.1:80)" 'plain http reaches this machine alone; use https://'

# --- what else comes to the port ---
web() { curl -s -o /dev/null -w '%{http_code}' --max-time 15 "$@"; }
if command -v curl >/dev/null; then
  is 'a browser' "$(web "$URL/")" 426
  is 'a page of one' "$(web -H 'Origin: http://x.example' -H 'Connection: Upgrade' -H 'Upgrade: ryefs-node' "$URL/")" 403
  is 'a POST' "$(web -d x -H 'Connection: Upgrade' -H 'Upgrade: ryefs-node' "$URL/")" 400
  is 'two upgrades' "$(web -H 'Connection: Upgrade' -H 'Upgrade: ryefs-node' -H 'upgrade: h2c' "$URL/")" 426
  is 'a head that does not end' "$(web -H "X: $(printf 'x%.0s' {1..9000})" "$URL/")" 431
fi
raw() { timeout 20 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"; printf "$1" >&3; cat <&3' "$PORT" "$1" 2>/dev/null; }
like 'bare line ends' "$(raw 'GET / HTTP/1.1\nHost: a\n\n')" '^HTTP/1.1 400 '
like 'frames too soon' "$(raw 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: ryefs-node\r\n\r\n\1\0\0\0\0')" '^HTTP/1.1 400 '
is 'half-open ones do not stand in the way' "$(
  for _ in {1..20}; do
    timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"; printf "GET" >&3; cat <&3' "$PORT" &
  done
  code gpu
  kill $(jobs -p) 2>/dev/null
  wait
)" ok

# --- TLS ---
if [ -x /usr/bin/python3 ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=DNS:localhost' -keyout "$T/tls.key" -out "$T/tls.crt" 2>/dev/null
  beside proxy /usr/bin/python3 "$SRC/e2e/tls_proxy.py" "$T/tls.crt" "$T/tls.key" "$PORT"
  until_true grep -q '^[0-9]' "$T/proxy.log"
  TLS=https://localhost:$(head -n 1 "$T/proxy.log")
  like 'a certificate that nobody vouches for' "$(rye remote add --yes box "$TLS")" 'box: https://localhost:[0-9]+: .*certificate'
  export SSL_CERT_FILE=$T/tls.crt
  like 'one that is believed' "$(rye remote add --yes box "$TLS/some/path" demo)" 'box is pinned'
  is 'reaches the same node' "$(rye remote list --json | jq -r '[.[].key] | unique | length')" 1
  head -c 3000000 /dev/urandom >"$P/big2"
  like 'what is pushed arrives by TLS' "$(rye remote push --force box)" '^box: .* 3\.[0-9]+ MB sent'
  like 'another name than the certificate has' "$(rye remote add --yes other "${TLS/localhost/127.0.0.1}")" 'other: https://127.0.0.1:[0-9]+: '
fi

# --- it goes ---
kill "$NODE_PID"
until_true bash -c "! exec 3<>/dev/tcp/127.0.0.1/$PORT" 2>/dev/null
like 'a port that nobody listens on' "$(rye remote status gpu)" "gpu: http://127.0.0.1:$PORT: "
is 'is unreachable' "$(code gpu)" unreachable
beside web /usr/bin/python3 -m http.server -b 127.0.0.1 -d "$T/home" "$PORT"
until_true bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT" 2>/dev/null
like 'something else answers' "$(rye remote status gpu)" "gpu: http://127.0.0.1:$PORT does not speak ryefs-node there; it said: HTTP/1.0 200"
finish
