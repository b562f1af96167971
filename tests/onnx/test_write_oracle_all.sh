#!/bin/sh
# labels: oracle device long
#
# All networks that Mica writes as models in ONNX, small and as published, beside onnx's checker and onnxruntime. One
# after the other, said with its seconds and removed; where caches are empty, most of the time is compiling.
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
networks=$(sed -n 's/^    {"\([a-z0-9_]*\)", .*/\1/p' tests/onnx/test_write_networks.c)
[ "$(echo "$networks" | wc -l)" -ge 14 ]
for full in '' 1; do
  for network in $networks; do
    begin=$(date +%s)
    env MICA_WRITE_ALL="$network" ${full:+MICA_WRITE_FULL=1} MICA_WRITE_FOLDER="$folder" \
      "$build/bin/tests/test_onnx_write_networks" >"$folder/log" 2>&1 || {
      cat "$folder/log"
      exit 1
    }
    "$python" tests/onnx/write_oracle.py "$folder"
    echo "$network${full:+, as published}: $(($(date +%s) - begin)) s"
    rm -f "$folder"/*
  done
done
