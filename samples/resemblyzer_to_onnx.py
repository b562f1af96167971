"""resemblyzer_to_onnx.py PRETRAINED.pt VOICE.onnx: writes the speaker encoder of the package Resemblyzer (three LSTM
layers of 256 and a dense layer, trained with GE2E by Wan et al. 2018) as a model in ONNX, which `mica run` computes.

    pip install resemblyzer torch onnx
    python samples/resemblyzer_to_onnx.py .../site-packages/resemblyzer/pretrained.pt voice.onnx
    mica run voice.onnx --input sound=ann.npy --out results

Input sound (N, T): recordings of 16,000 samples per second from -1 to 1, about 1.6 seconds long. Output embedding
(N, 256), of length 1: the sum of the products of two embeddings is the similarity of the voices. Output mels
(N, 1 + T / 160, 40): what the encoder hears, as librosa's melspectrogram with 400 points every 160 samples.

The package makes recordings louder to -30 dBFS, cuts silence out, and takes the mean of the embeddings of several
pieces of a long recording; this script leaves that to the caller.
"""
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

RATE, POINTS, HOP, MELS, UNITS, LAYERS = 16000, 400, 160, 40, 256, 3


def mel_of(hertz):
    """Slaney's scale: linear below 1,000 Hz, logarithmic above."""
    hertz = np.asarray(hertz, np.float64)
    return np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1) / 1000) * 27 / np.log(6.4))


def hertz_of(mel):
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def filters():
    """Triangles of area 1: (40, 201)."""
    bins = np.arange(POINTS // 2 + 1) * RATE / POINTS
    edges = hertz_of(np.linspace(mel_of(0), mel_of(RATE / 2), MELS + 2))
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def waves():
    """Hann windows of cosines, then of sines: (402, 1, 400)."""
    n = np.arange(POINTS)
    angle = 2 * np.pi * np.outer(np.arange(POINTS // 2 + 1), n) / POINTS
    return ((0.5 - 0.5 * np.cos(2 * np.pi * n / POINTS)) * np.concatenate([np.cos(angle), np.sin(angle)]))[:, None]


def gates(rows):
    """From PyTorch's order of gates, i f g o, to that of ONNX, i o f g."""
    i, f, g, o = np.split(rows, 4)
    return np.concatenate([i, o, f, g])


def convert(state):
    weights, nodes = [], []

    def constant(name, value):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(kind, inputs, outputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    half = POINTS // 2 + 1
    node("Pad", ["sound", constant("pads", np.array([0, POINTS // 2, 0, POINTS // 2], np.int64))], ["padded"])
    node("Unsqueeze", ["padded", constant("one", np.array([1], np.int64))], ["line"])
    node("Conv", ["line", constant("waves", waves().astype(np.float32))], ["parts"], strides=[HOP])
    node("Mul", ["parts", "parts"], ["squares"])
    node("Split", ["squares", constant("halves", np.array([half, half], np.int64))], ["real", "imaginary"], axis=1)
    node("Add", ["real", "imaginary"], ["power"])
    node("MatMul", [constant("filters", filters().astype(np.float32)), "power"], ["mel_rows"])
    node("Transpose", ["mel_rows"], ["mels"], perm=[0, 2, 1])
    node("Transpose", ["mels"], ["x0"], perm=[1, 0, 2])
    for k in range(LAYERS):
        w, r = (gates(state[f"lstm.weight_{part}_l{k}"])[None] for part in ("ih", "hh"))
        b = np.concatenate([gates(state[f"lstm.bias_{part}_l{k}"]) for part in ("ih", "hh")])[None]
        names = [constant(f"{name}{k}", value) for name, value in (("W", w), ("R", r), ("B", b))]
        node("LSTM", [f"x{k}", *names], [f"y{k}", f"last{k}"], hidden_size=UNITS)
        node("Squeeze", [f"y{k}", "one"], [f"x{k + 1}"])
    node("Squeeze", [f"last{LAYERS - 1}", constant("zero", np.array([0], np.int64))], ["last"])
    node("Gemm", ["last", constant("linear.weight", state["linear.weight"]),
                  constant("linear.bias", state["linear.bias"])], ["dense"], transB=1)
    node("Relu", ["dense"], ["positive"])
    node("ReduceL2", ["positive", "one"], ["length"], keepdims=1)
    node("Div", ["positive", "length"], ["embedding"])
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "voice", [value("sound", ["N", "T"])],
                              [value("embedding", ["N", UNITS]), value("mels", ["N", "frames", MELS])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stored = torch.load(sys.argv[1], map_location="cpu", weights_only=True)["model_state"]
    onnx.save(convert({name: value.numpy() for name, value in stored.items()}), sys.argv[2])
    print("written  ", sys.argv[2])
