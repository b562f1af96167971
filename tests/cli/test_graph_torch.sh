#!/bin/sh
# labels: oracle device slow
# Training on graphs beside PyTorch Geometric, from the same weights: the karate club's members, and molecules that
# graph_torch.py makes. Losses and accuracies of each epoch must be equal. `graph_torch.py FOLDER time` measures
# steps, by hand.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import safetensors, torch_geometric' 2>/dev/null || {
  echo "SKIP: $python has no safetensors and torch_geometric"
  exit 77
}
peer() { "$python" "$(dirname "$0")/graph_torch.py" "$work" "$@"; }

# train DATA MODEL OPTIMIZER RATE BATCH: all training samples are one batch.
runs=''
train() {
  run train --task graph --data "$work/$1" --model "$2" --init "$work/$1-$2.safetensors" --width 16 --heads 4 \
    --dropout 0 --optimizer "$3" --lr "$4" --schedule constant --weight-decay 0 --clip-norm 0 \
    --batch "$5" --epochs 60 --quiet --out "$work/run-$1-$2"
  ends 0 '*' '*'
  runs="$runs $1-$2"
}

# Adam divides each gradient by its size, so gradients that are only rounding become large steps: gat's of a lone atom,
# gin's when the loss is almost 0. These take gradient descent.
peer write || fault 'no data'
train karate gcn adam 0.01 4
train karate gat sgd 0.5 4
train karate gin sgd 0.05 4
train molecules gcn adam 0.01 192
train molecules gat sgd 0.5 192
train molecules gin sgd 0.02 192
# shellcheck disable=SC2086
peer compare $runs || fault 'not as PyTorch Geometric'

exit $failed
