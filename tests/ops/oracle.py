"""oracle.py FILE: what numpy, torch and torchvision compute of the cases of tests/ops/test_oracle.c, as safetensors."""
import sys

import numpy as np
import torch
import torch.nn.functional as F
import torchvision.ops as ops
from safetensors.torch import save_file

torch.manual_seed(7)
out = {}


def draw(*shape, low=-1.0, high=1.0):
    return torch.rand(*shape, dtype=torch.float64) * (high - low) + low


def note(case, **tensors):
    for name, value in tensors.items():
        out[f"{case}.{name}"] = value.detach().clone().contiguous()


def with_grads(case, function, **operands):
    """y, dy and the gradient of every floating operand."""
    for value in operands.values():
        value.requires_grad_(value.is_floating_point())
    y = function(**operands)
    dy = draw(*y.shape)
    wanted = [name for name, value in operands.items() if value.requires_grad]
    grads = torch.autograd.grad(y, [operands[name] for name in wanted], dy, allow_unused=True)
    note(case, y=y, dy=dy, **operands)
    for name, grad in zip(wanted, grads):
        if grad is not None:
            note(case, **{f"d{name}": grad})


for mode, mode_name in enumerate(["bilinear", "nearest", "bicubic"]):
    for pad, pad_name in enumerate(["zeros", "border", "reflection"]):
        for align in (0, 1):
            for dims in (2, 3):
                if dims == 3 and mode == 2:
                    continue
                size = (5, 7) if dims == 2 else (3, 5, 4)
                points = (4, 6) if dims == 2 else (2, 3, 4)
                with_grads(
                    f"sample{mode}{pad}{align}{dims}",
                    lambda x, grid: F.grid_sample(x, grid, mode_name, pad_name, bool(align)),
                    x=draw(2, 3, *size),
                    grid=draw(2, *points, dims, low=-1.9, high=1.9),
                )

first = draw(9, 2, low=-6, high=24)
boxes = torch.cat([first, first + draw(9, 2, low=0.1, high=20)], 1)
images = torch.tensor([0, 1, 1, 0, 2, 2, 0, 1, 2], dtype=torch.float64)
for aligned in (0, 1):
    for sampling in (1, 2, 3):
        with_grads(
            f"roi{aligned}{sampling}",
            lambda x: ops.roi_align(x, torch.cat([images[:, None], boxes], 1), (3, 5), 0.5, sampling, bool(aligned)),
            x=draw(3, 4, 8, 11),
        )
note("roi", boxes=boxes, images=images.to(torch.int32))

for index, (groups, parts, stride, pad, dilation, masked) in enumerate(
    [(1, 1, 1, 1, 1, True), (2, 1, 2, 0, 1, False), (1, 3, 1, 2, 2, True), (2, 2, 1, 1, 1, True)]
):
    channels = 6 if parts == 3 else 4
    rows = (8 + 2 * pad - dilation * 2 - 1) // stride + 1
    columns = (9 + 2 * pad - dilation - 1) // stride + 1
    operands = dict(
        x=draw(2, channels, 8, 9),
        offset=draw(2, 2 * parts * 6, rows, columns, low=-2, high=2),
        weight=draw(4, channels // groups, 3, 2),
        bias=draw(4),
    )
    if masked:
        operands["mask"] = draw(2, parts * 6, rows, columns)
    with_grads(
        f"deform{index}",
        lambda x, offset, weight, bias, mask=None: ops.deform_conv2d(
            x, offset, weight, bias, stride, pad, dilation, mask
        ),
        **operands,
    )

matrices = draw(3, 2, 6, 6)
matrices[1, 1, :, 2] = 0
note("det", x=matrices, y=torch.linalg.det(matrices))

cosines = draw(9, 5, low=-0.99, high=0.99)
cosines[0, 2], cosines[1, 3] = -0.97, 0.99
classes = torch.tensor([2, 3, 0, 1, 4, 2, 2, 0, 1], dtype=torch.int32)


def arcface(cosines):
    angles = torch.acos(cosines)
    chosen = F.one_hot(classes.long(), 5).bool()
    moved = torch.where(angles + 0.4 < torch.pi, torch.cos(angles + 0.4), cosines - 0.4 * np.sin(0.4))
    return F.cross_entropy(12 * torch.where(chosen, moved, cosines), classes.long(), reduction="none")


with_grads("arcface", arcface, cosines=cosines)
note("arcface", classes=classes)


def triplet(x):
    losses = []
    for a in range(9):
        like = [p for p in range(9) if p != a and classes[p] == classes[a]]
        unlike = [n for n in range(9) if classes[n] != classes[a]]
        terms = [F.relu(0.3 + x[a] @ x[n] - x[a] @ x[p]) for p in like for n in unlike]
        losses.append(sum(terms, torch.zeros((), dtype=torch.float64)))
    return torch.stack(losses)


with_grads("triplet", triplet, x=F.normalize(draw(9, 4)))
note("triplet", classes=classes)



def ge2e(x, scale):
    losses = []
    for a in range(9):
        if not any(p != a and classes[p] == classes[a] for p in range(9)):
            losses.append(torch.zeros((), dtype=torch.float64))
            continue
        logits = []
        for k in range(5):
            members = [x[p] for p in range(9) if classes[p] == k and p != a]
            cosine = x[a] @ F.normalize(torch.stack(members).mean(0), dim=0) if members else None
            logits.append(torch.tensor(-torch.inf, dtype=torch.float64) if cosine is None else scale[0] * cosine)
        losses.append(F.cross_entropy(torch.stack(logits)[None], classes[a][None].long()))
    return torch.stack(losses)


with_grads("ge2e", ge2e, x=F.normalize(draw(9, 4)), scale=torch.tensor([7.0], dtype=torch.float64))
note("ge2e", classes=classes)

random = np.random.default_rng(7)
a = random.integers(-(2**31), 2**31, (3, 1, 7, 19)).astype(np.int32)
b = random.integers(-(2**31), 2**31, (2, 19, 33)).astype(np.int32)
note("whole", a=torch.from_numpy(a), b=torch.from_numpy(b), y=torch.from_numpy(np.matmul(a, b).astype(np.float64)))

x = random.integers(-3000, 3000, (3, 40001)).astype(np.float32) / 8
x[:, ::7] = np.nan
for name, sign in (("rising", 1), ("falling", -1)):
    # A NaN comes first: numpy's stable sort has it last.
    indices = np.argsort(np.where(np.isnan(x), -np.inf, sign * x), axis=1, kind="stable")
    values = np.nan_to_num(np.take_along_axis(x, indices, 1), nan=77)
    note(name, x=torch.from_numpy(x), values=torch.from_numpy(values.astype(np.float64)),
         indices=torch.from_numpy(indices.astype(np.float64)))

ids = random.integers(-(2**40), 2**40, 300000)
ids = np.concatenate([ids, ids[::3], ids[:1005]]).reshape(-1, 11)
different, inverse = np.unique(ids, return_inverse=True)
padded = np.full(ids.size, -1.0)
padded[: different.size] = different
note("unique", x=torch.from_numpy(ids), values=torch.from_numpy(padded),
     indices=torch.from_numpy(inverse.reshape(ids.shape).astype(np.float64)),
     count=torch.tensor(float(different.size), dtype=torch.float64))

save_file(out, sys.argv[1])
