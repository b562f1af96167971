#!/bin/sh
# labels: device single
# The command warm: the report, wrong arguments and files, and that an answer after it compiles nothing.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=halves.sh
. "$(dirname "$0")/halves.sh"
foundation=${MICA_SOURCE_DIR:-.}/tests/golden/foundation

run warm
ends 2 '' 'mica warm: *MODEL*'
run warm /nonexistent
ends 1 '' 'mica warm: there is no file or folder /nonexistent'
echo none >"$work/none.txt"
run warm "$work/none.txt"
ends 1 '' "mica warm: $work/none.txt is not a model in ONNX or GGUF, nor a folder*"
run warm "$work"
ends 1 '' 'mica warm: *config.json*'
run warm "$foundation/embed" --shape x=1x2
ends 2 '' 'mica warm: --shape is for models in ONNX'
run warm "$foundation/embed" --precision f16
ends 2 '' 'mica warm: --precision is for models in ONNX and runs'
run warm "$foundation/embed" --device null
ends 2 '' 'mica warm: the device null computes nothing*'
MICA_CACHE_DIR='' run warm "$foundation/embed"
ends 1 '' 'mica warm: there is no cache: *'

need_device

# Models that are not given what they read.
run warm "$foundation/vit"
ends 2 '' 'mica warm: the model reads pictures; name one with --sample'
run warm "$foundation/embed" --sample "$foundation/photo.png"
ends 2 '' 'mica warm: --sample is for runs and for published models of pictures*'
run warm "$foundation/llama" --sample text
ends 2 '' 'mica warm: --sample is for runs and for published models of pictures*generate'

# A text writer, a listener, and texts beside pictures answer once.
run warm "$foundation/llama" --json
ends 0 '*' ''
holds compiled '[0-9]*'
holds seconds '[0-9]*'
holds cache '?*'
for model in whisper/talk bert-classes; do
  run warm "$foundation/$model"
  ends 0 '*' ''
done
run warm "$foundation/clip" --sample "$foundation/photo.png"
ends 0 '*' ''

# Pictures: a run that draws takes no sample, and one file is enough to verify.
make_halves "$work/halves" 4
run train --task diffuse --data "$work/halves" --width 4 --batch 16 --noise-steps 20 --sample-steps 5 --epochs 1 \
  --quiet --out "$work/draw"
ends 0 '*' '*'
run warm "$work/draw" --sample "$work/draw/config.json"
ends 2 '' "mica warm: the task diffuse of $work/draw draws pictures and takes no --sample"
run warm "$work/draw"
ends 0 '*' ''
run train --task verify --data "$work/halves" --model mlp --batch 16 --epochs 1 --quiet --out "$work/alike"
ends 0 '*' '*'
run warm "$work/alike" --sample "$foundation/photo.png"
ends 0 '*' ''

# Recordings: a run speaks a text, and one file is enough to verify. Each word of two speakers is a tone.
mkdir "$work/tones"
LC_ALL=C awk -v folder="$work/tones" '
  function number(n, bytes) { for (; bytes > 0; bytes--) { printf "%c", n % 256 >f; n = int(n / 256) } }
  BEGIN { srand(5)
    for (i = 0; i < 40; i++) {
      f = folder "/" (i % 2 ? "high" : "low") "_" (i % 4 < 2 ? "anna" : "ben") "_" i ".wav"
      printf "RIFF" >f; number(2436, 4); printf "WAVEfmt " >f; number(16, 4); number(65537, 4)
      number(8000, 4); number(8000, 4); number(524289, 4); printf "data" >f; number(2400, 4)
      for (t = 0; t < 2400; t++) printf "%c", 128 + 60 * sin(t * (i % 2 ? 1.0 : 0.3) + i) + 2 * rand() >f
      close(f) } }'
run train --task speak --data "$work/tones" --width 32 --layers 2 --epochs 1 --quiet --out "$work/voice"
case $err in
*'lacks libsndfile'*) ;;
*)
  ends 0 '*' '*'
  run warm "$work/voice"
  ends 2 '' 'mica warm: --sample is missing: a run of the task speak needs a text'
  run warm "$work/voice" --sample high
  ends 0 '*' ''
  run warm "$work/voice" --sample hugo
  ends 1 '' "*has not learned the letter 'u'*"
  for name in high_anna high_ben low_anna low_ben; do
    mkdir -p "$work/names/$name"
    cp "$work/tones/${name}_"*.wav "$work/names/$name"
  done
  run train --task verify --data "$work/names" --width 16 --mels 32 --batch 16 --embedding 16 --epochs 1 --quiet \
    --out "$work/verify"
  ends 0 '*' '*'
  run warm "$work/verify" --sample "$work/tones/high_anna_1.wav"
  ends 0 '*' ''
  run warm "$work/verify" --sample "$work/missing.wav"
  ends 1 '' "mica warm: there is no file $work/missing.wav"
  ;;
