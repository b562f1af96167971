#!/bin/sh
# labels: device slow
# Runs are quantised by the command, after training and during it; what is wrong is said.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
run quantize
ends 2 '' '*RUN*'
run quantize "$work/run"
ends 2 '' 'mica quantize: --out is missing*'
for wrong in '--bits 5' '--bits x' '--method most' '--group 48 --weights-only' '--group 32' '--samples 0' \
  '--samples 1.5' '--percentile 3 --method percentile' '--percentile 0.9' '--method minmax --weights-only'; do
  # shellcheck disable=SC2086
  run quantize "$work/run" --out "$work/none" $wrong
  name=${wrong%% *}
  ends 2 '' "mica quantize: $name *"
  [ ! -e "$work/none" ] || fault "$wrong: a folder is left"
done
run quantize "$work/run" --out "$work/none"
ends 1 '' "*$work/run*"
run quantize "$work/none.onnx" --out "$work/x.onnx"
ends 2 '' 'mica quantize: --data is missing*'
run quantize "$work/none.onnx" --out "$work/x.onnx" --group 32 --weights-only
ends 2 '' 'mica quantize: *--group*'
for wrong in '--bits 4' '--equalize' '--mean 1' '--mean 1,x --deviation 1,2' \
  '--mean 1,2 --deviation 1'; do
  # shellcheck disable=SC2086
  run quantize "$work/none.onnx" --data "$work" --out "$work/x.onnx" $wrong
  ends 2 '' "mica quantize: *${wrong%% *}*"
done
run quantize "$work/none.onnx" --data "$work" --out "$work/none"
ends 2 '' 'mica quantize: a quantised ONNX model is a file: --out must end in .onnx*'
run quantize "$work/none" --mean 1 --deviation 1 --out "$work/none"
ends 2 '' '*a run knows its own'
need_device

awk 'BEGIN { print "a,b,c,class"; for (i = 0; i < 400; i++) { x = i * 37 % 101 / 50 - 1; y = i * 53 % 103 / 51 - 1;
  printf "%.4f,%.4f,%.4f,%s\n", x, y, x * y, x * x + y * y < 0.8 ? "in" : "out" } }' >"$work/rings.csv"
run train --data "$work/rings.csv" --epochs 20 --seed 1 --quiet --json --out "$work/run"
ends 0 '{"task":"classify"*' ''
float=$(json metrics.accuracy)

# above NAME LEAST: a number of the last JSON is at least so large.
above() { awk -v is="$(json "$1")" -v least="$2" 'BEGIN { exit !(is >= least) }' || fault "$1 is $(json "$1")"; }

for method in mse entropy; do
  run quantize "$work/run" --data "$work/rings.csv" --method $method --equalize --out "$work/$method" --json
  ends 0 '{"sections": *"layers"*"weight bits": 8, *"input from": -[0-9]*' ''
  run eval --model "$work/$method" --data "$work/rings.csv" --json
  ends 0 '{"task":"classify"*' ''
  above metrics.accuracy "$(awk -v f="$float" 'BEGIN { print f - 0.05 }')"
done
printf '0.1,0.1,0.01\n0.95,-0.95,-0.9\n' >"$work/rows.csv"
run predict --model "$work/mse" --json "$work/rows.csv"
ends 0 '{"task": "classify"*' ''
holds predictions.0.classes.0.name in
holds predictions.1.classes.0.name out
# Rows of three numbers have no 4 bits: nothing is left that has.
run quantize "$work/run" --out "$work/four" --weights-only --bits 4 --keep 'fc2'
ends 1 '' "mica quantize: no layer of $work/run can have weights of 4 bits*"
[ ! -e "$work/four" ] || fault 'a folder for nothing'
run quantize "$work/run" --out "$work/four" --weights-only --bits 4 --keep 'fc1'
ends 0 '*float: as asked*fc2 *4 *bytes, *times smaller than*' ''

