#!/bin/sh
# labels: oracle single
#
# rotary_scalings.def, with which foundation.rotary compares, is what transformers computes today.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import torch, transformers' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with torch and transformers'; exit 77; }
"$MICA_ORACLE_PYTHON" "$here/rotary_oracle.py" --compare "$here/rotary_scalings.def"