esac

# counted: the programs in the cache.
counted() {
  run cache list --json
  json programs.#
}

# In a cache of its own: a run, whose predictions compile nothing after it.
export MICA_CACHE_DIR="$work/mica"
printf 'x,y\n1,2.1\n2,4.2\n3,6.3\n4,8.4\n5,10.5\n6,12.6\n7,14.7\n8,16.8\n' >"$work/table.csv"
run train --task regress --data "$work/table.csv" --label y --epochs 1 --quiet --out "$work/run"
ends 0 '*' '*'
run warm "$work/run"
ends 2 '' 'mica warm: --sample is missing: a run of the task regress needs *'
run warm "$work/run" --sample "$work/nope.csv"
ends 1 '' "mica warm: there is no file $work/nope.csv"
run cache clear
run warm "$work/run" --sample "$work/table.csv"
ends 0 "[1-9]* program* compiled in *, kept in $work/mica" ''
before=$(counted)
run predict --model "$work/run" "$work/table.csv"
ends 0 '*' ''
[ "$(counted)" = "$before" ] || fault "predict compiled: $before programs before, $(counted) after"
run warm "$work/run" --sample "$work/table.csv"
ends 0 "nothing to compile: $work/mica has all programs (*" ''

# A cache that can keep nothing: a file in the place of its folder.
echo none >"$work/taken"
MICA_CACHE_DIR="$work/taken" run warm "$work/run" --sample "$work/table.csv"
ends 1 '' "mica warm: [1-9]* program* compiled, but $work/taken keeps 0 of them: *$work/taken*"
MICA_CACHE_DIR="$work/taken" run warm "$work/run" --sample "$work/table.csv" --json
ends 1 '*' 'mica warm: *keeps 0 of them: *'
holds not_kept '[1-9]*'
# Other commands do their work, and say once that the next start compiles again.
MICA_CACHE_DIR="$work/taken" run predict --model "$work/run" "$work/table.csv"
ends 0 '*' "mica predict: compiled kernels are not kept, so the next start compiles them again: *$work/taken*"
[ "$(wc -l <"$work/err")" = 1 ] || fault "more than one remark: $err"

# A folder that cannot be made keeps nothing either; one that has all programs need not be writable.
if [ "$(id -u)" != 0 ]; then
  mkdir -p "$work/closed"
  chmod 500 "$work/closed"
  MICA_CACHE_DIR="$work/closed/mica" run warm "$work/run" --sample "$work/table.csv"
  ends 1 '' "mica warm: *$work/closed/mica keeps 0 of them: *ermission denied*"
  chmod -R a-w "$work/mica"
  run warm "$work/run" --sample "$work/table.csv"
  ends 0 "nothing to compile: $work/mica has all programs (*" ''
  chmod -R u+w "$work/mica" "$work/closed"
fi

# Likewise a model in ONNX: y = max(x, 0) of x (n, 2).
{
  printf '\010\010\072\075\012\014\012\001x\022\001y\042\004Relu\022\001gZ\024\012\001x\022\017\012\015\010'
  printf '\001\022\011\012\003\022\001n\012\002\010\002b\024\012\001y\022\017\012\015\010\001\022\011\012'
  printf '\003\022\001n\012\002\010\002B\004\012\000\020\021'
} >"$work/relu.onnx"
run warm "$work/relu.onnx"
[ "$err" != "${err#*needs protobuf-c}" ] && exit $failed
ends 0 '* compiled in *' ''
before=$(counted)
run run "$work/relu.onnx"
ends 0 '*' ''
[ "$(counted)" = "$before" ] || fault 'run compiled'
run warm "$work/relu.onnx" --shape x=0x
ends 2 '' 'mica warm: *'
run warm "$work/relu.onnx" --precision f8
ends 2 '' 'mica warm: --precision cannot be "f8"; choose f32, f16 or bf16'
run warm "$work/relu.onnx" --sample "$work/table.csv"
ends 2 '' 'mica warm: --sample is for runs and for published models of pictures; leave it out for a model in ONNX'
exit $failed
