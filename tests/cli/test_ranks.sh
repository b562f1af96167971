#!/bin/sh
# labels: device slow
# Several ranks by mpirun: one voice, the result of one process, faults that end all of them, checkpoints for any number
# of ranks. MICA_TEST_KILLS says how often a rank is killed, of each task (twice unless it does).
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
need_device

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl=^tcp # Open MPI 5 prints a warning if the machine has no network

awk -v folder="$work" 'BEGIN {
  srand(2)
  for (i = 0; i < 960; i++) {
    k = i % 4
    for (j = 0; j < 20; j++) printf "%.4f,", (k == j % 4) * 2 + rand() + rand() >folder "/data.csv"
    print k >folder "/data.csv"
  }
}'
sed '3s/^[0-9]/7/' "$work/data.csv" >"$work/other.csv"

# ranks N FOLDER WORDS...: trains on N ranks.
ranks() {
  n=$1 out=$2
  shift 2
  case " $* " in *' --batch '*) ;; *) set -- --batch 48 "$@" ;; esac
  timeout 120 mpirun -n "$n" "$mica" train --task classify --model mlp --data "$work/data.csv" --out "$out" "$@"
}
# The value of a number in JSON.
number() { sed "s/.*\"$1\":\([-+0-9.e]*\).*/\1/" "$2"; }
# near A B: within a thousandth.
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-3 && d > -1e-3) }'; }

# --- several devices of one process ---
for list in 0:0,0:0 0:0/2,0:0 0:0,7:7 0:0,, 0:0/0; do
  run train --data "$work/data.csv" --devices $list --out "$work/wrong"
  [ "$status" = 2 ] || [ "$status" = 1 ] || fault "exit status $status"
  [ "$(printf '%s\n' "$err" | grep -c .)" = 1 ] || fault "not one sentence: $err"
done
run train --data "$work/data.csv" --devices 0:0 --device 0:0 --out "$work/wrong"
ends 2 '' 'mica train: give --device or --devices, not both'
for speeds in fast -1 3, 0; do
  run train --data "$work/data.csv" --speeds=$speeds --out "$work/wrong"
  ends 2 '' "mica train: --speeds must be \"measured\" or have a number above 0 and below 1e18 for each rank, \
as in 3,1, not $speeds"
done
run train --data "$work/data.csv" --watchdog soon --out "$work/wrong"
ends 2 '' 'mica train: --watchdog wants a number from 0.001 to 1e+09, not "soon"'
"$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet \
  --out "$work/one" >"$work/one.json" || fault "one process"
run train --task classify --model mlp --data "$work/data.csv" --epochs 1 --out "$work/alone" --shard --compress u8 \
  --watchdog 9
for words in shard 'compress, which sends no gradients' watchdog; do
  word=${words%%,*}
  printf '%s\n' "$err" | grep -qxF "mica train: $word does nothing: there is one rank${words#"$word"}" ||
    fault "--$word alone: $err"
