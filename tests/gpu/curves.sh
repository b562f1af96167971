#!/bin/sh
# sh tests/gpu/curves.sh [TYPE.NETWORK...]: do networks learn on the device of MICA_DEVICE what they learn elsewhere?
#
# mica train trains networks (f32 and bf16 of cnn, resnet18 and gpt) from the same seed on data that make_data.c makes,
# and a line of JSON each has the mean loss of the last epoch. A loss in bf16 must be within 2 % of that in f32;
# tests/gpu/expected has the losses of a CPU. If the Python of MICA_BENCH_PYTHON (python3) has PyTorch, it trains cnn
# and resnet18 on the same pictures in the same way, from weights of its own.
#
# Environment: build, the build folder; out, for the results. Exit status: 0 good, 1 not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${build:?the build folder} out=${out:?a folder}
[ $# -gt 0 ] || set -- f32.cnn bf16.cnn f32.resnet18 bf16.resnet18 f32.gpt bf16.gpt
python=${MICA_BENCH_PYTHON:-python3}
work=$(mktemp -d "$out/curves.XXXXXX")
trap 'rm -rf "$work"' EXIT
${CC:-cc} -o "$work/make_data" "$here/make_data.c"
"$work/make_data" "$work"

# ResNet-18 learns the random labels by heart in a third epoch.
epochs_of() { [ "$1" = resnet18 ] && echo 2 || echo 3; }

status=0
for case; do
  type=${case%%.*} network=${case#*.}
  data=$work/pictures task=classify
  [ "$network" != gpt ] || data=$work/text/text.txt task=language
  "$build/bin/mica" train --data "$data" --task $task --model "$network" --precision "$type" --optimizer adam \
    --lr 0.001 --schedule constant --seed 1 --epochs "$(epochs_of "$network")" --quiet --out "$work/$case"
  awk -F , -v network="$network" -v type="$type" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") column = i }
    END { printf "{\"bench\":\"curves\",\"model\":\"%s\",\"dtype\":\"%s\",\"loss\":%s}\n", network, type, $column }
  ' "$work/$case/history.csv" | tee -a "$work/losses"
done
awk -F '[":,{}]+' '{ loss[$7, $5] = $9; networks[$5] }
  END {
    for (n in networks) {
      if (!(("f32", n) in loss) || !(("bf16", n) in loss)) continue
      off = loss["bf16", n] / loss["f32", n] - 1
      # Some awks find nan neither smaller nor larger.
      wrong = loss["bf16", n] loss["f32", n] ~ /nan/ || off < -0.02 || off > 0.02
      printf "%s: bf16 is %+.2f %% from f32%s\n", n, 100 * off, wrong ? ", more than 2 %" : ""
      bad += wrong
    }
    exit bad > 0
  }' "$work/losses" || status=1
if "$python" -c 'import torch' 2>/dev/null; then
  for case; do
    network=${case#*.}
    [ "$network" = gpt ] || "$python" "$here/../bench/peers/torch_curves.py" "$work/pictures" "$network" \
      "${case%%.*}" "$(epochs_of "$network")"
  done
fi
exit $status
