"""narrow_torch.py FILE: the gradients of test_narrow_torch.c's network. Those in f32 are PyTorch's; those in bf16 are
as near to f32 as those of PyTorch's autocast, which keeps norms, losses and weights in f32 and rounds the rest."""
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(1)
file = load_file(sys.argv[1])
weights = {name[2:]: t for name, t in file.items() if name.startswith("p.")}


def gradients(narrow):
    w = {name: t.clone().requires_grad_() for name, t in weights.items()}
    with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        def conv(name, x):
            x = F.conv2d(x, w[name + ".weight"], padding=1)
            return F.batch_norm(x, None, None, w[name + ".norm.weight"], w[name + ".norm.bias"], training=True)

        h = F.max_pool2d(F.relu(conv("a", file["x"])), 2)
        h = F.relu(h + conv("b", h)).flatten(1)
        z = F.linear(h, w["out.weight"], w["out.bias"])
        loss = F.cross_entropy(z.float(), file["y"].long())
    loss.backward()
    return {name: t.grad for name, t in w.items()}


def off(is_, want):
    return ((is_ - want).norm() / want.norm()).item()


wide, narrow = gradients(False), gradients(True)
faults = 0
for name, want in wide.items():
    own, half, theirs = off(file["wide." + name], want), off(file["narrow." + name], want), off(narrow[name], want)
    # Which maximum is taken, and what is above 0, differs by chance: a few elements of each gradient.
    bad = not own < 1e-4 or not half < 1.3 * theirs + 2e-3 or not half > 1e-4
    faults += bad
    print("%-16s f32 %.1e, bf16 %.4f, autocast %.4f%s" % (name, own, half, theirs, "   <--" if bad else ""))
sys.exit(faults > 0 or not wide)
