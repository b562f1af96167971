"""sequence_torch.py CASE FILE ...: the layer or network of that name in PyTorch, with the weights and inputs of the
file, gives the file's result and gradients within 1e-4 of their size."""
import math
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(1)
# A process for each case, made after the import, which takes longer than all cases.
for at in range(1, len(sys.argv), 2):
    child = os.fork()
    if child == 0:
        break
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(1)
else:
    sys.exit(0)
case, file = sys.argv[at], load_file(sys.argv[at + 1])
x, memory = (file["in." + name].double().requires_grad_() for name in ("x", "memory"))
ids, source = (file["in." + name].long() for name in ("ids", "source"))
lengths, memory_lengths = (file["in." + name].long() for name in ("lengths", "memory_lengths"))
weights = {name[2:]: t.double().requires_grad_() for name, t in file.items() if name.startswith("p.")}


def torch_name(name):
    """The names differ where PyTorch's attention keeps three projections in one parameter without a layer."""
    return name.replace("in_proj.weight", "in_proj_weight").replace("in_proj.bias", "in_proj_bias")


def call(module, prefix, *args, **kwargs):
    """Runs the module on the weights that begin with prefix; q_proj and kv_proj are in_proj in two parts."""
    own = {torch_name(name[len(prefix):]): w for name, w in weights.items() if name.startswith(prefix)}
    for name in [n for n in own if ".q_proj." in "." + n]:
        other = name.replace("q_proj", "kv_proj")
        whole = name.replace("q_proj.", "in_proj_")
        own[whole] = torch.cat([own.pop(name), own.pop(other)])
    missing = set(dict(module.named_parameters())) ^ set(own)
    assert not missing, missing
    return torch.func.functional_call(module.double(), own, args, kwargs)


def behind(counts, size):
    return torch.arange(size)[None, :] >= counts[:, None]


causal = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)


def rotate(t, base, rotated, interleave):
    """t (B, H, T, D), as Su et al. 2021 define it."""
    t, rest = t[..., :rotated], t[..., rotated:]
    angle = torch.arange(t.shape[2])[:, None] * base ** (-2 * torch.arange(rotated // 2) / rotated)
    cos, sin = angle.cos().double(), angle.sin().double()
    a, b = (t[..., ::2], t[..., 1::2]) if interleave else t.chunk(2, -1)
    a, b = a * cos - b * sin, b * cos + a * sin
    t = torch.stack([a, b], -1).flatten(-2) if interleave else torch.cat([a, b], -1)
    return torch.cat([t, rest], -1)


def attend(name, t, heads, groups=None, turn=None, bias=None, unseen=causal, sinks=None):
    groups = groups or heads
    size = t.shape[2] // heads
    y = F.linear(t, weights[name + ".in_proj.weight"], weights.get(name + ".in_proj.bias"))
    y = y.view(*t.shape[:2], heads + 2 * groups, size).transpose(1, 2)
    q, k, v = y.split([heads, groups, groups], 1)
    if turn:
        q, k = turn(q), turn(k)
    k, v = (o.repeat_interleave(heads // groups, 1) for o in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(size)
    if bias is not None:
        scores = scores + bias
    scores = scores.masked_fill(unseen, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:3], 1)], -1)
    y = scores.softmax(-1)[..., : t.shape[1]] @ v
    y = y.transpose(1, 2).flatten(2)
    return F.linear(y, weights[name + ".out_proj.weight"], weights.get(name + ".out_proj.bias"))


def documents():
    """Attention within documents, by PyTorch's own."""
    number = torch.tensor([[0, 0, 0, 1, 1, 2, 2], [0] * 7, [0, 1, 2, 3, 4, 5, 6]])
    seen = (number[:, :, None] == number[:, None, :]) & ~causal
    y = F.linear(x, weights["layer.in_proj.weight"], weights["layer.in_proj.bias"])
    q, k, v = y.view(*x.shape[:2], 12, 4).transpose(1, 2).split(4, 1)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None]).transpose(1, 2).flatten(2)
    return F.linear(y, weights["layer.out_proj.weight"], weights["layer.out_proj.bias"])


def sines(t):
    position, i = torch.arange(t.shape[1])[:, None], torch.arange(0, t.shape[2], 2)
    table = torch.zeros(t.shape[1], t.shape[2], dtype=torch.float64)
    table[:, 0::2] = torch.sin(position / 10000 ** (i / t.shape[2]))
    table[:, 1::2] = torch.cos(position / 10000 ** (i / t.shape[2]))
    return t + table


