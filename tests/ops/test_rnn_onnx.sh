#!/bin/sh
# labels: oracle device
#
# What ONNX's recurrent operators have beyond PyTorch's (peepholes, clip, functions, linear_before_reset 0,
# input_forget) beside onnxruntime: test_rnn_onnx.py makes the cases, test_ops_rnn compares.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime, safetensors' 2>/dev/null || {
  echo "SKIP: $python has no numpy, onnx, onnxruntime and safetensors"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/ops/test_rnn_onnx.py "$folder/cases.safetensors"
MICA_RNN_CASES=$folder/cases.safetensors "$build/bin/tests/test_ops_rnn"
