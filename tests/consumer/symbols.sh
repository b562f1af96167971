#!/bin/sh
# sh symbols.sh PREFIX: the shared libraries export what the public headers declare, what the command's builders and
# its doctor's processes call (src/runtime/serve_builds.h, src/ops/select/watch.h), and private functions that
# libmica_run calls in libmica (src/base/shared.h). Each of these is called, and their number may only fall. libmica
# needs no library for pictures or sounds. Neither library prints, exits or aborts: they call nothing that does.
set -eu
prefix=$1
most_private=99
work=${MICA_BUILD_DIR:-.}/consumer
mkdir -p "$work"
engine=$(find "$prefix" -name 'libmica.so')
run=$(find "$prefix" -name 'libmica_run.so')
nm -D --defined-only "$engine" "$run" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  sort -u >"$work/exported"
sed -n 's/^MICA_API .*[ *]\(mica_[a-z0-9_]*\)(.*/\1/p' "$prefix"/include/mica/*.h | sort -u >"$work/declared"
status=0
if grep -v '^mica_' "$work/exported"; then
  echo "exported, but no names of Mica's"
  status=1
fi
if comm -13 "$work/exported" "$work/declared" | grep .; then
  echo "declared, but not in the libraries"
  status=1
fi
nm -D --undefined-only "$engine" "$run" | sed 's/@.*//' | awk 'NF { print $NF }' | sort -u >"$work/called"
# A build with every optional library calls mica__fail_lacks nowhere.
grep '^mica__' "$work/exported" |
  grep -vx 'mica__engine_serve_builds\|mica__doctor_run_watched\|mica__doctor_find\|mica__fail_lacks' >"$work/private"
if comm -13 "$work/called" "$work/private" | grep .; then
  echo "marked MICA__SHARED, but libmica_run does not call it"
  status=1
fi
count=$(wc -l <"$work/private")
if [ "$count" -gt $most_private ]; then
  echo "$count private functions are exported, $most_private are allowed"
  status=1
fi
if nm -D --defined-only "$engine" | grep ' mica__' | grep -v '@@MICA_PRIVATE_'; then
  echo "private, but without a version"
  status=1
fi
if readelf -d "$engine" | grep NEEDED | grep -E 'libmica_run|png|jpeg|sndfile|expat|deflate'; then
  echo "needed by libmica"
  status=1
fi
if grep -xE '(__)?v?d?printf(_chk)?|puts|putchar|perror|stdout|stderr' "$work/called" ||
  grep -xE 'abort|_?_?exit|_Exit|quick_exit|__assert_fail' "$work/called"; then
  echo "called, though a library neither prints nor ends the program"
  status=1
fi
exit $status
