#!/bin/sh
# shellcheck disable=SC2086
# tests/vendor/digest.sh: a hash of the preprocessed text of every kernel in every variant of both device classes, as
# mica-kernels --all lists them. Two trees whose digests are equal compile the same kernels, so a change that only
# moves names, lists or files leaves no difference:
#
#   sh tests/vendor/digest.sh build >before
#   ... the change, and a build of mica-kernels ...
#   sh tests/vendor/digest.sh build | diff before -
#
#   digest.sh [--only EXPRESSION] [--cl FOLDER] [--code] [--jobs N] [BUILD FOLDER]
#
#   --only EXPRESSION  the kernels whose line of mica-kernels matches an extended regular expression
#   --cl FOLDER        the kernels' sources (default: cl of this tree)
#   --code             hash what clang makes of it at -O2 instead (LLVM's text, for x86-64, else without a target), for
#                      a change of declarations that computes the same
#   --jobs N           compilers at a time (default: 2)
#
# A line is KERNEL OPTIONS HASH, with "refused" at the end if the text stops at an #error or, with --code, does not
# compile. The path of the file and the spaces of its text are left out. Types, macros and their order count.
#
# Exit status: 0 good; 1 a kernel has no file; 2 usage; 77 a tool is missing.
set -eu
self=$(cd "$(dirname "$0")" && pwd)/digest.sh
root=$(cd "$(dirname "$0")/../.." && pwd)
clang=${MICA_CLANG:-clang-15}

text_of() {
  "$clang" -x cl -cl-std=CL1.2 -E -P -cl-no-stdinc -I. $options "$file" 2>/dev/null
}

# Without the names and the numbers of types, attributes and metadata, which follow the names of variables.
code_of() {
  for target in "x86_64-unknown-linux -march=sapphirerapids" spir64; do
    if "$clang" -x cl -cl-std=CL1.2 -O2 -S -emit-llvm -fdiscard-value-names -target $target -I. $options "$file" \
      -o - 2>/dev/null; then
      return 0
    fi
  done | sed -e '/^!/d' -e '/^; ModuleID/d' -e '/^source_filename/d' -e 's/, *!tbaa ![0-9]*//' -e 's/![0-9]*//g'
}

# --one NAME FILE OPTIONS, in the sources' folder: prints the line of one kernel.
if [ "${1:-}" = --one ]; then
  [ -e "$3" ] || { echo "digest.sh: $2 has no file $3" >&2; exit 1; }
  refused=
  file=$3 options=$4
  text=$("${DIGEST_OF:-text_of}") || refused=" refused"
  [ -n "$text" ] || refused=" refused"
  hash=$(printf '%s' "$text" | tr -d ' \t\n' | sha256sum)
  echo "$2 $4 ${hash%% *}$refused"
  exit 0
fi

build=$root/build sources=$root/cl only=. jobs=2
while [ $# -gt 0 ]; do
  case $1 in
  --only | --cl | --jobs) [ $# -gt 1 ] || { echo "digest.sh: $1 needs a value" >&2; exit 2; } ;;
  esac
  case $1 in
  --only) only=$2 && shift ;;
  --cl) sources=$2 && shift ;;
  --jobs) jobs=$2 && shift ;;
  --code) export DIGEST_OF=code_of ;;
  -*) echo "digest.sh: unknown option $1" >&2; exit 2 ;;
  *) build=$1 ;;
  esac
  shift
done
kernels=$(cd "$build" && pwd)/bin/mica-kernels
for tool in "$clang" sha256sum xargs; do
  command -v "$tool" >/dev/null || { echo "digest.sh: $tool is not installed" >&2; exit 77; }
done
[ -x "$kernels" ] || { echo "digest.sh: $kernels is missing; build mica-kernels" >&2; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/digest.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Three quoted words per kernel, for xargs. Options contain neither quotes nor backslashes.
"$kernels" --all | awk -F '\t' -v only="$only" '
  $0 ~ only && !seen[$1, $3]++ { printf "\"%s\" \"%s\" \"%s\"\n", $1, $2, $3 }' >"$work/words"
status=0
cd "$sources"
xargs -L 1 -P "$jobs" sh "$self" --one <"$work/words" >"$work/digests" || status=1
LC_ALL=C sort "$work/digests"
exit $status
