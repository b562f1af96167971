#!/bin/sh
# labels: device oracle
# Weights of Keras models (.h5) through samples/keras_to_safetensors.py: the network cnn, and layers of each kind,
# answer as Keras does.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
for backend in torch tensorflow jax; do
  KERAS_BACKEND=$backend "$python" -c 'import keras, h5py' 2>/dev/null && break
  backend=''
done
[ "$backend" ] || { echo 'SKIP: no python3 with keras and h5py'; exit 77; }
export KERAS_BACKEND="$backend"
script=$MICA_SOURCE_DIR/samples/keras_to_safetensors.py
cd "$work" || exit 1
cat >make.py <<'PYTHON'
import keras, numpy as np
from keras import layers as L

keras.utils.set_random_seed(1)
# The network cnn: convolution, pooling, relu, twice; two dense layers.
cnn = keras.Sequential([keras.Input((12, 8, 3)), L.Conv2D(32, 3, padding='same', name='first'), L.MaxPooling2D(),
                        L.ReLU(), L.Conv2D(64, 3, padding='same', name='second'), L.MaxPooling2D(), L.ReLU(),
                        L.Flatten(), L.Dense(128, activation='relu', name='third'), L.Dense(10, name='fourth')])
for w in cnn.weights:
    w.assign(np.random.default_rng(len(w.path)).normal(0, 0.1, w.shape))
x = np.random.default_rng(2).normal(0, 1, (4, 12, 8, 3)).astype(np.float32)
np.save('x.npy', np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
np.save('y.npy', np.asarray(cnn.predict(x, verbose=0)))
cnn.save('cnn.h5')
cnn.save_weights('only.weights.h5')
# Layers of each kind, without Flatten.
mixed = keras.Sequential([keras.Input((6, 5, 2)), L.DepthwiseConv2D(3, depth_multiplier=2, name='deep'),
                          L.BatchNormalization(name='norm'), L.GlobalAveragePooling2D(),
                          L.LayerNormalization(name='ln'), L.Dense(3, name='last')])
for k, w in enumerate(mixed.weights):
    w.assign(np.random.default_rng(k).uniform(0.5, 1.5, w.shape))
z = np.random.default_rng(3).normal(0, 1, (4, 6, 5, 2)).astype(np.float32)
np.savez('mixed.npz', z=z, y=np.asarray(mixed.predict(z, verbose=0)))
mixed.save('mixed.h5')
keras.Sequential([keras.Input((4, 2)), L.GRU(3)]).save('gru.h5')
PYTHON
"$python" make.py >log 2>&1 || { cat log; exit 1; }

ran=keras_to_safetensors.py
"$python" "$script" cnn.h5 cnn.safetensors --names first=conv1,second=conv2,third=fc1,fourth=fc2 >log 2>&1 ||
  fault "$(cat log)"
grep -q 'third: inputs reordered, 64 channels' log || fault "$(cat log)"
run convert cnn.safetensors cnn.onnx --model cnn --shape 3x12x8
ends 0 '*' ''
run run cnn.onnx --input x=x.npy --out answers
ends 0 '*' ''
"$python" - <<'PYTHON' || failed=1
import glob, numpy as np
(path,) = glob.glob('answers/*.npy')
got, want = np.load(path), np.load('y.npy')
worst = np.abs(got - want).max()
print(f'cnn: Keras and Mica are {worst:.2g} apart, values to {np.abs(want).max():.3g}')
assert got.shape == want.shape and worst <= 1e-5 * np.abs(want).max()
PYTHON

# The layouts of the other layers, by their formulas in PyTorch's layout.
"$python" "$script" mixed.h5 mixed.safetensors >log 2>&1 || fault "$(cat log)"
"$python" - <<'PYTHON' || failed=1
import json, numpy as np
raw = open('mixed.safetensors', 'rb').read()
n = int.from_bytes(raw[:8], 'little')
t = {k: np.frombuffer(raw[8 + n:][v['data_offsets'][0]:v['data_offsets'][1]], '<f4').reshape(v['shape']).astype(float)
     for k, v in json.loads(raw[8:8 + n]).items()}
data = np.load('mixed.npz')
x = data['z'].transpose(0, 3, 1, 2).astype(float)
w = t['deep.weight']
assert w.shape == (4, 1, 3, 3)
taps = [(i, j) for i in range(3) for j in range(3)]
h = np.stack([sum(x[:, o // 2, i:i + 4, j:j + 3] * w[o, 0, i, j] for i, j in taps) for o in range(4)], 1)
of = lambda name: t[name][None, :, None, None]
h = h + of('deep.bias')
h = (h - of('norm.running_mean')) / np.sqrt(of('norm.running_var') + 1e-3) * of('norm.weight') + of('norm.bias')
h = h.mean((2, 3))
h = (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-3) * t['ln.weight'] + t['ln.bias']
y = h @ t['last.weight'].T + t['last.bias']
assert np.allclose(y, data['y'], rtol=1e-4, atol=1e-4), (y, data['y'])
PYTHON

refuses() {
  sentence=$1
  shift
  ! "$python" "$script" "$@" >log 2>&1 || fault 'it was taken'
  grep -q "$sentence" log || fault "$(cat log)"
}
refuses 'no model_config' only.weights.h5 a.safetensors
refuses 'is a GRU' gru.h5 a.safetensors
refuses 'File exists' cnn.h5 cnn.safetensors
refuses 'make.py' make.py a.safetensors
refuses 'names is a list' cnn.h5 a.safetensors --names first
[ ! -e a.safetensors ] || fault 'a file is left'
exit "$failed"
