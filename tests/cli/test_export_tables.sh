#!/bin/sh
# labels: oracle device slow
# Runs of tables as models in ONNX: numbers, classes, texts, series, pictures and recordings. onnxruntime says of the
# rows of a table what mica predict says, fed by what the ports and the metadata tell.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=exports.sh
. "$(dirname "$0")/exports.sh"

# Rows with a number that is missing at times, one with a base, classes that training lacks and an empty text.
mkdir "$work/rows"
make_tones "$work/rows" 60 1 >"$work/rows/tones.tsv"
"$python" - "$work/rows" <<'PYTHON'
import csv
import random
import struct
import sys
import zlib

COLUMNS = "height stamp age colour size note curve photo noise".split()
ANSWERS = "kind old good count half".split()


def png(path, rows):
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", data) + part(b"IEND", b""))


random.seed(1)
folder = sys.argv[1]
with open(folder + "/names") as file:
    names = [line.strip() for line in file]
with open(folder + "/train.csv", "w") as train, open(folder + "/asked.csv", "w") as asked:
    known = csv.DictWriter(train, COLUMNS + ANSWERS)
    new = csv.DictWriter(asked, COLUMNS[::-1], extrasaction="ignore")  # in another order
    known.writeheader()
    new.writeheader()
    for i in range(96):
        old, good, rises = (random.getrandbits(1) for _ in range(3))
        png(f"{folder}/{i}.png", [[random.randrange(256) for _ in range(8)] for _ in range(8)])
        curve = [random.random() + (k if rises else -k) for k in range(random.randrange(3, 9))]
        row = {
            "height": "" if i == 2 else round(random.uniform(1, 2), 3),
            "stamp": 1700000000 + random.randrange(100),
            "age": random.randrange(30, 60) if old else random.randrange(1, 30),
            "colour": random.choice(["red", "blue", "green"]),
            "size": random.choice(["small", "large, wide"]),
            "note": " ".join(random.choices("we saw the film and a plot".split(), k=3) + ["good" if good else "bad"]),
            "curve": " ".join(f"{c:.3f}" for c in curve),
            "photo": f"{i}.png",
            "noise": random.choice(names) + ".wav",
            "kind": ["none of them", "one", "two", "three"][old + good + rises],
            "old": old,
            "good": good,
            "count": round(old + good + rises + random.random(), 3),
            "half": round((old - good) / 2 + random.random(), 3),
        }
        known.writerow(row)
        if i < 4:
            row["stamp"] = "" if i == 1 else row["stamp"]
            row["colour"] = ["blue", "green", "violet", "red"][i]
            row["note"] = "" if i == 3 else row["note"]
            new.writerow(row)
PYTHON

# train TASK NAME LABEL IGNORED OPTION...: trains $work/NAME, whose model is then asked about the rows.
train() {
  task=$1 name=$2 label=$3 ignored=$4
  shift 4
  run train --data "$work/rows/train.csv" --task "$task" --label "$label" --ignore "$ignored" --batch 16 --epochs 3 \
    --quiet --out "$work/$name" "$@"
  case $err$out in *lacks*) echo "SKIP: $err" && exit 77 ;; esac
  ends 0 '*' '*'
  exports "$work/$name" "$work/rows/asked.csv"
}

# --- numbers and classes ---
train classify classes kind old,good,count,half,note,curve,photo,noise --model mlp
train classify labels old,good kind,count,half,note,curve,photo,noise --model mlp
train regress number count kind,old,good,half,note,curve,photo,noise --model mlp
train regress numbers count,half kind,old,good,note,curve,photo,noise --model mlp

# --- texts ---
others=height,stamp,age,colour,size,curve,photo,noise
text='--width 8 --length 8 --vocabulary 300'
# shellcheck disable=SC2086 # words of options
{
  train text text kind "old,good,count,half,$others" $text
  train text text_labels old,good "kind,count,half,$others" $text --model tagger
  train text_numbers text_numbers count,half "kind,old,good,$others" $text --model tcn
}

# --- several inputs ---
small="$text --seconds 0.5 --mels 16"
# shellcheck disable=SC2086 # likewise
{
  train fuse fuse kind old,good,count,half $small
  train fuse fuse_attention kind old,good,count,half $small --model cnn_gru --join attention
  train fuse fuse_labels old,good kind,count,half $small --model tagger
  train fuse fuse_numbers count,half kind,old,good $small --model tcn --join attention
}
# The length of an empty text, which is a single 0.
for name in text fuse; do
  run info "$work/$name.onnx"
  ends 0 '*how many tokens count, from the left; 1 for a text without tokens*' ''
done

exit $failed
