#!/bin/sh
# labels: device slow
# Verification by the command: recordings of made voices, classes that training never sees, comparison of files, a
# gallery, a resumed run with the bits of one that was not stopped, and data that cannot be learned from.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# make_voice FILE HZ SEED: half a second of a tone with two overtones and noise.
make_voice() {
  printf 'RIFF\304\017\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000' >"$1"
  printf '\100\037\000\000\001\000\010\000data\240\017\000\000' >>"$1"
  LC_ALL=C awk -v hz="$2" -v seed="$3" 'BEGIN {
    srand(seed)
    for (t = 0; t < 4000; t++) {
      a = 6.283185 * hz * t / 8000
      printf "%c", int(128.5 + 40 * sin(a) + 25 * sin(2 * a + 1) + 15 * sin(3 * a) + 20 * (rand() - 0.5))
    }
  }' >>"$1"
}
voice=0
for name in ann bob cat dan eve fay; do
  voice=$((voice + 1))
  mkdir -p "$work/voices/$name"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    make_voice "$work/voices/$name/$i.wav" $((90 * voice + 60 + i)) $((100 * voice + i))
  done
done
how='--width 16 --mels 32 --batch 16 --embedding 16 --seed 3'

# shellcheck disable=SC2086
run train --task verify --data "$work/voices" --unseen bob,eve $how --epochs 40 --json --quiet --out "$work/run"
case $err in *'lacks libsndfile'*) echo 'SKIP: this build lacks libsndfile' && exit 77 ;; esac
ends 0 '*' '*'
holds task sound_verify
run eval --model "$work/run" --part test --json
holds metrics.samples 20
awk -v e="$(json metrics.eer)" 'BEGIN { exit !(e <= 0.15) }' || fault "equal error rate $(json metrics.eer)"
run eval --model "$work/run" --part validation --json
holds metrics.samples 4
grep -q '"unseen": \["bob", "eve"\]' "$work/run/config.json" || fault 'no fact unseen'

# Two files; one; a gallery, of folders too.
run predict --model "$work/run" "$work/voices/bob/1.wav" "$work/voices/bob/2.wav" --json
same=$(json predictions.0.similarity)
run predict --model "$work/run" "$work/voices/bob/1.wav" "$work/voices/eve/2.wav" --json
awk -v a="$same" -v b="$(json predictions.0.similarity)" 'BEGIN { exit !(a > b) }' || fault "$same and less for others"
run predict --model "$work/run" "$work/voices/bob/1.wav"
ends 1 '' '*bob/1.wav has nothing to be compared with; give a second file or a gallery*'
run predict --model "$work/run" "$work/voices/eve/3.wav" --gallery "$work/voices" --top 2 --json
holds predictions.0.nearest.0.name eve/3.wav
holds predictions.0.nearest.1.name 'eve/*.wav'
run predict --model "$work/run" "$work/voices/eve/3.wav" --gallery "$work/voices"
ends 0 '*nearest *similarity*eve/3.wav *1*' ''
run predict --model "$work/run" "$work/voices/eve/3.wav" --gallery "$work/missing"
ends 1 '' "mica predict: there is no folder $work/missing"
run predict --model "$work/run" "$work/voices/bob/1.wav" "$work/voices/eve/2.wav" --top 2
ends 2 '' 'mica predict: --top needs --gallery with the task sound_verify *'
run predict --model "$work/run" "$work/voices/bob/1.wav" "$work/voices/eve/2.wav" --threshold 0.9
ends 1 '' 'mica predict: --threshold is for the task detect, and for *; the task of --model is sound_verify'
echo nothing >"$work/broken.wav"
run predict --model "$work/run" "$work/voices/eve/3.wav" "$work/broken.wav"
ends 1 '' '*broken.wav*'

# Other data with classes that the run has never heard of, in one part.
mkdir "$work/others"
cp -r "$work/voices/bob" "$work/others/zoe"
cp -r "$work/voices/eve" "$work/others/yan"
run eval --model "$work/run" --data "$work/others" --json
holds part all
holds metrics.samples 20

# A test part with classes of its own; a model in ONNX.
mkdir "$work/parted" "$work/parted/train" "$work/parted/test"
cp -r "$work/voices/ann" "$work/voices/cat" "$work/voices/dan" "$work/parted/train"
cp -r "$work/others/zoe" "$work/others/yan" "$work/parted/test"
# shellcheck disable=SC2086
run train --task verify --data "$work/parted" --loss triplet $how --epochs 2 --quiet --out "$work/parts"
ends 0 '*' '*'
run eval --model "$work/parts" --part test --json
holds metrics.samples 20
run export "$work/parts" --onnx "$work/voices.onnx"
ends 0 '*' '*'

# Two epochs and two more are four.
# shellcheck disable=SC2086
run train --task verify --data "$work/voices" $how --schedule constant --epochs 4 --quiet --out "$work/four"
# shellcheck disable=SC2086
run train --task verify --data "$work/voices" $how --schedule constant --epochs 2 --quiet --out "$work/two"
run train --resume --out "$work/two" --epochs 4 --quiet
ends 0 '*' '*'
cmp -s "$work/four/last.safetensors" "$work/two/last.safetensors" || fault 'other weights after a break'

