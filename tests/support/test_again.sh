#!/bin/sh
# labels: null single
# sh tests/support/test_again.sh: tests run again only if the driver's known fault ended every one that failed.
set -eu
again=$(cd "$(dirname "$0")" && pwd)/again.sh
work=$(mktemp -d "${MICA_BUILD_DIR:-${TMPDIR:-/tmp}}/again.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/Testing/Temporary"
assertion="common.c:909: pocl_release_dlhandle_cache: Assertion \`found->ref_count > 0' failed."

# logs NAME OUTPUT...: the logs that ctest leaves if these tests have failed.
logs() {
  : >"$work/Testing/Temporary/LastTestsFailed.log"
  : >"$work/Testing/Temporary/LastTest.log"
  while [ $# -gt 0 ]; do
    echo "7:$1" >>"$work/Testing/Temporary/LastTestsFailed.log"
    printf '7/9 Testing: %s\n7/9 Test: %s\nOutput:\n%s\n' "$1" "$1" "$2" >>"$work/Testing/Temporary/LastTest.log"
    shift 2
  done
}

# expect STATUS WHAT: again.sh ends so.
expect() {
  got=0
  sh "$again" "$work" >/dev/null || got=$?
  [ "$got" = "$1" ] || { echo "$2: ended with $got instead of $1"; exit 1; }
}

logs dist.a "$assertion"
expect 0 'one test, ended by the driver'
logs dist.a "$assertion" dist.b "$assertion"
expect 0 'two tests, ended by the driver'
logs dist.a "$assertion" ops.b '50%: Checks: 2, Failures: 1'
expect 1 'one of two failed by itself'
logs ops.b "dist.c: Assertion \`x' failed."
expect 1 'an assertion of something else'
logs
expect 1 'no test failed'
rm "$work/Testing/Temporary/LastTestsFailed.log"
expect 1 'no logs'
