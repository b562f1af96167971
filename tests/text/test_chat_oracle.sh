#!/bin/sh
# labels: oracle
# Chat templates beside transformers: the cases of chat_cases.json, and published templates (a folder of *.jinja in
# MICA_CHAT_TEMPLATES; the source package llama-cpp-python has one, vendor/llama.cpp/models/templates) in 14
# conversations.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import transformers, jinja2' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with transformers and jinja2'; exit 77; }
# shellcheck disable=SC2086
"$MICA_ORACLE_PYTHON" "$here/chat_oracle.py" "$MICA_BUILD_DIR/lib/libmica.so" "$here/chat_cases.json" \
  ${MICA_CHAT_TEMPLATES:+"$MICA_CHAT_TEMPLATES"}
