#!/bin/sh
# labels: device single
# What a training leaves alone: files that are there already, runs that are damaged, words that fit nothing.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk 'BEGIN {
  srand(1)
  print "a,b,kind"
  for (i = 0; i < 120; i++) printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1)
}' >"$work/k.csv"
data=$work/k.csv
train() { run train --data "$data" --model mlp --epochs 2 --batch 40 "$@"; }

# Files that a run would write over.
mkdir "$work/mine"
for file in model.safetensors last.safetensors best.safetensors history.csv report.html config.json; do
  echo mine >"$work/mine/$file"
  run train --data "$work/none.csv" --out "$work/mine"
  case $file in config.json) ends 1 '' '*holds a run already*' ;; *) ends 1 '' "*holds $file*overwrite*" ;; esac
  [ "$(cat "$work/mine/$file")" = mine ] || fault "$file is gone"
  rm "$work/mine/$file"
done
train --out "$work/mine" --quiet
ends 0 '' ''

# A run that patience ends keeps its best epoch, which is the first one at such a rate.
run train --data "$data" --model mlp --epochs 9 --batch 40 --lr 1e-12 --patience 2 --out "$work/patient"
ends 0 '*epoch 3/9*stopped: no better epoch*' ''
case $out in *'epoch 4/9'*) fault 'patience without an end' ;; esac
run eval --model "$work/patient"
ends 0 '*validation*' ''

# A column that was one of numbers stays one where they are written with zeros before them.
awk 'BEGIN {
  print "zip,b,kind"
  for (i = 0; i < 120; i++) printf "%d,%.2f,%s\n", 100 + i * 7, i % 5 / 5, substr("ab", i % 2 + 1, 1)
}' >"$work/plain.csv"
awk -F, -v OFS=, 'NR > 1 { $1 = sprintf("%05d", $1) } 1' "$work/plain.csv" >"$work/padded.csv"
run train --data "$work/plain.csv" --model mlp --epochs 1 --out "$work/zip" --quiet
ends 0 '' ''
run train --resume --data "$work/padded.csv" --epochs 2 --out "$work/zip" --quiet
ends 0 '' ''

# Damage: NaN in the weights, facts that are missing or of no use.
damage() { # NAME SED-EXPRESSION PATTERN
  rm -rf "$work/hurt"
  cp -r "$work/mine" "$work/hurt"
  [ -z "$2" ] || sed -i "$2" "$work/hurt/config.json"
  [ -n "$2" ] || "$1"
  run predict --model "$work/hurt" "$data"
  ends 1 '' "*the run in $work/hurt is damaged: $3"
  run eval --model "$work/hurt"
  ends 1 '' "*the run in $work/hurt is damaged: $3"
}
poison() {
  model=$work/hurt/model.safetensors
  LC_ALL=C sed -i 's/"mica.hash"/"some.hash"/' "$model" # a file of another program has none
  head=$(od -An -tu4 -N4 "$model")
  printf '\377\377\377\377\377\377\377\377' | dd of="$model" bs=1 seek=$((8 + head)) conv=notrunc 2>/dev/null
}
flip() { printf '\101' | dd of="$work/hurt/model.safetensors" bs=1 seek=2500 conv=notrunc 2>/dev/null; }
cut_short() { head -c 700 "$work/mine/model.safetensors" >"$work/hurt/model.safetensors"; }
damage poison '' 'model.safetensors: *not finite*'
damage flip '' '*model.safetensors is damaged: its content does not have the hash that it was written with*'
damage cut_short '' '*model.safetensors*'
damage facts '/"mean":/d' 'config.json: "mean" is missing*'
damage facts '/"mean":/d; /"deviation":/d' 'config.json: "mean" is missing*'
damage facts 's/"deviation": \[[^,]*/"deviation": [0/' 'config.json: "deviation" holds 0*'
damage facts 's/"deviation": \[[^,]*, /"deviation": [/' 'config.json: "deviation" holds 1 values, but must hold 2*'
damage facts 's/"mean": \[[^,]*/"mean": [1e300/' 'config.json: "mean" holds 1e+300*'
damage facts 's/"lr": "[^"]*"/"lr": "x"/' 'config.json: the setting lr must be a number, not "x"'
damage facts 's/"lr": "[^"]*"/"lr": 0.1/' 'config.json: the setting lr must be a text in quotes, as all settings are'
damage facts 's/"find-lr": "[^"]*"/"find-lr": "1"/' 'config.json: the setting find-lr must be true or false, not "1"'
damage facts '/"classes":/d' 'config.json: "classes" is missing*'
damage facts 's/"input": \[2\]/"input": [0.5]/' 'config.json: "input" holds*'

