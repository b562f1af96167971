# Sourced by tests of all tasks, after cli.sh: small data of each task in $work/TASK.csv, and train, which trains small
# networks on them. $sound and $texts: the tasks of recordings and of texts that this build has the libraries for.
# shellcheck shell=sh disable=SC2034,SC2154
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"

# make_tones FOLDER: a wav file with half a second of each of 24 tones, in a folder a class.
make_tones() {
  for class in low high; do
    mkdir -p "$1/$class"
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
      # 4,000 samples of 8 bits at 8,000 Hz behind 44 bytes: 4,036, 16, 8,000 and 4,000 in little endian.
      printf 'RIFF\304\017\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000' >"$1/$class/$i.wav"
      printf '\100\037\000\000\001\000\010\000data\240\017\000\000' >>"$1/$class/$i.wav"
      LC_ALL=C awk -v hz=$((${#class} * ${#class} * 60 + 10 * i)) 'BEGIN {
        for (t = 0; t < 4000; t++) printf "%c", int(128.5 + 60 * sin(6.283185 * hz * t / 8000))
      }' >>"$1/$class/$i.wav"
    done
  done
}

make_voc "$work/detect.csv"
awk -v folder="$work" 'BEGIN {
  srand(2)
  for (i = 0; i < 4000; i++) {
    k = i % 4
    for (j = 0; j < 20; j++) printf "%.4f,", (k == j % 4) * 2 + rand() + rand() >folder "/classify.csv"
    print k >folder "/classify.csv"
    for (j = 0; j < 20; j++) { x = rand(); sum = j ? sum + x : x; printf "%.4f,", x >folder "/regress.csv" }
    printf "%.4f\n", sum + rand() >folder "/regress.csv"
  }
}'
# train FOLDER WORD...: $epochs says how long.
# Takes the place of the (sub)shell that calls it: a signal to that process meets mica itself.
train() {
  case $task in
  detect) set -- --size 64 --width 8 --batch 4 --warm-up 5 --checkpoint-steps 5 --out "$@" ;;
  keyword) set -- --width 8 --mels 16 --batch 8 --warm-up 5 --checkpoint-steps 7 --out "$@" ;;
  segment) set -- --width 2 --depth 2 --window 32 --batch 4 --checkpoint-steps 20 --out "$@" ;;
  segment_volumes) set -- --width 2 --depth 1 --window 8 --windows 2 --checkpoint-steps 5 --out "$@" ;;
  forecast) set -- --horizon 3 --width 8 --batch 16 --checkpoint-steps 7 --out "$@" ;;
  language)
    set -- --context 16 --width 16 --heads 2 --layers 1 --batch 16 --checkpoint-steps 20 --out "$@"
    ;;
  translate)
    set -- --width 16 --heads 2 --layers 1 --length 16 --vocabulary 280 --batch 16 --bleu-samples 4 --beam 1 \
      --checkpoint-steps 7 --out "$@"
    ;;
  recommend)
    set -- --objective ranking --model sasrec --width 8 --context 8 --batch 16 --checkpoint-steps 7 \
      --out "$@"
    ;;
  speech)
    set -- --filters 4 --width 16 --mels 16 --batch 8 --warm-up 10 --checkpoint-steps 5 --out "$@"
    ;;
  text) set -- --width 16 --length 40 --vocabulary 320 --batch 16 --checkpoint-steps 7 --out "$@" ;;
  *) set -- --model mlp --batch 16 --checkpoint-steps 50 --out "$@" ;;
  esac
  case $task in
  detect | text) usual=20 ;;
  keyword | forecast | recommend) usual=30 ;;
  translate | speech) usual=8 ;;
  *) usual=12 ;;
  esac
  exec "$mica" train --task "$task" --data "$work/$task.csv" --epochs "${epochs:-$usual}" "$@"
}
"$MICA_BUILD_DIR/bin/tests/write_scenes" "$work/segment.csv" 60 40 || exit 1 # a folder
"$MICA_BUILD_DIR/bin/tests/write_volumes" "$work/segment_volumes.csv" 10 12 || exit 1 # a folder
make_tones "$work/keyword.csv"
awk 'BEGIN {
  print "week,a,b"
  for (i = 0; i < 200; i++) print i "," (i % 9 == 4 ? "" : sin(i / 2)) "," i % 7
}' >"$work/forecast.csv"
awk 'BEGIN {
  split("lunch home later mum prize call free now", words, " ")
  print "label\ttext" >"'"$work"'/text.csv"
  for (i = 0; i < 160; i++) {
    line = (i % 3 ? "ham" : "spam") "\tnumber " i
    for (k = 0; k <= i % 7; k++) line = line " " words[(i * 5 + k * k) % 4 + (i % 3 ? 1 : 5)]
    print line >"'"$work"'/text.csv"
  }
}'
awk 'BEGIN { for (i = 0; i < 120; i++) print "the cat sat on mat " i " and the dog ran to it" }' >"$work/language.csv"
mkdir "$work/translate.csv" "$work/speech.csv"
awk -v folder="$work/translate.csv" 'BEGIN {
  split("one two three four five six", a, " "); split("eins zwei drei vier funf sechs", b, " ")
  for (i = 0; i < 160; i++) {
    x = y = ""
    for (k = 0; k <= i % 5; k++) { w = 1 + (i * 5 + k * k) % 6; x = x a[w] " "; y = y b[w] " " }
    print x "." >folder "/train.en"; print y "." >folder "/train.de"
  }
}'
awk 'BEGIN {
  print "user,item,timestamp"
  for (u = 0; u < 60; u++) for (k = 0; k < 4 + u % 9; k++) print "u" u ",i" (u * 5 + k) % 20 "," k
}' >"$work/recommend.csv"
# What a tone says is its class.
for class in low high; do
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cp "$work/keyword.csv/$class/$i.wav" "$work/speech.csv/$class$i.wav"
    printf '%s.wav\t%s\n' "$class$i" "$class"
  done
done >"$work/train.tsv"
mv "$work/train.tsv" "$work/speech.csv"
# A build without libsndfile reads no recordings, and says so; one without cJSON or PCRE2 makes no tokenisers.
"$mica" train --data "$work/keyword.csv" --epochs 1 --quiet --out "$work/sound" >"$work/out" 2>&1
case $(cat "$work/out") in *'lacks libsndfile'*) sound='' ;; *) sound='keyword speech' ;; esac
[ "$sound" ] || echo 'keyword and speech: SKIP: this build lacks libsndfile'
"$mica" version >"$work/out"
texts='text translate'
for library in CJSON PCRE2; do
  grep -q "MICA_WITH_$library=1" "$work/out" || texts=''
done
[ "$texts" ] || echo 'text and translate: SKIP: this build lacks cJSON or PCRE2'
