"""The network "detector" and the loss of the task detect in PyTorch, for torch_train.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F

STRIDES = (8, 16, 32)
RADIUS, REACH, FAR = 1.5, 6, 1e12


def conv_norm(inputs, filters, size, stride):
    return nn.Sequential(nn.Conv2d(inputs, filters, size, stride, size // 2, bias=False), nn.BatchNorm2d(filters))


class Block(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.first, self.second = conv_norm(inputs, filters, 3, stride), conv_norm(filters, filters, 3, 1)
        self.same = conv_norm(inputs, filters, 1, stride) if stride != 1 or inputs != filters else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.same(x))


def tower(width):
    layers = []
    for _ in range(2):
        layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(8, width), nn.ReLU()]
    return nn.Sequential(*layers)


class Detector(nn.Module):
    """Answers at points, (N, points, classes + 5): logits, centre-ness, distances to the four sides."""

    def __init__(self, channels, width, classes):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(channels, width // 2, 3, 2), nn.ReLU(), conv_norm(width // 2, width, 3, 2),
                                  nn.ReLU(), Block(width, width, 1))
        widths = [width, 2 * width, 4 * width, 4 * width]
        self.stages = nn.ModuleList(nn.Sequential(Block(a, b, 2), Block(b, b, 1)) for a, b in zip(widths, widths[1:]))
        own = 2 * width
        self.lateral = nn.ModuleList(nn.Conv2d(w, own, 1) for w in widths[1:])
        self.output = nn.ModuleList(nn.Conv2d(own, own, 3, padding=1) for _ in STRIDES)
        self.kinds, self.sides = tower(own), tower(own)
        self.logits = nn.Conv2d(own, classes, 3, padding=1)
        self.centre, self.distances = nn.Conv2d(own, 1, 3, padding=1), nn.Conv2d(own, 4, 3, padding=1)
        for layer, bias in ((self.logits, -math.log(99)), (self.centre, 0), (self.distances, 1)):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.constant_(layer.bias, bias)
        self.scale = nn.ParameterList(torch.ones(1) for _ in STRIDES)

    def forward(self, x):
        x = self.stem(x)
        features = []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        above, rows = None, []
        for k in reversed(range(len(STRIDES))):
            own = self.lateral[k](features[k])
            above = own if above is None else own + F.interpolate(above, scale_factor=2, mode="nearest")
            features[k] = self.output[k](above)
        for k, stride in enumerate(STRIDES):
            kinds, sides = self.kinds(features[k]), self.sides(features[k])
            distances = F.softplus(self.distances(sides) * self.scale[k]) * stride
            level = torch.cat([self.logits(kinds), self.centre(sides), distances], 1)
            rows.append(level.flatten(2).transpose(1, 2))
        return torch.cat(rows, 1)


class Loss:
    """Focal loss of classes, GIoU of boxes and cross entropy of centre-ness, over the points that are to find a box."""

    def __init__(self, side, classes):
        self.classes = classes
        parts = []
        for k, stride in enumerate(STRIDES):
            at = (torch.arange(side // stride) + 0.5) * stride
            y, x = (v.flatten() for v in torch.meshgrid(at, at, indexing="ij"))
            low = 0 if k == 0 else REACH * stride / 2
            high = FAR if k == len(STRIDES) - 1 else REACH * stride
            parts.append(torch.stack([x, y] + [torch.full_like(x, v) for v in (low, high, RADIUS * stride)]))
        self.x, self.y, self.low, self.high, self.radius = torch.cat(parts, 1)

    @torch.no_grad()
    def assign(self, boxes, label):
        x, y = self.x[None, :, None], self.y[None, :, None]
        x0, y0, x1, y1 = boxes[:, None].unbind(3)
        left, top, right, bottom = x - x0, y - y0, x1 - x, y1 - y
        farthest = torch.maximum(torch.maximum(left, top), torch.maximum(right, bottom))
        nearest = torch.minimum(torch.minimum(left, top), torch.minimum(right, bottom))
        off = torch.maximum((left - right).abs(), (top - bottom).abs()) * 0.5
        area = (x1 - x0) * (y1 - y0)
        fits = ((nearest > 0) & (off < self.radius[:, None]) & (farthest > self.low[:, None]) &
                (farthest <= self.high[:, None]) & (area > 0))
        cost, best = torch.where(fits, area, FAR).min(2)
        positive = (cost < FAR / 2).float()
        box = boxes.gather(1, best[..., None].expand(-1, -1, 4))
        left, top = self.x - box[..., 0], self.y - box[..., 1]
        right, bottom = box[..., 2] - self.x, box[..., 3] - self.y
        across = torch.minimum(left, right) / torch.maximum(left, right).clamp(min=1e-3)
        down = torch.minimum(top, bottom) / torch.maximum(top, bottom).clamp(min=1e-3)
        centre = (across.clamp(0, 1) * down.clamp(0, 1)).sqrt() * positive
        return positive, label.gather(1, best), box, centre

    def __call__(self, z, targets):
        positive, label, box, centre = self.assign(*targets)
        logits, at_centre, distances = z.split([self.classes, 1, 4], 2)
        kinds = F.one_hot(label, self.classes) * positive[..., None]
        p = logits.sigmoid()
        right = p * kinds + (1 - p) * (1 - kinds)
        weight = 0.25 * kinds + 0.75 * (1 - kinds)
        focal = F.binary_cross_entropy_with_logits(logits, kinds, reduction="none") * weight * (1 - right) ** 2
        x0, y0 = self.x - distances[..., 0], self.y - distances[..., 1]
        x1, y1 = self.x + distances[..., 2], self.y + distances[..., 3]
        s0, t0, s1, t1 = box.unbind(2)
        both = ((torch.minimum(x1, s1) - torch.maximum(x0, s0)).clamp(min=0) *
                (torch.minimum(y1, t1) - torch.maximum(y0, t0)).clamp(min=0))
        either = (x1 - x0) * (y1 - y0) + (s1 - s0) * (t1 - t0) - both
        hull = (torch.maximum(x1, s1) - torch.minimum(x0, s0)) * (torch.maximum(y1, t1) - torch.minimum(y0, t0))
        giou = both / either.clamp(min=1e-12) - (hull - either) / hull.clamp(min=1e-12)
        cross = F.binary_cross_entropy_with_logits(at_centre[..., 0], centre, reduction="none")
        return (focal.sum() + ((1 - giou) * positive).sum() + (cross * positive).sum()) / positive.sum().clamp(min=1)


def batch(count, side, classes, boxes=16):
    """A picture's boxes are a sixteenth to a half of its side long."""
    length = side * (0.0625 + 0.4375 * torch.rand(count, boxes, 2))
    corner = (side - length) * torch.rand(count, boxes, 2)
    return (torch.randn(count, 3, side, side),
            (torch.cat([corner, corner + length], 2), torch.randint(0, classes, (count, boxes))))
