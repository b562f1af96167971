#!/bin/sh
# sh tests/coverage.sh [--fast] [--report] [--build FOLDER] [-DOPTION=VALUE...] [argument of ctest...]
#
# Builds into FOLDER (build-coverage) with gcov's counters, runs every test that runs the library and needs no GPU, and
# prints how many lines and branches of each room of src/ they reach. FOLDER/coverage then holds a row a file (files),
# and the lines (lines) and branches (branches) that nothing reached. Fails when a test fails, and when a room is below
# its row of tests/coverage.limits; those rows are for all tests, so that they do not count with --fast (leaves out the
# tests labelled slow) or with arguments of ctest. --report runs nothing: it reads what the last run left.
set -eu
cd "$(dirname "$0")/.."

folder='build-coverage'
options=''
leave_out='lint|gpu|vendor'
report=''
partial=''
while [ $# -gt 0 ]; do
  case $1 in
    --fast) leave_out="$leave_out|slow" partial=1 ;;
    --report) report=1 ;;
    --build) folder=$2; shift ;;
    -D?*) options="$options $1" ;;
    --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) partial=1; break ;;
  esac
  shift
done

status=0
if [ ! "$report" ]; then
  # No inlining and no jump threading, so that a branch of the source is a branch of gcov's; counters that threads may
  # share. Word splitting is wanted: one argument an option.
  flags='--coverage -O1 -fno-inline -fno-early-inlining -fno-thread-jumps -fprofile-update=atomic'
  # shellcheck disable=SC2086
  CFLAGS="$flags" sh cmake/setup.sh test "$folder" -DMICA_BUILD_TESTS=ON -DMICA_BUILD_SAMPLES=ON -DMICA_BUILD_CLI=ON \
    -DCMAKE_BUILD_TYPE=Coverage $options
  find "$folder" -name '*.gcda' -delete
  # Oclgrind and the consumers see a build of their own or none; neither reaches what other tests do not.
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --parallel "$(nproc)" -LE "$leave_out" \
    -E '^(consumer|oclgrind)\.' "$@" || status=$?
fi

mkdir -p "$folder/coverage"
root=$PWD
(
  cd "$folder"
  # Also the command's sources that tests are linked with; but objects of sources that are gone may still lie there.
  find src tests -name '*.c.gcno' | grep -E '^src/|/__/src/' | sort | while IFS= read -r notes; do
    case $notes in src/*) source=src/${notes#src/CMakeFiles/*.dir/} ;; *) source=src/${notes##*/__/src/} ;; esac
    [ ! -e "$root/${source%.gcno}" ] || echo "$notes"
  done | xargs -n 32 gcov --branch-probabilities --branch-counts --stdout --source-prefix "$root" --relative-only \
    2>/dev/null || true # a source that nothing ran has no counters, and is counted as such
) >"$folder/coverage/gcov"

# gcov's text: "count:line:source", and behind a line its branches. What several objects compile (a header) is reached
# where one of them reaches it.
awk -v out="$folder/coverage" '
  function room(file,  part) {
    split(file, part, "/")
    return part[2] == "ops" && part[4] != "" ? part[2] "/" part[3] : part[2]
  }
  /^ *-: +0:Source:/ { file = $0; sub(/.*:Source:/, "", file); next }
  file !~ /^src\// { next }
  /^branch/ {
    key = file ":" line ":" $2
    taken = $3 == "taken" && $4 + 0 > 0
    if (!(key in branch)) { branch[key] = 0; branches[file]++; order[++count] = key }
    if (taken && !branch[key]) { branch[key] = 1; branches_taken[file]++ }
    next
  }
  /^ *[0-9#=-]+\*?: *[0-9]+:/ {
    split($0, field, ":")
    line = field[2] + 0
    sub(/ /, "", field[1]); gsub(/[ *]/, "", field[1])
    if (field[1] == "-") next
    key = file ":" line
    if (!(key in hit)) {
      hit[key] = 0
      lines[file]++
      seen[++total] = key
      text[key] = $0
      sub(/^[^:]*:[^:]*:/, "", text[key])
    }
    if (field[1] + 0 > 0 && !hit[key]) { hit[key] = 1; lines_hit[file]++ }
  }
  END {
    for (i = 1; i <= total; i++) if (!hit[seen[i]]) print seen[i] ": " text[seen[i]] >(out "/lines")
    for (i = 1; i <= count; i++) if (!branch[order[i]]) {
      key = order[i]; sub(/:[0-9]+$/, "", key)
      print key ": " text[key] >(out "/branches")
    }
    for (f in lines) print room(f), f, lines[f], lines_hit[f] + 0, branches[f] + 0, branches_taken[f] + 0
  }' "$folder/coverage/gcov" | sort >"$folder/coverage/files"

[ -s "$folder/coverage/files" ] || { echo "coverage.sh: gcov found nothing in $folder" >&2; exit 1; }

LC_ALL=C awk -v partial="$partial" '
  function percent(part, whole) { return whole ? 100 * part / whole : 100 }
  function row(name, l, lh, b, bt) {
    printf "%-18s %6d %6.1f %%  %6d %6.1f %%\n", name, l, percent(lh, l), b, percent(bt, b)
  }
  function demand(name, what, got, least) {
    if (got >= least) return
    printf "%s: %.2f %% of %s; tests/coverage.limits asks for %.1f\n", name, got, what, least
    bad = 1
  }
  FILENAME ~ /limits$/ { if ($0 !~ /^#/ && NF == 3) { least_lines[$1] = $2; least_branches[$1] = $3 } next }
  {
    if (!($1 in lines)) name[++rooms] = $1
    lines[$1] += $3; hit[$1] += $4; branches[$1] += $5; taken[$1] += $6
    lines["all"] += $3; hit["all"] += $4; branches["all"] += $5; taken["all"] += $6
  }
  END {
    name[++rooms] = "all"
    printf "%-18s %6s %8s  %6s %8s\n", "room", "lines", "reached", "branches", "taken"
    for (i = 1; i <= rooms; i++) row(name[i], lines[name[i]], hit[name[i]], branches[name[i]], taken[name[i]])
    if (partial) exit
    for (i = 1; i <= rooms; i++) {
      n = name[i]
      if (!(n in least_lines)) { print n ": has no row in tests/coverage.limits"; bad = 1; continue }
      demand(n, "lines", percent(hit[n], lines[n]), least_lines[n])
      demand(n, "branches", percent(taken[n], branches[n]), least_branches[n])
    }
    for (n in least_lines) if (!(n in lines)) { print n ": in tests/coverage.limits, but no room"; bad = 1 }
    exit bad
  }' tests/coverage.limits "$folder/coverage/files" || status=1
exit $status
