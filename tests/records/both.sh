#!/bin/sh
# sh tests/records/both.sh REV BUILD [NAME...]: builds the commit REV beside BUILD, the build folder of this tree, makes
# a record of both (run.sh) on the same data and compares them. Minutes: 3 if kernels and objects are cached, 10 if not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rev=$(git -C "$root" rev-parse --verify "$1^{commit}")
build=$(cd "$2" && pwd)
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/mica-records-both.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir "$work/source"
git -C "$root" archive "$rev" | tar -x -C "$work/source"
launcher=''
status=0
# ccache then finds the objects again, although the folder has another name each time.
export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
command -v ccache >/dev/null && launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache
# shellcheck disable=SC2086 # no word, or one
cmake -S "$work/source" -B "$work/build" -DMICA_BUILD_CLI=ON -DMICA_BUILD_BENCH=OFF -DMICA_BUILD_SAMPLES=OFF $launcher \
  >"$work/log" 2>&1 || status=$?
[ $status != 0 ] || cmake --build "$work/build" -j2 --target mica_cli >>"$work/log" 2>&1 || status=$?
[ $status = 0 ] || { tail -n 20 "$work/log"; echo "$rev does not build"; exit 1; }
sh "$here/make.sh" "$build" "$work/data"
sh "$here/run.sh" "$work/build" "$work/data" "$work/old" "$@"
sh "$here/run.sh" "$build" "$work/data" "$work/new" "$@"
sh "$here/compare.sh" "$work/old" "$work/new" && echo "equal to $rev"
