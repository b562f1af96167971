#!/bin/sh
# labels: device single
# The task fuse by the command: how it describes columns, and files that are not tables.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
need_device

make_tones "$work/data" 60 1 >"$work/made"
awk 'BEGIN { print "age,note,second,colour,curve,noise,words,kind" } {
  colour = NR % 4 ? "red" : "none"
  printf "%d,we saw %d of %d,it was %d of %d,%s,%d %d %d,%s,%s,%s\n", 20 + NR, NR, NR * 7, NR * 3, NR * 5, colour, NR, \
    NR * 2, NR * 3, $1 ".wav", NR % 2 ? "a film" : "no film", NR % 3 ? "some" : "none"
}' "$work/data/names" >"$work/data/rows.csv"
small='--width 8 --length 8 --vocabulary 300 --seconds 0.2 --mels 16 --batch 16 --epochs 1'
# shellcheck disable=SC2086
run train --task fuse --data "$work/data/rows.csv" $small --out "$work/run"
case $err$out in *lacks*) echo "SKIP: $err" && exit 77 ;; esac
# Files are not called texts, and unread columns are named.
ends 0 "*8 columns, label 'kind', 2 classes, text 'note', text 'second', series 'curve', recording 'noise', *" '*'
case $out in
*"'kind' has classes named 'none'"*'numbers that are inputs: age'*'classes that are inputs: colour, words'*) ;;
*) fault "head: $out" ;;
esac
case $out in *'not used: second (text)'*) ;; *) fault "the second text: $out" ;; esac

# The run names its columns.
run info "$work/run"
ends 0 '*
columns   number age, class colour, class words, text note, series curve, recording noise, label kind*' ''
run info "$work/run" --json
ends 0 '*"columns":*"series curve"*"recording noise"*' ''

# An exported model says of each column of classes how it is fed.
run export "$work/run" --onnx "$work/run.onnx"
case $err in
*'needs protobuf-c'*) ;;
*)
  run info "$work/run.onnx"
  ends 0 '*colour: int32 (N)
          the class of the column, from 0: its names are entries 0 to 1 of "category_names", *
*words: int32 (N)
          the class of the column, from 0: its names are entries 2 to 3 of "category_names", *' ''
  ;;
esac

# A run without numbers says what it does not use, too; without rows it has no input of its own to show.
cut -d, -f2,3,8 "$work/data/rows.csv" >"$work/two.csv"
# shellcheck disable=SC2086
run train --task fuse --data "$work/two.csv" $small --out "$work/two"
ends 0 "*text 'note', text 'second'*not used: second (text)*" '*'
run info "$work/two"
ends 0 'task      fuse
model     encoder
columns   text note, label kind*' ''

# An empty class has one sentence: training did not see it.
first=$(head -n 1 "$work/data/names").wav
printf 'age,note,colour,curve,noise,words\n23,we saw,red,1 2 3,%s,\n' "$first" >"$work/data/empty.csv"
run predict --model "$work/run" "$work/data/empty.csv"
ends 0 '*' "*1 cell of 'words' is read as no class, because training did not see \"\"*"
case $err in *'missing cells'*) fault "two sentences of one cell: $err" ;; esac

# A column that names files of another kind.
printf 'age,note,colour,curve,noise,words\n23,we saw,red,1 2 3,%s,a film\n' "$work/rows.csv" >"$work/data/kinds.csv"
: >"$work/rows.csv"
run predict --model "$work/run" "$work/data/kinds.csv"
ends 1 '' '*kinds.csv: column "noise" names tables instead of recordings'

# Files that are not tables.
printf '\211PNG\r\n\032\n\000\000' >"$work/x.png"
run predict --model "$work/run" "$work/x.png"
ends 1 '' '*x.png holds a zero byte, so it is not a table of text; the task fuse predicts from the rows of tables *'
run predict --model "$work/run" "$work/data/$first"
ends 1 '' '*.wav holds a zero byte, so it is not a table of text; the task fuse predicts from the rows of tables *'
run predict --model "$work/run" "$work/data"
ends 1 '' '*data is a folder, but the task fuse predicts from tables; give the folder with --data'

exit $failed
