"""Compares what test_geometry_oracle.c wrote to FOLDER with torchvision: x.npy, the pictures; y.npy, what they became;
draws.npy, a row a picture: shift across and down, mirrored, angle, factor.

usage: test_geometry_oracle.py FOLDER TOLERANCE"""
import sys

import numpy
import torch
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional

folder, tolerance = sys.argv[1], float(sys.argv[2])
x, y, draws = (numpy.load(f"{folder}/{name}.npy").astype("float64") for name in ("x", "y", "draws"))
worst = 0.0
for picture, got, (dx, dy, mirrored, angle, zoom) in zip(x, y, draws):
    # Mica samples at R(angle) p / zoom + shift; torchvision maps forward: R(-angle) zoom, and the shift turned back.
    cosine, sine = numpy.cos(-angle), numpy.sin(-angle)
    shift = [-zoom * (cosine * dx - sine * dy), -zoom * (sine * dx + cosine * dy)]
    want = functional.affine(torch.tensor(picture), -numpy.degrees(angle), shift, zoom, [0.0, 0.0],
                             interpolation=InterpolationMode.BILINEAR)
    want = torch.flip(want, [2]) if mirrored else want
    worst = max(worst, float((torch.tensor(got) - want).abs().max()))
print(f"largest difference from torchvision: {worst:.2e}")
sys.exit(0 if worst <= tolerance else 1)
