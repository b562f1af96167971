"""unet_torch.py FILE: three training steps of test_unet_torch.c's U-Net in PyTorch, in double and in f32. What Mica has
is about as near to double as PyTorch's f32 is: losses, gradients, weights, running statistics."""
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(1)
file = load_file(sys.argv[1])
STEPS, DEPTH = 3, 2


def forward(w, running, x):
    def twice(name, x):
        for i in ("1", "2"):
            bn = name + ".bn" + i
            x = F.conv2d(x, w[name + ".conv" + i + ".weight"], padding=1)
            x = F.batch_norm(x, running[bn + ".running_mean"], running[bn + ".running_var"], w[bn + ".weight"],
                             w[bn + ".bias"], training=True)
            x = F.relu(x)
        return x

    skip = []
    for i in range(DEPTH):
        skip.append(twice("down%d" % i, x))
        x = F.max_pool2d(skip[i], 2)
    x = twice("down%d" % DEPTH, x)
    for i in reversed(range(DEPTH)):
        name = "up%d" % i
        x = F.conv_transpose2d(x, w[name + ".from.weight"], w[name + ".from.bias"], stride=2)
        x = twice(name, torch.cat([skip[i], x], 1))
    return F.conv2d(x, w["last.weight"], w["last.bias"])


def loss_of(z, y):
    p, t = z.softmax(1), F.one_hot(y, z.shape[1]).movedim(-1, 1)
    over = (0, 2, 3)
    dice = (2 * (p * t).sum(over) + 1) / (p.sum(over) + t.sum(over) + 1)
    return F.cross_entropy(z, y) + 1 - dice.mean()


def train(dtype):
    first = {name[3:]: t.to(dtype) for name, t in file.items() if name.startswith("p0.")}
    w = {name: t.requires_grad_() for name, t in first.items() if "running" not in name}
    running = {name: t for name, t in first.items() if "running" in name}
    groups = [{"params": [t for t in w.values() if t.dim() > 1], "weight_decay": 0.1},
              {"params": [t for t in w.values() if t.dim() < 2], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, eps=0.01)
    got = {}
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(forward(w, running, file["x"].to(dtype)), file["y"].long())
        loss.backward()
        optimizer.step()
        got["d%d.loss" % step] = loss.detach()
        got.update({"d%d.%s" % (step, name): t.grad.clone() for name, t in w.items()})
        got.update({"p%d.%s" % (step, name): t.detach().clone() for name, t in {**w, **running}.items()})
    return got


def off(is_, want):
    return ((is_ - want).norm() / want.norm()).item()


exact, rounded = train(torch.float64), train(torch.float32)
left = {name for name in file if name[0] in "dp" and name[1] in "123"} ^ set(exact)
assert not left, left
faults, worst = 0, {}
for name, want in exact.items():
    own, theirs = off(file[name], want), off(rounded[name], want)
    # A bias before a norm has no gradient: its own would be rounding alone.
    bad = not own < 8 * theirs + 1e-6
    faults += bad
    worst[name[:2]] = max(worst.get(name[:2], (0, 0)), (own, theirs))
    if bad:
        print("%-32s %.1e from double, PyTorch's f32 %.1e" % (name, own, theirs))
for what, (own, theirs) in worst.items():
    print("%s: at most %.1e, where PyTorch's f32 is %.1e off" % (what, own, theirs))
sys.exit(faults > 0 or len(exact) < 100)
