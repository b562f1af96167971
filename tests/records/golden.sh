#!/bin/sh
# sh tests/records/golden.sh RECORD GOLDEN: the part of a record that is a contract, for comparison across machines:
# config.json, history.csv, the JSON of eval and predict, what a model in ONNX says of itself. The version and what the
# device decides are left out; one item per line. After a change on purpose:
#   sh tests/records/make.sh build DATA && sh tests/records/run.sh build DATA RECORD
#   sh tests/records/golden.sh RECORD tests/records/golden
set -eu
record=$1
golden=$2
for folder in "$record"/*/; do
  name=$(basename "$folder")
  [ "$name" != help ] || continue
  rm -rf "${golden:?}/$name"
  mkdir -p "$golden/$name"
  for file in "$folder"*; do
    case ${file##*/} in config.json | history.csv | eval.json | predict-*.json | model.json) ;; *) continue ;; esac
    # An array of 32 predictions is as long as all others together.
    case $file in */predict-array.json) continue ;; esac
    sed -e 's/^\t*//; s/:\t/: /; s/, *"/,\n"/g' -e 's/"mica": "[^"]*"/"mica": ""/' \
      -e 's/"producer_version": "[^"]*"/"producer_version": ""/' -e '/^"mica.config"/d; /^"operators"/,$d' \
      "$file" >"$golden/$name/${file##*/}"
  done
done
