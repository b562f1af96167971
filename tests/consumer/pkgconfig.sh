#!/bin/sh
# sh pkgconfig.sh PREFIX: with a compiler and pkg-config alone, against the Mica installed in PREFIX: every public
# header stands by itself in C and C++, samples are C11 (with POSIX), the example of README.md builds, shared and
# static, and runs, and so does mica.
set -eu
prefix=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
work=${MICA_BUILD_DIR:-.}/consumer/pkgconfig
mkdir -p "$work"
cd "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name mica.pc)")
export PKG_CONFIG_PATH
cc=${CC:-cc}
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'

# Word splitting of flags is wanted throughout.
# shellcheck disable=SC2046,SC2086
{
  # Neither needs the development files of a library that Mica stands on.
  PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH pkg-config --cflags --libs mica mica-run
  flags=$(pkg-config --cflags mica)
  for header in "$prefix"/include/mica/*.h; do
    printf '#include <mica/%s>\nextern int a_declaration_as_iso_c_wants_one;\n' "$(basename "$header")" >header.c
    $cc -std=c11 $strict $flags header.c
    if command -v c++ >/dev/null; then c++ -x c++ -std=c++11 $strict $flags header.c; fi
  done

  for sample in "$source"/samples/*.c; do $cc -std=c11 $strict $flags "$sample"; done

  awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/README.md" >example.c
  [ -s example.c ]
  cc="$cc -Wall -Wextra -Werror $flags"
  $cc -o shared example.c $(pkg-config --libs mica) -Wl,-rpath,"$(pkg-config --variable=libdir mica)"
  $cc -o static example.c $(pkg-config --static --libs mica | sed 's/-lmica/-l:libmica.a/')
  $cc -o run "$source/tests/consumer/cmake/run.c" $(pkg-config --libs mica-run) \
    -Wl,-rpath,"$(pkg-config --variable=libdir mica)"
  $cc -o run-static "$source/tests/consumer/cmake/run.c" \
    $(pkg-config --static --libs mica-run | sed 's/-lmica_run/-l:libmica_run.a/; s/-lmica /-l:libmica.a /')
  ./run
  ./run-static
}
[ ! -x "$prefix/bin/mica" ] || "$prefix/bin/mica" version
MICA_DEVICE=null ./shared
./static >output 2>&1 || true
cat output
case $(cat output) in
  '12 24 36 on '*) ;;
  *'no OpenCL device'*) exit 77 ;;
  *) exit 1 ;;
esac
