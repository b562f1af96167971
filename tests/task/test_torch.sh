#!/bin/sh
# labels: device slow oracle
# A regression by default settings against the same network in PyTorch: R2 and error on rows that neither saw, three
# seeds.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import torch, numpy' 2>/dev/null || { echo 'SKIP: no PyTorch'; exit 77; }

# 4,000 rows of a function of six numbers and noise of a fiftieth of the variance: no model's R2 is above 0.98.
mkdir "$work/table"
awk -v folder="$work/table" 'BEGIN {
  srand(11)
  for (i = 0; i < 4000; i++) {
    for (j = 0; j < 6; j++) x[i, j] = 2 * rand() - 1
    f[i] = sin(2 * x[i, 0]) + x[i, 1] * x[i, 2] + 0.5 * x[i, 3] * x[i, 3] + 0.3 * x[i, 4]
    mean += f[i] / 4000
  }
  for (i = 0; i < 4000; i++) variance += (f[i] - mean) * (f[i] - mean) / 4000
  for (i = 0; i < 4000; i++) {
    file = folder (i < 3200 ? "/train.csv" : "/test.csv")
    if (i == 0 || i == 3200) print "a,b,c,d,e,f,target" >file
    noise = -6
    for (j = 0; j < 12; j++) noise += rand()
    for (j = 0; j < 6; j++) printf "%.6f,", x[i, j] >file
    printf "%.6f\n", 500 + 100 * (f[i] + sqrt(variance / 49) * noise) >file
  }
}'

errors=''
for seed in 0 1 2; do
  run train --task regress --data "$work/table" --validation 0 --seed $seed --json --quiet --out "$work/run$seed"
  ends 0 '{"task":"regress","part":"test"*' ''
  r2=$(json metrics.r2)
  awk -v r="$r2" 'BEGIN { exit !(r >= 0.97) }' || fault "R2 $r2 with seed $seed"
  errors="$errors $(json metrics.rmse)"
done
peers=$("$python" "$(dirname "$0")/regress_torch.py" "$work/table" 3 | tr '\n' ' ')
echo "errors $errors; PyTorch's $peers"
echo "$errors / $peers" | awk '{
  for (i = 1; i <= 3; i++) { own += $i / 3; peer += $(i + 4) / 3 }
  exit !(own <= 1.02 * peer)
}' || fault "the errors $errors are more than 2 % above PyTorch's $peers"

exit $failed
