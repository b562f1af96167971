#!/bin/sh
# sh tests/lint/contracts.sh [ROOT]: a public header that declares functions says which threads may call them.
set -eu
cd "${1:-$(dirname "$0")/../..}"
status=0
for header in include/mica/*.h; do
  grep -q '^MICA_API ' "$header" 2>/dev/null || continue
  grep -qi 'thread' "$header" || { echo "$header: no word about threads"; status=1; }
done
exit $status
