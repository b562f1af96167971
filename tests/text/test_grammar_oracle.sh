#!/bin/sh
# labels: oracle
# Grammars beside jsonschema (64 schemas, 50 random walks each) and, with llguidance and MICA_TEST_GGUF (a file with a
# byte-level vocabulary, such as SmolLM2's), masks beside llguidance's.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import jsonschema' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with jsonschema'; exit 77; }
# shellcheck disable=SC2086
"$MICA_ORACLE_PYTHON" "$here/grammar_oracle.py" "$MICA_BUILD_DIR/lib/libmica.so" "$here/schemas.json" \
  ${MICA_TEST_GGUF:+"$MICA_TEST_GGUF"}
