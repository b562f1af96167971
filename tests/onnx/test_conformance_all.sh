#!/bin/sh
# labels: long device
# All of ONNX's cases, not only the fifth of test_conformance.c.
set -eu
cd "$(dirname "$0")/../.."
MICA_TEST_ONNX=all "${MICA_BUILD_DIR:-build}/bin/tests/test_onnx_conformance"
