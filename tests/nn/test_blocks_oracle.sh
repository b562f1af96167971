#!/bin/sh
# labels: oracle single
#
# blocks.safetensors, with which nn.blocks compares, is what transformers computes today.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import torch, transformers, safetensors' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with torch, transformers and safetensors'; exit 77; }
"$MICA_ORACLE_PYTHON" "$here/blocks_oracle.py" --compare "$here/blocks.safetensors"
