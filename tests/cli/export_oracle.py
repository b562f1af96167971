"""export_oracle.py MICA RUN MODEL [OPERAND...]: MODEL, which mica export wrote of RUN, passes onnx's checker and
answers in onnxruntime what mica answers of the operands: recordings, pictures, texts of translate and language, users
of recommend, series of forecast, and tables of the other tasks."""

import csv
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import wave
import zlib
from typing import Any

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-4
OVERLAP = 0.6  # of two boxes of a class, above which the better one is kept
TAIL = 0.4  # seconds of silence that a recording ends in, as src/task/input/strings_network.c adds them


class Exported:
    """A run and its model."""

    def __init__(self, mica: str, run: str, model: str) -> None:
        onnx.checker.check_model(model, full_check=True)
        self.mica, self.run = mica, run
        self.session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.facts = self.session.get_modelmeta().custom_metadata_map
        graph = onnx.load(model).graph
        self.described = {port.name: port.doc_string for port in graph.input}
        self.check_description(graph)

    def check_description(self, graph: onnx.GraphProto) -> None:
        """Each port says what it is, and what runtimes show of the graph says it too."""
        lines = [f"{port.name}: {port.doc_string}" for port in [*graph.input, *graph.output]]
        if not all(port.doc_string for port in [*graph.input, *graph.output]):
            raise SystemExit(f"a port without a word: {lines}")
        if self.session.get_modelmeta().graph_description != "\n".join(lines):
            raise SystemExit(f"{self.session.get_modelmeta().graph_description}, not {lines}")

    def setting(self, name: str) -> int:
        return int(json.loads(self.facts["mica.config"])["settings"][name])

    def filled(self) -> list[float]:
        return self.fact("fills") if "fills" in self.facts else [0.0] * len(self.fact("columns"))

    def tokens(self, text: str) -> list[int]:
        """The first tokens of a text."""
        told = self.ask("tokenizer", "encode", self.run + "/tokenizer.json", text)
        return [int(i) for i in told.split()][: self.setting("length")] or [0]

    def fact(self, name: str) -> Any:
        return json.loads(self.facts[name])

    def ask(self, *arguments: str) -> str:
        return subprocess.run([self.mica, *arguments], check=True, capture_output=True, text=True).stdout

    def predict(self, path: str) -> list[dict[str, Any]]:
        """The predictions, which for classes are those of all of them."""
        every = ("--top", "99") if self.session.get_outputs()[0].name == "shares" else ()
        return json.loads(self.ask("predict", "--model", self.run, *every, "--json", path))["predictions"]

    def compute(self, feeds: dict[str, np.ndarray]) -> np.ndarray:
        return self.session.run(None, feeds)[0]


def recording(path: str) -> np.ndarray:
    """Samples of 8 or 16 bits as (1, T)."""
    with wave.open(path) as file:
        data = file.readframes(file.getnframes())
        if file.getsampwidth() == 1:
            return (np.frombuffer(data, "u1").astype(np.float32)[None] - 128) / 128
        return np.frombuffer(data, "<i2").astype(np.float32)[None] / 32768


def near(what: str, got: float, want: float) -> None:
    if not abs(got - want) <= TOLERANCE * max(1.0, abs(want)):
        raise SystemExit(f"{what}: {got}, not {want}")


def speech(x: Exported, path: str) -> None:
    told = json.loads(x.ask("predict", "--model", x.run, "--json", path))["predictions"][0]["text"]
    tail = np.zeros((1, int(x.fact("rate")[0] * TAIL)), np.float32)
    best = x.compute({"sound": np.concatenate([recording(path), tail], 1)})[0].argmax(1)
    heard = [c for i, c in enumerate(best) if c and (i == 0 or best[i - 1] != c)]
    text = "".join(x.fact("alphabet")[c - 1] for c in heard)
    if text != told or not told:
        raise SystemExit(f"{path}: '{text}', not '{told}'")


def translate(x: Exported, text: str) -> None:
    told = json.loads(x.ask("predict", "--model", x.run, "--beam", "1", "--text", text, "--json"))
    tokens = x.run + "/tokenizer.json"
    with open(tokens, encoding="utf-8") as file:
        ids = {token["content"]: token["id"] for token in json.load(file)["added_tokens"]}
    source = [int(i) for i in x.ask("tokenizer", "encode", tokens, text).split()] + [ids["</s>"]]
    target = [ids["<s>"]]
    while len(target) < 24 and target[-1] != ids["</s>"]:
        logits = x.compute(
            {
                "source": np.array([source], np.int32),
                "source.length": np.array([len(source)], np.int32),
                "read": np.array([target], np.int32),
            }
        )
        target.append(int(logits[0, -1].argmax()))
    said = x.ask("tokenizer", "decode", "--skip-special", tokens, *map(str, target)).strip()
    if said != told["predictions"][0]["translation"].strip() or not said:
        raise SystemExit(f"{text}: '{said}', not '{told}'")


