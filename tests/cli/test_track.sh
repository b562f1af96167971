#!/bin/sh
# labels: device slow
# Boxes followed through the frames of a video: predicted, written, scored; what is wrong.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
"$MICA_BUILD_DIR/bin/tests/write_video" "$work" || exit 1
frames=$work/video/img1

run train --data "$work/boxes" --task detect --size 64 --width 8 --batch 4 --epochs 25 --warm-up 5 --ema 0.8 \
  --augment none --validation 0 --least-score 0.3 --seed 1 --out "$work/run" --json
[ "$status" = 0 ] || fault "$err"

# Frames are in order of their numbers.
run predict --model "$work/run" "$frames" --track --out "$work/drawn" --mot "$work/tracks.txt" --json
[ "$status" = 0 ] || fault "$err"
holds predictions.0.name "$frames/1.png"
holds predictions.1.name "$frames/2.png"
holds predictions.29.name "$frames/30.png"
first="$(json predictions.0.boxes.0.id) $(json predictions.0.boxes.1.id)"
case $first in '1 2' | '2 1') ;; *) fault "ids of the first frame: $first" ;; esac
[ "$(ls "$work/drawn" | wc -l)" = 30 ] || fault 'not a picture per frame'
awk -F, '$1 != int($1) || $2 < 1 || NF != 10 { bad = 1 } { lines++; frames[$1] = 1; ids[$2] = 1 }
  END { for (f in frames) n++; for (i in ids) k++; exit bad || n != 30 || k < 3 || k > 6 || lines < 60 }' \
  "$work/tracks.txt" ||
  fault "tracks: $(cat "$work/tracks.txt")"

run eval --model "$work/run" --data "$work/video" --track --json
holds task detect
holds metrics.frames 30
holds metrics.true_boxes 80
holds metrics.true_tracks 3
for score in mota:0.75 motp:0.7 idf1:0.75; do
  awk -v is="$(json "metrics.${score%:*}")" -v least="${score#*:}" 'BEGIN { exit !(is >= least && is <= 1) }' ||
    fault "$score: $out"
done
[ "$(json metrics.found_boxes)" = "$(wc -l <"$work/tracks.txt")" ] || fault 'other boxes than predict finds'
run eval --model "$work/run" --data "$work/video" --track
ends 0 'MOTA * %, MOTP * %, IDF1 * % (*id switches, *80 true boxes in 30 frames*3 true tracks: *' ''

run predict --model "$work/run" "$frames" --track --csv "$work/table.csv"
ends 0 "written *30-overlay.png*written *table.csv" 'mica predict: 30 samples were predicted'
[ "$(head -1 "$work/table.csv")" = 'name,prediction,x0,y0,x1,y1,score,id,overlay' ] ||
  fault "columns $(head -1 "$work/table.csv")"
grep -q "/1.png,car,.*,1," "$work/table.csv" || fault 'no id in the table'
run predict --model "$work/run" "$frames" --track
ends 0 '*1.png*car * id [12]*30.png*car * id [0-9]*' '*'
# Frames of several folders may have one name; their pictures have several.
mkdir -p "$work/cameras/a" "$work/cameras/b"
cp "$frames/1.png" "$work/cameras/a"
cp "$frames/2.png" "$work/cameras/b/1.png"
run predict --model "$work/run" "$work/cameras" --track --out "$work/both"
[ "$status" = 0 ] || fault "$err"
[ "$(ls "$work/both" | tr '\n' ' ')" = '1-1-overlay.png 1-overlay.png ' ] || fault "$(ls "$work/both")"
# Frames of another size: tracks are scored and written, with a remark.
differ='2 of 4 frames differ in size from the first (64x64): *3.png (48x48), ...; tracks may break*'
run predict --model "$work/run" "$work/sizes/img1" --track
ends 0 '*' "*$differ*"
run eval --model "$work/run" --data "$work/sizes" --track --json
ends 0 '*' "*$differ*"
# Without it there are no ids.
run predict --model "$work/run" "$frames/1.png" --json
case $out in *'"id"'*) fault 'there is an id' ;; *'"score"'*) ;; *) fault 'no box' ;; esac

