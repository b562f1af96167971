#!/bin/sh
# labels: oracle single
#
# Files of published models beside the packages that write them: GGUF beside gguf's GGUFReader and GGUFWriter, folders
# of safetensors beside transformers' save_pretrained. fetch.py gets the two models into MICA_TEST_DATA.
set -eu
: "${MICA_ORACLE_PYTHON:=}" "${MICA_TEST_DATA:=}"
here=$(dirname "$0")
tool=$MICA_BUILD_DIR/bin/tests/weights_tool
[ "$MICA_ORACLE_PYTHON" ] && "$MICA_ORACLE_PYTHON" -c 'import gguf' 2>/dev/null ||
  { echo 'SKIP: no MICA_ORACLE_PYTHON with gguf'; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/files.XXXXXX")
trap 'rm -rf "$work"' EXIT

# compare READER PATH: Mica's listing of a path equals the package's.
compare() {
  "$tool" dump "$2" "$work/data" >"$work/lines"
  "$MICA_ORACLE_PYTHON" "$here/files_oracle.py" "$1" "$2" "$work/lines" "$work/data"
}

"$MICA_ORACLE_PYTHON" "$here/files_oracle.py" write "$work/written" 40
count=0
for file in "$work"/written/[0-9]*.gguf; do
  compare gguf "$file" >/dev/null
  "$tool" copy "$file" "$work/copy.gguf"
  cmp "$file" "$work/copy.gguf"
  count=$((count + 1))
done
[ $count = 40 ]
echo "$count files of GGUFWriter are equal, read and written again"
compare gguf_shards "$work/written/shards-00001-of-00003.gguf"

if "$MICA_ORACLE_PYTHON" -c 'import torch, transformers' 2>/dev/null; then
  "$MICA_ORACLE_PYTHON" "$here/files_oracle.py" shards "$work/folder"
  compare safetensors "$work/folder"
  compare safetensors "$work/folder/model.safetensors.index.json"
else
  echo 'without transformers: no shards of safetensors'
fi

if [ ! "$MICA_TEST_DATA" ] || [ ! -e "$MICA_TEST_DATA/gemma-3-270m.gguf" ]; then
  echo 'SKIP: no models; get them by: MICA_TEST_DATA=FOLDER python3 tests/foundation/fetch.py'
  exit 77
fi
for file in SmolLM2-135M-Instruct.Q4_1.gguf gemma-3-270m.gguf; do
  compare gguf "$MICA_TEST_DATA/$file"
  "$tool" copy "$MICA_TEST_DATA/$file" "$work/copy.gguf"
  cmp "$MICA_TEST_DATA/$file" "$work/copy.gguf"
  took=$("$tool" open "$MICA_TEST_DATA/$file")
  echo "$file is equal; opened in $took ms"
  [ "${took%.*}" -lt 20 ]
done
