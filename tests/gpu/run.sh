#!/bin/sh
# sh tests/gpu/run.sh [--device SELECTOR] [--out FOLDER] [--seconds N]: everything on the GPU that is here, in one
# report.
#
# Builds the library and the command into build-gpu/ (tests and benchmarks too, where Check is installed), then runs
# on the device: mica devices, mica doctor, the device tests, and mica-bench peak, gemm, conv and train. Needs a C
# compiler, CMake, an OpenCL loader with headers, xxHash's header and cJSON; nothing is installed. Where python3 has
# PyTorch with CUDA, its products and convolutions (cuBLAS, cuDNN) run in the same way, for comparison. FOLDER
# (build-gpu/report) receives report.txt and the output of each part. SELECTOR is gpu, or as in MICA_DEVICE; no part may
# take longer than N seconds (900).
#
# Exit status: 0 when all parts ended well; 1 when one did not; 2 usage; 77 where the device is not there.
set -u
cd "$(dirname "$0")/../.." || exit 1

device=gpu out=build-gpu/report seconds=900
while [ $# -gt 0 ]; do
  case $1 in
  --device) device=$2; shift ;;
  --out) out=$2; shift ;;
  --seconds) seconds=$2; shift ;;
  --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "gpu/run.sh: what is \"$1\"? --help tells" >&2; exit 2 ;;
  esac
  shift
done

mkdir -p "$out"
report=$out/report.txt
failed=0
tests=OFF
pkg-config --exists check 2>/dev/null && tests=ON
cmake -S . -B build-gpu -DMICA_BUILD_TESTS=$tests -DMICA_BUILD_SAMPLES=OFF -DMICA_BUILD_CLI=ON >"$out/build.txt" 2>&1 &&
  cmake --build build-gpu --parallel "$(nproc)" >>"$out/build.txt" 2>&1 || {
  tail -n 20 "$out/build.txt" >&2
  exit 1
}
MICA_DEVICE=$device
export MICA_DEVICE
build-gpu/bin/mica devices --json >"$out/devices.txt" 2>&1
build-gpu/bin/mica doctor no-such-op >"$out/device.txt" 2>&1
if grep -q 'no device matches' "$out/device.txt"; then
  echo "SKIP: $(cat "$out/device.txt")"
  exit 77
fi

# part NAME COMMAND...: runs it, keeps what it writes, notes how it ended and how long it took.
part() {
  name=$1
  shift
  begin=$(date +%s)
  timeout "$seconds" "$@" >"$out/$name.txt" 2>&1
  status=$?
  case $status in
  0) verdict=ok ;;
  77) verdict=SKIP ;;
  124) verdict="stopped after $seconds s" failed=1 ;;
  *) verdict="FAILED ($status)" failed=1 ;;
  esac
  last=$(tail -n 1 "$out/$name.txt" | cut -c1-80)
  printf '%-15s %-22s %5d s   %s\n' "$name" "$verdict" $(($(date +%s) - begin)) "$last" | tee -a "$report"
}

{
  echo "Mica on a GPU, $(date -u +%Y-%m-%d)"
  build-gpu/bin/mica version
  build-gpu/bin/mica devices
  echo
} >"$report" 2>&1
cat "$report"
part doctor build-gpu/bin/mica doctor
[ $tests = ON ] && part tests ctest --test-dir build-gpu -L device --output-on-failure
if [ -x build-gpu/bin/mica-bench ]; then
  part peak build-gpu/bin/mica-bench peak
  part gemm build-gpu/bin/mica-bench gemm
  part conv build-gpu/bin/mica-bench conv --pass all
  for model in mlp cnn resnet18; do part "train-$model" build-gpu/bin/mica-bench train --model $model; done
fi
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  part peer python3 tests/bench/peers/cuda.py
fi
for name in doctor peak gemm conv train-mlp train-cnn train-resnet18 peer; do
  [ -s "$out/$name.txt" ] || continue
  printf '\n--- %s\n' "$name"
  tail -n 60 "$out/$name.txt"
done >>"$report"
echo "report: $report"
exit $failed
