#!/bin/sh
# tests/platforms/run.sh: Mica on one OpenCL at a time: every op's check (mica doctor, a process an op) and the first
# ten losses of two networks, beside those on PoCL. The last line counts checks: ok, failed, declined with a reason.
#
#   sh tests/platforms/run.sh [--build DIR] [--runtime FOLDER] [--seconds N] [--resume] PLATFORM [OP...]
#   sh tests/platforms/run.sh [OPTION...] table       what all platforms said, as the tables of tests/README.md
#   sh tests/platforms/run.sh --fetch FOLDER intel       from PyPI, by pip (--python PROGRAM: of that Python)
#
#   PLATFORM          pocl: the system's
#                     intel: Intel's runtime for CPUs, in a folder, not installed (packages intel-opencl-rt, tbb,
#                     intel-cmplr-lib-rt)
#                     rusticl: Mesa's, on llvmpipe (Debian's mesa-opencl-icd; other programs see no device of it)
#                     oclgrind: the simulator
#   OP...             these checks alone, without the losses; "losses": these alone
#   table             a platform whose checks or losses are lacking is run first, as with --resume
#   --build DIR       build folder: its bin/mica and bin/tests/losses run, its platforms/ keeps what they compile and
#                     what they said (default: build)
#   --runtime FOLDER  where a runtime lies; its lib/ is searched for libraries, and its icd/ is the one that the loader
#                     reads, so that no other platform is there
#   --seconds N       for an op or a network at most (default: 1800)
#   --resume          what was kept of a run that was stopped is not run again
#
# Losses are equal when each is within 1e-4 of the other's, relatively: ten steps from the same weights, sums in another
# order, no Winograd's transforms (losses.c). rusticl runs the kernels of GPUs, and stands beside PoCL made a GPU. On
# PoCL the losses of the kernels of CPUs stand beside the ones of GPUs. A process that a driver ends is a failure.
#
# Exit status: 0 good; 1 a check or a loss is wrong; 2 usage; 77 the runtime is not there.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh
usage() {
  [ $# = 0 ] || echo "platforms/run.sh: $1" >&2
  sed -n '5,7s/^#  *//p' "$self" >&2
  exit 2
}

build=$(dirname "$self")/../../build runtime='' fetch='' python=python3 seconds=1800 resume=''
while [ $# -gt 0 ]; do
  case $1 in
  --build | --runtime | --fetch | --python | --seconds)
    [ $# -gt 1 ] || usage "$1 wants a value"
    eval "${1#--}=\$2"
    shift
    ;;
  --resume) resume=1 ;;
  -*) usage "what is \"$1\"?" ;;
  *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || usage "which platform?"
platform=$1
shift
networks="mlp cnn" ops="$*" name=$platform beside=cpu trained=''
case $platform in
pocl) name="Portable Computing Language" beside=gpu ;;
intel) packages="intel-opencl-rt tbb intel-cmplr-lib-rt" driver=libintelocl.so ;;
rusticl) driver=libRusticlOpenCL.so.1 beside=gpu ;;
oclgrind)
  # It says that it is a GPU, and interprets: kernels of CPUs, with vectors of 16, are a quarter of the instructions.
  trained="env MICA_TEST_LIMITS=class=cpu"
  ;;
table) ;;
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

mkdir -p "$build/platforms"
kept=$(cd "$build/platforms" && pwd)
said=$kept/said/$platform
mkdir -p "$said"

