#!/bin/sh
# labels: device
# mica serve with a small published model: routes, streams, wrong requests, limits, keys, clients that leave, signals.
#
# A request whose answer is compared has a seed, for the model is random and may end any text at its first token. Limits
# of time are either long, so that a slow machine stays below them, or what is tested, in a server of its own.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
model=${MICA_SOURCE_DIR:-.}/tests/golden/foundation/chat
client=$MICA_BUILD_DIR/bin/tests/http_client
if ! "$mica" version | grep -q MICA_WITH_MICROHTTPD=1; then
  run serve "$model"
  ends 1 '' '*no HTTP server: install libmicrohttpd*'
  [ $failed = 0 ] || exit 1
  echo 'SKIP: a build without libmicrohttpd'
  exit 77
fi

# until_it COMMAND...: runs it again and again until it succeeds, for two minutes at most.
until_it() {
  tries=0
  until "$@"; do
    [ $((tries += 1)) -lt 1200 ] || return 1
    sleep 0.1
  done
}
began() { [ -s "$work/said" ] || ! kill -0 $server 2>/dev/null; }
# begin OPTION...: starts a server; $port and $server are its.
begin() {
  ran="mica serve $*"
  : >"$work/said"
  "$mica" serve "$model" --port 0 "$@" >"$work/said" 2>"$work/err" &
  server=$!
  until_it began
  port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/v1|\1|p' "$work/said")
  [ "$port" ] || { fault "it does not begin: $(cat "$work/err")"; exit 1; }
}
# end SIGNAL: the server ends by itself, with status 0.
end() {
  kill "-$1" $server
  ended=0
  wait $server || ended=$?
  [ $ended = 0 ] || fault "exit status $ended after $1: $(cat "$work/err")"
  [ ! -s "$work/err" ] || fault "it says: $(cat "$work/err")"
}
# send OPTION...: the request in $work/request; $answer is what came, $code its status.
send() {
  "$client" "$port" "$@" <"$work/request" >"$work/answer" 2>"$work/client"
  answer=$(tr -d '\r\000' <"$work/answer")
  code=$(sed -n '1s|HTTP/1.1 \([0-9]*\).*|\1|p' "$work/answer")
}
# ask METHOD PATH [BODY [HEADER]]
ask() {
  ran="$1 $2 ${3-} ${4-}"
  printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s' \
    "$1" "$2" "${4:+$4$(printf '\r')$newline}" "$(printf %s "${3-}" | wc -c)" "${3-}" >"$work/request"
  send
}
# gives CODE TEXT: of the last request.
gives() {
  [ "$code" = "$1" ] || fault "status $code instead of $1: $answer"
  case $answer in *"$2"*) ;; *) fault "no $2 in: $answer" ;; esac
}
# text: the answer's first "content" or "text".
text() { printf '%s\n' "$answer" | sed -n 's/.*"\(content\|text\)":"\(\([^"\\]\|\\.\)*\)".*/\2/p'; }

chat=/v1/chat/completions
hi='"messages":[{"role":"user","content":"hi"}],"max_tokens":6'
begin --request-time 600 --connections 1200 --per-address 1200

# --- routes ---
ask GET /health
gives 200 '{"status":"ok"}'
ask GET /v1/models
gives 200 '"id":"chat"'
ask HEAD /health
gives 200 'Content-Length: 15'
case $answer in *status*) fault "a body after HEAD: $answer" ;; esac
ask POST /health
gives 405 'Allow: GET'
ask HEAD $chat
gives 405 'Allow: POST'
ask GET /none
gives 404 '"code":"not_found"'
ask POST /tokenize '{"content":"hello"}'
gives 200 '{"tokens":[75,72,79,79,82]}'
ask POST /detokenize '{"tokens":[75,72,79,79,82]}'
gives 200 '{"content":"hello"}'

