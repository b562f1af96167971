# labels: device
#
# Training on one thread and on two gives the same bits.
set -eu
program=$MICA_BUILD_DIR/bin/tests/test_compile_mlp
work=$(mktemp -d "$MICA_BUILD_DIR/threads.XXXXXX")
trap 'rm -rf "$work"' EXIT
for threads in 1 2; do
  POCL_MAX_PTHREAD_COUNT=$threads MICA_TEST_WEIGHTS=$work/$threads "$program" bits || exit $?
done
cmp "$work/1" "$work/2"