# count PATTERN PLATFORM: lines of all checks kept of it; one may be in what two ops said (gather, gather_elements).
count() { cat "$kept/said/$2"/*.op 2>/dev/null | sort -u | grep -ac "$1" || true; }
elsewhere='it does not run on this device'
declined() { echo $(($(count '^skipped' "$1") - $(count "$elsewhere" "$1"))); }

if [ "$platform" = table ]; then
  status=0 all="pocl intel rusticl oclgrind"
  for p in $all; do
    code=0
    sh "$self" --build "$build" --seconds "$seconds" ${runtime:+--runtime "$runtime"} --resume "$p" \
      >"$kept/$p.run" 2>&1 || code=$?
    [ "$code" = 0 ] || [ "$code" = 77 ] || status=1
  done
  echo "| OpenCL | ok | failed | declined | for other devices | losses of \`mlp\`, \`cnn\` |"
  echo "| --- | --- | --- | --- | --- | --- |"
  for p in $all; do
    if grep -q '^SKIP: ' "$kept/$p.run"; then
      echo "| $p | | | | | $(sed -n 's/^SKIP: //p' "$kept/$p.run" | head -n 1) |"
    else
      echo "| $(cat "$kept/said/$p/name") | $(count '^ok ' "$p") | $(count '^failed' "$p") | $(declined "$p") |" \
        "$(count "$elsewhere" "$p") | $(cat "$kept/said/$p/losses" 2>/dev/null | paste -s -d ';' | sed 's/;/; /g') |"
    fi
  done
  echo
  cat "$kept"/said/*/*.op 2>/dev/null | grep -a '^skipped' | grep -v "$elsewhere" |
    sed 's/.*declined: //; s/.*  //' | sort | uniq -c | sort -rn
  echo
  # A column a platform.
  for n in $networks; do
    for p in $all; do ls "$kept/said/$p/$n".[cg]pu 2>/dev/null || true; done >"$kept/columns"
    [ -s "$kept/columns" ] || continue
    echo "$n: $(sed 's/.*said.//; s/\/.*\./ /' "$kept/columns" | paste -s -d ',' | sed 's/,/, /g')"
    # shellcheck disable=SC2046
    paste -d ' ' $(cat "$kept/columns")
  done
  exit $status
fi

skip() {
  echo "SKIP: $1"
  exit 77
}

[ "$resume" ] || rm -f "$said"/*
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
  # Local memory as tests/oclgrind/run.sh has it, whose look for uninitialised reads needs kernels that are not
  # optimised. Interpreted, the convolutions of such take four times as long.
  wrapper="oclgrind --local-mem-size 1048576"
  ;;
esac

# run PROGRAM ARGUMENT...: on the platform.
run() {
  # shellcheck disable=SC2086
  MICA_CACHE_DIR="$kept/$platform" timeout "$seconds" $wrapper "$@"
}
run "$build/bin/mica" devices >"$said/devices" 2>&1 && grep -qi "$name" "$said/devices" || {
  cat "$said/devices"
  skip "$platform does not load here"
}
sed -n 's/^ *driver  */driver   /p' "$said/devices" | head -n 1
sed -n "s/^ *driver  *\([^,]*\).*/$platform \1/p" "$said/devices" | head -n 1 >"$said/name"

# An unknown name makes doctor list those that it knows.
[ "$ops" ] || ops="$(run "$build/bin/mica" doctor '?' 2>&1 | sed -n 's/.*choose from: //; s/,//g; /fill/p') losses"

# check OP: a failure has its line, or the process's end is one; so is a check without a line.
check() {
  code=0
  run "$build/bin/mica" doctor "$1" >"$said/$1.now" 2>&1 || code=$?
  [ "$code" -le 1 ] || echo "failed   $1: exit status $code: $(tail -n 1 "$said/$1.now")" >>"$said/$1.now"
  grep -q '^ok \|^failed\|^skipped' "$said/$1.now" || echo "failed   $1: $(tail -n 1 "$said/$1.now")" >>"$said/$1.now"
  mv "$said/$1.now" "$said/$1.op"
  grep '^failed' "$said/$1.op" || true
}

# train NETWORK FILE: the losses, a line each, and the seconds they took, on stdout.
train() {
  begun=$(date +%s)
  # shellcheck disable=SC2086
  run $trained "$build/bin/tests/losses" "$1" >"$2.now" || return 1
  mv "$2.now" "$2"
  echo $(($(date +%s) - begun))
}

# reference NETWORK FILE: on PoCL, which is a GPU where kernels of GPUs run on the platform.
reference() {
  mkdir -p "$kept/said/pocl"
  # shellcheck disable=SC2030
  (
    export OCL_ICD_VENDORS=pocl.icd LD_LIBRARY_PATH="$libraries"
    platform=pocl wrapper='' trained="env MICA_TEST_LIMITS=class=$beside"
    train "$1" "$2"
  ) >/dev/null 2>&1 || echo "there is no PoCL to compare with"
}

# losses NETWORK: beside PoCL's, a line for the table. PoCL's own are compared with PoCL as a GPU.
losses() {
  here=$kept/said/pocl/$1.$beside mine=$said/$1.$beside
  [ "$platform" != pocl ] || mine=$said/$1.cpu
  [ -s "$here" ] || reference "$1" "$here"
  took=$(train "$1" "$mine") || { echo "failed   losses of $1"; return 1; }
  [ -s "$here" ] || { echo "SKIP losses of $1: there is no PoCL to compare with"; return 0; }
  paste "$here" "$mine" | awk -v network="$1" -v took="$took" '
    { off = ($2 - $1) / ($1 > 0 ? $1 : 1); if (off < 0) off = -off; if (off > most) most = off; bad += !(off <= 1e-4) }
    END {
      printf "%-8s losses of %s, %d steps, at most %.1e apart, in %d s\n", bad || !NR ? "failed" : "ok", network, NR,
             most, took
      exit bad || !NR
    }'
}

status=0
for op in $ops; do
  if [ "$op" = losses ]; then
    [ "$resume" ] && [ -s "$said/losses" ] || {
      : >"$said/losses.now"
      for network in $networks; do losses "$network" >>"$said/losses.now" || true; done
      mv "$said/losses.now" "$said/losses"
    }
    cat "$said/losses"
    ! grep -q '^failed' "$said/losses" || status=1
  else
    [ "$resume" ] && [ -s "$said/$op.op" ] || check "$op"
    ! grep -q '^failed' "$said/$op.op" || status=1
  fi
done
cat "$said"/*.op 2>/dev/null | grep -a '^skipped' | grep -v "$elsewhere" | sort -u || true
echo "$platform: $(count '^ok ' "$platform") ok, $(count '^failed' "$platform") failed, $(declined "$platform")" \
  "declined; $(count "$elsewhere" "$platform") are for other devices"
exit $status
