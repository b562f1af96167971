"""python3 tests/ops/blocks_golden.py > tests/ops/blocks_golden.h: what gguf (PyPI, 0.17 or later) makes of blocks.

Bytes are those of the generator that test_blocks.c has too; the upper exponent bit of every f16 scale is cleared, so
that all values are finite."""
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize, quantize, GGML_QUANT_SIZES

BLOCKS = 512
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "MXFP4": []}
FORMULAS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"]


def numbers(seed, count):
    out = np.empty(count, np.uint32)
    state = seed
    for i in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        out[i] = state
    return out


def hashed(data):
    h = 0xCBF29CE484222325
    for byte in data.tobytes():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def random_blocks(name):
    elements, size = GGML_QUANT_SIZES[T[name]]
    blocks = (numbers(int(T[name]) + 1, BLOCKS * size) >> 24).astype(np.uint8).reshape(BLOCKS, size)
    for at in SCALES[name]:
        blocks[:, at + 1] &= 0xBF
    return blocks


def random_elements(name):
    """Blocks of different magnitude, of one sign, and of zeros."""
    elements, _ = GGML_QUANT_SIZES[T[name]]
    n = numbers(int(T[name]) + 101, BLOCKS * elements)
    x = ((n >> 8).astype(np.float32) * np.float32(2**-23) - np.float32(1)).reshape(BLOCKS, elements)
    for b in range(BLOCKS):
        x[b] *= np.float32(2.0 ** (b % 32 - 20))
        if b % 5 == 1:
            x[b] = np.abs(x[b])
        if b % 67 == 2:
            x[b] = 0
    return x


print("/* Made by tests/ops/blocks_golden.py: FNV-1a of results of the gguf package, and the first values. */")
print(f"#define GOLDEN_BLOCKS {BLOCKS}")
print("static const struct golden {\n  mica_block type;\n  int scales[2]; /* offsets of f16 scales; -1: none */")
print("  uint64_t dequantized, quantized; /* 0: there is no formula */\n  float first[8];\n} goldens[] = {")
for name, scales in SCALES.items():
    values = dequantize(random_blocks(name).reshape(1, -1), T[name]).astype(np.float32)
    made = hashed(quantize(random_elements(name), T[name])) if name in FORMULAS else 0
    at = (scales + [-1, -1])[:2]
    first = ", ".join(f"{v.hex()}f" for v in map(float, values[0][:8]))
    print(f"    {{MICA_BLOCK_{name}, {{{at[0]}, {at[1]}}}, UINT64_C({hashed(values):#x}), UINT64_C({made:#x}),")
    print(f"     {{{first}}}}},")
print("};")
