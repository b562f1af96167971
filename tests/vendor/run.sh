#!/bin/sh
# tests/vendor/run.sh: compiles every kernel of Mica with the GPU vendors' own offline compilers, no GPU needed, and
# prints what each took: registers, scratch (registers spilled to memory), local memory, size of the binary, and what
# its main loop is made of (loop.awk): instructions, multiply-adds, wide and narrow loads of global memory, and
# multiply-adds from a load to its use.
#
#   sh tests/vendor/run.sh [--build DIR] [--list FILE] [--subset PATTERN] [--targets "T ..."] [--jobs N] [--json]
#                          [--limits FILE]
#   sh tests/vendor/run.sh --translate TARGET FILE OPTIONS FOLDER       all kernels of one file, for generated.sh
#   sh tests/vendor/run.sh --install       installs the compilers with apt
#
#   --build DIR       build folder; its bin/mica-kernels prints the kernels, its vendor/ keeps results (default: build)
#   --list FILE       take the kernels from a file instead; a line is, separated by tabs: the __kernel's name, its file
#                     in cl/, its build options, the vendors (of nvidia,amd,intel) or targets it is for, and "default"
#                     or "variant"
#   --subset PATTERN  only kernels whose line matches the extended regular expression
#   --targets "T .."  only these targets
#   --jobs N          compilers at a time (default: 2)
#   --json            one JSON object a line instead of the table
#   --limits FILE     only what its lines name, and each must keep to them: target, kernel, a regular expression of the
#                     options, then at most so many registers and at least so many percent of multiply-adds, wide loads
#                     and multiply-adds from a load to its use. A line that no kernel matches is an error
#
# Kernels are compiled with the macros that the vendor's platform gets (src/runtime/compiler.c).
#
# Targets: skl tgllp dg2 pvc (Intel's ocloc), gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 (clang for AMD with
# rocm-device-libs; a newer one for gfx1100), sm_70 sm_75 sm_80 sm_90 (clang for NVIDIA with libclc, then ptxas; that of
# CUDA 13 no longer takes sm_70). A result is kept until the kernel's text, its options or the compiler change. NVIDIA's
# main loops are counted where there are cuobjdump and nvdisasm.
#
# Exit status: 0 good; 1 a kernel does not compile, one that is used by default spills, or a limit is not kept; 2 usage;
# 77 no compiler is installed. A target whose compiler is missing is reported as SKIP and never counted as good.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/run.sh
root=$(cd "$(dirname "$0")/../.." && pwd)
tab=$(printf '\t')
clang=${MICA_CLANG:-clang-15} clang_gfx11=${MICA_CLANG_GFX11:-clang-19}
ptxas=${MICA_PTXAS:-ptxas} cuobjdump=${MICA_CUOBJDUMP:-cuobjdump}
PATH=$PATH:/usr/local/cuda/bin
rocm_libs=${MICA_ROCM_LIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
libclc=${MICA_LIBCLC:-/usr/lib/clc/nvptx64--nvidiacl.bc}

vendor_of() {
  case $1 in
  gfx*) echo amd ;;
  sm_*) echo nvidia ;;
  *) echo intel ;;
  esac
}

# Clang 15 gives gfx11 128 registers of the 256 that there are, and some of its instructions do not assemble.
clang_for() {
  case $1 in
  gfx11*) echo "$clang_gfx11" ;;
  *) echo "$clang" ;;
  esac
}

# Prints what is missing for a target; nothing when all is there.
missing_for() {
  case $(vendor_of "$1") in
  intel)
    command -v ocloc >/dev/null || echo "ocloc (package intel-opencl-icd)"
    command -v readelf >/dev/null || echo "readelf (package binutils)"
    ;;
  amd)
    command -v "$(clang_for "$1")" >/dev/null || clang_for "$1"
    [ -d "$rocm_libs" ] || echo "rocm-device-libs"
    ;;
  nvidia)
    command -v "$clang" >/dev/null || echo "$clang"
    [ -e "$libclc" ] || echo "libclc-15"
    if ! command -v "$ptxas" >/dev/null; then
      echo "ptxas (the CUDA toolkit)"
    elif ! "$ptxas" --help | grep -q "'$1'"; then
      echo "ptxas that knows $1"
    fi
    ;;
  esac
}

# What is missing to count main loops, of the tools that no compiler comes with; nothing when all is there.
loops_missing() {
  [ "$(vendor_of "$1")" = nvidia ] || return 0
  for tool in "$cuobjdump" nvdisasm; do
    command -v "$tool" >/dev/null || echo "$tool (PyPI: nvidia-cuda-${tool##*/})"
  done
}

