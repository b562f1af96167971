#!/bin/sh
# labels: null
#
# mica info of published models: a GGUF file, a folder with an index of safetensors files, and what is wrong with them.
. "$(dirname "$0")/cli.sh"

# number BYTES N: N, little-endian, up to 255.
number() {
  printf "\\$(printf '%o' "$2")"
  i=1
  while [ $i -lt "$1" ]; do printf '\0'; i=$((i + 1)); done
}
# text T: its length and T.
text() { number 8 ${#1}; printf '%s' "$1"; }
# count KEY N
count() { text "$1"; number 4 4; number 4 "$2"; }
# gguf: seven keys and a tensor of 2 x 3 floats.
gguf() {
  printf GGUF; number 4 3; number 8 1; number 8 7
  count llama.embedding_length 96; count llama.attention.head_count 6
  count llama.context_length 64; count llama.vocab_size 200
  text general.architecture; number 4 8; text llama
  text llama.block_count; number 4 4; number 4 30
  text tokens; number 4 9; number 4 8; number 8 2; text one; text two
  text w; number 4 2; number 8 3; number 8 2; number 4 0; number 8 0
  number 32 0; number 32 0
}
gguf >"$work/x.gguf"
# bytes N B: N bytes of value B.
bytes() {
  left=$1
  while [ $left -gt 0 ]; do number 1 "$2"; left=$((left - 1)); done
}
# integers: keys with the largest u64, an array of 2^63 and 1, and an i64 of -1.
integers() {
  printf GGUF; number 4 3; number 8 0; number 8 3
  text most; number 4 10; bytes 8 255
  text halves; number 4 9; number 4 10; number 8 2; bytes 7 0; number 1 128; number 8 1
  text less; number 4 11; bytes 8 255
}
integers >"$work/integers.gguf"
run info "$work/integers.gguf"
ends 0 '*most *u64 *18446744073709551615*halves *u64[[]2] *9223372036854775808, 1*less *i64 *-1*' ''
run info "$work/integers.gguf" --json
ends 0 '*"most":?18446744073709551615,*"first":?[[]9223372036854775808, 1]*"less":?-1*' ''
run info "$work/x.gguf"
ends 0 '*network *llama: 30 layers of width 96, 6 heads of size 16, swiglu of 384*64 tokens of a vocabulary of 200*' ''
ends 0 '*weights *x.gguf: the tensor "token_embd.weight" of the family llama is missing*' ''
ends 0 '*general.architecture *text *"llama"*llama.block_count *u32 *30*tokens *text[[]2] *"one", "two"*' ''
ends 0 '*w *F32 *(2, 3) *6*1 tensors, 6 elements, 24 B: F32 1' ''
run info "$work/x.gguf" --json
ends 0 '*' ''
holds 'tensors.0.shape.1' 3
holds 'tensors.0.type' F32
holds 'family' llama
holds 'width' 96
head -c 100 "$work/x.gguf" >"$work/cut.gguf"
run info "$work/cut.gguf"
ends 1 '' "mica info: $work/cut.gguf: *the file is truncated*"
printf 'no model' >"$work/other.gguf"
run info "$work/other.gguf"
ends 1 '' "mica info: $work/other.gguf: it is not a GGUF file: it does not begin with GGUF"
run info "$work/x.gguf" --shape x=1
ends 2 '' '*--shape is for models in ONNX*'

# safetensors NAME: a file of one tensor.
safetensors() {
  header="{\"$1\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
  text "$header"
  number 4 0
}
# Metadata may have lines, which become one.
note='"__metadata__":{"note":"first\n   second\tthird\u0001"}'
header="{$note,\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
{ text "$header"; number 4 0; } >"$work/lines.safetensors"
run info "$work/lines.safetensors"
ends 0 '*note: first second third[?]*' ''

mkdir "$work/model"
safetensors a >"$work/model/m-00001-of-00002.safetensors"
safetensors b >"$work/model/m-00002-of-00002.safetensors"
cat >"$work/model/model.safetensors.index.json" <<'JSON'
{"metadata": {"total_size": 8},
 "weight_map": {"a": "m-00001-of-00002.safetensors", "b": "m-00002-of-00002.safetensors"}}
JSON
run info "$work/model"
ends 0 '*a *F32 *(1) *1*b *F32*2 files, 2 tensors, 2 elements, 8 B: F32 2' ''
printf '{"model_type": "llama"}' >"$work/model/config.json"
run info "$work/model"
ends 0 "*config.json: it does not say the model's width: the key hidden_size is missing*2 files, 2 tensors*" ''
run info "$work/model/model.safetensors.index.json" --json
ends 0 '*' ''
holds 'tensors.1.name' b
mkdir "$work/bare"
cp "$work/x.gguf" "$work/bare"
run info "$work/bare"
ends 0 '*1 tensors*' ''
rm "$work/model/m-00002-of-00002.safetensors"
run info "$work/model"
ends 1 '' "mica info: there is no file $work/model/m-00002-of-00002.safetensors"
printf '{"weight_map": {"a": "../x.safetensors"}}' >"$work/model/model.safetensors.index.json"
run info "$work/model"
ends 1 '' "*tensor \"a\" is in \"../x.safetensors\"; name a file of the index's folder*"

# A pipe without a writer is not waited for.
mkfifo "$work/pipe"
timeout 60 "$mica" info "$work/pipe" >"$work/out" 2>&1
[ $? -ne 124 ] || fault 'it waits for a pipe'
exit "$failed"
