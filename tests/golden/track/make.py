"""make.py FOLDER: writes the files that README.md names. Needs numpy, scipy and motmetrics.

The tracker is SORT with the matrices of its authors' program: a filter of seven states per track."""
import sys

import motmetrics as mm
import numpy as np
from scipy.optimize import linear_sum_assignment

folder = sys.argv[1]
OVERLAP, MAX_AGE, MIN_HITS = 0.3, 1, 3


def overlap(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)


class Track:
    F = np.eye(7) + np.eye(7, k=4)
    H = np.eye(4, 7)
    Q = np.diag([1, 1, 1, 1, 0.01, 0.01, 0.0001])
    R = np.diag([1.0, 1, 10, 10])

    def __init__(self, box, number):
        self.x = np.concatenate([self.measure(box), np.zeros(3)])
        self.P = np.diag([10.0, 10, 10, 10, 10000, 10000, 10000])
        self.id, self.hits, self.missed = number, 0, 0

    @staticmethod
    def measure(box):
        w, h = box[2] - box[0], box[3] - box[1]
        return np.array([box[0] + w / 2, box[1] + h / 2, w * h, w / h])

    def box(self):
        w = np.sqrt(self.x[2] * self.x[3])
        h = self.x[2] / w
        return np.array([self.x[0] - w / 2, self.x[1] - h / 2, self.x[0] + w / 2, self.x[1] + h / 2])

    def predict(self):
        if self.x[6] + self.x[2] <= 0:
            self.x[6] = 0
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        if self.missed > 0:
            self.hits = 0
        self.missed += 1
        return self.box()

    def update(self, box):
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ (self.measure(box) - self.H @ self.x)
        rest = np.eye(7) - K @ self.H
        self.P = rest @ self.P @ rest.T + K @ self.R @ K.T
        self.missed = 0
        self.hits += 1


def authors_pairs(overlaps):
    """As in the authors' program, which applies the least overlap after the assignment."""
    above = (overlaps > OVERLAP).astype(int)
    if above.sum(1).max() == 1 and above.sum(0).max() == 1:
        pairs = np.stack(np.where(above), axis=1)
    else:
        pairs = np.stack(linear_sum_assignment(-overlaps), axis=1)
    return {(i, k) for i, k in pairs if overlaps[i, k] >= OVERLAP}


def sort(frames):
    """[(boxes)] -> [(ids, filtered boxes)]"""
    tracks, last, out, differ = [], 0, [], 0
    for n, boxes in enumerate(frames, 1):
        predicted = [t.predict() for t in tracks]
        of = {}
        if tracks and len(boxes):
            overlaps = np.array([[overlap(b, p) for p in predicted] for b in boxes])
            kept = np.where(overlaps >= OVERLAP, overlaps, 0)
            of = {i: k for i, k in zip(*linear_sum_assignment(-kept)) if kept[i, k] > 0}
            differ += set(of.items()) != authors_pairs(overlaps)
        ids, filtered = [], []
        for i, box in enumerate(boxes):
            if i in of:
                t = tracks[of[i]]
                t.update(box)
            else:
                last += 1
                t = Track(box, last)
                tracks.append(t)
            ids.append(t.id if t.hits >= MIN_HITS or n <= MIN_HITS else 0)
            filtered.append(t.box())
        tracks = [t for t in tracks if t.missed <= MAX_AGE]
        out.append((ids, filtered))
    print("frames that the authors' program would assign otherwise:", differ)
    return out


def scene(seed, objects, frames, miss, clutter, jitter, hide):
    """True rows and found rows of a made scene: objects that come, move, turn, hide and leave."""
    r = np.random.default_rng(seed)
    truths, found = [], [[] for _ in range(frames)]
    for o in range(objects):
        at, speed = r.uniform(40, 440, 2), r.normal(0, 4, 2)
        size = np.array([r.uniform(20, 60), r.uniform(40, 120)])
        begin, end = sorted(r.integers(0, frames + 1, 2))
        if end - begin < 8:
            begin, end = 0, frames
        hidden = int(r.integers(begin, end)) if hide else -9
        for f in range(begin, end):
            at, size = at + speed, size * r.uniform(0.99, 1.02)
            speed = speed + r.normal(0, 0.3, 2)
            box = np.round([*(at - size / 2), *size], 2)
            truths.append((f + 1, o + 1, *box, 0 if o == 1 and f % 7 == 0 else 1))
            if r.random() < miss or 0 <= f - hidden < 4:
                continue
            off = np.round(r.normal(0, jitter, 4), 2)
            found[f].append([*(box + off), round(float(r.uniform(0.5, 1)), 3)])
    for f in range(frames):
        for _ in range(r.poisson(clutter)):
            found[f].append([*np.round(r.uniform(0, 440, 2), 2), *np.round(r.uniform(20, 100, 2), 2),
                             round(float(r.uniform(0.3, 0.7)), 3)])
        r.shuffle(found[f])
    return truths, found