compiler_version() {
  case $(vendor_of "$1") in
  intel)
    ocloc --version 2>/dev/null || dpkg-query -W intel-opencl-icd libigc1 2>/dev/null || ls -l "$(command -v ocloc)"
    ;;
  amd) "$(clang_for "$1")" --version && ls -l "$rocm_libs/opencl.bc" ;;
  nvidia)
    "$clang" --version && "$ptxas" --version && ls -l "$libclc"
    loops_missing "$1"
    ;;
  esac
}

# Each translate_ function makes the binary of a file in $work, and leaves its messages in $work/log; each compile_
# function prints "registers scratch local size" of the kernel too. Status 1: failed.
# Clang 15 knows gfx942 by the name that its instructions had first. rocm-device-libs before 5.5 have no file that gives
# gfx1100 its number, which is all there is in it.
translate_amd() {
  amd_cpu=$target amd_libs=$rocm_libs amd_clang=$(clang_for "$target")
  [ "$target" != gfx942 ] || amd_cpu=gfx940
  if [ "$target" = gfx1100 ] && [ ! -e "$rocm_libs/oclc_isa_version_1100.bc" ]; then
    amd_libs=$work/libs
    mkdir -p "$amd_libs"
    ln -sf "$rocm_libs"/*.bc "$amd_libs"
    echo "@__oclc_ISA_version = linkonce_odr protected addrspace(4) constant i32 11000" >"$work/isa.ll"
    "$amd_clang" -target amdgcn-amd-amdhsa -nogpulib -x ir -emit-llvm -c "$work/isa.ll" \
      -o "$amd_libs/oclc_isa_version_1100.bc" 2>"$work/log"
  fi
  # shellcheck disable=SC2086
  "$amd_clang" -cl-std=CL1.2 -O3 -target amdgcn-amd-amdhsa -mcpu="$amd_cpu" --rocm-path="${rocm_libs%/amdgcn/bitcode}" \
    --rocm-device-lib-path="$amd_libs" -I. $options -S -o "$work/kernel.s" "$file" >"$work/log" 2>&1 &&
    "$amd_clang" -target amdgcn-amd-amdhsa -mcpu="$amd_cpu" -c -o "$work/kernel.o" "$work/kernel.s" >>"$work/log" 2>&1
}
compile_amd() {
  translate_amd || return 1
  awk -v name="$name" -v size="$(wc -c <"$work/kernel.o")" '
    /^  - \.args:/ || /^  - \.agpr_count:/ { reset() }
    function reset() { own = 0; regs = scratch = local_bytes = 0 }
    /^    \.name:/ { own = $2 == name }
    /^    \.vgpr_count:/ { regs = $2 }
    /^    \.private_segment_fixed_size:/ { scratch = $2 }
    /^    \.group_segment_fixed_size:/ { local_bytes = $2 }
    /^    \.wavefront_size:/ { if (own) print regs, scratch, local_bytes, size }' "$work/kernel.s"
}

# Clang 15 knows no sm_90, which takes the PTX of its predecessors.
translate_nvidia() {
  ptx_cpu=$target
  [ "$target" != sm_90 ] || ptx_cpu=sm_80
  # shellcheck disable=SC2086
  "$clang" -cl-std=CL1.2 -O3 -target nvptx64-nvidia-nvcl -Xclang -finclude-default-header -Xclang -target-cpu \
    -Xclang "$ptx_cpu" -Xclang -target-feature -Xclang +ptx70 -Xclang -mlink-builtin-bitcode -Xclang "$libclc" \
    -I. $options -S -o "$work/kernel.ptx" "$file" >"$work/log" 2>&1 &&
    "$ptxas" -v -arch="$target" "$work/kernel.ptx" -o "$work/kernel.cubin" >"$work/ptxas" 2>&1 ||
    { cat "$work/ptxas" >>"$work/log" 2>/dev/null || true; return 1; }
}
compile_nvidia() {
  translate_nvidia || return 1
  awk -v name="$name" -v size="$(wc -c <"$work/kernel.cubin")" '
    /Compiling entry function/ { split($0, part, "\047"); own = part[2] == name }
    own && /bytes stack frame/ { scratch = $1 }
    own && /Used [0-9]+ registers/ {
      for (i = 1; i < NF; i++) {
        if ($i == "Used") regs = $(i + 1)
        if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) local_bytes = $i
      }
      print regs, scratch + 0, local_bytes + 0, size
      own = 0
    }' "$work/ptxas"
}

# Registers of Intel's threads are fixed in number; what a kernel decides is how many work-items share a thread (SIMD).
# The compiler tells of spilled registers only in a warning.
translate_intel() {
  ocloc compile -file "$file" -device "$target" --format zebin -options "-cl-std=CL1.2 -I. $options" \
    -out_dir "$work" -output kernel >"$work/log" 2>&1
}
compile_intel() {
  translate_intel || return 1
  binary=$(ls "$work"/*.bin)
  section=$(readelf -SW "$binary" 2>/dev/null |
    sed -n 's/.*\.ze_info  *[^ ]* *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\).*/\1 \2/p')
  offset=$(printf '%d' "0x${section% *}")
  length=$(printf '%d' "0x${section#* }")
  tail -c +$((offset + 1)) "$binary" | head -c "$length" >"$work/info"
  awk -v name="$name" -v size="$(wc -c <"$binary")" '
    FNR == NR {
      if (match($0, "kernel " name " .*spilled around [0-9]+")) {
        words = split(substr($0, RSTART, RLENGTH), word, " ")
        spilled = word[words]
      }
      next
    }
    /^  - name:/ { own = $3 == name; memory = 0 }
    own && /^ *simd_size:/ { simd = $2 }
    own && /^ *grf_count:/ { grf = $2 }
    own && /^ *slm_size:/ { local_bytes = $2 }
    own && /^ *per_thread_memory_buffers:/ { memory = 1 }
    own && memory && /^ *size:/ { scratch += $2 }
    END { if (simd) print grf "/simd" simd, (scratch + 0 > 0 ? scratch : spilled + 0), local_bytes + 0, size }
  ' "$work/log" "$work/info"
}

