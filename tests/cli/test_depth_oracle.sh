#!/bin/sh
# labels: oracle device slow
# The loss and the metrics of the task depth equal numpy's, and its exported model says what it predicts.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
here=$(dirname "$0")
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, PIL' 2>/dev/null || {
  echo "SKIP: $python has no numpy and PIL"
  exit 77
}
"$MICA_BUILD_DIR/bin/tests/write_depths" "$work/data" 24 48 npy || exit 1
run train --data "$work/data" --width 8 --depth 2 --lr 0.01 --epochs 4 --seed 1 --quiet --out "$work/run"
ends 0 '' ''
run export "$work/run" --onnx "$work/model.onnx"
case $err in *'needs protobuf-c'*) echo 'SKIP: this build has no protobuf-c' && exit 77 ;; esac
ends 0 'written*' ''
run eval --model "$work/run" --data "$work/data" --json
ends 0 '{"task":"depth"*' ''
cp "$work/out" "$work/eval.json"
run predict --model "$work/run" --data "$work/data" --count 24 --json --out "$work/maps"
ends 0 '{"task": "depth"*' ''
cp "$work/out" "$work/predictions.json"
"$python" "$here/depth_oracle.py" "$work/data" "$work/eval.json" "$work/predictions.json" "$work/maps" \
  "$work/model.onnx"
status=$?
[ $status = 0 ] || [ $status = 77 ] || fault 'numpy or onnxruntime has other numbers'

[ $failed = 1 ] || exit $status
exit $failed
