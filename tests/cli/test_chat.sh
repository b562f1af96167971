#!/bin/sh
# labels: device single
# mica chat and mica generate with a small published model: streams, commands of a line, JSON, Ctrl-C, wrong models.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
model=${MICA_SOURCE_DIR:-.}/tests/golden/foundation/chat

# talk WORDS...: the lines of the file go to mica chat.
talk() {
  ran="mica chat $*"
  status=0
  timeout 120 "$mica" chat "$model" --seed 3 --length 12 "$@" <"$work/lines" >"$work/out" 2>"$work/err" || status=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}
lines() { printf '%s\n' "$@" >"$work/lines"; }

# --- the same seed gives the same answers; a conversation that is begun anew as well ---
lines one two
talk
[ $status = 0 ] || fault "exit status $status: $err"
[ "$(printf '%s\n' "$out" | wc -l)" = 2 ] || fault "not two answers: $out"
[ ! "$err" ] || fault "it says: $err"
first=$out
lines one two
talk
[ "$out" = "$first" ] || fault "other answers: $out, not $first"
lines one /reset one
talk
[ "$(printf '%s\n' "$out" | sort -u | wc -l)" = 1 ] || fault "after /reset another answer: $out"
lines one '/seed 4' /reset one
talk
[ "$(printf '%s\n' "$out" | sort -u | wc -l)" = 2 ] || fault "another seed, the same answer: $out"

# --- messages of a file ---
lines '/system Be brief.' one "/save $work/m.json"
talk
grep -q '^{"role": "system", "content": "Be brief."},$' "$work/m.json" || fault "$(cat "$work/m.json")"
[ "$(grep -c '"role"' "$work/m.json")" = 3 ] || fault "$(cat "$work/m.json")"
lines "/load $work/m.json" two "/save $work/n.json"
talk
[ "$(grep -c '"role"' "$work/n.json")" = 5 ] || fault "$(cat "$work/n.json")"
# /reset goes back to the system message of the conversation, whatever the file has in the first place
echo '[{"role": "system", "content": "Rhyme."}, {"role": "user", "content": "one"}]' >"$work/rhyme.json"
echo '[{"role": "user", "content": "one"}]' >"$work/plain.json"
for file in rhyme plain; do
  lines '/system Be brief.' "/load $work/$file.json" /reset "/save $work/own.json" \
    "/load $work/plain.json" "/load $work/rhyme.json" /reset "/save $work/twice.json"
  talk
  for saved in own twice; do
    grep -q '^{"role": "system", "content": "Be brief."}$' "$work/$saved.json" &&
      [ "$(grep -c '"role"' "$work/$saved.json")" = 1 ] || fault "/reset after /load: $(cat "$work/$saved.json")"
  done
  lines "/load $work/$file.json" /reset "/save $work/none.json"
  talk
  grep -q '"role"' "$work/none.json" && fault "/reset keeps a message of a file: $(cat "$work/none.json")"
done
lines "/load $work/none" one
talk
[ $status = 0 ] && [ "$out" ] || fault "a file that is missing ends the conversation"
printf '%s' "$err" | grep -q "^mica chat: .*$work/none" || fault "no word of the missing file: $err"
lines /help
talk
printf '%s' "$err" | grep -q '^/reset ' || fault "no help: $err"
printf 'hi\377\none\n' >"$work/lines"
talk
[ $status = 1 ] && [ "$out" ] || fault "a message of bad UTF-8: exit status $status, $out"
printf '%s' "$err" | grep -q '^mica chat: .*not UTF-8' || fault "no word of bad UTF-8: $err"
lines /nosuch
talk
printf '%s' "$err" | grep -q '^there is no command /nosuch$' || fault "a command that there is not: $err"
lines /save '/load ' one
talk
[ $status = 0 ] && [ "$(printf '%s\n' "$err" | grep -c '^name a file: /[sl]')" = 2 ] || fault "no file is named: $err"
lines one /quit two
talk
[ "$(printf '%s\n' "$out" | wc -l)" = 1 ] || fault "it goes on after /quit: $out"

# --- JSON ---
lines one /reset
talk --json
[ "$(printf '%s\n' "$out" | grep -c '^{"answer":".*","finish":"\(length\|stop\)"}$')" = 2 ] || fault "$out"

# --- more than the context has ---
awk 'BEGIN { for (i = 0; i < 12; i++) print "some words that fill the context" }' >"$work/lines"
talk --context 128
[ "$(printf '%s\n' "$out" | wc -l)" = 12 ] || fault "not twelve answers: $out, $err"
awk 'BEGIN { for (i = 0; i < 200; i++) printf "word "; print "" }' >"$work/lines"
talk --context 128
[ $status = 1 ] && printf '%s' "$err" | grep -q '^mica chat: .*than the context, 128' ||
  fault "a message too long: $err"