def norm(name, t):
    return F.layer_norm(t, t.shape[-1:], weights[name + ".weight"], weights[name + ".bias"])


def gpt_blocks(mask):
    t = F.embedding(ids, weights["embed.weight"]) + weights["positions.weight"][: ids.shape[1]]
    layer = torch.nn.TransformerEncoderLayer(16, 4, 24, 0, F.gelu, batch_first=True, norm_first=True)
    for i in range(2):
        t = call(layer, f"layers.{i}.", t, src_mask=mask)
    return t


def llama_layer():
    def rms(name, t):
        return F.rms_norm(t, t.shape[-1:], weights[name + ".weight"], 1e-5)

    t = x + attend("layer.self_attn", rms("layer.norm1", x), 4, turn=lambda t: rotate(t, 10000, 4, False))
    a, b = F.linear(rms("layer.norm2", t), weights["layer.linear1.weight"]).chunk(2, -1)
    return t + F.linear(F.silu(a) * b, weights["layer.linear2.weight"])


def conformer(unseen, turn, pad):
    """The layer of Gulati et al. 2020 as torchaudio has it, with such attention and zeros around its convolution."""
    def dense(name, t):
        return F.linear(t, weights[name + ".weight"], weights[name + ".bias"])

    def half(name, t):
        y = F.silu(dense(name + ".sequential.1", norm(name + ".sequential.0", t)))
        return t + dense(name + ".sequential.4", y) / 2

    def convolution(name, t):
        y = F.glu(dense(name + ".sequential.0", norm(name + ".layer_norm", t)), -1).transpose(1, 2)
        y = F.conv1d(F.pad(y, pad), weights[name + ".sequential.2.weight"], groups=t.shape[2])
        scale, bias, mean, variance = (weights[f"{name}.sequential.3.{kind}"][:, None] for kind in
                                       ("weight", "bias", "running_mean", "running_var"))
        y = (y - mean) / (variance + 1e-5).sqrt() * scale + bias
        return t + dense(name + ".sequential.5", F.silu(y).transpose(1, 2))

    t = half("layer.ffn1", x)
    t = t + attend("layer.self_attn", norm("layer.self_attn_layer_norm", t), 4, turn=turn, unseen=unseen)
    return norm("layer.final_layer_norm", half("layer.ffn2", convolution("layer.conv_module", t)))


def lstm(module, prefix, t, counts):
    packed = torch.nn.utils.rnn.pack_padded_sequence(t, counts, batch_first=True, enforce_sorted=False)
    y, state = call(module, prefix, packed)
    return torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=t.shape[1])[0], state


def tcn():
    t = x.transpose(1, 2)
    for i in range(2):
        y = t
        for name in ("conv1", "conv2"):
            y = F.pad(y, (2 * 2**i, 0))
            w, b = (weights[f"network.{i}.{name}.{kind}"] for kind in ("weight", "bias"))
            y = F.relu(F.conv1d(y, w, b, dilation=2**i))
        if i == 0:
            t = F.conv1d(t, weights["network.0.downsample.weight"], weights["network.0.downsample.bias"])
        t = F.relu(t + y)
    return F.linear(t.transpose(1, 2), weights["head.weight"], weights["head.bias"])


def tagger():
    t = F.embedding(ids, weights["embed.weight"])
    _, (h, _) = call(torch.nn.LSTM(16 if t.shape[2] == 16 else t.shape[2], 6, 1, batch_first=True, bidirectional=True),
                     "lstm.", t)
    return F.linear(h.transpose(0, 1).flatten(1), weights["head.weight"], weights["head.bias"])


