#!/bin/sh
# sh tests/records/compare.sh [--near SHARE] OLD NEW: two records of run.sh, byte by byte; names each file that differs,
# with its first difference, and fails if there is one. --near: numbers may differ by this share, or by this amount if
# they are below 1; all other text must be the same.
#
# tests/records/allowed.def lists differences that a change makes on purpose, "NAME/FILE reason", where NAME/FILE is a
# pattern of the shell. A row that allows nothing is reported, and fails too. With --near it is not read.
set -eu
near=''
[ "$1" != --near ] || { near=$2; shift 2; }
old=$1
new=$2
allowed=$(cd "$(dirname "$0")" && pwd)/allowed.def
[ ! "$near" ] || allowed=/dev/null
differences=$(mktemp "${TMPDIR:-/tmp}/mica-records.XXXXXX")
trap 'rm -f "$differences"' EXIT

# same A B: true if they are; says where they first differ.
same() {
  [ "$near" ] || {
    cmp -s "$1" "$2" && return 0
    diff "$1" "$2" 2>/dev/null | head -n 4 | cut -c 1-200
    return 1
  }
  LC_ALL=C awk -v near="$near" '
    function number(text) { return match(text, /[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/) }
    function size(x) { return x < 0 ? -x : x }
    function differ() {
      printf "line %d: %s\n     not: %s\n", line, substr(old[line], 1, 160), substr($0, 1, 160)
      bad = 1
      exit
    }
    NR == FNR { old[++count] = $0; next }
    {
      line = FNR
      a = old[line]
      b = $0
      if (line > count) differ()
      while (a != b) {
        if (!number(a)) differ()
        before = substr(a, 1, RSTART - 1); x = substr(a, RSTART, RLENGTH); a = substr(a, RSTART + RLENGTH)
        if (!number(b) || substr(b, 1, RSTART - 1) != before) differ()
        y = substr(b, RSTART, RLENGTH); b = substr(b, RSTART + RLENGTH)
        most = size(x + 0) > 1 ? size(x + 0) : 1
        if (x != y && size(x - y) > near * most) differ()
      }
    }
    END {
      if (!bad && FNR < count) { printf "line %d: %s\n     not: nothing\n", FNR + 1, old[FNR + 1]; bad = 1 }
      exit bad
    }' "$1" "$2"
}

for file in $(cd "$old" && find . -type f | sort) $(cd "$new" && find . -type f | sort); do
  echo "${file#./}"
done | sort -u | while IFS= read -r file; do
  if [ ! -e "$old/$file" ]; then echo "$file" && echo "  $file is new"
  elif [ ! -e "$new/$file" ]; then echo "$file" && echo "  $file is missing"
  else
    where=$(same "$old/$file" "$new/$file") || printf '%s\n' "$file" "$where" | sed '2,$s/^/  /'
  fi
done >"$differences"

status=0
used=''
allowing=''
while IFS= read -r line; do
  case $line in
    ' '*) [ "$allowing" ] || echo "$line"; continue ;;
  esac
  allowing=''
  while read -r pattern reason; do
    case $pattern in '#'* | '') continue ;; esac
    # shellcheck disable=SC2254 # a pattern
    case $line in $pattern) allowing=$reason used="$used $pattern" ;; esac
  done <"$allowed"
  if [ "$allowing" ]; then echo "$line: allowed: $allowing"; else echo "$line differs:"; status=1; fi
done <"$differences"
while read -r pattern reason; do
  case $pattern in '#'* | '') continue ;; esac
  [ "$reason" ] || { echo "allowed.def: $pattern has no reason"; status=1; }
  case " $used " in *" $pattern "*) ;; *) echo "allowed.def: $pattern allows nothing"; status=1 ;; esac
done <"$allowed"
exit $status
