#!/bin/sh
# labels: device long oracle
# Volumes that are segmented by the task's U-Net, and by the same network in PyTorch with the same budget: the means of
# Dice over three seeds, of volumes that neither was trained on, are at most one point below PyTorch's.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import torch, numpy' 2>/dev/null || { echo 'SKIP: no PyTorch'; exit 77; }
here=$(dirname "$0")
epochs=24

"$python" "$here/volumes_torch.py" make "$work/data" || exit 1
for seed in 1 2 3; do
  run train --data "$work/data" --width 8 --depth 2 --window 16 --windows 1 --batch 2 --lr 0.005 --validation 0 \
    --epochs $epochs --seed $seed --json --quiet --out "$work/run$seed"
  ends 0 '{"task":"segment_volumes","part":"test"*' '*'
  dice=$(json metrics.dice)
  peer=$("$python" "$here/volumes_torch.py" train "$work/data" $epochs $seed) || fault 'PyTorch failed'
  echo "seed $seed: Dice $dice, PyTorch's $peer"
  echo "$dice $peer" >>"$work/dice"
done
awk '{ own += $1 / 3; peer += $2 / 3 } END {
  printf "means: %.4f, PyTorch %.4f\n", own, peer
  exit !(NR == 3 && own >= peer - 0.01)
}' "$work/dice" || fault 'more than a point below PyTorch'

exit $failed
