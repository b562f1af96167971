#!/bin/sh
# labels: device slow
# Runs of other tasks are quantised by the command, and evaluated: masks, boxes, texts, and texts that go on.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"
need_device

# near NAME FLOAT BITS LEAST: the metric of a run and of what it becomes with these bits differ by LEAST at most.
near() {
  name=$1
  was=$2
  is=$3
  most=$4
  run eval --model "$was" --json --data "$data" --part train
  [ "$status" = 0 ] || fault "$err"
  float=$(json "metrics.$name")
  run eval --model "$is" --json --data "$data" --part train
  [ "$status" = 0 ] || fault "$err"
  awk -v f="$float" -v q="$(json "metrics.$name")" -v m="$most" \
    'BEGIN { d = f - q; exit !(d <= m && -d <= m) }' || fault "$name was $float, is $(json "metrics.$name")"
}

"$MICA_BUILD_DIR/bin/tests/write_scenes" "$work/scenes" 16 48 || exit 1
data=$work/scenes
run train --data "$data" --width 4 --depth 2 --batch 4 --epochs 6 --lr 0.03 --quiet --json --out "$work/masks"
ends 0 '{"task":"segment"*' ''
run quantize "$work/masks" --data "$data" --out "$work/masks8"
ends 0 '*bytes,*' ''
near iou "$work/masks" "$work/masks8" 0.05
run predict --model "$work/masks8" --out "$work/shown" "$data/images/0.png"
ends 0 '*0.png*' '*'

make_voc "$work/voc"
data=$work/voc
run train --data "$data" --size 64 --width 8 --batch 4 --warm-up 5 --epochs 12 --validation 0 --augment none --seed 1 \
  --quiet --json --out "$work/boxes"
ends 0 '{"task":"detect"*' ''
run quantize "$work/boxes" --data "$data" --out "$work/boxes8"
ends 0 '*bytes,*' ''
near map_50 "$work/boxes" "$work/boxes8" 0.2

awk 'BEGIN { print "mood\ttext"; for (i = 0; i < 200; i++)
  print (i % 2 ? "good\ta fine and lovely day " : "bad\tan awful and rainy night ") i }' >"$work/texts.tsv"
data=$work/texts.tsv
run train --task text --data "$data" --label mood --epochs 2 --quiet --json --out "$work/texts"
ends 0 '{"task":"text"*' '*'
run quantize "$work/texts" --data "$data" --out "$work/texts8"
ends 0 '*bytes,*' ''
near accuracy "$work/texts" "$work/texts8" 0.05

awk 'BEGIN { for (i = 0; i < 300; i++) print "the cat sat on the mat and the dog ran to the cat" }' >"$work/text.txt"
data=$work/text.txt
run train --task language --data "$data" --context 32 --layers 2 --width 64 --heads 2 --batch 16 --lr 5e-3 --epochs 4 \
  --quiet --json --out "$work/language"
ends 0 '{"task":"language"*' ''
for bits in 8 4; do
  run quantize "$work/language" --weights-only --bits $bits --out "$work/language$bits"
  ends 0 '*bytes,*' ''
  near bits_per_byte "$work/language" "$work/language$bits" 0.1
  run generate --model "$work/language$bits" --prompt 'the cat ' --temperature 0 --length 20
  ends 0 'the cat sat on*' ''
done
# Texts agree by what is expected next; what all were trained on is what they are tested on unless it is said.
run compare --samples 8 --repeats 2 "$work/language" "$work/language8"
ends 0 '* 100.0 %*samples tested (validation), answers to 8 compared with those of *; 2 predictions *' ''
run train --task language --data "$data" --context 20 --layers 1 --width 16 --heads 2 --batch 16 --epochs 1 --quiet \
  --out "$work/little"
ends 0 '' ''
run compare --json --part validation --samples 8 --repeats 2 "$work/language" "$work/language4" "$work/little" \
  "$work/language"
holds runs.0.agreement 1
holds runs.3.agreement 1
awk -v four="$(json runs.1.agreement)" -v little="$(json runs.2.agreement)" \
  'BEGIN { exit !(four > 0.8 && four <= 1 && little < four && little >= 0) }' ||
  fault "$(json runs.1.agreement) of 4 bits, $(json runs.2.agreement) of a little network"
run train --task language --data "$data" --context 20 --layers 1 --width 16 --heads 2 --batch 16 --epochs 1 --quiet \
  --tokenizer bpe --vocabulary 280 --out "$work/pieces"
ends 0 '' ''
run compare --part validation --samples 8 --repeats 2 "$work/language" "$work/pieces" --json
holds runs.0.agreement 1
holds runs.1.agreement null
exit $failed
