#!/bin/sh
# sh tests/lint/circles.sh [ROOT]: the files of src/ form no circle. A header leads to the headers that it includes; a
# .c leads to those .c that define the internal functions and tables (mica__...) which it names. Nothing may lead back
# to where it began. tests/lint/circles.allow lists pairs that are still to be mended, "<path> <path> <reason>", paths
# below src/ and without what they end with; one that is no longer needed fails too.
set -eu
cd "${1:-$(dirname "$0")/../..}"
allow=tests/lint/circles.allow
[ -e "$allow" ] || allow=/dev/null

find src -name '*.[ch]' | sort | xargs awk -v allow="$allow" '
  function complain(text) { print text; bad = 1 }
  function lead(from, to) { if (from != to) leads[from] = leads[from] " " to }
  # Marks all that `from` leads to as reached from `start`.
  function reach(start, from,    i, n, to) {
    n = split(leads[from], to)
    for (i = 1; i <= n; i++) {
      if ((start, to[i]) in reached) continue
      reached[start, to[i]] = 1
      reach(start, to[i])
    }
  }
  function in_circle(a, b) { return ((a, b) in reached) && ((b, a) in reached) }
  function bare(path) { sub(/\.[ch]$/, "", path); return path }
  BEGIN {
    while ((getline line < allow) > 0) {
      if (line ~ /^#/ || line == "") continue
      split(line, field)
      if (field[3] == "") complain(allow ": " field[1] " " field[2] " has no reason")
      allowed[field[1], field[2]] = 1
    }
  }
  FNR == 1 {
    in_comment = 0
    file = FILENAME
    sub(/^src\//, "", file)
    files[++count] = file
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    if (file ~ /\.h$/) lead(file, quoted[2])
    next
  }
  file ~ /\.h$/ { next }
  {
    text = $0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
    if (in_comment) {
      if (!sub(/^.*\*\//, "", text)) next
      in_comment = 0
    }
    if (sub(/\/\*.*/, "", text)) in_comment = 1
  }
  # A definition: unindented, not static, no declaration.
  text ~ /^[a-z].*mica__[a-z0-9_]+(\(|(\[[^]]*\])* = )/ && text !~ /^(static|typedef|return|extern)/ && text !~ /;$/ {
    name = text
    sub(/(\(|(\[[^]]*\])* = ).*/, "", name)
    sub(/.*[ *]/, "", name)
    if (name ~ /^mica__/) home[name] = file
  }
  {
    while (match(text, /mica__[a-z0-9_]+/)) {
      name = substr(text, RSTART, RLENGTH)
      if (!((file, name) in named)) names[file] = names[file] " " name
      named[file, name] = 1
      text = substr(text, RSTART + RLENGTH)
    }
  }
  END {
    for (i = 1; i <= count; i++) {
      n = split(names[files[i]], wanted)
      for (k = 1; k <= n; k++) if (wanted[k] in home) lead(files[i], home[wanted[k]])
    }
    for (i = 1; i <= count; i++) reach(files[i], files[i])
    for (i = 1; i <= count; i++)
      for (k = i + 1; k <= count; k++) {
        if (!in_circle(files[i], files[k])) continue
        a = bare(files[i]); b = bare(files[k])
        used[a, b] = 1
        if (!((a, b) in allowed)) complain("src/" files[i] " and src/" files[k] " need each other")
      }
    for (pair in allowed) {
      split(pair, field, SUBSEP)
      if (!(pair in used)) complain(allow ": " field[1] " and " field[2] " form no circle")
    }
    exit bad
  }'