done
run train --task classify --model mlp --data "$work/data.csv" --epochs 1 --out "$work/alone2" --speeds 3,1
ends 0 '*' 'mica train: speeds does nothing: there is one rank'
run train --task classify --model mlp --data "$work/data.csv" --epochs 1 --out "$work/alone3" --speeds 3,1 --quiet
ends 0 '' ''
# A device of one compute unit is not cut.
if "$mica" devices --json | grep -q '"compute_units": *[2-9]'; then
  run train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet --devices 0:0/2 \
    --out "$work/halves"
  ends 0 '{*}' ''
  near "$(number loss "$work/out")" "$(number loss "$work/one.json")" || fault "two halves: $out"

  # The default network of regress has initial values of its own; those that divide it begin and end with the same.
  awk 'BEGIN { print "a,b,sum"; for (i = 0; i < 96; i++) print i % 7 "," i % 11 "," i % 7 + i % 11 }' >"$work/sum.csv"
  for how in none pipe=2 tensor=2; do
    set -- --devices 0:0/2 --parallel $how
    [ $how != none ] || set --
    run train --task regress --data "$work/sum.csv" --label sum --epochs 3 --validation 0 --out "$work/sum-$how" "$@"
    ends 0 '*untrained *' ''
    printf '%s\n' "$out" | sed -n 's/^untrained .*loss \([0-9.]*\).*/\1/p;s/^epoch 3.* loss \([0-9.]*\).*/\1/p' \
      >"$work/$how.losses"
    [ "$(wc -l <"$work/$how.losses")" = 2 ] && cmp -s "$work/none.losses" "$work/$how.losses" ||
      fault "regress with $how: $(tr '\n' ' ' <"$work/$how.losses") instead of $(tr '\n' ' ' <"$work/none.losses")"
  done

  # How a run that is stopped goes on: on both, by the same shares.
  "$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 100000 --checkpoint-steps 5 \
    --devices 0:0/2 --speeds 3,1 --shard --out "$work/it stops" >"$work/out" 2>"$work/err" &
  pid=$!
  i=0
  until [ -e "$work/it stops/last.safetensors" ] || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done
  kill -INT $pid
  wait $pid
  again="mica train --resume --out '$work/it stops' --devices 0:0/2 --speeds 3,1 --shard goes on"
  grep -q "^stopped: .*; the checkpoint is written, and $again\$" "$work/out" || fault "goes on by: $(cat "$work/out")"

  # Batches divided by speed, on devices of which one fails while they train: the other one goes on.
  run train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet --devices 0:0/2 \
    --speeds 3,1 --out "$work/speeds"
  ends 0 '{*}' ''
  near "$(number loss "$work/out")" "$(number loss "$work/one.json")" || fault "shares of 3 and 1: $out"
  for speeds in 3,0 3,1,2 fast; do
    run train --data "$work/data.csv" --devices 0:0/2 --speeds $speeds --out "$work/wrong"
    ends 2 '' "mica train: --speeds must be \"measured\" or have a number above 0 and below 1e18 for each of 2 ranks, \
as in 3,1, not $speeds"
  done
  run train --data "$work/data.csv" --devices 0:0/2 --speeds 3 --out "$work/wrong"
  ends 2 '' 'mica train: --speeds 3 needs a number for each of the 2 ranks, but has 1'
  if cc -shared -fPIC -o "$work/lose.so" "$(dirname "$0")/lose_device.c" -ldl 2>"$work/err" &&
    LD_PRELOAD=$work/lose.so "$mica" version >/dev/null 2>&1; then
    for how in fail hang; do
      LOSE=$how LD_PRELOAD=$work/lose.so timeout 100 "$mica" train --task classify --model mlp --batch 48 \
        --data "$work/data.csv" --epochs 40 --json --quiet --devices 0:0/2 --watchdog 3 --elastic --out "$work/$how" \
        >"$work/out" 2>"$work/err" || fault "a device that is lost ($how): $(cat "$work/err")"
      grep -q 'goes on with 1 of 2 devices: 0:0/2:[01]' "$work/err" || fault "$how: $(cat "$work/err")"
      [ "$(wc -l <"$work/$how/history.csv")" = 41 ] || fault "$how: not 40 epochs"
    done
  fi
fi
run train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet --elastic \
  --out "$work/one"
ends 0 '{*}' ''

ran="mica train on several ranks"
[ $failed = 0 ] || exit 1
command -v mpirun >/dev/null || { echo "SKIP: no mpirun"; exit 77; }
"$mica" version | grep -q MICA_WITH_MPI=1 || { echo "SKIP: a build without MPI"; exit 77; }

# Open MPI ends without giving back what it began with.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"

# --- one voice, and the result of one process ---
for n in 2 3; do
  ranks $n "$work/all$n" --epochs 3 --json --quiet >"$work/out" 2>"$work/err" || fault "$n ranks: $(cat "$work/err")"
  [ "$(grep -c '^{' "$work/out")" = 1 ] || fault "$n ranks give not one line of JSON: $(cat "$work/out")"
  near "$(number loss "$work/out")" "$(number loss "$work/one.json")" ||
    fault "$n ranks: $(cat "$work/out" "$work/one.json")"
done
grep -q rank1_computing "$work/all2/history.csv" || fault "the history does not show ranks"
grep -q "slowest rank" "$work/all2/report.html" || fault "the report does not name the slowest rank"
for how in f16 u8; do
  ranks 2 "$work/$how" --epochs 3 --compress $how --json --quiet >"$work/out" 2>&1 || fault "$how: $(cat "$work/out")"
  grep -q '"accuracy":1' "$work/out" || fault "$how: $(cat "$work/out")"
