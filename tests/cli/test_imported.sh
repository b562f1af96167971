#!/bin/sh
# labels: device slow
# Models of mica export as what a run begins with and as its teacher: they say and teach what the run's folder does, to
# the digit, where columns have bases, where answers are shares of several labels, and on data of other scales. Models
# of elsewhere answer in the target's own units.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Column t and the answer y are beyond what f32 tells apart; late.csv has other means and bases.
awk -v folder="$work" 'BEGIN {
  srand(1)
  for (i = 0; i < 900; i++) {
    t = 1700000000 + int(1000 * rand()); a = 2 * rand() - 1
    late = i >= 600
    if (late) t += 300
    name = folder (late ? "/late" : "/base") ".csv"
    kind = folder "/kind.csv"
    if (i == 0 || i == 600) print "t,a,y" >name
    if (i == 0) print "t,a,kind" >kind
    printf "%.0f,%.4f,%.1f\n", t, a, 5000000000 + 2 * (t - 1700000000) + 30 * a >name
    if (!late) printf "%.0f,%.4f,%s\n", t, a, t - 1700000000 + 100 * a < 500 ? "early" : "late" >kind
    if (!late) {
      plain = folder "/plain.csv"
      if (i == 0) print "t,a,y" >plain
      printf "%.0f,%.4f,%.1f\n", t - 1700000000, a, 1000 + 2 * (t - 1700000000) + 30 * a >plain
    }
  }
}'

# trained NAME OPTION...: a run and its model in ONNX.
trained() {
  name=$1
  shift
  run train "$@" --quiet --out "$work/$name"
  ends 0 '' '*'
  run export "$work/$name" --onnx "$work/$name.onnx"
  case $err in *'needs protobuf-c'*) echo 'SKIP: this build has no protobuf-c' && exit 77 ;; esac
  ends 0 '*' ''
}

# near A B MOST: both are numbers, at most so far from one another.
near() {
  awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d * d <= most * most) }'
}

# begins NAME METRIC TOLERANCE OPTION...: a run that begins with the model of NAME is as good before it learns as one
# with its weights.
begins() {
  name=$1 metric=$2 most=$3
  shift 3
  still="--epochs 1 --lr 1e-9 --quiet --json"
  # shellcheck disable=SC2086
  run train "$@" $still --init "$work/$name/model.safetensors" --out "$work/by_weights"
  ends 0 '*' '*'
  weights=$(json "$metric")
  # shellcheck disable=SC2086
  run train "$@" $still --init "$work/$name.onnx" --out "$work/by_model"
  ends 0 '*' '*'
  near "$weights" "$(json "$metric")" "$most" || fault "$metric is $(json "$metric"), by weights $weights"
  rm -rf "$work/by_weights" "$work/by_model"
}

# teaches NAME METRIC OPTION...: the model teaches what the run does.
teaches() {
  name=$1 metric=$2
  shift 2
  for teacher in "$name" "$name.onnx"; do
    run train "$@" --epochs 3 --alpha 1 --seed 1 --quiet --json --teacher "$work/$teacher" --out "$work/by_$teacher"
    ends 0 '*' '*'
  done
  cmp "$work/by_$name/model.safetensors" "$work/by_$name.onnx/model.safetensors" ||
    fault "the model $name.onnx teaches otherwise than its run: $metric $(json "$metric")"
  rm -rf "$work/by_$name" "$work/by_$name.onnx"
}

# --- numbers ---

