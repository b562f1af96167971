#!/bin/sh
# sh tests/lint/workflows.sh [ROOT]: every step of a workflow is a script of the tree, so that it runs anywhere: a
# line "run: sh SCRIPT ..." or "run: bash SCRIPT ...", or an action to check out or to keep files. A workflow says what
# it may do ("permissions:"), and a command contains only values of its matrix.
set -eu
cd "${1:-$(dirname "$0")/../..}"
status=0
for file in .github/workflows/*; do
  [ -e "$file" ] || continue
  case $file in
    *.yml) ;;
    *) echo "$file: the name of a workflow ends in .yml"; status=1 ;;
  esac
  grep -q '^permissions:' "$file" || { echo "$file: says no permissions"; status=1; }
  awk '
    function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
    /^[ -]*run:/ {
      steps++
      sub(/^[ -]*run: */, "")
      rest = $0
      while (match(rest, /\$\{\{[^}]*\}\}/)) {
        value = substr(rest, RSTART + 3, RLENGTH - 5)
        rest = substr(rest, RSTART + RLENGTH)
        if (value !~ /^ *matrix\.[a-z]+ *$/) complain("a command contains" value)
      }
      if ($0 !~ /^(sh|bash) [^ -]/) complain("a step must be \"sh SCRIPT\" or \"bash SCRIPT\": " $0)
      else if (system("test -f \"" $2 "\"")) complain("there is no script " $2)
      else if ($0 ~ /[;|&<>`]/) complain("a step is one command: " $0)
    }
    /^[ -]*uses:/ && !/uses: actions\/(checkout|upload-artifact|download-artifact)@v[0-9]+$/ {
      complain("an action of others: " $0)
    }
    END { if (!steps) complain("no step runs anything"); exit bad }' "$file" || status=1
done
exit $status
