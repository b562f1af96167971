#!/bin/sh
# labels: device slow
# mica prune: a smaller run that is evaluated, resumed, pruned again and learned from; what cannot be pruned.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

run prune
ends 2 '' '*RUN*is missing*'
run prune a
ends 2 '' '*--out is missing*'
for share in 0 1 2 x; do
  run prune a --out b --flops "$share"
  ends 2 '' "*--flops wants a number from 0.01 to 0.95, not \"$share\"*"
done
run prune a --out b --method none
ends 2 '' '*magnitude or taylor*'
need_device
run prune "$work/a" --out "$work/b"
ends 1 '' '*there is no file or folder*'

awk -v folder="$work" 'BEGIN {
  srand(1)
  print "a,b,kind" >folder "/k.csv"
  for (i = 0; i < 400; i++)
    printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1) >folder "/k.csv"
}'
sed '/a$/d' "$work/k.csv" >"$work/two.csv"
run train --data "$work/k.csv" --epochs 12 --batch 40 --quiet --out "$work/whole"
ends 0 '' ''
run prune "$work/whole" --out "$work/none" --data "$work/none.csv"
ends 1 '' '*none.csv*'
run prune "$work/whole" --out "$work/none" --data "$work/two.csv"
ends 1 '*' '*another network*'
[ ! -e "$work/none/config.json" ] || fault 'a run for nothing'
run prune "$work/whole" --out "$work/whole"
ends 1 '' '*holds a run already*'

for method in magnitude taylor; do
  run prune "$work/whole" --flops 0.5 --method $method --steps 2 --epochs 6 --json --quiet --out "$work/$method"
  ends 0 '{"task":"classify"*' ''
  run compare "$work/whole" "$work/$method" --data "$work/k.csv" --repeats 20 --json
  holds runs.0.parameters 771
  holds runs.1.parameters 387
  awk -v a="$(json runs.0.metrics.accuracy)" -v b="$(json runs.1.metrics.accuracy)" 'BEGIN { exit !(b > a - 0.05) }' ||
    fault "$method: accuracy $(json runs.0.metrics.accuracy), then $(json runs.1.metrics.accuracy)"
done
# Another order of the same samples, named: what validates may be what was trained on, which is said.
{ head -n 1 "$work/k.csv"; tail -n +2 "$work/k.csv" | sort -r; } >"$work/resorted.csv"
for data in k resorted; do
  run prune "$work/whole" --steps 1 --epochs 1 --data "$work/$data.csv" --json --out "$work/by_$data"
  said="*resorted.csv differs from the data of the run in $work/whole, or has another order*"
  [ $data = resorted ] || said='*'
  ends 0 '{*}' "$said"
  case $data$err in k*'was trained on'*) fault "says of the run's own data: $err" ;; esac
done
run predict --model "$work/taylor" --data "$work/k.csv" --count 2
ends 0 '*row 2*' ''

# Masks: zeros in the old shapes, by their share; a packed file of it is smaller, and nothing is trained.
for wrong in '--flops 0.5' '--epochs 2' '--method taylor' '--steps 2' '--data x'; do
  # shellcheck disable=SC2086
  run prune "$work/whole" --masks 0.6 --out "$work/none4" $wrong
  ends 2 '' '*--masks does not train*'
done
run prune "$work/whole" --masks 1 --out "$work/none4"
ends 2 '' '*--masks wants a number from 0.01 to 0.99*'
run prune "$work/whole" --masks 0.6 --json --out "$work/masked"
ends 0 '{"zeros":383,"weights":640}' ''
run compare "$work/whole" "$work/masked" --data "$work/k.csv" --repeats 20 --json
holds runs.1.parameters 771
awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a > 0.8) }' || fault "masked: agreement $(json runs.1.agreement)"
[ "$(gzip -c "$work/masked/model.safetensors" | wc -c)" -lt "$(gzip -c "$work/whole/model.safetensors" | wc -c)" ] ||
  fault 'a masked file packs no smaller'
run prune "$work/whole" --masks 0.6 --out "$work/masked"
ends 1 '' '*holds a run already*'

