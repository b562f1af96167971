#!/bin/sh
# sh tests/lint/tics.sh [--counts] [ROOT]: counts turns of phrase that make prose hard to read, in comments, texts and
# Markdown, per folder. tests/lint/tics.limits has the most that a folder may have; a limit may only fall. `--counts`
# prints that file as it would be today.
#
# Say "if" for "where there is", "not a" for "is none", "after" for "behind", "N" for "so many".
set -eu
counts=''
if [ "${1:-}" = --counts ]; then counts=1; shift; fi
cd "${1:-$(dirname "$0")/../..}"
limits=tests/lint/tics.limits

# The folders that are counted: public headers, rooms of src, the rest of the tree.
count() {
  find include/mica src cl tests samples cmake docs README.md CHANGELOG.md .github -type f \( -name '*.[ch]' \
    -o -name '*.in' -o -name '*.cl' -o -name '*.clh' -o -name '*.def' -o -name '*.sh' -o -name '*.md' \
    -o -name '*.cmake' \) ! -path 'tests/lint/*' ! -name 'changes-0.1-0.5.md' 2>/dev/null | LC_ALL=C sort | xargs awk '
    BEGIN {
      tics = "of which|is none|are none|is no [a-z]+ (of|that)|those of|that of|where there (is|are)|so many|as many|" \
        "(are|is) told|behind (the|it)|what (is|are|was) (no|not|there)|who only|is to be"
      tics = "(^|[^a-z])(" tics ")([^a-z]|$)"
    }
    function room(file,   parts, n) {
      n = split(file, parts, "/")
      if (n < 2) return "."
      return parts[1] == "src" && n > 2 ? "src/" parts[2] : parts[1]
    }
    # What is prose in a line: all of Markdown, else comments and texts.
    function prose(line,   text, rest) {
      if (FILENAME ~ /\.md$/) return line
      if (FILENAME ~ /\.(sh|cmake)$/) return line ~ /^ *#/ ? line : ""
      if (open) { if (index(line, "*/")) { open = 0 } return line }
      text = ""
      rest = line
      while (match(rest, /"([^"\\]|\\.)*"/)) {
        text = text " " substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
      }
      if (match(line, /\/\*.*/)) {
        text = text " " substr(line, RSTART)
        open = !index(substr(line, RSTART), "*/")
      }
      return text
    }
    FNR == 1 { open = 0; here = room(FILENAME); seen[here] += 0 }
    {
      text = tolower(prose($0))
      if (text != "")
        seen[here] += gsub(tics, "&", text)
    }
    END { for (name in seen) print name, seen[name] }' | LC_ALL=C sort
}

if [ "$counts" ]; then count; exit; fi
[ -e "$limits" ] || limits=/dev/null
count | awk -v limits="$limits" '
  BEGIN { while ((getline line <limits) > 0) { split(line, parts, " "); most[parts[1]] = parts[2] } }
  !($1 in most) && $2 > 0 { print $1 ": " $2 " tics and no limit in " limits; bad = 1 }
  $1 in most && $2 > most[$1] { print $1 ": " $2 " tics, " most[$1] " are allowed"; bad = 1 }
  END { exit bad }'
