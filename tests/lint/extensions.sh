#!/bin/sh
# sh tests/lint/extensions.sh [ROOT]: kernels are OpenCL C 1.2. What only some compilers take (__builtin_ functions,
# inline assembly, extensions, functions of OpenCL 2, macros of a driver) stands in a branch of an #if that names a
# MICA_HAS_ macro, which src/runtime/compiler.c defines where it was tried, MICA_SUBGROUPS or REQD_SUBGROUP, which a
# variant for such a compiler defines, or MMA_NATIVE, whose first build is the probe. Every kernel declares its group.
# tests/lint/extensions.allow lists files whose kernels do not, "<file> <reason>"; one that is no longer needed fails
# too.
set -eu
cd "${1:-$(dirname "$0")/../..}"

allow=tests/lint/extensions.allow
[ -e "$allow" ] || allow=/dev/null

find cl -name '*.cl' -o -name '*.clh' | sort | xargs awk -v allow="$allow" '
  BEGIN {
    guards = "MICA_HAS_|MICA_SUBGROUPS|REQD_SUBGROUP|MMA_NATIVE"
    while ((getline line < allow) > 0) {
      if (line ~ /^#/ || line == "") continue
      split(line, field)
      if (field[2] == "") { print allow ": " field[1] " has no reason"; bad = 1 }
      allowed[field[1]] = 1
    }
  }
  FNR == 1 { depth = in_comment = 0 }
  {
    text = $0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
    if (in_comment) {
      if (!sub(/^.*\*\//, "", text)) next
      in_comment = 0
    }
    if (sub(/\/\*.*/, "", text)) in_comment = 1
  }
  text ~ /^#[ ]*if/ { guarded[++depth] = text ~ "^#[ ]*if(def)?[ ].*(" guards ")" && text !~ /!/ }
  text ~ /^#[ ]*else/ { guarded[depth] = 0 }
  text ~ /^#[ ]*elif/ { guarded[depth] = text ~ guards && text !~ /!/ }
  text ~ /^#[ ]*endif/ { depth-- }
  text ~ /__builtin_|__has_builtin|__has_extension|__asm|(^|[^A-Za-z0-9_])asm[ ]*(\(|volatile)/ ||
  text ~ /POCL_|__clang__|__GNUC__|__(NV|AMD|INTEL|ARM|QCOM|SPIR|CPU|GPU)_|pragma OPENCL EXTENSION/ ||
  text ~ /(^|[^A-Za-z0-9])sub_group_|(^|[^A-Za-z0-9_])work_group_(all|any|barrier|broadcast|reduce|scan)/ {
    inside = 0
    for (i = 1; i <= depth; i++) inside = inside || guarded[i]
    if (!inside) {
      print FILENAME ":" FNR ": not OpenCL C 1.2, and no MICA_HAS_ macro around it: " $0
      bad = 1
    }
  }
  # From __kernel to the "(" of its arguments, on a line or some.
  text ~ /(^|[ \t])__kernel([ \t]|$)/ { kernel = FNR; head = "" }
  kernel {
    head = head " " text
    if (head !~ /void[ ]+[A-Za-z_0-9]*[ ]*(\(|$)/) next
    if (head !~ /reqd_work_group_size/) {
      used[FILENAME] = 1
      if (!(FILENAME in allowed)) { print FILENAME ":" kernel ": a kernel that declares no group"; bad = 1 }
    }
    kernel = 0
  }
  END {
    for (file in allowed) if (!(file in used)) { print allow ": " file ": all kernels declare their group"; bad = 1 }
    exit bad
  }'
