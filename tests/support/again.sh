#!/bin/sh
# again.sh FOLDER: true if all tests that failed in this build folder were ended by a known fault of a driver, so that
# they may run again. A test that failed in any other way makes it false.
#
# PoCL 3 counts uses of a compiled kernel wrongly if two queues run it over ranges of different size at a time, and ends
# the process. PoCL 6 counts rightly.
set -eu
fault='pocl_release_dlhandle_cache: Assertion .* failed'
logs=$1/Testing/Temporary
[ -s "$logs/LastTestsFailed.log" ] || exit 1
awk -v fault="$fault" '
  FNR == NR { sub(/^[0-9]+:/, ""); failed[$0] = 1; next }
  /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
  $0 ~ fault { ended[name] = 1 }
  END {
    for (test in failed) if (!(test in ended)) exit 1
    for (test in failed) print "again.sh: the driver ended " test
  }' "$logs/LastTestsFailed.log" "$logs/LastTest.log"
