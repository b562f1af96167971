#!/bin/sh
# labels: device slow
# The doctor, of one op to be quick, compiles on an empty cache; a second start compiles nothing whatever the driver
# itself kept, and `mica cache` shows and clears what the first left. A kernel that computes wrong results is found.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
export MICA_CACHE_DIR="$work/mica"

# Before each start the driver's own cache is empty.
forget_driver() {
  export POCL_CACHE_DIR="$work/pocl-$1"
  mkdir "$POCL_CACHE_DIR"
}

forget_driver first
run doctor fill --json
ends 0 '*' ''
holds healthy true
holds failed 0
holds kernel_builds '[1-9]*'
holds cache_hits 0
for key in op kernel variant cases result status; do holds "checks.0.$key" '?*'; done
passed=$(json passed)
skipped=$(json skipped)
builds=$(json kernel_builds)
chosen=$(json device.id)
echo "doctor $(json launches)" >>"$MICA_TEST_LAUNCH_LOG"
holds checks.# $((passed + skipped))

forget_driver second
run doctor fill --json
ends 0 '*' ''
holds passed "$passed"
holds kernel_builds 0
holds cache_hits "$builds"

run doctor fill --device "$chosen"
ends 0 "$chosen  *$newline$passed ok, 0 failed, $skipped skipped; 0 programs compiled, *${newline}healthy: *" ''
lines=$(printf '%s\n' "$out" | grep -c -E '^ok  .*; (exact|error at most [01]\.[0-9][0-9] of its bound)$')
[ "$lines" = "$passed" ] || fault "$lines lines instead of $passed"

run cache list --json
ends 0 '*' ''
holds programs.# "$builds"
holds programs.0.bytes '[1-9]*'
holds programs.0.program '?*'
holds programs.0.device '?*'
run cache list
ends 0 "*$newline$builds programs, * in $work/mica" ''

# Kernels from a directory, one of them with a fault.
cp -r "$MICA_SOURCE_DIR/cl" "$work/cl"
sed 's|long j = i;|long j = i + 1;|' "$MICA_SOURCE_DIR/cl/elementwise/fill.cl" >"$work/cl/elementwise/fill.cl"
export MICA_KERNEL_DIR="$work/cl"
run doctor --device xyzzy
ends 1 '' 'mica doctor: no device matches "xyzzy"; choose from: *'
run doctor fill
ends 1 "*${newline}failed *${newline}not healthy: *" ''
unset MICA_KERNEL_DIR

run cache clear
ends 0 "* files deleted in $work/mica" ''
run cache list
ends 0 '0 programs, *' ''
exit "$failed"
