#!/bin/sh
# labels: device slow
# Speech by the command: training on made tones, waves whose pitch is that of the words, voices of recordings, the same
# bits for the same text and for a run that was stopped and resumed, and what is refused.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two words of two speakers: 'high' has 1,273 Hz and 'low' 382 Hz; ben is softer than anna.
mkdir "$work/tones"
LC_ALL=C awk -v folder="$work/tones" '
  function number(n, bytes) { for (; bytes > 0; bytes--) { printf "%c", n % 256 >f; n = int(n / 256) } }
  BEGIN { srand(5)
    for (i = 0; i < 80; i++) {
      high = i % 2; anna = i % 4 < 2
      f = folder "/" (high ? "high" : "low") "_" (anna ? "anna" : "ben") "_" i ".wav"
      printf "RIFF" >f; number(2436, 4); printf "WAVEfmt " >f; number(16, 4); number(65537, 4)
      number(8000, 4); number(8000, 4); number(524289, 4); printf "data" >f; number(2400, 4)
      for (t = 0; t < 2400; t++) printf "%c", 128 + (anna ? 60 : 20) * sin(t * (high ? 1.0 : 0.3) + i) + 2 * rand() >f
      close(f) } }'
how="--task speak --data $work/tones --width 32 --layers 2 --lr 0.006"

# shellcheck disable=SC2086
run train $how --epochs 25 --json --quiet --out "$work/run"
case $err in *'lacks libsndfile'*) echo 'SKIP: this build lacks libsndfile' && exit 77 ;; esac
ends 0 '*' '*'
holds task speak
awk -v e="$(json metrics.spectrum_mae)" 'BEGIN { exit !(e > 0 && e < 0.6) }' || fault "spectrum_mae $out"
grep -q 'Spoken' "$work/run/report.html" || fault 'no spectra in the report'

# samples FILE: those of a WAV file of 16 bits, one a line.
samples() { od -An -v -t d2 -w2 -j 44 "$1"; }
# pitch FILE: half the crossings of zero a second.
pitch() {
  samples "$1" | awk '{ if ($1 * last < 0) n++; if ($1) { last = $1; m++ } } END { printf "%d\n", n * 4000 / m }'
}

for speaker in anna ben; do
  for word in high low; do
    run speak --model "$work/run" --text $word --speaker $speaker --out "$work/$word-$speaker.wav"
    ends 0 "*$word-$speaker.wav: 0.[4-8]* s at 8000 Hz" ''
  done
  high=$(pitch "$work/high-$speaker.wav") low=$(pitch "$work/low-$speaker.wav")
  [ "$high" -gt 1000 ] && [ "$high" -lt 1600 ] && [ "$low" -gt 250 ] && [ "$low" -lt 700 ] ||
    fault "$speaker: high has $high Hz and low $low Hz"
done

# A text gives the same file again, and a lower speed a longer one.
run speak --model "$work/run" --text high --speaker anna --out "$work/again.wav" --json
holds rate 8000
holds file "$work/again.wav"
cmp -s "$work/high-anna.wav" "$work/again.wav" || fault 'other samples of the same text'
seconds=$(json seconds)
run speak --model "$work/run" --text low --speaker anna --out "$work/again.wav"
ends 1 '' "*again.wav is there already and is not written over: choose another file with --out"
cmp -s "$work/high-anna.wav" "$work/again.wav" || fault 'a file was written over'
run speak --model "$work/run" --text low --out -
ends 2 '' '*--out -: a WAV file is not written to standard output*'
rm "$work/again.wav"
for other in tone.mp3 tone.wav.gz .flac; do
  run speak --model "$work/run" --text low --out "$work/$other"
  ends 2 '' "*--out *$other: only WAV files are written; choose a name that ends in .wav"
  [ ! -e "$work/$other" ] || fault "$other was written"
done
run speak --model "$work/run" --text low --out "$work/v1.2/LOUD.WAV"
case $err in *'only WAV'*) fault "$err" ;; esac
run speak --model "$work/run" --text high --speaker anna --speed 0.5 --out "$work/again.wav" --json
awk -v a="$seconds" -v b="$(json seconds)" 'BEGIN { r = (b - 0.3) / (a - 0.3); exit !(r > 1.8 && r < 2.2) }' ||
  fault "$seconds s, $out"

