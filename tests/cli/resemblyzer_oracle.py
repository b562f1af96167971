"""resemblyzer_oracle.py find: prints the weights of the package Resemblyzer; fails without it, torch and onnx.
resemblyzer_oracle.py sound SOUND.npy: writes three made voices.
resemblyzer_oracle.py check WEIGHTS SOUND.npy EMBEDDING.npy MELS.npy: the mels are those of torch's short-time Fourier
transform and, if it is there, of librosa's melspectrogram; the embeddings are those of torch's LSTM on them."""
import importlib.util
import os
import sys

import numpy as np


def find():
    import onnx  # noqa: F401
    import torch  # noqa: F401

    print(os.path.join(importlib.util.find_spec("resemblyzer").submodule_search_locations[0], "pretrained.pt"))


def sound(path):
    t, noise = np.arange(25600) / 16000, np.random.default_rng(1)
    tones = np.stack([0.1 * np.sin(2 * np.pi * f * t) + 0.05 * np.sin(4.2 * np.pi * f * t) for f in (110, 180, 240)])
    np.save(path, (tones + 0.01 * noise.standard_normal(tones.shape)).astype(np.float32))


def near(name, got, want, bound):
    apart = np.max(np.abs(got - want)) / np.max(np.abs(want))
    assert got.shape == want.shape and apart < bound, f"{name}: {apart} apart, shapes {got.shape} and {want.shape}"
    print(f"{name}: {apart:.2g} apart")


def check(weights, sound, embedding, mels):
    import torch

    state = torch.load(weights, map_location="cpu", weights_only=True)["model_state"]
    x, mels, embedding = torch.from_numpy(np.load(sound)), np.load(mels), np.load(embedding)
    try:
        import librosa

        how = dict(sr=16000, n_fft=400, hop_length=160, n_mels=40)
        want = [librosa.feature.melspectrogram(y=row.numpy(), **how) for row in x]
        near("librosa's mels", mels, np.stack(want).transpose(0, 2, 1), 1e-4)
    except ImportError:
        print("no librosa: mels beside torch alone")
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../samples"))
    import resemblyzer_to_onnx as converter

    power = torch.stft(x.double(), 400, 160, window=torch.hann_window(400, dtype=torch.float64), center=True,
                       pad_mode="constant", return_complex=True).abs() ** 2
    near("mels", mels, (torch.from_numpy(converter.filters()) @ power).transpose(1, 2).numpy(), 1e-5)
    lstm, linear = torch.nn.LSTM(40, 256, 3, batch_first=True).double(), torch.nn.Linear(256, 256).double()
    lstm.load_state_dict({k[5:]: v for k, v in state.items() if k.startswith("lstm.")})
    linear.load_state_dict({k[7:]: v for k, v in state.items() if k.startswith("linear.")})
    with torch.no_grad():
        _, (hidden, _) = lstm(torch.from_numpy(mels).double())
        want = torch.relu(linear(hidden[-1]))
    near("embeddings", embedding, (want / want.norm(dim=1, keepdim=True)).numpy(), 1e-5)


{"find": find, "sound": sound, "check": check}[sys.argv[1]](*sys.argv[2:])
