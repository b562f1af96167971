"""whisper_real_oracle.py MICA MODEL DIGITS WORK [SECONDS...]: makes recordings of these lengths from the folder DIGITS
of spoken digits, transcribes each with MICA and with transformers' generate, and compares tokens and times: once with
context and fallback, as whisper_patches.py describes, and once without; two of them with --half too. Two differences
are expected: Mica makes no segment that begins after the recording, and a segment without a predicted end ends with the
recording at the latest.
Two attempts at a window may be judged differently if the compression of their text is within 0.1 of the limit: zlib and
libdeflate compress differently."""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import wave

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration

from whisper_patches import Patches

RATE, END, NO_TIMES = 16000, 50256, 50362
torch.set_num_threads(1)  # spinning threads are slow on a busy machine
SECONDS = [4, 12, 31, 34]


def read(path):
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def at_twice_the_rate(x):
    spectrum = np.zeros(len(x) + 1, complex)
    spectrum[: len(x) // 2 + 1] = np.fft.rfft(x)
    return 2 * np.fft.irfft(spectrum, 2 * len(x))


def make(digits, seconds, number, path):
    rng, noise = random.Random(number), np.random.default_rng(number)
    parts, count = [], 0
    files = sorted(glob.glob(digits + "/*.wav"))
    while count < seconds * RATE:
        parts += [at_twice_the_rate(read(rng.choice(files))), np.zeros(int(RATE * rng.choice([0.05, 0.2, 0.4, 1.5])))]
        count += len(parts[-2]) + len(parts[-1])
    count = int(seconds * RATE)
    x = np.concatenate(parts)[:count] + noise.normal(0, [0, 0.002, 0.02][number % 3], count)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(x, -1, 1) * 32767).round().astype("<i2").tobytes())


def open_model(folder):
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    with open(folder + "/config.json") as file:
        config = json.load(file)
    g = model.generation_config
    g.no_timestamps_token_id, g.is_multilingual, g.max_length = NO_TIMES, False, 448
    g.decoder_start_token_id, g.eos_token_id, g.pad_token_id = END + 1, END, END
    g.prev_sot_token_id = 50360
    g.suppress_tokens, g.begin_suppress_tokens = config["suppress_tokens"], config["begin_suppress_tokens"]
    return model


def wanted(model, x, how):
    long = len(x) > 30 * RATE
    mel = WhisperFeatureExtractor()(x, sampling_rate=RATE, return_tensors="pt", truncation=not long,
                                    padding="longest" if long else "max_length").input_features
    with torch.no_grad():
        found = model.generate(mel, return_timestamps=True, return_segments=True, return_dict_in_generate=True,
                               output_scores=True, num_beams=1, **how)
    for s in found["segments"][0]:
        tokens = s["tokens"].tolist()
        if float(s["start"]) >= len(x) / RATE or not any(t < END for t in tokens):
            continue
        last = min(float(s["end"]), len(x) / RATE) if not any(t > NO_TIMES + 1 for t in tokens) else float(s["end"])
        yield float(s["start"]), last, tokens


def compare(mica, folder, paths, options, make):
    """make: x to the segments that are wanted."""
    out = subprocess.run([mica, "transcribe", "--model", folder, "--json", *options, *paths], check=True,
                         stdout=subprocess.PIPE).stdout
    different = 0
    for text, path in zip(json.loads(out)["texts"], paths, strict=True):
        a = [(s["from"], s["to"], s["tokens"]) for s in text["segments"]]
        b, note = make(read(path))
        same = len(a) == len(b) and all(
            x[2] == y[2] and abs(x[0] - y[0]) < 1e-6 and abs(x[1] - y[1]) < 1e-6 for x, y in zip(a, b))
        different += not same
        print(f"{text['seconds']} s: {len(b)} segments {'equal' if same else 'differ'}{note}", flush=True)
        if not same:
            print(" got   ", a, "\n wanted", b)
    print(f"{len(paths) - different} of {len(paths)} recordings have equal tokens and times", *options, flush=True)
    return different


def write_fine(folder, work):
    """The model with f32 weights that f16 cannot hold; --half rounds the decoder's matrices."""
    fine = shutil.copytree(folder, os.path.join(work, "fine"))
    path = os.path.join(fine, "model.safetensors")
    weights = {name: (w.double() * (1 + 0.0004 * torch.sin(torch.arange(w.numel())).reshape(w.shape))).float()
               for name, w in load_file(path).items()}
    save_file(weights, path, {"format": "pt"})
    return fine


def compare_half(mica, folder, work, paths):
    fine = write_fine(folder, work)
    model = open_model(fine)
    with torch.no_grad():
        for p in model.model.decoder.parameters():
            if p.dim() == 2:
                p.copy_(p.half().float())
    return compare(mica, fine, paths, ["--half", "--no-fallback", "--no-context", "--no-speech", "1"],
                   lambda x: (list(wanted(model, x, {"do_sample": False})), ""))


def main():
    mica, folder, digits, work = sys.argv[1:5]
    lengths = [float(s) for s in sys.argv[5:]] or SECONDS
    model = open_model(folder)
    paths = [os.path.join(work, f"{i}.wav") for i in range(len(lengths))]
    for i, path in enumerate(paths):
        make(digits, lengths[i], i, path)
    different = compare(mica, folder, paths, ["--no-fallback", "--no-context", "--no-speech", "1"],
                        lambda x: (list(wanted(model, x, {"do_sample": False})), ""))
    patches = Patches(model, Tokenizer.from_file(folder + "/tokenizer.json"), END, best_of=5)

    def doubtful(x):
        found = list(wanted(model, x, patches.arguments()))
        return found, ", windows at temperatures " + " ".join(str(t) for t, _, _ in patches.accepted.values())

    different += compare(mica, folder, paths, [], doubtful)
    different += compare_half(mica, folder, work, paths[:2])
    sys.exit(different > 0)


main()
