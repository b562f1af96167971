#!/bin/sh
# labels: device
# Models in ONNX: described, run on inputs of files and on random ones, checked against recorded outputs; wrong files
# and wrong words end with a sentence.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

# y = max(x, 0) of x (n, 2), and the same with an operator that nobody has.
{
  printf '\010\010\072\075\012\014\012\001x\022\001y\042\004Relu\022\001gZ\024\012\001x\022\017\012\015\010'
  printf '\001\022\011\012\003\022\001n\012\002\010\002b\024\012\001y\022\017\012\015\010\001\022\011\012'
  printf '\003\022\001n\012\002\010\002B\004\012\000\020\021'
} >"$work/relu.onnx"
sed 's/Relu/Rule/' "$work/relu.onnx" >"$work/rule.onnx"
run info "$work/relu.onnx"
[ "$err" != "${err#*no protobuf-c}" ] && { echo 'this build has no protobuf-c'; exit 77; }
ends 0 'model     operator set 17, IR version 8*input     x: float (n, 2)*output    y: float (n, 2)*1  Relu' ''
run info "$work/relu.onnx" --json
ends 0 '*' ''
holds inputs.0.name x
holds inputs.0.shape.0 n
holds inputs.0.shape.1 2
holds operators.0.name Relu
holds operators.0.supported true
holds opset 17
run info "$work/rule.onnx"
ends 0 '*Rule  is not supported*the model cannot run' ''

# npy in, npy out: -1.5 and 2 become 0 and 2.
header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
npy() { printf '\223NUMPY\001\000v\000%-117s\n' "$header" && printf "$1"; }
npy '\000\000\300\277\000\000\000\100' >"$work/x.npy"
npy '\000\000\000\000\000\000\000\100' >"$work/want.npy"
run run "$work/relu.onnx" --input "x=$work/x.npy" --out "$work/results"
ends 0 'y * f32 (1, 2)' ''
cmp "$work/results/0_y.npy" "$work/want.npy" || fault 'another result'
run run "$work/relu.onnx" --shape x=3x2 --repeat 3 --json
ends 0 '*' ''
holds outputs.0.shape.0 3
holds outputs.0.dtype f32
holds median_ms '*'

run run
ends 2 '' 'mica run: MODEL is missing; mica run --help shows the usage'
run run "$work/none.onnx"
ends 1 '' "mica run: *none.onnx*"
run run "$work/rule.onnx"
ends 1 '' 'mica run: *needs operators that are not supported: Rule (version 17)'
run run "$work/relu.onnx" --input "z=$work/x.npy"
ends 1 '' 'mica run: "z=*" names no input of the model; it has x'
run run "$work/relu.onnx" --input "x=$work/relu.onnx"
ends 1 '' 'mica run: *relu.onnx is no npy file'
run run "$work/relu.onnx" --shape x=3xtwo
ends 1 '' 'mica run: --shape wants NAME=2x3x224x224, not "3xtwo"'
run run "$work/relu.onnx" --shape x=3x3
ends 1 '' "mica run: *input 'x' has shape (?, 2), and was fed (3, 3)"
run run "$work/relu.onnx" --check "$work"
ends 1 '' 'mica run: 0 of 1 sets are right; *'
run run --check "$work/none"
ends 1 '' 'mica run: there is no folder *none'
head -c 40 "$work/relu.onnx" >"$work/cut.onnx"
run info "$work/cut.onnx"
ends 1 '' 'mica info: *cut.onnx: byte *: a length beyond the end in a message ModelProto'

# Recorded outputs, where the material lies beside the project.
models=$MICA_SOURCE_DIR/../shared/onnx/models
[ -d "$models" ] || exit "$failed"
run run "$models/squeezenet11_fp16/model.onnx" --check "$models/squeezenet11_fp16"
ends 0 '3 of 3 sets are right' ''
mkdir "$work/some" && ln -s "$models/mnist_pytorch_mlp" "$models/tfl_helloworld_sin" "$work/some"
run run --check "$work/some" --json
ends 0 '*' ''
holds right 2
holds all 2

exit "$failed"