done

# --- stages, and state that is divided: the result of one process, and its files ---
# divided N FOLDER WORDS...: the loss of one process, and of one that goes on.
divided() {
  n=$1 out=$2
  shift 2
  ranks "$n" "$out" --epochs 3 --json --quiet "$@" >"$work/out" 2>"$work/err" ||
    fault "$n ranks, $*: $(cat "$work/err")"
  near "$(number loss "$work/out")" "$(number loss "$work/one.json")" || fault "$n ranks, $*: $(cat "$work/out")"
  timeout 60 "$mica" train --resume --epochs 4 --quiet --out "$out" 2>"$work/err" || fault "$*: $(cat "$work/err")"
}
divided 2 "$work/stages" --parallel pipe=2
divided 4 "$work/both" --parallel data=2,pipe=2,micro=3,order=gpipe
divided 2 "$work/shard" --shard
divided 4 "$work/parts" --parallel data=2,tensor=2
divided 4 "$work/cut" --parallel pipe=2,tensor=2
# The summary counts what all ranks hold, and says what one of them does.
rm -rf "$work/alone" "$work/half"
"$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 1 --out "$work/alone" \
  >"$work/out" 2>&1 || fault "one process: $(cat "$work/out")"
whole=$(sed -n 's/ parameters of which.*//p' "$work/out")
ranks 2 "$work/half" --epochs 1 --parallel tensor=2 >"$work/out" 2>&1 || fault "two ranks: $(cat "$work/out")"
trained="$whole parameters of which $whole are trained"
grep -q "^$trained ([0-9]* on this rank); .* MFLOP .* on this rank\$" "$work/out" ||
  fault "not $whole parameters: $(cat "$work/out")"
# Weights of a run to begin with: each stage takes those of its own layers.
"$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet \
  --init "$work/alone" --out "$work/begun" >"$work/one.json" || fault "one process, with weights to begin with"
divided 2 "$work/begun1" --parallel pipe=2 --init "$work/alone"
divided 4 "$work/begun2" --parallel data=2,pipe=2 --init "$work/alone/model.safetensors"
# The norm of all gradients, where every rank has another part of them.
"$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 3 --json --quiet --clip-norm 0.5 \
  --out "$work/clip" >"$work/one.json" || fault "one process, clipped"
divided 4 "$work/clip1" --parallel data=2,pipe=2 --shard --clip-norm 0.5
divided 4 "$work/clip2" --parallel data=2,tensor=2 --shard --clip-norm 0.5

# --- what is wrong is said once, and ends all ---
# refused STATUS SENTENCE WORDS...
refused() {
  wanted=$1 sentence=$2
  shift 2
  timeout 60 mpirun "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ $status = "$wanted" ] || fault "exit status $status, not $wanted: $(cat "$work/err")"
  grep -c '^mica [a-z]*:' "$work/err" | grep -qx 1 || fault "not one sentence: $(cat "$work/err")"
  grep -q "^mica [a-z]*: .*$sentence" "$work/err" || fault "no \"$sentence\": $(cat "$work/err")"
}
for command in prune quantize; do
  refused 2 'the command runs in one process: start it without mpirun' -n 2 "$mica" $command "$work/one" \
    --out "$work/wrong"
done
train="$mica train --task classify --model mlp --epochs 2 --quiet --out $work/wrong"
each="sh $(dirname "$0")/each_rank.sh"
# shellcheck disable=SC2086
{
  refused 2 "cannot be divided among 3 ranks; 48 and 51 can" -n 3 $train --data "$work/data.csv" --batch 50
  refused 1 "there is no dataset" -n 2 $train --data "$work/none"
  refused 2 "rank 1 has another seed" -n 2 $each $train --data "$work/data.csv" // \
    $train --data "$work/data.csv" --seed 5
  refused 2 "rank 1 has other data" -n 2 $each $train --data "$work/data.csv" // $train --data "$work/other.csv"
  refused 2 "rank 1 has other settings" -n 2 $each $train --data "$work/data.csv" // \
    $train --data "$work/data.csv" --lr 1
  refused 2 "needs 4 ranks, but there are 2" -n 2 $train --data "$work/data.csv" --parallel data=2,pipe=2
  refused 2 "'pipes=2'" -n 2 $train --data "$work/data.csv" --parallel pipes=2
  refused 2 "64 per replica cannot be divided into 7" -n 2 $train --data "$work/data.csv" --parallel pipe=2,micro=7
  refused 2 "the number of units is 128, but must be a multiple of the number of ranks, 3" -n 3 $train \
    --data "$work/data.csv" --batch 48 --parallel tensor=3
  refused 2 "find-lr runs on one rank" -n 2 $train --data "$work/data.csv" --find-lr
}

