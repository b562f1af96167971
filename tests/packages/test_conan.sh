#!/bin/sh
# labels: long packages
# sh tests/packages/test_conan.sh: `conan create` with the system's libraries makes a package with which the consumer of
# tests/consumer builds and runs; without optional libraries too. MICA_CONAN is the command (conan). No remote is asked.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
conan=${MICA_CONAN:-conan}
command -v "$conan" >/dev/null || { echo 'SKIP: there is no conan 2'; exit 77; }
case $("$conan" --version) in
  *'version 2.'*) ;;
  *) echo 'SKIP: there is no conan 2'; exit 77 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME="$work/home"
mkdir -p "$work/tree/tests"
cd "$root"
cp -R CMakeLists.txt LICENSE cl cmake include src "$work/tree/"
cp -R tests/consumer "$work/tree/tests/"
cd "$work/tree"

"$conan" profile detect >/dev/null 2>&1
create() {
  "$conan" create cmake/packaging/conan --no-remote "$@" >"$work/log" 2>&1 || { tail -n 60 "$work/log"; exit 1; }
  grep '100% tests passed' "$work/log" || { tail -n 60 "$work/log"; exit 1; }
}
create
features=$(sed -n 's/^mica_feature(\([A-Z0-9]*\) .*/\1/p' CMakeLists.txt | tr '[:upper:]' '[:lower:]')
without=''
for feature in $features; do without="$without -o mica/*:with_$feature=False"; done
# Word splitting is wanted.
# shellcheck disable=SC2086
create $without
"$conan" list 'mica/*:*' >"$work/list" 2>&1
# Two packages of one revision: making a package does not change what it is made of.
[ "$(grep -c 'with_png: ' "$work/list")" = 2 ] || { cat "$work/list"; exit 1; }
