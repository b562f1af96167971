"""segment_torch.py FOLDER EPOCHS: the U-Net that `mica train --task segment` makes of FOLDER/train, in PyTorch.

Pictures and masks lie in image and label, masks of 0 and 255. Width 16, depth 4, batch norm; AdamW at 0.003 with decay
0.01, cross entropy and Dice, one cycle over EPOCHS of batches of 4 windows of 256, changed as Mica's are.
Prints the Dice of both classes over all pixels of FOLDER/val."""
import os
import sys

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

WINDOW, BATCH, WIDTH, DEPTH = 256, 4, 16, 4


class Twice(nn.Sequential):
    def __init__(self, inputs, filters):
        super().__init__(nn.Conv2d(inputs, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                         nn.Conv2d(filters, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        widths = [WIDTH << i for i in range(DEPTH + 1)]
        self.down = nn.ModuleList(Twice(a, b) for a, b in zip([1] + widths, widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:DEPTH])
        self.up = nn.ModuleList(Twice(2 * w, w) for w in widths[:DEPTH])
        self.last = nn.Conv2d(WIDTH, classes, 1)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        skip = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool2d(x, 2))
            skip.append(x)
        for i in reversed(range(DEPTH)):
            x = self.up[i](torch.cat([skip[i], self.grow[i](x)], 1))
        return self.last(x)


def read(folder):
    names = sorted(os.listdir(folder + "/image"))
    pictures = [np.array(Image.open(f"{folder}/image/{n}").convert("L"), np.float32) / 255 for n in names]
    masks = [np.array(Image.open(f"{folder}/label/{n}").convert("L")) >= 128 for n in names]
    return torch.tensor(np.stack(pictures))[:, None], torch.tensor(np.stack(masks)).long()


def window(picture, mask, random):
    """A window at a random place, changed; -1 where there is no mask."""
    side = picture.shape[-1]
    row, column = random.integers(0, side - WINDOW + 1, 2)
    angle, zoom = np.radians(random.uniform(-15, 15)), 1 + random.uniform(-0.1, 0.1)
    q, r = np.meshgrid(np.arange(WINDOW), np.arange(WINDOW))
    left = WINDOW - 1 - q if random.integers(2) else q
    u, v = left - (WINDOW - 1) / 2, r - (WINDOW - 1) / 2
    x = (np.cos(angle) * u - np.sin(angle) * v) / zoom + (WINDOW - 1) / 2 + column
    y = (np.sin(angle) * u + np.cos(angle) * v) / zoom + (WINDOW - 1) / 2 + row
    nodes, cells = random.uniform(-4, 4, (2, 5, 5)), (np.arange(WINDOW) + 0.5) * 4 / WINDOW
    at = np.minimum(cells.astype(int), 3)
    share = (cells - at) ** 2 * (3 - 2 * (cells - at))
    for k, to in ((0, x), (1, y)):
        rows = nodes[k][at] * (1 - share)[:, None] + nodes[k][at + 1] * share[:, None]
        to += rows[:, at] * (1 - share) + rows[:, at + 1] * share
    grid = torch.tensor(np.stack([(2 * x + 1) / side - 1, (2 * y + 1) / side - 1], -1)).float()[None]
    picture = F.grid_sample(picture[None], grid, align_corners=False)
    mask = F.grid_sample(mask[None, None].float() + 1, grid, mode="nearest", align_corners=False)
    return picture[0], mask[0, 0].long() - 1


def main(folder, epochs):
    torch.set_num_threads(2)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    (x, y), (test_x, test_y) = read(folder + "/train"), read(folder + "/val")
    mean, deviation = x.mean(), x.std()
    x, test_x = (x - mean) / deviation, (test_x - mean) / deviation
    net = UNet(2)
    weights = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0}],
                                  lr=0.003)
    steps = len(x) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.003, total_steps=epochs * steps,
                                                   cycle_momentum=False)
    for _ in range(epochs):
        order = random.permutation(len(x))
        for s in range(steps):
            made = [window(x[i], y[i], random) for i in order[BATCH * s : BATCH * s + BATCH]]
            z, t = net(torch.stack([m[0] for m in made])), torch.stack([m[1] for m in made])
            loss = F.cross_entropy(z, t, ignore_index=-1)
            p, hot = z.softmax(1) * (t >= 0)[:, None], torch.stack([t == 0, t == 1], 1)
            both, every = (p * hot).sum((0, 2, 3)), p.sum((0, 2, 3)) + hot.sum((0, 2, 3))
            loss = loss + (1 - (2 * both + 1) / (every + 1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        said = torch.cat([net(test_x[i : i + 1]).argmax(1) for i in range(len(test_x))])
    for c in range(2):
        both = ((said == c) & (test_y == c)).sum().item()
        print(2 * both / ((said == c).sum() + (test_y == c).sum()).item())


main(sys.argv[1], int(sys.argv[2]))