# The figures of the main loop, of the listing that the compiler left or a tool makes; zeros where there is no tool.
count_loop() {
  case $(vendor_of "$target") in
  amd) listing=$work/kernel.s ;;
  nvidia)
    listing=$work/kernel.sass
    "$cuobjdump" -sass "$work/kernel.cubin" >"$listing" 2>/dev/null || :
    ;;
  intel)
    mkdir "$work/asm"
    ocloc disasm -file "$binary" -device "$target" -dump "$work/asm" >/dev/null 2>&1 || :
    listing=$work/asm/.text.$name.asm
    [ -e "$listing" ] || listing=/dev/null
    ;;
  esac
  awk -f "$root/tests/vendor/loop.awk" "$listing"
}

# run.sh --one RESULT TARGET NAME FILE OPTIONS: compiles one kernel; RESULT receives "ok FIGURES" or "fail MESSAGE".
one() {
  result=$1 target=$2 name=$3 file=$4 options=$5
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  : >"$work/log"
  figures=$("compile_$(vendor_of "$target")") || figures=
  if [ -n "$figures" ]; then
    binary=$(ls "$work"/*.bin 2>/dev/null || :)
    echo "ok $figures $(count_loop)" >"$work/result"
  else
    message=$(grep -m1 -i 'error' "$work/log" || tail -n 1 "$work/log")
    printf 'fail %s\n' "${message:-no such kernel in the compiled file}" >"$work/result"
  fi
  mv "$work/result" "$result"
}

if [ "${1-}" = --one ]; then
  shift
  cd "$root/cl"
  one "$@"
  exit 0
fi

# run.sh --translate TARGET FILE OPTIONS FOLDER: all kernels of a file. FOLDER receives what the compilers say (log,
# ptxas) and write: kernel.s of AMD, kernel.sass of NVIDIA; options have the platform's macros.
if [ "${1-}" = --translate ]; then
  target=$2 file=$3 options=$4 work=$5
  lacks=$(missing_for "$target" && loops_missing "$target")
  [ -z "$lacks" ] || { echo "SKIP $target: no $(echo "$lacks" | paste -sd, -)"; exit 77; }
  cd "$root/cl"
  "translate_$(vendor_of "$target")" || { grep -m1 -i error "$work/log" || tail -n 1 "$work/log"; exit 1; }
  [ "$(vendor_of "$target")" != nvidia ] || "$cuobjdump" -sass "$work/kernel.cubin" >"$work/kernel.sass"
  exit 0
fi

usage() {
  sed -n '7,10p' "$self" | sed 's/^# *//' >&2
  exit 2
}

build=$root/build list= subset=. jobs=2 json=0 limits=
targets="skl tgllp dg2 pvc gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 sm_70 sm_75 sm_80 sm_90"
while [ $# -gt 0 ]; do
  case $1 in
  --build | --list | --subset | --targets | --jobs | --limits)
    [ $# -gt 1 ] || usage
    eval "${1#--}=\$2"
    shift
    ;;
  --json) json=1 ;;
  --install) exec apt-get install -y clang-15 clang-19 libclc-15 rocm-device-libs intel-opencl-icd binutils ;;
  *) usage ;;
  esac
  shift