def corners(x, y, w, h):
    return [x - 1, y - 1, x - 1 + w, y - 1 + h]


def scores(truths, results):
    """truths and results: (frame, id, x, y, w, h)"""
    acc = mm.MOTAccumulator(auto_id=False)
    for f in sorted({t[0] for t in truths} | {r[0] for r in results}):
        a, b = [t for t in truths if t[0] == f], [t for t in results if t[0] == f]
        distances = mm.distances.iou_matrix(np.array([t[2:6] for t in a]).reshape(-1, 4),
                                            np.array([t[2:6] for t in b]).reshape(-1, 4), max_iou=0.5)
        acc.update([t[1] for t in a], [t[1] for t in b], distances, frameid=f)
    names = ["num_frames", "num_objects", "num_predictions", "num_unique_objects", "num_detections", "num_switches",
             "num_misses", "num_false_positives", "mostly_tracked", "mostly_lost", "mota", "motp", "idf1", "idp", "idr"]
    return mm.metrics.create().compute(acc, metrics=names, return_dataframe=False)


def write(name, lines):
    with open(f"{folder}/{name}", "w") as file:
        file.writelines(line + "\n" for line in lines)


lines = []
for name, made in {"plain": (1, 6, 50, 0.05, 0.3, 1.0, False), "crowd": (2, 16, 40, 0.15, 1.0, 2.5, True),
                   "gaps": (3, 5, 60, 0.35, 0.2, 2.0, True), "blind": (4, 3, 20, 1.0, 0.0, 1.0, False),
                   "empty": (5, 0, 20, 0.0, 1.0, 1.0, False)}.items():
    truths, found = scene(*made)
    write(name + ".gt.txt", ["%d,%d,%g,%g,%g,%g,%d,1,1" % t for t in truths])
    write(name + ".det.txt", ["%d,-1,%.10g,%.10g,%.10g,%.10g,%g,-1,-1,-1" % (f + 1, *b)
                              for f, boxes in enumerate(found) for b in boxes])
    tracked = sort([[corners(*b[:4]) for b in boxes] for boxes in found])
    results, rows = [], []
    for f, (ids, filtered) in enumerate(tracked):
        for b, number, box in zip(found[f], ids, filtered):
            rows.append("%d %d " % (f + 1, number) + " ".join(repr(float(x)) for x in box))
            if number:
                results.append((f + 1, number, *b[:4]))
    write(name + ".sort.txt", rows)
    for key, value in scores([t for t in truths if t[6]], results).items():
        lines.append(f"{name} {key} {float(value)!r}")

# Tracks that exchange, lose and take over ids.
r = np.random.default_rng(6)
truths, _ = scene(7, 8, 60, 0, 0, 0, False)
names, results = list(range(101, 109)), []
for f in range(1, 61):
    if r.random() < 0.4:
        i, k = r.integers(0, 8, 2)
        names[i], names[k] = names[k], names[i]
    if r.random() < 0.1:
        names[r.integers(0, 8)] = 200 + f
    for t in truths:
        if t[0] == f and r.random() < 0.9:
            box = np.round(np.array(t[2:6]) + r.normal(0, 6, 4), 2)
            results.append((f, names[t[1] - 1], *box))
write("swaps.gt.txt", ["%d,%d,%g,%g,%g,%g,%d,1,1" % t for t in truths])
write("swaps.hyp.txt", ["%d,%d,%.10g,%.10g,%.10g,%.10g,1,-1,-1,-1" % row for row in results])
for key, value in scores([t for t in truths if t[6]], results).items():
    lines.append(f"swaps {key} {float(value)!r}")
write("scores.txt", lines)
