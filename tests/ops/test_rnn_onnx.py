"""Recurrent operators computed by onnxruntime, as cases for test_rnn.c: python3 test_rnn_onnx.py FILE.safetensors

Weights are written in mica/rnn.h's order of gates (i f g o, r z n; peepholes i f o), ONNX's being i o f g, z r n and
i o f. The settings of case K are the metadata "rK"."""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from safetensors.numpy import save_file

ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}  # ONNX's number of each of our gates
CASES = [  # operator, direction, T, B, I, H, given, attributes, functions (ONNX's name, ours, alpha, beta)
    ("LSTM", "forward", 4, 3, 5, 6, "b p lengths h0 c0", {}, []),
    ("LSTM", "bidirectional", 5, 3, 4, 17, "b p h0 c0", {"clip": 0.4}, []),
    ("LSTM", "forward", 3, 2, 3, 5, "b h0 c0", {"input_forget": 1}, []),
    ("LSTM", "reverse", 4, 3, 3, 5, "b lengths p", {}, [("HardSigmoid", "HARD_SIGMOID", 0.3, 0.4),
     ("Softsign", "SOFTSIGN", 0, 0), ("Tanh", "TANH", 0, 0)]),
    ("LSTM", "forward", 3, 2, 3, 5, "b", {}, [("Sigmoid", "SIGMOID", 0, 0), ("ScaledTanh", "SCALED_TANH", 0.8, 0.6),
     ("Softplus", "SOFTPLUS", 0, 0)]),
    ("GRU", "forward", 4, 3, 5, 6, "b h0", {"linear_before_reset": 0}, []),
    ("GRU", "bidirectional", 5, 4, 4, 19, "b h0 lengths", {"linear_before_reset": 0}, []),
    ("GRU", "reverse", 4, 3, 3, 5, "b", {"linear_before_reset": 0, "clip": 0.3}, []),
    ("GRU", "bidirectional", 4, 3, 3, 5, "b lengths", {"linear_before_reset": 1}, [("Sigmoid", "SIGMOID", 0, 0),
     ("Relu", "RELU", 0, 0), ("HardSigmoid", "HARD_SIGMOID", 0.2, 0.5), ("Tanh", "TANH", 0, 0)]),
    ("RNN", "forward", 4, 3, 5, 6, "b h0", {"clip": 0.5}, []),
    ("RNN", "bidirectional", 4, 3, 5, 70, "b lengths", {}, [("Affine", "AFFINE", 0.5, 0.1), ("Elu", "ELU", 0.7, 0)]),
    ("RNN", "forward", 4, 3, 5, 6, "b", {}, [("LeakyRelu", "LEAKY_RELU", 0.1, 0)]),
    ("RNN", "forward", 4, 3, 5, 6, "b", {}, [("ThresholdedRelu", "THRESHOLDED_RELU", 0.2, 0)]),
]
HAS_ALPHA = {"HardSigmoid", "ScaledTanh", "Affine", "Elu", "LeakyRelu", "ThresholdedRelu"}
HAS_BETA = {"HardSigmoid", "ScaledTanh", "Affine"}


def to_onnx(array, kind, parts):
    """Rows of our gates, in `parts` equal parts a direction, in ONNX's order."""
    order = ORDER[kind] if parts != 3 or kind != "LSTM" else [0, 1, 2]
    blocks = np.split(array, parts, axis=1)
    places = [None] * parts
    for ours, theirs in enumerate(order):
        places[theirs] = blocks[ours]
    return np.concatenate(places, axis=1)


def run(case, random):
    kind, direction, T, B, I, H, given, attributes, functions = case
    D, G = (2 if direction == "bidirectional" else 1), len(ORDER[kind])
    numbers = lambda *shape: random.uniform(-0.6, 0.6, shape).astype(np.float32)
    ours = {"x": numbers(T, B, I), "w": numbers(D, G * H, I), "r": numbers(D, G * H, H)}
    theirs = {"X": ours["x"], "W": to_onnx(ours["w"], kind, G), "R": to_onnx(ours["r"], kind, G)}
    given = given.split()
    if "b" in given:
        ours["b"] = numbers(D, 2 * G * H)
        halves = np.split(ours["b"], 2, axis=1)
        theirs["B"] = np.concatenate([to_onnx(half, kind, G) for half in halves], axis=1)
    if "lengths" in given:
        ours["lengths"] = theirs["sequence_lens"] = random.integers(1, T + 1, B).astype(np.int32)
    for name, other in (("h0", "initial_h"), ("c0", "initial_c")):
        if name in given:
            ours[name] = theirs[other] = numbers(D, B, H)
    if "p" in given:
        ours["p"] = numbers(D, 3 * H)
        i, f, o = np.split(ours["p"], 3, axis=1)
        theirs["P"] = np.concatenate([i, o, f], axis=1)
    names = ["X", "W", "R", "B", "sequence_lens", "initial_h"] + (["initial_c", "P"] if kind == "LSTM" else [])
    results = ["Y", "Y_h"] + (["Y_c"] if kind == "LSTM" else [])
    more = dict(attributes)
    if functions:
        more["activations"] = [f[0] for f in functions]
        for name, at, having in (("activation_alpha", 2, HAS_ALPHA), ("activation_beta", 3, HAS_BETA)):
            numbers_of = [float(f[at]) for f in functions if f[0] in having]
            if numbers_of:
                more[name] = numbers_of
    node = helper.make_node(kind, [n if n in theirs else "" for n in names], results, direction=direction,
                            hidden_size=H, **more)
    info = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    graph = helper.make_graph([node], "g", [info(n, a) for n, a in theirs.items()],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    got = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, theirs)
    ours["y"] = np.ascontiguousarray(got[0].transpose(0, 2, 1, 3))
    ours["h"] = got[1]
    if kind == "LSTM":
        ours["c"] = got[2]
    text = f"{kind} {direction}"
    if kind == "GRU" and not attributes.get("linear_before_reset"):
        text += " reset_before"
    if "input_forget" in attributes:
        text += " input_forget"
    if "clip" in attributes:
        text += f" clip={attributes['clip']}"
    a_direction = {"LSTM": "fgp", "GRU": "fg", "RNN": "f"}[kind]
    for at, (_, name, alpha, beta) in enumerate(functions):
        text += f" {a_direction[at % len(a_direction)]}{at // len(a_direction)}={name},{alpha},{beta}"
    return ours, text


def main():
    random, tensors, metadata = np.random.default_rng(7), {}, {}
    for number, case in enumerate(CASES):
        ours, text = run(case, random)
        tensors.update({f"r{number:03d}.{name}": value for name, value in ours.items()})
        metadata[f"r{number:03d}"] = text
    save_file(tensors, sys.argv[1], metadata)


main()
