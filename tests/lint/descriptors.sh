#!/bin/sh
# sh tests/lint/descriptors.sh [ROOT]: a line of src/ops/ops.def names the file in src that defines the descriptors of
# the ops below it, in full (mica__op_name) or by a macro (mica__op_##label) that the file gives their names.
set -eu
cd "${1:-$(dirname "$0")/../..}"
list=src/ops/ops.def
[ -e $list ] || exit 0
status=0

fault() {
  echo "$1"
  status=1
}

defines() {
  grep -q "mica__op mica__op_$2 " "$1" && return
  grep -q 'mica__op mica__op_[a-z_]*##' "$1" && grep -qwE "$2|${2##*_}" "$1"
}

file=''
while IFS= read -r line; do
  case $line in
  '/* '*.c' */')
    file=src/${line#'/* '}
    file=${file%' */'}
    [ -e "$file" ] || fault "$list: there is no $file"
    ;;
  'OP('*')')
    name=${line#OP(}
    name=${name%)}
    [ -n "$file" ] || fault "$list: $name has no file above it"
    [ ! -e "$file" ] || defines "$file" "$name" || fault "$list: $file does not define mica__op_$name"
    ;;
  esac
done <$list
exit $status
