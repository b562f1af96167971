"""Operators of com.microsoft for decoders with random settings, beside onnxruntime.

write FOLDER: FOLDER/<case>/model.onnx, its inputs in_<name>.npy, and what onnxruntime answers: want_<k>.npy, with NaN
where the operator leaves a result open.
judge FOLDER: compares these with FOLDER/<case>/out, which `mica run --out` wrote.
golden FOLDER: FOLDER/<case>/model.onnx and test_data_set_0 of some cases, for test_decoder.c.
steps MODEL FOLDER: test_data_set_<n> of a prompt and four steps of a decoder, which gets its caches back, likewise."""

import os
import pathlib
import sys

os.environ["ORT_QMOE_CPU_QNBIT_GEMM"] = "fp32"  # no integers in place of activations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F = np.float32
SEEDS = 14  # settings per operator
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int32": TensorProto.INT32,
         "int64": TensorProto.INT64, "uint8": TensorProto.UINT8}


class Case:
    """A node: its operands in order, inputs or initial values; None for an absent one."""

    def __init__(self, name, domain, seed):
        self.name, self.domain, self.seed = name, domain, seed
        self.draw = np.random.default_rng([seed, sum(map(ord, name))])
        self.operands, self.inputs, self.initial, self.attributes = [], {}, [], {}
        self.outputs, self.open, self.exact = 1, None, False

    def floats(self, *shape, scale=1.0):
        return (self.draw.normal(size=shape) * scale).astype(F)

    def one_of(self, *values):
        return values[self.draw.integers(len(values))]

    def feed(self, name, value):
        self.operands.append("" if value is None else name)
        if value is not None:
            self.inputs[name] = value

    def constant(self, name, value):
        self.operands.append("" if value is None else name)
        if value is not None:
            self.initial.append(value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name))

    def model(self):
        while self.operands and not self.operands[-1]:
            self.operands.pop()
        outputs = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.name, self.operands, outputs, domain=self.domain, **self.attributes)
        ports = [helper.make_tensor_value_info(n, TYPES[str(v.dtype)], v.shape) for n, v in self.inputs.items()]
        kind = next((TYPES[str(v.dtype)] for v in self.inputs.values() if v.dtype.kind == "f"), TensorProto.FLOAT)
        results = [helper.make_tensor_value_info(o, kind, None) for o in outputs]
        graph = helper.make_graph([node], "g", ports, results, self.initial)
        sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=10)


