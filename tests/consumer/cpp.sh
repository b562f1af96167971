#!/bin/sh
# sh cpp.sh PREFIX: the Mica installed in PREFIX from C++17 without a warning: every public header alone, and a program
# that includes all of them, builds a network, trains and runs it.
set -eu
prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
work=${MICA_BUILD_DIR:-.}/consumer/cpp
mkdir -p "$work"
cd "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name mica.pc)")
export PKG_CONFIG_PATH
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null || exit 77
strict='-std=c++17 -Wall -Wextra -pedantic -Werror'

# Word splitting of flags is wanted throughout.
# shellcheck disable=SC2046,SC2086
{
  flags=$(pkg-config --cflags mica)
  for header in "$prefix"/include/mica/*.h; do
    printf '#include <mica/%s>\n#include <mica/%s>\n' "$(basename "$header")" "$(basename "$header")" >header.cpp
    $cxx $strict -fsyntax-only $flags header.cpp
  done
  $cxx $strict -o network "$here/cpp/network.cpp" $flags $(pkg-config --libs mica) \
    -Wl,-rpath,"$(pkg-config --variable=libdir mica)"
}
./network