def cnn_gru(t, counts, layers, heads, pooled):
    t = t.masked_fill(behind(counts, t.shape[1])[..., None], 0).transpose(1, 2)
    w = weights["conv.weight"]
    t = F.relu(F.conv1d(t, w, weights["conv.bias"], padding=w.shape[2] // 2)).transpose(1, 2)
    y, h = lstm(torch.nn.GRU(6, 6, layers, batch_first=True, bidirectional=True), "gru.", t, counts)
    asked = h[-2:].transpose(0, 1).flatten(1)[:, None] if pooled else y
    seen = call(torch.nn.MultiheadAttention(12, heads, batch_first=True), "attention.", asked, y, y,
                key_padding_mask=behind(counts, t.shape[1]))[0]
    t = F.linear(asked + seen, weights["head.weight"], weights["head.bias"])
    return t[:, 0] if pooled else t


def translator():
    table = weights["embed.weight"]
    pad = behind(memory_lengths, source.shape[1])
    kept = {name: weights.pop(name) for name in ["embed.weight"]}
    module = torch.nn.Transformer(16, 4, 2, 2, 24, 0, F.relu, batch_first=True)
    module.encoder.norm = module.decoder.norm = None
    y = call(module, "", sines(F.embedding(source, table) * 4), sines(F.embedding(ids, table) * 4), tgt_mask=causal,
             src_key_padding_mask=pad, memory_key_padding_mask=pad)
    weights.update(kept)
    return y @ table.T


def encoder():
    t = F.embedding(ids, weights["embed.weight"]) + weights["positions.weight"][: ids.shape[1]]
    layer = torch.nn.TransformerEncoderLayer(16, 4, 24, 0, F.gelu, batch_first=True, norm_first=True)
    pad = behind(lengths, ids.shape[1])
    for i in range(2):
        t = call(layer, f"layers.{i}.", t, src_key_padding_mask=pad)
    t = norm("norm", t).masked_fill(pad[..., None], 0).sum(1) / lengths[:, None]
    return F.linear(t, weights["head.weight"], weights["head.bias"])


slopes = torch.tensor([2.0 ** (-8 * (h + 1) / 4) for h in range(4)]).double()
distance = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).abs()
cases = {
    "attention": lambda: call(torch.nn.MultiheadAttention(16, 4, batch_first=True), "layer.", x, x, x,
                              key_padding_mask=behind(lengths, x.shape[1]))[0],
    "grouped": lambda: attend("layer", x, 4, 2),
    "rotary": lambda: attend("layer", x, 4, turn=lambda t: rotate(t, 10000, 4, False)),
    "rotary_in_part": lambda: attend("layer", x, 2, turn=lambda t: rotate(t, 100, 4, True)),
    "documents": documents,
    "sinks": lambda: attend("layer", x, 4, 2, unseen=causal | (distance > 2), sinks=weights["layer.sinks"]),
    "alibi": lambda: attend("layer", x, 4, bias=-slopes[:, None, None] * distance),
    "cross": lambda: call(torch.nn.MultiheadAttention(16, 4, batch_first=True), "layer.", x, memory, memory,
                          key_padding_mask=behind(memory_lengths, memory.shape[1]))[0],
    "encoder_layer": lambda: call(torch.nn.TransformerEncoderLayer(16, 4, 24, 0, F.relu, batch_first=True), "layer.",
                                  x),
    "decoder_layer": lambda: call(
        torch.nn.TransformerDecoderLayer(16, 4, 24, 0, F.gelu, batch_first=True, norm_first=True), "layer.", x, memory,
        tgt_mask=causal, memory_key_padding_mask=behind(memory_lengths, memory.shape[1])),
    "llama_layer": llama_layer,
    "conformer": lambda: conformer(torch.zeros_like(causal), None, (2, 2)),
    "causal_conformer": lambda: conformer(causal | (distance > 2), lambda t: rotate(t, 10000, 4, False), (3, 0)),
    "lstm": lambda: lstm(torch.nn.LSTM(16, 6, 2, batch_first=True, bidirectional=True), "layer.", x, lengths)[0],
    "gru": lambda: call(torch.nn.GRU(16, 6, 2, batch_first=True), "layer.", x)[0],
    "sinusoids": lambda: sines(x),
    "gpt": lambda: norm("norm", gpt_blocks(causal)) @ weights["embed.weight"].T,
    "encoder": encoder,
    "tcn": tcn,
    "tagger": tagger,
    "cnn_gru": lambda: cnn_gru(x, lengths, 2, 3, True),
    "cnn_gru_of_positions": lambda: cnn_gru(
        F.embedding(ids, weights["embed.weight"]), torch.full((3,), 7), 1, 2, False),
    "translator": translator,
}
y = cases[case]()
want = {"y": y}
operands = {"x": x, "memory": memory, **weights}
grads = torch.autograd.grad((y * file["in.g"]).sum(), list(operands.values()), allow_unused=True)
for (name, value), grad in zip(operands.items(), grads):
    want["d." + name] = torch.zeros_like(value) if grad is None else grad
bad = 0
for name, value in want.items():
    got = file[name].double()
    assert got.shape == value.shape, (name, got.shape, value.shape)
    error = (got - value).abs().max().item() / max(1, value.abs().max().item())
    if not error <= 1e-4:
        print(f"{case}: {name} is off by {error:.3g} of its size")
        bad = 1
sys.exit(bad)
