#!/bin/sh
# labels: device
# mica predict --csv: predictions as a table, for classes, numbers, several labels, texts and forecasts.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# line FILE N PATTERN: line N of a file.
line() {
  is=$(sed -n "$2p" "$1")
  # shellcheck disable=SC2254
  case $is in $3) ;; *) fault "line $2 of $1 is not '$3': $is" ;; esac
}

# Classes whose names need quotes.
awk 'BEGIN {
  srand(5)
  print "a,b,kind"
  for (i = 0; i < 60; i++) printf "%.4f,%.4f,%s\n", i % 2 + rand(), rand(), i % 2 ? "\"up, \"\"yes\"\"\"" : "down"
}' >"$work/t.csv"
run train --data "$work/t.csv" --task classify --epochs 2 --quiet --out "$work/classes"
run predict --model "$work/classes" "$work/t.csv" --csv "$work/p.csv"
ends 0 "written   $work/p.csv" ''
[ "$(wc -l <"$work/p.csv")" = 61 ] || fault 'the table has not a line per sample'
line "$work/p.csv" 1 'row,prediction,probability,p_down,"p_up, ""yes""",truth'
line "$work/p.csv" 2 '2,*,0.*,0.*,0.*,down'
line "$work/p.csv" 61 '61,*,"up, ""yes"""'
# The probabilities of a line sum up to 1, and the first one is the largest.
sed '1d; s/"up, ""yes"""/up/g' "$work/p.csv" | awk -F, '{
  if ($4 + $5 < 0.999 || $4 + $5 > 1.001 || $3 != ($4 > $5 ? $4 : $5) || $2 != ($4 > $5 ? "down" : "up")) exit 1
}' || fault 'wrong probabilities'

# Nothing is written over; JSON beside it; all samples of a part.
run predict --model "$work/classes" "$work/t.csv" --csv "$work/p.csv"
ends 1 '' "*p.csv is there already and is not written over: choose another file with --csv"
# Devices and pipes are written to.
run predict --model "$work/classes" "$work/t.csv" --csv /dev/null
ends 0 'written   /dev/null' ''
[ -c /dev/null ] || fault '/dev/null is no device any more'
run predict --model "$work/classes" "$work/t.csv" --csv /dev/full
ends 1 '*' 'mica predict: cannot write /dev/full: No space left on device'
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/read.csv" &
run predict --model "$work/classes" "$work/t.csv" --csv "$work/pipe"
ends 0 "written   $work/pipe" ''
wait
cmp -s "$work/p.csv" "$work/read.csv" || fault 'another table through a pipe'
# A stream that is open already may be a file.
run predict --model "$work/classes" "$work/t.csv" --csv /dev/fd/3 3>"$work/read.csv"
ends 0 'written   /dev/fd/3' ''
cmp -s "$work/p.csv" "$work/read.csv" || fault 'another table through a file that is open'
# Files in the shared memory are files.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
  shm=$(mktemp /dev/shm/mica.XXXXXX)
  echo kept >"$shm"
  run predict --model "$work/classes" "$work/t.csv" --csv "$shm"
  kept=$(cat "$shm")
  rm "$shm"
  ends 1 '' "*$shm is there already and is not written over: choose another file with --csv"
  [ "$kept" = kept ] || fault 'a file in /dev/shm is written over'
fi
run predict --model "$work/classes" --data "$work/t.csv" --csv "$work/data.csv" --json
ends 0 '{"task": "classify", "predictions": *' ''
cmp -s "$work/p.csv" "$work/data.csv" || fault 'samples of --data are others'
run predict --model "$work/classes" "$work/t.csv" --out "$work/none.csv"
ends 2 '' "*--csv $work/none.csv writes a table of predictions"
run predict --model "$work/classes" "$work/t.csv" --csv "$work/p.csv/such.csv"
ends 1 '' '*such.csv*'

# Inputs that are so far away that the answer is not finite.
awk 'BEGIN { print "a,y"; for (i = 0; i < 60; i++) printf "%de-6,%g\n", i % 7, i % 7 + 0.5 }' >"$work/small.csv"
printf 'a\n3e38\n3e-6\n' >"$work/far.csv"
run train --data "$work/small.csv" --task regress --epochs 1 --quiet --out "$work/small"
run predict --model "$work/small" "$work/far.csv"
ends 0 '*' 'mica predict: 1 of 2 predictions is not a finite number; the inputs may be far from *'
printf 'a\n1e24\n3e-6\n' >"$work/large.csv"
run predict --model "$work/small" "$work/large.csv"
ends 0 '*value *e+[0-9][0-9]*' ''
printf '%s\n' "$out" | grep -Eq 'value -?[0-9](\.[0-9]{1,5})?e\+[0-9]+$' || fault "too many digits: $out"

# Numbers; without answers there is no truth.
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) print i % 5 "," i % 3 "," i % 5 + 0.5 }' >"$work/n.csv"
cut -d, -f1,2 "$work/n.csv" >"$work/unknown.csv"
run train --data "$work/n.csv" --task regress --epochs 2 --quiet --out "$work/numbers"
run predict --model "$work/numbers" "$work/unknown.csv" --csv "$work/values.csv"
ends 0 '*' ''
line "$work/values.csv" 1 'row,prediction'
line "$work/values.csv" 61 '61,[-0-9]*'

# A forecast has a line per row that follows.
awk 'BEGIN { print "v"; for (i = 0; i < 90; i++) print i % 7 }' >"$work/s.csv"
run train --data "$work/s.csv" --task forecast --horizon 4 --epochs 1 --quiet --out "$work/series"
run predict --model "$work/series" "$work/s.csv" --csv "$work/future.csv"
ends 0 '*' '*'
line "$work/future.csv" 1 'name,row,v'
[ "$(wc -l <"$work/future.csv")" = 5 ] || fault 'a forecast of 4 rows has not 4 lines'

# Texts.
awk 'BEGIN { print "text,kind"; for (i = 0; i < 40; i++) print (i % 2 ? "good fine" : "bad awful") " " i "," i % 2 }' \
  >"$work/texts.csv"
run train --data "$work/texts.csv" --task text --label kind --epochs 1 --quiet --out "$work/words"
run predict --model "$work/words" --text 'good day' --csv "$work/said.csv"
ends 0 '*' '*'
line "$work/said.csv" 1 '*prediction,probability,p_0,p_1*'
[ "$(wc -l <"$work/said.csv")" = 2 ] || fault 'one text has not one line'
exit $failed
