#!/bin/sh
# sh tests/lint/calls.sh [ROOT]: calls point down. If an object of one room needs a symbol of another room, the other
# room must lie on a lower floor (tests/lint/floors.txt). layers.sh cannot see this: public headers may be included
# anywhere. A symbol has one definition, since a static program may link all objects. Reads the objects of
# MICA_BUILD_DIR (ROOT/build unless set): SKIP if nothing is built.
#
# tests/lint/calls.allow has the exceptions, "FILE SYMBOL reason": FILE, as in src/ops/a.c, may use SYMBOL.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$lint/../..}"
objects=${MICA_BUILD_DIR:-build}/src/CMakeFiles
allow=tests/lint/calls.allow
[ -e $allow ] || allow=/dev/null

command -v nm >/dev/null || { echo "SKIP: no nm"; exit 77; }
# Objects whose source is gone stay in a build folder: they are left out.
list=$(for room in $(sed '/^#/d' "$lint/floors.txt"); do
  [ ! -d "$objects/mica_room_$room.dir" ] || find "$objects/mica_room_$room.dir" -name '*.o'
done | sort | while IFS= read -r object; do
  source=${object#"$objects"/mica_room_*.dir/}
  [ ! -e "src/${source%.o}" ] || echo "$object"
done)
[ "$list" ] || { echo "SKIP: no objects below $objects"; exit 77; }

echo "$list" | tr '\n' '\0' | xargs -0 nm -A -P -g | awk -v floors="$lint/floors.txt" -v allow="$allow" '
  BEGIN {
    while ((getline line <floors) > 0) {
      if (line ~ /^#/) continue
      height++
      for (i = split(line, rooms, " "); i > 0; i--) floor[rooms[i]] = height
    }
    while ((getline line <allow) > 0) {
      split(line, words, " ")
      if (words[3] == "") { print allow ": \"" line "\" has no reason"; bad = 1 }
      else allowed[words[1], words[2]] = line
    }
  }
  { # PATH/mica_ROOM.dir/FILE.o: SYMBOL TYPE ...
    object = $0
    sub(/\.o: .*/, "", object)
    sub(/.*\/mica_[a-z_]*\.dir\//, "src/", object)
    sub(/.*\.o: /, "")
    if ($2 == "U") needs[++count] = object " " $1
    else if ($2 ~ /^[A-Z]$/) {
      if ($1 in home) { print object ": defines " $1 ", as " home[$1] " does; static programs need one"; bad = 1 }
      home[$1] = object
    }
  }
  function room(file,   path) { split(file, path, "/"); return path[2] }
  END {
    for (i = 1; i <= count; i++) {
      split(needs[i], need, " ")
      if (!(need[2] in home)) continue
      from = room(need[1])
      to = room(home[need[2]])
      if (from == to || floor[to] < floor[from]) continue
      if ((need[1], need[2]) in allowed) { used[need[1], need[2]] = 1; continue }
      print need[1] ": needs " need[2] " of " home[need[2]] ", but " to " is not below " from
      bad = 1
    }
    for (row in allowed) if (!(row in used)) { print allow ": nothing needs \"" allowed[row] "\""; bad = 1 }
    exit bad
  }'