done

build=$(cd "$build" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
if [ -n "$list" ]; then
  cp "$list" "$temp/all"
else
  "$build/bin/mica-kernels" >"$temp/all"
fi
grep -E -e "$subset" "$temp/all" >"$temp/kernels" || {
  echo "no kernel matches \"$subset\"" >&2
  exit 2
}

# The lines of limits, without comments.
: >"$temp/limits"
if [ -n "$limits" ]; then
  sed -e 's/#.*//' -e '/^ *$/d' "$limits" >"$temp/limits"
  targets=$(awk '!seen[$1]++ { printf "%s ", $1 }' "$temp/limits")
  awk 'FNR == NR { name[NR] = $2; options[NR] = $3; n = NR; next }
       { for (i = 1; i <= n; i++) if ($1 == name[i] && $0 ~ options[i]) { print; next } }' \
    "$temp/limits" "$temp/kernels" >"$temp/limited"
  mv "$temp/limited" "$temp/kernels"
fi

mkdir -p "$build/vendor"
cache=$(cd "$build/vendor" && pwd)
cd "$root/cl"
present= uncounted=
: >"$temp/skipped"
for target in $targets; do
  lacks=$(missing_for "$target")
  if [ -n "$lacks" ]; then
    printf '%s\t%s\n' "$target" "$(echo "$lacks" | paste -sd, -)" >>"$temp/skipped"
  else
    present="$present $target"
    lacks=$(loops_missing "$target")
    [ -z "$lacks" ] || uncounted="$uncounted, $target: no $(echo "$lacks" | paste -sd, - | sed 's/,/, /g')"
  fi
done

# A kernel's file and what it includes, directly and by way of others.
texts_of() {
  known=$1 fresh=$1
  while [ "$fresh" ]; do
    # shellcheck disable=SC2086
    found=$(sed -n 's/^ *# *include "\(.*\)".*/\1/p' $fresh | sort -u)
    fresh=
    for text in $found; do
      case " $known " in
      *" $text "*) ;;
      *) known="$known $text" fresh="$fresh $text" ;;
      esac
    done
  done
  echo "$known"
}
mkdir "$temp/texts"
cut -f 2 "$temp/kernels" | sort -u | while read -r file; do
  # shellcheck disable=SC2046
  cat $(texts_of "$file") | sha256sum >"$temp/texts/$(echo "$file" | tr / _)"
done

# True if a line of the limits is for the kernel on the target.
limited() {
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" | awk -F '\t' 'FNR == NR { split($0, l, " "); target[NR] = l[1]; name[NR] = l[2]
    options[NR] = l[3]; n = NR; next }
    { for (i = 1; i <= n; i++) if ($1 == target[i] && $2 == name[i] && $3 ~ options[i]) { found = 1; exit } }
    END { exit !found }' "$temp/limits" -
}

# One line for each kernel and target it is for: result file, target, and the kernel's fields. A result's name is the
# hash of all that it depends on.
for target in $present; do
  version=$(sed -n '/^# Each compile_/,/^# run.sh --one/p' "$self" && compiler_version "$target")
  version="$version $(cat "$root/tests/vendor/loop.awk")"
  vendor=$(vendor_of "$target")
  platform=$("$build/bin/mica-kernels" --platform "$vendor")
  while IFS=$tab read -r name file options vendors use; do
    case ",$vendors," in
    *",$vendor,"* | *",$target,"*) ;;
    *) continue ;;
    esac
    [ ! -s "$temp/limits" ] || limited "$target" "$name" "$options" || continue
    options="$options$platform"
    key=$({
      echo "$version" "$target" "$name" "$options"
      cat "$temp/texts/$(echo "$file" | tr / _)"
    } | sha256sum | cut -c1-32)
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$cache/$key" "$target" "$name" "$file" "$options" "$use"
  done <"$temp/kernels"
done | awk '!seen[$0]++' >"$temp/work"

while IFS=$tab read -r result target name file options use; do
  [ -e "$result" ] || printf '%s\0' "$result" "$target" "$name" "$file" "$options"
done <"$temp/work" | xargs -0 -r -n 5 -P "$jobs" sh "$self" --one

while IFS=$tab read -r result target name file options use; do
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$target" "$name" "$file" "$options" "$use" "$(cat "$result")"
done <"$temp/work" >"$temp/results"