# The system message of a file stays in the prompt, whatever the order of its members: the answers are the same.
awk 'BEGIN { for (i = 0; i < 12; i++) print "some words that fill the context" }' >"$work/words"
first=
for message in '{"role": "system", "content": "Rhyme."}' '{"content": "Rhyme.", "role": "system"}' \
  '{ "name" : "x", "role":"system", "content" : "Rhyme." }'; do
  printf '[%s, {"role": "user", "content": "one"}, {"content": "two", "role": "assistant"}]' "$message" \
    >"$work/order.json"
  { echo "/load $work/order.json" && cat "$work/words"; } >"$work/lines"
  talk --context 128
  [ "$(printf '%s\n' "$out" | wc -l)" = 12 ] || fault "not twelve answers: $out, $err"
  [ "$out" = "${first:=$out}" ] || fault "with $message other answers: $out, not $first"
done

# --- Ctrl-C ends an answer, not the program ---
: >"$work/out"
mkfifo "$work/in"
timeout 60 "$mica" chat "$model" --seed 3 <"$work/in" >"$work/out" 2>"$work/err" &
chat=$!
exec 3>"$work/in"
echo one >&3
i=0
while [ ! -s "$work/out" ] && [ $((i += 1)) -lt 300 ]; do sleep 0.1; done
kill -INT "$(pgrep -f "^$mica chat" | head -n 1)"
echo two >&3
exec 3>&-
ran='mica chat, interrupted'
wait $chat || fault "exit status $?: $(cat "$work/err")"
[ -s "$work/out" ] || fault "no answer"

# --- generate, and models that cannot ---
run generate --model "$model" --prompt abc --prompt xyz --length 5 --json
[ "$status" = 0 ] && printf '%s' "$out" | grep -q '"prompt":"xyz","text":"' || fault "$out $err"
# A prompt is shown once, even if nothing is generated: the first token is the end of the text with some seed.
seed=1
while [ $seed -lt 40 ]; do
  run generate --model "$model" --prompt abc --length 1 --temperature 3 --seed $seed --json
  case $out in *'"text":""'*) break ;; esac
  seed=$((seed + 1))
done
[ $seed -lt 40 ] || fault 'every seed generates a text'
# 0 draws from all tokens, not from the 40 of the default.
run generate --model "$model" --prompt one --length 30 --temperature 1000 --top-p 1 --seed 3
forty=$out
run generate --model "$model" --prompt one --length 30 --temperature 1000 --top-p 1 --seed 3 --top-k 40
[ "$out" = "$forty" ] || fault "the default is not 40: $out, not $forty"
run generate --model "$model" --prompt one --length 30 --temperature 1000 --top-p 1 --seed 3 --top-k 0
[ $status = 0 ] && [ "$out" != "$forty" ] || fault "--top-k 0 draws as 40 does: $out"
run generate --model "$model" --prompt abc --length 1 --temperature 3 --seed $seed
[ "$status" = 0 ] && [ "$out" = abc ] || fault "not the prompt alone: $out $err"
printf '{"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 7},
"yes": {"type": "boolean"}},
"required": ["n", "yes"], "additionalProperties": false}' >"$work/schema.json"
for seed in 1 2 3; do
  run generate --model "$model" --prompt abc --schema "$work/schema.json" --seed $seed --length 100 --json
  printf '%s' "$out" | grep -q '"{ *\\"n\\" *: *[3-7] *, *\\"yes\\" *: *\(true\|false\) *}"' || fault "$out $err"
done
echo '{"type": 3}' >"$work/schema.json"
run generate --model "$model" --prompt abc --schema "$work/schema.json"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'type' || fault "$err"
run generate --model "$model" --prompt abc --schema "$work/no-schema.json"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q "cannot read $work/no-schema.json: No such file" || fault "$err"
run generate --model "$model" --prompt abc --window 3
[ "$status" = 2 ] || fault "exit status $status"
run chat "$work"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'is not a published model' || fault "$err"
run chat "$work/nosuch.gguf"
[ "$status" = 1 ] && [ "$err" = "mica chat: there is no file or folder $work/nosuch.gguf" ] || fault "$err"
: >"$work/none.gguf"
run chat "$work/none.gguf"
[ "$status" = 1 ] && [ "$err" = "mica chat: $work/none.gguf is an empty file" ] || fault "$err"
run chat "$(dirname "$model")/llama"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'no tokenizer' || fault "$err"
run generate --model "$model" --prompt "$(printf '\377')"
[ "$status" = 1 ] && [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fault "$err"
run chat "$model" --context 100000
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'must be from 1 to 512' || fault "$err"

# --- adapters: what sample 24 teaches the model ---
run chat "$model" --adapter "$work/nowhere"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'nowhere' || fault "$err"
run generate --model "$model" --prompt a --adapter "$work"
[ "$status" = 1 ] && printf '%s' "$err" | grep -q 'adapter_config.json' || fault "$err"
sample=$MICA_BUILD_DIR/bin/samples/24_finetune
if [ -x "$sample" ]; then
  (cd "$work" && "$sample") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
  lines 'Name 3 colours.'
  talk --temperature 0
  [ "${out%red*}" = "$out" ] || fault "knows the answer without an adapter: $out"
  talk --temperature 0 --adapter "$work/finetune-adapter"
  [ "$out" = red ] || fault "has not learnt the answer: $out $err"
else
  echo 'left out: there are no samples'
fi
exit $failed
