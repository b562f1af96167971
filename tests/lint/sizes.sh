#!/bin/sh
# sh tests/lint/sizes.sh [ROOT]: rooms stay small. 600 lines a .c or .h, 400 a .cl or .clh, 80 a function.
# tests/lint/sizes.allow lists exceptions, "<file> <reason>" or "<file>:<function> <reason>"; one that is no longer
# needed fails too.
set -eu
cd "${1:-$(dirname "$0")/../..}"
allow=tests/lint/sizes.allow
[ -e "$allow" ] || allow=/dev/null

# A function begins with an unindented line that holds its name before "(", and ends at the next line that is "}" alone.
find include src tests samples cl -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' | sort | xargs awk -v allow="$allow" '
  function complain(text) { print text; bad = 1 }
  function check(key, lines, limit) {
    if (lines <= limit) return
    over[key] = 1
    if (!(key in reason)) complain(key ": " lines " lines; over " limit ", two things may live in one room")
  }
  function end_of_file() { if (file != "") check(file, lines, file ~ /\.clh?$/ ? 400 : 600) }
  BEGIN {
    while ((getline line < allow) > 0) {
      if (line ~ /^#/ || line == "") continue
      key = line
      sub(/ .*/, "", key)
      reason[key] = substr(line, length(key) + 2)
      if (reason[key] == "") complain(allow ": " key " has no reason")
    }
  }
  FNR == 1 { end_of_file(); file = FILENAME; name = "" }
  { lines = FNR }
  /^[A-Za-z_].*\(/ && name == "" && !/;$/ {
    name = $0
    if (name ~ /^START_TEST\(/) sub(/^START_TEST\(/, "", name); else sub(/\(.*/, "", name)
    sub(/\).*/, "", name)
    sub(/.*[ *]/, "", name)
    start = FNR
  }
  /^[^ ].*;$/ { name = "" }
  /^}/ { if (name != "") check(FILENAME ":" name, FNR - start + 1, 80); name = "" }
  END {
    end_of_file()
    for (key in reason) if (!(key in over)) complain(allow ": " key " is not over its limit")
    exit bad
  }'
