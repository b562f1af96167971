#!/bin/sh
# sh tests/lint/format.sh [ROOT]: C sources are as clang-format leaves them. Version 14 only, since others differ: SKIP
# without it. Kernels are left out: in macros that build types and whole statements it takes products for casts.
set -eu
cd "${1:-$(dirname "$0")/../..}"

for clang_format in clang-format-14 clang-format; do
  case $("$clang_format" --version 2>/dev/null) in
    *'version 14.'*)
      if faults=$(find include src tests samples -name '*.[ch]' | sort |
        xargs "$clang_format" --dry-run -Werror --style=file 2>&1); then
        exit 0
      fi
      echo "$faults" | grep ': error:'
      echo "run $clang_format -i on these files"
      exit 1
      ;;
  esac
done
echo "SKIP: no clang-format 14"
exit 77
