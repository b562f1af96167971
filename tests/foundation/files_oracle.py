"""files_oracle.py write FOLDER COUNT               files of GGUFWriter, and one in three shards
   files_oracle.py shards FOLDER                    a folder of save_pretrained with small shards
   files_oracle.py gguf|gguf_shards|safetensors PATH LINES DATA
                                                    compares weights_tool's listing with the package's"""
import glob
import os
import sys

import numpy as np

KINDS = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'text', 'array', 'u64', 'i64', 'f64']
BLOCKS = ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K', 'MXFP4', 'IQ4_NL', 'Q2_K']


def random_value(random, kind):
    import gguf
    if kind == 'text':
        return ''.join(chr(c) for c in random.choice([65, 0xe4, 0x4e2d, 0x1f600, 10], random.integers(1, 9)))
    if kind == 'bool':
        return bool(random.integers(0, 2))
    if kind[0] == 'f':
        return float(np.float32(random.standard_normal())) if kind == 'f32' else float(random.standard_normal())
    bits = int(kind[1:])
    number = int.from_bytes(random.bytes(8), 'little') % 2 ** bits
    return number - 2 ** (bits - 1) if kind[0] == 'i' else number


def write_one(path, seed, shards=0):
    """Keys of every kind, tensors of numbers and of blocks, alignments of 8 to 4,096."""
    import gguf
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, 'llama', split_max_tensors=shards)
    types = dict(zip(KINDS, gguf.GGUFValueType))
    if seed % 4 == 1:
        writer.add_custom_alignment(int(2 ** random.integers(3, 13)))
    for i in range(int(random.integers(0, 30))):
        kind = KINDS[(seed + i) % len(KINDS)]
        if kind == 'array':
            inner = [k for k in KINDS if k not in ('array',)][int(random.integers(0, 12))]
            values = [random_value(random, inner) for _ in range(int(random.integers(1, 20)))]
            if random.integers(0, 4) == 0:
                writer.add_array('key.%d' % i, [values, values[:1]] if inner in ('text', 'bool') else [[1, 2], [3]])
            else:
                writer.add_key_value('key.%d' % i, values, gguf.GGUFValueType.ARRAY, types[inner])
        else:
            writer.add_key_value('key.%d' % i, random_value(random, kind), types[kind])
    for i in range(int(random.integers(3, 12)) if shards else int(random.integers(0, 12))):
        name = 'blk.%d.w\u00e4ight' % i
        if random.integers(0, 2):
            dtype = [np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64][i % 7]
            shape = tuple(int(d) for d in random.integers(0 if i % 5 == 4 else 1, 7, int(random.integers(1, 5))))
            writer.add_tensor(name, (random.standard_normal(shape) * 100).astype(dtype))
        else:
            block = gguf.GGMLQuantizationType[BLOCKS[i % len(BLOCKS)]]
            elements, size = gguf.GGML_QUANT_SIZES[block]
            rows, blocks = int(random.integers(1, 5)), int(random.integers(1, 4))
            raw = np.frombuffer(random.bytes(rows * blocks * size), np.uint8).reshape(rows, blocks * size)
            writer.add_tensor(name, raw, raw_dtype=block)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write(folder, count):
    os.makedirs(folder)
    for seed in range(int(count)):
        write_one(os.path.join(folder, '%02d.gguf' % seed), seed)
    seed = 1000
    while len(glob.glob(os.path.join(folder, 'shards-*'))) != 3:
        for old in glob.glob(os.path.join(folder, 'shards*')):
            os.remove(old)
        write_one(os.path.join(folder, 'shards.gguf'), seed, shards=3)
        seed += 1


def shards(folder):
    import torch
    import transformers
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=257, hidden_size=96, intermediate_size=200, num_hidden_layers=6,
                                      num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size='300KB')
    print(len(glob.glob(os.path.join(folder, '*.safetensors'))), 'shards of save_pretrained')


def value_text(kind, value):
    if kind == 'text':
        return "'" + bytes(value).hex()
    if kind[0] == 'f':
        return '%.17g' % value
    return str(min(int(value), 2 ** 63 - 1))


