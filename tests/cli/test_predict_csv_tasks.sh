#!/bin/sh
# labels: device slow
# mica predict --csv of the tasks that predict masks, boxes, classes of sounds, texts of recordings and translations:
# with files, with --data, and with input that is broken.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=tasks.sh
. "$(dirname "$0")/tasks.sh"

# begin TASK: a small run of it.
begin() {
  task=$1
  (epochs=2 train "$work/run" --quiet) >"$work/out" 2>&1 || fault "$task: $(cat "$work/out")"
}

# table LINES HEADER FIRST WORD...: what mica predict writes as a table: the number of its lines, and two of them.
table() {
  lines=$1 header=$2 first=$3
  shift 3
  run predict --model "$work/run" "$@" --csv "$work/table.csv"
  [ "$status" = 0 ] || fault "exit status $status; stderr: $err"
  [ "$(wc -l <"$work/table.csv")" = "$lines" ] || fault "the table has not $lines lines: $(cat "$work/table.csv")"
  [ "$(sed -n 1p "$work/table.csv")" = "$header" ] || fault "the header is not $header: $(sed -n 1p "$work/table.csv")"
  line=$(sed -n 2p "$work/table.csv")
  # shellcheck disable=SC2254
  case $line in $first) ;; *) fault "line 2 is not $first: $line" ;; esac
  rm -f "$work/table.csv"
}

# refused PATTERN INPUT...: they cannot be read, and no table is begun.
refused() {
  said=$1
  shift
  run predict --model "$work/run" "$@" --csv "$work/refused.csv"
  ends 1 '' "mica predict: $said"
  [ ! -e "$work/refused.csv" ] || fault 'writes a table of what it refuses'
}

# partly SAYING ARGUMENT...: predict names a file that cannot be read, and writes a line for the other one.
partly() {
  said=$1
  shift
  rm -f "$work/partly.csv"
  run predict --model "$work/run" "$@" --csv "$work/partly.csv"
  counted='mica predict: 1 file cannot be read; 1 sample was predicted'
  ends 1 "*written   $work/partly.csv" "mica predict: $said$newline$counted"
  [ "$(wc -l <"$work/partly.csv")" = 2 ] || fault "the table has not 2 lines: $(cat "$work/partly.csv")"
}

echo hello >"$work/bad.png"
echo hello >"$work/bad.wav"
: >"$work/empty.wav"
mkdir "$work/nothing"

# Masks: each class's share of the pixels, and the files that were written.
begin segment
images=$work/segment.csv/images
table 3 'name,share_0,share_255,height,width,mask,overlay' \
  "$images/0.png,[01]*,[01]*,40,40,$work/run/predictions/0-mask.png,$work/run/predictions/0-overlay.png" \
  "$images/0.png" "$images/1.png"
[ -s "$work/run/predictions/1-mask.png" ] || fault 'names a file that is not there'
table 4 'name,share_0,share_255,height,width,accuracy' "$images/0.png,[01]*,40,40,[01]*" \
  --data "$work/segment.csv" --count 3
refused '*bad.png is neither PNG nor JPEG' "$work/bad.png"
partly '*bad.png is neither PNG nor JPEG' "$images/0.png" "$work/bad.png"
# Standard output is the table alone.
run predict --model "$work/run" "$images/0.png" --csv -
ends 0 "name,share_0,*${newline}$images/0.png,*" ''
[ "$(wc -l <"$work/out")" = 2 ] || fault 'writes more than the table'
run predict --model "$work/run" "$images/0.png" --csv - --json
ends 2 '' '*--csv - and --json both write to standard output; choose one'
# A table that cannot be written is refused before the masks are.
rm -r "$work/run/predictions"
run predict --model "$work/run" "$images/0.png" --csv "$work/bad.png/deep/table.csv"
ends 1 '' '*cannot write *bad.png/deep/table.csv*'
[ ! -e "$work/run/predictions" ] || fault 'predicts before it refuses the table'

# Boxes: a line each; a picture without a box has one line, and the columns are the same.
rm -rf "$work/run"
begin detect
low=$work/detect.csv/JPEGImages/low0.png
table 2 'name,prediction,x0,y0,x1,y1,score,overlay' "$low,,,,,,,$work/run/predictions/low0-overlay.png" \
  "$low" --threshold 1
run predict --model "$work/run" "$low" --threshold 0 --csv -
[ "$(wc -l <"$work/out")" -gt 3 ] || fault "boxes have no lines: $out"
sed 1d "$work/out" | awk -F, '($2 != "low" && $2 != "high") || $5 <= $3 || $6 <= $4 || $7 < 0 || $7 > 1 { exit 1 }' ||
  fault "a line is no box: $out"
refused '*neither the folder *nothing nor a folder in it holds picture*' "$work/nothing"

if [ "$sound" ]; then
  rm -rf "$work/run"
  begin keyword
  wave=$work/keyword.csv/low/1.wav
  table 2 'name,prediction,probability,p_high,p_low' "$wave,[hl][io]*,0.*,0.*,0.*" "$wave"
  # Samples of data are named by their files.
  table 3 'name,prediction,probability,p_high,p_low,truth' "$work/keyword.csv/high/*.wav,*,high" \
    --data "$work/keyword.csv" --count 2
  refused '*empty.wav*' "$work/empty.wav"
  partly '*empty.wav*' "$wave" "$work/empty.wav"

  rm -rf "$work/run"
  begin speech
  table 2 'name,prediction,seconds' "$work/speech.csv/low1.wav,*,0.5" "$work/speech.csv/low1.wav"
  cp -r "$work/speech.csv" "$work/others"
  table 3 'name,prediction,seconds,truth' "$work/others/*.wav,*,0.5,[hl]*" --data "$work/others" --count 2
  refused '*bad.wav*' "$work/bad.wav"
fi

case $texts in *translate*)
  rm -rf "$work/run"
  begin translate
  printf 'one, "two"\nthree\n' >"$work/lines.txt"
  table 3 'name,source,prediction,score' 'line 1,"one, ""two""",*,-*' "$work/lines.txt"
  table 3 'name,source,prediction,score,truth' 'line 1,*' --data "$work/translate.csv" --count 2
  refused '*none.txt*' "$work/none.txt"
  ;;
esac

exit $failed
