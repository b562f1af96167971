#!/bin/sh
# labels: oracle device
# Resemblyzer's speaker encoder, converted by samples/resemblyzer_to_onnx.py, gives the embeddings that torch gives.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
here=$(dirname "$0")
python=${MICA_ORACLE_PYTHON:-python3}
weights=$("$python" "$here/resemblyzer_oracle.py" find 2>/dev/null) || {
  echo "SKIP: $python has no resemblyzer, torch and onnx"
  exit 77
}
"$python" "$here/../../samples/resemblyzer_to_onnx.py" "$weights" "$work/voice.onnx" >/dev/null || exit 1
"$python" "$here/resemblyzer_oracle.py" sound "$work/sound.npy"
run run "$work/voice.onnx" --input sound="$work/sound.npy" --out "$work/results"
case $err in *'needs protobuf-c'*) echo 'SKIP: this build has no protobuf-c' && exit 77 ;; esac
ends 0 '*embedding*' ''
"$python" "$here/resemblyzer_oracle.py" check "$weights" "$work/sound.npy" "$work/results/0_embedding.npy" \
  "$work/results/1_mels.npy" || fault 'torch has other embeddings'

exit $failed
