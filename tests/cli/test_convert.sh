#!/bin/sh
# labels: device single
# mica convert: weights of a known network as a model in ONNX and back, with bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) printf "%.3f,%.3f,%.3f,%d\n", rand(), rand(), i % 2 + rand(), i % 2 }' \
  >"$work/table.csv"
run train --data "$work/table.csv" --model mlp --epochs 1 --batch 20 --out "$work/run"
ends 0 '*' '*'
weights=$work/run/model.safetensors
model=$work/model.onnx

run convert "$weights" "$model"
ends 2 '' '*--model NAME is missing*'
run convert "$weights" "$model" --model nosuch
ends 2 '' '*--model cannot be "nosuch"; mica convert --help lists the networks'
run convert "$weights" "$model" --model mlp --shape 3xx
ends 2 '' '*--shape must be the shape of a sample*'
run convert "$weights" "$work/other.safetensors"
ends 2 '' '*one of IN and OUT must end in .onnx*'
run convert "$work/run" "$model"
ends 2 '' '*mica export RUN*'
run convert "$work/none.safetensors" "$model" --model mlp
ends 1 '' '*none.safetensors*'
run convert "$weights" "$model" --model mlp --shape 4
ends 1 '' '*fc1.weight*'
# Weights of a network whose layers are called alike, of other sizes; and of one that has more of them.
echo 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mMQERUTl5CUkmagjAEA0ngF4aNBsOoAAAAASUVORK5CYII=' |
  base64 -d >"$work/picture.png"
for kind in 0 1; do mkdir -p "$work/pictures/$kind" && cp "$work/picture.png" "$work/pictures/$kind"; done
run train --data "$work/pictures" --model cnn --width 8 --epochs 1 --quiet --out "$work/cnn"
ends 0 '' ''
other() {
  run convert "$work/cnn/model.safetensors" "$model" "$@"
  case $err in *mica_*) fault 'speaks of a function' ;; esac
}
other --model resnet18
ends 1 '' "*model.safetensors belongs to another network than resnet18: the file has no tensor 'bn1.weight'"
other --model mlp --shape 1x8x8
ends 1 '' "*model.safetensors belongs to another network than mlp, which has no tensor 'conv[12].weight'"
[ ! -e "$model" ] || fault 'a model was written all the same'

# Published models as GGUF files, from a folder and from a file.
golden=$(cd "$(dirname "$0")/.." && pwd)/golden/foundation
run convert "$golden/llama" "$work/m.gguf"
ends 0 '*written*m.gguf: 21 tensors, 0 of a new type*' ''
run convert "$golden/llama" "$work/m.gguf" --type q8_0
ends 1 '' '*m.gguf is there already*'
run convert "$golden/llama" "$work/m.gguf" --type q8_0 --force
ends 0 '*written*m.gguf: 21 tensors*' ''
run convert "$work/m.gguf" "$work/m.gguf" --force
ends 1 '' '*is the model itself*'
run info "$work/m.gguf" --json
ends 0 '*llama.block_count**' ''
run convert "$work/m.gguf" "$work/n.gguf" --type q99
ends 1 '' '*"q99" of weights is unknown; known are f32*'
run convert "$weights" "$work/n.gguf"
ends 2 '' '*published model*'
run convert "$golden/llama" "$work/n.onnx" --type q8_0
ends 2 '' '*--type is for*gguf*'
run quantize "$golden/llama" --out "$work/q.gguf" --bits 4 --json
ends 0 '*"tensors":21*' ''
run quantize "$golden/llama" --out "$work/q"
ends 2 '' '*--out must be a file that ends in .gguf*'
run quantize "$golden/llama" --out "$work/r.gguf" --bits 5
ends 2 '' '*--bits must be 8 or 4*'
run quantize "$golden/llama" --out "$work/r.gguf" --data "$work"
ends 2 '' '*is quantised without data*'
[ ! -e "$work/n.gguf" ] && [ ! -e "$work/r.gguf" ] || fault 'a model was written all the same'

run convert "$weights" "$model" --model mlp --shape 3
[ "$err" != "${err#*needs protobuf-c}" ] && { echo 'this build has no protobuf-c'; exit 77; }
ends 0 '*written*model.onnx*' ''
run convert "$weights" "$model" --model mlp --shape 3
ends 1 '' '*is there already; --force writes over it*'
run convert "$weights" "$model" --model mlp --shape 3 --force
ends 0 '*written*' ''
run convert "$model" "$work/back.safetensors"
ends 0 '*back.safetensors: 4 tensors*' ''
run convert "$work/back.safetensors" "$work/again.onnx" --model mlp --shape 3
ends 0 '*' ''
cmp "$model" "$work/again.onnx" || fault 'there and back it is another model'
exit $failed
