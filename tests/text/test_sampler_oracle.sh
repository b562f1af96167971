#!/bin/sh
# labels: oracle
# Each step of a sampler beside its formula in numpy, on 1,000 rows of logits.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import numpy' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with numpy'; exit 77; }
"$MICA_ORACLE_PYTHON" "$here/sampler_oracle.py" "$MICA_BUILD_DIR/lib/libmica.so"
