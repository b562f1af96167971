#!/bin/sh
# labels: oracle device slow
#
# Models whose shapes, trips and branches come from data, beside onnxruntime: flow_cases.py makes them with what
# onnxruntime gives, mica run --check compares.
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
"$python" tests/onnx/flow_cases.py "$folder"
"$build/bin/mica" run --check "$folder"
