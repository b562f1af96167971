"""vision_oracle.py FILE: what torch and torchvision compute of samples, boxes and deformable convolutions, in f64, as
safetensors. Exit status 77: a package is missing."""
import sys

try:
    import torch
    import torch.nn.functional as F
    import torchvision.ops as ops
    from safetensors.torch import save_file
except ImportError as error:
    print("SKIP:", error)
    sys.exit(77)

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

save_file(out, sys.argv[1])
