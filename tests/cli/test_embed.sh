#!/bin/sh
# labels: device single
# mica embed with a small published model: vectors as text, JSON and files; neighbours; wrong arguments and files.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
model=${MICA_SOURCE_DIR:-.}/tests/golden/foundation/embed

# --- vectors ---
run embed --model "$model" 'a cat' 'The dog'
[ $status = 0 ] || fault "exit status $status: $err"
[ "$(printf '%s\n' "$out" | wc -l)" = 2 ] || fault "not two lines: $out"
[ "$(printf '%s\n' "$out" | head -n 1 | wc -w)" = 16 ] || fault "not 16 numbers: $out"
lines=$out
printf 'a cat\r\nThe dog' >"$work/texts"
run embed --model "$model" --data "$work/texts"
[ "$out" = "$lines" ] || fault "a file gives other vectors: $out"
run embed --model "$model" --json 'a cat'
case $out in '{"text":"a cat","vector":['*) ;; *) fault "no JSON: $out" ;; esac

# --- neighbours: of texts and of files of their vectors ---
printf 'the dog sat\na cat\nzzz\n' >"$work/index"
run embed --model "$model" --index "$work/index" --nearest 2 'A CAT'
[ $status = 0 ] || fault "exit status $status: $err"
[ "$(printf '%s\n' "$out" | sed -n 2p)" = '  1.0000  1  a cat' ] || fault "not the nearest: $out"
[ "$(printf '%s\n' "$out" | wc -l)" = 3 ] || fault "not two neighbours: $out"
for form in npy safetensors; do
  run embed --model "$model" --data "$work/index" --out "$work/index.$form"
  [ $status = 0 ] && [ ! "$out" ] || fault "exit status $status: $out $err"
  run embed --model "$model" --index "$work/index.$form" 'a cat'
  [ "$(printf '%s\n' "$out" | sed -n 2p)" = '  1.0000  1' ] || fault "$form: $out $err"
done
run embed --model "$model" --index "$work/index" --nearest 1 --json 'a cat'
case $out in
'{"text":"a cat","nearest":[{"index":1,"similarity":'*'"text":"a cat"}]}') ;;
*) fault "no JSON: $out" ;;
esac

# --- pictures: CLIP compares them with texts, ViT with each other ---
foundation=${MICA_SOURCE_DIR:-.}/tests/golden/foundation
mkdir "$work/photos"
cp "$foundation/photo.png" "$work/photos/b.png"
cp "$foundation/photo.png" "$work/photos/a.PNG"
: >"$work/photos/notes.md"
run embed --model "$foundation/clip" --index "$work/photos" 'a cat'
[ $status = 0 ] || fault "exit status $status: $err"
[ "$(printf '%s\n' "$out" | wc -l)" = 3 ] || fault "not two pictures: $out"
printf '%s\n' "$out" | sed -n 2p | grep -q '  0  .*/photos/a.PNG$' || fault "not the first picture: $out"
printf 'a cat\nthe dog\n%s\n' "$work/photos/b.png" >"$work/mixed"
run embed --model "$foundation/clip" --index "$work/mixed" --nearest 1 "$work/photos/a.PNG"
[ "$(printf '%s\n' "$out" | sed -n 2p)" = "  1.0000  2  $work/photos/b.png" ] || fault "not the same picture: $out"
run embed --model "$foundation/clip" --index "$work/index" --probability "$work/photos/a.PNG"
[ $status = 0 ] || fault "exit status $status: $err"
printf '%s\n' "$out" | awk 'NR > 1 { sum += $1; n++ } END { exit !(n == 3 && sum > 0.999 && sum < 1.001) }' ||
  fault "not probabilities: $out"