# What is there is not written over, and is seen before anything is predicted.
run predict --model "$work/run" "$frames" --track --out "$work/drawn"
ends 1 '' '*drawn*choose another folder with --out*'
run predict --model "$work/run" "$frames" --track --mot "$work/tracks.txt"
ends 1 '' '*tracks.txt*choose another file with --mot*'
run predict --model "$work/run" "$frames" --mot "$work/other.txt"
ends 2 '' 'mica predict: --mot needs --track*'
run predict --model "$work/run" "$frames/1.png" --track
ends 2 '' 'mica predict: --track takes one folder, of the frames of a video*'
run predict --model "$work/run" "$work/missing" --track
ends 1 '' "mica predict: there is no folder $work/missing"
run predict --model "$work/run" --data "$work/boxes" --track
ends 2 '' 'mica predict: --track takes one folder, of the frames of a video*'
run predict --model "$work/run" "$frames" --track --out "$work/grid.png"
ends 2 '' 'mica predict: --track draws many pictures; choose a folder with --out*'

run eval --model "$work/run" --track
ends 2 '' 'mica eval: --track needs --data FOLDER, with FOLDER/img1 and FOLDER/gt/gt.txt as in MOTChallenge*'
run eval --model "$work/run" --data "$work/video" --track --part test
ends 2 '' 'mica eval: --track scores all frames; leave out --part*'
run eval --model "$work/run" --data "$work/boxes" --track
ends 1 '' '*boxes/gt/gt.txt*'
cp "$work/video/gt/gt.txt" "$work/gt.txt"
echo 31,1,5,5,9,9,1,1,1 >>"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' 'mica eval: *gt.txt has boxes of frame 31, but there are only 30 pictures*'
echo 1,1,5,5 >"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' 'mica eval: *gt.txt: line 1: expected frame,id,left,top,width,height*'
printf '1,1,5,5,9,9\n1,1,7,7,9,9\n' >"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' 'mica eval: *video/gt/gt.txt: line 2: frame 1 already has a box with the id 1, in line 1'
printf '1,1,5,5,9,9\n2,-1,7,7,9,9\n' >"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' 'mica eval: *video/gt/gt.txt: a box of frame 2 has no id; true boxes need ids of 0 or more'
: >"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' 'mica eval: *video/gt/gt.txt has no true boxes to score against'
echo 1,1,5,5,9,9,0 >"$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video" --track --json
ends 1 '' 'mica eval: *video/gt/gt.txt has no true boxes to score against: the confidence of each is 0, *'
cp "$work/gt.txt" "$work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/video"
ends 1 '' "mica eval: *; for a video, --track scores tracks in $work/video/img1 against $work/video/gt/gt.txt"
run eval --model "$work/run" --data "$work/missing"
case $err in *--track*) fault "a hint at --track: $err" ;; esac

# A frame that cannot be read ends it: others would have wrong numbers.
echo damaged >"$frames/7.png"
run predict --model "$work/run" "$frames" --track --mot "$work/some.txt"
ends 1 '*' '*7.png*'
[ ! -e "$work/some.txt" ] || fault 'tracks of part of the frames were written'
run eval --model "$work/run" --data "$work/video" --track
ends 1 '' '*7.png*'

# Other tasks find no boxes.
printf 'x,y,label\n1,2,a\n2,1,b\n3,4,a\n4,3,b\n5,6,a\n6,5,b\n' >"$work/table.tab.csv"
run train --data "$work/table.tab.csv" --task classify --epochs 1 --validation 0 --out "$work/rows"
[ "$status" = 0 ] || fault "$err"
run predict --model "$work/rows" "$frames" --track
ends 2 '' 'mica predict: --track needs a run of the task detect; --model has the task classify*'
run eval --model "$work/rows" --data "$work/video" --track
ends 2 '' 'mica eval: --track needs a run of the task detect; --model has the task classify*'
exit $failed
