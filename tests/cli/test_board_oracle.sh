#!/bin/sh
# labels: device oracle
# TensorBoard's own reader finds in a run's folder the network, the settings, pictures, and histograms of all weights.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import tensorboard, numpy' 2>/dev/null || { echo 'SKIP: no python3 with tensorboard and numpy'; exit 77; }
"$python" - "$work" <<'PYTHON' || { echo 'SKIP: no pictures'; exit 77; }
import os, struct, sys
import numpy as np
rng = np.random.default_rng(0)
pixels, labels = rng.integers(0, 256, (80, 9, 8), np.uint8), (np.arange(80) % 2).astype(np.uint8)
head = struct.pack(">4i", 2051, 80, 9, 8)
os.mkdir(sys.argv[1] + "/data")
open(sys.argv[1] + "/data/train-images-idx3-ubyte", "wb").write(head + pixels.tobytes())
open(sys.argv[1] + "/data/train-labels-idx1-ubyte", "wb").write(struct.pack(">2i", 2049, 80) + labels.tobytes())
np.save(sys.argv[1] + '/pixels.npy', pixels)
PYTHON
run train --data "$work/data" --model mlp --epochs 2 --batch 16 --quiet --out "$work/run"
ends 0 '' ''
"$python" - "$work" <<'PYTHON' || failed=1
import io, sys
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = EventAccumulator(sys.argv[1] + '/run', size_guidance={'tensors': 0, 'images': 0, 'histograms': 0, 'scalars': 0})
run.Reload()
tags = run.Tags()
assert {'loss/training', 'loss/validation', 'learning_rate'} <= set(tags['scalars']), tags
(config,) = run.Tensors('config.json')
assert b'"task": "classify"' in config.tensor_proto.string_val[0]
assert 'batch/image' in [n.name for n in run.Graph().node]
import json
raw = open(sys.argv[1] + '/run/last.safetensors', 'rb').read()
length = int.from_bytes(raw[:8], 'little')
header = json.loads(raw[8:8 + length])
weights = [n for n in header if n.split('.')[-1] in ('weight', 'bias') and n.count('.') == 1]
assert weights and {'weights/' + n for n in weights} <= set(tags['histograms']), (weights, tags)
for name in weights:
    begin, end = header[name]['data_offsets']
    values = np.frombuffer(raw[8 + length + begin:8 + length + end], np.float32).astype(np.float64)
    events = run.Histograms('weights/' + name)
    assert len(events) == 2
    h = events[-1].histogram_value
    assert (h.num, h.min, h.max) == (values.size, values.min(), values.max()), name
    assert np.isclose(h.sum_squares, (values ** 2).sum(), rtol=1e-12)
if tags['images']:
    from PIL import Image
    (shown,) = run.Images('training pictures')
    grid = np.asarray(Image.open(io.BytesIO(shown.encoded_image_string)))
    assert grid.shape == (36, 32), grid.shape
    cells = {grid[r * 9:r * 9 + 9, q * 8:q * 8 + 8].tobytes() for r in range(4) for q in range(4)}
    assert len(cells) == 16 and cells <= {p.tobytes() for p in np.load(sys.argv[1] + '/pixels.npy')}
print('the run is shown as it is')
PYTHON
exit "$failed"
