#!/bin/sh
# labels: oracle single
#
# Transcripts of Whisper tiny.en beside transformers' generate: recordings of spoken digits, in a row with pauses
# and noise, shorter and longer than a window. All tokens and times are equal.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import torch, transformers' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with torch and transformers'; exit 77; }
model=${MICA_TEST_DATA:-none}/whisper-tiny.en
digits=${MICA_TEST_DATA:-none}/data/spoken_digits/recordings
[ -d "$model" ] || { echo "SKIP: no $model; run fetch.py whisper-tiny.en"; exit 77; }
[ -d "$digits" ] || { echo "SKIP: no $digits"; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/whisper.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$MICA_ORACLE_PYTHON" "$here/whisper_real_oracle.py" "$MICA_BUILD_DIR/bin/mica" "$model" "$digits" "$work"
