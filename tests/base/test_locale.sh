#!/bin/sh
# labels: device slow
# sh tests/base/test_locale.sh: programs whose locale has a decimal comma get the same results. Makes such a locale and
# runs tests of kernels, graphs, files and runs in it. Skipped without the sources of locales (Debian: locales).
set -eu
build=${MICA_BUILD_DIR:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" 2>"$work/log" || {
  echo 'SKIP: localedef makes no locale de_DE (Debian: locales)'
  cat "$work/log"
  exit 77
}
export LOCPATH="$work" MICA_TEST_LOCALE=de_DE.UTF-8
failed=0
for program in 'base_number' 'ops_on_device --sample 1/60' 'compile_session' 'compile_fused' 'io_history' \
  'data_table' 'onnx_run'; do
  # Word splitting is wanted: a program and its arguments.
  # shellcheck disable=SC2086
  set -- $program
  [ -x "$build/bin/tests/test_$1" ] || continue
  name=$1
  shift
  status=0
  # Kernels of this test's own, since those in the cache may have been made in another locale.
  MICA_CACHE_DIR=$work/cache "$build/bin/tests/test_$name" "$@" >"$work/log" 2>&1 || status=$?
  [ $status = 0 ] || [ $status = 77 ] || { echo "test_$name in de_DE:"; tail -20 "$work/log"; failed=1; }
done

# The command sets no locale; a library that is loaded before it does. Sanitizers want to be the first.
if ! grep -q '^MICA_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
  comma='__attribute__((constructor)) static void comma(void) { setlocale(LC_ALL, "de_DE.UTF-8"); }'
  printf '#include <locale.h>\n%s\n' "$comma" >"$work/comma.c"
  ${CC:-cc} -shared -fPIC -o "$work/comma.so" "$work/comma.c"
  awk 'BEGIN { srand(3); for (i = 0; i < 64; i++) { x = rand(); print x "," 2.5 * x + 0.25 } }' >"$work/t.csv"
  for preload in '' "$work/comma.so"; do
    run=$work/run${preload:+_de}
    MICA_CACHE_DIR=$work/cache LD_PRELOAD=$preload "$build/bin/mica" train --data "$work/t.csv" --task regress \
      --lr 0.01 --batch 16 --epochs 2 --quiet --out "$run"
    MICA_CACHE_DIR=$work/cache LD_PRELOAD=$preload "$build/bin/mica" predict --model "$run" --json "$work/t.csv" \
      >"$run.json"
  done
  cmp "$work/run.json" "$work/run_de.json" || failed=1
  cmp "$work/run/config.json" "$work/run_de/config.json" || failed=1
fi
exit $failed