# --- a checkpoint of 4 ranks goes on on 1 and 3 ---
ranks 4 "$work/four" --epochs 2 --quiet --schedule constant >"$work/out" 2>&1 || fault "4 ranks: $(cat "$work/out")"
cp -r "$work/four" "$work/three"
"$mica" train --resume --epochs 4 --quiet --json --out "$work/four" >"$work/by1" || fault "4 ranks resumed by 1"
timeout 120 mpirun -n 3 "$mica" train --resume --epochs 4 --quiet --json --out "$work/three" >"$work/by3" \
  2>"$work/err" || fault "4 ranks resumed by 3: $(cat "$work/err")"
near "$(number loss "$work/by1")" "$(number loss "$work/by3")" || fault "losses differ: $(cat "$work/by1" "$work/by3")"

# --- elastic: the same command over fewer ranks goes on, whatever the batch is divided by ---
ranks 3 "$work/elastic" --epochs 2 --quiet --elastic --batch 50 >"$work/out" 2>&1 || fault "elastic: $(cat "$work/out")"
ranks 2 "$work/elastic" --epochs 4 --quiet --elastic --batch 50 >"$work/out" 2>&1 || fault "elastic: $(cat "$work/out")"
[ "$(wc -l <"$work/elastic/history.csv")" = 5 ] || fault "elastic: not 2 and 2 epochs"

# --- recommend and speech: a rank that is killed ends the run; resumed, it has the bits of one that was not killed ---
# The sum of a file, where there is one.
stamp_of() { [ ! -e "$1" ] || cksum <"$1"; }
# kept TASK WORDS...: 2 ranks train and are resumed until they end.
kept() {
  task=$1
  shift
  timeout 200 mpirun -n 2 "$mica" train --task "$task" "$@" --watchdog 20 --quiet --out "$work/$task-whole" \
    >"$work/out" 2>&1 || fault "$task: $(cat "$work/out")"
  kills=${MICA_TEST_KILLS:-2} resume=''
  while :; do
    # shellcheck disable=SC2086 # a word, or none
    timeout 200 mpirun -n 2 "$mica" train --task "$task" "$@" --watchdog 20 --quiet $resume --out "$work/$task-killed" \
      >"$work/out" 2>&1 &
    launcher=$!
    i=0 stamp=$(stamp_of "$work/$task-killed/last.safetensors")
    while [ "$kills" -gt 0 ] && [ $((i += 1)) -lt 600 ] && kill -0 $launcher 2>/dev/null; do
      [ "$(stamp_of "$work/$task-killed/last.safetensors")" = "$stamp" ] || break
      sleep 0.05
    done
    victim=$(pgrep -f "^$mica train.*--out $work/$task-killed" | sed -n "$((kills % 2 + 1))p")
    [ "$kills" -gt 0 ] && [ "$victim" ] && kill -KILL "$victim" 2>/dev/null
    begun=$(date +%s)
    wait $launcher
    status=$?
    [ $(($(date +%s) - begun)) -lt 190 ] || fault "$task: it hangs behind SIGKILL"
    [ $status != 0 ] || break
    kills=$((kills - 1))
    [ "$kills" -ge 0 ] || { fault "$task: $(cat "$work/out")" && break; }
    resume=--resume
  done
  [ "$resume" ] || fault "$task: no rank was killed"
  cmp "$work/$task-whole/last.safetensors" "$work/$task-killed/last.safetensors" || fault "$task: other weights"
}
awk 'BEGIN {
  print "user,item,timestamp"
  for (u = 0; u < 60; u++) for (k = 0; k < 4 + u % 9; k++) print "u" u ",i" (u * 5 + k) % 20 "," k
}' >"$work/taken.csv"
kept recommend --data "$work/taken.csv" --objective ranking --model sasrec --width 8 --context 8 --batch 16 \
  --epochs 30 --checkpoint-steps 7
