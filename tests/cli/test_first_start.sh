#!/bin/sh
# labels: device slow
# While kernels are compiled for the first time, mica train says so, once, and a signal ends it at once: the driver's
# compiler is not waited for, and nothing is lost.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
"$MICA_BUILD_DIR/bin/tests/write_scenes" "$work/scenes" 60 40 || exit 1

# On one core, where there is taskset, compiling lasts half a minute, on whatever machine.
alone=''
core=$(taskset -cp $$ 2>/dev/null | sed 's/.*: //; s/[,-].*//')
[ ! "$core" ] || alone="taskset -c $core"

# begin CACHE FOLDER ARGUMENT...: trains with what was compiled into CACHE before, and takes the shell's place.
begin() {
  mkdir -p "$work/$1"
  export MICA_CACHE_DIR="$work/$1/mica" POCL_CACHE_DIR="$work/$1/pocl"
  folder=$2
  shift 2
  # shellcheck disable=SC2086 # no word, or several
  exec $alone "$mica" train --data "$work/scenes" --width 4 --depth 2 --window 32 --batch 4 --epochs 1 \
    --out "$folder" "$@"
}

# stopped SIGNAL STATUS: sends it to $pid, which has ten seconds to end: a tenth of what is still to be compiled.
stopped() {
  sent=$(date +%s)
  kill "-$1" $pid 2>/dev/null
  wait $pid
  status=$?
  took=$(($(date +%s) - sent))
  [ $status = "$2" ] || fault "exit status $status instead of $2"
  [ $took -le 10 ] || fault "ends $took seconds behind SIG$1"
}

# waits PATTERN FILE: until the file has it, a minute and a half at most.
waits() {
  tries=0
  until grep -q "$1" "$2" 2>/dev/null || [ $tries -gt 900 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
}

# compiles_long: so does the device: PoCL's CPU. Another's compiler may have ended before a signal comes.
compiles_long() {
  run devices --json
  at=0
  until [ "$(json "devices.$at.chosen")" = true ] || [ $at -gt 63 ]; do at=$((at + 1)); done
  [ "$(json "devices.$at.platform")" = 'Portable Computing Language' ] && [ "$(json "devices.$at.class")" = cpu ]
}

interrupted() {
  ran='mica train, terminated while it compiles'
  : >"$work/err"
  MICA_VERBOSE=1 begin cold "$work/run" >"$work/out" 2>"$work/err" &
  pid=$!
  waits 'compiling kernels' "$work/err"
  stopped TERM 143
  grep -q "^stopped before the first step; mica train --resume --out $work/run goes on" "$work/out" ||
    fault "does not say how to go on: $(cat "$work/out")"
  [ "$(grep -c 'compiling kernels' "$work/err")" = 1 ] || fault "compiling is not told once: $(cat "$work/err")"
  [ -s "$work/run/config.json" ] || fault 'there are no settings to go on with'
  [ ! -e "$work/run/last.safetensors" ] || fault 'a checkpoint of nothing'

  ran='mica train --json --quiet, interrupted while it compiles'
  begin colder "$work/json" --json --quiet >"$work/out" 2>"$work/err" &
  pid=$!
  waits model "$work/json/config.json"
  stopped INT 130
  holds task segment
  holds stopped true
  [ "$(cat "$work/err")" = "stopped before the first step; mica train --resume --out $work/json goes on" ] ||
    fault "says of a stop: $(cat "$work/err")"
}

resume=''
if compiles_long; then
  interrupted
  resume=--resume
else
  echo 'interrupted while it compiles: not tried: the device is not the CPU of PoCL'
fi

ran="mica train $resume behind it"
# shellcheck disable=SC2086 # no word, or one
(begin cold "$work/run" $resume) >"$work/out" 2>"$work/err" || fault "$(cat "$work/err")"
grep -q '^epoch 1/1 ' "$work/out" || fault 'there was no epoch'
[ ! -s "$work/err" ] || fault "says to what is no terminal: $(cat "$work/err")"

ran='mica train, with all kernels compiled'
(MICA_VERBOSE=1 begin cold "$work/again") >"$work/out" 2>"$work/err" || fault "$(cat "$work/err")"
! grep 'compiling kernels' "$work/err" || fault 'tells of compiling'
for run in run again; do cksum <"$work/$run/last.safetensors"; done | sort -u >"$work/sums"
[ "$(wc -l <"$work/sums")" = 1 ] || fault 'other weights behind a stop'

exit $failed
