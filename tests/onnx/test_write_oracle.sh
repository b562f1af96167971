#!/bin/sh
# labels: oracle device slow
#
# Networks that Mica writes as models in ONNX, one of each kind, beside onnx's checker and onnxruntime.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || {
  echo "SKIP: $python has no numpy, onnx and onnxruntime"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
MICA_WRITE_FOLDER=$folder "$build/bin/tests/test_onnx_write_networks"
"$python" tests/onnx/write_oracle.py "$folder"
