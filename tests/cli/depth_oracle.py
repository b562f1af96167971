"""depth_oracle.py DATA EVAL PREDICTIONS MAPS MODEL: numpy's errors of predicted depth maps are those of mica eval and
mica predict, and onnxruntime's depths of the exported model are those that mica predicts. DATA has depth/N.npy and MAPS
K-depth.npy of the K-th picture. EVAL and PREDICTIONS are the commands' JSON. Pictures have the sides of a tile. Exit
status 77: numpy's errors are right, and there is no onnx or onnxruntime."""
import json
import os
import sys

import numpy as np

data, evaluation, predictions, maps, model = sys.argv[1:]
told = json.load(open(evaluation))["metrics"]
sections = json.load(open(predictions))["predictions"]


def errors(depth, truth):
    known = np.isfinite(truth) & (truth > 0)
    d, t = depth[known].astype(np.float64), truth[known].astype(np.float64)
    return np.array([np.sum(np.abs(d - t) / t), np.sum((d - t) ** 2), np.sum(np.maximum(d / t, t / d) < 1.25), d.size])


def scores(sums):
    return {"absrel": sums[0] / sums[3], "rmse": np.sqrt(sums[1] / sums[3]), "delta1": sums[2] / sums[3]}


def equal(name, is_, wanted):
    assert abs(is_ - wanted) <= 2e-5 * abs(wanted) + 1e-7, f"{name} is {is_}, numpy has {wanted}"


total, losses = np.zeros(4), []
for k, section in enumerate(sections):
    stem = os.path.splitext(os.path.basename(section["name"]))[0]
    depth, truth = np.load(f"{maps}/{k}-depth.npy"), np.load(f"{data}/depth/{stem}.npy")
    one = errors(depth, truth)
    total += one
    for name, wanted in scores(one).items():
        equal(f"{stem}: {name}", section[name], wanted)
    known = np.isfinite(truth) & (truth > 0)
    g = np.log(depth[known].astype(np.float64) / truth[known])
    losses.append(np.mean(g**2) - 0.5 * np.mean(g) ** 2)
for name, wanted in scores(total).items():
    equal(name, told[name], wanted)
equal("loss", told["loss"], np.mean(losses))

try:
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIP: the exported model, {sys.executable} has no {error.name}")
    sys.exit(77)
from PIL import Image

meta = {p.key: p.value for p in onnx.load(model).metadata_props}
mean, deviation = (np.array(json.loads(meta[key]), np.float32)[:, None, None] for key in ("mean", "deviation"))
session = onnxruntime.InferenceSession(model)
for k, section in enumerate(sections):
    stem = os.path.splitext(os.path.basename(section["name"]))[0]
    pixels = np.asarray(Image.open(section["name"]), np.float32)[None] / 255
    (depth,) = session.run(None, {session.get_inputs()[0].name: ((pixels - mean) / deviation)[None]})
    wanted = np.load(f"{maps}/{k}-depth.npy")
    apart = np.max(np.abs(depth[0, 0] / wanted - 1))
    assert apart < 1e-3, f"{stem}: onnxruntime's depths are {apart} apart"
