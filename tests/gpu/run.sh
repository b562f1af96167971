#!/bin/sh
# sh tests/gpu/run.sh [--device SELECTOR] [--out FOLDER] [--seconds N] [PART...]: everything on the GPU that is here,
# in one report.
#
# Builds the library, the command and the benchmarks into build-gpu/ (and the tests, where Check is installed), then
# runs on the device: mica doctor, the device tests, and mica-bench peak, gemm, conv and train; or of these the PARTs
# alone (doctor tests peak gemm conv train-mlp train-cnn train-resnet18 peer). Needs a C compiler, CMake, an OpenCL
# loader with headers, xxHash's header and cJSON; nothing is installed. Where the Python of MICA_BENCH_PYTHON (python3)
# has PyTorch with CUDA, its products and convolutions (cuBLAS, cuDNN) run in the same way, for comparison. FOLDER
# (build-gpu/report) receives report.txt and the output of each part. SELECTOR is gpu, or as in MICA_DEVICE: of several
# GPUs, or one with several drivers, "mica devices" tells the names. No part may take longer than N seconds (1800).
#
# Exit status: 0 when all parts ended well; 1 when one did not; 2 usage; 77 where the device is not there.
set -u

usage() {
  echo "gpu/run.sh: $1; --help tells" >&2
  exit 2
}

known='doctor tests peak gemm conv train-mlp train-cnn train-resnet18 peer'
device=gpu out='' seconds=1800 parts=''
while [ $# -gt 0 ]; do
  case $1 in
  --device | --out | --seconds)
    [ $# -gt 1 ] || usage "$1 wants a value"
    eval "${1#--}=\$2"
    shift
    ;;
  --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) usage "what is \"$1\"?" ;;
  *)
    case " $known " in *" $1 "*) parts="$parts $1" ;; *) usage "there is no part \"$1\"" ;; esac
    ;;
  esac
  shift
done

[ -z "$out" ] || { mkdir -p "$out" && out=$(cd "$out" && pwd); } || exit 1
cd "$(dirname "$0")/../.." || exit 1
[ -n "$out" ] || out=$PWD/build-gpu/report
mkdir -p "$out" || exit 1
report=$out/report.txt
for name in $known; do rm -f "$out/$name.txt"; done
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
failed=0
tests=OFF
pkg-config --exists check 2>/dev/null && tests=ON
command -v cmake >/dev/null || { echo "gpu/run.sh: there is no CMake" >&2; exit 1; }
cmake -S . -B build-gpu -DMICA_BUILD_TESTS=$tests -DMICA_BUILD_BENCH=ON -DMICA_BUILD_SAMPLES=OFF \
  -DMICA_BUILD_CLI=ON >"$out/build.txt" 2>&1 && cmake --build build-gpu --parallel "$cores" >>"$out/build.txt" 2>&1 || {
  tail -n 20 "$out/build.txt" >&2
  exit 1
}

# By its number: tests that give a device another class would not find it again by "gpu".
MICA_DEVICE=$device build-gpu/bin/mica doctor no-such-op >"$out/device.txt" 2>&1
MICA_DEVICE=$(sed -n '1s/^\([0-9]*:[0-9]*\) .*/\1/p' "$out/device.txt")
if [ -z "$MICA_DEVICE" ]; then
  echo "SKIP: $(cat "$out/device.txt")"
  exit 77
fi
export MICA_DEVICE

# part NAME COMMAND...: runs it, keeps what it writes, notes how it ended and how long it took.
part() {
  name=$1
  shift
  case " $parts " in
  "  " | *" $name "*) ;;
  *) return ;;
  esac
  begin=$(date +%s)
  if command -v timeout >/dev/null; then
    timeout "$seconds" "$@" >"$out/$name.txt" 2>&1
  else
    "$@" >"$out/$name.txt" 2>&1
  fi
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

# Lines of a benchmark with the share of the measured peak behind them.
with_shares() {
  peak=$(sed -n 's/^\([0-9.]*\) GFLOP.*/\1/p' "$out/peak.txt" 2>/dev/null)
  awk -v peak="${peak:-0}" '{
    line = $0
    for (i = 1; i < NF; i++)
      if (peak > 0 && $i ~ /^(gemm|gemv|conv|winograd|clblast)[a-z_]*$/ && $(i + 1) ~ /^[0-9.]+$/) {
        line = line sprintf("   %.0f %% of peak", 100 * $(i + 1) / peak)
        break
      }
    print line
  }'
}

{
  echo "Mica on a GPU, $(date -u +%Y-%m-%d)"
  build-gpu/bin/mica version
  sed -n 1p "$out/device.txt"
  echo
  echo "All devices:"
  (unset MICA_DEVICE && build-gpu/bin/mica devices)
  echo
} >"$report" 2>&1
cat "$report"
part doctor build-gpu/bin/mica doctor
if [ $tests = ON ]; then
  # Each test may take minutes of a driver's compiler on one core. Oclgrind is a device of its own.
  part tests ctest --test-dir build-gpu -L device -E '^oclgrind' --output-on-failure --parallel "$cores"
else
  part tests sh -c 'echo "Check, or pkg-config, is not installed"; exit 77'
fi
part peak build-gpu/bin/mica-bench peak
part gemm build-gpu/bin/mica-bench gemm
part conv build-gpu/bin/mica-bench conv --pass all
for model in mlp cnn resnet18; do part "train-$model" build-gpu/bin/mica-bench train --model $model; done
python=${MICA_BENCH_PYTHON:-python3}
if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  part peer "$python" tests/bench/peers/torch_cuda.py
else
  part peer sh -c "echo '$python (MICA_BENCH_PYTHON) has no PyTorch with CUDA'; exit 77"
fi
for name in $known; do
  [ -s "$out/$name.txt" ] || continue
  printf '\n--- %s\n' "$name"
  tail -n 60 "$out/$name.txt" | with_shares
done >>"$report"
echo "report: $report"
exit $failed
