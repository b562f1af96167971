#!/bin/sh
# sh tests/gpu/run.sh [--device SELECTOR] [--out FOLDER] [--seconds N] [--minutes N] [--build FOLDER] [PART...]:
# everything on the GPU that is here, in one report.
#
# Builds the library, the command and the benchmarks into build-gpu/ (and the tests, where Check is installed), then
# runs on the device: mica doctor, the device tests, and mica-bench peak, gemm, conv and train; or of these the PARTs
# alone (doctor tests peak gemm conv train-mlp train-cnn train-resnet18 peer). Needs a C compiler, CMake, an OpenCL
# loader with headers, xxHash's header and cJSON; nothing is installed. Where the Python of MICA_BENCH_PYTHON (python3)
# has PyTorch with CUDA, its products and convolutions (cuBLAS, cuDNN) run in the same way, for comparison. FOLDER
# (build-gpu/report) receives report.txt and the output of each part. SELECTOR is gpu, or as in MICA_DEVICE: of several
# GPUs, or one with several drivers, "mica devices" tells the names. No part may take longer than N seconds (1800).
#
# PART hour stands for what one hour on a lent card is for, in this order: hopper doctor-all trials peak gemm-16 int8
# attention train-224 forecast peer curves gpt language infer compilers lost memory shared. The report then has each
# figure beside the one that tests/gpu/expected has for it, with their ratio. After --minutes N no part begins, and the
# one that runs is stopped: the parts before it keep their figures. --build takes a build folder as it is.
#
# Exit status: 0 when all parts ended well; 1 when one did not; 2 usage; 77 where the device is not there.
set -u

usage() {
  echo "gpu/run.sh: $1; --help tells" >&2
  exit 2
}

self=$(cd "$(dirname "$0")" && pwd)/run.sh
known='doctor tests peak gemm conv train-mlp train-cnn train-resnet18 peer'
hour='hopper doctor-all trials peak gemm-16 int8 attention train-224 forecast peer curves gpt language infer'
hour="$hour compilers lost memory shared"
networks='resnet50 resnet18 mobilenetv2'

# mica-bench's words for each network in each type; the network's name comes after them.
for_types() {
  for type in bf16 tf32 f32; do
    echo "== $type"
    dtype="--dtype $type"
    [ $type != f32 ] || dtype=
    for model in $networks; do
      # shellcheck disable=SC2086
      "$bench" "$@" "$model" --json --batch 32 $dtype $as || return 1
    done
  done
}

# The commands of a part of the hour. A line "== LABEL" says what the lines after it are of (figures.awk).
run_part() {
  bench=$build/bin/mica-bench mica=$build/bin/mica
  cubes="4096,4096,4096,nn;4096,4096,4096,nt;4096,4096,4096,tn;4096,4096,4096,tt;8192,8192,8192,nn;1024,1024,1024,nn"
  bytes="4096,4096,4096;1024,1024,1024"
  case $1 in
  hopper)
    [ -e "${MICA_TEST_DATA:-}/gpu/hopper/run.sh" ] || { echo "no gpu/hopper in MICA_TEST_DATA"; return 77; }
    sh "$MICA_TEST_DATA/gpu/hopper/run.sh" "$out/hopper"
    ;;
  doctor-all)
    # One process per op: an op that ends the device, or takes a minute, does not end the list.
    "$mica" doctor no-such-op 2>&1 | sed -n 's/.*; choose from: //p' | tr -d , | tr ' ' '\n' >"$out/ops.txt"
    [ -s "$out/ops.txt" ] || { echo "mica doctor names no op"; return 1; }
    # shellcheck disable=SC2016
    xargs -P 8 -I OP sh -c 'timeout 60 "$1" doctor OP >"$2/doctor-OP.txt" 2>&1
      echo "$? OP: $(tail -n 1 "$2/doctor-OP.txt" | cut -c1-100)"' sh "$mica" "$out" <"$out/ops.txt" >"$out/doctors.txt"
    sort "$out/doctors.txt"
    ! grep -qv '^0 ' "$out/doctors.txt"
    ;;
  trials)
    for op in attention int8_matmul gemm; do MICA_VERBOSE=2 "$mica" doctor $op 2>&1; done >"$out/trials.txt"
    grep -i 'trial\|mma' "$out/trials.txt"
    ;;
  peak) "$bench" peak --json ;;
  gemm-16)
    for type in bf16 f16 tf32; do
      echo "== $type"
      "$bench" gemm --json --dtype $type --shapes "$cubes" || return 1
    done
    for type in bf16 f16 tf32; do
      echo "== $type unmeasured"
      "$bench" gemm --json --unmeasured --dtype $type --shapes "$cubes" || return 1
    done
    ;;
  int8) "$bench" int8 --json --shapes "$bytes" ;;
  attention) echo "== bf16" && "$bench" sequence --json --cases attention --dtype bf16 ;;
  train-224) as='' && for_types train --side 224 --profile --model ;;
  forecast) as='--as h100' && for_types plan ;;
  peer)
    "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null || {
      echo "$python (MICA_BENCH_PYTHON) has no PyTorch with CUDA"
      return 77
    }
    "$python" tests/bench/peers/torch_cuda.py || return 1
    "$python" tests/bench/peers/torch_cuda.py --compile --channels-last --networks resnet18,resnet50,mobilenetv2
    ;;
  gpt) echo "== bf16" && "$bench" sequence --json --cases gpt --dtype bf16 ;;
  language) "$bench" language --json && "$bench" language --json --batch 8 ;;
  curves) sh tests/gpu/curves.sh ;;
  compilers) sh tests/gpu/compilers.sh ;;
  lost | memory | shared) sh tests/gpu/faults.sh "$1" ;;
  doctor) "$mica" doctor ;;
  tests)
    [ "$tests" = ON ] || { echo "Check, or pkg-config, is not installed"; return 77; }
    # Each test may take minutes of a driver's compiler on one core. Oclgrind is a device of its own.
    ctest --test-dir "$build" -L device -E '^oclgrind' --output-on-failure --parallel "$cores"
    ;;
  gemm) "$bench" gemm ;;
  conv) "$bench" conv --pass all ;;
  train-mlp | train-cnn | train-resnet18) "$bench" train --model "${1#train-}" ;;
  infer)
    for type in f16 bf16; do
      echo "== $type"
      "$bench" infer --json --cases resnet --dtype $type || return 1
    done
    ;;
  esac
}
python=${MICA_BENCH_PYTHON:-python3}

