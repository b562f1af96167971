#!/bin/sh
# sh tests/run.sh [--fast] [--build FOLDER] [-DOPTION=VALUE...] [argument of ctest...]
#
# Installs what is missing, builds into FOLDER (build) and runs every test, or those that ctest's arguments choose.
# --fast leaves out the tests labelled slow. Tests that a known fault of a driver ended run again, once. Ends with
# ctest's summary and exit status.
set -eu
cd "$(dirname "$0")/.."

folder='build'
options=''
fast=''
while [ $# -gt 0 ]; do
  case $1 in
    --fast) fast=1 ;;
    --build) folder=$2; shift ;;
    -D?*) options="$options $1" ;;
    --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) break ;;
  esac
  shift
done

# ccache, if it is installed, makes the build of another folder short.
if command -v ccache >/dev/null && [ ! -e "$folder/CMakeCache.txt" ]; then
  options="-DCMAKE_C_COMPILER_LAUNCHER=ccache $options"
fi

# Word splitting is wanted: one argument an option.
# shellcheck disable=SC2086
sh cmake/setup.sh test "$folder" -DMICA_BUILD_TESTS=ON -DMICA_BUILD_SAMPLES=ON -DMICA_BUILD_CLI=ON $options
run() { ctest --test-dir "$folder" --output-on-failure "$@"; }
status=0
run --no-tests=error --parallel "$(nproc)" ${fast:+-LE slow} "$@" || status=$?
if [ $status -ne 0 ] && sh tests/support/again.sh "$folder"; then
  status=0
  run --rerun-failed || status=$?
fi
exit $status
