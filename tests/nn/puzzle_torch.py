"""puzzle_torch.py FILE: the step of test_puzzle_torch.c in PyTorch, in double and in f32. What Mica has is about as
near to double as PyTorch's f32 is. Masks are the best of all 2^16."""
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(1)
file = load_file(sys.argv[1])
N, PRIOR, UNLIKE = 4, 0.2, 1.2 / 16


def forward(w, x, training):
    width = w["conv.weight"].shape[0]
    mean, var = torch.zeros(width, dtype=x.dtype), torch.ones(width, dtype=x.dtype)
    z = F.batch_norm(F.conv2d(x, w["conv.weight"], padding=1), mean, var, w["norm.weight"], w["norm.bias"],
                     training=training)
    return z.square().mean((2, 3)) @ w["last.weight"].T + w["last.bias"], mean


def cost_of(s, t, z, share):
    """The cost of masks z (.., N, N) for saliencies s and t (N, N) of mean 1."""
    own = s - t + PRIOR * (torch.log(1 - share) - torch.log(share))
    unlike = (z[..., 1:, :] != z[..., :-1, :]).sum((-1, -2)) + (z[..., 1:] != z[..., :-1]).sum((-1, -2))
    return (own * z).sum((-1, -2)) + UNLIKE * N * unlike


def mask_of(s, t, share):
    """The best of all masks."""
    every = ((torch.arange(1 << N * N)[:, None] >> torch.arange(N * N)) & 1).to(s.dtype).reshape(-1, N, N)
    return every[cost_of(s, t, every, share).argmin()]


def step(dtype):
    w = {name[7:]: t.to(dtype).requires_grad_() for name, t in file.items() if name.startswith("weight.")}
    x, y, share = file["x"].to(dtype).requires_grad_(), file["y"].long(), file["share"].to(dtype)
    clean = F.cross_entropy(forward(w, x, False)[0], y, ignore_index=-1, reduction="sum") / len(x)
    gradient, = torch.autograd.grad(clean, x)
    blocks = gradient.square().sum(1).sqrt().unflatten(1, (N, -1)).unflatten(3, (N, -1)).sum((2, 4))
    s = blocks / blocks.sum((1, 2), keepdim=True).clamp_min(1e-30) * N * N
    z = torch.stack([mask_of(a, b, share) for a, b in zip(s, s.flip(0))])
    fine = F.interpolate(z[:, None], size=x.shape[2:])
    p = F.one_hot(y.clamp_min(0), w["last.bias"].numel()).to(dtype) * (y >= 0)[:, None]
    m = z.mean((1, 2))[:, None]
    mixed_x, mixed_y = (1 - fine) * x.detach() + fine * x.detach().flip(0), (1 - m) * p + m * p.flip(0)
    logits, mean = forward(w, mixed_x, True)
    loss = -(mixed_y * logits.log_softmax(1)).sum(1).mean()
    loss.backward()
    got = {"gradient": gradient, "mixed.x": mixed_x, "mixed.y": mixed_y, "loss": loss.detach(), "running_mean": mean}
    got.update({"d." + name: t.grad for name, t in w.items()})
    return got, z


def off(is_, want):
    return ((is_ - want).norm() / want.norm()).item()


(exact, z), (rounded, _) = step(torch.float64), step(torch.float32)
faults = 0
for name, want in exact.items():
    own, theirs = off(file[name], want), off(rounded[name], want)
    bad = not own < 8 * theirs + 1e-6
    faults += bad
    print("%-16s %.1e from double, PyTorch's f32 %.1e%s" % (name, own, theirs, ": wrong" if bad else ""))
print("shares of partners", z.mean((1, 2)).tolist())
used = 0 < z.mean().item() < 1 and any(0 < m < 1 for m in z.mean((1, 2)).tolist())
sys.exit(faults > 0 or not used or len(exact) < 10)
