#!/bin/sh
# tests/platforms/run.sh: Mica on an OpenCL that is not installed, but lies in a folder: every op's check (mica doctor)
# and the first losses of a network, beside those on the system's own OpenCL.
#
#   sh tests/platforms/run.sh [--build DIR] [--runtime FOLDER] PLATFORM [OP...]
#   sh tests/platforms/run.sh --fetch FOLDER PLATFORM     from PyPI, by pip (--python PROGRAM: of that Python)
#
#   PLATFORM          intel: Intel's runtime for CPUs (packages intel-opencl-rt, tbb, intel-cmplr-lib-rt)
#   OP...             these checks alone, without the losses
#   --build DIR       build folder: its bin/mica and bin/tests/losses run, its platforms/ keeps what they compile
#                     (default: build)
#   --runtime FOLDER  where the runtime lies; its lib/ is searched for libraries, and its icd/ is the one that the
#                     loader reads, so that no other platform is there
#
# Losses are equal when each is within 1e-4 of the other's, relatively: ten steps from the same weights, sums in another
# order. What a platform declines, doctor calls skipped and says why.
#
# Exit status: 0 good; 1 a check or a loss is wrong; 2 usage; 77 the runtime is not there.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh
usage() {
  [ $# = 0 ] || echo "platforms/run.sh: $1" >&2
  sed -n '5,6s/^#  *//p' "$self" >&2
  exit 2
}

build=$(dirname "$self")/../../build runtime='' fetch='' python=python3
while [ $# -gt 0 ]; do
  case $1 in
  --build | --runtime | --fetch | --python)
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
case $platform in
intel) packages="intel-opencl-rt tbb intel-cmplr-lib-rt" driver=libintelocl.so ;;
*) usage "there is no platform \"$platform\"" ;;
esac

# The packages' libraries, but for a loader of their own, and the file by which a loader finds the driver.
if [ -n "$fetch" ]; then
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

[ -n "$runtime" ] || {
  echo "SKIP: no runtime of $platform (--fetch gets it, CMake's MICA_INTEL_RUNTIME names its folder)"
  exit 77
}
[ -e "$runtime/lib/$driver" ] || { echo "SKIP: $runtime/lib has no $driver"; exit 77; }
runtime=$(cd "$runtime" && pwd)
mkdir -p "$build/platforms"
kept=$(cd "$build/platforms" && pwd)
"$build/bin/tests/losses" >"$kept/losses.here" || [ $? = 77 ] || {
  echo "FAILED losses on the system's OpenCL"
  exit 1
}

unset MICA_DEVICE || true
export OCL_ICD_VENDORS="$runtime/icd/" LD_LIBRARY_PATH="$runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export MICA_CACHE_DIR="$kept/$platform"
"$build/bin/mica" devices >"$kept/devices" 2>&1 && grep -qi "$platform" "$kept/devices" || {
  echo "SKIP: $runtime does not load here"
  cat "$kept/devices"
  exit 77
}
status=0
"$build/bin/mica" doctor "$@" >"$kept/$platform.doctor" 2>&1 || status=1
grep -v '^ok ' "$kept/$platform.doctor" || true
[ $# = 0 ] || exit $status

if ! "$build/bin/tests/losses" >"$kept/losses.$platform"; then
  echo "FAILED losses on $platform"
  exit 1
fi
[ -s "$kept/losses.here" ] || { echo "SKIP losses: the system has no OpenCL to compare with"; exit $status; }
paste "$kept/losses.here" "$kept/losses.$platform" | awk '
  { off = ($2 - $1) / ($1 > 0 ? $1 : 1); if (off < 0) off = -off; if (off > most) most = off; bad += !(off <= 1e-4) }
  END {
    printf "%-8s losses of %d steps, at most %.1e apart\n", bad || !NR ? "FAILED" : "ok", NR, most
    exit bad || !NR
  }' || status=1
exit $status
