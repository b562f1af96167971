#!/bin/sh
# labels: oracle single
#
# TensorBoard's own reader takes scalars, texts, pictures, histograms and graphs as Mica writes them.
set -eu
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import tensorboard, numpy' 2>/dev/null || { echo 'SKIP: no python3 with tensorboard and numpy'; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/events.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$MICA_BUILD_DIR/bin/tests/write_events" "$work"
"$python" - "$work" <<'PYTHON'
import sys
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

run = EventAccumulator(sys.argv[1], size_guidance={'tensors': 0, 'images': 0, 'histograms': 0, 'scalars': 0})
run.Reload()

def tensor(tag):
    (event,) = run.Tensors(tag)
    return event.step, tensor_util.make_ndarray(event.tensor_proto)

def scalar(tag):
    if tag in run.Tags()['scalars']:
        (event,) = run.Scalars(tag)
        return event.step, event.value
    step, value = tensor(tag)
    return step, value.item()

assert scalar('loss/train') == (3, 0.25)
step, text = tensor('settings')
assert step == 0 and text.item().decode() == '| a | ü |\n| --- | --- |', text
assert run.SummaryMetadata('settings').plugin_data.plugin_name == 'text'

if 'pixel' in run.Tags()['images']:
    (image,) = run.Images('pixel')
    assert (image.step, image.width, image.height) == (5, 1, 1)
    data = image.encoded_image_string
else:
    step, strings = tensor('pixel')
    assert step == 5 and [int(s) for s in strings[:2]] == [1, 1], strings
    data = strings[2]
assert data[:8] == b'\x89PNG\r\n\x1a\n' and len(data) == 67, len(data)

values = np.array([s * 10 ** (-13 + 0.034 * i) for i in range(1000) for s in (1, -1)] + [0, 0]).astype(np.float32)
values = values.astype(np.float64)
if 'values' in run.Tags()['histograms']:
    (histogram,) = run.Histograms('values')
    h = histogram.histogram_value
    assert h.num == 2002 and h.min == values.min() and h.max == values.max()
    assert abs(h.sum) <= 1e-9 * abs(values).sum() and np.isclose(h.sum_squares, (values ** 2).sum(), rtol=1e-12)
    right, count = np.array(h.bucket_limit), np.array(h.bucket)
    left = np.concatenate([[-np.inf], right[:-1]])
else:
    step, rows = tensor('values')
    left, right, count = rows.T
assert count.sum() == 2002
for a, b, n in zip(left, right, count):
    assert ((values > a) & (values <= b)).sum() == n, (a, b, n)
if 'nothing' in run.Tags()['histograms']:
    assert run.Histograms('nothing')[0].histogram_value.num == 0

graph = run.Graph()
nodes = {n.name: n for n in graph.node}
assert nodes['x'].op == 'input' and nodes['layer1/0/weight'].op == 'parameter', sorted(nodes)
(product,) = [n for n in graph.node if 'x' in n.input]
assert product.name.startswith('layer1/0/') and list(product.input) == ['x', 'layer1/0/weight']
(relu,) = [n for n in graph.node if product.name in n.input]
shape = nodes['x'].attr['_output_shapes'].list.shape[0]
assert [d.size for d in shape.dim] == [-1, 8]
assert len(nodes) == len(graph.node) and all(i in nodes for n in graph.node for i in n.input)
assert run.Tags()['graph']
print('scalars, texts, pictures, histograms and graphs are as written')
PYTHON