# A model in ONNX, whose numbers are scaled as its metadata say; without protobuf-c there is none.
if "$mica" export "$work/run" --onnx "$work/float.onnx" >/dev/null 2>&1; then
  run quantize "$work/float.onnx" --data "$work/rings.csv" --out "$work/small.onnx"
  ends 0 '*fc1*8*small.onnx: * bytes, *times smaller than*' ''
  for model in float small; do
    "$mica" predict --model "$work/$model.onnx" --data "$work/rings.csv" --count 200 >"$work/$model.txt" ||
      fault "$model.onnx does not predict"
  done
  paste "$work/float.txt" "$work/small.txt" >"$work/both.txt"
  awk '{ n++; for (i = 4; i <= NF; i++) if ($i == "row") same += $3 == $(i + 2) }
    END { exit !(n == 200 && same >= 196) }' "$work/both.txt" || fault 'integers answer otherwise'
  run quantize "$work/float.onnx" --data "$work/rings.csv" --out "$work/small.onnx"
  ends 1 '' '*small.onnx is there already; choose another file with --out'
  run quantize "$work/small.onnx" --data "$work/rings.csv" --out "$work/none.onnx"
  ends 1 '' '*is quantised already*'
  run quantize "$work/rows.csv" --data "$work/rings.csv" --out "$work/none.onnx"
  ends 1 '' '*rows.csv*'
  printf 'a,b,class\n1,2,in\n2,1,out\n' >"$work/narrow.csv"
  run quantize "$work/float.onnx" --data "$work/narrow.csv" --out "$work/none.onnx"
  ends 1 '' "*the samples of $work/narrow.csv are*"
  [ ! -e "$work/none.onnx" ] || fault 'a file is left'
fi

# With rounded weights while training, from scratch and from a run; integers that answer alike.
run train --data "$work/rings.csv" --epochs 10 --seed 1 --quantize 4 --init "$work/run/model.safetensors" --quiet \
  --json --out "$work/learned"
ends 0 '{"task":"classify"*' '*'
above metrics.accuracy "$(awk -v f="$float" 'BEGIN { print f - 0.05 }')"
run quantize "$work/learned" --out "$work/learned4"
ends 0 '*fc1*4*' ''
run eval --model "$work/learned" --data "$work/rings.csv" --json
before=$(json metrics.accuracy)
run eval --model "$work/learned4" --data "$work/rings.csv" --json
above metrics.accuracy "$(awk -v f="$before" 'BEGIN { print f - 0.01 }')"

run quantize "$work/learned" --bits 8 --out "$work/none"
ends 1 '' '*was trained with weights of 4 bits*'
run quantize "$work/mse" --data "$work/rings.csv" --out "$work/none"
ends 1 '' "*$work/mse is quantised already"
run quantize "$work/run" --data "$work/rings.csv" --out "$work/mse"
ends 1 '' "*$work/mse holds a run already"
run quantize "$work/run" --data "$work/rings.csv" --keep 'head*' --out "$work/none"
ends 1 '' '*no layer matches the pattern "head*"*'
run train --data "$work/rings.csv" --init "$work/mse/model.safetensors" --out "$work/none"
ends 1 '' '*are quantised already; name the run that they were quantised from'
run train --resume --out "$work/mse" --epochs 30
ends 1 '' '*is quantised and cannot be trained*'
run train --data "$work/rings.csv" --quantize 3 --out "$work/none"
ends 2 '' '*quantize cannot be "3"; choose from 8, 4'
# Data of another shape, of no rows, and all of zeros.
printf 'a,b,class\n1,2,in\n2,1,out\n' >"$work/narrow.csv"
run quantize "$work/run" --data "$work/narrow.csv" --out "$work/none"
ends 1 '' '*narrow.csv*'
printf 'a,b,c,class\n' >"$work/empty.csv"
run quantize "$work/run" --data "$work/empty.csv" --out "$work/none"
ends 1 '' '*empty.csv*'
run quantize "$work/run" --data "$work/absent.csv" --out "$work/none"
ends 1 '' '*absent.csv*'
[ ! -e "$work/none" ] || fault 'a folder is left'
exit $failed
