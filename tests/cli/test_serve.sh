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
ask GET /v1/models/chat
gives 200 '"id":"chat","object":"model"'
ask GET /v1/models/other
gives 404 model_not_found
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
gives 200 '"top_logprobs":[]'
ask POST $chat "{$hi,\"temperature\":0,\"logprobs\":true,\"top_logprobs\":3}"
[ "$(printf '%s' "$answer" | grep -o '"logprob":' | wc -l)" = 24 ] || fault "not 4 log probabilities per token: $answer"
# A greedy token is the first of those that are listed.
printf '%s' "$answer" | grep -q '"token":"H","logprob":\([^,]*\),"bytes":\[72\],"top_logprobs":\[{"token":"H",' ||
  fault "the first token is not the likeliest: $answer"
ask POST /v1/completions '{"prompt":"hi","max_tokens":2,"seed":1,"logprobs":2}'
gives 200 '"top_logprobs":[{"'
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
# --- tools: the model chooses, and its answer is made a call by a schema ---
call_schema='{"type":"object","properties":{"name":{"const":"f"},"arguments":'$schema'},
"required":["name","arguments"],"additionalProperties":false}'
by_schema="\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\",\"schema\":$call_schema}}"
for choice in '' ',"tool_choice":"auto"'; do
  ask POST $chat "{$hi,\"seed\":1,\"max_tokens\":200,\"tools\":$tools,$by_schema$choice}"
  gives 200 '"finish_reason":"tool_calls"'
  gives 200 '"content":null,"tool_calls":[{"id":"call-'
  gives 200 '"name":"f","arguments":"{\"n\":'
