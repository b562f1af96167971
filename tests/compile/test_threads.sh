# labels: device single
#
# Training, and the ops whose sums could depend on who comes first, give the same bits on one thread and on two.
set -eu
work=$(mktemp -d "$MICA_BUILD_DIR/threads.XXXXXX")
trap 'rm -rf "$work"' EXIT
for case in 'mlp the_loss_falls_and_bits_repeat' 'repeats bits_repeat'; do
  for threads in 1 2; do
    POCL_MAX_PTHREAD_COUNT=$threads MICA_TEST_WEIGHTS=$work/$threads \
      "$MICA_BUILD_DIR/bin/tests/test_compile_${case% *}" "${case#* }" || exit $?
  done
  cmp "$work/1" "$work/2"
done