def differ(what: str, a: np.ndarray, b: np.ndarray) -> None:
    """A sentence that may be passed over says nothing."""
    if np.allclose(a, b, atol=TOLERANCE):
        raise SystemExit(f"{what}: nothing else comes of it")


def pairs(x: Exported, user: str, told: list[dict[str, Any]]) -> None:
    """Ratings and clicks: users and items are counted from 1."""
    items = np.array([x.fact("items").index(row["item"]) for row in told], np.int32)
    users = np.full_like(items, x.fact("users").index(user))
    values = x.compute({"user": users + 1, "item": items + 1})
    for row, value in zip(told, values):
        near(f"{user}: {row['item']}", float(value), float(np.clip(row["score"], *x.fact("rating_range"))))
    differ("users from 0", values, x.compute({"user": users, "item": items + 1}))
    differ("items from 0", values, x.compute({"user": users + 1, "item": items}))


def histories(x: Exported, feeds: dict[str, np.ndarray], scores: np.ndarray) -> None:
    """The oldest item comes first, from the left on; what lies behind history_length counts for nothing."""
    history, last = feeds["history"][0], int(feeds["history_length"][0])
    if not 1 < last < len(history):
        raise SystemExit(f"a history of {last} fits {len(history)}: nothing is shown")
    ids = history[:last]
    for what, row in (
        ("from the right", np.concatenate([np.zeros(len(history) - last), ids])),
        ("the newest first", np.concatenate([ids[::-1], history[last:]])),
    ):
        differ(what, scores, x.compute({**feeds, "history": row[None].astype(np.int32)})[0])
    differ("a longer one", scores, x.compute({**feeds, "history_length": np.array([len(history)], np.int32)})[0])


def recommend(x: Exported, user: str) -> None:
    told = json.loads(x.ask("recommend", "--model", x.run, "--user", user, "--top", "5", "--json"))
    number = x.fact("users").index(user)
    if x.session.get_outputs()[0].name == "value":
        pairs(x, user, told["recommendations"][0]["items"])
        return
    history = [int(i) for i in json.loads(x.facts["mica.config"])["facts"]["histories"][number].split()]
    feeds = {"user": np.array([number + 1], np.int32)}
    for port in x.session.get_inputs():
        if port.name == "history":
            last = history[-port.shape[1] :]
            feeds["history"] = np.array([last + [0] * (port.shape[1] - len(last))], np.int32)
            feeds["history_length"] = np.array([len(last)], np.int32)
    feeds = {port.name: feeds[port.name] for port in x.session.get_inputs()}
    scores = x.compute(feeds)[0]
    if "history" in feeds and "user" not in feeds:
        histories(x, feeds, scores)
    rows = told["recommendations"][0]["items"]
    if len(rows) != 5:
        raise SystemExit(f"{user}: {len(rows)} items, not 5")
    for row in rows:
        near(f"{user}: {row['item']}", float(scores[x.fact("items").index(row["item"]) + 1]), row["score"])


