#!/bin/sh
# sh tests/lint/sizes.sh [ROOT]: rooms stay small. 600 lines a .c, .h or .def, 400 a .cl or .clh, 80 a function (of
# shell scripts too) or macro. tests/lint/sizes.allow lists exceptions, "<file> <reason>" or "<file>:<name> <reason>";
# one that is no longer needed fails too.
set -eu
cd "${1:-$(dirname "$0")/../..}"
allow=tests/lint/sizes.allow
[ -e "$allow" ] || allow=/dev/null

# A function begins with an unindented line that holds its name before "(", the last one such before its "{", and ends
# at the next line that begins with "}".
find include src tests samples cl cmake -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' -o -name '*.def' \
  -o -name '*.sh' | sort | xargs awk -v allow="$allow" '
  function complain(text) { print text; bad = 1 }
  function check(key, lines, limit) {
    if (lines <= limit) return
    over[key] = 1
    if (!(key in reason)) complain(key ": " lines " lines; over " limit ", two things may live in one room")
  }
  function end_of_file() { if (file != "" && file !~ /\.sh$/) check(file, lines, file ~ /\.clh?$/ ? 400 : 600) }
  BEGIN {
    while ((getline line < allow) > 0) {
      if (line ~ /^#/ || line == "") continue
      key = line
      sub(/ .*/, "", key)
      reason[key] = substr(line, length(key) + 2)
      if (reason[key] == "") complain(allow ": " key " has no reason")
    }
  }
  FNR == 1 { end_of_file(); file = FILENAME; name = macro = ""; open = 0 }
  { lines = FNR }
  FILENAME ~ /\.sh$/ {
    if (/^[a-z_0-9]+\(\) *\{/) { name = $1; sub(/\(.*/, "", name); start = FNR }
    if (/^\}/ && name != "") { check(FILENAME ":" name, FNR - start + 1, 80); name = "" }
    next
  }
  /^# *define / && macro == "" {
    macro = $0
    sub(/^# *define +/, "", macro)
    sub(/[^A-Za-z_0-9].*/, "", macro)
    start_of_macro = FNR
  }
  macro != "" {
    if (/\\$/) next
    check(FILENAME ":" macro, FNR - start_of_macro + 1, 80)
    macro = ""
    next
  }
  /^[A-Za-z_].*\(/ && !open && !/;$/ {
    name = $0
    if (name ~ /^START_TEST\(/) sub(/^START_TEST\(/, "", name); else sub(/\(.*/, "", name)
    sub(/\).*/, "", name)
    sub(/.*[ *]/, "", name)
    start = FNR
  }
  /\{$/ { open = 1 }
  /^[^ ].*;$/ && !/^}/ { name = ""; open = 0 }
  /^}/ { if (name != "") check(FILENAME ":" name, FNR - start + 1, 80); name = ""; open = 0 }
  END {
    end_of_file()
    for (key in reason) if (!(key in over)) complain(allow ": " key " is not over its limit")
    exit bad
  }'
