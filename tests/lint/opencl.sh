#!/bin/sh
# sh tests/lint/opencl.sh [ROOT]: OpenCL is called in src/runtime only, and there through the function table that
# opencl_api.c fills, so that a test can make any call fail. Its headers are read there and in mica/opencl.h only. A
# sample that reads mica/opencl.h shows a program with OpenCL objects of its own.
set -eu
cd "${1:-$(dirname "$0")/../..}"

find include src samples -name '*.[ch]' | sort | xargs awk '
  FNR == 1 { in_comment = own = 0 }
  FILENAME ~ /^samples\// && /#include <mica\/opencl.h>/ { own = 1 }
  {
    text = $0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
    if (in_comment) {
      if (!sub(/^.*\*\//, "", text)) next
      in_comment = 0
    }
    if (sub(/\/\*.*/, "", text)) in_comment = 1
    sub(/\/\/.*/, "", text)
    gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
  }
  text ~ /(^|[^A-Za-z0-9_.>])cl[A-Z][A-Za-z]*([^A-Za-z0-9_]|$)/ && FILENAME != "src/runtime/opencl_api.c" && !own {
    print FILENAME ":" FNR ": OpenCL is called through the table of src/runtime/opencl_api.h: " $0
    bad = 1
  }
  text ~ /#[ ]*include[ ]*[<"]CL\// && FILENAME !~ /^src\/runtime\// && FILENAME != "include/mica/opencl.h" {
    print FILENAME ":" FNR ": OpenCL headers belong to src/runtime and mica/opencl.h: " $0
    bad = 1
  }
  END { exit bad }'
