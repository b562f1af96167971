#!/bin/sh
# tests/platforms/run.sh: Mica on one OpenCL at a time: every op's check (mica doctor, a process an op) and the first
# losses of two networks, beside those on PoCL. The last line counts checks: ok, failed, declined with a reason.
#
#   sh tests/platforms/run.sh [--build DIR] [--runtime FOLDER] [--seconds N] PLATFORM [OP...]
#   sh tests/platforms/run.sh --fetch FOLDER intel       from PyPI, by pip (--python PROGRAM: of that Python)
#
#   PLATFORM          pocl: the system's
#                     intel: Intel's runtime for CPUs, in a folder, not installed (packages intel-opencl-rt, tbb,
#                     intel-cmplr-lib-rt)
#                     rusticl: Mesa's, on llvmpipe (Debian's mesa-opencl-icd; other programs see no device of it)
#                     oclgrind: the simulator, the checks of some small ops and the perceptron's losses
#   OP...             these checks alone, without the losses
#   --build DIR       build folder: its bin/mica and bin/tests/losses run, its platforms/ keeps what they compile and
#                     what they said (default: build)
#   --runtime FOLDER  where a runtime lies; its lib/ is searched for libraries, and its icd/ is the one that the loader
#                     reads, so that no other platform is there
#   --seconds N       for an op or a network at most (default: 1800)
#
# Losses are equal when each is within 1e-4 of the other's, relatively: ten steps from the same weights, sums in another
# order. A process that a driver ends is a failure.
#
# Exit status: 0 good; 1 a check or a loss is wrong; 2 usage; 77 the runtime is not there.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh
usage() {
  [ $# = 0 ] || echo "platforms/run.sh: $1" >&2
  sed -n '5,6s/^#  *//p' "$self" >&2
  exit 2
}

build=$(dirname "$self")/../../build runtime='' fetch='' python=python3 seconds=1800
while [ $# -gt 0 ]; do
  case $1 in
  --build | --runtime | --fetch | --python | --seconds)
    [ $# -gt 1 ] || usage "$1 wants a value"
    eval "${1#--}=\$2"
    shift
    ;;
  -*) usage "what is \"$1\"?" ;;
  *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || usage "which platform?"
platform=$1
shift
networks="mlp cnn" ops="$*" name=$platform
case $platform in
pocl) name="Portable Computing Language" ;;
intel) packages="intel-opencl-rt tbb intel-cmplr-lib-rt" driver=libintelocl.so ;;
rusticl) driver=libRusticlOpenCL.so.1 ;;
oclgrind)
  networks=mlp
  small="gather gather_elements scatter cumsum cumprod top_k sort unique segment_sum strided_copy fill cast max_pool"
  [ "$ops" ] || ops=$small
  ;;
*) usage "there is no platform \"$platform\"" ;;
esac