def angles(case, rows, width):
    at = np.outer(np.arange(rows), 10000.0 ** (-np.arange(width // 2) / (width / 2)))
    return np.cos(at).astype(F), np.sin(at).astype(F)


# --- attention ---


def lengths_of(case, c):
    """rows, past, lengths after the call, total, query_seqlens."""
    form = c.seed % 7
    if form == 0:  # a prompt
        rows = int(c.draw.integers(1, 9))
        return rows, 0, np.full(case["batch"], rows), rows, None
    if form == 1:  # a prompt padded on the right, and a buffer for more
        rows = int(c.draw.integers(4, 9))
        return rows, 16, c.draw.integers(1, rows + 1, case["batch"]), rows, None
    if form == 2:  # one row after the past
        past = int(c.draw.integers(1, 12))
        return 1, past, np.full(case["batch"], past + 1), past + 1, None
    if form == 3:  # one row, unequal lengths, the cache as large as the buffer
        lengths = c.draw.integers(2, 12, case["batch"])
        return 1, 13, lengths, int(lengths.max()), None
    if form == 4:  # several rows after the past
        case["batch"] = 1
        past, rows = int(c.draw.integers(1, 9)), int(c.draw.integers(2, 5))
        return rows, past, np.array([past + rows]), past + rows, None
    if form == 6:  # a cache of the last positions
        rows, case["window"] = c.one_of(1, 3, 9), int(c.draw.integers(1, 6))
        case["batch"] = 1 if rows > 1 else case["batch"]
        capacity, lengths = case["window"] + int(c.draw.integers(0, 4)), rows + c.draw.integers(0, 20, case["batch"])
        return rows, capacity, lengths, int(lengths.max()), None
    rows, past = 4, 9  # chunks with padding
    new = c.draw.integers(0, rows + 1, case["batch"])
    lengths = np.maximum(c.draw.integers(0, 6, case["batch"]), 1) + new
    return rows, past + rows, lengths, past + rows, new


def group_query_attention(c):
    case = {"batch": int(c.draw.integers(1, 4))}
    rows, past, lengths, total, new = lengths_of(case, c)
    batch, groups, share, width = case["batch"], int(c.draw.integers(1, 4)), c.one_of(1, 2, 3), c.one_of(8, 16, 32)
    heads, packed, rotary = groups * share, bool(c.draw.integers(2)), bool(c.draw.integers(3))
    c.attributes = {"num_heads": heads, "kv_num_heads": groups, "do_rotary": int(rotary)}
    if c.draw.integers(2):
        c.attributes["scale"] = float(c.draw.uniform(0.1, 0.6))
    if c.draw.integers(3) == 0:
        c.attributes["local_window_size"] = int(c.draw.integers(1, 7))
    if c.draw.integers(3) == 0:
        c.attributes["softcap"] = float(c.draw.uniform(1, 3))
    if "window" in case:
        c.attributes.update(local_window_size=case["window"], sliding_window_cache=1)
    sinks = c.draw.integers(3)
    if sinks == 1:
        c.attributes["smooth_softmax"] = 1
    c.feed("q", c.floats(batch, rows, (heads + 2 * groups if packed else heads) * width))
    c.feed("k", None if packed else c.floats(batch, rows, groups * width))
    c.feed("v", None if packed else c.floats(batch, rows, groups * width))
    c.feed("past_k", c.floats(batch, groups, past, width) if past or c.draw.integers(2) else None)
    c.feed("past_v", c.floats(batch, groups, past, width) if "past_k" in c.inputs else None)
    c.feed("lengths", (lengths - 1).astype(np.int32))
    c.constant("total", np.array(total, np.int32))
    part = c.one_of(width, width, width // 2)
    cosine, sine = angles(c, 32, part if part % 16 == 0 or part == width else width)
    c.constant("cosine", cosine if rotary else None)
    c.constant("sine", sine if rotary else None)
    if rotary:
        c.attributes["rotary_interleaved"] = int(c.draw.integers(2))
    c.feed("positions", c.draw.integers(0, 20, (batch, rows)).astype(np.int64) if rotary and c.seed % 5 == 2 else None)
    bias = c.draw.integers(3) == 0 and new is None and "window" not in case
    c.feed("bias", c.floats(c.one_of(1, batch), c.one_of(1, heads), rows, total) if bias else None)
    c.constant("sinks", c.floats(heads) if sinks == 2 else None)
    for _ in range(4):
        c.operands.append("")
    c.feed("new", None if new is None else new.astype(np.int32))
    c.outputs = 3
    def kept(length):
        gap = past - case.get("window", 0) + 1
        return length if length <= past or "window" not in case else length + (past - length) // gap * gap

    def leave_open(results):
        for b in range(batch):
            count = min(rows, lengths[b]) if new is None else new[b]
            results[0][b, count:] = np.nan
            for cache in results[1:]:
                cache[b, :, kept(lengths[b]):] = np.nan

    c.open = leave_open


def rotary_embedding(c):
    batch, rows, heads, width = int(c.draw.integers(1, 4)), int(c.draw.integers(1, 7)), c.one_of(1, 3), c.one_of(8, 16)
    part = c.one_of(0, 0, width // 2)
    c.feed("x", c.floats(batch, heads, rows, width) if c.draw.integers(2) else c.floats(batch, rows, heads * width))
    c.feed("positions", c.draw.integers(0, 16, (batch, rows) if c.draw.integers(2) else (1,)).astype(np.int64))
    for name, table in zip(("cosine", "sine"), angles(c, 32, part or width)):
        c.constant(name, table)
    c.attributes = {"interleaved": int(c.draw.integers(2))}
    if part:
        c.attributes.update(rotary_embedding_dim=part, num_heads=heads)


def multi_head_attention(c):
    batch, rows = int(c.draw.integers(1, 4)), int(c.draw.integers(1, 6))
    heads, width = c.one_of(1, 2, 4), c.one_of(8, 16)
    past, biased = int(c.draw.integers(0, 2)) * 5, bool(c.draw.integers(2))
    keys = rows if past or c.draw.integers(2) else rows + 3
    c.attributes = {"num_heads": heads}
    if keys == rows and c.draw.integers(2):
        c.attributes["unidirectional"] = 1
    c.feed("q", c.floats(batch, rows, heads * width))
    c.feed("k", c.floats(batch, keys, heads * width))
    c.feed("v", c.floats(batch, keys, heads * width))
    c.constant("bias", c.floats(3 * heads * width) if biased else None)
    c.operands.append("")
    c.feed("added", c.floats(1, heads, rows, keys + past) if c.draw.integers(2) else None)
    if past:
        c.feed("past_k", c.floats(batch, heads, past, width))
        c.feed("past_v", c.floats(batch, heads, past, width))
        c.outputs = 3


# --- weights of few bits ---


def packed(elements, bits):
    """Elements of the last axis in bytes, low bits first."""
    per = 8 // bits
    padded = np.pad(elements, [(0, 0)] * (elements.ndim - 1) + [(0, -elements.shape[-1] % per)])
    parts = padded.reshape(*padded.shape[:-1], -1, per).astype(np.uint16) << (bits * np.arange(per, dtype=np.uint16))
    return parts.sum(-1).astype(np.uint8)


def matmul_n_bits(c):
    bits, block = c.one_of(4, 4, 4, 8, 2), c.one_of(16, 32, 64)
    k, n, rows = int(c.draw.integers(1, 5)) * block - c.one_of(0, 0, 5), int(c.draw.integers(3, 20)), c.one_of(1, 5)
    blocks, most = -(-k // block), 1 << bits
    weight = packed(c.draw.integers(0, most, (n, blocks, block)), bits)
    identity = c.seed % 4 == 0
    c.feed("x", np.eye(k, dtype=F) if identity else c.floats(rows, k))
    c.constant("w", weight)
    c.constant("scale", c.floats(n * blocks, scale=0.1) if c.draw.integers(2) else c.floats(n, blocks, scale=0.1))
    zeros = c.one_of("none", "bytes", "floats") if bits == 4 else c.one_of("none", "bytes")
    c.exact = identity and zeros != "floats"
    zero = c.draw.integers(0, most, (n, blocks))
    floats = zero.astype(F) + F(0.25)
    c.constant("zero", {"none": None, "bytes": packed(zero, bits), "floats": floats}[zeros])
    index = c.draw.integers(0, blocks, k).astype(np.int32)
    c.constant("index", index if bits == 4 and c.seed % 7 == 6 and k % block == 0 else None)
    c.constant("bias", c.floats(n) if c.draw.integers(2) and not identity else None)
    c.attributes = {"K": k, "N": n, "bits": bits, "block_size": block}


def gather_block_quantized(c):
    block, c.exact = c.one_of(16, 32), True
    if c.seed % 2:
        bits = c.one_of(4, 8)
        rows, columns, most = int(c.draw.integers(2, 12)), block * int(c.draw.integers(1, 4)), 1 << bits
        c.constant("data", packed(c.draw.integers(0, most, (rows, columns)), bits))
        c.feed("ids", c.draw.integers(-rows, rows, c.one_of((3,), (2, 4))).astype(c.one_of(np.int32, np.int64)))
        c.constant("scale", c.floats(rows, columns // block))
        zero = packed(c.draw.integers(0, most, (rows, columns // block)), bits)
        c.constant("zero", zero if c.draw.integers(2) else None)
        c.attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
        return
    kind = c.one_of(TensorProto.INT4, TensorProto.UINT4)
    low, shape = (-8 if kind == TensorProto.INT4 else 0), [5, 6, 3]
    gather, axis = int(c.draw.integers(-3, 3)), int(c.draw.integers(-3, 3))
    shape[axis] = c.one_of(block, 2 * block, 2 * block - 3)
    scales = list(shape)
    scales[axis] = -(-shape[axis] // block)
    data = c.draw.integers(low, low + 16, shape)
    c.constant("data", helper.make_tensor("data", kind, shape, data.ravel().tolist()))
    c.feed("ids", c.draw.integers(0, shape[gather], c.one_of((3,), (2, 4))).astype(np.int64))
    c.constant("scale", c.floats(*scales))
    zero = c.draw.integers(low, low + 16, scales)
    c.constant("zero", helper.make_tensor("zero", kind, scales, zero.ravel().tolist()) if c.draw.integers(2) else None)
    c.attributes = {"block_size": block, "gather_axis": gather, "quantize_axis": axis}


# --- experts ---


def experts(c, bits=0):
    count, rows = c.one_of(2, 4, 5), c.one_of(1, 1, 3, 9)
    block = c.one_of(0, 32) if bits else 0
    width, inner = 32 * int(c.draw.integers(1, 3)), 32 * int(c.draw.integers(1, 3))
    activation = c.one_of("relu", "gelu", "silu", "identity", "swiglu", "swiglu")
    wide = inner * (2 if activation == "swiglu" else 1)
    # onnxruntime's QMoE normalises always, whatever the attribute says, unless there are router_weights.
    own = bits and c.seed % 4 == 1
    c.attributes = {"k": int(c.draw.integers(1, min(count, 3) + 1)), "activation_type": activation,
                    "normalize_routing_weights": int(c.draw.integers(2) or (bits > 0 and not own))}
    if activation == "swiglu":
        c.attributes.update(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0)
        if c.draw.integers(2):
            c.attributes["swiglu_limit"] = 1.5
    c.feed("x", c.floats(rows, width) if c.draw.integers(2) else c.floats(1, rows, width))
    c.feed("router", c.floats(rows, count))
    zeros = []
    for name, n, k in (("1", wide, width), ("2", width, inner)):
        if not bits:
            c.constant("w" + name, c.floats(count, n, k, scale=0.2))
        else:
            blocks = k // block if block else 1
            c.constant("w" + name, packed(c.draw.integers(0, 1 << bits, (count, n, k)), bits))
            scale = c.floats(count, n, blocks, scale=0.3 / (1 << bits))
            if c.seed % 3 == 0:
                scale = np.sign(scale) * np.maximum(np.abs(scale), 2.0 ** -10)
                scale = scale.astype(np.float16).astype(F)
            c.constant("s" + name, scale if block else scale[..., 0])
            zero = c.draw.integers(0, 1 << bits, (count, n, blocks))
            zeros.append(packed(zero, bits) if block else packed(zero[..., 0], bits))
        c.constant("b" + name, c.floats(count, n) if c.draw.integers(2) else None)
    if bits:
        c.attributes["expert_weight_bits"] = bits
        if block:
            c.attributes["block_size"] = block
        c.operands += ["", "", ""]
        use = c.draw.integers(3) == 0
        for k, zero in enumerate(zeros):
            c.constant(f"z{k}", zero if use else None)
        c.operands.append("")
        c.feed("weights", np.abs(c.floats(rows, count)) if own else None)


def quantized_experts(c):
    experts(c, c.one_of(4, 4, 8))


# --- norms and activations ---


def skip_norm(c, last):
    batch, rows, width = int(c.draw.integers(1, 4)), int(c.draw.integers(1, 6)), c.one_of(8, 33, 64)
    c.feed("x", c.floats(batch, rows, width))
    c.feed("skip", c.floats(*c.one_of((batch, rows, width), (1, rows, width))))
    c.constant("gamma", c.floats(width))
    if last:
        c.constant("beta", c.floats(width) if c.draw.integers(2) else None)
    c.constant("bias", c.floats(width) if c.draw.integers(2) else None)
    c.attributes = {"epsilon": 1e-5}


def simplified_norm(c):
    c.feed("x", c.floats(int(c.draw.integers(1, 4)), 5, c.one_of(8, 33)))
    c.constant("scale", c.floats(c.inputs["x"].shape[-1]))
    c.attributes = {"axis": -1, "epsilon": 1e-6}


def gelu(c, second):
    c.feed("x", c.floats(3, c.one_of(7, 16, 64), scale=2))
    if second == "bias" or (second == "maybe" and c.draw.integers(2)):
        c.constant("bias", c.floats(c.inputs["x"].shape[1]))
    if second == "alpha":
        c.attributes = {"alpha": float(c.draw.uniform(0.5, 2))}


OPERATORS = {
    "GroupQueryAttention": group_query_attention, "RotaryEmbedding": rotary_embedding,
    "MultiHeadAttention": multi_head_attention, "MatMulNBits": matmul_n_bits,
    "GatherBlockQuantized": gather_block_quantized, "MoE": experts, "QMoE": quantized_experts,
    "SkipLayerNormalization": lambda c: skip_norm(c, True),
    "SkipSimplifiedLayerNormalization": lambda c: skip_norm(c, False),
    "SimplifiedLayerNormalization": simplified_norm, "BiasGelu": lambda c: gelu(c, "bias"),
    "FastGelu": lambda c: gelu(c, "maybe"), "QuickGelu": lambda c: gelu(c, "alpha"), "Gelu": lambda c: gelu(c, ""),
}
GOLDEN = {"GroupQueryAttention": (6, 17, 18, 32, 37, 40, 48, 49, 53, 55, 60, 72, 81), "RotaryEmbedding": (1, 2),
          "MatMulNBits": (1, 2, 5), "GatherBlockQuantized": (0, 1, 3), "MoE": (16,), "QMoE": (0, 1, 3)}
MORE = {"GroupQueryAttention": 6, "QMoE": 2, "MatMulNBits": 3}  # times the settings


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def answers(c):
    model = c.model().SerializeToString()
    return model, session_of(model).run(None, c.inputs)


def write_set(folder, inputs, outputs):
    folder.mkdir(parents=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for k, value in enumerate(values):
            (folder / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def write_case(folder, c):
    model, results = answers(c)
    if c.open:
        c.open(results)
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    if c.exact:
        (folder / "exact").touch()
    for name, value in c.inputs.items():
        np.save(folder / f"in_{name}.npy", value)
    for k, value in enumerate(results):
        np.save(folder / f"want_{k}.npy", value)


def case_of(name, seed):
    c = Case(name, "" if name == "SimplifiedLayerNormalization" else "com.microsoft", seed)
    OPERATORS[name](c)
    return c


def golden(folder):
    for name, seeds in GOLDEN.items():
        for seed in seeds:
            c = case_of(name, seed)
            model, results = answers(c)
            own = folder / f"{name}-{seed:02d}"
            write_set(own / "test_data_set_0", c.inputs.values(), results)
            (own / "model.onnx").write_bytes(model)


def steps(model, folder, rows=(5, 1, 1, 3, 1)):
    proto, draw, before = onnx.load(model), np.random.default_rng(1), 0
    for node in proto.graph.node:  # onnxruntime must not round activations to bytes
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    session = session_of(proto.SerializeToString())
    ports, results = session.get_inputs(), [r.name for r in session.get_outputs()]
    past = {p.name: np.zeros((1, p.shape[1], 0, 16), F) for p in ports if p.name.startswith("past")}
    for k, count in enumerate(rows):
        feed = {"input_ids": draw.integers(3, 40, (1, count)), "attention_mask": np.ones((1, before + count), np.int64)}
        feed.update(past)
        answer = session.run(None, feed)
        write_set(folder / f"test_data_set_{k}", [feed[p.name] for p in ports], answer)
        present = dict(zip(results, answer))
        past = {name: present[name.replace("past_key_values", "present")] for name in past}
        before += count


def write(folder, only):
    refused = {}
    for name in OPERATORS:
        if only and name not in only:
            continue
        for seed in range(SEEDS * MORE.get(name, 1)):
            try:
                write_case(folder / f"{name}-{seed:02d}", case_of(name, seed))
            except Exception as error:  # onnxruntime lacks this setting
                refused.setdefault(name, []).append(f"{seed} {str(error)[:200]}")
    for name, list_of in refused.items():
        print(f"onnxruntime refuses {len(list_of)} settings of {name}: {list_of[0]}")


def wrong(folder, k):
    want = np.load(folder / f"want_{k}.npy")
    found = list((folder / "out").glob(f"{k}_*"))
    if not found:
        return "missing", 0.0
    got = np.load(found[0])
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}", 0.0
    given = ~np.isnan(want)
    off = np.abs(got[given].astype(np.float64) - want[given])
    limit = 0 if (folder / "exact").exists() else 1e-4 * np.maximum(1, np.abs(want[given]))
    bad = ~(off <= limit)
    return (f"{bad.sum()} of {bad.size} elements, {off.max():.3g} off" if bad.any() else ""), off.max(initial=0)


def judge(folder):
    faults, most, counts = [], {}, {}
    for case in sorted(p.parent for p in folder.glob("*/want_0.npy")):
        name = case.name.split("-")[0]
        counts[name] = counts.get(name, 0) + 1
        for k in range(len(list(case.glob("want_*.npy")))):
            fault, off = wrong(case, k)
            most[name] = max(most.get(name, 0), off)
            if fault:
                faults.append(f"wrong: {case.name}, result {k}: {fault}")
    for name, off in most.items():
        print(f"{counts[name]:4d} settings of {name}, at most {off:.2g} off")
    print("\n".join(faults + [f"{sum(counts.values())} settings, {len(faults)} results are wrong"]))
    return 1 if faults or len(counts) < len(OPERATORS) or min(counts.values()) < 10 else 0


if __name__ == "__main__":
    if sys.argv[1] == "judge":
        sys.exit(judge(pathlib.Path(sys.argv[2])))
    if sys.argv[1] == "golden":
        golden(pathlib.Path(sys.argv[2]))
    elif sys.argv[1] == "steps":
        steps(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        write(pathlib.Path(sys.argv[2]), sys.argv[3:])
