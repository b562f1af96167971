#!/bin/sh
# labels: device single
# mica eval with a published model: perplexity of a text file, and wrong options, texts and files.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# The model of the tests has no tokenizer. Letters of ASCII have ids below its 131 as bytes; byte 255 has not.
model=$work/model
mkdir "$model"
cp "$MICA_SOURCE_DIR"/tests/golden/foundation/llama/config.json \
  "$MICA_SOURCE_DIR"/tests/golden/foundation/llama/model.safetensors "$model" || exit 1
awk 'BEGIN { for (i = 0; i < 100; i++) printf "%c", 97 + i * i % 26 }' >"$work/text.txt"

run eval --model "$model" --data "$work/text.txt"
case $err in *"this build"*) echo 'SKIP: no cJSON'; exit 77 ;; esac
ends 1 '' 'mica eval: there is no file*tokenizer.json'
run tokenizer train --kind byte --out "$model/tokenizer.json"
case $err in *"this build"*) echo 'SKIP: no PCRE2 or utf8proc'; exit 77 ;; esac
ends 0 '*' ''

# 100 tokens in windows of 64, the context, and of 40: two and three begin a window.
run eval --model "$model" --data "$work/text.txt" --json
ends 0 '{*}' ''
holds task language
holds tokens 98
holds window 64
whole=$(json metrics.perplexity)
awk -v p="$whole" -v l="$(json metrics.loss)" 'BEGIN { d = p / exp(l) - 1; exit !(p > 1 && d < 1e-9 && d > -1e-9) }' ||
  fault "perplexity $whole, loss $(json metrics.loss)"
run eval --model "$model" --data "$work/text.txt" --window 40 --json
holds tokens 97
holds window 40
[ "$(json metrics.perplexity)" != "$whole" ] || fault "windows of 40 are as windows of 64"
run eval --model "$model" --data "$work/text.txt"
ends 0 '*perplexity *(loss *, 98 tokens in windows of 64)' ''

# An adapter changes the score.
adapter=$MICA_SOURCE_DIR/tests/golden/foundation/llama/adapter
run eval --model "$model" --data "$work/text.txt" --adapter "$adapter" --json
ends 0 '{*}' ''
adapted=$(json metrics.loss)
run eval --model "$model" --data "$work/text.txt" --json
awk -v a="$adapted" -v b="$(json metrics.loss)" 'BEGIN { d = a - b; exit !(d > 1e-3 || d < -1e-3) }' ||
  fault 'the adapter changed nothing'
run eval --model "$model" --data "$work/text.txt" --adapter "$work/none"
ends 1 '' 'mica eval: *none*'

# What is wrong.
run eval --model "$work" --data "$work/text.txt" --adapter "$adapter"
ends 2 '' 'mica eval: --adapter is for published models*is not one'
run eval --model "$model"
ends 2 '' 'mica eval: --data is missing*'
for option in part beam text-model text-order text-weight text-bonus precision; do
  run eval --model "$model" --data "$work/text.txt" --$option 1
  ends 2 '' "mica eval: --$option is for runs*"
done
run eval --model "$model" --data "$work/text.txt" --window 65
ends 1 '' 'mica eval: *65*64'
for wrong in 1 0 -1 x 1.5; do
  run eval --model "$model" --data "$work/text.txt" --window "$wrong"
  ends 2 '' 'mica eval: --window *'
done
run eval --model "$work" --data "$work/text.txt" --window 8
ends 2 '' 'mica eval: --window is for published models*'
run eval --model "$model" --data "$work/none.txt"
ends 1 '' "mica eval: $work/none.txt: *"
run eval --model "$model" --data "$work"
ends 1 '' "mica eval: $work is a folder; name a text file"
: >"$work/empty.txt"
run eval --model "$model" --data "$work/empty.txt"
ends 1 '' "mica eval: $work/empty.txt has 0 tokens*"
printf 'a\377' >"$work/high.txt"
run eval --model "$model" --data "$work/high.txt"
ends 1 '' 'mica eval: *token 1 is *, but must be from 0 to 130'
# One byte above the limit: a hole, which takes no room on the disk.
dd if=/dev/null of="$work/long.txt" bs=1 seek=1073741825 2>/dev/null
run eval --model "$model" --data "$work/long.txt"
ends 1 '' "mica eval: $work/long.txt is above 1 GiB"
exit "$failed"
