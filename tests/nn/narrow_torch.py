"""narrow_torch.py NETWORK FILE: gradients and running statistics of test_narrow_torch.c's networks. Those in f32 are
PyTorch's; those in bf16 are as near to f32 as those of PyTorch's autocast, which keeps norms, losses, weights and the
sums of transformers' blocks in f32 and rounds the rest."""
import math
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(1)
network, file = sys.argv[1], load_file(sys.argv[2])
weights = {name[2:]: t for name, t in file.items() if name.startswith("p.")}


def pictures(w, statistics):
    def conv(name, x):
        x = F.conv2d(x, w[name + ".weight"], padding=1)
        name += ".norm"
        running = (torch.zeros(x.shape[1]), torch.ones(x.shape[1]))
        statistics[name + ".running_mean"], statistics[name + ".running_var"] = running
        return F.batch_norm(x, *running, w[name + ".weight"], w[name + ".bias"], training=True)

    h = F.max_pool2d(F.relu(conv("a", file["x"])), 2)
    h = F.relu(h + conv("b", h)).flatten(1)
    return F.linear(h, w["out.weight"], w["out.bias"])


def tokens(w, statistics):
    def dense(name, x):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"])

    h = F.embedding(file["x"].long(), w["embed.weight"])
    for i in range(12):
        name = "layers.%d." % i
        y = dense(name + "self_attn.in_proj", norm(name + "norm1", h))
        q, k, v = y.view(*y.shape[:2], 3, 4, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        h = h + dense(name + "self_attn.out_proj", y)
        y = dense(name + "linear1", norm(name + "norm2", h))
        h = h + dense(name + "linear2", F.gelu(y))
    return dense("out", norm("norm", h)).transpose(1, 2)


def gradients(narrow):
    w = {name: t.clone().requires_grad_() for name, t in weights.items()}
    statistics = {}
    with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        loss = F.cross_entropy(globals()[network](w, statistics).float(), file["y"].long())
    loss.backward()
    return {**{name: t.grad for name, t in w.items()}, **statistics}


def off(is_, want):
    return ((is_ - want).norm() / want.norm()).item()


wide, narrow = gradients(False), gradients(True)
faults, ratio = 0, 0
for name, want in wide.items():
    own, half, theirs = off(file["wide." + name], want), off(file["narrow." + name], want), off(narrow[name], want)
    # Which maximum is taken, and what is above 0, differs by chance: a few elements of each gradient.
    bad = not own < 1e-4 or not half < 1.3 * theirs + 2e-3 or not half > 1e-5
    faults += bad
    ratio += math.log(half / theirs) / len(wide)
    print("%-32s f32 %.1e, bf16 %.5f, autocast %.5f%s" % (name, own, half, theirs, "   <--" if bad else ""))
# Single tensors scatter by a fifth; 12 blocks whose sums are rounded are 1.17 together.
print("%s: %.3f of autocast's distance" % (network, math.exp(ratio)))
sys.exit(faults > 0 or not ratio < math.log(1.1) or not wide)
