"""The peer of `mica-bench train`: PyTorch trains the same network on the same kind of data.

    python3 torch_train.py MODEL BATCH SIDE DTYPE THREADS

DTYPE other than f32 is the autocast of forward passes. Writes PyTorch's version, or "no " and the reason why there is
none (exit status 3). Then reads a number of steps a line from standard input, takes them and answers the seconds that
they took; "weights" answers how many numbers are trained, "end" the peak of resident memory in bytes.
"""
import contextlib
import resource
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print("no", " ".join(str(error).split()), flush=True)
    sys.exit(3)


class Basic(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, filters, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.downsample = None
        if stride != 1 or inputs != filters:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        h = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(h + (x if self.downsample is None else self.downsample(x)))


def resnet18(channels):
    blocks = []
    inputs = 64
    for s in range(4):
        for i in range(2):
            blocks.append(Basic(inputs, 64 << s, 2 if s > 0 and i == 0 else 1))
            inputs = 64 << s
    return nn.Sequential(nn.Conv2d(channels, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                         nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Bottleneck(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(inputs, filters, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                                  nn.Conv2d(filters, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters),
                                  nn.ReLU(), nn.Conv2d(filters, 4 * filters, 1, bias=False),
                                  nn.BatchNorm2d(4 * filters))
        self.downsample = None
        if stride != 1 or inputs != 4 * filters:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * filters, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * filters))

    def forward(self, x):
        return F.relu(self.conv(x) + (x if self.downsample is None else self.downsample(x)))


def resnet50(channels):
    blocks = []
    inputs = 64
    for s, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            blocks.append(Bottleneck(inputs, 64 << s, 2 if s > 0 and i == 0 else 1))
            inputs = 256 << s
    return nn.Sequential(nn.Conv2d(channels, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                         nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 10))


class Inverted(nn.Module):
    def __init__(self, inputs, expand, filters, stride):
        super().__init__()
        wide = inputs * expand
        layers = []
        if expand != 1:
            layers += [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()]
        layers += [nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
                   nn.Conv2d(wide, filters, 1, bias=False), nn.BatchNorm2d(filters)]
        self.conv = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == filters

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


def mobilenetv2(channels):
    layers = [nn.Conv2d(channels, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    inputs = 32
    for expand, filters, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Inverted(inputs, expand, filters, stride if i == 0 else 1))
            inputs = filters
    layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1),
               nn.Flatten(), nn.Linear(1280, 10)]
    return nn.Sequential(*layers)


class Twice(nn.Sequential):
    def __init__(self, inputs, filters):
        super().__init__(nn.Conv2d(inputs, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                         nn.Conv2d(filters, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, channels, width, classes):
        super().__init__()
        widths = [width << i for i in range(5)]
        self.down = nn.ModuleList(Twice(a, b) for a, b in zip([channels] + widths, widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:4])
        self.up = nn.ModuleList(Twice(2 * w, w) for w in widths[:4])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skip = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool2d(x, 2))
            skip.append(x)
        for i in reversed(range(4)):
            x = self.up[i](torch.cat([skip[i], self.grow[i](x)], 1))
        return self.last(x)


def mlp(side):
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn(side):
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(64 * (side // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, 10))


def pictures(batch, channels, side, labels, classes):
    return torch.randn(batch, channels, side, side), torch.randint(0, classes, labels)


def autocast(name):
    if name == "f32":
        return contextlib.nullcontext()
    return torch.autocast("cpu", {"f16": torch.float16, "bf16": torch.bfloat16}[name])


def task(name, batch, side):
    """The network, its loss, its optimizer, and what makes a batch."""
    if name == "detector":
        import torch_detector
        model = torch_detector.Detector(3, 32, 3)
        return (model, torch_detector.Loss(side, 3), torch.optim.AdamW(model.parameters(), 0.002, weight_decay=0.01),
                lambda: torch_detector.batch(batch, side, 3))
    deep = name in ("resnet18", "resnet50", "mobilenetv2")
    model = {"mlp": lambda: mlp(side), "cnn": lambda: cnn(side), "resnet18": lambda: resnet18(3),
             "resnet50": lambda: resnet50(3), "mobilenetv2": lambda: mobilenetv2(3),
             "unet": lambda: UNet(1, 16, 2)}[name]()
    weights = model.parameters()
    optimizer = torch.optim.SGD(weights, 0.01, momentum=0.9) if deep else torch.optim.Adam(weights, 0.001)
    labels, classes = ((batch, side, side), 2) if name == "unet" else ((batch,), 10)
    return model, F.cross_entropy, optimizer, lambda: pictures(batch, 3 if deep else 1, side, labels, classes)


def main():
    name, batch, side, dtype, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    print(torch.__version__, flush=True)
    torch.set_num_threads(threads)
    model, loss, optimizer, make = task(name, batch, side)
    batches = [make() for _ in range(8)]
    at = 0
    for line in sys.stdin:
        if line.strip() == "end":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            break
        if line.strip() == "weights":
            print(sum(p.numel() for p in model.parameters()), flush=True)
            continue
        begin = time.perf_counter()
        for _ in range(int(line)):
            x, y = batches[at % len(batches)]
            at += 1
            optimizer.zero_grad(set_to_none=True)
            with autocast(dtype):
                value = loss(model(x), y)
            value.backward()
            optimizer.step()
        print(time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
