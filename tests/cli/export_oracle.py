"""export_oracle.py MICA RUN MODEL [OPERAND...]: MODEL, which mica export wrote of RUN, passes onnx's checker and
answers in onnxruntime what mica answers of the operands: recordings of keyword and speech, texts of translate, users of
recommend, tables of forecast."""

import json
import subprocess
import sys
import wave
from typing import Any

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-4
TAIL = 0.4  # seconds of silence that a recording ends in, as src/task/input/strings_network.c adds them


class Exported:
    """A run and its model."""

    def __init__(self, mica: str, run: str, model: str) -> None:
        onnx.checker.check_model(model, full_check=True)
        self.mica, self.run = mica, run
        self.session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.facts = self.session.get_modelmeta().custom_metadata_map
        self.described(onnx.load(model).graph)

    def described(self, graph: onnx.GraphProto) -> None:
        """Each port says what it is, and what runtimes show of the graph says it too."""
        lines = [f"{port.name}: {port.doc_string}" for port in [*graph.input, *graph.output]]
        if not all(port.doc_string for port in [*graph.input, *graph.output]):
            raise SystemExit(f"a port without a word: {lines}")
        if self.session.get_modelmeta().graph_description != "\n".join(lines):
            raise SystemExit(f"{self.session.get_modelmeta().graph_description}, not {lines}")

    def fact(self, name: str) -> Any:
        return json.loads(self.facts[name])

    def ask(self, *arguments: str) -> str:
        return subprocess.run([self.mica, *arguments], check=True, capture_output=True, text=True).stdout

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


def keyword(x: Exported, path: str) -> None:
    told = json.loads(x.ask("predict", "--model", x.run, "--top", "99", "--json", path))["predictions"][0]["classes"]
    shares = dict(zip(x.fact("classes"), x.compute({"sound": recording(path)})[0]))
    if len(told) != len(shares):
        raise SystemExit(f"{path}: {len(shares)} classes, not {len(told)}")
    for row in told:
        near(f"{path}: {row['name']}", float(shares[row["name"]]), row["probability"])


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


TASKS = {
    "keyword": keyword,
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
