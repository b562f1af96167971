#!/bin/sh
# sh tests/lint/numbers.sh [ROOT]: floats are formatted and read by base/number.h alone, which does so alike in every
# locale. snprintf, fprintf and printf with %f, %g, %e or %a, vsnprintf and strtod are for src/base/number.c; the
# command, which sets no locale, may use them.
set -eu
cd "${1:-$(dirname "$0")/../..}"
find src -name '*.[ch]' ! -path 'src/cli/*' ! -path 'src/base/number.c' | sort | xargs awk '
  function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
  FNR == 1 { statement = "" }
  { sub(/^[ *]*\/\*.*\*\//, ""); statement = statement " " $0 }
  /[;{}]/ {
    if (statement ~ /(^|[^a-z_])(strtod|strtof|strtold|atof|vsnprintf|vfprintf|vsprintf) *\(/)
      complain("numbers are read and written by base/number.h, alike in every locale")
    if (statement ~ /(^|[^a-z_])(snprintf|fprintf|sprintf|printf) *\(/ &&
        statement ~ /%[-+0-9.* #]*l?[fgeaGEA]([^a-z]|$)/)
      complain("a float is formatted as the program'"'"'s locale has it; use mica__snprintf")
    statement = ""
  }
  END { exit bad }'
