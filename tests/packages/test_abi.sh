#!/bin/sh
# labels: long packages
# sh tests/packages/test_abi.sh: within a minor version, which the library's name contains, the ABI only grows. abidiff
# compares exported functions and the types of public headers with the newest tag v<version>, or with the commit
# MICA_ABI_SINCE. A new minor version may change them: then the differences are only counted.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${MICA_BUILD_DIR:-$root/build}/packages/abi
skip() {
  echo "SKIP: $1"
  exit 77
}
for program in abidw abidiff git cmake ninja; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
cd "$root"
since=${MICA_ABI_SINCE:-$(git tag --merged HEAD --list 'v*' --sort=-version:refname 2>/dev/null | head -n 1)}
[ "$since" ] || skip 'no tag v<version> to compare with; MICA_ABI_SINCE names a commit'
commit=$(git rev-parse --verify "$since^{commit}")
mkdir -p "$work"

launcher=''
if command -v ccache >/dev/null; then launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache; fi

# minor TREE: 1.2 of version 1.2.3.
minor() {
  sed -n 's/^project(mica VERSION \([0-9]*\.[0-9]*\)\..*/\1/p' "$1/CMakeLists.txt"
}
# describe TREE NAME: the ABI of the library built of TREE, in $work/NAME.abi.
describe() {
  cmake -S "$1" -B "$work/$2" -G Ninja $launcher -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMICA_BUILD_TESTS=OFF \
    -DMICA_BUILD_SAMPLES=OFF -DMICA_BUILD_CLI=OFF >"$work/$2.log"
  cmake --build "$work/$2" --target mica >>"$work/$2.log" || { tail -n 30 "$work/$2.log"; exit 1; }
  abidw --headers-dir "$1/include" --headers-dir "$work/$2/include" --no-corpus-path --out-file "$work/$2.abi" \
    "$work/$2/lib/libmica.so"
}

old=$work/source
rm -rf "$old"
mkdir "$old"
git archive "$commit" | tar -x -C "$old"
then=$(minor "$old") now=$(minor "$root")
[ -e "$work/$commit.abi" ] || describe "$old" "$commit"
describe "$root" now
rm -rf "$old" "${work:?}/$commit"
nm -D --defined-only "$work/now/lib/libmica.so" | grep -c ' T mica_' >"$work/functions"
grep -c '<elf-symbol name=.mica_' "$work/now.abi" | cmp - "$work/functions" # abidw has seen all of them

status=0
abidiff --no-added-syms "$work/$commit.abi" "$work/now.abi" >"$work/changes" || status=$?
if [ $((status & 3)) != 0 ]; then
  cat "$work/changes"
  exit 1
elif [ $status = 0 ]; then
  echo "the ABI of $since is kept"
elif [ "$then" != "$now" ]; then
  sed -n '1,/^$/p' "$work/changes"
  echo "the ABI has changed since $since, as $now may after $then"
else
  cat "$work/changes"
  echo "the ABI has changed since $since: the next version is a new minor one, not $now"
  exit 1
fi
