#!/bin/sh
# labels: device single
# mica export: a run as a model in ONNX, which predicts what the run does and is trained further, with bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two PNG files of 8 x 8, dark and light, ten times each.
for part in train test; do mkdir -p "$work/pictures/$part/dark" "$work/pictures/$part/light"; done
dark='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mMQERUTl5CUkmagjAEA0ngF4aNBsOoAAAAASUVORK5CYII='
light='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAIUlEQVR42i3BwQEAMATAwOw/o6Is4pM7QjyRokSLL0asDtBhN+EwtkSTAAAA
AElFTkSuQmCC'
for i in 0 1 2 3 4 5 6 7 8 9; do
  echo "$dark" | base64 -d >"$work/pictures/train/dark/$i.png"
  echo "$light" | base64 -d >"$work/pictures/train/light/$i.png"
done
for kind in dark light; do cp "$work/pictures/train/$kind/"[0-4].png "$work/pictures/test/$kind"; done
folder=$work/run
model=$work/model.onnx
a=$work/pictures/test/dark/0.png

run train --data "$work/pictures" --model mlp --epochs 2 --batch 4 --seed 3 --out "$folder"
ends 0 '*epoch 2/2*' ''
run export "$folder"
ends 2 '' '*--onnx FILE is missing*'
run export "$folder" --onnx "$model.try"
[ "$err" != "${err#*needs protobuf-c}" ] && { echo 'this build has no protobuf-c'; exit 77; }
rm -f "$model.try"
run export "$work/none" --onnx "$model"
ends 1 '' '*there is no file or folder *none*'
run export "$folder" --onnx "$model" --opset 12
ends 2 '' '*opset*17*23*'
run export "$folder" --onnx "$work/pictures"
ends 1 '' '*pictures is not a regular file*'
touch "$work/file"
run export "$folder" --onnx "$work/file/model.onnx"
ends 1 '' '*cannot*file*'
run export "$folder" --onnx "$model"
ends 0 '*model.onnx: operator set 17, 5 nodes, 8580 numbers*' ''
run export "$folder" --onnx "$model"
ends 1 '' '*is there already; --force writes over it*'
run export "$folder" --onnx "$model" --force --opset 21 --json
holds opset 21
holds weights 8580
case $(ls "$work") in *.tmp*) fault 'something is left aside' ;; esac

# The model says what the run says.
run predict --model "$folder" --json "$a"
was=$(json predictions.0.classes.0.probability)
run predict --model "$model" --json "$a"
holds predictions.0.classes.0.name dark
holds predictions.0.classes.0.probability "$was"
run eval --model "$model"
ends 1 '' '*model.onnx is a model in ONNX, which can only predict*'

# Trained further: from a value on, with frozen features; resumed to the bit; exported again.
tune() {
  run train --data "$work/pictures" --init "$model" --batch 4 --epochs 3 --checkpoint-steps 1 --validation 0.15 "$@"
}
tune --stop-at fc --out "$work/tuned"
ends 1 '' '*has no value "fc"; near it are fc1, fc2*'
tune --stop-at fc1 --model cnn --out "$work/tuned"
ends 2 '' '*has its own network, so model cannot be cnn*'
run train --data "$work/pictures" --stop-at fc1 --out "$work/tuned"
ends 2 '' '*stop-at needs a model in ONNX*'
tune --stop-at fc1 --freeze 'fc1.*' --out "$work/tuned"
ends 0 '*epoch 3/3*' '*2 of 4 weights are frozen*'
# The summary has the model as a layer, whose operations count.
case $out in
*"${newline}network "*' onnx '*"${newline}head "*' dense '*' MFLOP a sample'*) ;;
*) fault "no network: $out" ;;
esac
all=$(sed -n 's/.* \([0-9.]*\) MFLOP a sample forward/\1/p' "$work/out")
own=$(sed -n 's/^network .* \([0-9.]*\)$/\1/p' "$work/out")
awk -v all="$all" -v own="$own" 'BEGIN { exit !(own > 0.9 * all) }' || fault "$own of $all MFLOP are the model's"
"$mica" train --data "$work/pictures" --init "$model" --batch 4 --epochs 3 --checkpoint-steps 1 --stop-at fc1 \
  --validation 0.15 --freeze 'fc1.*' --out "$work/killed" >/dev/null 2>&1 &
while kill -0 $! 2>/dev/null && [ ! -e "$work/killed/last.safetensors" ]; do sleep 0.02; done
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
rm -f "$model"
run train --resume --out "$work/killed"
ends 0 '*' '*'
cmp "$work/tuned/model.safetensors" "$work/killed/model.safetensors" || fault 'resumed, it ends with other weights'
run predict --model "$work/tuned" --json "$a"
was=$(json predictions.0.classes.0.probability)
run quantize "$work/tuned" --out "$work/tuned8"
ends 0 '*' '*'
run export "$work/tuned8" --onnx "$work/tuned8.onnx"
ends 0 '*written*' ''
run info "$work/tuned8.onnx"
ends 0 '*QuantizeLinear*DequantizeLinear*' ''
# It trains on 8 dark and 9 light pictures, the first run on 9 of each (--validation), so that a factor and a sum stand
# before the model.
run export "$work/tuned" --onnx "$model"
ends 0 '*operator set 17, 6 nodes, 8582 numbers*' ''
run predict --model "$model" --json "$a"
holds predictions.0.classes.0.probability "$was"
# Rows of a table: by the names of its columns in any order, with the answers or without.
awk 'BEGIN {
  srand(3)
  print "a,b,kind"
  for (i = 0; i < 90; i++) printf "%.3f,%.3f,%s\n", i % 3 + rand(), rand(), substr("xyz", i % 3 + 1, 1)
}' >"$work/k.csv"
run train --data "$work/k.csv" --model mlp --epochs 2 --quiet --out "$work/k"
run export "$work/k" --onnx "$work/k.onnx"
ends 0 '*' ''
run info "$work/k.onnx" --json
holds metadata.columns '*"a", "b"*'
holds metadata.deviation '*, *'
run info "$work/k.onnx"
ends 0 '*metadata  columns: *"a", "b"*' ''
run info "$work/k"
ends 0 '*columns   number a, number b, label kind*' ''
awk -F, 'NR < 4 { print $2 "," $1 }' "$work/k.csv" >"$work/rows.csv"
tail -n +2 "$work/k.csv" | cut -d, -f1,2 >"$work/bare.csv"
for rows in k rows bare; do
  run predict --model "$work/k" "$work/$rows.csv" --json
  was=$(json predictions.1.classes.0.probability)
  run predict --model "$work/k.onnx" "$work/$rows.csv" --json
  ends 0 '*' ''
  holds predictions.1.classes.0.probability "$was"
done
exit $failed
