#!/bin/sh
# labels: device slow
# A training run that is killed at any moment and resumed ends with the bits of one that was not, of every task.
# MICA_TEST_KILLS says how often each of them is killed; without it classify is 6 times, the others twice.
# MICA_TEST_TASKS: these alone.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=tasks.sh
. "$(dirname "$0")/tasks.sh"

# kill_and_resume KILLS: the moments lie within the time that a whole run takes, by a fixed series.
kill_and_resume() {
  kills=0
  round=0
  while [ "$kills" -lt "$1" ]; do
    round=$((round + 1))
    rm -rf "$work/killed"
    again=''
    while :; do
      train "$work/killed" $again >"$work/out" 2>&1 &
      pid=$!
      moment=$(((kills * 7919 + round * 131) % 97))
      sleep "0.$(printf '%02d' "$moment")"
      kill -KILL $pid 2>/dev/null && kills=$((kills + 1)) && killed=1 || killed=0
      wait $pid 2>/dev/null
      [ $killed = 1 ] || break
      [ -s "$work/killed/config.json" ] && again=--resume || again=''
      [ "$kills" -lt "$1" ] || break
    done
    [ $killed = 0 ] || (train "$work/killed" $again) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
    [ "$(cksum <"$work/killed/last.safetensors")" = "$want" ] || fault "$task: other weights after $kills kills"
    [ $failed = 0 ] || break
  done
  echo "$task: $kills kills in $round runs"
}

# The validation part of an evaluation is that of training: its loss is that of an epoch, as many samples were named.
validated_again() {
  count_said=$(sed -n 's/.* to train on, \([0-9]*\) to validate.*/\1/p' "$work/out")
  run eval --model "$work/whole" --part validation --json
  holds metrics.samples "$count_said"
  awk -F, -v loss="$(json metrics.loss)" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "validation_loss") at = i; next }
    ($at - loss) ^ 2 <= (1e-6 * loss) ^ 2 { found = 1 }
    END { exit !found }' "$work/whole/history.csv" || fault "$task: no epoch had the loss of eval, $(json metrics.loss)"
  ran='mica train'
}

ran='mica train'
all="$sound $texts language recommend forecast segment segment_volumes detect regress classify"
for task in ${MICA_TEST_TASKS:-$all}; do
  rm -rf "$work/whole"
  (train "$work/whole") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
  validated_again
  want=$(cksum <"$work/whole/last.safetensors")
  # Killed between its settings and its first checkpoint, it begins again, with the task's own initial weights.
  rm -rf "$work/killed"
  mkdir "$work/killed"
  cp "$work/whole/config.json" "$work/killed"
  # The settings are written last: where there are some, the tokeniser is there too.
  [ ! -e "$work/whole/tokenizer.json" ] || cp "$work/whole/tokenizer.json" "$work/killed"
  (train "$work/killed" --resume) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
  [ "$(cksum <"$work/killed/last.safetensors")" = "$want" ] || fault "$task: other weights without a checkpoint"
  [ $task = classify ] && kills=10 || kills=3
  [ -z "$sanitizer" ] || kills=2
  kill_and_resume "${MICA_TEST_KILLS:-$kills}"
done

[ "$task" = classify ] || exit $failed

# A kill between an epoch's row and its checkpoint leaves a row of an epoch that is trained once more.
rm -rf "$work/killed"
(epochs=2 train "$work/killed") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
tail -n 1 "$work/killed/history.csv" | sed 's/^2,/3,/' >>"$work/killed/history.csv"
(epochs=3 train "$work/killed" --resume) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
seen=$(cut -d, -f1 "$work/killed/history.csv" | tr '\n' ' ')
[ "$seen" = 'epoch 1 2 3 ' ] || fault "the history has the epochs $seen"

# Ctrl-C: the step is finished, the checkpoint written, and said so.
rm -rf "$work/killed"
: >"$work/out" # here, or what the last run said may be read before the next one begins it anew
train "$work/killed" >"$work/out" 2>&1 &
pid=$!
tries=0
until grep -q '^epoch' "$work/out" || [ $tries -gt 1800 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -INT $pid 2>/dev/null
wait $pid
status=$?
if [ $status != 0 ]; then
  [ $status = 130 ] || fault "exit status $status after an interrupt"
  grep -q 'stopped: .*checkpoint is written' "$work/out" || fault "says nothing of an interrupt: $(cat "$work/out")"
  (train "$work/killed" --resume) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
fi
[ "$(cksum <"$work/killed/last.safetensors")" = "$want" ] || fault 'other weights after an interrupt'

exit $failed
