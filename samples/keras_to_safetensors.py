"""Converts the weights of a Keras model (.h5) to safetensors for Mica.

    python3 samples/keras_to_safetensors.py model.h5 model.safetensors --names conv2d=conv1,dense=fc1
    mica train --data DIR --model cnn --init model.safetensors --out RUN

Needs h5py and numpy. model.h5 is a file of model.save("model.h5"); tested with Keras 3.15. Names and layouts become
PyTorch's:

    Keras                                              safetensors
    Dense kernel (in, out)                             LAYER.weight (out, in)
    Conv1D, Conv2D, Conv3D kernel (..., in, out)       LAYER.weight (out, in, ...)
    DepthwiseConv2D kernel (h, w, in, multiplier)      LAYER.weight (in multiplier, 1, h, w)
    BatchNormalization gamma, beta                     LAYER.weight, LAYER.bias
    BatchNormalization moving_mean, moving_variance    LAYER.running_mean, LAYER.running_var
    LayerNormalization gamma, beta                     LAYER.weight, LAYER.bias
    Embedding embeddings                               LAYER.weight

Keras flattens pictures as (h, w, c), Mica as (c, h, w). Rows of the first Dense after a Flatten are reordered for it.
"""
import argparse
import json
import math
import sys

import h5py
import numpy as np

CONVOLUTIONS = ('Conv1D', 'Conv2D', 'Conv3D')
NAMES = {
    'kernel': 'weight', 'depthwise_kernel': 'weight', 'bias': 'bias', 'gamma': 'weight', 'beta': 'bias',
    'moving_mean': 'running_mean', 'moving_variance': 'running_var', 'embeddings': 'weight',
}
KNOWN = CONVOLUTIONS + ('Dense', 'DepthwiseConv2D', 'BatchNormalization', 'LayerNormalization', 'Embedding')


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def fail(sentence):
    sys.exit(f'keras_to_safetensors.py: {sentence}')


def layers_of(path, file):
    """The layers in order, as (name, class, configuration)."""
    if 'model_config' not in file.attrs or 'model_weights' not in file:
        fail(f'{path} has no model_config; save the whole model with model.save("model.h5")')
    config = json.loads(text(file.attrs['model_config']))['config']
    return [(layer['config']['name'], layer['class_name'], layer['config']) for layer in config['layers']]


def weights_of(group):
    """The arrays of a layer by their short name: kernel, bias, ..."""
    names = [text(name) for name in group.attrs.get('weight_names', [])]
    return {name.split('/')[-1].split(':')[0]: np.asarray(group[name]) for name in names}


def transpose(kind, name, array):
    if name == 'depthwise_kernel' or (kind == 'DepthwiseConv2D' and name == 'kernel'):
        height, width, channels, multiplier = array.shape
        return array.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
    if name != 'kernel':
        return array
    axes = list(range(array.ndim))
    return array.transpose(axes[-1:] + axes[-2:-1] + axes[:-2])


def reorder(kernel, channels):
    """Rows (h w, c) of a Dense kernel become (c, h w)."""
    rows, columns = kernel.shape
    return kernel.reshape(rows // channels, channels, columns).swapaxes(0, 1).reshape(rows, columns)


def convert(path, file, names):
    tensors, channels, flattened = {}, 0, 0
    for layer, kind, config in layers_of(path, file):
        if layer in file['model_weights']:
            weights = weights_of(file['model_weights'][layer])
        else:
            weights = {}
        if weights and kind not in KNOWN:
            fail(f'{path}: the layer "{layer}" is a {kind}, which is not converted; there are {", ".join(KNOWN)}')
        if kind in CONVOLUTIONS:
            channels = config['filters']
        elif kind == 'DepthwiseConv2D':
            channels *= config['depth_multiplier']
        elif kind == 'InputLayer' and not channels:
            shape = config.get('batch_shape') or config.get('batch_input_shape')
            channels = shape[-1] if shape and len(shape) == 4 else 0
        elif kind == 'Flatten' and config.get('data_format') != 'channels_first':
            flattened = channels
        elif kind.startswith('Global'):
            flattened = 0
        if kind == 'Dense' and flattened > 1:
            if weights['kernel'].shape[0] % flattened:
                fail(f'{path}: "{layer}" has {weights["kernel"].shape[0]} inputs, no multiple of {flattened} channels')
            weights['kernel'] = reorder(weights['kernel'], flattened)
            print(f'{layer}: inputs reordered, {flattened} channels')
        flattened = 0 if kind == 'Dense' else flattened
        channels = config['units'] if kind == 'Dense' else channels
        for name, array in weights.items():
            if name not in NAMES:
                fail(f'{path}: the weight "{name}" of "{layer}" is not converted')
            tensors[f'{names.get(layer, layer)}.{NAMES[name]}'] = transpose(kind, name, array)
    return tensors


def write(path, tensors):
    header, data = {}, []
    at = 0
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array, '<f4').tobytes()
        header[name] = {'dtype': 'F32', 'shape': list(array.shape), 'data_offsets': [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    start = json.dumps(header).encode()
    start += b' ' * (-len(start) % 8)
    with open(path, 'xb') as out:
        out.write(len(start).to_bytes(8, 'little') + start + b''.join(data))


def main():
    parser = argparse.ArgumentParser(description='Convert the weights of a Keras model to safetensors.')
    parser.add_argument('model', help='file of model.save("model.h5")')
    parser.add_argument('out', help='safetensors file to write')
    parser.add_argument('--names', default='', help="other names of layers, as in conv2d=conv1,dense=fc1")
    given = parser.parse_args()
    pairs = [pair.split('=') for pair in given.names.split(',') if pair]
    if any(len(pair) != 2 for pair in pairs):
        fail('--names is a list as in conv2d=conv1,dense=fc1')
    try:
        with h5py.File(given.model, 'r') as file:
            tensors = convert(given.model, file, dict(pairs))
    except OSError as error:
        fail(f'{given.model}: {error}')
    if not tensors:
        fail(f'{given.model} has no weights')
    try:
        write(given.out, tensors)
    except OSError as error:
        fail(f'{given.out}: {error}')
    for name, array in tensors.items():
        print(f'{name:40} {"x".join(map(str, array.shape))}')
    print(f'{len(tensors)} tensors, {sum(math.prod(t.shape) for t in tensors.values())} numbers')


if __name__ == '__main__':
    main()