mkdir "$work/tones"
make_tones "$work/tones" 48 1 >"$work/tones/train.tsv"
if "$mica" version | grep -q MICA_WITH_SNDFILE=1; then
  kept speech --data "$work/tones" --filters 4 --width 16 --mels 16 --batch 8 --warm-up 10 --epochs 8 \
    --checkpoint-steps 5
else
  echo 'speech: no rank of it is killed: this build lacks libsndfile'
fi

# --- a rank that never arrives: each of the two, stopped before it can join ---
for late in 0 1; do
  # shellcheck disable=SC2016 # the ranks' shells expand it
  timeout 60 mpirun -n 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = "$0" ] && kill -STOP $$; exec "$@"' $late \
    "$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --watchdog 2 --quiet \
    --out "$work/late" >"$work/out" 2>"$work/err"
  status=$?
  [ $status = 1 ] || fault "rank $late never came: exit status $status: $(cat "$work/err")"
  grep -q "^mica train: rank $((1 - late)): the other ranks did not start within 2 s (--watchdog)" "$work/err" ||
    fault "rank $late never came: $(cat "$work/err")"
done

# --- a rank that is killed, or hangs ---
lose() {
  rm -rf "$work/lost"
  timeout 100 mpirun -n 2 "$mica" train --task classify --model mlp --batch 48 --data "$work/data.csv" --epochs 4000 \
    --checkpoint-steps 20 --quiet --watchdog "${3:-3}" --out "$work/lost" >"$work/out" 2>"$work/err" &
  launcher=$!
  i=0
  while [ ! -e "$work/lost/last.safetensors" ] && [ $((i += 1)) -lt 300 ]; do sleep 0.1; done
  victim=$(pgrep -f "^$mica train.*--out $work/lost" | sed -n "$2p")
  kill -"$1" "$victim" || fault "there is no rank to lose"
  begun=$(date +%s)
  [ ! "${4:-}" ] || kill -TERM "$(pgrep -f "^$mica train.*--out $work/lost" | grep -vx "$victim")"
  wait $launcher
  status=$?
  kill -CONT "$victim" 2>/dev/null
  kill -KILL "$victim" 2>/dev/null
  took=$(($(date +%s) - begun))
  [ $status != 0 ] && [ $status != 124 ] || fault "exit status $status behind SIG$1"
  [ $took -lt 20 ] || fault "$took seconds behind SIG$1"
  grep -q 'rank [01]\|another rank' "$work/err" || fault "no sentence behind SIG$1: $(cat "$work/err")"
}
kills=${MICA_TEST_KILLS:-2}
while [ "$kills" -gt 0 ]; do
  lose KILL $((kills % 2 + 1))
  timeout 60 "$mica" train --resume --epochs 1 --quiet --out "$work/lost" >"$work/out" 2>&1 ||
    grep -q "nothing is left" "$work/out" || fault "a run whose rank was killed is not resumed: $(cat "$work/out")"
  kills=$((kills - 1))
done
# A rank that is asked to end takes the others along: one sentence, and a checkpoint of all that was done.
lose TERM 2
[ $status = 143 ] || fault "exit status $status behind SIGTERM"
[ "$(grep -c '^stopped: by another rank; the checkpoint is written' "$work/err")" = 1 ] ||
  fault "SIGTERM at one rank: $(cat "$work/err")"
grep -q '^mica' "$work/err" && fault "more than a sentence: $(cat "$work/err")"
timeout 60 "$mica" train --resume --epochs 1 --quiet --out "$work/lost" >"$work/out" 2>&1 ||
  grep -q "nothing is left" "$work/out" || fault "SIGTERM at one rank left no checkpoint: $(cat "$work/out")"

# One that is asked to end while the other hangs does not wait for the watchdog.
lose STOP 2 90 asked
grep -q 'rank [01] was asked to stop at step [0-9]*, but rank [01] does not answer' "$work/err" ||
  fault "SIGTERM at one rank while the other hangs: $(cat "$work/err")"

lose STOP 2
grep -q 'step [0-9]*: .*rank 1 has sent nothing for 3 seconds' "$work/err" ||
  fault "a rank that hangs: $(cat "$work/err")"

exit $failed