# Steps of rounded weights fit no layer that is cut.
run train --data "$work/k.csv" --model mlp --epochs 1 --quantize 8 --quiet --out "$work/rounded"
run prune "$work/rounded" --out "$work/cut"
ends 1 '' '*was trained with weights rounded to 8 bits*prune a run that was trained without --quantize*'
[ ! -e "$work/cut" ] || fault 'a folder for nothing'

# It is quantised, with the widths that are left.
for bits in 8 4; do
  run quantize "$work/taylor" --weights-only --bits $bits --out "$work/integers$bits"
  ends 0 '*bytes,*' ''
  run compare "$work/taylor" "$work/integers$bits" --data "$work/k.csv" --repeats 20 --json
  ends 0 '*' ''
  awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a > 0.9) }' ||
    fault "$bits bits: agreement $(json runs.1.agreement)"
done
run quantize "$work/taylor" --out "$work/integers"
ends 0 '*bytes,*' ''
run prune "$work/integers" --masks 0.5 --out "$work/none4"
ends 1 '' '*is quantised; mask the run that it was made from*'
[ ! -e "$work/none4" ] || fault 'a masked run for nothing'
run prune "$work/integers" --flops 0.5 --out "$work/none4" --quiet
ends 1 '' '*is quantised; prune the run that it was made from*'
run eval --model "$work/integers" --json
ends 0 '{"task":"classify"*' ''
run train --data "$work/k.csv" --epochs 1 --quiet --teacher "$work/integers" --out "$work/none4"
ends 1 '' "*the teacher in $work/integers is quantised*"

# It begins another training, is pruned again, teaches, and is gone on with.
run train --data "$work/k.csv" --epochs 1 --init "$work/taylor/model.safetensors" --out "$work/further"
ends 0 '*' '*4 of 4 weights are taken*'
run eval --model "$work/further" --json
ends 0 '{"task":"classify"*' ''
run prune "$work/taylor" --flops 0.5 --steps 1 --epochs 1 --quiet --out "$work/again"
ends 0 '' ''
run compare "$work/taylor" "$work/again" --data "$work/k.csv" --repeats 20 --json
holds runs.1.parameters 195
run train --data "$work/k.csv" --epochs 1 --quiet --teacher "$work/again" --width 4 --out "$work/student"
ends 0 '' ''
run train --data "$work/two.csv" --epochs 1 --quiet --init "$work/taylor/model.safetensors" --out "$work/none2"
ends 1 '' '*the file of pruned weights has 3 answers, but the data need 2*'

# Killed in its last training and resumed it ends with the same bits.
prune() {
  exec "$mica" prune "$work/whole" --steps 1 --epochs 40 --batch 10 --checkpoint-steps 5 --quiet --out "$@"
}
(prune "$work/calm") || fault 'a pruning failed'
prune "$work/killed" &
pid=$!
tries=0
until [ -e "$work/killed/last.safetensors" ] || [ $tries -gt 2000 ]; do sleep 0.02; tries=$((tries + 1)); done
kill -KILL $pid 2>/dev/null
wait $pid
run train --resume --quiet --out "$work/killed"
ends 0 '' '*'
cmp "$work/calm/last.safetensors" "$work/killed/last.safetensors" || fault 'a run that was killed ends otherwise'

# A model in ONNX has its own widths.
run export "$work/whole" --onnx "$work/whole.onnx"
if [ "$status" = 0 ]; then
  run train --data "$work/k.csv" --epochs 1 --quiet --init "$work/whole.onnx" --out "$work/imported"
  ends 0 '' '*'
  run prune "$work/imported" --out "$work/none3" --quiet
  ends 1 '' '*has the network of a model in ONNX*'
fi

# A channel has more FLOPs than a small share, so the first step already removes what the later ones would.
run prune "$work/whole" --flops 0.01 --epochs 1 --json --quiet --out "$work/little"
ends 0 '{"task":"classify"*' ''
run prune "$work/whole" --flops 0.3 --steps 40 --epochs 1 --quiet --out "$work/often"
ends 0 '' ''

# One unit has nothing to spare.
run train --data "$work/k.csv" --width 1 --epochs 1 --quiet --out "$work/thin"
run prune "$work/thin" --out "$work/none3" --quiet
ends 1 '' '*no channels that can be removed*'

exit $failed
