#!/bin/sh
# labels: device single
# Models in ONNX: described, run on inputs of files and on random ones, checked against recorded outputs; wrong files
# and wrong words end with a sentence.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

# y = max(x, 0) of x (n, 2), and the same with an operator that nobody has.
{
  printf '\010\010\072\075\012\014\012\001x\022\001y\042\004Relu\022\001gZ\024\012\001x\022\017\012\015\010'
  printf '\001\022\011\012\003\022\001n\012\002\010\002b\024\012\001y\022\017\012\015\010\001\022\011\012'
  printf '\003\022\001n\012\002\010\002B\004\012\000\020\021'
} >"$work/relu.onnx"
sed 's/Relu/Rule/' "$work/relu.onnx" >"$work/rule.onnx"
run info "$work/relu.onnx"
[ "$err" != "${err#*needs protobuf-c}" ] && { echo 'this build has no protobuf-c'; exit 77; }
ends 0 'model     operator set 17, IR version 8*input     x: float (n, 2)*output    y: float (n, 2)*1  Relu*run *' ''
run info "$work/relu.onnx" --json
ends 0 '*' ''
holds inputs.0.name x
holds inputs.0.shape.0 n
holds inputs.0.shape.1 2
holds operators.0.name Relu
holds operators.0.supported true
holds opset 17
holds run.launches 1
holds run.parts 1
run info "$work/relu.onnx" --shape x=8x2
ends 0 '*run       1 launches, * planned' ''
run info "$work/relu.onnx" --shape x=8x3
ends 0 "*run       *input 'x' has the shape (?, 2), but was fed (8, 3)" ''
run info "$work/relu.onnx" --shape z=1
ends 2 '' 'mica info: --shape "z=1" names no input of the model; the model?s inputs are x float (?, 2)'
run info resnet18 --shape x=1
ends 2 '' 'mica info: --shape is for models in ONNX; resnet18 is not one'
run info "$work/rule.onnx"
ends 0 '*Rule  is not supported*the model cannot run' ''

# npy in, npy out: -1.5 and 2 become 0 and 2.
header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
npy() { printf '\223NUMPY\001\000v\000%-117s\n' "$header" && printf "$1"; }
npy '\000\000\300\277\000\000\000\100' >"$work/x.npy"
npy '\000\000\000\000\000\000\000\100' >"$work/want.npy"
run run "$work/relu.onnx" --device null
ends 2 '' 'mica run: the device null computes nothing*'
MICA_DEVICE=null run run "$work/relu.onnx"
ends 2 '' 'mica run: the device null computes nothing*'
run run "$work/relu.onnx" --input "x=$work/x.npy" --out "$work/results"
ends 0 'y * f32 (1, 2)  0 2' ''
cmp "$work/results/0_y.npy" "$work/want.npy" || fault 'another result'
echo precious >"$work/results/0_y.npy"
run run "$work/relu.onnx" --input "x=$work/x.npy" --out "$work/results"
ends 1 '' "mica run: $work/results/0_y.npy is there already and is not written over*"
[ "$(cat "$work/results/0_y.npy")" = precious ] || fault 'a file is written over'
run run "$work/relu.onnx" --shape x=3x2 --repeat 3 --json
ends 0 '*' ''
holds outputs.0.shape.0 3
holds outputs.0.dtype f32
holds outputs.0.nan 0
holds outputs.0.values.5 '0.*'
holds median_ms '*'
run run "$work/relu.onnx" --input "x=$work/x.npy" --profile "$work/trace.json"
ends 0 '*y * f32 (1, 2)  0 2' ''
grep -q traceEvents "$work/trace.json" || fault 'no trace'
if [ -e /dev/full ]; then
  run run "$work/relu.onnx" --input "x=$work/x.npy" --profile /dev/full
  ends 1 '*' 'mica run: cannot write /dev/full: No space left on device'
  [ -c /dev/full ] || fault '/dev/full was replaced'
fi
run run "$work/relu.onnx" --input "x=$work/x.npy" --json
holds outputs.0.min 0
holds outputs.0.max 2
holds outputs.0.mean 1
holds outputs.0.values.0 0
holds outputs.0.values.1 2
run run "$work/relu.onnx" --shape x=9x2
ends 0 'y * f32 (9, 2)  0.* ... (from 0.* to 0.*, mean 0.*)' ''
run run "$work/relu.onnx" --shape x=9x2 --json
json outputs.0.values >/dev/null 2>&1 && fault 'values of 18 elements'

