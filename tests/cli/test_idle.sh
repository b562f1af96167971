#!/bin/sh
# labels: device single
# Options that would do nothing: refused, or told, of every command that takes a run.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk -v folder="$work" 'BEGIN {
  srand(1)
  print "a,b,kind" >folder "/k.csv"
  for (i = 0; i < 120; i++)
    printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1) >folder "/k.csv"
  print "user,item,rating" >folder "/rate.csv"
  for (u = 0; u < 30; u++) for (k = 0; k < 6; k++) print "u" u ",i" (u * 5 + k) % 20 "," 1 + k % 5 >folder "/rate.csv"
  for (i = 0; i < 60; i++) print "the cat sat on mat " i " and the dog ran to it" >folder "/lines.txt"
  print "t,y" >folder "/series.csv"
  for (i = 0; i < 120; i++) print i "," sin(i / 5) >folder "/series.csv"
}'
made() {
  folder=$1
  shift
  run train --epochs 1 --quiet --out "$work/$folder" "$@"
  ends 0 '' ''
}
made k --data "$work/k.csv"
made rate --task recommend --data "$work/rate.csv" --width 4
made lines --task language --data "$work/lines.txt" --context 8 --width 8 --heads 2 --layers 1
made rounded --data "$work/k.csv" --quantize 8

# refused STATUS SENTENCE WORD...
refused() {
  wanted=$1 said=$2
  shift 2
  run "$@"
  ends "$wanted" '' "mica $1: $said*"
}
refused 2 '--pictures shows pictures; the task classify of --model has none' \
  predict --model "$work/k" --pictures "$work/k.csv"
refused 2 '--pictures shows pictures in the terminal, and --json' \
  predict --model "$work/k" --pictures --json "$work/k.csv"
refused 2 '--top needs classes; the task recommend' \
  predict --model "$work/rate" --top 2 --data "$work/rate.csv"
run predict --model "$work/k" --top 1 "$work/k.csv"
ends 0 '*row 2 *' ''

for option in '--samples 3' '--no-correction' "--data $work/k.csv" '--mean 1'; do
  # shellcheck disable=SC2086
  refused 2 "${option%% *} has no effect with --weights-only, which quantises no inputs of layers" \
    quantize "$work/k" --weights-only --out "$work/none" $option
done
for option in '--samples 3' '--method minmax' '--no-correction'; do
  # shellcheck disable=SC2086
  refused 2 "${option%% *} has no effect: $work/rounded was trained with rounded weights" \
    quantize "$work/rounded" --out "$work/none" $option
done
refused 1 "no layer of $work/rate can have weights of 4 bits" quantize "$work/rate" --bits 4 --out "$work/none"
[ ! -e "$work/none" ] || fault 'a folder for nothing'
run quantize "$work/rate" --out "$work/rate8"
ends 0 '*bytes,*' ''
run quantize "$work/rate" --equalize --out "$work/rate8b"
ends 0 '*bytes,*' 'mica quantize: equalize does nothing: no two layers are a pair'

refused 2 '--exclude-seen is for --user' recommend --model "$work/rate" --like i1 --exclude-seen
refused 2 '--exclude-seen is for --user' recommend --model "$work/rate" --rate i1=3 --exclude-seen
refused 2 '--context has no effect with --like' recommend --model "$work/rate" --like i1 --context a=1
for option in '--seed 1' '--top-k 3' '--top-p 0.5'; do
  # shellcheck disable=SC2086
  refused 2 "${option%% *} needs random tokens; --temperature 0" \
    generate --model "$work/lines" --prompt the --temperature 0 $option
done
refused 2 '--rate is for raw samples from standard input' transcribe --model "$work/k" --rate 8000 a.wav
refused 2 '--channels is for raw samples from standard input' transcribe --model "$work/k" --channels 2 a.wav
refused 2 'init cannot be chosen' prune "$work/k" --init "$work/k/model.safetensors" --out "$work/none"

# Another part than the run's is held out: it was trained on that.
run prune "$work/k" --steps 1 --epochs 1 --seed 4 --out "$work/seed"
ends 0 '*' "mica prune: seed is 4 here and 0 in the run in $work/k: validation samples may be *"

# Commands that take no run.
refused 2 "--device is for mica cache build and doctor; clear concerns the kernels of all devices" \
  cache clear --device 0:0 --directory "$work/cache"
for option in '--model mlp' '--shape 3' '--opset 18' '--device 0:0'; do
  # shellcheck disable=SC2086
  refused 2 "${option%% *} is for writing ONNX" convert a.onnx "$work/none.safetensors" $option
done

# Settings of a training.
run train --epochs 1 --task language --data "$work/lines.txt" --label a --out "$work/none"
ends 2 '' '*label is for columns of tables; for the task language, * is not read as a table*'
told() {
  said=$1
  shift
  rm -rf "$work/some"
  run train --epochs 1 --out "$work/some" "$@"
  ends 0 '*' "*$said*"
}
told 'width does nothing: model is linear' --task forecast --data "$work/series.csv" --model linear --width 9
told 'vocabulary does nothing: tokenizer is byte' --task language --data "$work/lines.txt" --context 8 --width 8 \
  --heads 2 --layers 1 --vocabulary 300
told 'negatives does nothing: objective is rating' --task recommend --data "$work/rate.csv" --width 4 --negatives 3
told 'l2 does nothing: model is neumf' --task recommend --data "$work/rate.csv" --width 4 --model neumf --l2 1
told 'heads does nothing: model is tcn' --task fuse --data "$work/k.csv" --width 8 --model tcn --heads 2
# The join has heads, too.
told '' --task fuse --data "$work/k.csv" --width 8 --model tcn --heads 2 --join attention
case $out$err in
*'heads does nothing'*) fault "heads of the join: $err" ;;
esac

exit $failed
