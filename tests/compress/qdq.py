"""make FOLDER: pictures of three patterns in noise, as npy. compare FOLDER: the classes that onnxruntime makes of
FOLDER/model.onnx beside those of FOLDER/answers.json; 99.5 % must be the same. arrays FOLDER: the pictures to learn
from as FOLDER/model.onnx takes them, in FOLDER/arrays."""
import json
import os
import sys

import numpy as np

SIDE = 16


def pictures(count, seed):
    random = np.random.default_rng(seed)
    labels = np.arange(count, dtype=np.int32) % 3
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    waves = np.stack([np.sin(x), np.sin(y), np.sin((x + y) / 1.5)])
    noise = random.normal(0, 0.6, (count, SIDE, SIDE))
    values = np.clip(128 + 60 * (waves[labels] + noise), 0, 255).astype(np.uint8)
    return values[:, None], labels


def make(folder):
    os.makedirs(f"{folder}/data")
    for part, count in ("train", 1200), ("test", 400):
        values, labels = pictures(count, count)
        np.save(f"{folder}/data/x_{part}.npy", values)
        np.save(f"{folder}/data/y_{part}.npy", labels)


def scaled(model, values):
    texts = {pair.key: json.loads(pair.value) for pair in model.metadata_props if pair.key in ("mean", "deviation")}
    return ((values / 255 - texts["mean"][0]) / texts["deviation"][0]).astype(np.float32)


def arrays(folder):
    import onnx

    model = onnx.load(f"{folder}/model.onnx")
    os.makedirs(f"{folder}/arrays")
    x = scaled(model, pictures(1200, 1200)[0][:512])
    np.save(f"{folder}/arrays/{model.graph.input[0].name}.npy", x)


def compare(folder):
    import onnx
    import onnxruntime

    model = onnx.load(f"{folder}/model.onnx")
    onnx.checker.check_model(model, full_check=True)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("QuantizeLinear") >= 3 and kinds.count("DequantizeLinear") >= 6, kinds
    x = scaled(model, pictures(400, 400)[0])
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    theirs = session.run(None, {session.get_inputs()[0].name: x})[0].argmax(1)
    with open(f"{folder}/answers.json", encoding="utf-8") as file:
        predictions = json.load(file)["predictions"]
    ours = np.array([int(p["classes"][0]["name"]) for p in predictions])
    same = np.mean(ours == theirs)
    print(f"{100 * same:.2f} % of {len(ours)} classes are the same")
    assert len(ours) == 400 and same >= 0.995


{"make": make, "arrays": arrays, "compare": compare}[sys.argv[1]](sys.argv[2])
