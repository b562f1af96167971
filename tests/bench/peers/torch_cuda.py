"""Matrix products, convolutions and training steps of PyTorch on an NVIDIA GPU (cuBLAS, cuDNN): one JSON line a case,
in the form of mica-bench gemm, conv and train. tests/gpu/run.sh runs it beside these. No file here may be called as a
package of PyTorch's is ("cuda"): Python looks into a script's own folder first.

    python3 torch_cuda.py [--compile] [--channels-last] [--device cpu] [--networks NAME,NAME...]

--compile trains the networks alone, through torch.compile, and with --channels-last in that layout, which is the peer
of a step that is planned as a whole. --device cpu is for a machine without a GPU."""

import argparse
import contextlib
import json
import time

import torch
import torch.nn.functional as F

import torch_train

GEMMS = [(256, 256, 256), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096),
         (8192, 8192, 8192), (64, 128, 784), (64, 4096, 4096)]
# n, c, h, k, r, s, p: batch, channels, height and width, filters, their size, stride, padding
CONVS = [
    (16, 3, 224, 64, 7, 2, 3),
    (16, 64, 56, 64, 3, 1, 1),
    (16, 64, 56, 256, 1, 1, 0),
    (16, 128, 28, 128, 3, 1, 1),
    (16, 256, 14, 256, 3, 1, 1),
    (16, 512, 7, 512, 3, 1, 1),
    (64, 32, 28, 64, 3, 1, 1),
]


TRAININGS = [("mlp", 64, 28), ("cnn", 64, 28), ("resnet18", 32, 32), ("resnet18", 32, 224), ("resnet50", 32, 224),
             ("mobilenetv2", 32, 224)]


def synchronize():
    if options.device == "cuda":
        torch.cuda.synchronize()


def seconds(work, rounds=9, repeats=20):
    """The median over rounds of the mean time of a batch of repeats with one wait at its end."""
    for _ in range(3):
        work()
    times = []
    for _ in range(rounds):
        synchronize()
        begin = time.perf_counter()
        for _ in range(repeats):
            work()
        synchronize()
        times.append((time.perf_counter() - begin) / repeats)
    return sorted(times)[rounds // 2]


def say(bench, case, dtype, flops, took, **more):
    print(json.dumps({"bench": bench, "case": case, "dtype": dtype, "gflops": round(flops / took / 1e9, 1),
                      "versions": {"pytorch": torch.__version__}, **more}), flush=True)


def train(name, batch, side, precision):
    """Steps of a network on batches that lie on the GPU, as mica-bench train takes them."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    model, loss, optimizer, make = torch_train.task(name, batch, side)
    model.to(options.device)
    batches = [[t.to(options.device) for t in make()] for _ in range(8)]
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
        batches = [[x.to(memory_format=torch.channels_last), y] for x, y in batches]
    if options.compile:
        model = torch.compile(model)
    narrow = {"f16": torch.float16, "bf16": torch.bfloat16}.get(precision)
    scaler = torch.amp.GradScaler(options.device, enabled=precision == "f16")
    at = 0

    def step():
        nonlocal at
        x, y = batches[at % len(batches)]
        at += 1
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, narrow) if narrow else contextlib.nullcontext():
            answers = model(x)
        scaler.scale(loss(answers.float(), y)).backward()
        scaler.step(optimizer)
        scaler.update()

    took = seconds(step, rounds=5, repeats=10)
    print(json.dumps({"bench": "train", "model": name, "batch": batch, "side": side, "dtype": precision,
                      "compiled": options.compile, "channels_last": options.channels_last,
                      "samples_per_s": round(batch / took, 1), "step_ms": round(took * 1e3, 4),
                      "versions": {"pytorch": torch.__version__}}), flush=True)


def products_and_convolutions():
    for name, dtype in (("f32", torch.float32), ("tf32", torch.float32), ("f16", torch.float16),
                        ("bf16", torch.bfloat16)):
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        for m, n, k in GEMMS:
            a = torch.randn(m, k, device=options.device, dtype=dtype)
            b = torch.randn(k, n, device=options.device, dtype=dtype)
            say("gemm", f"m{m} n{n} k{k} nn", name, 2 * m * n * k, seconds(lambda: a @ b))
    for n, c, h, k, r, s, p in CONVS:
        x = torch.randn(n, c, h, h, device=options.device, requires_grad=True)
        w = torch.randn(k, c, r, r, device=options.device, requires_grad=True)
        y = F.conv2d(x, w, stride=s, padding=p)
        dy = torch.randn_like(y)
        flops = 2 * y.numel() * c * r * r
        case = f"n{n} c{c} h{h} k{k} r{r} s{s} p{p}"
        with torch.no_grad():
            say("conv", case, "f32", flops, seconds(lambda: F.conv2d(x, w, stride=s, padding=p)), **{"pass": "fwd"})
        grad = lambda wrt: torch.autograd.grad(y, wrt, dy, retain_graph=True)
        say("conv", case, "f32", flops, seconds(lambda: grad(x)), **{"pass": "bwd_data"})
        say("conv", case, "f32", flops, seconds(lambda: grad(w)), **{"pass": "bwd_filter"})


parser = argparse.ArgumentParser()
parser.add_argument("--compile", action="store_true")
parser.add_argument("--channels-last", action="store_true")
parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
parser.add_argument("--networks", default=",".join(name for name, _, _ in TRAININGS))
options = parser.parse_args()


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    if not options.compile:
        products_and_convolutions()
    for precision in ("f32", "tf32", "bf16", "f16"):
        for name, batch, side in TRAININGS:
            if name not in options.networks.split(","):
                continue
            train(name, batch, side, precision)


main()
