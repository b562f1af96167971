#!/bin/sh
# labels: device slow
# mica prune of networks of sequences: heads, hidden units and recurrent units go, and what is left is evaluated,
# writes, translates, is quantised, exported, resumed and begun with; what has nothing to spare says so.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# smaller METRIC MOST WHOLE PRUNED: half of the FLOPs are gone, and the metric differs by MOST at most.
smaller() {
  run compare "$3" "$4" --data "$data" --part train --repeats 20 --json
  [ "$status" = 0 ] || fault "$err"
  awk -v w="$(json runs.0.parameters)" -v p="$(json runs.1.parameters)" 'BEGIN { exit !(p < w) }' || fault "$4: $out"
  awk -v w="$(json runs.0.flops)" -v p="$(json runs.1.flops)" 'BEGIN { exit !(p < 0.7 * w) }' || fault "$4: $out"
  awk -v w="$(json "runs.0.metrics.$1")" -v p="$(json "runs.1.metrics.$1")" -v most="$2" \
    'BEGIN { d = w - p; exit !(d <= most && -d <= most) }' || fault "$4: $out"
}

# A language model: queries that share keys and values, gated units, rotations.
awk 'BEGIN { for (i = 0; i < 300; i++) print "the cat sat on the mat and the dog ran to the cat" }' >"$work/text.txt"
data=$work/text.txt
train="train --task language --data $data --context 32 --layers 2 --batch 16 --lr 5e-3 --quiet"
# shellcheck disable=SC2086 # words of options
run $train --width 64 --heads 8 --groups 4 --feed-forward swiglu --positions rotary --epochs 6 --out "$work/language"
ends 0 '' ''
# Weights of eight heads have the shape of those of four.
run prune "$work/language" --heads 4 --steps 1 --epochs 1 --out "$work/none"
ends 2 '' 'mica prune: heads is "8" in the pruned run and cannot become "4"'
# Positions that are learned are as many as they are; rotations are for any.
# shellcheck disable=SC2086 # words of options
run $train --width 32 --heads 2 --epochs 1 --out "$work/learned"
run prune "$work/learned" --context 16 --steps 1 --epochs 1 --out "$work/none"
ends 2 '' 'mica prune: context is 32 in the pruned run, whose network has a vector per position; it *'
run prune "$work/language" --context 16 --flops 0.2 --steps 1 --epochs 1 --quiet --out "$work/shorter"
ends 0 '' ''
run prune "$work/language" --steps 2 --epochs 4 --method taylor --quiet --out "$work/language2"
ends 0 '' ''
smaller perplexity 0.1 "$work/language" "$work/language2"
run generate --model "$work/language2" --prompt 'the cat ' --temperature 0 --length 40
ends 0 'the cat sat on the mat and the dog ran*' ''
run train --resume --epochs 5 --quiet --out "$work/language2"
ends 0 '' '*'
run quantize "$work/language2" --weights-only --out "$work/language8"
ends 0 '*bytes,*' ''
run generate --model "$work/language8" --prompt 'the cat ' --temperature 0 --length 40
ends 0 'the cat sat on the mat*' ''
run export "$work/language2" --onnx "$work/language2.onnx"
[ "$status" = 0 ] || fault "$err"
# shellcheck disable=SC2086
run $train --width 64 --heads 8 --groups 4 --feed-forward swiglu --positions rotary --epochs 1 \
  --init "$work/language2/model.safetensors" --out "$work/language3"
ends 0 '' '*'
run generate --model "$work/language3" --prompt 'the cat ' --temperature 0 --length 20
ends 0 'the cat sat*' ''
# shellcheck disable=SC2086
run $train --width 64 --heads 8 --groups 4 --feed-forward swiglu --positions rotary --epochs 1 --tokenizer bpe \
  --vocabulary 300 --init "$work/language2/model.safetensors" --out "$work/none"
ends 1 '' '*file of pruned weights has 256 tokens*'

