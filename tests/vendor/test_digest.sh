#!/bin/sh
# labels: null single
# digest.sh gives the same digests for the same kernels, comments and spaces left out, and others for a changed kernel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${MICA_BUILD_DIR:-build}
work=$(mktemp -d "$build/digest.XXXXXX")
trap 'rm -rf "$work"' EXIT
digest() {
  status=0
  sh "$here/digest.sh" --only '^int8_add' "$@" "$build" >"$work/out" 2>"$work/err" || status=$?
}

digest
[ "$status" != 77 ] || { cat "$work/err"; exit 77; }
[ "$status" = 0 ] || { cat "$work/err"; exit 1; }
mv "$work/out" "$work/before"
[ "$(grep -c '^int8_add -DVW=[0-9]* [0-9a-f]\{64\}$' "$work/before")" -ge 2 ] || { cat "$work/before"; exit 1; }

cp -R "$here/../../cl" "$work/cl"
file=$work/cl/quant/add.cl
sed -i -e '1i /* A comment. */' -e 's/;$/ ;/' "$file"
digest --cl "$work/cl"
cmp "$work/before" "$work/out"

sed -i 's/get_global_id(0)/get_global_id(1)/' "$file"
digest --cl "$work/cl"
! cmp -s "$work/before" "$work/out" || { echo "a changed kernel has the digest it had before"; exit 1; }

rm "$file"
digest --cl "$work/cl"
[ "$status" = 1 ] && grep -q 'has no file' "$work/err" || { cat "$work/err"; exit 1; }
digest --frob
[ "$status" = 2 ]
