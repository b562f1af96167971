#!/bin/sh
# sh tests/records/run.sh BUILD DATA OUT [NAME...]: a record of what the tasks of a build compute on the data sets of
# make.sh: OUT/<name> gets config.json, history.csv without times, what eval, predict, quantize and others write as
# JSON, and model.onnx. OUT/help gets the help of all commands. NAMEs: these alone; all, unless given.
#
# Two runs of one build on one machine give the same bytes. Kernels of other processors and drivers round otherwise.
set -eu
build=$(cd "$1" && pwd)
data=$(cd "$2" && pwd)
mkdir -p "$3"
out=$(cd "$3" && pwd)
shift 3
mica=$build/bin/mica
unset MICA_DEVICE MICA_VERBOSE NO_COLOR

# Kernels that a tuner has chosen would round otherwise, so the record has a cache of its own, without a tuner's file.
export MICA_CACHE_DIR="${MICA_CACHE_DIR:-${TMPDIR:-/tmp}/mica-records-cache}-records"
mkdir -p "$MICA_CACHE_DIR"
work=$(mktemp -d "${TMPDIR:-/tmp}/mica-records.XXXXXX")
trap 'rm -rf "$work"' EXIT

# keep FILE COMMAND...: what a command of mica says on both streams, and its exit status if it failed. What depends on
# the machine or the moment is taken out: folders, devices, memory, times.
keep() {
  file=$1
  shift
  { "$mica" "$@" 2>&1 || echo "exit status $?"; } | sed -E "s|$work/||g; s|$data/||g; /^(device|energy|memory) /d
    s/  [0-9]+:[0-9][0-9](:[0-9]+)?(  |$)/  /; s/,\"seconds_per_second\":[0-9.e+-]+//" >"$out/$name/$file"
}

# begin DATA SETTING...: trains the run and keeps its files.
begin() {
  from=$1
  shift
  keep train.json train --data "$data/$from" --out run --seed 7 --epochs 2 --threads 1 --quiet --json "$@"
  [ -e run/config.json ] || return 0
  sed "s|\"$data/|\"|" run/config.json >"$out/$name/config.json"
  awk -F, -v OFS=, 'NR == 1 {
      for (i = 1; i <= NF; i++) if ($i !~ /^(seconds|samples_per_second|data_wait_share)$/) use[++n] = i
    }
    { for (i = 1; i <= n; i++) printf "%s%s", $use[i], i < n ? "," : "\n" }' run/history.csv >"$out/$name/history.csv"
  keep eval.json eval --model run --json
}

# leave: what other commands make of the run.
leave() {
  keep export.json export run --onnx model.onnx --json
  [ ! -e model.onnx ] || cp model.onnx "$out/$name"
  [ ! -e model.onnx ] || keep model.json info model.onnx --json
  keep quantize.json quantize run --out run8 --json
  [ ! -e run8 ] || keep quantized.json eval --model run8 --json
}

predicts() {
  file=$1
  shift
  keep "predict-$file.json" predict --model run --json "$@"
}

classify() {
  begin classify --task classify --model mlp --width 16 --batch 16 --class-weights balanced
  predicts data --data "$data/classify" --count 4
  head -n 9 "$data/classify/test.csv" >rows.csv # four rows, of two lines each
  predicts table rows.csv
  keep prune.json prune run --data "$data/classify" --out small --flops 0.6 --epochs 1 --json
  leave
  # A run of one epoch goes on for a second one.
  "$mica" train --data "$data/classify" --task classify --model mlp --width 16 --batch 16 --class-weights balanced \
    --schedule constant --seed 7 --epochs 1 --threads 1 --quiet --out stopped
  sed 's/"epochs": "1"/"epochs": "2"/' stopped/config.json >changed && mv changed stopped/config.json
  keep resume.json train --resume --out stopped --quiet --json
}
labels() {
  begin labels --task classify --model mlp --width 8 --batch 16 --lr 0.02
  predicts data --data "$data/labels" --count 4
  predicts array "$data/labels/x_test.npy"
  leave
}
pictures() {
  begin pictures --task classify --model cnn --width 4 --batch 4
  predicts files "$data/pictures/Mäuse"
  leave
}
regress() {
  begin regress.csv --task regress --label preis --model mlp --batch 16
  predicts data --data "$data/regress.csv" --count 4
  head -n 6 "$data/regress.csv" >rows.csv
  predicts table rows.csv
  leave
}
segment() {
  begin segment --task segment --width 4 --depth 2 --batch 4 --window 32 --tile 32 --lr 0.01
  predicts files "$data/segment/images/0.png" "$data/segment/images/1.png" --out shown
  leave
}
detect() {
  begin detect --task detect --size 64 --width 8 --batch 4 --warm-up 5
  predicts files "$data/detect/JPEGImages" --out shown
  leave
}
text() {
  begin text.tsv --task text --width 16 --length 40 --vocabulary 320 --batch 16 --lr 0.01
  predicts data --data "$data/text.tsv" --count 4
  predicts text --text 'free prize, call now'
  leave
}
forecast() {
  begin forecast.csv --task forecast --horizon 3 --width 8 --batch 16
  predicts table "$data/forecast.csv"
  predicts data --data "$data/forecast.csv" --count 3
  leave
}
language() {
  begin language.txt --task language --context 16 --width 16 --heads 2 --layers 1 --batch 16 --lr 0.01
  keep generate.json generate --model run --prompt 'die Größe' --length 12 --temperature 0 --json
  leave
}
translate() {
  begin translate --task translate --from en --to de --width 16 --heads 2 --layers 1 --length 16 --vocabulary 280 \
    --batch 16 --bleu-samples 4 --beam 2 --lr 0.01
  predicts text --text 'one two .'
  predicts data --data "$data/translate" --count 2 --beam 2
  leave
}
keyword() {
  begin keyword --task keyword --seconds 0.3 --width 8 --mels 16 --batch 8 --warm-up 5
  predicts files "$data/keyword/hoch/1.wav" "$data/keyword/tief/1.wav"
  leave
}
speech() {
  begin speech --task speech --filters 4 --width 16 --mels 16 --batch 4 --warm-up 5
  predicts files "$data/speech/hoch1.wav" "$data/speech/tief1.wav"
  keep transcribe.json transcribe --model run --quiet --json "$data/speech/hoch1.wav"
  leave
}
recommend() {
  begin recommend --task recommend --width 8 --batch 32 --lr 0.02
  printf 'user,item\nu1,i3\nu2,i4\nnobody,i1\n' >pairs.csv
  predicts table pairs.csv
  keep recommend.json recommend --model run --user u1 --top 3 --json
  leave
}
ranking() {
  begin recommend --task recommend --objective ranking --model sasrec --width 8 --context 8 --batch 16
  keep recommend.json recommend --model run --user u1 --top 3 --json
  leave
}
clicks() {
  begin recommend --task recommend --objective click --clicks-from 4 --model dlrm --width 8 --batch 32
  printf 'user,item\nu1,i3\nu2,i4\n' >pairs.csv
  predicts table pairs.csv
  leave
}

[ $# -gt 0 ] || set -- classify labels pictures regress segment detect text forecast language translate keyword \
  speech recommend ranking clicks
for name; do
  rm -rf "${out:?}/$name"
  mkdir -p "$out/$name" "$work/$name"
  cd "$work/$name"
  "$name"
done
name=help
mkdir -p "$out/help"
commands=$("$mica" help | awk '/^commands/ { on = 1; next } /^environment/ { on = 0 } on && /^  [a-z]/ { print $1 }')
for command in $commands; do
  [ "$command" = mica ] || keep "$command.txt" help "$command"
done
