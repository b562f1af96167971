#!/bin/sh
# tests/avx2/run.sh: a program on PoCL as on a processor with AVX2 and without AVX-512, of any x86-64 machine that has
# AVX2: whose registers are shorter, whose kernels' tiles are others, and whose peers are held to the same.
#
#   sh tests/avx2/run.sh PROGRAM [ARGUMENT...]        sh tests/avx2/run.sh build/bin/mica-bench gemm
#
# Compiled kernels are kept in build/avx2 beside PROGRAM's bin, or, as a test, in the tests' cache: apart from those of
# the machine itself.
#
# Exit status: the program's; 2 usage; 77 where PoCL or its LLVM are not found, or do not say AVX2 in the end.
set -eu

[ $# -gt 0 ] || {
  echo "usage: sh tests/avx2/run.sh PROGRAM [ARGUMENT...]" >&2
  exit 2
}
self=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)
while [ "$(basename "$bin")" != bin ] && [ "$bin" != / ]; do bin=$(dirname "$bin"); done
folder=$(dirname "$bin")/avx2
mkdir -p "$folder"

skip() {
  echo "SKIP: $*"
  exit 77
}
grep -qw avx2 /proc/cpuinfo || skip "the processor has no AVX2"
pocl=$(/sbin/ldconfig -p | sed -n 's/.*libpocl\.so[^ ]* .*=> //p' | head -n 1)
[ -n "$pocl" ] || skip "there is no libpocl"
llvm=$(ldd "$pocl" | sed -n 's/^[[:space:]]*\(libLLVM[^ ]*\) .*/\1/p' | head -n 1)
[ -n "$llvm" ] || skip "PoCL has LLVM within itself"
cc -shared -fPIC -O1 -DLLVM_LIBRARY="\"$llvm\"" -o "$folder/host_cpu.so" "$self/host_cpu.c" -ldl

grep -qw cpuid_fault /proc/cpuinfo ||
  echo "avx2/run.sh: this processor cannot hide AVX-512 from programs that execute CPUID, as onnxruntime does" >&2

if [ -n "${MICA_TEST_LAUNCH_LOG:-}" ]; then
  export POCL_CACHE_DIR="$POCL_CACHE_DIR-avx2" MICA_CACHE_DIR="$MICA_CACHE_DIR-avx2"
else
  export POCL_CACHE_DIR="$folder/pocl" MICA_CACHE_DIR="$folder/mica"
fi
mkdir -p "$POCL_CACHE_DIR" "$MICA_CACHE_DIR"
export OPENBLAS_CORETYPE=Haswell ONEDNN_MAX_CPU_ISA=AVX2 \
  DNNL_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
export LD_PRELOAD="$folder/host_cpu.so"
"$bin/mica" devices | grep -q 'vectors of 32 bytes' || skip "PoCL does not believe it"
exec "$@"
