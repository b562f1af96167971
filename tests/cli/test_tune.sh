#!/bin/sh
# labels: device single
# The command tune: a shape, shapes from a file, the report for people and for machines, what it keeps and refuses.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

run tune
ends 0 'gemm *matrix products: M,N,K*conv *convolutions: fwd|bwd_data|bwd_filter,*' ''
run tune --json
ends 0 '*' ''
holds ops.0.op gemm
holds ops.1.op conv
run tune relu
ends 2 '' '*relu*mica tune*'
run tune conv --shape fwd,n1
ends 1 '*' 'mica tune: *does not describe a convolution*'
run tune gemm --budget soon
ends 2 '' 'mica tune: --budget wants a number from 0.001 to 1e+06, not "soon"'
run tune gemm --shape 1,2
ends 1 '*' 'mica tune: *does not describe a matrix product*'
for shape in fwd,n1,c4,h8x8,k4,r3x3x3 n1,n2,fwd,c4,h8,k4 fwd,n1,c4,h8,k4,s0 fwd,n1,c4,h8,k4,d0 fwd,n1,c4,h8,k4,r0; do
  run tune conv --shape $shape
  ends 1 '*' "mica tune: \"$shape\" does not describe a convolution*"
done
for option in --device=bogus --shape=1,1,1 --shapes=x --budget=1; do
  run tune $option
  ends 2 '' "*${option%%=*} is for an op to tune*"
done
run tune gemm --shape 8,8,8 --shapes x
ends 2 '' '*give --shapes or --shape, not both*'
run tune gemm --shapes /nonexistent
ends 1 '*' 'mica tune: cannot read /nonexistent: *'
# A file of other lines is one error, which names the first; a file without shapes is an error too.
printf '# a table\n\na,b\n1,2\n3,4\n' >"$work/table.csv"
run tune gemm --shapes "$work/table.csv"
ends 1 '*' "mica tune: $work/table.csv line 3: \"a,b\" does not describe a matrix product*"
[ "$(wc -l <"$work/err")" = 1 ] || fault "more than one error: $err"
printf '# none\n\n' >"$work/none"
run tune gemm --shapes "$work/none"
ends 1 '' "mica tune: $work/none has no shapes; write one per line, as M,N,K*"
run tune gemm --shapes - </dev/null
ends 1 '' 'mica tune: standard input has no shapes; *'

for selector in null NULL; do
  run tune gemm --shape 8x8x8 --device $selector
  ends 2 '' 'mica tune: the device null computes nothing*'
done

need_device

# A cache of its own, so that what is kept here changes no other test.
export MICA_CACHE_DIR="$work/mica"
printf '# two shapes\n33,17,5\n  20,20,20,tt  \n' >"$work/shapes"
run tune gemm --shapes "$work/shapes" --budget 2 --json
ends 0 '*' ''
holds problems.# 2
holds problems.0.problem 'gemm f32*m33 n17 k5 nn x1'
holds problems.1.problem 'gemm f32*m20 n20 k20 tt x1'
holds problems.0.best 'gem*'
holds problems.0.wrong 0
grep -q '^best.gemm f32.*m33 n17 k5' "$MICA_CACHE_DIR"/tuning/*.txt || fault 'nothing was kept'
run tune conv --shape bwd_data,n2,c8,h9x7,k8,r3,p1 --budget 2 --json
ends 0 '*' ''
holds problems.0.problem 'conv bwd_data f32 n2 g1 c8 k8 i1x9x7 *'
holds problems.0.wrong 0
grep -q '^best.conv bwd_data f32 n2 g1 c8 k8' "$MICA_CACHE_DIR"/tuning/*.txt || fault 'no convolution was kept'
run tune gemm --shape 8,8,8 --budget 1
ends 0 '*m8 n8 k8*kept in*' ''
MICA_CACHE_DIR='' run tune gemm --shape 8,8,8 --budget 1
ends 0 '*m8 n8 k8*' '*nothing is kept*'
case $out in *'kept in'*) fault 'something is said to be kept' ;; esac
MICA_CACHE_DIR=/proc/none run tune gemm --shape 8,8,8 --budget 1
ends 1 '*m8 n8 k8*' 'mica tune: *cannot make*/proc/none*'
exit "$failed"
