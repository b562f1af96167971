#!/bin/sh
# labels: null single
#
# Files of Mica's read by another reader of the format, and the reverse: one written with numpy after the format's
# description goes through Mica, and is read again with numpy.
set -eu
python=''
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate && break; fi
done
[ "$python" ] || { echo "SKIP: no python3 with numpy"; exit 77; }
work=$(mktemp -d "$MICA_BUILD_DIR/safetensors.XXXXXX")
trap 'rm -rf "$work"' EXIT

cat >"$work/format.py" <<'PYTHON'
import json, struct, sys
import numpy as np

TYPES = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2', 'I64': '<i8', 'I32': '<i4', 'I16': '<i2', 'I8': 'i1',
         'U64': '<u8', 'U32': '<u4', 'U16': '<u2', 'U8': 'u1', 'BOOL': '?'}

def write(path, tensors, metadata):
    header, data = {'__metadata__': metadata}, b''
    for name, (kind, array) in tensors.items():
        raw = array.astype(TYPES[kind]).tobytes()
        header[name] = {'dtype': kind, 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)

def read(path):
    raw = open(path, 'rb').read()
    (n,) = struct.unpack('<Q', raw[:8])
    assert n % 8 == 0, 'the data is not aligned'
    header, data = json.loads(raw[8:8 + n]), raw[8 + n:]
    metadata, tensors, covered = header.pop('__metadata__', {}), {}, 0
    for name, about in sorted(header.items(), key=lambda item: item[1]['data_offsets']):
        begin, end = about['data_offsets']
        assert begin == covered, 'a gap'
        covered = end
        kind = about['dtype']
        tensors[name] = kind, np.frombuffer(data[begin:end], TYPES[kind]).reshape(about['shape'])
        assert begin % tensors[name][1].itemsize == 0, name + ' is not aligned'
    assert covered == len(data), 'bytes left over'
    # What Mica adds: a hash of the file.
    metadata.pop('mica.hash', None)
    return tensors, metadata

random = np.random.default_rng(6)
tensors = {'%s.%d' % (kind, rank): (kind, random.integers(0, 2 if kind == 'BOOL' else 100, (3, 1, 5, 2)[:rank]))
           for rank in (1, 0, 4, 2) for kind in TYPES}
tensors['nan and \u221e'] = 'F32', np.array([np.nan, np.inf, -0.0], '<f4')
tensors['empty'] = 'I8', np.zeros((0, 3))
metadata = {'format': 'pt', 'quote': 'a "b" \\ \n', 'umlaut': 'gr\u00fc\u00df', 'emoji': '\U0001f600'}
if sys.argv[1] == 'write':
    write(sys.argv[2], tensors, metadata)
else:
    got, texts = read(sys.argv[2])
    assert texts == metadata, texts
    assert set(got) == set(tensors), set(got) ^ set(tensors)
    for name, (kind, array) in tensors.items():
        assert got[name][0] == kind, name
        assert got[name][1].tobytes() == array.astype(TYPES[kind]).tobytes(), name
        assert got[name][1].shape == array.shape, name
    print(len(got), 'tensors are equal')
PYTHON
"$python" "$work/format.py" write "$work/from.safetensors"
"$MICA_BUILD_DIR/bin/tests/safetensors_copy" "$work/from.safetensors" "$work/to.safetensors"
"$python" "$work/format.py" compare "$work/to.safetensors"
