"""The U-Net that `mica train --task segment_volumes` makes of volumes, in PyTorch.

volumes_torch.py make FOLDER: writes 16 volumes to train on and 8 to test: a ball (1) and a box (2) in noise (0).
volumes_torch.py train FOLDER EPOCHS SEED: width 8, depth 2, group norm; AdamW at 0.005 with decay 0.01, cross entropy
and Dice, half a cosine over EPOCHS of batches of 2 windows, which are whole volumes, mirrored at random. Prints the
Dice of FOLDER/test: per volume and class, the mean over the volumes, then over both classes."""
import os
import struct
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SIDE, TRAIN, TEST, WIDTH, DEPTH, BATCH, RATE, DECAY = 16, 16, 8, 8, 2, 2, 0.005, 0.01


def write(path, voxels, code, bits):
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, SIDE, SIDE, SIDE, 1, 1, 1, 1)
    struct.pack_into("<3h8f", head, 70, code, bits, 0, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<f", head, 108, 352)
    head[344:348] = b"n+1\0"
    with open(path, "wb") as file:
        file.write(bytes(head) + voxels.tobytes())


def make(folder):
    random = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3, indexing="ij"), -1)
    for i in range(TRAIN + TEST):
        part, mask = folder + ("/train" if i < TRAIN else "/test"), np.zeros((SIDE,) * 3, np.uint8)
        low = random.integers(0, SIDE - 7, 3)
        mask[(np.abs(grid - low - 3) <= random.integers(2, 4, 3)).all(-1)] = 2
        radius = random.uniform(3, 4.5)
        mask[((grid - random.uniform(radius, SIDE - 1 - radius, 3)) ** 2).sum(-1) < radius**2] = 1
        voxels = random.normal(np.array([0, 100, -80])[mask], 70).astype("<i2")
        for name in "images", "masks":
            os.makedirs(f"{part}/{name}", exist_ok=True)
        write(f"{part}/images/{i}.nii", voxels, 4, 16)
        write(f"{part}/masks/{i}.nii", mask, 2, 8)


def read(folder):
    names = sorted(os.listdir(folder + "/images"))
    parts = []
    for name, dtype in ("images", "<i2"), ("masks", "u1"):
        parts.append(np.stack([np.fromfile(f"{folder}/{name}/{n}", dtype, offset=352) for n in names]))
    x = torch.tensor(parts[0].reshape(-1, 1, SIDE, SIDE, SIDE).astype(np.float32))
    x = (x - x.mean((1, 2, 3, 4), True)) / x.std((1, 2, 3, 4), False, True)
    return x, torch.tensor(parts[1].reshape(-1, SIDE, SIDE, SIDE)).long()


class Twice(nn.Sequential):
    def __init__(self, inputs, filters):
        super().__init__(
            nn.Conv3d(inputs, filters, 3, padding=1, bias=False), nn.GroupNorm(8, filters), nn.ReLU(),
            nn.Conv3d(filters, filters, 3, padding=1, bias=False), nn.GroupNorm(8, filters), nn.ReLU(),
        )


class UNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        widths = [WIDTH << i for i in range(DEPTH + 1)]
        self.down = nn.ModuleList(Twice(a, b) for a, b in zip([1] + widths, widths))
        self.grow = nn.ModuleList(nn.ConvTranspose3d(2 * w, w, 2, 2) for w in widths[:DEPTH])
        self.up = nn.ModuleList(Twice(2 * w, w) for w in widths[:DEPTH])
        self.last = nn.Conv3d(WIDTH, classes, 1)
        for m in self.modules():
            if isinstance(m, nn.Conv3d) and m is not self.last:
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        skip = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool3d(x, 2))
            skip.append(x)
        for i in reversed(range(DEPTH)):
            x = self.up[i](torch.cat([skip[i], self.grow[i](x)], 1))
        return self.last(x)


def loss_of(z, y):
    p, t = z.softmax(1), F.one_hot(y, 3).movedim(-1, 1)
    over = (0, 2, 3, 4)
    dice = (2 * (p * t).sum(over) + 1) / (p.sum(over) + t.sum(over) + 1)
    return F.cross_entropy(z, y) + 1 - dice.mean()


def train(folder, epochs, seed):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    (x, y), (tx, ty) = read(folder + "/train"), read(folder + "/test")
    model = UNet(3)
    wide = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": wide, "weight_decay": DECAY}, {"params": rest, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    steps = epochs * TRAIN // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(epochs):
        for at in torch.randperm(TRAIN).split(BATCH):
            pairs = []
            for k in at:
                axes = [a for a in range(3) if torch.rand(()) < 0.5]
                pairs.append((x[k].flip([a + 1 for a in axes]), y[k].flip(axes)))
            optimizer.zero_grad()
            loss_of(model(torch.stack([p[0] for p in pairs])), torch.stack([p[1] for p in pairs])).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        said = model(tx).argmax(1)
    dice = []
    for said_one, true in zip(said, ty):
        for c in 1, 2:
            both = ((said_one == c) & (true == c)).sum()
            dice.append(2.0 * both / ((said_one == c).sum() + (true == c).sum()))
    print(f"{np.mean(dice):.4f}")


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    train(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