# --- answers: the same seed gives the same text, alone, in a stream and beside others ---
ask POST $chat "{$hi,\"seed\":3}"
gives 200 '"finish_reason":"length"'
gives 200 '"usage":{"prompt_tokens":22,"completion_tokens":6,"total_tokens":28}'
first=$(text)
[ "$first" ] || fault "no text: $answer"
ask POST $chat "{$hi,\"seed\":4}"
[ "$(text)" != "$first" ] || fault "another seed, the same text"
ask POST $chat "{$hi,\"seed\":2,\"n\":3}"
gives 200 '"index":2'
gives 200 "\"content\":\"$first\""
ask POST $chat "{$hi,\"seed\":3,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
gives 200 'Content-Type: text/event-stream'
gives 200 '"choices":[],"usage":{"prompt_tokens":22'
gives 200 'data: [DONE]'
streamed=$(printf '%s\n' "$answer" | sed -n 's/^data: .*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/p' | tr -d '\n')
[ "$streamed" = "$first" ] || fault "in a stream it is '$streamed', not '$first'"
ask POST $chat "{$hi,\"temperature\":0,\"logprobs\":true}"
gives 200 '"logprob":-'
ask POST /v1/completions '{"prompt":["hi","abc"],"max_tokens":4,"seed":1}'
gives 200 '"index":1,"text":'
ask POST /v1/completions '{"prompt":[75,72],"max_tokens":4,"logit_bias":{"75":100},"temperature":0}'
gives 200 '"text":"hhhh"'
ask POST /v1/completions '{"prompt":[75,72],"max_tokens":9,"logit_bias":{"75":100},"temperature":0,"stop":"hhh"}'
gives 200 '"text":"","logprobs":null,"finish_reason":"stop"'
schema='{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":7}},"required":["n"],
"additionalProperties":false}'
ask POST $chat "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}],\"max_tokens\":99,
  \"seed\":1,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\",\"schema\":$schema}}}"
gives 200 '"finish_reason":"stop"'
text | tr -d '\\ ' | grep -q '^{"n":[3-7]}$' || fault "not by the schema: $answer"
tools="[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":$schema}}]"
ask POST $chat "{$hi,\"tools\":$tools,\"tool_choice\":
  {\"type\":\"function\",\"function\":{\"name\":\"f\"}},\"max_tokens\":99,\"seed\":1}"
gives 200 '"name":"f","arguments":"{'
gives 200 '"finish_reason":"tool_calls"'

# --- several clients at once get what each gets alone ---
ran='six clients'
post() {
  printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
    "$1" "$(printf %s "$2" | wc -c)" "$2"
}
clients=''
for seed in 1 2 3 4 5 6; do
  post $chat "{$hi,\"seed\":$seed,\"max_tokens\":40}" >"$work/request$seed"
  "$client" "$port" <"$work/request$seed" >"$work/beside$seed" &
  clients="$clients $!"
done
# Word splitting is wanted: one argument a process.
# shellcheck disable=SC2086
wait $clients
for seed in 1 2 3 4 5 6; do
  cp "$work/request$seed" "$work/request"
  send
  alone=$(text)
  answer=$(tr -d '\r' <"$work/beside$seed")
  [ "$alone" ] && [ "$(text)" = "$alone" ] || fault "seed $seed gives '$(text)' beside others, '$alone' alone"
done

# --- wrong requests ---
# wrong CODE TEXT BODY
wrong() {
  ask POST $chat "$3"
  gives "$1" "$2"
  case $answer in *'"error":{"message":'*) ;; *) fault "not an error of OpenAI's form: $answer" ;; esac
}
wrong 400 'not JSON from byte' '{"messages":'
wrong 400 'must be a JSON object' '[]'
wrong 400 'something follows' '{} {}'
wrong 400 'list of 1 to 1024 messages' '{}'
wrong 400 'message 0 has no role' '{"messages":[{}]}'
wrong 400 'message 0 has no content' '{"messages":[{"role":"user"}]}'
wrong 400 'the model reads text' '{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}'
wrong 404 'must be \"chat\"' "{$hi,\"model\":\"other\"}"
wrong 400 '"param":"temperature"' "{$hi,\"temperature\":-1}"
wrong 400 'must be an integer' "{$hi,\"seed\":1.5}"
wrong 400 '\"functions\" is not supported' "{$hi,\"functions\":[]}"
wrong 400 'must be 0' "{$hi,\"logprobs\":true,\"top_logprobs\":3}"
wrong 400 'the model does not choose itself' "{$hi,\"tools\":[],\"tool_choice\":\"auto\"}"
wrong 400 'texts of 1 to 256 bytes' "{$hi,\"stop\":\"\"}"
wrong 400 'is no token' "{$hi,\"logit_bias\":{\"9999\":1}}"
wrong 400 'must have the type' "{$hi,\"response_format\":{\"type\":\"xml\"}}"
wrong 400 '#' "{$hi,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{\"type\":3}}}}"
wrong 400 'U+0000' "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]}"
wrong 400 'must be UTF-8' "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf '\377')\"}]}"
wrong 400 'nested more than 64 deep' "{\"a\":$(printf '%070d' 0 | tr 0 '[')"
wrong 400 context_length_exceeded "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf '%0600d' 0)\"}]}"
ask POST /v1/embeddings '{"input":"hi"}'
gives 501 not_implemented