# What has one head and no more units than must be.
# shellcheck disable=SC2086
run $train --width 4 --heads 1 --epochs 1 --out "$work/thin"
ends 0 '' ''
for steps in 1 2 3; do
  run prune "$work/thin" --flops 0.95 --steps $steps --epochs 1 --out "$work/none"
  # Nothing has been trained for nothing, and nothing is left.
  ends 1 '' '*at most*of the FLOPs can be removed*'
  [ ! -e "$work/none" ] || fault 'a folder for nothing'
done

# As many positions as features, and half of the heads go; what is left is trained with rounded weights.
# shellcheck disable=SC2086
run $train --width 32 --heads 4 --epochs 1 --out "$work/even"
ends 0 '' ''
run prune "$work/even" --steps 2 --epochs 1 --quantize 8 --quiet --out "$work/even2"
ends 0 '' ''
smaller perplexity 20 "$work/even" "$work/even2"
for name in attn.out_proj.weight attn.out_proj.input_step; do
  run info "$work/even2/model.safetensors"
  ends 0 "*layers.0.self_$name*" ''
done
case $out in
*'self_attn.out_proj.weight '*'(32, 8)'* | *'self_attn.out_proj.weight '*'(32, 16)'*) ;;
*) fault "$out" ;;
esac
grep -q '"quantize": *"8"' "$work/even2/config.json" || fault 'it is not trained with rounded weights'

# interrupted FOLDER FILE PATTERN WORD...: prunes until the file has the pattern.
interrupted() {
  folder=$1 file=$2 pattern=$3
  shift 3
  : >"$work/out"
  : >"$work/err"
  "$mica" prune "$work/even" --steps 3 --batch 1 --out "$folder" "$@" >"$work/out" 2>"$work/err" &
  pid=$!
  tries=0
  until grep -qs "$pattern" "$file" || [ $tries -gt 2000 ]; do sleep 0.02; tries=$((tries + 1)); done
  kill -INT $pid
  status=0
  wait $pid || status=$?
  ran="mica prune $*, interrupted"
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

# Stopped between the steps it ends as mica train does, and says what there is, which another training begins with.
interrupted "$work/stopped" "$work/out" '^epoch 1/1'
ends 130 "*stopped: *after step 2 of 3, with * % of the FLOPs left; $work/stopped/pruned.safetensors has *" '*'
interrupted "$work/stopped2" "$work/err" '^epoch 1/1' --json
ends 130 '{*}' "*stopped: *after step 2 of 3, with * % of the FLOPs left; $work/stopped2/pruned.safetensors has *"
holds task language
holds stopped true
holds part validation
[ "$(json metrics.perplexity)" ] || fault "no metrics: $out"

# Until a step of training is taken a signal ends it at once: nothing is waited for.
interrupted "$work/early" "$work/early/pruned.safetensors" weight --json
ends 130 '{"task":"language","stopped":true}' \
  "stopped before the first step; $work/early/pruned.safetensors has the weights that are left, and *"
# shellcheck disable=SC2086
run $train --width 32 --heads 4 --epochs 1 --init "$work/stopped/pruned.safetensors" --out "$work/begun"
ends 0 '' '*'

# Classes of texts, by blocks that see both ways and by recurrent layers; tokens are the run's.
awk 'BEGIN { print "mood\ttext"; for (i = 0; i < 200; i++)
  print (i % 2 ? "good\ta fine and lovely day " : "bad\tan awful and rainy night ") i }' >"$work/texts.tsv"
sed 's/^good/fine/' "$work/texts.tsv" >"$work/others.tsv"
data=$work/texts.tsv
for model in encoder tagger; do
  run train --task text --data "$data" --label mood --model $model --width 32 --heads 4 --layers 2 --epochs 12 --quiet \
    --out "$work/$model"
  ends 0 '' '*'
  run prune "$work/$model" --steps 1 --epochs 3 --quiet --out "$work/${model}2"
  ends 0 '' '*'
  smaller accuracy 0.05 "$work/$model" "$work/${model}2"
  run predict --model "$work/${model}2" --text 'a fine day'
  [ "$status" = 0 ] || fault "$err"
  cmp -s "$work/$model/tokenizer.json" "$work/${model}2/tokenizer.json" || fault "$model: other tokens"
