#!/bin/sh
# labels: null packages
# sh tests/packages/test_tarball.sh: tarballs of one commit have the same bytes, wherever and whenever they are made. A
# source tarball has the files of HEAD, a binary one works from any folder.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${MICA_BUILD_DIR:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "$1"
  failed=1
}
version=$(sed -n 's/^project(mica VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")

if git -C "$root" rev-parse --verify -q HEAD >/dev/null 2>&1 && [ -e "$root/.git" ]; then
  git clone -q "$root" "$work/clone"
  cp "$root"/cmake/packaging/*.sh "$work/clone/cmake/packaging/" # as they are, committed or not
  touch "$work/clone/untracked" # not in it
  first=$(sh "$work/clone/cmake/packaging/tarball.sh" source "$work/first")
  git -C "$work/clone" -c core.fileMode=false config tar.umask 0077
  mv "$work/clone" "$work/another"
  second=$(umask 077 && TZ=Asia/Tokyo sh "$work/another/cmake/packaging/tarball.sh" source "$work/second")
  cmp "$first" "$second" || fail 'two source tarballs differ'
  [ "$first" = "$work/first/mica-$version.tar.gz" ] || fail "$first is not named mica-$version.tar.gz"
  tar -tzf "$first" | sed -n 's#^mica-[0-9.]*/\(.*[^/]\)$#\1#p' | LC_ALL=C sort >"$work/packed"
  git -C "$root" ls-tree -r --name-only HEAD | LC_ALL=C sort >"$work/files"
  cmp "$work/files" "$work/packed" || fail 'the source tarball does not have the files of HEAD'
else
  echo 'SKIP source: no git here'
fi

# Not with sanitizers, whose command does not run during the build and has no manual page.
if [ -e "$build/CPackConfig.cmake" ] && ! grep -q '^MICA_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
  first=$(sh "$root/cmake/packaging/tarball.sh" binary "$build" "$work/first")
  sleep 1 # files of a later second
  second=$(umask 077 && sh "$root/cmake/packaging/tarball.sh" binary "$build" "$work/second")
  cmp "$first" "$second" || fail 'two binary tarballs differ'
  mkdir "$work/unpacked"
  tar -xzf "$first" -C "$work/unpacked"
  tree=$(echo "$work"/unpacked/mica-"$version"-*)
  if grep -rqF "$work" "$work/unpacked"; then fail 'the tarball names the folder in which it was made'; fi
  for name in mica.h libmica.a libmica_run.a libmica.so libmica_run.so mica.pc mica-run.pc mica-config.cmake LICENSE; do
    find "$tree" -name $name
  done >"$work/found"
  [ "$(wc -l <"$work/found")" = 9 ] || fail "the tarball has only: $(cat "$work/found")"
  if [ -x "$build/bin/mica" ]; then
    env -u LD_LIBRARY_PATH "$tree/bin/mica" version | grep -qx "mica $version" || fail 'its command does not run'
    [ -s "$tree/share/man/man1/mica.1" ] || fail 'it has no manual page'
  fi
else
  echo 'SKIP binary: the build folder has a sanitizer'
fi
exit $failed
