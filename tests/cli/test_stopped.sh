#!/bin/sh
# labels: device slow
# Ctrl-C leaves a run that can be used: after two epochs of every task predict, eval and export take it and name the
# epoch of its weights. --resume --epochs N trains longer, or ends earlier.
# MICA_TEST_TASKS: these alone.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=tasks.sh
. "$(dirname "$0")/tasks.sh"

has() { grep -q "MICA_WITH_$1=1" "$work/version"; }
"$mica" version >"$work/version"

# interrupt N: trains $task for long and sends SIGINT when N epochs stand in the history.
interrupt() {
  rm -rf "$work/run"
  : >"$work/out"
  epochs=9999 train "$work/run" --quiet >"$work/out" 2>"$work/err" &
  pid=$!
  tries=0
  until [ "$(wc -l 2>/dev/null <"$work/run/history.csv" || echo 0)" -gt "$1" ] || [ $tries -gt 3000 ]; do
    sleep 0.05
    tries=$((tries + 1))
    kill -0 $pid 2>/dev/null || break
  done
  kill -INT $pid 2>/dev/null
  wait $pid
  status=$?
  ran="mica train --task $task, interrupted"
  out='' err=$(cat "$work/err")
}

# What is said when the run is opened.
of_epoch='*the run in * has not ended: it uses the weights of epoch [1-9]* of 9999, kept so far; mica train *'

predict() {
  case $task in
  segment) run predict --model "$work/run" "$work/segment.csv/images" --out "$work/pictures" ;;
  segment_volumes) run predict --model "$work/run" "$work/$task.csv/images/0.nii" --out "$work/pictures" ;;
  detect) run predict --model "$work/run" "$work/detect.csv/JPEGImages/low0.png" --out "$work/pictures" ;;
  keyword) run predict --model "$work/run" "$work/keyword.csv/low/1.wav" ;;
  # So early the text may have no letters yet.
  speech) run transcribe --model "$work/run" "$work/speech.csv/low1.wav" --json ;;
  text | translate) run predict --model "$work/run" --text 'one two three' ;;
  language) run generate --model "$work/run" --prompt 'the cat ' --length 8 ;;
  recommend) run recommend --model "$work/run" --user u1 ;;
  *) run predict --model "$work/run" "$work/$task.csv" ;;
  esac
  rm -rf "$work/pictures"
}

all="classify regress forecast recommend language $texts $sound segment segment_volumes detect"
for task in ${MICA_TEST_TASKS:-$all}; do
  interrupt 2
  ends 130 '' "*model * the weights of epoch [1-9]*, kept so far*stopped: *the checkpoint is written*"
  epoch=$(sed -n 's/.*the weights of epoch \([0-9]*\),.*/\1/p' "$work/err")
  predict
  ends 0 '?*' "$of_epoch"
  case $err in *"of epoch $epoch of "*) ;; *) fault "names another epoch than $epoch: $err" ;; esac
  run eval --model "$work/run"
  ends 0 '?*' "$of_epoch"
  if has ONNX; then
    run export "$work/run" --onnx "$work/run.onnx" --force
    ends 0 '*' "$of_epoch"
    [ -s "$work/run.onnx" ] || fault 'wrote no model'
  fi
  echo "$task: stopped, with the weights of epoch $epoch"
done
[ -z "${MICA_TEST_TASKS-}" ] || exit $failed

# A run that is stopped can be compared, described, quantised, masked and be a teacher.
task=classify
interrupt 3
cp -r "$work/run" "$work/kept"
run compare "$work/run" "$work/kept"
ends 0 '?*' "$of_epoch"
run info "$work/kept"
ends 0 '?*' "$of_epoch"
run quantize "$work/run" --out "$work/integers"
ends 0 '*' "$of_epoch"
run prune "$work/run" --masks 0.5 --out "$work/masked"
ends 0 '*' "$of_epoch"
run train --data "$work/classify.csv" --model mlp --epochs 1 --teacher "$work/run" --out "$work/pupil"
ends 0 "*" "*the teacher: $of_epoch"

# It ends with the epochs that are done, also by a number below them, as a run that was complete ends.
done_epochs=$(($(wc -l <"$work/kept/history.csv") - 1))
run train --resume --out "$work/kept" --epochs 1
ends 0 '*model *report *' "*$done_epochs epochs are done already, more than the 1 asked for*"
[ -s "$work/kept/report.html" ] || fault 'no report'
grep -q "\"epochs\": \"$done_epochs\"" "$work/kept/config.json" || fault 'other epochs are recorded'
run eval --model "$work/kept"
ends 0 '?*' ''
run train --resume --out "$work/kept" --epochs 1
ends 1 '' '*nothing is left to do*'
# And goes on to more.
run train --resume --out "$work/run" --epochs $((done_epochs + 1))
ends 0 "*epoch $((done_epochs + 1))/$((done_epochs + 1))*" ''
run eval --model "$work/run"
ends 0 '?*' ''
run train --resume --out "$work/run" --epochs $((done_epochs + 2)) --quiet
ends 0 '*' ''

# Stopped within the first epoch it has the weights of the stop.
awk '{ for (i = 0; i < 60; i++) print }' "$work/classify.csv" >"$work/long.csv"
mv "$work/long.csv" "$work/classify.csv"
rm -rf "$work/run"
epochs=9 train "$work/run" --quiet >"$work/out" 2>"$work/err" &
pid=$!
tries=0
until [ -e "$work/run/last.safetensors" ] || [ $tries -gt 1200 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -INT $pid
wait $pid
if [ ! -e "$work/run/history.csv" ]; then
  predict
  ends 0 '?*' '*it uses the weights of a stop within epoch 1 of 9; mica train*'
fi

# A file of a run instead of its folder.
for file in best.safetensors model.safetensors config.json; do
  [ -e "$work/run/$file" ] || continue
  run predict --model "$work/run/$file" "$work/classify.csv"
  ends 1 '' "*$file is a file of the run in $work/run: name that folder*"
done
cp "$work/run/model.safetensors" "$work/alone.safetensors"
run eval --model "$work/alone.safetensors"
ends 1 '' '*alone.safetensors cannot be opened as a model; name the folder of a run*'

exit $failed