# The voice of a recording: the run names its speaker, and speaks with a mix of voices that is nearly that speaker's.
for speaker in anna:0 ben:2; do
  rm -f "$work/mix.wav" "$work/again.wav"
  run speak --model "$work/run" --text high --like "$work/tones/low_${speaker%:*}_${speaker#*:}.wav" \
    --out "$work/mix.wav" --json
  ends 0 '*' ''
  awk -v share="$(json "voice.${speaker%:*}")" 'BEGIN { exit !(share > 0.8 && share <= 1) }' || fault "$speaker: $out"
  [ "$(pitch "$work/mix.wav")" -gt 1000 ] || fault "the voice of $speaker says another word"
  run speak --model "$work/run" --text high --like "$work/tones/high_${speaker%:*}_$((${speaker#*:} + 1)).wav" \
    --out "$work/again.wav"
  ends 0 'voice: *'"${speaker%:*} "'*again.wav: *' ''
done

# What is refused, in sentences.
run speak --model "$work/run" --text high --like "$work/missing.wav" --out "$work/none.wav"
ends 1 '' '*missing.wav*'
run speak --model "$work/run" --text high --like "$work/run/config.json" --out "$work/none.wav"
ends 1 '' '*config.json*'
head -c 144 "$work/tones/low_anna_0.wav" >"$work/short.wav"
run speak --model "$work/run" --text high --like "$work/short.wav" --out "$work/none.wav"
ends 1 '' '*short.wav*'
head -c 44 "$work/tones/low_anna_0.wav" >"$work/silent.wav"
LC_ALL=C awk 'BEGIN { for (i = 0; i < 2400; i++) printf "%c", 128 }' >>"$work/silent.wav"
run speak --model "$work/run" --text high --like "$work/silent.wav" --out "$work/none.wav"
ends 1 '' '*silent.wav: the recording is silent; there is no voice to hear*'
run speak --model "$work/run" --text high --like "$work/silent.wav" --speaker anna
ends 2 '' '*give --speaker or --like, not both*'
run speak --model "$work/none.onnx" --text a --like "$work/silent.wav"
ends 2 '' '*--like is for speak runs*'
run speak --model "$work/run" --text 'hugo' --out "$work/none.wav"
ends 1 '' "*has not learned the letter 'u' (U+0075); it has learned \"ghilow\""
run speak --model "$work/run" --text 'High' --out "$work/none.wav"
ends 1 '' "*has not learned the letter 'H' (U+0048); *"
run speak --model "$work/run" --text "$(printf 'hi\ngh')" --out "$work/none.wav"
ends 1 '' '*has not learned the letter (U+000A); *'
run speak --model "$work/run" --text high --speaker carl --out "$work/none.wav"
ends 1 '' '*no speaker "carl"; choose from anna, ben'
run speak --model "$work/run" --text '' --out "$work/none.wav"
ends 2 '' '*--text is empty*'
run speak --model "$work/run"
ends 2 '' '*--text is missing*'
run speak --text high
ends 2 '' '*--model is missing*'
run speak --model "$work/run" --text high --speed 0
ends 2 '' '*--speed*'
run speak --model "$work/run" --text "$(printf 'hi\377')" --out "$work/none.wav"
ends 1 '' '*not UTF-8 at byte 3*'
run speak --model "$work/run" --text high --out "$work/tones"
ends 1 '' '*tones*'
[ ! -e "$work/none.wav" ] || fault 'a file is left'
run predict --model "$work/run" --text high
ends 1 '' '*mica speak --model*'
# shellcheck disable=SC2086
run train $how --kernel 4 --out "$work/bad"
ends 2 '' '*kernel must be an odd number, not 4*'
run speak --model "$work/run" --phonemes high
ends 2 '' '*--phonemes is for voices of Piper; *run is not one: their names end in .onnx'
run speak --model "$work/none.onnx" --phonemes high
ends 1 '' '*cannot read *none.onnx.json*'
echo '{"phoneme_id_map": {"a": 3}}' >"$work/none.onnx.json"
run speak --model "$work/none.onnx" --phonemes a
ends 1 '' '*none.onnx.json: "phoneme_id_map" does not list numbers of phonemes*'
echo '{"phoneme_id_map": {"a": [3]}}' >"$work/none.onnx.json"
run speak --model "$work/none.onnx" --phonemes a
ends 1 '' '*none.onnx*'
# 16 MiB are the most bytes of a voice's JSON file
printf '%16777185s' ' ' >>"$work/none.onnx.json"
[ "$(wc -c <"$work/none.onnx.json")" -eq 16777216 ] || fault 'the file has another size'
run speak --model "$work/none.onnx" --phonemes a
ends 1 '' '*there is no file *none.onnx'
echo >>"$work/none.onnx.json"
run speak --model "$work/none.onnx" --phonemes a
ends 1 '' '*none.onnx.json: it is larger than 16 MiB'
run speak --model "$work/none.onnx" --text a --iterations 3
ends 2 '' '*--iterations is for speak runs*'
run transcribe --model "$work/run" "$work/again.wav"
ends 1 '' '*task speak*'

