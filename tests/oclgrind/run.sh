#!/bin/sh
# tests/oclgrind/run.sh: device tests on Oclgrind, a second OpenCL, which reports races between work-items, accesses
# out of bounds and uses of what nobody has written.
#
#   sh tests/oclgrind/run.sh [--build DIR] [--fast] [--jobs N] [PATTERN]
#
#   --build DIR   build folder, its tests are run, its oclgrind/ keeps compiled kernels and reports (default: build)
#   --fast        the subset of CI, 30 s of processor time. The whole takes about 20 minutes: 300 s conv,
#                 206 gemm, 156 strided_copy, 108 reduce, augment, fill and scale_add, 8 to 11 a shard
#   --jobs N      simulators at a time (default: 2)
#   PATTERN       only runs whose line, such as "test_ops_on_device softmax", matches the extended regular expression
#
# Kernels are compiled without optimisation, whose `freeze` instruction 21.10's plugin for uninitialised reads does not
# know, and get as much local memory as PoCL gives them: the CPU's kernels would decline to run in Oclgrind's 32 KiB.
#
# A mended copy of Oclgrind's library is loaded. Where a shuffle of vectors leaves a place open, LLVM's mask says -1;
# 21.10's plugin for uninitialised reads looks for 11. So it takes element 11 of every shuffle for uninitialised, which
# made 10 false reports of conv_depthwise_cpu_c's transposes and 153 of the sum over lanes in conv_depthwise_wgrad_w,
# and it looks -1 up 4 GiB behind the vector, where it crashed. In the copy the 11 is a -1. Where the instruction is
# (another processor, another version) the library runs as it is, and the script says so.
#
# Exit status: 0 good; 1 a test failed or there was a report, which is printed; 2 usage; 77 Oclgrind is not installed.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh

# run.sh --one DIR PROGRAM ARGUMENT...: one run; what goes wrong is left in DIR/failed.
if [ "${1-}" = --one ]; then
  folder=$2
  shift 2
  name=$(echo "$*" | tr ' /' '_-')
  status=0
  oclgrind --build-options -cl-opt-disable --local-mem-size 1048576 --num-threads 1 \
    --data-races --uninitialized --max-errors 10 --log "$folder/reports/$name" \
    "$folder/../bin/tests/$@" >"$folder/reports/$name.out" 2>&1 || status=$?
  if [ "$status" = 0 ] && [ ! -s "$folder/reports/$name" ]; then
    echo "ok      $*"
  else
    echo "FAILED  $*: exit status $status, $(grep -c Kernel: "$folder/reports/$name" || true) reports"
    cat "$folder/reports/$name.out" "$folder/reports/$name"
    echo "$*" >>"$folder/failed"
  fi
  exit 0
fi

usage() {
  sed -n '5p' "$self" | sed 's/^# *//' >&2
  exit 2
}

build=$(dirname "$self")/../../build fast='' jobs=2 pattern=.
while [ $# -gt 0 ]; do
  case $1 in
  --build | --jobs)
    [ $# -gt 1 ] || usage
    eval "${1#--}=\$2"
    shift
    ;;
  --fast) fast=1 ;;
  -*) usage ;;
  *) pattern=$1 ;;
  esac
  shift
done
command -v oclgrind >/dev/null || { echo "SKIP: Oclgrind is not installed"; exit 77; }

# mend LIBRARY COPY: in "add %rax,%rbp; cmp $11,%ecx; jne".
mend() {
  wrong='\x48\x01\xc5\x83\xf9\x0b\x75' right='\x48\x01\xc5\x83\xf9\xff\x75'
  if [ "$(LC_ALL=C grep -aoP "$wrong" "$1" | wc -l)" = 1 ]; then
    LC_ALL=C sed "s/$wrong/$right/" "$1" >"$2.new"
    mv "$2.new" "$2"
  else
    echo "NOTE: $1 is not mended; reports of uninitialised values may be false"
  fi
}

mkdir -p "$build/oclgrind/reports" "$build/oclgrind/cache" "$build/oclgrind/lib"
folder=$(cd "$build/oclgrind" && pwd)
rm -f "$folder/failed" "$folder/reports"/*
export MICA_TEST_LIMITS=writes=kernel MICA_TEST_SMALL=1 MICA_CACHE_DIR="$folder/cache"
library=$(ldd "$(command -v oclgrind-kernel)" | sed -n 's/.*=> \(.*liboclgrind-.*\.so\) .*/\1/p')
[ -e "$folder/lib/${library##*/}" ] || mend "$library" "$folder/lib/${library##*/}"
export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
unset MICA_DEVICE OCL_ICD_VENDORS MICA_TEST_LAUNCH_LOG || true

# What a GPU runs: kernels whose work-items share a row or a tile, sorting, counting, random numbers.
fast_runs() {
  for case in softmax sum_last sum_first argmax cumsum transpose gather scatter_elements top_k matmul conv_plain \
    max_pool average_pool normal cross_entropy; do
    echo "test_ops_on_device $case"
  done
}

# The ops' own checks hold all variants of their kernels. Not those of cast: converted with saturation a NaN is 0
# (OpenCL C 1.2, 6.2.3.3), and in Oclgrind the least integer. Atomic counters
# order what the groups of block_chain and block_after write and read; Oclgrind reports races there.
all_runs() {
  "$build/bin/tests/test_ops_checks" --list | sed '/^cast$/d; /^block_chain$/d; /^block_after$/d; s/^/test_ops_checks /'
  for shard in $(seq 40); do echo "test_ops_on_device --shard $shard/40"; done
  "$build/bin/tests/test_compile_fused" --list | sed '/^random_/d; s/^/test_compile_fused /'
  echo "test_runtime_own_kernel"
}

{ [ "$fast" ] && fast_runs || all_runs; } | grep -E -e "$pattern" >"$folder/runs" || {
  echo "no run matches \"$pattern\"" >&2
  exit 2
}
# One line a run, split at blanks.
xargs -P "$jobs" -L 1 sh "$self" --one "$folder" <"$folder/runs"
echo "$(wc -l <"$folder/runs") runs"
[ ! -e "$folder/failed" ]
