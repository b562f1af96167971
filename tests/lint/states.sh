#!/bin/sh
# sh tests/lint/states.sh [ROOT]: what a run keeps stays apart. A header of src/run has 90 lines at most. Only
# src/run/state.c includes more than 5 of the headers in src/run/state/. A header that says "Private to run/ranks.c." is
# included by that file and by state.c alone.
set -eu
cd "${1:-$(dirname "$0")/../..}"
[ -d src/run ] || exit 0

find src tests -name '*.[ch]' | sort | xargs awk '
  function complain(text) { print text; bad = 1 }
  function end_of_file() {
    if (states > 5 && file != "src/run/state.c")
      complain(file ": " states " headers of src/run/state; it depends on nearly all that a run keeps")
    if (file ~ /^src\/run\/.*\.h$/ && lines > 90)
      complain(file ": " lines " lines; a header of src/run has 90 at most")
  }
  FNR == 1 { end_of_file(); file = FILENAME; states = 0 }
  { lines = FNR }
  FNR < 4 && file ~ /^src\/run\/state\// && match($0, /Private to run\/[a-z_\/]+\.c/) {
    owner[substr(file, 5)] = "src/" substr($0, RSTART + 11, RLENGTH - 11)
  }
  /^#include "run\/state\/[a-z_]+\.h"/ {
    split($0, quoted, "\"")
    states++
    used[++count] = quoted[2]
    by[count] = file
    line[count] = FNR
  }
  END {
    end_of_file()
    for (i = 1; i <= count; i++)
      if ((used[i] in owner) && by[i] != owner[used[i]] && by[i] != "src/run/state.c")
        complain(by[i] ":" line[i] ": " used[i] " is private to " owner[used[i]])
    exit bad
  }'