# A run that was stopped and resumed ends with the bits of one that was not.
# shellcheck disable=SC2086
run train $how --epochs 4 --quiet --out "$work/whole"
# shellcheck disable=SC2086
begin() { exec "$mica" train $how --epochs 4 --checkpoint-steps 2 --out "$@"; }
killed "$work/killed" 0.7 1.1
cmp -s "$work/whole/last.safetensors" "$work/killed/last.safetensors" || fault 'other weights after a stop'

run eval --model "$work/run" --part validation --json
holds task speak

# A validation folder without the first speaker: training measures it as evaluation does, when speakers are noted.
mkdir -p "$work/parts/train" "$work/parts/validation"
cp "$work/tones"/*.wav "$work/parts/train"
mv "$work/parts/train"/*_ben_[2-7]*.wav "$work/parts/validation"
how="--task speak --data $work/parts --width 32 --layers 2 --lr 0.006"
# shellcheck disable=SC2086
run train $how --epochs 12 --json --quiet --out "$work/ben"
seen=$(json metrics.spectrum_mae)
run eval --model "$work/ben" --part validation --json
holds metrics.spectrum_mae "$seen"
for file in "$work/parts/validation"/*_2*.wav; do mv "$file" "$(echo "$file" | sed 's/_ben_/_carl_/')"; done
run train --task speak --data "$work/parts" --epochs 1 --out "$work/none"
ends 1 '*' '*the run has no speaker "carl"*'

# Letters that no training text has are not learned: a validation part with some is refused, and one that training
# splits off is left without them.
rm "$work/parts/validation"/*
cp "$work/tones/high_anna_1.wav" "$work/parts/validation/oxo_anna_1.wav"
run train --task speak --data "$work/parts" --epochs 1 --out "$work/none"
ends 1 '*' "*parts, recording 0: the letter 'x' (U+0078) is in no text of the training part*"
mkdir "$work/few"
for letter in a b c d e f j k m n; do
  for k in 1 5; do cp "$work/tones/high_anna_$k.wav" "$work/few"; printf 'high_anna_%d.wav\thigh\n' $k; done
  cp "$work/tones/low_anna_4.wav" "$work/few/$letter.wav"
  printf '%s.wav\tlow %s\n' $letter $letter
done >"$work/few/train.tsv"
run train --task speak --data "$work/few" --validation 0.4 --width 32 --layers 2 --epochs 1 --json --out "$work/letters"
ends 0 '*' '*'
run info "$work/letters" --json
learned='' left=''
known=$(sed -n 's/.*"alphabet":[^[]*\[\(.*\)\].*/\1/p' "$work/out" | tr -d '[", ')
for letter in a b c d e f j k m n; do
  case $known in *$letter*) learned=$learned$letter ;; *) left=$letter ;; esac
done
[ "$left" ] && [ "$learned" ] || fault "the alphabet of a part of the texts is $known"
run speak --model "$work/letters" --text "low $left" --out "$work/none.wav"
ends 1 '' "*has not learned the letter '$left' *"
run eval --model "$work/letters" --part validation --json
holds task speak
sed -i '/low/!d' "$work/few/train.tsv"
run train --task speak --data "$work/few" --validation 0.4 --epochs 1 --out "$work/none"
ends 1 '*' '*each text of the validation part has a letter that no training text has*'

# What a run was trained on.
run info "$work/run"
ends 0 '*rate      8000 Hz
columns   sound, tokens, speaker
speakers  2: anna, ben
alphabet  6: g, h, i, l, o, w
*' ''
run info "$work/run" --json
holds speakers.1 ben
holds rate 8000

mkdir "$work/table"
cp "$work/tones/high_anna_1.wav" "$work/table"
printf 'high_anna_1.wav\thigh\n' >"$work/table/test.tsv"
run eval --model "$work/run" --data "$work/table"
ends 1 '' '*these recordings have no speakers, but the run has speakers such as "anna"'

run export "$work/run" --onnx "$work/model.onnx"
case $err in *'needs protobuf-c'*) ;; *) ends 0 'written*' '' ;; esac
exit $failed
