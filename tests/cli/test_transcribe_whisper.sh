#!/bin/sh
# labels: device single
# mica transcribe with a Whisper model: text, times, subtitles and JSON of raw samples and of WAV files agree. Wrong
# options, folders and recordings are refused with a sentence.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# The model's random weights serve as 2.14 seconds of noise: 68,480 bytes are two windows of a second, and a part.
model=${MICA_SOURCE_DIR:-.}/tests/golden/foundation/whisper/talk
noise=$model/model.safetensors
# pipe ARGUMENT...: as run, with the noise as standard input.
pipe() { run "$@" <"$noise"; }

run info "$model"
case $out in *'whisper, to transcribe'*'windows of 1 s'*) ;; *) fault "$out" ;; esac

pipe transcribe --model "$model" --no-speech 1 --json -
case $err$out in *'lacks cJSON'*) echo 'SKIP: this build lacks cJSON' && exit 77 ;; esac
ends 0 '*' '*'
holds task transcribe
holds texts.0.name 'standard input'
holds texts.0.language '??'
holds texts.0.seconds '2.14'
holds texts.0.segments.0.from '0*'
holds texts.0.segments.0.tokens.0 '[0-9]*'
text=$(json texts.0.text)
first=$(json texts.0.segments.0.text)
[ "$text" ] || fault 'there is no text'

# The text on the screen; a name goes before it if there are several.
pipe transcribe --model "$model" --no-speech 1 --quiet -
ends 0 '*' ''
[ "$out" = "$text" ] || fault "the text is '$out', in JSON '$text'"
pipe transcribe --model "$model" -
ends 0 '*' 'standard input: 2.14 s of sound in *'

# Lines, subtitles.
pipe transcribe --model "$model" --no-speech 1 --quiet --timestamps -
ends 0 "\[00:00:00.[0-9][0-9][0-9] --> 00:00:0[0-9].[0-9][0-9][0-9]\] *" ''
pipe transcribe --model "$model" --no-speech 1 --quiet --srt -
ends 0 "1
00:00:00,[0-9][0-9][0-9] --> 00:00:0[0-9],[0-9][0-9][0-9]
*
2
*" ''
pipe transcribe --model "$model" --no-speech 1 --quiet --vtt -
ends 0 "WEBVTT

00:00:00.[0-9][0-9][0-9] --> *" ''
case $first in *'&'*) case $out in *'&amp;'*) ;; *) fault "& is not escaped: $out" ;; esac ;; esac

# A language that is given; translation.
pipe transcribe --model "$model" --json --language de --translate -
ends 0 '*' '*'
holds texts.0.language de

# A window in which the model hears no speech is skipped; the same seed gives the same text.
pipe transcribe --model "$model" --no-speech 0 --quiet -
ends 0 '' ''
pipe transcribe --model "$model" --no-fallback --no-context --json -
ends 0 '*' '*'
holds texts.0.segments.0.temperature 0
pipe transcribe --model "$model" --no-speech 1 --seed 0 --quiet -
ends 0 "$text" ''
pipe transcribe --model "$model" --no-speech 1 --half --quiet -
ends 0 "$text" ''

# A WAV file of a second is one window: the same as through a pipe.
printf 'RIFF\044\175\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000' >"$work/a.wav"
printf '\000\175\000\000\002\000\020\000data\000\175\000\000' >>"$work/a.wav"
head -c 32000 "$noise" >>"$work/a.wav"
run transcribe --model "$model" --quiet - <"$work/a.wav"
ends 0 '*' ''
piped=$out
run transcribe --model "$model" --quiet "$work/a.wav"
case $err in *'lacks libsndfile'*) ;; *)
  ends 0 '*' ''
  [ "$out" = "$piped" ] || fault "the file's text is '$out', the pipe's '$piped'"
  run transcribe --model "$model" --quiet "$work/a.wav" "$work/none.wav" "$work/a.wav"
  ends 1 "$work/a.wav: $piped
*$work/a.wav: $piped" '*none.wav*'
  ;;
esac

# --- faults ---

refused() {
  wanted=$1
  shift
  pipe transcribe --model "$model" "$@" -
  [ "$status" != 0 ] || fault 'it was taken'
  # shellcheck disable=SC2254
  case $err in $wanted) ;; *) fault "stderr is not '$wanted': $err" ;; esac
}
refused '*does not know the language "xx"*' --language xx
refused '*--beam is for speech runs*' --beam 3
refused '*--chunk is for speech runs*' --chunk 1
refused '*--no-speech*' --no-speech 2
refused '*--seed*' --seed -1
refused '*give only one of --timestamps, --srt, --vtt and --json*' --srt --json
run transcribe --model "$model" --srt a.wav b.wav
ends 2 '' '*one recording*'
run transcribe --model "$model" --quiet - </dev/null
ends 1 '*' '*standard input holds no samples*'
run transcribe --model "${MICA_SOURCE_DIR:-.}/tests/golden/foundation/vit" - </dev/null
ends 1 '' '*vit do not transcribe sound*'
mkdir "$work/damaged"
cp "$model/config.json" "$model/tokenizer.json" "$work/damaged"
pipe transcribe --model "$work/damaged" -
ends 1 '' '*damaged*'
head -c 40000 "$noise" >"$work/damaged/model.safetensors"
pipe transcribe --model "$work/damaged" -
ends 1 '' '*model.safetensors*'
pipe transcribe --model "$work/none" -
ends 1 '' '*none*'

exit $failed
