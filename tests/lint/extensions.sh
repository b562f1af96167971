#!/bin/sh
# sh tests/lint/extensions.sh [ROOT]: kernels are OpenCL C 1.2. What only some compilers take (__builtin_ functions,
# inline assembly, macros of a driver) stands in a branch of an #if that names a MICA_HAS_ macro, which
# src/runtime/compiler.c defines where it was tried, or MMA_PTX, whose first build is the probe.
set -eu
cd "${1:-$(dirname "$0")/../..}"

find cl -name '*.cl' -o -name '*.clh' | sort | xargs awk '
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
  text ~ /^#[ ]*if/ { guarded[++depth] = text ~ /^#[ ]*if(def)?[ ].*(MICA_HAS_|MMA_PTX)/ && text !~ /!/ }
  text ~ /^#[ ]*(else|elif)/ { guarded[depth] = 0 }
  text ~ /^#[ ]*endif/ { depth-- }
  text ~ /__builtin_|__has_builtin|__has_extension|__asm|(^|[^A-Za-z0-9_])asm[ ]*\(|POCL_|__clang__|__GNUC__/ {
    inside = 0
    for (i = 1; i <= depth; i++) inside = inside || guarded[i]
    if (!inside) {
      print FILENAME ":" FNR ": not OpenCL C 1.2, and no MICA_HAS_ macro around it: " $0
      bad = 1
    }
  }
  END { exit bad }'
