#!/bin/sh
# labels: device slow oracle
# Forecasts 12 months ahead against the same LSTM in PyTorch: the error on the last fifth of a series, three seeds; and
# against the baselines and the autoregression that golden/forecast has of it.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
table=$(dirname "$0")/../golden/forecast/co2_monthly.csv
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import torch, numpy' 2>/dev/null || { echo 'SKIP: no PyTorch'; exit 77; }

errors=''
for seed in 0 1 2; do
  run train --task forecast --data "$table" --validation 0 --epochs 40 --seed $seed --json --quiet \
    --out "$work/run$seed"
  ends 0 '{"task":"forecast","part":"test"*' ''
  errors="$errors $(json metrics.mae)"
  # The README of golden/forecast: 1.7127 and 2.6699.
  awk -v s="$(json metrics.mae_season)" -v l="$(json metrics.mae_last)" \
    'BEGIN { exit !((s - 1.7127) ^ 2 < 1e-8 && (l - 2.6699) ^ 2 < 1e-8) }' || fault "other baselines: $out"
done
peers=$("$python" "$(dirname "$0")/forecast_torch.py" "$table" 12 12 40 3 | tr '\n' ' ')
echo "errors $errors; PyTorch's $peers"
echo "$errors / $peers" | awk '{
  for (i = 1; i <= 3; i++) { own += $i / 3; peer += $(i + 4) / 3 }
  exit !(own <= 1.02 * peer && own < 1.7127)
}' || fault "the errors $errors are more than 2 % above PyTorch's $peers"

exit $failed