done
ask POST $chat "{$hi,\"seed\":1,\"max_tokens\":200,\"stream\":true,\"tools\":$tools,$by_schema}"
gives 200 '"delta":{"tool_calls":[{"index":0,"id":"call-'
gives 200 '"finish_reason":"tool_calls"'
case $answer in *'"content":"{'*) fault "a call is in the text: $answer" ;; esac
ask POST $chat "{$hi,\"seed\":1,\"max_tokens\":200,\"tools\":$tools,\"tool_choice\":\"none\",$by_schema}"
gives 200 '"finish_reason":"stop"'
gives 200 '\"name\"'
ask POST $chat "{$hi,\"seed\":3,\"tools\":$tools}"
[ "$(text)" = "$first" ] || fault "a text beside tools is '$(text)', not '$first'"
ask POST $chat "{$hi,\"seed\":3,\"tools\":$tools,\"stream\":true}"
streamed=$(printf '%s\n' "$answer" | sed -n 's/^data: .*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/p' | tr -d '\n')
[ "$streamed" = "$first" ] || fault "in a stream beside tools it is '$streamed', not '$first'"
two="[{\"type\":\"function\",\"function\":{\"name\":\"g\",\"parameters\":$schema}},
  {\"type\":\"function\",\"function\":{\"name\":\"h\",\"parameters\":$schema}}]"
ask POST $chat "{$hi,\"seed\":1,\"max_tokens\":200,\"tools\":$two,\"tool_choice\":\"required\"}"
gives 200 '"finish_reason":"tool_calls"'
printf '%s' "$answer" | grep -q '"name":"[gh]","arguments":"{' || fault "not a call of g or h: $answer"

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

# --- fields of other servers that change nothing ---
ran='neutral fields'
neutral='"min_tokens":0,"ignore_eos":false,"mirostat":0,"typical_p":1,"stop_token_ids":[]'
ask POST $chat "{$hi,\"seed\":3,$neutral}"
[ "$(text)" = "$first" ] || fault "a text beside neutral fields is '$(text)', not '$first'"

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
wrong 400 'choose system, developer, user, assistant or tool' '{"messages":[{"role":"alien","content":"a"}]}'
wrong 400 'from 1 to 2147483647' '{"messages":[{"role":"user","content":"a"}],"max_tokens":0}'
wrong 400 'the content of message 0 must be a string' '{"messages":[{"role":"user"}]}'
wrong 400 'the model reads text' '{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}'
wrong 404 'must be \"chat\"' "{$hi,\"model\":\"other\"}"
wrong 400 '"param":"temperature"' "{$hi,\"temperature\":-1}"
wrong 400 'must be an integer' "{$hi,\"seed\":1.5}"
wrong 400 '\"functions\" is not supported' "{$hi,\"functions\":[{\"name\":\"f\"}]}"
wrong 400 '\"ignore_eos\" is not supported' "{$hi,\"ignore_eos\":true}"
wrong 400 '\"guided_json\" is not supported' "{$hi,\"guided_json\":{}}"
wrong 400 'from 0 to 20' "{$hi,\"logprobs\":true,\"top_logprobs\":21}"
wrong 400 'list of 1 to 128 functions' "{$hi,\"tools\":[],\"tool_choice\":\"auto\"}"
wrong 400 'each of \"tools\"' "{$hi,\"tools\":[{\"function\":{}}]}"
wrong 400 'tool_choice' "{$hi,\"tools\":$tools,\"tool_choice\":{\"function\":{\"name\":\"other\"}}}"
wrong 400 'texts of 1 to 256 bytes' "{$hi,\"stop\":\"\"}"
wrong 400 'is not a token' "{$hi,\"logit_bias\":{\"9999\":1}}"
wrong 400 'must have the type' "{$hi,\"response_format\":{\"type\":\"xml\"}}"
wrong 400 '#' "{$hi,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{\"type\":3}}}}"
wrong 400 'U+0000' "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]}"
wrong 400 'must be UTF-8' "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf '\377')\"}]}"
wrong 400 'nested more than 64 deep' "{\"a\":$(printf '%070d' 0 | tr 0 '[')"
wrong 400 context_length_exceeded "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf '%0600d' 0)\"}]}"
ask POST /v1/embeddings '{"input":"hi"}'
gives 501 'start it with --pooling'

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

# --- adapters: each request names one, or none ---
# adapter FOLDER: one of rank 1 for the queries of the first layer, all ones.
adapter() {
  mkdir "$1"
  printf '{"peft_type":"LORA","r":1,"lora_alpha":8,"target_modules":["q_proj"],"bias":"none"}' >"$1/adapter_config.json"
  layer=base_model.model.model.layers.0.self_attn.q_proj
  header="{\"$layer.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,16],\"data_offsets\":[0,64]},
\"$layer.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[16,1],\"data_offsets\":[64,128]}}"
  while [ $((${#header} % 8)) != 0 ]; do header="$header "; done
  {
    # shellcheck disable=SC2059 # octal digits
    printf "\\$(printf %o $((${#header} % 256)))\\$(printf %o $((${#header} / 256)))\0\0\0\0\0\0"
    printf %s "$header"
    i=0
    while [ $((i += 1)) -le 32 ]; do printf '\0\0\200\077'; done
  } >"$1/adapter_model.safetensors"
}
adapter "$work/ones"
greedy='"messages":[{"role":"user","content":"hello there"}],"max_tokens":30,"temperature":0,"logit_bias":{"2":-100}'
begin --adapter "ones=$work/ones" --adapter "again=$work/ones" --pooling mean
ask GET /v1/models
gives 200 '"id":"chat:ones"'
ask GET /v1/models/chat:again
gives 200 '"id":"chat:again"'
ask POST $chat "{$greedy}"
plain=$(text)
ask POST $chat "{$greedy,\"model\":\"chat:ones\"}"
gives 200 '"model":"chat:ones"'
with=$(text)
[ "$plain" ] && [ "$with" ] && [ "$plain" != "$with" ] || fault "the adapter changes nothing: '$plain', '$with'"
ask POST $chat "{$greedy,\"model\":\"chat:again\"}"
[ "$(text)" = "$with" ] || fault "the same adapter gives '$(text)', not '$with'"
ask POST $chat "{$greedy,\"model\":\"chat\"}"
[ "$(text)" = "$plain" ] || fault "after adapters the model gives '$(text)', not '$plain'"
ask POST $chat "{$greedy,\"model\":\"chat:none\"}"
gives 404 '/v1/models lists'
ask POST /v1/embeddings '{"input":"hi","model":"chat:ones"}'
gives 400 'without adapters'
ask POST /v1/embeddings '{"input":"hi"}'
gives 200 '"usage":{"prompt_tokens":2,"total_tokens":2}'
end TERM

# --- vectors: those of mica embed, and no texts ---
encoder=${MICA_SOURCE_DIR:-.}/tests/golden/foundation/embed
model=$encoder
begin --name tiny
ask POST /v1/embeddings '{"input":["a cat","The dog"],"model":"tiny"}'
gives 200 '"index":1,"embedding":['
printf '%s\n' "$answer" | sed '1,/^$/d; s/"embedding":\[/\n/g' | sed -n '2,$s/\].*//p' | tr ',' '\n' >"$work/asked"
run embed --model "$encoder" 'a cat' 'The dog'
printf '%s\n' "$out" | tr ' ' '\n' >"$work/made"
[ "$(wc -l <"$work/made")" = 32 ] || fault "not 32 numbers: $out"
paste "$work/made" "$work/asked" | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 { bad = 1 } END { exit bad }' ||
  fault "not the vectors of mica embed: $(paste "$work/made" "$work/asked")"
many=$(i=0; while [ $((i += 1)) -le 100 ]; do printf '"cat %d",' $i; done)
ask POST /v1/embeddings "{\"input\":[$many\"a cat\"],\"encoding_format\":\"base64\"}"
gives 200 '"index":100'
base64=$(printf '%s\n' "$answer" | sed -n 's/.*"embedding":"\([^"]*\)".*/\1/p')
printf %s "$base64" | base64 -d | od -An -v -tf4 | tr -s ' ' '\n' | sed '/^$/d' >"$work/asked"
paste "$work/asked" "$work/made" | head -n 16 | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 { bad = 1 } END { exit bad }' ||
  fault "in base64 they are $base64"
wrong_input() {
  ask POST /v1/embeddings "$2"
  gives 400 "$1"
}
wrong_input 'a text, or a list' '{}'
wrong_input '1 to 2048 texts' '{"input":[]}'
wrong_input 'at least one character' '{"input":["a",""]}'
wrong_input 'at least one character' '{"input":[[1,2]]}'
wrong_input 'encoding_format' '{"input":"a","encoding_format":"int8"}'
wrong_input 'must be 16' '{"input":"a","dimensions":8}'
long=$(printf '%0900d' 0 | sed 's/0/a /g')
wrong_input context_length_exceeded "{\"input\":\"$long\"}"
ask POST /v1/embeddings "{\"input\":\"$long\",\"truncate\":true}"
gives 200 '"embedding":['
ask POST $chat "{$hi}"
gives 501 'makes vectors'
ask POST /v1/completions '{"prompt":"hi"}'
gives 501 'makes vectors'
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
run serve "$model" --adapter nothing
ends 2 '' '*write NAME=PATH*'
run serve "$model" --adapter "a=$work/ones" --adapter "a=$work/ones"
ends 2 '' '*the name is used twice*'
run serve "$model" --adapter "a=$work/none"
[ "$status" = 1 ] || fault "exit status $status"
run serve "$model" --port 70000
[ "$status" = 2 ] || fault "exit status $status"
run serve "$model" --host nowhere.invalid --open
ends 1 '' '*nowhere.invalid*'
exit $failed
