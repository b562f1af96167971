#!/bin/sh
# sh tests/lint/names.sh [ROOT]: one name, one type. A struct, union or enum mica__x is defined once in src, so that a
# name says which type is meant and any two headers can be included together.
set -eu
cd "${1:-$(dirname "$0")/../..}"

find src -name '*.[ch]' | sort | xargs awk '
  function defines(name, list,   at) {
    at = FILENAME ":" FNR
    if ((list, name) in where) { print at ": " name " is also defined in " where[list, name]; bad = 1 }
    else where[list, name] = at
  }
  # "struct mica__x {" begins a definition, "} mica__x;" ends a typedef. Either may stand without the other.
  match($0, /(struct|union|enum) mica__[a-z0-9_]+ \{/) {
    split(substr($0, RSTART, RLENGTH), words, " ")
    defines(words[2], "begun")
  }
  match($0, /^\} mica__[a-z0-9_]+;/) { defines(substr($0, RSTART + 2, RLENGTH - 3), "ended") }
  END { exit bad }'
