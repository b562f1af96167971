#!/bin/sh
# labels: device single
# A driver that ends the process costs the doctor the cases in which it did; all others are in the report.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
cc -shared -fPIC -o "$work/end.so" "$(dirname "$0")/end_process.c" -ldl 2>"$work/err" ||
  { echo "SKIP: nothing can be preloaded: $(cat "$work/err")"; exit 77; }
LD_PRELOAD=$work/end.so "$mica" version >/dev/null 2>&1 || { echo 'SKIP: nothing can be preloaded'; exit 77; }
export MICA_CACHE_DIR="$work/cache" # its quarantine is this test's own
export LD_PRELOAD="$work/end.so"

run doctor cumsum top_k fill
ends 0 '*: every kernel that this device can run computes what it should' ''
printf '%s\n' "$out" >"$work/whole"
grep -E '  (cumsum|f32 f32|f16|b8)' "$work/whole" >/dev/null || fault "the report is: $out"

# One kernel of several that an op launches, in one class of devices and the other: two lines have failed, and what was
# not run afterwards is named. Lines of the ops before and after are the same.
said='the driver ended the process (signal 6): LLVM ERROR: no fixpoint'
export END_KERNEL=radix_scan
run doctor cumsum top_k fill
ends 1 '*not healthy: kernels that failed compute wrong results or do not build on this device' \
  '*LLVM ERROR: no fixpoint*'
printf '%s\n' "$out" >"$work/ended"
[ "$(grep -c "^failed .*radix_scan .*top_k.*$said\$" "$work/ended")" = 2 ] || fault "not two lines: $out"
[ "$(grep -c '^failed' "$work/ended")" = 2 ] || fault "others have failed: $out"
for op in cumsum 'f32 b8'; do
  grep -- "$op" "$work/whole" >"$work/want" || fault "no line of $op"
  grep -- "$op" "$work/ended" | cmp -s - "$work/want" || fault "lines of $op differ: $out"
done
grep -q '^skipped .*top_k_cpu.*the driver ended the process in another kernel' "$work/ended" ||
  fault "nothing skipped: $out"

# A driver may call exit as well. The counts of --json are those of its lines.
export END_KERNEL=cumulative END_HOW=exit
run doctor --json cumsum top_k
ends 1 '{*}' '*LLVM ERROR: no fixpoint*'
holds failed 2
holds healthy false
holds checks.0.result failed
holds checks.0.status MICA_E_BUILD
holds checks.0.message '*the driver ended the process (exit status 3): LLVM ERROR: no fixpoint'
holds checks.# $(($(json passed) + $(json failed) + $(json skipped)))

# Before anything is examined there is nothing to go on with.
export END_KERNEL=context
unset END_HOW
run doctor cumsum
ends 1 '' "*mica doctor: $said"

# Both kernels are quarantined, until they are found right.
unset END_KERNEL
run doctor cumsum top_k fill
ends 0 '*' ''
printf '%s\n' "$out" | sed '/programs compiled/d' >"$work/again"
sed '/programs compiled/d' "$work/whole" | cmp -s - "$work/again" || fault "the report differs: $out"
exit "$failed"