if [ "${1-}" = --do ]; then
  run_part "$2"
  exit
fi

device=gpu out='' seconds=1800 minutes='' build='' parts=''
while [ $# -gt 0 ]; do
  case $1 in
  --device | --out | --seconds | --minutes | --build)
    [ $# -gt 1 ] || usage "$1 wants a value"
    eval "${1#--}=\$2"
    shift
    ;;
  --help) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) usage "what is \"$1\"?" ;;
  hour) parts="$parts $hour" ;;
  *)
    case " $known $hour " in *" $1 "*) parts="$parts $1" ;; *) usage "there is no part \"$1\"" ;; esac
    ;;
  esac
  shift
done
case $seconds:${minutes:-0} in *[!0-9:]*) usage "--seconds and --minutes want whole numbers" ;; esac
parts=${parts:-$known}
[ -z "$build" ] || build=$(cd "$build" 2>/dev/null && pwd) || usage "--build: there is no such folder"

[ -z "$out" ] || { mkdir -p "$out" && out=$(cd "$out" && pwd); } || exit 1
cd "$(dirname "$0")/../.." || exit 1
[ -n "$out" ] || out=$PWD/build-gpu/report
mkdir -p "$out" || exit 1
report=$out/report.txt
for name in $known $hour; do rm -f "$out/$name.txt"; done
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
failed=0
tests=OFF
pkg-config --exists check 2>/dev/null && tests=ON
if [ -z "$build" ]; then
  build=$PWD/build-gpu
  command -v cmake >/dev/null || { echo "gpu/run.sh: there is no CMake" >&2; exit 1; }
  cmake -S . -B build-gpu -DMICA_BUILD_TESTS=$tests -DMICA_BUILD_BENCH=ON -DMICA_BUILD_SAMPLES=OFF \
    -DMICA_BUILD_CLI=ON >"$out/build.txt" 2>&1 &&
    cmake --build build-gpu --parallel "$cores" >>"$out/build.txt" 2>&1 || {
    tail -n 20 "$out/build.txt" >&2
    exit 1
  }
fi

# By its number: tests that give a device another class would not find it again by "gpu".
MICA_DEVICE=$device "$build/bin/mica" doctor fill >"$out/device.txt" 2>&1
MICA_DEVICE=$(sed -n 's/^\([0-9]*:[0-9]*\) .*/\1/p' "$out/device.txt" | head -n 1)
if [ -z "$MICA_DEVICE" ]; then
  echo "SKIP: $(tail -n 1 "$out/device.txt")"
  exit 77
fi
export MICA_DEVICE out build tests cores

# What is left of --minutes, and of a part's own seconds.
started=$(date +%s)
time_left() {
  left=$seconds
  [ -z "$minutes" ] || left=$((started + 60 * minutes - $(date +%s)))
  [ "$left" -lt "$seconds" ] || left=$seconds
}

# Runs a part, keeps what it writes, notes how it ended and how long it took.
part() {
  name=$1
  begin=$(date +%s)
  time_left
  if [ "$left" -le 0 ]; then
    printf '%-15s %-22s\n' "$name" "left out: no time" | tee -a "$report"
    return
  fi
  if command -v timeout >/dev/null; then
    timeout "$left" sh "$self" --do "$name" >"$out/$name.txt" 2>&1
  else
    sh "$self" --do "$name" >"$out/$name.txt" 2>&1
  fi
  status=$?
  case $status in
  0) verdict=ok ;;
  77) verdict=SKIP ;;
  124)
    verdict="stopped after $left s"
    [ "$left" -lt "$seconds" ] || failed=1
    ;;
  *) verdict="FAILED ($status)" failed=1 ;;
  esac
  last=$(tail -n 1 "$out/$name.txt" | cut -c1-80)
  printf '%-15s %-22s %5d s   %s\n' "$name" "$verdict" $(($(date +%s) - begin)) "$last" | tee -a "$report"
}

# Lines of a benchmark with the share of the measured peak behind them.
with_shares() {
  peak=$(sed -n 's/.*"gflops":\([0-9.]*\).*/\1/p' "$out/peak.txt" 2>/dev/null)
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
  "$build/bin/mica" version
  grep '^[0-9]*:[0-9]* ' "$out/device.txt"
  echo
  echo "All devices:"
  (unset MICA_DEVICE && "$build/bin/mica" devices)
  echo
} >"$report" 2>&1
cat "$report"
for name in $parts; do part "$name"; done
for name in $parts; do
  [ -s "$out/$name.txt" ] || continue
  printf '\n--- %s\n' "$name"
  tail -n 60 "$out/$name.txt" | with_shares
done >>"$report"
for name in $parts; do [ ! -e "$out/$name.txt" ] || cat "$out/$name.txt"; done |
  awk -f tests/gpu/figures.awk >"$out/figures.txt"
awk -f tests/gpu/join.awk tests/gpu/expected "$out/figures.txt" >>"$report"
echo "report: $report"
exit $failed