def forecast(x: Exported, path: str) -> None:
    """What follows the last row of a table that has the series alone, in their order."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    scale, mean, deviation = (np.array(x.fact(f)) for f in ("scale", "level_mean", "level_deviation"))
    last, targets = rows[-1], int(x.fact("targets")[0])
    feeds = {
        "window": ((rows[-int(x.fact("window")[0]) :] - last) / scale)[None].astype(np.float32),
        "level": ((last - mean) / deviation)[None, None].astype(np.float32),
    }
    made = x.compute(feeds)[0] * scale[:targets] + last[:targets]
    told = json.loads(x.ask("predict", "--model", x.run, "--json", path))["predictions"][0]["forecast"]
    if made.shape != (len(told), targets):
        raise SystemExit(f"{path}: {made.shape}, not {len(told)} rows of {targets}")
    for row, want in zip(made, told):
        for name, value in zip(x.fact("series"), row):
            near(f"{path}: {want['name']} of {name}", float(value), want[name])


def picture(path: str) -> np.ndarray:
    """(height, width) of a grey PNG of 8 bits in one chunk."""
    with open(path, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    at = data.index(b"IDAT")
    (size,) = struct.unpack(">I", data[at - 4 : at])
    rows = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), "u1").reshape(height, width + 1).astype(int)
    out = np.zeros((height + 1, width + 1), np.int64)  # with what filters see above and to the left
    for y in range(height):
        for x in range(width):
            left, up, corner = out[y + 1, x], out[y, x + 1], out[y, x]
            paeth = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            guess = (0, left, up, (left + up) // 2, paeth)[rows[y, 0]]
            out[y + 1, x + 1] = (rows[y, x + 1] + guess) % 256
    return out[1:, 1:].astype(np.uint8)


def image(x: Exported, path: str) -> dict[str, np.ndarray]:
    """The port image: of a picture of the size that the network reads."""
    channels = [(picture(path) / 255 - m) / d for m, d in zip(x.fact("mean"), x.fact("deviation"))]
    return {"image": np.stack(channels)[None].astype(np.float32)}


def numbers_of(x: Exported, row: dict[str, str], mean: str, deviation: str) -> np.ndarray:
    """The port x: as its description says."""
    bases = x.fact("bases") if "bases" in x.facts else {}
    cells = [(row[name], bases.get(name, 0), fill) for name, fill in zip(x.fact("columns"), x.filled())]
    numbers = np.array([float(cell or fill) - base for cell, base, fill in cells])
    return ((numbers - x.fact(mean)) / x.fact(deviation))[None].astype(np.float32)


def category(x: Exported, name: str, cell: str) -> np.ndarray:
    """A port of a column of classes: as its description says."""
    entries = re.search(r"entries (\d+) to (\d+) of", x.described[name])
    if not entries:
        raise SystemExit(f"{name}: {x.described[name]}")
    known = x.fact("category_names")[int(entries[1]) : int(entries[2]) + 1]
    return np.array([known.index(cell) if cell in known else -1], np.int32)


def row_feeds(x: Exported, folder: str, row: dict[str, str]) -> dict[str, np.ndarray]:
    """What the ports want of a row of a table, whose files lie in the folder."""
    feeds = {name: category(x, name, row[name]) for name in x.fact("categories")} if "categories" in x.facts else {}
    cells = {}
    for part in ("picture", "sound", "series", "text"):
        if f"{part}_column" in x.facts:
            cells[part] = row[x.fact(f"{part}_column")[0]]
    if "x" in x.described:
        mean, deviation = ("row_mean", "row_deviation") if "row_mean" in x.facts else ("mean", "deviation")
        feeds["x"] = numbers_of(x, row, mean, deviation)
    if "picture" in cells:
        grey = picture(os.path.join(folder, cells["picture"])) / 255
        colours = zip(x.fact("picture_mean"), x.fact("picture_deviation"))
        feeds["image"] = np.stack([(grey - m) / d for m, d in colours])[None].astype(np.float32)
    if "sound" in cells:
        feeds["sound"] = recording(os.path.join(folder, cells["sound"]))
        near("rate", x.fact("rate")[0], 8000)
    # Whatever stands behind the lengths does not count.
    if "series" in cells:
        series = [float(n) for n in cells["series"].split()]
        feeds["series"] = np.array([[*series, 7, 8][: int(x.fact("series_length")[0])]], np.float32)
        feeds["series.length"] = np.array([len(series)], np.int32)
    if "text" in cells:
        tokens = x.tokens(cells["text"])
        feeds["tokens"] = np.array([[*tokens, 5][: x.setting("length")]], np.int32)
        feeds["tokens.length"] = np.array([len(tokens)], np.int32)
    return feeds


def answer(x: Exported, what: str, values: np.ndarray, told: dict[str, Any]) -> None:
    """The values of the model for one sample are those that the command told."""
    if x.session.get_outputs()[0].name == "value":
        want = [told["value"]] if "value" in told else [told["values"][0][name] for name in x.fact("answers")]
        if len(want) != len(values):
            raise SystemExit(f"{what}: {len(values)} numbers, not {len(want)}")
        for got, number in zip(values, want):
            near(what, float(got), number)
        return
    shares = dict(zip(x.fact("classes"), values))
    rows = told["classes"] if "classes" in told else told["labels"]
    if len(rows) != len(shares):
        raise SystemExit(f"{what}: {len(shares)} classes, not {len(rows)}")
    for row in rows:
        near(f"{what}: {row['name']}", float(shares[row["name"]]), row["probability"])


def keyword(x: Exported, path: str) -> None:
    told = x.predict(path)[0]
    answer(x, path, x.compute({"sound": recording(path)})[0], told)


def classify(x: Exported, path: str) -> None:
    if path.endswith(".csv"):
        table(x, path)
    else:
        answer(x, path, x.compute(image(x, path))[0], x.predict(path)[0])


def segment(x: Exported, path: str) -> None:
    """The likeliest class of each pixel, as the value that it has in masks."""
    with tempfile.TemporaryDirectory() as folder:
        x.ask("predict", "--model", x.run, "--out", folder, path)
        told = picture(os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + "-mask.png"))
    shares = x.compute(image(x, path))[0]
    values = [int(value.split("=")[0]) for value in x.fact("mask_values")[0].split(",")]
    best = np.array(values)[shares.argmax(0)]
    unsure = np.ptp(np.sort(shares, 0)[-2:], 0) < TOLERANCE
    if best.shape != told.shape or len(np.unique(told)) < 2 or np.any((best != told) & ~unsure):
        raise SystemExit(f"{path}: {np.sum(best != told)} of {told.size} pixels are of another class")


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = np.prod(np.maximum(sides, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def detect(x: Exported, path: str) -> None:
    """Of boxes of a class that overlap the best is meant. The picture has the size that the network reads."""
    least = 0.1
    told = json.loads(x.ask("predict", "--model", x.run, "--threshold", str(least), "--json", path))
    told = told["predictions"][0]["boxes"]
    boxes, scores = (values[0] for values in x.session.run(None, image(x, path)))
    height, width = picture(path).shape
    boxes = np.clip(boxes, 0, [width, height, width, height])
    kept: list[tuple[str, np.ndarray, float]] = []
    for at in np.argsort(-scores, axis=None):
        box, name, score = boxes[at // scores.shape[1]], x.fact("classes")[at % scores.shape[1]], scores.flat[at]
        if score >= least and not any(name == k[0] and overlap(box, k[1]) > OVERLAP for k in kept):
            kept.append((name, box, float(score)))
    if len(told) != len(kept) or not told:
        raise SystemExit(f"{path}: {len(kept)} boxes, not {len(told)}")
    for row, (name, box, score) in zip(told, kept):
        near(f"{path}: {name}", score, row["score"])
        if name != row["name"] or not np.allclose(box, row["box"], atol=0.02):
            raise SystemExit(f"{path}: {name} {box}, not {row}")


def verify(x: Exported, path: str) -> None:
    """Embeddings of a file and of the first one compare by their cosine."""
    x.seen = getattr(x, "seen", []) + [path]
    pair = [x.compute({"sound": recording(p)} if p.endswith(".wav") else image(x, p))[0] for p in (path, x.seen[0])]
    for embedding in pair:
        near(f"{path}: length", float(np.linalg.norm(embedding)), 1)
    told = json.loads(x.ask("predict", "--model", x.run, "--json", path, x.seen[0]))["predictions"][0]["similarity"]
    near(f"{path}: similarity", float(pair[0] @ pair[1]), told)
    if path != x.seen[0] and told > 1 - TOLERANCE:
        raise SystemExit(f"{path} and {x.seen[0]} are alike: nothing is shown")


def language(x: Exported, text: str) -> None:
    """Always the likeliest next token."""
    how = ["--temperature", "0", "--length", "12", "--json"]
    told = json.loads(x.ask("generate", "--model", x.run, "--prompt", text, *how))["texts"][0]["text"]
    file = x.run + "/tokenizer.json"
    by_tokens = os.path.exists(file)
    ids = [int(i) for i in x.ask("tokenizer", "encode", file, text).split()] if by_tokens else [*text.encode()]
    first = len(ids)
    while len(ids) < first + 12:
        ids.append(int(x.compute({"tokens": np.array([ids], np.int32)})[0, -1].argmax()))
    new = [*map(str, ids[first:])]
    said = x.ask("tokenizer", "decode", file, *new).rstrip("\n") if by_tokens else bytes(ids[first:]).decode()
    if said != told or len(set(new)) < 3:
        raise SystemExit(f"{text}: '{said}', not '{told}'")


def table(x: Exported, path: str) -> None:
    """Each row of a table."""
    told = x.predict(path)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != len(told) or not rows:
        raise SystemExit(f"{path}: {len(told)} answers for {len(rows)} rows")
    for row, want in zip(rows, told):
        answer(x, path, x.compute(row_feeds(x, os.path.dirname(path), row))[0], want)


TASKS = {
    "classify": classify,
    "segment": segment,
    "detect": detect,
    "verify": verify,
    "sound_verify": verify,
    "language": language,
    "regress": table,
    "text": table,
    "text_labels": table,
    "text_numbers": table,
    "fuse": table,
    "fuse_labels": table,
    "fuse_numbers": table,
    "keyword": keyword,
    "sound_labels": keyword,
    "sound_numbers": keyword,
    "speech": speech,
    "translate": translate,
    "recommend": recommend,
    "forecast": forecast,
}


def main() -> None:
    exported = Exported(*sys.argv[1:4])
    task = exported.facts["task"]
    for operand in sys.argv[4:]:
        TASKS[task](exported, operand)
    print(f"{task}: {len(sys.argv) - 4} as mica answers")


if __name__ == "__main__":
    main()
