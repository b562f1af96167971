#!/bin/sh
# labels: device single
# What a run is kept from: other data than it began with, a second process, a checkpoint that lacks; and what ends it.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk 'BEGIN {
  srand(1)
  print "a,b,kind"
  for (i = 0; i < 120; i++) printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1)
}' >"$work/k.csv"
# Takes the place of the subshell that calls it: a signal to that process meets mica itself.
train() { exec "$mica" train --data "$work/k.csv" --model mlp --batch 40 "$@"; }
# await FILE: until it is there, half a minute at most.
await() {
  for _ in $(seq 300); do
    [ -e "$1" ] && return
    sleep 0.1
  done
  fault "$1 does not come"
}

# A second process; then a signal that a terminal sends when it closes.
train --epochs 1000000 --out "$work/long" >"$work/long.out" 2>&1 &
first=$!
await "$work/long/last.safetensors"
run train --resume --out "$work/long"
ends 1 '' "mica train: another run is training in $work/long"
kill -HUP $first
wait $first
[ $? -ge 128 ] || fault 'SIGHUP is no signal to it'
grep -q 'the checkpoint is written' "$work/long.out" || fault 'SIGHUP leaves no checkpoint'
# A run that was stopped has the weights so far.
run predict --model "$work/long" "$work/k.csv"
ends 0 '?*' "*the run in $work/long has not ended: it uses the weights*mica train --resume --out $work/long goes on"

# A reader that goes away.
(
  (train --epochs 1000000 --out "$work/pipe" 2>"$work/pipe.err")
  echo $? >"$work/pipe.status"
) | sed '/epoch 2/q' >/dev/null
await "$work/pipe.status"
[ -e "$work/pipe/last.safetensors" ] || fault 'a closed pipe leaves no checkpoint'

# Data that changed: refused, until they are named.
run train --data "$work/k.csv" --model mlp --batch 40 --epochs 2 --out "$work/run" --quiet
ends 0 '' ''
cp "$work/k.csv" "$work/before.csv"
{
  head -n 1 "$work/before.csv"
  tail -n +2 "$work/before.csv" | sort -r
} >"$work/k.csv"
run train --resume --epochs 3 --out "$work/run"
ends 1 '' "mica train: $work/k.csv has changed since the run in $work/run began, so its validation part*"
run train --resume --epochs 3 --out "$work/run" --data "$work/k.csv"
ends 0 '*' "*k.csv differs from the data of the run in $work/run, or has another order*"
run train --resume --epochs 4 --out "$work/run" --quiet
ends 0 '' ''

# It goes on with its own weights.
run train --resume --epochs 5 --init "$work/run/model.safetensors" --out "$work/run"
ends 2 '' "mica train: init is \"\" in the resumed run and cannot become *"

# Settings as older versions took them, which this one refuses where they are typed: the run goes on with them.
run train --data "$work/k.csv" --epochs 1 --validation 0.25 --class-weights 1,2,1 --quiet --out "$work/older"
ends 0 '' ''
sed -i 's/"validation": "0.25"/"validation": " 0x1p-2"/; s/"class-weights": "1,2,1"/"class-weights": "1, 2, 1"/' \
  "$work/older/config.json"
grep -q '"validation": " 0x1p-2"' "$work/older/config.json" || fault 'there is no such setting'
grep -q '"class-weights": "1, 2, 1"' "$work/older/config.json" || fault 'there are no such weights'
run eval --model "$work/older" --part validation --json
holds metrics.samples 30
run prune "$work/older" --steps 1 --epochs 1 --validation 0.250 --quiet --out "$work/less"
ends 0 '' ''
run train --resume --epochs 2 --quiet --out "$work/older"
ends 0 '' ''
grep -q '"validation": "0.25"' "$work/older/config.json" || fault 'another part validates'
# A label without columns did nothing, and does so.
for i in $(seq 60); do echo "the cat sat on mat $i and the dog ran to it"; done >"$work/lines.txt"
run train --task language --data "$work/lines.txt" --context 8 --width 8 --heads 2 --layers 1 --epochs 1 --quiet \
  --out "$work/lines"
ends 0 '' ''
sed -i 's/"label": ""/"label": "a"/' "$work/lines/config.json"
run train --resume --epochs 2 --quiet --out "$work/lines"
ends 0 '' ''

# Killed between best.safetensors and last.safetensors at the end of its first epoch, a run continues from the former.
run train --data "$work/k.csv" --epochs 1 --seed 2 --quiet --out "$work/first"
ends 0 '' ''
cp -r "$work/first" "$work/between"
rm "$work/between/last.safetensors"
for name in first between; do
  run train --resume --epochs 3 --quiet --out "$work/$name"
  ends 0 '' ''
done
cmp -s "$work/first/last.safetensors" "$work/between/last.safetensors" || fault 'other weights after the first epoch'

# A checkpoint that lacks: nothing is begun again.
cp "$work/run/model.safetensors" "$work/model"
rm "$work/run/last.safetensors"
run train --resume --epochs 6 --out "$work/run"
ends 1 '' "mica train: there is no $work/run/last.safetensors to continue from*"
cmp -s "$work/run/model.safetensors" "$work/model" || fault 'the network is written over'

# All of a table is no test part.
run eval --model "$work/run" --data "$work/k.csv" --part test
ends 1 '' "mica eval: $work/k.csv has no test part*"
run eval --model "$work/run" --data "$work/k.csv"
ends 0 '*' ''
exit $failed
