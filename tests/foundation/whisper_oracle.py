"""whisper_oracle.py FOLDER: writes the features that transformers' WhisperFeatureExtractor makes of the signals of
test_whisper.c, features-SIGNAL-BINS.f32: little-endian f32, one row of bins per frame of FRAMES.

    python3 tests/foundation/whisper_oracle.py tests/golden/foundation/whisper
"""
import sys

import numpy as np
from transformers import WhisperFeatureExtractor

FRAMES = [0, 1, 2, 3, 97, 998, 999, 1000, 1001, 1002, 2996, 2997, 2998, 2999]


def noise(count):
    x = np.empty(count, np.float32)
    state = 12345
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        x[i] = np.float32((state >> 16) - 32768) / np.float32(65536)
    return x


def signals():
    i = np.arange(480000)
    saw = ((i * 37) % 1024 - 512).astype(np.float32) / np.float32(1024)
    yield "noise", noise(160000)
    yield "saw", saw
    yield "both", saw * np.float32(0.5) + noise(480000) * np.float32(1 / 64)
    yield "silence", np.zeros(480000, np.float32)


def main():
    for bins in (80, 128):
        extractor = WhisperFeatureExtractor(feature_size=bins)
        for name, x in signals():
            y = extractor(x, sampling_rate=16000, return_tensors="np").input_features[0]
            padded = np.zeros(480000, np.float32)
            padded[: len(x)] = x
            double = extractor._np_extract_fbank_features(padded[None].astype(np.float64), "cpu")[0]
            print(name, bins, "torch against double:", np.abs(y - double).max(), file=sys.stderr)
            y[:, FRAMES].T.astype("<f4").tofile(f"{sys.argv[1]}/features-{name}-{bins}.f32")


main()