for loss in mse huber 'quantile --quantile 0.8'; do
  # shellcheck disable=SC2086
  trained numbers --data "$work/base.csv" --epochs 15 --loss $loss
  # shellcheck disable=SC2086
  begins numbers metrics.mae 1e-3 --data "$work/base.csv" --loss $loss
  # shellcheck disable=SC2086
  teaches numbers metrics.mae --data "$work/base.csv" --loss $loss
  [ "$loss" = mse ] || { rm -rf "$work/numbers" "$work/numbers.onnx" && continue; }
  # Rows of other scales: the model is given what it was trained on, and its answers are understood.
  teaches numbers metrics.mae --data "$work/late.csv"
  run eval --model "$work/numbers" --data "$work/late.csv" --json
  was=$(json metrics.mae)
  run train --data "$work/late.csv" --validation 0.5 --epochs 1 --lr 1e-9 --quiet --json --init "$work/numbers.onnx" \
    --out "$work/late"
  run eval --model "$work/late" --data "$work/late.csv" --json
  near "$was" "$(json metrics.mae)" 1e-2 || fault "of other scales mae is $(json metrics.mae), by the run $was"
  # Columns go by their names.
  awk -F, '{ print $2 "," $1 "," $3 }' "$work/base.csv" >"$work/swapped.csv"
  teaches numbers metrics.mae --data "$work/swapped.csv"
  run train --data "$work/base.csv" --teacher "$work/numbers" --epochs 1 --alpha 1 --lr 1e-9 --quiet --json \
    --init "$work/numbers.onnx" --out "$work/straight"
  was=$(json metrics.mae)
  for teacher in numbers numbers.onnx; do
    run train --data "$work/swapped.csv" --teacher "$work/$teacher" --epochs 1 --alpha 1 --lr 1e-9 --quiet --json \
      --init "$work/numbers.onnx" --out "$work/swapped"
    near "$was" "$(json metrics.mae)" 1e-3 || fault "of other columns mae is $(json metrics.mae), it was $was"
    at=$(sed -n '2s/^[^,]*,[^,]*,[^,]*,\([^,]*\).*/\1/p' "$work/swapped/history.csv")
    near 0 "$at" 1e-6 || fault "$teacher is at $at from itself, by columns in another order"
    rm -rf "$work/swapped"
  done
  sed '1s/^a,t/b,t/' "$work/swapped.csv" >"$work/renamed.csv"
  run train --data "$work/renamed.csv" --teacher "$work/numbers.onnx" --out "$work/none"
  ends 1 '' "*was trained on the number 'a', which is not among the inputs that this run takes from *renamed.csv*"
  run train --data "$work/renamed.csv" --init "$work/numbers.onnx" --epochs 1 --out "$work/renamed"
  ends 0 '*' "*was trained on the column 'a', which *renamed.csv lacks, so columns are taken in their order*"
  # Its own folder is read likewise, and so is its model.
  run export "$work/late" --onnx "$work/late.onnx"
  ends 0 '*' ''
  for model in late late.onnx numbers numbers.onnx; do
    run predict --model "$work/$model" --data "$work/late.csv" --json
    ends 0 '*' '*'
    value=$(json predictions.3.value)
    near "$value" "$(json predictions.3.truth)" 200 || fault "$model says $value of $(json predictions.3.truth)"
  done
  # In integers there is nothing to train.
  run quantize "$work/numbers.onnx" --data "$work/base.csv" --out "$work/integers.onnx"
  ends 0 '*' '*'
  run train --data "$work/base.csv" --init "$work/integers.onnx" --out "$work/none"
  ends 1 '' '*init: the weights in *integers.onnx are quantised already*'
  run train --data "$work/base.csv" --teacher "$work/integers.onnx" --out "$work/none"
  ends 1 '' '*the teacher *integers.onnx is quantised*'
  rm -rf "$work/numbers" "$work/numbers.onnx"
done

# A model of elsewhere says numbers in the target's own units.
trained plain --data "$work/plain.csv" --epochs 15
LC_ALL=C sed 's/mica\.config/mica.konfig/' "$work/plain.onnx" >"$work/foreign.onnx"
run info "$work/foreign.onnx"
case $out in *mica.config*) fault 'the model is not foreign' ;; esac
mv "$work/foreign.onnx" "$work/plain.onnx"
begins plain metrics.mae 0.5 --data "$work/plain.csv"

# --- classes, and several labels ---

trained kinds --data "$work/kind.csv" --epochs 15
begins kinds metrics.accuracy 1e-9 --data "$work/kind.csv"
teaches kinds metrics.accuracy --data "$work/kind.csv"

mkdir "$work/arrays"
array() { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"; }
# values COUNT YES NO COLUMNS: a word for each of the first columns of three random bits a row.
values() {
  awk -v n="$1" -v yes="$2" -v no="$3" -v most="$4" 'BEGIN {
    srand(7)
    for (; n--;) for (k = 0; k < 3; k++) { bit = rand() < 0.5; if (k < most) printf "%s", bit ? yes : no }
  }'
}
for part in train test; do
  count=40
  [ $part = test ] || count=200
  # shellcheck disable=SC2059 # the words are escapes
  { array '<f4' "$count, 3" && printf "$(values $count '\\000\\000\\200\\077' '\\000\\000\\200\\277' 3)"; } \
    >"$work/arrays/x_$part.npy"
  # shellcheck disable=SC2059 # likewise
  { array '|u1' "$count, 2" && printf "$(values $count '\\001' '\\000' 2)"; } >"$work/arrays/y_$part.npy"
done
trained labels --data "$work/arrays" --epochs 8 --batch 10 --lr 0.02
begins labels metrics.accuracy 1e-9 --data "$work/arrays"
begins labels metrics.loss 1e-5 --data "$work/arrays"
teaches labels metrics.accuracy --data "$work/arrays"
# A softmax says which one class is there: no teacher of labels that are each there or not. A sigmoid is one.
awk 'BEGIN {
  print "a,b,c,kind"
  for (i = 0; i < 60; i++) print i % 3 "," i % 5 "," i % 7 "," (i % 3 > 0 ? "x" : "y")
}' >"$work/two.csv"
trained two --data "$work/two.csv" --epochs 1
for name in two labels; do
  LC_ALL=C sed 's/mica\.config/mica.konfig/' "$work/$name.onnx" >"$work/foreign-$name.onnx"
done
run train --data "$work/arrays" --epochs 1 --teacher "$work/foreign-two.onnx" --out "$work/none"
ends 1 '' '*foreign-two.onnx ends in a softmax, which suits one label per sample*'
run train --data "$work/arrays" --epochs 1 --teacher "$work/foreign-labels.onnx" --quiet --out "$work/taught"
ends 0 '' ''

