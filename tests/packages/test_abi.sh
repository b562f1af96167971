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
for program in abidiff git cmake ninja; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
cd "$root"
since=${MICA_ABI_SINCE:-$(git tag --merged HEAD --list 'v*' --sort=-version:refname 2>/dev/null | head -n 1)}
[ "$since" ] || skip 'no tag v<version> to compare with; MICA_ABI_SINCE names a commit'
commit=$(git rev-parse --verify "$since^{commit}")
mkdir -p "$work"

launcher=''
if command -v ccache >/dev/null; then launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache; fi

# minor: 1.2 of the version 1.2.3 of a CMakeLists.txt.
minor() {
  sed -n 's/^project(mica VERSION \([0-9]*\.[0-9]*\)\..*/\1/p'
}
# build TREE NAME: $work/NAME has the library built of TREE, and its headers.
build() {
  cmake -S "$1" -B "$work/build" -G Ninja $launcher -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMICA_BUILD_TESTS=OFF \
    -DMICA_BUILD_SAMPLES=OFF -DMICA_BUILD_CLI=OFF >"$work/log"
  cmake --build "$work/build" >>"$work/log" || { tail -n 30 "$work/log"; exit 1; }
  cmake --install "$work/build" --prefix "$work/$2.new" >>"$work/log"
  rm -rf "${work:?}/$2" "$work/build"
  mv "$work/$2.new" "$work/$2"
}
# library NAME
library() {
  find "$work/$1" -name libmica.so
}

then=$(git show "$commit:CMakeLists.txt" | minor) now=$(minor <CMakeLists.txt)
if [ ! -e "$work/$commit" ]; then
  rm -rf "$work/source"
  mkdir "$work/source"
  git archive "$commit" | tar -x -C "$work/source"
  build "$work/source" "$commit"
  rm -rf "$work/source"
fi
build "$root" now

# What is private may change: types of other headers, and structs that public headers declare and do not define, whose
# private header may have the name of a public one.
opaque=$(awk '
  match($0, /^typedef struct mica_[a-z0-9_]+ mica_/) { declared[$3] = 1 }
  match($0, /^(typedef )?struct mica_[a-z0-9_]+ \{/) { defined[$1 == "struct" ? $2 : $3] = 1 }
  END { for (name in declared) if (!(name in defined)) list = list "|" name; print substr(list, 2) }' \
  "$work"/now/include/mica/*.h)
printf '[suppress_type]\n  name_regexp = ^(%s)$\n' "$opaque" >"$work/private"
status=0
abidiff --no-added-syms --drop-private-types --suppressions "$work/private" --headers-dir1 "$work/$commit/include" \
  --headers-dir2 "$work/now/include" "$(library "$commit")" "$(library now)" >"$work/changes" || status=$?
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
