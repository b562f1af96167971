#!/bin/sh
# labels: oracle device slow
#
# Every node test of the onnx package that MICA_ORACLE_PYTHON has: 97 % of those that are not refused by design are
# right, and none is wrong that node_cases.known does not list. The table of attributes agrees with its schemas.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnx.backend.test.case.node' 2>/dev/null || {
  echo "SKIP: $python has no numpy and onnx"
  exit 77
}
"$python" tests/onnx/attribute_rows.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/onnx/node_cases.py write "$folder"
"$build/bin/mica" run --check "$folder" >"$folder/said" 2>&1 || [ $? = 1 ]
"$python" tests/onnx/node_cases.py judge tests/onnx/node_cases.known <"$folder/said"