run run
ends 2 '' 'mica run: MODEL is missing; mica run --help shows the usage'
run run "$work/relu.onnx" --shape x=3x2 --precision f8
ends 2 '' 'mica run: --precision cannot be "f8"; choose f32, f16 or bf16'
run run "$work/relu.onnx" --shape x=3x2 --precision bf16
ends 0 'y * f32 (3, 2) *' 'mica: WARNING: bf16: the graph has no product of f32 numbers, so this type changes nothing'
run run "$work/none.onnx"
ends 1 '' "mica run: *none.onnx*"
run run "$work/rule.onnx"
ends 1 '' 'mica run: *needs operators that are not supported: Rule (version 17)'
run run "$work/relu.onnx" --input "z=$work/x.npy"
ends 2 '' 'mica run: --input "z=*" names no input of the model; the model?s inputs are x float (?, 2)'
run run "$work/relu.onnx" --shape z=1x2
ends 2 '' 'mica run: --shape "z=1x2" names no input of the model; the model?s inputs are x float (?, 2)'
run run "$work/relu.onnx" --input "x=$work/relu.onnx"
ends 1 '' 'mica run: *relu.onnx is not an npy file'
run run "$work/relu.onnx" --shape x=3xtwo
ends 2 '' 'mica run: --shape must be like NAME=2x3x224x224, *, not "x=3xtwo"'
run run "$work/relu.onnx" --shape x=-1x2
ends 2 '' 'mica run: --shape must be like NAME=2x3x224x224, *, not "x=-1x2"'
run run "$work/relu.onnx" --shape x=3x3
ends 1 '' "mica run: *input 'x' has the shape (?, 2), but was fed (3, 3)"
run run "$work/relu.onnx" --shape x=3x2,x=4x2
ends 2 '' "mica run: --shape \"x=4x2\": the input 'x' has a file or a shape already"
run run "$work/relu.onnx" --input "x=$work/x.npy" --shape x=1x2
ends 2 '' "mica run: --shape \"x=1x2\": the input 'x' has a file or a shape already"
run run "$work/relu.onnx" --shape x=3x2,
ends 2 '' 'mica run: --shape "" is not NAME=1x3, *; the model?s inputs are x float (?, 2)'
run run "$work/relu.onnx" --shape x=3,2
ends 2 '' 'mica run: --shape "2" is not NAME=1x3, *; the model?s inputs are x float (?, 2)'
run run "$work/relu.onnx" --input x
ends 2 '' 'mica run: --input "x" is not NAME=FILE, *; the model?s inputs are x float (?, 2)'
for option in input shape seed out repeat profile; do
  run run "$work/relu.onnx" --check "$work" "--$option" 1
  ends 2 '' "mica run: give --$option or --check, not both: --check reads recorded inputs"
done
run run "$work/relu.onnx" --check "$work"
ends 1 '' "mica run: the folder $work has no recorded outputs: *test_data_set_0*output_0.pb"
run run "$work/relu.onnx" --check "$work/none"
ends 1 '' "mica run: there is no folder $work/none"
run run --check "$work/none"
ends 1 '' 'mica run: there is no folder *none'
head -c 40 "$work/relu.onnx" >"$work/cut.onnx"
run info "$work/cut.onnx"
ends 1 '' 'mica info: *cut.onnx is damaged*: byte *, in a message ModelProto, begins a field beyond the end'

byte() { printf "\\$(printf %03o "$1")"; }
varint() {
  n=$1
  while [ "$n" -ge 128 ]; do byte $((n % 128 + 128)); n=$((n / 128)); done
  byte "$n"
}
# inside TAG: stdin as a message inside of another, its tag being that number.
inside() {
  part=$(mktemp "$work/part.XXXXXX") && cat >"$part"
  byte "$1" && varint $(($(wc -c <"$part"))) && cat "$part"
}
text() { printf %s "$2" | inside "$1"; }

# An index beyond its axis: the same model with Gather, i (1).
{
  { text 10 x; text 10 i; text 18 y; text 34 Gather; } | inside 10
  printf '\012\001x\022\012\012\010\010\001\022\004\012\002\010\004' | inside 90
  printf '\012\001i\022\012\012\010\010\007\022\004\012\002\010\001' | inside 90
  printf '\012\001y\022\012\012\010\010\001\022\004\012\002\010\001' | inside 98
} | inside 58 >"$work/gather.onnx"
printf '\010\010B\004\012\000\020\021' >>"$work/gather.onnx"
header="{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"
npy '\011\000\000\000\000\000\000\000' >"$work/nine.npy"
run run "$work/gather.onnx" --input "i=$work/nine.npy"
ends 1 '' "mica run: *(Gather): element 0 of the input 'i' is the index 9, outside of an axis of 4 elements"

# --- files that nobody should trust ---

