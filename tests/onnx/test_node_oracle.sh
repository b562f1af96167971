#!/bin/sh
# labels: oracle device slow
#
# Every node test of the onnx package that MICA_ORACLE_PYTHON has: 97 % of those that are not refused by design are
# right, and none is wrong that node_cases.known does not list. The table of attributes agrees with its schemas.
#
# With empty caches this takes an hour on two cores. MICA_ORACLE_FOLDER=FOLDER keeps the cases and what was said of
# them there: a run that was ended goes on after its last whole part. Empty the folder after changes of Mica.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnx.backend.test.case.node' 2>/dev/null || {
  echo "SKIP: $python has no numpy and onnx"
  exit 77
}
"$python" tests/onnx/attribute_rows.py
folder=${MICA_ORACLE_FOLDER:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
if [ ! -e "$folder/written" ]; then
  "$python" tests/onnx/node_cases.py write "$folder"
  : >"$folder/written"
fi
for part in "$folder"/part-??; do
  [ ! -e "$part.said" ] || continue
  "$build/bin/mica" run --check "$part" >"$part.now" 2>&1 || [ $? = 1 ]
  mv "$part.now" "$part.said"
done
cat "$folder"/part-??.said | "$python" tests/onnx/node_cases.py judge tests/onnx/node_cases.known
