#!/bin/sh
# sh tests/lint/descriptors.sh [ROOT]: a line of src/ops/ops.def names the file in src that defines the descriptors of
# the ops below it, in full (mica__op_name) or by a macro (mica__op_##label) that the file gives their names; and every
# descriptor that a file below src/ops defines so is listed there.
set -eu
cd "${1:-$(dirname "$0")/../..}"
list=src/ops/ops.def
[ -e $list ] || exit 0

{
  # "is FILE OP" for each definition. A macro is one whose body defines mica__op_<prefix>##label.
  find src -name '*.c' | sort | xargs awk '
    FNR == 1 { split("", prefix); macro = "" }
    /^# *define / { macro = $2; sub(/\(.*/, "", macro) }
    match($0, /mica__op mica__op_[a-z_0-9]*##/) {
      # "mica__op mica__op_" has 18 letters.
      prefix[macro] = substr($0, RSTART + 18, RLENGTH - 20)
      made[macro] = 1
      next
    }
    match($0, /^(const )?mica__op mica__op_[a-z_0-9]+ = /) {
      name = substr($0, RSTART, RLENGTH - 3)
      sub(/.*mica__op_/, "", name)
      print "is", FILENAME, name
    }
    match($0, /^[A-Z_0-9]+\([a-z_0-9]+[,)]/) {
      called = name = $0
      sub(/\(.*/, "", called)
      sub(/^[^(]*\(/, "", name)
      sub(/[,)].*/, "", name)
      if (called in prefix) print "is", FILENAME, prefix[called] name
    }'
  sed -n 's|^/\* \(.*\.c\) \*/$|file src/\1|p; s/^OP(\([a-z_0-9]*\))$/lists \1/p' $list
} | awk -v list=$list '
  function fault(text) { print list ": " text; bad = 1 }
  $1 == "is" { defined[$3] = $2; in_file[$2, $3] = 1 }
  $1 == "file" {
    file = $2
    if (system("test -e " file)) fault("there is no " file)
    else there[file] = 1
  }
  $1 == "lists" {
    listed[$2] = 1
    if (file == "") fault($2 " has no file above it")
    else if (file in there && !((file, $2) in in_file)) fault(file " does not define mica__op_" $2)
  }
  END {
    for (op in defined)
      if (defined[op] ~ /^src\/ops\// && !(op in listed)) fault(op " of " defined[op] " is not listed")
    exit bad
  }'
