#!/bin/sh
# tests/vendor/generated.sh: the kernels that the compiler generates for training steps of three networks, on devices
# that are not there (mica-bench plan), as the GPU vendors' own compilers see them: each compiles, none uses scratch,
# and how many access global memory 128 bits at a time keeps to a limit.
#
#   sh tests/vendor/generated.sh [BUILD FOLDER]
#
# tests/vendor/generated has a line for each target and network: kernels at most that have no access of 128 bits, and
# such accesses at least in all. Exit status: 0 good; 1 not; 77 nothing could be compiled.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
bench=$build/bin/mica-bench
[ -x "$bench" ] || { echo "there is no mica-bench here"; exit 77; }
work=$(mktemp -d "$build/generated.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Kernels of a listing or a log that use scratch, one a line.
spilling() {
  case $1 in
  sm_*) awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
             /bytes stack frame/ && $1 > 0 { print name }' "$work/ptxas" ;;
  gfx*) awk '/^  - \.args:/ { scratch = 0 } /^    \.name:/ { name = $2 }
             /^    \.private_segment_fixed_size:/ && $2 > 0 { print name }' "$work/kernel.s" ;;
  *) sed -n 's/.*kernel \([a-z0-9_]*\) .*spilled around.*/\1/p' "$work/log" ;;
  esac
}

bad=0 done=0
grep -v '^#' "$here/generated" >"$work/limits"
while read -r target network as without wide; do
  case $target in sm_*) vendor=nvidia ;; gfx*) vendor=amd ;; *) vendor=intel ;; esac
  MICA_DEVICE=null "$bench" plan "$network" --batch 32 --as "$as" --sources "$work/kernels.cl" >/dev/null
  status=0
  options=$("$build/bin/mica-kernels" --platform $vendor)
  sh "$here/run.sh" --translate "$target" "$work/kernels.cl" "$options" "$work" || status=$?
  [ $status -ne 77 ] || continue
  done=$((done + 1))
  [ $status -eq 0 ] || { echo "$target $network: does not compile"; bad=1; continue; }
  for kernel in $(spilling "$target"); do
    echo "$target $network: $kernel uses scratch"
    bad=1
  done
  case $vendor in
  nvidia) listing=$work/kernel.sass ;;
  amd) listing=$work/kernel.s ;;
  intel) continue ;; # the width of a message is in its descriptor
  esac
  awk -f "$here/access.awk" "$listing" >"$work/accesses"
  awk -v most="$without" -v least="$wide" -v what="$target $network" '
    { kernels++; wide += $2; narrow += $3; if (!$2) without++ }
    END {
      printf "%s: %d kernels, %d without accesses of 128 bits; %d such accesses, %d others\n", what, kernels, without,
             wide, narrow
      exit !(kernels > 10 && without <= most && wide >= least)
    }' "$work/accesses" || {
    echo "wanted at most $without without, and $wide accesses:"
    awk '!$2' "$work/accesses"
    bad=1
  }
done <"$work/limits"
[ $done -gt 0 ] || exit 77
exit $bad
