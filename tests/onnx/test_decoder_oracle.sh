#!/bin/sh
# labels: oracle device slow
#
# Operators of com.microsoft that decoders are made of give what onnxruntime gives, with some 250 random settings:
# decoder_cases.py makes them and compares.
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
"$python" tests/onnx/decoder_cases.py write "$folder" 2>/dev/null
for case in "$folder"/*/; do
  set --
  for input in "$case"in_*.npy; do
    name=${input##*/in_}
    set -- "$@" --input "${name%.npy}=$input"
  done
  "$build/bin/mica" run "$case/model.onnx" "$@" --out "$case/out" >/dev/null || true
done
"$python" tests/onnx/decoder_cases.py judge "$folder"