# --- HTTP: chunks, several requests in one piece, sizes, halves, slowness ---
ran='chunked body'
chunked='Host: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked'
printf "POST /v1/completions HTTP/1.1\r\n$chunked\r\n\r\n" >"$work/request"
printf '5\r\n{"pro\r\n%x\r\nmpt":"hi","max_tokens":2,"seed":1}\r\n0\r\n\r\n' 34 >>"$work/request"
send
gives 200 '"completion_tokens":2'
ran='chunks that are wrong'
printf 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n' >"$work/request"
send
[ "$code" = 400 ] || fault "status $code: $answer"
ran='pipelined requests'
{
  printf 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'
  body='{"prompt":"hi","max_tokens":2,"seed":1}'
  printf 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body"
  printf 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
} >"$work/request"
send
[ "$(printf '%s\n' "$answer" | grep -c 'HTTP/1.1 200')" = 3 ] || fault "not three answers: $answer"
ran='a body too large'
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n' $chat >"$work/request"
send
gives 413 body_too_large
{
  printf "POST $chat HTTP/1.1\r\n$chunked\r\n\r\n480000\r\n"
  head -c 4718592 /dev/zero
  printf '\r\n0\r\n\r\n'
} >"$work/request"
send
gives 413 body_too_large
ran='a header too large'
printf 'GET /health HTTP/1.1\r\nHost: localhost\r\nX: %040000d\r\n\r\n' 0 >"$work/request"
send
[ "$code" = 431 ] || fault "status $code: $answer"
ran='no HTTP'
printf '\001\002\003\r\n\r\n' >"$work/request"
send
[ "$code" = 400 ] || [ ! "$answer" ] || fault "status $code: $answer"
ran='1000 idle connections'
printf 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >"$work/request"
send --idle 1000
gives 200 '1000 open'

# --- a client that leaves ends its request ---
ran='a client that leaves'
body="{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true,\"logit_bias\":{\"2\":-100},\"n\":8}"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >"$work/request"
send --leave 300
none_run() {
  ask GET /metrics
  printf '%s\n' "$answer" | grep -q '^mica_requests_running 0$'
}
until_it none_run || fault "it still runs: $answer"
gives 200 'mica_slots 4'

# --- callers ---
ran='another host'
printf 'GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n' >"$work/request"
send
gives 403 wrong_host
ask GET /v1/models '' 'Origin: https://evil.example'
gives 403 wrong_origin
# --- a signal lets a request that runs end ---
ran='a stream at the end of the server'
post $chat '{"messages":[{"role":"user","content":"hi"}],"stream":true,"n":8,"max_tokens":60}' >"$work/request"
"$client" "$port" <"$work/request" >"$work/stream" &
stream=$!
until_it test -s "$work/stream" || fault 'the stream does not begin'
end INT
wait $stream
grep -q '^data: \[DONE\]' "$work/stream" || fault "the stream was cut: $(tail -n 3 "$work/stream")"

# --- a request that is not sent in time ---
begin --request-time 0.5
ran='half a request'
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"mess' $chat >"$work/request"
send
[ "$code" = 408 ] || fault "status $code: $answer"
ran='a slow request'
printf 'GET /health HTTP/1.1\r\nHost: localhost\r\nX: %0100d\r\n\r\n' 0 >"$work/request"
send --slow 100
[ "$code" = 408 ] || fault "status $code: $answer"
end TERM

# --- keys and origins ---
printf '# keys\n\nfirst-key\nsecond-key\n' >"$work/keys"
begin --api-key-file "$work/keys" --name tiny --origin https://a.example --slots 1 --time 1
ask GET /health
gives 200 ok
ask GET /v1/models
gives 401 'WWW-Authenticate: Bearer'
for key in first-ke first-keyx x ''; do
  ask GET /v1/models '' "Authorization: Bearer $key"
  gives 401 invalid_api_key
done
ask GET /v1/models '' 'Authorization: Bearer second-key'
gives 200 '"id":"tiny"'
ask OPTIONS $chat '' 'Origin: https://a.example'
gives 204 'Access-Control-Allow-Origin: https://a.example'

# --- too many requests wait ---
body="{\"prompt\":\"hi\",\"n\":16,\"max_tokens\":400,\"logit_bias\":{\"2\":-100}}"
ask POST /v1/completions "$body" 'Authorization: Bearer first-key'
[ "$code" = 429 ] || [ "$code" = 503 ] || fault "status $code: $answer"
end TERM

# --- settings ---
run serve "$model" --host 0.0.0.0
ends 2 '' '*--api-key-file*--open*'
run serve "$model" --api-key-file "$work/none"
ends 1 '' '*cannot be read*'
: >"$work/empty"
run serve "$model" --api-key-file "$work/empty"
ends 1 '' '*has no key*'
run serve "$work"
ends 1 '' '*is not a published model*'
run serve "$model" --port 70000
[ "$status" = 2 ] || fault "exit status $status"
run serve "$model" --host nowhere.invalid --open
ends 1 '' '*nowhere.invalid*'
exit $failed
