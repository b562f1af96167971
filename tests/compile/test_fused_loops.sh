#!/bin/sh
# labels: device slow
# Generated kernels once more, with another of PoCL's ways of making work-groups of work-items, which treats barriers
# and loops differently: POCL_WORK_GROUP_METHOD is MICA_TEST_POCL_METHOD, by default workitemloops, which every PoCL has
# (cbs came after 3.1). And compiled for each way to launch them, as PoCL does unless a program tells it otherwise.
# Devices that are not PoCL's see no difference.
set -eu
method=${MICA_TEST_POCL_METHOD:-workitemloops}
export POCL_WORK_GROUP_METHOD="$method" POCL_WORK_GROUP_SPECIALIZATION=1 MICA_TEST_FUSED_BATCHES=1
export POCL_CACHE_DIR="$POCL_CACHE_DIR-$method" MICA_CACHE_DIR="$MICA_CACHE_DIR-$method"
mkdir -p "$POCL_CACHE_DIR" "$MICA_CACHE_DIR"
exec "$MICA_BUILD_DIR/bin/tests/test_compile_fused"
