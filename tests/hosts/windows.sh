#!/bin/sh
# tests/hosts/windows.sh: Mica for 64-bit Windows: cross-compiled with warnings as errors, and its tests that need no
# device under wine.
#
#   sh tests/hosts/windows.sh --root FOLDER [--jobs N] [CTEST-ARGUMENT...]
#
#   --root FOLDER    keeps libraries for Windows and the build folder, 1 GB
#
# The first call downloads Debian's sources of cJSON and Check from apt's mirror, checks their hashes and builds them.
# Left out are tests that start programs, and tests of failing allocations, which wrap functions that are macros there.
#
# Exit status: 0 good; 1 a build or a test failed; 2 usage; 77 something is missing.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
root='' jobs=2
while [ $# -gt 0 ]; do
  case $1 in
  --root | --jobs)
    [ $# -gt 1 ] || { echo "hosts/windows.sh: $1 wants a value" >&2 && exit 2; }
    eval "${1#--}=\$2"
    shift
    ;;
  *) break ;;
  esac
  shift
done
[ "$root" ] || {
  sed -n '5s/^#  *//p' "$0" >&2
  exit 2
}
for program in x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-dlltool wine cmake ninja curl sha256sum; do
  command -v "$program" >/dev/null || { echo "SKIP: there is no $program" && exit 77; }
done
mkdir -p "$root"
root=$(cd "$root" && pwd)
prefix=$root/prefix
mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* \
  2>/dev/null | head -n 1)

toolchain="-DCMAKE_TOOLCHAIN_FILE=$source/cmake/mingw.cmake -DCMAKE_FIND_ROOT_PATH=/usr/x86_64-w64-mingw32;$prefix"

# library ARCHIVE HASH FOLDER OPTION...: builds a static library of Debian's source.
library() {
  archive=$1 hash=$2 folder=$3
  shift 3
  file=$root/$(basename "$archive")
  [ -e "$file" ] || curl -sSfL -o "$file" "$mirror/pool/main/$archive" || { echo "SKIP: no $archive" && exit 77; }
  echo "$hash  $file" | sha256sum -c --quiet || exit 1
  tar -xf "$file" -C "$root"
  cmake -G Ninja -S "$root/$folder" -B "$root/$folder/build" "$@" "${toolchain%% *}" "${toolchain#* }" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_SHARED_LIBS=OFF >"$root/$folder.log" 2>&1
  ninja -C "$root/$folder/build" install >>"$root/$folder.log" 2>&1
}

if [ ! -e "$prefix/complete" ]; then
  mkdir -p "$prefix/include" "$prefix/lib"
  library c/cjson/cjson_1.7.15.orig.tar.gz 5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2 \
    cJSON-1.7.15 -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF
  # Check exports a clock_gettime that always gives 0, which the tests would call instead of the system's.
  library c/check/check_0.15.2.orig.tar.gz 8451b68ac5d6f3157b24f22eceff575bcf566264f6d78f3852f89d4e08cf42e1 \
    check-0.15.2 -DCHECK_ENABLE_TESTS=OFF -DHAVE_FORK=0 -DCMAKE_C_FLAGS=-Dclock_gettime=check_clock_gettime
  # Headers are the same on every host. The loader's library is a list of the functions that Mica calls.
  cp -R /usr/include/CL "$prefix/include/"
  cp /usr/include/xxhash.h "$prefix/include/"
  {
    echo 'LIBRARY OpenCL.dll'
    echo 'EXPORTS'
    sed -nE 's/^ *(STATUS\(|OBJECT\([^,]*, *)([A-Z][A-Za-z]+),.*/cl\2/p' "$source/src/runtime/opencl_api.h"
  } >"$root/OpenCL.def"
  x86_64-w64-mingw32-dlltool -d "$root/OpenCL.def" -l "$prefix/lib/libOpenCL.dll.a"
  touch "$prefix/complete"
fi

export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" WINEPREFIX="$root/wine" WINEDEBUG=-all
compiler=$(dirname "$(x86_64-w64-mingw32-gcc-posix -print-file-name=libgcc_s_seh-1.dll)")
export WINEPATH="Z:$compiler;Z:/usr/x86_64-w64-mingw32/lib;Z:$prefix/bin"
wineboot --init >/dev/null 2>&1 || wine wineboot --init >/dev/null 2>&1
cmake -G Ninja -S "$source" -B "$root/build" "${toolchain%% *}" "${toolchain#* }" -DCMAKE_BUILD_TYPE=Release \
  -DMICA_WERROR=ON -DMICA_BUILD_BENCH=OFF -DMICA_BUILD_SAMPLES=OFF \
  -DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v wine)" \
  -DMICA_TEST_WITHOUT=device,slow,fuzz,lint,oracle,sample,vendor -DMICA_TEST_PATIENCE=10
ninja -C "$root/build" -k 0 -j "$jobs"
scripts=$(cd "$source/tests" && find . -name 'test_*.sh' | sed 's#^\./##; s#test_##; s#\.sh$##; s#/#.#g' |
  paste -s -d '|')
ctest --test-dir "$root/build" -L null -E "^($scripts|cli.worker|.*host_(faults|memory)(.[0-9]+)?|consumer.*)\$" \
  -j "$jobs" --output-on-failure "$@" || exit 1
