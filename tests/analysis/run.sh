#!/bin/sh
# tests/analysis/run.sh: static analysis of all C files: clang-tidy 14 with .clang-tidy, and cppcheck. About ten minutes
# on two cores, which is why CI does not run it.
#
#   sh tests/analysis/run.sh [--build DIR] [FILE...]
#
#   --build DIR   build folder whose compile_commands.json tells how files are compiled (default: build)
#   FILE...       clang-tidy looks at these alone
#
# Exit status: 0 clean; 1 something was found; 77 neither tool is installed.
set -eu

build=build
[ "${1-}" != --build ] || { build=$2; shift 2; }
build=$(cd "$build" && pwd)
cd "$(dirname "$0")/../.."
tools=0 failed=0

if clang-tidy --version 2>/dev/null | grep -q 'version 14\.'; then
  tools=1
  # Tests that are installed and built by themselves are in no build folder.
  [ $# -gt 0 ] || set -- $(git ls-files 'src/*.c' 'samples/*.c' 'tests/*.c' ':!tests/consumer')
  printf '%s\n' "$@" | xargs -n 4 -P "$(nproc)" clang-tidy -p "$build" --quiet 2>/dev/null || failed=1
else
  echo "SKIP: no clang-tidy 14"
fi

if command -v cppcheck >/dev/null; then
  tools=1
  cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
    --suppressions-list=tests/analysis/cppcheck.suppress -Iinclude -Isrc -Itests -j "$(nproc)" src samples tests ||
    failed=1
else
  echo "SKIP: no cppcheck"
fi
[ $tools = 1 ] || exit 77
exit $failed
