#!/bin/sh
# labels: device slow
# A device that is lost: training says so and how it goes on, and goes on with the result of a run that lost nothing;
# other commands say so. A launch that asked for too much is no such case.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
cc -shared -fPIC -o "$work/lose.so" "$(dirname "$0")/lose_device.c" -ldl 2>"$work/err" ||
  { echo "SKIP: nothing can be preloaded: $(cat "$work/err")"; exit 77; }
LD_PRELOAD=$work/lose.so "$mica" version >/dev/null 2>&1 || { echo 'SKIP: nothing can be preloaded'; exit 77; }

awk -v folder="$work" 'BEGIN {
  srand(3)
  for (i = 0; i < 480; i++) {
    k = i % 3
    for (j = 0; j < 6; j++) printf "%.4f,", (k == j % 3) + rand() >folder "/data.csv"
    print k >folder "/data.csv"
  }
}'
# loses HOW AT WORDS...: runs mica on a device that is lost after so many launches.
loses() {
  ran="LOSE=$1 LOSE_AT=$2 mica"
  LOSE=$1 LOSE_AT=$2
  shift 2
  ran="$ran $*" status=0
  LOSE=$LOSE LOSE_AT=$LOSE_AT LOSE_FIRST=1 LD_PRELOAD=$work/lose.so timeout 100 "$mica" "$@" \
    >"$work/out" 2>"$work/err" || status=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}
model="--task classify --model mlp --batch 48 --quiet --json"
lost='the device * is lost, with the content of its memory (*: the driver answers *)'

# shellcheck disable=SC2086 # words
run train $model --data "$work/data.csv" --epochs 6 --out "$work/whole"
ends 0 '{*}' ''
whole=$(json loss)

# A few epochs, of many, are done by then.
for how in fail fault; do
  # shellcheck disable=SC2086 # words
  loses $how 1200 train $model --data "$work/data.csv" --epochs 6000 --checkpoint-steps 3 --out "$work/$how"
  ends 1 '' "mica train: $lost; mica train --resume --out $work/$how goes on from the last checkpoint"
  [ "$(printf '%s\n' "$err" | grep -c .)" = 1 ] || fault "not one sentence: $err"
  rows=$(wc -l <"$work/$how/history.csv")
  run train --resume --epochs $((rows + 1)) --quiet --json --out "$work/$how"
  ends 0 '{*}' ''
  [ "$(wc -l <"$work/$how/history.csv")" = $((rows + 2)) ] || fault "the history has not $rows epochs and two more"
done

# The numbers of a run that lost nothing.
# shellcheck disable=SC2086 # words
loses fault 90 train $model --data "$work/data.csv" --epochs 6 --checkpoint-steps 2 --out "$work/same"
ends 1 '' "mica train: $lost; mica train --resume --out $work/same goes on from the last checkpoint"
run train --resume --quiet --json --out "$work/same"
ends 0 '{*}' ''
[ "$(json loss)" = "$whole" ] || fault "the loss is $(json loss), of the run that lost nothing $whole"
cmp -s "$work/same/model.safetensors" "$work/whole/model.safetensors" || fault "the weights differ"

# The device of another rank: rank 0 says how the run goes on, too.
if command -v mpirun >/dev/null && "$mica" version | grep -q MICA_WITH_MPI=1; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
  export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
  train="train $model --data $work/data.csv --epochs 6000 --checkpoint-steps 3 --watchdog 20 --out $work/other"
  ran="mpirun of a rank whose device is lost"
  # shellcheck disable=SC2086 # words
  timeout 100 mpirun -n 2 sh "$(dirname "$0")/each_rank.sh" "$mica" $train // env LOSE=fail LOSE_AT=600 LOSE_FIRST=1 \
    LD_PRELOAD="$work/lose.so" "$mica" $train >"$work/out" 2>"$work/err" && fault 'it has ended well'
  again="mpirun -n 2 mica train --resume --out $work/other --watchdog 20 goes on from the last checkpoint"
  grep -q "^mica train: .*rank 1: .*lost.*; $again" "$work/err" ||
    fault "rank 0 does not say how it goes on: $(cat "$work/err")"
fi

# Before there is a checkpoint there is nothing to go on from, nor anything left behind.
# shellcheck disable=SC2086 # words
loses fail 3 train $model --data "$work/data.csv" --out "$work/early"
ends 1 '' "mica train: $lost; there was no checkpoint yet to continue from"
[ ! -e "$work/early" ] || fault "there is a folder"

for how in fail fault; do
  loses $how 0 predict "$work/data.csv" --model "$work/whole"
  ends 1 '*' "mica predict: $lost"
  loses $how 0 eval --model "$work/whole"
  ends 1 '*' "mica eval: $lost"
  loses $how 2 doctor fill cast
  ends 1 '*' "mica doctor: fill.*: $lost"
done
run export "$work/whole" --onnx "$work/whole.onnx"
ends 0 '*' ''
loses fault 0 run "$work/whole.onnx"
ends 1 '*' "mica run: $lost"
if [ -x "$MICA_BUILD_DIR/bin/mica-bench" ]; then
  mica=$MICA_BUILD_DIR/bin/mica-bench
  loses fault 1 peak
  case $err in *"is lost, with the content of its memory"*) ;; *) fault "$err" ;; esac
  [ "$status" = 1 ] || fault "exit status $status"
  mica=$MICA_BUILD_DIR/bin/mica
fi

# One launch asks for too much, and the device goes on: nothing says that it is lost.
# shellcheck disable=SC2086 # words
loses large 90 train $model --data "$work/data.csv" --epochs 6 --out "$work/large"
ends 1 '' 'mica train: *: the driver answers CL_OUT_OF_RESOURCES'
exit $failed