# Batches that compare nothing, of four classes of training; ArcFace compares with classes, not with samples.
for small in 'ge2e 1' 'ge2e 2' 'triplet 2'; do
  run train --task verify --data "$work/voices" --unseen bob,eve --loss "${small% *}" --batch "${small#* }" --quiet \
    --out "$work/no"
  ends 2 '*' "*a batch of ${small#* } is too small for the loss ${small% *}, *; set --batch to 3 or more, *classes (4)"
done
small='--unseen bob,eve --width 8 --mels 16 --embedding 8 --epochs 1'
# shellcheck disable=SC2086
run train --task verify --data "$work/voices" $small --loss ge2e --batch 3 --out "$work/three"
[ "$status" = 0 ] || fault "$err"
case $out$err in *'teach nothing'*) fault 'a remark although most batches teach' ;; esac
# Folders and files that are not used are said, too.
mkdir "$work/voices/nobody"
echo x >"$work/voices/ann/notes.txt"
# shellcheck disable=SC2086
run train --task verify --data "$work/voices" $small --loss arcface --batch 2 --out "$work/arc"
[ "$status" = 0 ] || fault "$err"
for said in '1 folder holds no * and is not a class: *voices/nobody' \
  '1 file is not * and is not used: *ann/notes.txt'; do
  # shellcheck disable=SC2254
  case $out in *$said*) ;; *) fault "not '$said': $out" ;; esac
done
rm -r "$work/voices/nobody" "$work/voices/ann/notes.txt"
# Ten classes: 1 - 9/10 * 8/10 of the batches of 3 have a pair.
for i in 1 2 3 4 5 6; do cp -r "$work/voices/ann" "$work/voices/ann$i"; done
# shellcheck disable=SC2086
run train --task verify --data "$work/voices" $small --loss triplet --batch 3 --out "$work/ten"
case $out$err in
*'about 72 % of the batches of 3 have no two samples of one class and teach nothing'*) ;;
*) fault "no remark: $out$err" ;;
esac
rm -r "$work"/voices/ann?

# Data that cannot be learned from, and settings that do not go with them.
mkdir "$work/one"
cp -r "$work/voices/ann" "$work/one"
run train --task verify --data "$work/one" --quiet --out "$work/no"
ends 1 '*' '*has 1 class: the task verify needs four: two to train on and two others for the test'
cp -r "$work/voices/bob" "$work/voices/cat" "$work/one"
for unseen in 1 ann ann,bob; do
  run train --task verify --data "$work/one" --unseen "$unseen" --quiet --out "$work/no"
  ends 1 '*' '*has 3 classes: the task verify needs four: two to train on and two others for the test'
done
for name in ann bob cat dan eve; do
  mkdir -p "$work/single/$name"
  cp "$work/voices/$name/1.wav" "$work/single/$name"
done
run train --task verify --data "$work/single" --quiet --out "$work/no"
ends 1 '*' '*no class to train on has two samples*'
run train --task verify --data "$work/voices" --unseen bob,max --quiet --out "$work/no"
ends 2 '*' "*unseen: no sample to train on in *voices has the class 'max'*"
run train --task verify --data "$work/voices" --unseen 1 --quiet --out "$work/no"
ends 2 '*' '*unseen keeps one class for the test, which has no pairs of different classes*'
printf 'a,b,label\n1,2,x\n2,3,y\n3,4,x\n4,5,y\n5,6,z\n6,7,z\n' >"$work/rows.csv"
run train --task verify --data "$work/rows.csv" --unseen 0 --quiet --out "$work/no"
ends 1 '*' '*has no pictures; for recordings choose the task sound_verify*'
run train --task keyword --data "$work/voices" --width 8 --epochs 1 --quiet --out "$work/words"
ends 0 '*' '*'
run predict --model "$work/words" "$work/voices/ann/1.wav" --gallery "$work/voices"
ends 1 '' '*a gallery is for the task verify; the task keyword does not compare files*'

# Spoken digits: two speakers of six that training never hears.
recordings=${MICA_TEST_DATA:-/nowhere}/data/spoken_digits/recordings
if [ -d "$recordings" ]; then
  for name in george jackson lucas nicolas theo yweweler; do
    mkdir -p "$work/speakers/$name"
    ln -s "$recordings"/*_"$name"_*.wav "$work/speakers/$name"
  done
  run train --task verify --data "$work/speakers" --unseen george,yweweler --seconds 0.35 --shift 0.05 --epochs 5 \
    --quiet --out "$work/spoken"
  ends 0 '*' '*'
  run eval --model "$work/spoken" --part test --json
  holds metrics.samples 1000
  awk -v e="$(json metrics.eer)" 'BEGIN { exit !(e <= 0.2) }' || fault "equal error rate $(json metrics.eer)"
  echo "equal error rate of two speakers: $(json metrics.eer)"
else
  echo 'speakers: SKIP: no spoken_digits in MICA_TEST_DATA'
fi
exit $failed
