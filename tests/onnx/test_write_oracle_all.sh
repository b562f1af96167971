#!/bin/sh
# labels: oracle device long
#
# All networks that Mica writes as models in ONNX, small and as published, beside onnx's checker and onnxruntime.
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
for how in 1 full; do
  mkdir "$folder/$how"
  MICA_WRITE_ALL=$how MICA_WRITE_FOLDER=$folder/$how "$build/bin/tests/test_onnx_write_networks"
  "$python" tests/onnx/write_oracle.py "$folder/$how"
done
