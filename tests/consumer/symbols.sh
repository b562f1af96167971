#!/bin/sh
# sh symbols.sh PREFIX: the shared library exports what the public headers declare, and nothing but mica_ names and
# what the command's builders call (src/runtime/serve_builds.h); and it never prints, exits or aborts: it calls nothing
# that does.
set -eu
prefix=$1
work=${MICA_BUILD_DIR:-.}/consumer
mkdir -p "$work"
nm -D --defined-only "$(find "$prefix" -name 'libmica.so')" | awk '{ print $3 }' | sort >"$work/exported"
sed -n 's/^MICA_API .*[ *]\(mica_[a-z0-9_]*\)(.*/\1/p' "$prefix"/include/mica/*.h | sort -u >"$work/declared"
status=0
if grep -v '^mica_[a-z]' "$work/exported" | grep -vx mica__engine_serve_builds; then
  echo "exported, but no public names"
  status=1
fi
if comm -13 "$work/exported" "$work/declared" | grep .; then
  echo "declared, but not in the library"
  status=1
fi
nm -D --undefined-only "$(find "$prefix" -name 'libmica.so')" | sed 's/@.*//' | awk '{ print $NF }' >"$work/called"
if grep -xE '(__)?v?d?printf(_chk)?|puts|putchar|perror|stdout|stderr' "$work/called" ||
  grep -xE 'abort|_?_?exit|_Exit|quick_exit|__assert_fail' "$work/called"; then
  echo "called, though a library neither prints nor ends the program"
  status=1
fi
exit $status