awk -F '\t' -v json="$json" -v targets="$present" -v uncounted="${uncounted#, }" '
  function quote(text) { gsub(/[\\"]/, "\\\\&", text); gsub(/[[:cntrl:]]/, " ", text); return "\"" text "\"" }
  FILENAME ~ /limits$/ { limit[++limit_count] = $0; next }
  # What a kernel breaks of a line of the limits; "" for nothing. Loops are not counted where there is no listing.
  function broken(line, figures,    l, f) {
    split(line, l, " ")
    split(figures, f, " ")
    if (f[2] + 0 > l[4]) return f[2] " registers, not " l[4]
    if (f[6] == 0) return ""
    if (100 * f[7] / f[6] < l[5]) return sprintf("%.1f %% multiply-adds, not %s", 100 * f[7] / f[6], l[5])
    if (f[8] < l[6]) return f[8] " wide loads, not " l[6]
    if (f[10] < l[7]) return f[10] " multiply-adds from a load to its use, not " l[7]
    return ""
  }
  FILENAME ~ /skipped$/ {
    skips++
    if (json) printf "{\"target\": %s, \"status\": \"skip\", \"missing\": %s}\n", quote($1), quote($2)
    else skip_lines = skip_lines "SKIP " $1 ": no " $2 "\n"
    next
  }
  {
    split($6, field, " ")
    good = field[1] == "ok"
    spills = good && field[3] > 0
    bad = !good || (spills && $5 == "default")
    for (i = 1; good && i <= limit_count; i++) {
      split(limit[i], l, " ")
      if ($1 != l[1] || $2 != l[2] || $4 !~ l[3]) continue
      met[i] = 1
      why = broken(limit[i], $6)
      if (why == "") continue
      bad = 1
      complaints = complaints "LIMIT " $1 " " $2 " " $4 ": " why "\n"
    }
    failures += bad
    count++
    row = $2 "\t" $4
    if (!(row in seen)) { seen[row] = 1; rows[++row_count] = row }
    loop = field[6] ? sprintf("%d %d %d %d %d", field[6], field[7], field[8], field[9], field[10]) : "- - - - -"
    cell[row, $1] = good ? field[2] " " field[3] " " field[4] " " field[5] " " loop (bad ? " !" : "") : "FAIL"
    if (json) {
      printf "{\"target\": %s, \"kernel\": %s, \"file\": %s, ", quote($1), quote($2), quote($3)
      printf "\"options\": %s, \"use\": %s, ", quote($4), quote($5)
      if (good) {
        printf "\"status\": %s, \"registers\": %s, ", quote(bad ? "spills" : "ok"), quote(field[2])
        printf "\"scratch\": %d, \"local\": %d, \"binary\": %d, ", field[3], field[4], field[5]
        printf "\"loop\": %d, \"multiply_adds\": %d, \"wide\": %d, ", field[6], field[7], field[8]
        printf "\"narrow\": %d, \"far\": %d}\n", field[9], field[10]
      } else {
        printf "\"status\": \"fail\", \"message\": %s}\n", quote(substr($6, 6))
      }
    } else if (!good || (spills && $5 == "default")) {
      complaints = complaints (good ? "SPILL " : "FAIL ") $1 " " $2 " (" $3 ") " $4
      complaints = complaints (good ? "" : ": " substr($6, 6)) "\n"
    }
  }
  END {
    for (i = 1; i <= limit_count; i++) {
      split(limit[i], l, " ")
      if (index(" " targets " ", " " l[1] " ") && !(i in met)) {
        failures++
        complaints = complaints "LIMIT no kernel is " limit[i] "\n"
      }
    }
    if (!json) {
      print "registers, scratch bytes, local bytes, binary bytes; of the main loop instructions, multiply-adds,"
      print "wide and narrow loads, multiply-adds from a load to its use"
      n = split(targets, target, " ")
      for (r = 1; r <= row_count; r++) {
        split(rows[r], part, "\t")
        print part[1] "  " part[2]
        for (t = 1; t <= n; t++)
          if ((rows[r], target[t]) in cell) {
            split(cell[rows[r], target[t]], figure, " ")
            printf "  %-8s %12s %6s %7s %8s %7s %6s %4s %4s %5s %s\n", target[t], figure[1], figure[2], figure[3],
                   figure[4], figure[5], figure[6], figure[7], figure[8], figure[9], figure[10]
          }
      }
      if (uncounted) skip_lines = skip_lines "SKIP main loops of " uncounted "\n"
      printf "%s%s", complaints, skip_lines
      printf "%d compiled, %d bad, %d targets skipped\n", count, failures, skips
    }
    exit failures ? 1 : count ? 0 : 77
  }' "$temp/limits" "$temp/skipped" "$temp/results"