# model BYTES: y = x + w of 4 floats; BYTES, escapes of printf, are what w's tensor holds beside type and name.
model() {
  {
    { text 10 x; text 10 w; text 18 y; text 34 Add; } | inside 10
    { printf '\020\001'; text 66 w; cat; } | inside 42
    printf '\012\001x\022\012\012\010\010\001\022\004\012\002\010\004' | inside 90
    printf '\012\001y\022\012\012\010\010\001\022\004\012\002\010\004' | inside 98
  } | inside 58
  printf '\010\010B\004\012\000\020\021'
}
# external LOCATION OFFSET LENGTH: w lies in a file.
external() {
  {
    printf '\010\004\160\001'
    { text 10 location; text 18 "$1"; } | inside 106
    { text 10 offset; text 18 "$2"; } | inside 106
    { text 10 length; text 18 "$3"; } | inside 106
  } | model
}
# refused ERR: as ends 1 '' ERR, by mica run and mica info.
refused() {
  for command in run info; do
    run "$command" "$inside/model.onnx"
    ends 1 '' "mica $command: $inside/model.onnx*$1"
  done
}

inside=$work/inside
mkdir "$inside" "$inside/folder"
head -c 32 /dev/zero >"$inside/w.bin"
cp "$inside/w.bin" "$work/outside.bin"
ln -s ../outside.bin "$inside/link.bin"
ln -s w.bin "$inside/stays.bin"
ln -s .. "$inside/up"
mkfifo "$inside/fifo.bin"
external w.bin 16 16 >"$inside/model.onnx"
run run "$inside/model.onnx"
ends 0 'y *' ''
external stays.bin 16 16 >"$inside/model.onnx"
run run "$inside/model.onnx"
ends 0 'y *' ''
while IFS='|' read -r location offset length reason; do
  external "$location" "$offset" "$length" >"$inside/model.onnx"
  refused "tensor 'w'*external data *'$location'$reason"
done <<'END'
../outside.bin|0|16|; the path must be relative*
folder/../../outside.bin|0|16|; the path must be relative*
/etc/passwd|0|16|; the path must be relative*
none.bin|0|16|: No such file or directory
link.bin|0|16|: the path leaves the model's folder
up/outside.bin|0|16|: the path leaves the model's folder
fifo.bin|0|16|: it must be a regular file with a single hard link
folder|0|16|: it must be a regular file with a single hard link
w.bin|20|16|: 16 bytes from byte 20 on are needed, but the file has only 32
w.bin|18446744073709551600|16|: 16 bytes from byte 18446744073709551600 on are needed, but the file has only 32
w.bin|-4|16| has the offset '-4', but it must be a whole number below 2^64
w.bin|0|99999999999999999999| has the length '99999999999999999999', but it must be a whole number below 2^64
w.bin|0|8|
END

# Counts that overflow: 2^62 x 2^62 elements, 2^61 elements of 4 bytes, a length of 2^64 - 1, one beyond 64 bits.
large='\010\200\200\200\200\200\200\200\200'
printf "$large\100$large\100\112\004abcd" | model >"$inside/model.onnx"
run run "$inside/model.onnx"
ends 1 '' "mica run: *tensor 'w' is *, which is too large; its bytes must be fewer than 2^63"
printf "$large\040\112\004abcd" | model >"$inside/model.onnx"
run run "$inside/model.onnx"
ends 1 '' "mica run: *tensor 'w'*"
printf '\010\010\072\377\377\377\377\377\377\377\377\377\001\012' >"$inside/model.onnx"
refused ' is damaged or no ONNX file: byte *, in a message ModelProto, begins a field beyond the end'
printf '\010\010\072\377\377\377\377\377\377\377\377\377\377\001\012' >"$inside/model.onnx"
refused ' is damaged or no ONNX file: byte *'

# 50,000 deep: graphs in attributes of nodes of graphs, and groups, which are 100 kB.
printf "$(awk 'BEGIN {
  for (i = 1; i < 50000; i++) size[i] = size[i - 1] + (size[i - 1] < 128 ? 2 : size[i - 1] < 16384 ? 3 : 4)
  split("10 42 50", tag)
  printf "\\010\\010"
  for (i = 49999; i > 0; i--) {
    printf "\\%03o", i == 49999 ? 58 : tag[(49998 - i) % 3 + 1]
    for (n = size[i - 1]; n >= 128; n = int(n / 128)) printf "\\%03o", n % 128 + 128
    printf "\\%03o", n
  }
}')" >"$inside/model.onnx"
refused '*deep*'
printf "$(awk 'BEGIN { for (i = 0; i < 50000; i++) printf "\\203\\001" }')" >"$inside/model.onnx"
refused '*'

# Recorded outputs, where the material lies beside the project.
models=${MICA_TEST_DATA:-/nowhere}/onnx/models
[ -d "$models" ] || exit "$failed"
run run "$models/squeezenet11_fp16/model.onnx" --check "$models/squeezenet11_fp16"
ends 0 '3 of 3 sets are right' ''
mkdir "$work/some" && ln -s "$models/mnist_pytorch_mlp" "$models/tfl_helloworld_sin" "$work/some"
run run --check "$work/some" --json
ends 0 '*' ''
holds right 2
holds all 2

exit "$failed"
