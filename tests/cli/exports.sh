# Sourced by the tests that run exported models in onnxruntime.
# shellcheck shell=sh disable=SC2154
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || {
  echo "SKIP: $python has no numpy, onnx and onnxruntime"
  exit 77
}

# exports RUN OPERAND...: the run's model says of these what the run does.
exports() {
  folder=$1
  shift
  run export "$folder" --onnx "$folder.onnx"
  case $err in *'needs protobuf-c'*) echo 'SKIP: this build has no protobuf-c' && exit 77 ;; esac
  ends 0 'written*' ''
  "$python" "$(dirname "$0")/export_oracle.py" "$mica" "$folder" "$folder.onnx" "$@" ||
    fault 'the model says something else'
}
