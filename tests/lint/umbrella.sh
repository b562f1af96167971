#!/bin/sh
# sh tests/lint/umbrella.sh [ROOT]: mica/mica.h, or mica/engine.h for it, includes every public header but opencl.h,
# which needs the OpenCL headers, and api.h, which holds macros. Its table of levels names each.
set -eu
cd "${1:-$(dirname "$0")/../..}"
umbrella=include/mica/mica.h
[ -e $umbrella ] || exit 0
status=0

fault() {
  echo "$umbrella: $1"
  status=1
}

# The names end where two spaces follow.
table=" $(sed -n 's/^ \*   \([a-z].*\)$/\1/p' $umbrella | sed 's/  .*//' | tr '\n' ' ') "
for header in include/mica/*.h; do
  name=$(basename "$header" .h)
  case $name in mica | api | opencl) continue ;; esac
  cat $umbrella include/mica/engine.h 2>/dev/null | grep -q "^#include <mica/$name.h>" ||
    fault "does not include $name.h"
  # What others include for their callers is no level of its own.
  case $name in version | window) continue ;; esac
  case $table in *" $name "*) ;; *) fault "the table of levels does not name $name" ;; esac
done
exit $status
