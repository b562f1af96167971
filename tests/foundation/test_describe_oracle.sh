#!/bin/sh
# labels: oracle single
#
# What Mica reads of config.json beside transformers: small models of every family are saved by save_pretrained, and
# each field, layer by layer, and each bias is as the package's model has it.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import torch, transformers' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with torch and transformers'; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/describe.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$MICA_ORACLE_PYTHON" "$here/describe_oracle.py" "$MICA_BUILD_DIR/bin/tests/weights_tool" "$work"
