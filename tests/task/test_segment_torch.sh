#!/bin/sh
# labels: device long oracle
# Membranes in electron microscopy by the task's default settings: Dice on slices that were held out, and beside the
# same network in PyTorch with the same budget (width 16, 60 epochs each).
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
data=${MICA_TEST_DATA:-/nowhere}/data/isbi_membrane
[ -d "$data" ] || { echo 'SKIP: no pictures beside the project'; exit 77; }
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import torch, numpy, PIL' 2>/dev/null || { echo 'SKIP: no PyTorch'; exit 77; }

# at_least METRIC VALUE
at_least() {
  awk -v d="$(json "metrics.$1")" -v least="$2" 'BEGIN { exit !(d >= least) }' || fault "$1 is $(json "metrics.$1")"
}

run train --task segment --data "$data" --json --quiet --out "$work/default"
ends 0 '{"task":"segment","part":"validation"*' ''
at_least dice_0 0.80   # membranes
at_least dice_255 0.95 # cells

# Both get these slices.
for part in train val; do mkdir -p "$work/split/$part/image" "$work/split/$part/label"; done
for picture in "$data"/train/image/*.png; do
  name=${picture##*/}
  case $name in 10.png | 12.png | 24.png) part='val' ;; *) part='train' ;; esac
  ln -s "$picture" "$work/split/$part/image/$name"
  ln -s "$data/train/label/$name" "$work/split/$part/label/$name"
done
run train --task segment --data "$work/split" --width 16 --epochs 60 --json --quiet --out "$work/narrow"
ends 0 '{"task":"segment","part":"validation"*' ''
"$python" "$(dirname "$0")/segment_torch.py" "$work/split" 60 >"$work/peer" || fault 'PyTorch failed'
{ read -r membranes && read -r cells; } <"$work/peer"
echo "membranes $(json metrics.dice_0), PyTorch's $membranes; cells $(json metrics.dice_255), PyTorch's $cells"
at_least dice_0 "$(awk -v d="$membranes" 'BEGIN { print d - 0.01 }')"
at_least dice_255 "$(awk -v d="$cells" 'BEGIN { print d - 0.01 }')"

exit $failed
