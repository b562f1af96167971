#!/bin/sh
# labels: device single
# mica train --lora: an adapter of a published model that learns conversations, goes on after a stop to the same bytes,
# and is used by generate and merge; and bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
model=$MICA_SOURCE_DIR/tests/golden/foundation/chat

for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
  printf '{"messages": [{"role": "user", "content": "Name %d colours."}, ' "$i"
  printf '{"role": "assistant", "content": "red"}]}\n'
done >"$work/chats.jsonl"
train() { run train --task language --data "$work/chats.jsonl" --init "$model" --context 64 --lr 2e-2 "$@"; }

train --lora rank=16,recompute --epochs 20 --out "$work/a" --json
case $err in *cJSON*) echo 'SKIP: no cJSON'; exit 77 ;; esac
ends 0 '{"task":"language","adapter":"*/a","conversations":16,"loss":*}' '*epoch 20/20*'
loss=$(printf '%s' "$out" | sed 's/.*"loss"://; s/}//')
awk -v loss="$loss" 'BEGIN { exit !(loss < 0.5) }' || fault "the last loss is $loss"
[ -s "$work/a/adapter_config.json" ] && [ -s "$work/a/adapter_model.safetensors" ] || fault 'the adapter is not there'

# A killed training ends with the same bytes.
lora='rank=4,alpha=8,dropout=0.1,targets=q_proj+v_proj'
train --lora $lora --epochs 30 --seed 3 --out "$work/whole" --quiet
ends 0 '' ''
train --lora $lora --epochs 30 --seed 3 --out "$work/whole"
ends 1 '' '*has an adapter already; continue it with --resume, or*'
train --lora $lora --epochs 30 --seed 3 --out "$work/chats.jsonl"
ends 1 '' "mica train: cannot write to the folder $work/chats.jsonl: Not a directory"
"$mica" train --data "$work/chats.jsonl" --init "$model" --context 64 --lr 2e-2 --lora $lora --epochs 30 --seed 3 \
  --out "$work/killed" --quiet &
pid=$!
for _ in $(seq 600); do
  [ "$(wc -l 2>/dev/null <"$work/killed/history.csv" || echo 0)" -lt 3 ] || break
  sleep 0.1
done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
train --lora $lora --epochs 30 --seed 3 --out "$work/killed" --resume --quiet
ends 0 '' ''
cmp "$work/whole/adapter_model.safetensors" "$work/killed/adapter_model.safetensors" || fault 'the bytes differ'

# Two ranks with halves of each batch train the adapter of one: devices of a process, and processes.
train --lora rank=4 --epochs 3 --batch 2 --out "$work/one" --json
ends 0 '{*}' '*'
one=$(printf '%s' "$out" | sed 's/.*"loss"://; s/}//')
train --lora rank=4 --epochs 3 --batch 2 --devices 0:0/2 --out "$work/two" --json
ends 0 '{"task":"language","adapter":"*/two","conversations":16,"loss":*}' '*ranks     2*'
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-3 && d > -1e-3) }'; }
near "$one" "$(printf '%s' "$out" | sed 's/.*"loss"://; s/}//')" || fault "two devices: $out, one: $one"
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_hwloc_base_binding_policy=none
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=^tcp
  # Open MPI ends without giving back what it began with.
  got=$(ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" timeout 120 mpirun -n 2 "$mica" train \
    --data "$work/chats.jsonl" --init "$model" --context 64 --lr 2e-2 --lora rank=4 --epochs 3 --batch 2 \
    --out "$work/processes" --json --quiet) || fault 'two processes'
  near "$one" "$(printf '%s' "$got" | sed 's/.*"loss"://; s/}//')" || fault "two processes: $got, one: $one"
  [ -s "$work/processes/adapter_model.safetensors" ] || fault 'two processes write no adapter'
fi
train --lora rank=4 --batch 1 --devices 0:0/2 --out "$work/b"
ends 1 '*' '*shard*'

run generate --model "$model" --adapter "$work/a" --prompt 'Name 3 colours.' --length 4 --temperature 0
ends 0 '*' ''
run merge "$model" "$work/a" "$work/merged"
ends 0 '*written*' ''

train --lora rank=0 --out "$work/b"
ends 2 '' '*rank wants a whole number from 1 to 1024*'
train --lora depth=3 --out "$work/b"
ends 2 '' '*--lora wants rank=N*'
train --lora rank=4,targets=nothing --out "$work/b"
ends 1 '*' '*nothing*'
train --lora rank=4 --augment flip --out "$work/b"
ends 2 '' '*--augment is not for --lora*'
train --lora rank=4 --parallel tensor --out "$work/b"
ends 2 '' '*--parallel is not for --lora*'
run train --data "$work/chats.jsonl" --lora rank=4 --out "$work/b"
ends 2 '' '*--init MODEL*'
run train --init "$model" --lora rank=4 --out "$work/b"
ends 2 '' '*--data CHATS.jsonl*'
run train --data "$work/chats.jsonl" --init "$work" --lora rank=4 --out "$work/b"
ends 1 '' '*is not a published model*'
run train --task text --data "$work/chats.jsonl" --init "$model" --lora rank=4 --out "$work/b"
ends 2 '' '*--lora is for --task language*'
: >"$work/empty.jsonl"
run train --data "$work/empty.jsonl" --init "$model" --lora rank=4 --out "$work/b"
ends 1 '' '*empty.jsonl is an empty file'
run predict --model "$work/a" --text hello
ends 1 '' "*a holds an adapter, not a training run: mica chat MODEL --adapter $work/a uses it"
run train --data "$work/chats.jsonl" --init "$model" --out "$work/b"
ends 2 '' '*chats.jsonl: to train on conversations*--lora*'
mkdir "$work/folder.jsonl"
run train --data "$work/folder.jsonl" --out "$work/b"
ends 1 '' '*folder.jsonl*'
run train --task language --data "$work/chats.jsonl" --epochs 1 --context 16 --width 16 --layers 1 --heads 2 \
  --out "$work/bytes"
ends 0 '*' '*'
run train --data "$work/none.jsonl" --init "$model" --lora rank=4 --out "$work/b"
ends 1 '' '*none.jsonl*'
exit $failed
