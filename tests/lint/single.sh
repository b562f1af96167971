#!/bin/sh
# sh tests/lint/single.sh [ROOT]: a test labelled single, which ThreadSanitizer is not given, starts no thread of its
# own and has no ranks in threads (support/members.h).
set -eu
cd "${1:-$(dirname "$0")/../..}"

find tests samples -name '*.c' | sort | xargs awk '
  FNR == 1 { single = 0 }
  /labels:/ && !single { single = $0 ~ /labels:[a-z ]* single([ ,]|$)/ }
  single && /(pthread|thrd)_create *\(|"support\/members\.h"/ {
    print FILENAME ":" FNR ": a test labelled single starts threads: " $0
    bad = 1
  }
  END { exit bad }'
