#!/bin/sh
# sh tests/lint/layers.sh [ROOT]: who may include whom. Dependencies point down only, by the floors of
# tests/lint/floors.txt; src/README.md has the diagram. compile knows ops by their descriptors alone, which registry.h
# lists.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$lint/../..}"

bench=tests/bench
[ -d $bench ] || bench=''
# shellcheck disable=SC2086
find include src samples $bench -name '*.[ch]' -o -name '*.def' | sort | xargs awk -v floors="$lint/floors.txt" '
  BEGIN {
    granted["runtime"] = granted["ops"] = "cl" # of which C includes fields.clh alone
    granted["score"] = "text"
    granted["dist"] = "nn"
    granted["train"] = "nn dist"
    granted["foundation"] = "nn data"
    granted["networks"] = "nn data"
    while ((getline line <floors) > 0) {
      if (line ~ /^#/) continue
      # Above compile, rooms know each other by public headers, except where granted; run and task see all.
      for (i = split(line, rooms, " "); i > 0; i--)
        below[rooms[i]] = rooms[i] " " granted[rooms[i]] (rooms[i] == "run" || rooms[i] == "task" ? all : seen)
      all = all " " line
      if (!("compile" in below) || line == "compile") seen = all
    }
    below["cl"] = "cl"
    below["cli"] = "cli" # and the public headers, as everybody
    excepted["cli", "runtime/serve_builds.h"] = 1 # what its processes of builders do
    excepted["cli", "ops/select/watch.h"] = 1 # what its processes of the doctor do
    below["samples"] = below["include"] = ""
    below["bench"] = "bench cl" seen # what it measures
  }
  FNR == 1 {
    split(FILENAME, path, "/")
    layer = path[1] == "src" || path[1] == "tests" ? path[2] : path[1]
  }
  /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    split($0, quoted, /["<>]/)
    split(quoted[2], target, "/")
    if (target[1] == "mica" || (layer, quoted[2]) in excepted) next
    if ($0 ~ /</ && !(target[1] in below && target[2] ~ /\.(h|def)$/)) next # the system'"'"'s
    if ($0 ~ /</) complaint = "<" quoted[2] "> is ours: it is quoted"
    else if (!(layer in below)) complaint = "src/" layer " is no layer"
    else if (target[2] == "" || !(target[1] in below))
      complaint = "\"" quoted[2] "\" is not spelled from src/, as in \"base/hash.h\""
    else if (target[1] == "cl" && quoted[2] !~ /\/fields\.clh$/)
      complaint = "\"" quoted[2] "\" is for kernels: C includes fields.clh alone"
    else if (layer == "compile" && target[1] == "ops" && quoted[2] != "ops/select/registry.h")
      complaint = "compile must not include " quoted[2] ": it reaches ops through ir/op.h and ops/select/registry.h"
    else if (index(" " below[layer] " ", " " target[1] " ") == 0) complaint = layer " must not include " quoted[2]
    else next
    print FILENAME ":" FNR ": " complaint
    bad = 1
  }
  END { exit bad }'
