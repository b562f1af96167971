#!/bin/sh
# labels: oracle device
# The gradients of networks that join several inputs, beside PyTorch's: a step of gradient descent over all rows, from
# weights that fuse_torch.py makes.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import safetensors, torch' 2>/dev/null || {
  echo "SKIP: $python has no safetensors and torch"
  exit 77
}
compare() { "$python" "$(dirname "$0")/fuse_torch.py" "$work" "$@"; }

rate=0.5
compare weights concat attention
for join in concat attention; do
  run train --task fuse --data "$work/rows.csv" --label kind --join $join --init "$work/$join.safetensors" --width 8 \
    --heads 2 --dropout 0 --optimizer sgd --lr $rate --schedule constant --weight-decay 0 --clip-norm 0 --batch 64 \
    --epochs 1 --validation 0 --quiet --out "$work/run-$join"
  ends 0 '*' '*'
  compare compare $join $rate || fault "$join: other gradients"
done

exit $failed
