#!/bin/sh
# labels: oracle device slow
# Runs of pictures, recordings and running text as models in ONNX: classes, masks, boxes, embeddings, labels, numbers
# and next tokens. onnxruntime says of files what mica predict and mica generate say, fed by what the ports and the
# metadata tell.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=exports.sh
. "$(dirname "$0")/exports.sh"

# Pictures of three classes, discs with masks, tones with labels and numbers, and a text.
make_tones "$work/tones" 40 1 >"$work/tones.tsv"
make_voc "$work/voc"
"$python" - "$work" <<'PYTHON'
import os
import random
import struct
import sys
import zlib


def png(path, rows):
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", data) + part(b"IEND", b""))


random.seed(1)
work = sys.argv[1]
light = {
    "columns": lambda x, y: x // 2 % 2,
    "dark": lambda x, y: 0,
    "light": lambda x, y: 1,
    "rows": lambda x, y: y // 2 % 2,
    "squares": lambda x, y: (x // 4 + y // 4) % 2,
}
for name, at in light.items():
    for i in range(16):
        rows = [[at(x, y) * 150 + random.randrange(60) for x in range(16)] for y in range(16)]
        png(f"{work}/kinds/{name}/{i}.png", rows)
for i in range(24):
    a, b, r = random.randrange(8, 24), random.randrange(8, 24), random.randrange(4, 9)
    disc = [[(x - a) ** 2 + (y - b) ** 2 < r * r for x in range(32)] for y in range(32)]
    png(f"{work}/discs/masks/{i}.png", [[255 * d for d in row] for row in disc])
    png(f"{work}/discs/images/{i}.png", [[90 * d + random.randrange(90) for d in row] for row in disc])
with open(work + "/tones/names") as file:
    names = file.read().split()
with open(work + "/tones/labels.csv", "w") as file:
    print("file,high,low", *(f"{n}.wav,{int('a' in n)},{int('c' in n)}" for n in names), sep="\n", file=file)
with open(work + "/tones/numbers.csv", "w") as file:
    print("file,count,rest", *(f"{n}.wav,{n.count('a')},{n.count('b') / 4}" for n in names), sep="\n", file=file)
with open(work + "/text.txt", "w") as file:
    file.write("".join(random.choice(["the cat sat. ", "a dog ran far. ", "the bird sings. "]) for _ in range(600)))
PYTHON

# train TASK NAME DATA OPTION...: trains $work/NAME.
train() {
  task=$1 name=$2 data=$3
  shift 3
  run train --task "$task" --data "$work/$data" --quiet --out "$work/$name" "$@"
  case $err$out in *lacks*) echo "SKIP: $err" && exit 77 ;; esac
  ends 0 '*' '*'
}

# The help says of each kind of task what its model makes.
run export --help
for name in classify text keyword fuse segment regress depth detect diffuse forecast verify speech speak \
  language translate; do
  case $out in *"Outputs by$newline"*task:*"$newline  "*"$name"[\ ,"$newline"]*) ;; *) fault "nothing of $name" ;; esac
done

# --- pictures ---
train classify kind kinds --model cnn --width 4 --epochs 4 --batch 8
exports "$work/kind" "$work/kinds/dark/0.png" "$work/kinds/rows/1.png" "$work/kinds/squares/2.png"
train segment mask discs --width 4 --depth 2 --batch 4 --epochs 12 --lr 0.03
exports "$work/mask" "$work/discs/images/0.png" "$work/discs/images/7.png"
train verify picture kinds --unseen dark,rows --epochs 6 --batch 16 --embedding 8 --width 4
exports "$work/picture" "$work/kinds/dark/0.png" "$work/kinds/rows/1.png" "$work/kinds/rows/2.png"
train detect boxes voc --size 64 --width 8 --batch 4 --warm-up 5 --ema 0.8 --least-score 0.05 --epochs 20 \
  --validation 0 --augment none --seed 1
exports "$work/boxes" "$work/voc/JPEGImages/low0.png" "$work/voc/JPEGImages/high0.png"

# --- recordings ---
# shellcheck disable=SC2046 # names without spaces
set -- $(find "$work/tones" -name '*.wav' | sort | head -n 3)
small='--width 8 --mels 16 --seconds 0.75 --epochs 4 --batch 8'
# shellcheck disable=SC2086 # words of options
{
  train sound_labels labels tones/labels.csv --label high,low $small
  exports "$work/labels" "$@"
  train sound_numbers number tones/numbers.csv --label count --ignore rest $small
  exports "$work/number" "$@"
  train sound_numbers numbers tones/numbers.csv --label count,rest $small --model cnn_gru
  exports "$work/numbers" "$@"
  mkdir "$work/voices"
  for name in $(cat "$work/tones/names"); do
    mkdir -p "$work/voices/${name%??}"
    cp "$work/tones/$name.wav" "$work/voices/${name%??}/"
  done
  train sound_verify voice voices --unseen 2 $small --embedding 8
  exports "$work/voice" "$@"
}

# --- running text: bytes, and tokens of a tokenizer ---
small='--model gpt --width 32 --layers 1 --heads 2 --context 32 --batch 16 --epochs 12 --lr 0.01'
# shellcheck disable=SC2086 # likewise
{
  train language bytes text.txt $small
  exports "$work/bytes" 'the cat ' 'a dog' s
  train language tokens text.txt $small --tokenizer bpe --vocabulary 280
  exports "$work/tokens" 'the cat ' 'a dog' s
}

exit $failed
