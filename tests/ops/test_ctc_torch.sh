#!/bin/sh
# labels: oracle device
#
# 1,000 random CTC losses and gradients beside PyTorch's, empty and impossible targets among them: test_ctc_torch.py
# makes the cases, test_ops_ctc compares.
set -eu
cd "$(dirname "$0")/../.."
build=${MICA_BUILD_DIR:-build}
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import numpy, safetensors, torch' 2>/dev/null || {
  echo "SKIP: $python has no numpy, safetensors and torch"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tests/ops/test_ctc_torch.py "$folder/cases.safetensors"
MICA_CTC_CASES=$folder/cases.safetensors "$build/bin/tests/test_ops_ctc"