# A newer version may have written what this one does not know; an older one has not.
rm -rf "$work/newer"
cp -r "$work/mine" "$work/newer"
sed -i 's/"mica": "[^"]*"/"mica": "99.1.2"/' "$work/newer/config.json"
run predict --model "$work/newer" "$data"
ends 0 '*' '*config.json was written by Mica 99.1.2; Mica * leaves out the settings that it does not know'
sed -i 's/"mica": "[^"]*"/"mica": "0.3.99"/' "$work/newer/config.json"
run predict --model "$work/newer" "$data"
ends 0 '*' ''

# Weights that are frozen or taken: none is a mistake, some are told.
train --out "$work/none" --freeze 'conv.*'
ends 1 '*' '*no weight matches "conv.[*]"; the weights are fc1.weight, *fc2.bias*'
train --out "$work/none" --freeze '*'
ends 1 '*' '*"[*]" matches every weight*none is left to train*'
case $err in *mica_*) fault 'speaks of a function' ;; esac
train --out "$work/none" --freeze '*' --find-lr
ends 1 '*' '*matches every weight*'
cut -d, -f1,3 "$data" >"$work/narrow.csv"
run train --data "$work/narrow.csv" --model mlp --epochs 1 --out "$work/narrow" --init "$work/mine/model.safetensors"
ends 0 '*' '*3 of 4 weights are taken from *'
LC_ALL=C sed 's/fc/gg/g; s/"mica.hash"/"some.hash"/' "$work/mine/model.safetensors" >"$work/other.safetensors"
train --out "$work/none" --init "$work/other.safetensors"
ends 1 '*' '*no tensor of *other.safetensors fits*the network has fc1.weight*'
train --out "$work/frozen" --freeze 'fc1.*'
ends 0 '*' '*2 of 4 weights are frozen by fc1.[*]*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'

# A training that fails leaves no file, one that is complete no trace of other settings.
train --out "$work/none" --class-weights 0,0,0
ends 2 '' '*class-weights are all 0*'
train --out "$work/none" --class-weights -1,1,1
ends 2 '' '*class-weights must be*'
mkdir "$work/empty"
run train --data "$data" --model mlp --batch 2 --out "$work/empty" --lr 1000000 --optimizer sgd --schedule constant
ends 1 '*' '*not a number*'
[ "$(ls -A "$work/empty")" = '' ] || fault "left: $(ls -A "$work/empty")"
sum=$(cksum <"$work/mine/config.json")
for words in '--lr 0.5' '--patience 3'; do
  # shellcheck disable=SC2086
  run train --resume --out "$work/mine" $words
  ends 1 '' '*nothing is left to do (epochs done: 2, asked for: 2); to train on*more than 2 with --epochs, *'
done
run train --resume --out "$work/mine" --epochs 1
ends 1 '' '*nothing is left to do (epochs done: 2, asked for: 1)*'
run train --resume --out "$work/mine" --epochs 2
ends 0 '*' ''
[ "$(cksum <"$work/mine/config.json")" = "$sum" ] || fault 'config.json is another'
run train --resume --out "$work/mine" --epochs 3 --lr 0.002
ends 0 '*epoch 3/3*' ''
grep -q '"lr": "0.002"' "$work/mine/config.json" || fault 'the rate is not recorded'

