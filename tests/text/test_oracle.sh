#!/bin/sh
# labels: oracle
# Training beside the package `tokenizers`: of byte-level BPE the same tokens, ids and merges; of WordPiece and words
# the same tokens; and the package opens files of Mica, with the same ids and texts.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
data=${MICA_TEST_DATA:-/nowhere}/data/multi30k/train
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import tokenizers' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with tokenizers'; exit 77; }
[ -e "$data.en.gz" ] || { echo 'SKIP: no data/multi30k in MICA_TEST_DATA'; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/tokenizers.XXXXXX")
trap 'rm -rf "$work"' EXIT
for language in en de; do
  gzip -dc "$data.$language.gz" | head -n 8000 >"$work/lines.txt"
  for kind in bpe wordpiece unigram word character byte; do
    rm -f "$work/$kind.json"
    size='--size 2000'
    [ $kind != byte ] || size='' # it has 256 tokens
    # shellcheck disable=SC2086
    "$MICA_BUILD_DIR/bin/mica" tokenizer train --data "$work/lines.txt" --kind $kind $size \
      --out "$work/$kind.json" >/dev/null
    "$MICA_BUILD_DIR/bin/mica" tokenizer encode "$work/$kind.json" --frame <"$work/lines.txt" >"$work/ids"
    "$MICA_BUILD_DIR/bin/mica" tokenizer decode "$work/$kind.json" --skip-special <"$work/ids" >"$work/back"
    "$MICA_ORACLE_PYTHON" "$here/oracle.py" $kind "$work"
  done
done
