#!/bin/sh
# sh tests/lint/umbrella.sh [ROOT]: mica/mica.h includes every public header but those that say so in its table's place
# (opencl.h needs the OpenCL headers, api.h holds macros), and its table of levels names each.
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
  grep -q "^#include <mica/$name.h>" $umbrella || fault "does not include $name.h"
  # What others include for their callers is no level of its own.
  case $name in version | window) continue ;; esac
  case $table in *" $name "*) ;; *) fault "the table of levels does not name $name" ;; esac
done
exit $status
