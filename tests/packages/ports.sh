# tests/packages/ports.sh: what tests of cmake/packaging share. Read with `.`.
# shellcheck shell=sh disable=SC2034
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
packaging=$root/cmake/packaging
version=$(sed -n 's/^project(mica VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "$1"
  failed=1
}
