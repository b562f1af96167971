#!/bin/sh
# labels: oracle device
#
# A voice detector over 30 s of sound, window by window, its state beside onnxruntime's: voice_case.py makes the sound
# from recordings, test_models.c compares.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
data=${MICA_TEST_DATA:-/nowhere}
[ -d "$data/onnx/models" ] && [ -d "$data/data/speech_yes_no" ] || {
  echo 'SKIP: no onnx/models and data/speech_yes_no in MICA_TEST_DATA'
  exit 77
}
"$python" -c 'import numpy, onnxruntime' 2>/dev/null || {
  echo "SKIP: $python has no numpy and onnxruntime"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/onnx/voice_case.py "$folder"
MICA_VOICE=$folder "$build/bin/tests/test_onnx_models" a_voice_detector_keeps_its_state