done
run prune "$work/encoder" --data "$work/others.tsv" --quiet --out "$work/none"
ends 1 '' '*others.tsv has different classes from those that*'

# Translation: heads of encoder, decoder and between.
mkdir "$work/pairs"
awk -v from="$work/pairs/train.en" -v to="$work/pairs/train.de" 'BEGIN {
  split("one two three four five six", a, " "); split("eins zwei drei vier fuenf sechs", b, " "); srand(1)
  for (i = 0; i < 800; i++) {
    x = ""; y = ""
    for (k = 1 + int(4 * rand()); k > 0; k--) {
      w = 1 + int(6 * rand()); x = x (x == "" ? "" : " ") a[w]; y = y (y == "" ? "" : " ") b[w]
    }
    print x " ." >from; print y "." >to
  }
}'
data=$work/pairs
run train --task translate --data "$data" --from en --to de --vocabulary 300 --layers 1 --length 24 --batch 32 \
  --lr 1e-2 --width 32 --heads 4 --dropout 0 --label-smoothing 0 --bleu-samples 20 --epochs 10 \
  --quiet --out "$work/translate"
ends 0 '' '*'
run prune "$work/translate" --flops 0.4 --steps 1 --epochs 6 --lr 5e-3 --quiet --out "$work/translate2"
ends 0 '' '*'
run compare "$work/translate" "$work/translate2" --data "$data" --part train --repeats 20 --json
awk -v w="$(json runs.0.parameters)" -v p="$(json runs.1.parameters)" 'BEGIN { exit !(p < 0.7 * w) }' || fault "$out"
awk -v w="$(json runs.0.metrics.bleu)" -v p="$(json runs.1.metrics.bleu)" 'BEGIN { exit !(p > w - 10) }' || fault "$out"
grep -q 'attention, in percent' "$work/translate2/report.html" || fault 'the report shows no attention'
run predict --model "$work/translate2" --text 'one two .'
ends 0 '*eins zwei.*' ''

# Series by recurrent layers, and ratings by dense layers over features of users and items.
awk 'BEGIN { print "t,y"; for (i = 0; i < 600; i++) print i "," sin(i / 5) }' >"$work/series.csv"
data=$work/series.csv
for model in gru lstm tcn; do
  [ $model = lstm ] && layers=1 || layers=2
  run train --task forecast --data "$data" --model $model --width 16 --layers $layers --epochs 3 --quiet \
    --out "$work/$model"
  ends 0 '' '*'
  run prune "$work/$model" --steps 1 --epochs 2 --quiet --out "$work/${model}2"
  ends 0 '' '*'
  run eval --model "$work/${model}2" --json
  ends 0 '{"task":"forecast"*' ''
done
run train --task forecast --data "$data" --model linear --epochs 1 --quiet --out "$work/linear"
ends 0 '' '*'
run prune "$work/linear" --quiet --out "$work/none"
ends 1 '' '*no channels that can be removed*'

awk 'BEGIN { print "user,item,rating"; for (u = 0; u < 60; u++) for (k = 0; k < 14; k++) {
  i = (u * 5 + k) % 20; print "u" u ",i" i "," (u % 2 == i % 2 ? 5 : 1) } }' >"$work/ratings.csv"
data=$work/ratings.csv
run train --task recommend --data "$data" --model neumf --width 16 --batch 64 --epochs 10 --lr 0.02 --quiet \
  --out "$work/rate"
ends 0 '' '*'
run prune "$work/rate" --steps 1 --epochs 4 --quiet --out "$work/rate2"
ends 0 '' '*'
run eval --model "$work/rate2" --json
ends 0 '{"task":"recommend"*' ''
run recommend --model "$work/rate2" --user u1 --top 5
ends 0 'u1*' ''
run train --task recommend --data "$data" --model mf --width 8 --batch 64 --epochs 1 --quiet --out "$work/mf"
ends 0 '' '*'
run prune "$work/mf" --quiet --out "$work/none"
ends 1 '' '*no channels that can be removed*'

exit $failed
