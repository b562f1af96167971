#!/bin/sh
# sh tests/lint/hygiene.sh [ROOT]: no tabs, trailing blanks, carriage returns or lines over 120 columns (150 for prose
# in .md), no file without a last newline, no unfinished business, no path of one machine, nothing new at the root, no
# dimension cut to a size before it is checked, no public header about another minor version than the project's.
set -eu
cd "${1:-$(dirname "$0")/../..}"
status=0

for entry in * .[!.]*; do
  case $entry in
    include | src | cl | tests | samples | cmake | docs | CMakeLists.txt | README.md | CHANGELOG.md | LICENSE) ;;
    .ci | .github | .clang-format | .clang-tidy | .editorconfig | .gitignore | .git) ;;
    build* | .cache | compile_commands.json | '*' | '.[!.]*') ;;
    *) echo "$entry: does not belong at the root"; status=1 ;;
  esac
done

# "[x]" in a pattern keeps this file from finding itself.
find . -name '.git' -prune -o -path './build*' -prune -o -path './.cache' -prune -o -type f \
  \( -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' -o -name '*.def' -o -name '*.in' -o -name '*.cmake' \
  -o -name 'CMakeLists.txt' -o -name '*.py' -o -name '*.sh' -o -name '*.md' -o -name '*.allow' -o -name '*.supp' \
  -o -path './.ci/*' -o -path './.github/*' -o -name '.cl*' \) \
  -print | sort | xargs awk '
  function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
  /\t/ { complain("a tab") }
  /\r/ { complain("a carriage return") }
  / $/ { complain("trailing blanks") }
  length($0) > (FILENAME !~ /\.md$/ ? 120 : /^ *\|/ ? 1000 : 150) { complain(length($0) " columns") }
  /(^|[^A-Za-z])(T[O]DO|t[o]do|T[o]do|FIX[M]E|fix[m]e|HA[C]K|XX[X])($|[^A-Za-z_])/ {
    complain("unfinished business; an issue is the place for it")
  }
  /mica__(mul|add)_size\(.*\(size_t\)/ { complain("a cast to size_t cuts 64 bits to 32 before the check") }
  /\/(ho[m]e|ro[o]t|wo[r]k|var\/tm[p])\// { complain("a path of one machine") }
  END { exit bad }' || status=1

find include src cl tests samples cmake -type f -name '*.*[a-z]' -size +0 | while IFS= read -r file; do
  case $file in
    *.[ch] | *.cl | *.clh | *.def | *.cmake | *.sh | *.md | *.txt | *.in)
      [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at its end" ;;
  esac
done | { ! grep . ; } || status=1

# Tests read nothing beside the source (MICA_TEST_DATA names a folder).
if grep -rnE '\.\./shar[e]d' tests 2>/dev/null; then
  echo 'tests read below tests/golden and MICA_TEST_DATA'
  status=1
fi

# "0.5.x" in a header means the minor version that is being written.
minor=$(sed -n 's/^project(.* VERSION \([0-9]*\.[0-9]*\)\..*/\1/p' CMakeLists.txt 2>/dev/null) || minor=''
if [ "$minor" ] && grep -rnE '(^|[^0-9.])[0-9]+\.[0-9]+\.x' include | grep -vF "$minor.x"; then
  echo "the version is $minor"
  status=1
fi
exit $status