# --- scales that the user says ---

# fact NAME: numbers of the run "own" as a list.
fact() { sed -n "s/^    \"$1\": \[\(.*\)\].*/\1/p" "$work/own/config.json" | tr -d ' '; }
run train --data "$work/two.csv" --epochs 2 --quiet --out "$work/own"
run train --data "$work/two.csv" --epochs 2 --quiet --mean "$(fact mean)" --deviation "$(fact deviation)" \
  --out "$work/said"
ends 0 '' ''
cmp "$work/own/model.safetensors" "$work/said/model.safetensors" || fault 'the scale of the data is not what was said'
run train --data "$work/two.csv" --epochs 1 --quiet --mean 0.5 --deviation 2,1,4 --out "$work/given"
ends 0 '' ''
for fact in '"mean": [0.5, 0.5, 0.5]' '"deviation": [2, 1, 4]'; do
  grep -qF "$fact" "$work/given/config.json" || fault "config.json has no $fact"
done
run predict --model "$work/given" --data "$work/two.csv" --count 1
ends 0 'row 2 *' ''
run train --data "$work/two.csv" --mean 1 --out "$work/none"
ends 2 '' '*give both mean and deviation, or neither*'
run train --data "$work/two.csv" --mean 1,2 --deviation 1 --out "$work/none"
ends 2 '' '*mean has 2 numbers, but *two.csv has 3 channels or columns of inputs*'
for list in x 1,,2 1, ' 1' inf nan; do
  run train --data "$work/two.csv" --mean "$list" --deviation 1 --out "$work/none"
  ends 2 '' "*mean must be a list of numbers between -1e30 and 1e30, as in 0.485,0.456,0.406, not \"$list\"*"
done
for list in 0 -1 1,0 1e-60; do
  run train --data "$work/two.csv" --mean 0 --deviation "$list" --out "$work/none"
  ends 2 '' "*deviation must be a list of numbers above 0*"
done
run train --data "$work/two.csv" --epochs 1 --init "$work/foreign-two.onnx" --out "$work/remarked"
ends 0 '*' '*are scaled by mean and deviation of the data; *--mean and --deviation*'

# --- tokens ---

# A table of four rows of two numbers; three ids of int64 each choose one, and the mean of these is the answer.
mkdir "$work/ids"
echo 'CAk6rgEKEwoBZQoDaWRzEgF2IgZHYXRoZXIKJgoBdgoBYRIBeiIKUmVkdWNlTWVhbioPCghrZWVwZGltcxgAoAECEgFnKisIBAgCEAFCAWVKIA
AAAAAAAAAAAAAAPwAAAL8AAAC/AACAPgAAgD4AAAA/KhEIARAHQgFhSggBAAAAAAAAAFoWCgNpZHMSDwoNCAcSCQoDEgFuCgIIA2IUCgF6Eg8K
DQgBEgkKAxIBbgoCCAJCBAoAEBI=' | base64 -d >"$work/ids.onnx"
for part in train test; do
  # shellcheck disable=SC2059 # the words are escapes
  { array '<i4' '200, 3' && printf "$(values 200 '\\003\\000\\000\\000' '\\001\\000\\000\\000' 3)"; } \
    >"$work/ids/x_$part.npy"
  # shellcheck disable=SC2059 # likewise
  { array '|u1' '200,' && printf "$(awk 'BEGIN { srand(7); for (i = 0; i < 200; i++) { n = 0
    for (k = 0; k < 3; k++) n += rand() < 0.5; printf "%s", (n > 1) ? "\\001" : "\\000" } }')"; } \
    >"$work/ids/y_$part.npy"
done
run train --data "$work/ids" --init "$work/ids.onnx" --out "$work/none"
ends 2 '' '*ids.onnx takes whole numbers; pass --mean 0 --deviation 1 to leave inputs unscaled*'
run train --data "$work/ids" --init "$work/ids.onnx" --mean 0 --deviation 1 --epochs 20 --lr 0.05 --batch 20 \
  --quiet --json --out "$work/tokens"
ends 0 '*' ''
[ "$(json metrics.accuracy)" = 1 ] || fault "tokens are not learnt: accuracy $(json metrics.accuracy)"
run predict --model "$work/tokens" "$work/ids/x_test.npy"
ends 0 'sample 0 *' ''
# Inputs of u8 are divided by 255, and so are no ids.
# shellcheck disable=SC2059 # the words are escapes
{ array '|u1' '200, 3' && printf "$(values 200 '\\003' '\\001' 3)"; } >"$work/ids/x_train.npy"
rm "$work/ids/x_test.npy" "$work/ids/y_test.npy"
run train --data "$work/ids" --init "$work/ids.onnx" --mean 0 --deviation 1 --out "$work/none"
ends 1 '' '*ids.onnx takes whole numbers, but inputs of u8 are divided by 255*'

exit $failed
