#!/bin/sh
# sh tests/gpu/compilers.sh [OP...]: what the driver's compiler makes of the kernels of ops (gemm, conv, attention), on
# the device of MICA_DEVICE.
#
# mica doctor compiles and runs each op with an empty cache. The logs and the binaries (PTX of NVIDIA's driver) stay in
# out/builds. A line of JSON per kernel has its programs and, if the log names them (-cl-nv-verbose), the most registers
# of a work-item and the bytes that spill to memory.
#
# Environment: build, the build folder; out, for the results; seconds_each, for one op (150). Exit status: 0 good; 1 no
# program was built, a kernel of NVIDIA's driver spills, or none of its logs names registers; 77 no preload.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${build:?the build folder} out=${out:?a folder}
mica=$build/bin/mica
[ $# -gt 0 ] || set -- gemm conv attention
mkdir -p "$out"
rm -rf "$out/builds"
mkdir "$out/builds"
work=$(mktemp -d "$out/compilers.XXXXXX")
trap 'rm -rf "$work"' EXIT

${CC:-cc} -shared -fPIC -o "$work/keep.so" "$here/keep_builds.c" -ldl
LD_PRELOAD=$work/keep.so "$mica" version >/dev/null 2>&1 || { echo 'nothing can be preloaded'; exit 77; }
# The driver's own cache would answer without a log.
export KEEP_BUILDS="$out/builds" CUDA_CACHE_DISABLE=1 MICA_CACHE_DIR="$work/cache"
export seconds_each="${seconds_each:-150}"
verbose=0
if "$mica" devices | awk -v id="${MICA_DEVICE:-}" '$1 == "*" { $0 = substr($0, 3) }
    /^ *[0-9]+:[0-9]+ / { here = $1 == id } here && /vendor nvidia/ { found = 1 } END { exit !found }'; then
  export KEEP_OPTIONS=-cl-nv-verbose
  verbose=1
fi
# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -P 4 -I OP sh -c 'LD_PRELOAD=$1/keep.so timeout "$seconds_each" "$2" doctor OP \
  >"$1/OP.doctor" 2>&1 || echo "doctor OP: status $?, $(tail -n 1 "$1/OP.doctor" | cut -c1-100)"' sh "$work" "$mica"

cat "$out"/builds/*.log 2>/dev/null >"$work/logs" || true
awk -v verbose=$verbose -f "$here/compilers.awk" "$work/logs"