# The packages' libraries, but for a loader of their own, and the file by which a loader finds the driver.
if [ -n "$fetch" ]; then
  [ "$platform" = intel ] || usage "$platform is installed, not fetched"
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  # shellcheck disable=SC2086
  "$python" -m pip download --quiet --no-deps --only-binary :all: --dest "$wheels" $packages
  mkdir -p "$fetch/lib" "$fetch/icd"
  "$python" - "$fetch/lib" "$wheels"/*.whl <<'END'
import os, shutil, sys, zipfile
for wheel in sys.argv[2:]:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            folder, name = os.path.split(entry)
            if folder.endswith(".data/data/lib") and not name.startswith("libOpenCL"):
                with archive.open(entry) as source, open(os.path.join(sys.argv[1], name), "wb") as to:
                    shutil.copyfileobj(source, to)
END
  echo "$driver" >"$fetch/icd/$platform.icd"
  [ -e "$fetch/lib/$driver" ] || { echo "platforms/run.sh: the packages hold no $driver" >&2; exit 1; }
  echo "$platform: $(ls "$fetch/lib" | wc -l) files in $fetch/lib"
  exit 0
fi

skip() {
  echo "SKIP: $1"
  exit 77
}

mkdir -p "$build/platforms"
kept=$(cd "$build/platforms" && pwd)
unset MICA_DEVICE || true
wrapper='' libraries=${LD_LIBRARY_PATH-}
case $platform in
pocl) export OCL_ICD_VENDORS=pocl.icd ;;
intel)
  [ -n "$runtime" ] || skip "no runtime of $platform (--fetch gets it, CMake's MICA_INTEL_RUNTIME names its folder)"
  [ -e "$runtime/lib/$driver" ] || skip "$runtime/lib has no $driver"
  runtime=$(cd "$runtime" && pwd)
  export OCL_ICD_VENDORS="$runtime/icd/" LD_LIBRARY_PATH="$runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  ;;
rusticl)
  { ldconfig -p 2>/dev/null || /sbin/ldconfig -p; } | grep -q "$driver" ||
    skip "Mesa's rusticl is not installed (Debian: mesa-opencl-icd)"
  mkdir -p "$kept/icd"
  echo "$driver" >"$kept/icd/rusticl.icd"
  export OCL_ICD_VENDORS="$kept/icd/" RUSTICL_ENABLE=llvmpipe
  ;;
oclgrind)
  command -v oclgrind >/dev/null || skip "Oclgrind is not installed"
  # As tests/oclgrind/run.sh has it, which looks for races and accesses out of bounds too.
  wrapper="oclgrind --build-options -cl-opt-disable --local-mem-size 1048576 --num-threads 1"
  ;;
esac

# run PROGRAM ARGUMENT...: on the platform.
run() {
  # shellcheck disable=SC2086
  MICA_CACHE_DIR="$kept/$platform" timeout "$seconds" $wrapper "$@"
}
run "$build/bin/mica" devices >"$kept/devices" 2>&1 && grep -qi "$name" "$kept/devices" || {
  cat "$kept/devices"
  skip "$platform does not load here"
}
sed -n 's/^ *driver  */driver   /p' "$kept/devices" | head -n 1

# An unknown name makes doctor list those that it knows.
[ "$ops" ] || ops=$(run "$build/bin/mica" doctor '?' 2>&1 | sed -n 's/.*there are //; s/,//g; /fill/p')
status=0
: >"$kept/$platform.doctor"
for op in $ops; do
  code=0
  run "$build/bin/mica" doctor "$op" >"$kept/$platform.one" 2>&1 || code=$?
  cat "$kept/$platform.one" >>"$kept/$platform.doctor"
  grep '^failed' "$kept/$platform.one" || true
  # 1: a check failed, which has its line, or none could be run.
  if [ "$code" -gt 1 ]; then
    echo "failed   $op: exit status $code: $(tail -n 1 "$kept/$platform.one")" | tee -a "$kept/$platform.doctor"
  fi
done
grep '^skipped' "$kept/$platform.doctor" | grep -v 'it is for other devices' | sort -u || true
! grep -q '^failed' "$kept/$platform.doctor" || status=1

# losses NETWORK: beside PoCL's.
losses() {
  # shellcheck disable=SC2030
  (
    export OCL_ICD_VENDORS=pocl.icd LD_LIBRARY_PATH="$libraries"
    "$build/bin/tests/losses" "$1" >"$kept/losses.$1.here" 2>/dev/null
  ) || rm -f "$kept/losses.$1.here"
  if ! run "$build/bin/tests/losses" "$1" >"$kept/losses.$1.$platform"; then
    echo "failed   losses of $1"
    return 1
  fi
  [ -s "$kept/losses.$1.here" ] || { echo "SKIP losses of $1: there is no PoCL to compare with"; return 0; }
  paste "$kept/losses.$1.here" "$kept/losses.$1.$platform" | awk -v network="$1" '
    { off = ($2 - $1) / ($1 > 0 ? $1 : 1); if (off < 0) off = -off; if (off > most) most = off; bad += !(off <= 1e-4) }
    END {
      printf "%-8s losses of %s, %d steps, at most %.1e apart\n", bad || !NR ? "failed" : "ok", network, NR, most
      exit bad || !NR
    }'
}
if [ $# = 0 ]; then
  for network in $networks; do losses "$network" || status=1; done
fi
count() { grep -c "$1" "$kept/$platform.doctor" || true; }
others=$(count 'it is for other devices')
echo "$platform: $(count '^ok ') ok, $(count '^failed') failed, $(($(count '^skipped') - others)) declined;" \
  "$others are for other devices"
exit $status
