#!/bin/sh
# labels: oracle device slow
#
# Exports of scikit-learn and LightGBM give what onnxruntime gives: ml_cases.py makes them and compares.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import lightgbm, onnxmltools, onnxruntime, skl2onnx, sklearn' 2>/dev/null || {
  echo "SKIP: $python has no scikit-learn, skl2onnx, lightgbm, onnxmltools and onnxruntime"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/onnx/ml_cases.py write "$folder" 2>/dev/null
for case in "$folder"/*/; do
  name=$(cat "$case/input")
  "$build/bin/mica" run "$case/model.onnx" --input "$name=$case/x.npy" --out "$case/out" >/dev/null || true
done
"$python" tests/onnx/ml_cases.py judge "$folder"
