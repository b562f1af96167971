#!/bin/sh
# labels: oracle device single
#
# GGUF adapters beside llama.cpp: one as its converter lays it out loads in Mica, what Mica writes loads in llama.cpp,
# and the probabilities of the next token agree. In Python: gguf, numpy and xllamacpp.
set -eu
: "${MICA_ORACLE_PYTHON:=}"
here=$(dirname "$0")
tool=$MICA_BUILD_DIR/bin/tests/weights_tool
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import gguf, numpy, xllamacpp' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with gguf, numpy and xllamacpp'; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/lora.XXXXXX")
trap 'rm -rf "$work"' EXIT

oracle() { "$MICA_ORACLE_PYTHON" "$here/lora_oracle.py" "$@"; }
ids=$(oracle write "$work")
"$tool" adapter "$work/model.gguf" "$work/theirs.gguf" "$work/ours.gguf"
for adapter in - "$work/theirs.gguf" "$work/ours.gguf"; do
  # shellcheck disable=SC2086 # a word per token
  "$tool" logits "$work/model.gguf" "$adapter" "$work/logits" $ids
  oracle compare "$work" "$work/logits" "$adapter"
done
