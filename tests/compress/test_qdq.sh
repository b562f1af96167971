#!/bin/sh
# labels: oracle device slow
#
# A quantised run as a model in ONNX, and a quantised model: pairs of QuantizeLinear and DequantizeLinear, of which
# onnxruntime makes the same answers. qdq.py makes the data and compares.
set -eu
cd "$(dirname "$0")/../.."
mica=${MICA_BUILD_DIR:-build}/bin/mica
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || {
  echo "SKIP: $python has no numpy, onnx and onnxruntime"
  exit 77
}
"$mica" devices >/dev/null 2>&1 || { echo 'SKIP: no device'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/compress/qdq.py make "$folder"
"$mica" train --task classify --data "$folder/data" --model cnn --epochs 4 --quiet --out "$folder/run"
"$mica" quantize "$folder/run" --data "$folder/data" --out "$folder/run8" >/dev/null
"$mica" export "$folder/run8" --onnx "$folder/model.onnx" >/dev/null
"$mica" predict --model "$folder/run8" --data "$folder/data" --count 400 --json >"$folder/answers.json"
"$python" tests/compress/qdq.py compare "$folder"
# The float run as a model that is quantised itself, by the data and by the arrays that it takes.
"$mica" export "$folder/run" --onnx "$folder/float.onnx" >/dev/null
for data in data arrays; do
  rm -f "$folder/model.onnx"
  "$mica" quantize "$folder/float.onnx" --data "$folder/$data" --out "$folder/model.onnx" >/dev/null
  "$mica" predict --model "$folder/model.onnx" --data "$folder/data" --count 400 --json >"$folder/answers.json"
  "$python" tests/compress/qdq.py compare "$folder"
  [ "$data" = arrays ] || "$python" tests/compress/qdq.py arrays "$folder"
done
