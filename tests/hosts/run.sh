#!/bin/sh
# tests/hosts/run.sh: Mica for another processor: built with warnings as errors, and its tests that need no device.
#
#   sh tests/hosts/run.sh --roots FOLDER [--jobs N] HOST [CTEST-ARGUMENT...]
#
#   HOST             i386: 32-bit x86, in a minimal Debian of its own. PoCL is there: the quickstart's network trains
#                    for an epoch on Fashion-MNIST, where the package is installed
#                    arm64, s390x: cross-compiled, programs of tests under qemu-user; s390x is big-endian. Tests that
#                    start programs are left out, since what they start is not of this machine, and those of failing
#                    allocations, which repeat the same for minutes
#   --roots FOLDER   keeps a Debian and a build folder for each host, 1 GB each
#
# The first call makes the Debian: as root, with debootstrap and a mirror (apt's). gcc-aarch64-linux-gnu or
# gcc-s390x-linux-gnu, and qemu-user-static, are needed for the others.
#
# Exit status: 0 good; 1 a build or a test failed; 2 usage; 77 something is missing.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh
source=$(cd "$(dirname "$self")/../.." && pwd)
usage() {
  [ $# = 0 ] || echo "hosts/run.sh: $1" >&2
  sed -n '4s/^#  *//p' "$self" >&2
  exit 2
}
skip() {
  echo "SKIP: $1"
  exit 77
}

roots='' jobs=2
while [ $# -gt 0 ]; do
  case $1 in
  --roots | --jobs)
    [ $# -gt 1 ] || usage "$1 wants a value"
    eval "${1#--}=\$2"
    shift
    ;;
  -*) usage "what is \"$1\"?" ;;
  *) break ;;
  esac
  shift
done
[ "$roots" ] || usage "which folder keeps the roots?"
[ $# -gt 0 ] || usage "which host?"
host=$1
shift
native='' triple='' processor=''
case $host in
i386)
  native=gcc,cmake,ninja-build,pkg-config,python3-minimal,protobuf-c-compiler,protobuf-compiler,pocl-opencl-icd
  ;;
arm64) triple=aarch64-linux-gnu processor=aarch64 ;;
s390x) triple=s390x-linux-gnu processor=s390x ;;
*) usage "there is no host \"$host\"" ;;
esac

[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64"
mkdir -p "$roots"
roots=$(cd "$roots" && pwd)
root=$roots/$host build=$roots/build-$host
if [ ! -e "$root/made" ]; then
  [ "$(id -u)" = 0 ] || skip "a Debian of $host is made by root"
  command -v debootstrap >/dev/null || skip "there is no debootstrap"
fi
[ "$triple" ] || [ "$(id -u)" = 0 ] || skip "a Debian of $host is entered by root"
for program in ${triple:+"$triple-gcc" "qemu-$processor-static" cmake ninja}; do
  command -v "$program" >/dev/null || skip "there is no $program"
done

# What cmake/setup.sh installs for a full build and the tests, but for MPI and CLBlast.
libraries=libc6-dev,ocl-icd-opencl-dev,opencl-c-headers,libxxhash-dev,libcjson-dev,libdeflate-dev,libpng-dev
libraries=$libraries,libjpeg62-turbo-dev,libexpat1-dev,libsndfile1-dev,libpcre2-dev,libutf8proc-dev,libprotobuf-c-dev
libraries=$libraries,libsodium-dev,check,libsubunit-dev
mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* \
  2>/dev/null | head -n 1)
if [ ! -e "$root/made" ]; then
  rm -rf --one-file-system "$root"
  debootstrap ${triple:+--foreign} --variant=minbase --arch="$host" --include="$libraries${native:+,$native}" bookworm \
    "$root" "$mirror" >"$root.log" 2>&1 || skip "no Debian of $host from \"$mirror\": $(tail -n 1 "$root.log")"
  if [ "$triple" ]; then
    # Files alone: nothing runs in it. Packages' CMake files name /usr, which is the root's.
    for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
    find "$root/usr/lib" -name '*.cmake' -exec sed -i "s#\"/usr\\([/\"]\\)#\"$root/usr\\1#g" {} +
  fi
  touch "$root/made"
fi

without=device,slow,fuzz,lint,oracle,sample,vendor
options="-DCMAKE_BUILD_TYPE=Release -DMICA_WERROR=ON -DMICA_BUILD_BENCH=OFF -DMICA_BUILD_SAMPLES=OFF
  -DMICA_TEST_WITHOUT=$without"

if [ "$triple" ]; then
  cat >"$roots/$host.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $triple)
set(CMAKE_SYSROOT $root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR $(command -v "qemu-$processor-static");-L;$root)
END
  export PKG_CONFIG_LIBDIR="$root/usr/lib/$triple/pkgconfig:$root/usr/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
  # shellcheck disable=SC2086
  cmake -G Ninja -S "$source" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$roots/$host.cmake" -DMICA_TEST_PATIENCE=10 $options
  ninja -C "$build" -k 0 -j "$jobs"
  scripts=$(cd "$source/tests" && find . -name 'test_*.sh' | sed 's#^\./##; s#test_##; s#\.sh$##; s#/#.#g' |
    paste -s -d '|')
  ctest --test-dir "$build" -L null -E "^($scripts|cli.worker|.*host_(faults|memory)(.[0-9]+)?|consumer.*)\$" \
    -j "$jobs" --output-on-failure "$@" || exit 1
  exit
fi

# The source is read where it lies, and the build folder is outside of the root too.
at_exit() {
  for mounted in proc dev source build usr/share/datasets; do umount "$root/$mounted" 2>/dev/null || true; done
  umount -l "$root/sys" 2>/dev/null || true
}
trap at_exit EXIT
trap 'exit 1' HUP INT TERM # or what is mounted stays
mkdir -p "$root/source" "$root/build" "$root/usr/share/datasets" "$build"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
mount --bind /dev "$root/dev"
mount --bind "$build" "$root/build"
mount --bind "$source" "$root/source"
mount -o remount,ro,bind "$root/source"
[ ! -d /usr/share/datasets ] || mount --bind /usr/share/datasets "$root/usr/share/datasets"
inside() {
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 MICA_CACHE_DIR=/build/cache/mica \
    POCL_CACHE_DIR=/build/cache/pocl linux32 "$@"
}
# shellcheck disable=SC2086
inside cmake -G Ninja -S /source -B /build -DMICA_TEST_CACHE=/build/cache $options
inside ninja -C /build -k 0 -j "$jobs"
inside ctest --test-dir /build -L null -j "$jobs" --output-on-failure "$@" || exit 1
if [ -d "$root/usr/share/datasets/fashion-mnist" ]; then
  inside /build/bin/mica train --data fashion-mnist --model cnn --epochs 1 --out /tmp/trained
else
  echo "SKIP training: Debian's dataset-fashion-mnist is not installed"
fi
