"""whisper_oracle.py FOLDER: writes what transformers computes of the signals and tokens of test_whisper.c, in
little-endian f32: features-SIGNAL-BINS.f32, one row of bins per frame of FRAMES; net/, a small model of random weights
with its features hidden.f32 and logits.f32.

    python3 tests/foundation/whisper_oracle.py tests/golden/foundation/whisper
"""
import sys

import numpy as np
import torch
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

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


def scaled(name, p):
    """Random weights for which logits spread over several units."""
    if name.endswith("embed_tokens.weight"):
        return p.normal_(0, 0.5)
    if "layer_norm" in name and name.endswith("weight"):
        return p.normal_(1, 0.2)
    return p.normal_(0, 0.2 if p.dim() == 1 else 0.25)


def write_model(folder):
    torch.manual_seed(7)
    config = WhisperConfig(
        vocab_size=131, num_mel_bins=10, d_model=24, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=36, max_source_positions=14,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None)
    model = WhisperForConditionalGeneration(config).eval()
    mel = (torch.arange(2 * 10 * 28).reshape(2, 10, 28) * 37 % 64 - 32).float() / 32
    ids = torch.arange(2 * 9).reshape(2, 9) * 29 % 131
    with torch.no_grad():
        for name, p in model.named_parameters():
            scaled(name, p)
        model = model.half()
        model.save_pretrained(folder)
        model = model.float()
        hidden = model.model.encoder(mel).last_hidden_state
        logits = model(input_features=mel, decoder_input_ids=ids).logits
    hidden.numpy().astype("<f4").tofile(folder + "/hidden.f32")
    logits.numpy().astype("<f4").tofile(folder + "/logits.f32")


def main():
    write_model(sys.argv[1] + "/net")
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
