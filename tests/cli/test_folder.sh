#!/bin/sh
# labels: device single
# The folder of a run while it is trained in: deleted, moved, and taken by another run.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk 'BEGIN {
  srand(1)
  print "a,b,kind"
  for (i = 0; i < 300; i++) printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1)
}' >"$work/k.csv"

# begin FOLDER EPOCHS: trains in the background, until there is a best epoch.
begin() {
  "$mica" train --data "$work/k.csv" --model mlp --batch 4 --epochs "$2" --checkpoint-steps 5 --quiet --out "$1" \
    >"$work/out" 2>"$work/err" &
  pid=$!
  await "$1/best.safetensors"
}
await() {
  tries=0
  until [ -e "$1" ] || [ $tries -gt 1200 ]; do sleep 0.05; tries=$((tries + 1)); done
}
# stopped: ends the training that runs, after it has written again.
stopped() {
  await "$1"
  kill -INT $pid
  wait $pid
  status=$?
  ran="mica train, $2" out='' err=$(cat "$work/err")
}
usable() { # FOLDER
  run predict --model "$1" "$work/k.csv"
  ends 0 '?*' '*has not ended: it uses the weights of *'
  run train --resume --out "$1" --patience 1 --lr 1e-12 --quiet
  ends 0 '' '*'
  [ -s "$1/report.html" ] || fault "no report in $1"
}

begin "$work/deleted" 100000
until rm -r "$work/deleted" 2>/dev/null || ! kill -0 $pid; do :; done
stopped "$work/deleted/model.safetensors" 'its folder deleted'
ends 130 '' '*WARNING: *deleted* while training: *again*'
usable "$work/deleted"

# One file that is needed is enough.
begin "$work/bare" 100000
rm "$work/bare/config.json" "$work/bare/best.safetensors"
stopped "$work/bare/best.safetensors" 'its config.json deleted'
ends 130 '' "*WARNING: files of $work/bare were deleted while training: they are written again*"
usable "$work/bare"

# What is moved is left as it is, and the run goes on under its name.
begin "$work/moved" 100000
mv "$work/moved" "$work/away"
stopped "$work/moved/best.safetensors" 'its folder moved'
ends 130 '' '*WARNING: *moved was deleted or moved while training: it is made again*'
usable "$work/moved"
run predict --model "$work/away" "$work/k.csv"
ends 0 '?*' '*'

# Another run has taken the place: nothing of it is written over, and nothing of this one is lost.
run train --data "$work/k.csv" --model mlp --epochs 1 --quiet --out "$work/other"
ends 0 '' ''
sum=$(cat "$work/other"/* | cksum)
begin "$work/taken" 100000
kill -STOP $pid # or it makes a folder between the two
mv "$work/taken" "$work/old" && mv "$work/other" "$work/taken"
kill -CONT $pid
tries=0
while kill -0 $pid 2>/dev/null && [ $tries -lt 600 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -KILL $pid 2>/dev/null && fault 'trains on'
wait $pid
status=$?
ran='mica train, its folder taken' out='' err=$(cat "$work/err")
ends 1 '' "*$work/taken now holds another run, which is left alone; *mica train --resume --out $work/taken.1*"
[ "$(cat "$work/taken"/* | cksum)" = "$sum" ] || fault 'wrote to the run of another'
usable "$work/taken.1"

# Links to devices in the run of a stranger are replaced and not written to.
run train --data "$work/k.csv" --model mlp --epochs 1 --quiet --out "$work/linked"
ends 0 '' ''
for file in report.html model.safetensors last.safetensors history.csv config.json; do
  mv "$work/linked/$file" "$work/$file"
  case $file in
  last.safetensors | config.json) ln -s "$work/$file" "$work/linked/$file" ;;
  *) ln -s /dev/null "$work/linked/$file" ;;
  esac
done
sum=$(cat "$work/last.safetensors" "$work/config.json" | cksum)
run train --resume --epochs 2 --quiet --out "$work/linked"
ends 0 '' '*'
[ "$(cat "$work/last.safetensors" "$work/config.json" | cksum)" = "$sum" ] || fault 'writes through a link'
for file in report.html model.safetensors last.safetensors history.csv config.json; do
  [ ! -L "$work/linked/$file" ] && [ -s "$work/linked/$file" ] || fault "$file is a link still"
done

exit $failed
