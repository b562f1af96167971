#!/bin/sh
# sh tests/fuzz/run.sh SECONDS [argument of libFuzzer...]
#
# Builds every fuzz target with Clang, libFuzzer and the address and undefined-behaviour sanitizers into build-fuzz/ and
# runs each for SECONDS (0: until an argument such as -runs=10000000 ends it). Corpora grow in build-fuzz/corpus/; what
# crashes is left in build-fuzz/findings/. Exit status 0 when there are no findings.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
seconds=$1
shift

CC=clang sh cmake/setup.sh fuzz build-fuzz -DMICA_SANITIZE=fuzzer-no-link,address,undefined mica_fuzz
failed=''
for fuzzer in build-fuzz/bin/tests/libfuzzer_*; do
  name=${fuzzer##*libfuzzer_}
  corpus=build-fuzz/corpus/$name
  findings=build-fuzz/findings/$name
  mkdir -p "$corpus" "$findings"
  "build-fuzz/bin/tests/fuzz_$name" --write "$corpus"
  echo "=== $name"
  "$fuzzer" -max_total_time="$seconds" -artifact_prefix="$findings/" -print_final_stats=1 -verbosity=0 "$@" "$corpus" ||
    failed="$failed $name"
done
[ -z "$failed" ] || { echo "findings:$failed" >&2; exit 1; }