run embed --model "$foundation/vit" --index "$work/photos" "$work/photos/b.png"
[ "$(printf '%s\n' "$out" | grep -c '^  1.0000')" = 2 ] || fault "not the same pictures: $out"
# Pictures that cannot be read are named and left out, also beside texts, and the exit status is 1.
echo none >"$work/photos/aa.png"
: >"$work/photos/c.jpg"
run embed --model "$foundation/vit" --data "$work/photos" --out "$work/photos.npy"
ends 1 '' "*aa.png is neither PNG nor JPEG*c.jpg is an empty file*2 pictures cannot be read; 2 vectors were made"
[ -s "$work/photos.npy" ] || fault 'there are no vectors'
run embed --model "$foundation/clip" --index "$work/photos" "$work/photos/b.png"
ends 1 "*1.0000  0  $work/photos/a.PNG*1.0000  1  $work/photos/b.png*" '*2 pictures cannot be read; 2 vectors were made'
printf '%s\na cat\n%s\n' "$work/photos/aa.png" "$work/photos/b.png" >"$work/mixed"
run embed --model "$foundation/clip" --index "$work/mixed" --nearest 1 'a cat'
ends 1 "a cat$newline  1.0000  0  a cat" '*1 picture cannot be read; 2 vectors were made'
run embed --model "$foundation/vit" "$work/photos/aa.png" "$work/photos/c.jpg"
ends 1 '' '*aa.png*c.jpg*none of the 2 pictures can be read'
rm "$work/photos/aa.png" "$work/photos/c.jpg"
# Files that are no pictures are named; a file that is there is not written over.
: >"$work/photos/x.webp"
run embed --model "$foundation/vit" --data "$work/photos" --out "$work/named.npy"
ends 0 '' "mica embed: 2 files or folders beside the pictures (.png, .jpg, .jpeg) are not read: notes.md, ..."
cp "$work/named.npy" "$work/before.npy"
run embed --model "$foundation/vit" --out "$work/named.npy" "$work/photos/b.png"
ends 1 '' "*named.npy is there already and is not written over: choose another file with --out"
cmp -s "$work/named.npy" "$work/before.npy" || fault 'a file was written over'
mkdir "$work/webp"
: >"$work/webp/x.webp"
run embed --model "$foundation/vit" --data "$work/webp"
ends 1 '' "mica embed: $work/webp holds no pictures (.png, .jpg, .jpeg)"
run embed --model "$foundation/vit" 'a red car'
ends 1 '' '*"a red car": the model reads pictures only*'

# --- wrong arguments ---
wrong() {
  expected=$1
  said=$2
  shift 2
  run embed "$@"
  [ $status = "$expected" ] || fault "exit status $status, not $expected"
  printf '%s' "$err" | grep -q -- "$said" || fault "it does not say \"$said\": $err"
}
wrong 2 '--model is missing' x
wrong 2 'name texts or pictures' --model "$model"
wrong 2 'give one of them' --model "$model" --data "$work/index" x
wrong 2 'needs --index' --model "$model" --nearest 3 x
wrong 2 '.npy or .safetensors' --model "$model" --out "$work/x.txt" x
wrong 2 'nearest' --model "$model" --index "$work/index" --nearest 0 x
wrong 1 'cannot be read' --model "$model" --data "$work/none"
wrong 1 'is a folder' --model "$model" --data "$work"
wrong 1 'none' --model "$work/none" x
: >"$work/empty"
wrong 2 'needs --index' --model "$model" --probability x
wrong 1 'needs a model with a logit scale, such as CLIP' --model "$model" --index "$work/index" --probability x
wrong 1 'missing.png' --model "$foundation/clip" "$work/missing.png"
wrong 1 'has no texts' --model "$model" --data "$work/empty"
wrong 1 'it needs at least one text' --model "$model" --index "$work/empty" x
printf 'a\0b' >"$work/zero"
wrong 1 'byte 1 is zero' --model "$model" --data "$work/zero"
printf 'no array' >"$work/bad.npy"
wrong 1 'bad.npy' --model "$model" --index "$work/bad.npy" x

# --- files of a model that ask for what Mica lacks ---
cp -r "$model" "$work/model"
sed 's/models.Normalize/models.Dense/' "$model/modules.json" >"$work/model/modules.json"
wrong 1 'the module "Dense" is unknown' --model "$work/model" x
sed 's/1_Pooling/..\/x/' "$model/modules.json" >"$work/model/modules.json"
wrong 1 "not the name of a folder" --model "$work/model" x
cp "$model/modules.json" "$work/model"
echo '{"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}' >"$work/model/1_Pooling/config.json"
wrong 1 'pooling_mode_max_tokens' --model "$work/model" x
rm "$work/model/1_Pooling/config.json"
wrong 1 'modules.json names it' --model "$work/model" x
echo '[' >"$work/model/modules.json"
wrong 1 'modules.json' --model "$work/model" x
exit $failed
