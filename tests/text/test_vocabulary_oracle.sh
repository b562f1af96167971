#!/bin/sh
# labels: oracle
# Tokenisers of published GGUF files (MICA_GGUF_FILES, separated by spaces) beside transformers, on 3,347 texts.
set -eu
: "${MICA_ORACLE_PYTHON:=}" "${MICA_GGUF_FILES:=}"
texts=${MICA_TEST_DATA:-/nowhere}/golden/tokenizers/texts.tsv
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import transformers, gguf' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with transformers and gguf'; exit 77; }
[ "$MICA_GGUF_FILES" ] || { echo 'SKIP: no MICA_GGUF_FILES'; exit 77; }
[ -e "$texts" ] || { echo 'SKIP: no golden/tokenizers in MICA_TEST_DATA'; exit 77; }
# shellcheck disable=SC2086
"$MICA_ORACLE_PYTHON" "$(dirname "$0")/vocabulary_oracle.py" "$MICA_BUILD_DIR/lib/libmica.so" "$texts" $MICA_GGUF_FILES