# Data of which nothing can be learned.
sed -n '1p; /a$/p' "$data" >"$work/one.csv"
run train --data "$work/one.csv" --epochs 1 --out "$work/one"
ends 1 '' 'mica train: *one.csv: every sample has class "a"; there is nothing to learn: add samples of other classes*'
[ ! -e "$work/one" ] || fault 'a refused run leaves a folder'
sed -n '1,2p' "$data" >"$work/row.csv"
run train --data "$work/row.csv" --epochs 1 --out "$work/row"
ends 1 '' 'mica train: *row.csv: every sample has class "a"; there is nothing to learn: add samples of other classes*'
run train --data "$work/row.csv" --label b --ignore kind --task regress --epochs 1 --out "$work/row"
ends 0 '*' '*one sample to train on*'

# Names of classes that are no UTF-8 or hold control characters are spelled, in JSON too.
LC_ALL=C awk '{ sub(/a$/, "c\344t"); sub(/b$/, "d\033g"); print }' "$data" >"$work/latin.csv"
LC_ALL=C awk 'NR == 1 || NR % 3 != 1' "$work/latin.csv" >"$work/two.csv"
run train --data "$work/two.csv" --epochs 1 --quiet --out "$work/latin"
ends 0 '' ''
run eval --model "$work/latin" --part train --json
holds classes.0.name 'c\\xe4t'
holds classes.1.name 'd\\x1bg'

# Words that contradict each other.
run train --data "$work/none.csv" --find-lr --lr 0.1 --out "$work/none"
ends 2 '' '*choose lr or find-lr, not both*'
run train --data "$work/none.csv" --lr 0.2 --lr 0.1 --out "$work/none"
ends 2 '' '*--lr is given twice: 0.2 and 0.1*'
run predict --model a --model b "$data"
ends 2 '' '*--model is given twice: a and b*'
run predict --model "$work/mine" --out "$work/none" "$data"
ends 2 '' '*--out *pictures*the task classify of --model predicts none*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'

# Ctrl-C with --json: the last line is an object.
: >"$work/err"
ran='an interrupted mica train --json'
"$mica" train --data "$data" --model mlp --epochs 1000000 --batch 40 --json --out "$work/stopped" >"$work/out" \
  2>"$work/err" &
pid=$!
tries=0
until grep -q '^epoch' "$work/err" || [ $tries -gt 1800 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -INT $pid
wait $pid
status=$?
[ $status = 130 ] || fault "exit status $status"
holds task classify
holds stopped true
holds part validation
holds metrics.samples 12

# Before the first validation the metrics are training's, and say so. How the run goes on is a line for a shell.
awk 'BEGIN {
  print "a,b,kind"
  for (i = 0; i < 60000; i++) print i % 3 + i % 7 / 7 "," i % 5 "," substr("abc", i % 3 + 1, 1)
  }' >"$work/many.csv"
folder="$work/it's a \$run"
run devices --json
device=$(json chosen)
ran='mica train --json, interrupted within its first epoch'
"$mica" train --data "$work/many.csv" --model mlp --epochs 2 --batch 1 --checkpoint-steps 50 --json --device "$device" \
  --out "$folder" >"$work/out" 2>"$work/err" &
pid=$!
tries=0
until [ -e "$folder/last.safetensors" ] || [ $tries -gt 600 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -INT $pid
wait $pid
status=$?
[ $status = 130 ] || fault "exit status $status"
holds stopped true
holds part train
[ "$(json metrics.samples)" -lt 54000 ] || fault "stopped late: $(cat "$work/out")"
again=$(sed -n 's/^stopped: .*the checkpoint is written, and \(.*\) goes on$/\1/p' "$work/err")
eval "set -- $again"
[ "$*" = "mica train --resume --out $folder --device $device" ] && [ $# = 7 ] || fault "goes on by: $again"
shift
run "$@" --patience 1 --checkpoint-steps 1000 --quiet
ends 0 '' ''

exit $failed