def decode(data, at, kind):
    """The text of a value in GGUF's bytes, and where it ends."""
    if kind == 'text':
        (length,) = np.frombuffer(data, '<u8', 1, at)
        end = at + 8 + int(length)
        return value_text(kind, data[at + 8:end]), end
    if kind == 'array':
        (number,), (count,) = np.frombuffer(data, '<u4', 1, at), np.frombuffer(data, '<u8', 1, at + 4)
        texts, at, inner = [], at + 12, KINDS[number]
        for _ in range(int(count)):
            text, at = decode(data, at, inner)
            texts.append(text)
        return ' '.join(['array %s %d' % (inner, count)] + texts), at
    dtype = np.dtype('?' if kind == 'bool' else '<' + kind[0] + str(int(kind[1:]) // 8))
    return value_text(kind, np.frombuffer(data, dtype, 1, at)[0]), at + dtype.itemsize


def gguf_lines(reader, path):
    """What GGUFReader found: it tells where a field begins and its type; nested arrays are flat there."""
    with open(path, 'rb') as file:
        data = file.read(reader.data_offset)
    for name, field in reader.fields.items():
        if name.startswith('GGUF.'):
            continue
        kind = KINDS[field.types[0]]
        at = field.offset + 8 + len(name.encode()) + 4
        text, end = decode(data, at, kind)
        assert end == field.offset + sum(part.nbytes for part in field.parts), name
        if kind == 'array' and field.data and 'array' not in [KINDS[t] for t in field.types[1:]]:
            inner = KINDS[field.types[1]]
            values = [field.parts[i] if inner == 'text' else field.parts[i][0] for i in field.data]
            assert text == ' '.join(['array %s %d' % (inner, len(values))] + [value_text(inner, v) for v in values])
        yield 'key %s %s' % (name, text if kind == 'array' else 'single %s 1 %s' % (kind, text))


def tensor_line(tensor):
    return ' '.join(['tensor', tensor.name, tensor.tensor_type.name] + [str(d) for d in tensor.shape[::-1]])


def compare_gguf(paths, lines, data):
    import gguf
    readers = [gguf.GGUFReader(path) for path in paths]
    want = list(gguf_lines(readers[0], paths[0]))
    keys = len(want)
    for reader in readers:
        for tensor in reader.tensors:
            want.append(tensor_line(tensor))
            raw = np.ascontiguousarray(tensor.data).tobytes()
            assert data.read(len(raw)) == raw, tensor.name
    for i, (got, line) in enumerate(zip(lines, want)):
        assert got == line, 'line %d:\n%.300s\n%.300s' % (i, got, line)
    assert len(lines) == len(want)
    print('%s: %d keys and %d tensors' % (os.path.basename(paths[0]), keys, len(want) - keys))


def compare_safetensors(path, lines, data):
    from safetensors import safe_open
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    want = {}
    for file in sorted(glob.glob(os.path.join(folder, '*.safetensors'))):
        with safe_open(file, 'pt') as tensors:
            for name in tensors.keys():
                import torch
                tensor = tensors.get_tensor(name)
                want[name] = ('BF16', list(tensor.shape), tensor.view(torch.int16).numpy().tobytes())
    for line in lines:
        _, name, kind, *shape = line.split()
        expected = want.pop(name)
        assert (kind, [int(d) for d in shape]) == expected[:2], line
        assert data.read(len(expected[2])) == expected[2], name
    assert not want, list(want)
    print(len(lines), 'tensors of', os.path.basename(path))


def main():
    if sys.argv[1] == 'write':
        return write(*sys.argv[2:])
    if sys.argv[1] == 'shards':
        return shards(*sys.argv[2:])
    kind, path, lines, data = sys.argv[1:]
    with open(lines, encoding='utf-8') as file:
        lines = file.read().splitlines()
    with open(data, 'rb') as data:
        if kind == 'gguf':
            compare_gguf([path], lines, data)
        elif kind == 'gguf_shards':
            compare_gguf(sorted(glob.glob(path.replace('-00001-of-', '-*-of-'))), lines, data)
        else:
            compare_safetensors(path, lines, data)
        assert not data.read(1), 'bytes left over'
    return None


if __name__ == '__main__':
    main()
