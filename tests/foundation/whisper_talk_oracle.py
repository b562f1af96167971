"""whisper_talk_oracle.py FOLDER: writes a small multilingual Whisper of random weights, as transformers saves it, and
what transformers' generate finds in the recordings of test_whisper_transcribe.c: segments.txt has a line per segment,
"RECORDING LANGUAGE TASK FROM TO TOKEN ...". A LANGUAGE of "?" is detected. Segments that begin after the recording
are omitted. doubtful.txt has the same with context and fallback, as whisper_patches.py describes; the temperature and
the compression by zlib stand after its RECORDING.

    python3 tests/foundation/whisper_talk_oracle.py tests/golden/foundation/whisper/talk
"""
import json
import sys

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

from whisper_patches import Patches

LEAST, MOST = -1.7, 2.4  # limits of doubtful windows
torch.set_num_threads(1)  # spinning threads are slow on a busy machine
TEXT, END, START, TRANSLATE, TRANSCRIBE, NO_TIMES, POSITIONS, SEED = 60, 60, 61, 65, 66, 70, 50, 2
LANGUAGES = {"<|en|>": 62, "<|de|>": 63, "<|fr|>": 64}
VOCABULARY = NO_TIMES + 1 + POSITIONS + 1


def make_tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = ["Ġ"] + [c for c in letters if c.isascii()][: TEXT - 1]
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["endoftext", "startoftranscript", "en", "de", "fr", "translate", "transcribe", "startoflm", "startofprev",
             "nospeech", "notimestamps"]
    tokenizer.add_special_tokens([AddedToken(f"<|{n}|>", special=True) for n in names])
    return tokenizer


def noise(count):
    x = np.empty(count, np.float32)
    state = 12345
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        x[i] = np.float32((state >> 16) - 32768) / np.float32(65536)
    return x


def recordings():
    """Noise; a saw; both, with pauses, in a recording of several windows."""
    i = np.arange(60000)
    saw = ((i * 37) % 1024 - 512).astype(np.float32) / np.float32(1024)
    yield noise(8000)
    yield saw[:16000]
    x = saw * np.float32(0.5) + noise(60000) * np.float32(0.25)
    x[(i // 6000) % 3 == 2] = 0
    yield x[:59200]


def make_model(seed):
    torch.manual_seed(seed)
    suppressed = [3, 7, START, *LANGUAGES.values(), TRANSLATE, TRANSCRIBE, 67, 68, 69]
    config = WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=10, d_model=24, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=36,
        max_source_positions=POSITIONS, max_target_positions=24, pad_token_id=END, bos_token_id=END, eos_token_id=END,
        decoder_start_token_id=START, suppress_tokens=None, begin_suppress_tokens=None)
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("embed_tokens.weight"):
                p.normal_(0, 0.3)
            elif "layer_norm" in name and name.endswith("weight"):
                p.normal_(1, 0.2)
            else:
                p.normal_(0, 0.2 if p.dim() == 1 else 0.3)
    model = model.half().float()
    g = model.generation_config
    g.suppress_tokens, g.begin_suppress_tokens = suppressed, [0, END]
    g.lang_to_id, g.task_to_id = LANGUAGES, {"translate": TRANSLATE, "transcribe": TRANSCRIBE}
    g.is_multilingual, g.no_timestamps_token_id, g.max_initial_timestamp_index, g.max_length = True, NO_TIMES, 10, 20
    return model


def least_margin(segments):
    """The smallest difference between the best two scores: results must not depend on rounding."""
    least = 1e9
    for s in segments:
        for row in s["result"]["scores"]:
            best = torch.topk(row.flatten(), 2).values
            least = min(least, float(best[0] - best[1]))
    return least


def find(model):
    """Lines, smallest margin."""
    extractor = WhisperFeatureExtractor(feature_size=10, chunk_length=1)
    lines, least = [], 1e9
    for number, x in enumerate(recordings()):
        long = len(x) > 16000
        mel = extractor(x, sampling_rate=16000, return_tensors="pt", truncation=not long,
                        padding="longest" if long else "max_length").input_features
        for language, task in ((None, "transcribe"), ("de", "transcribe"), ("fr", "translate")):
            with torch.no_grad():
                found = model.generate(mel, language=language, task=task, return_timestamps=True, num_beams=1,
                                       return_dict_in_generate=True, output_scores=True, return_segments=True)
            least = min(least, least_margin(found["segments"][0]))
            for s in found["segments"][0]:
                if float(s["start"]) > len(x) / 16000 - 0.005:
                    continue
                lines.append(f"{number} {language or '?'} {task} {float(s['start']):.2f} {float(s['end']):.2f} "
                             + " ".join(str(int(t)) for t in s["tokens"]))
    return lines, least


def find_doubtful(model):
    """Lines with context and fallback, of German, and the patches."""
    extractor = WhisperFeatureExtractor(feature_size=10, chunk_length=1)
    lines = []
    model.generation_config.prev_sot_token_id = NO_TIMES - 2
    patches = Patches(model, make_tokenizer(), END, best_of=3, seed=14)
    for number, x in enumerate(recordings()):
        long = len(x) > 16000
        mel = extractor(x, sampling_rate=16000, return_tensors="pt", truncation=not long,
                        padding="longest" if long else "max_length").input_features
        with torch.no_grad():
            found = model.generate(mel, language="de", task="transcribe", return_timestamps=True, num_beams=1,
                                   return_dict_in_generate=True, output_scores=True, return_segments=True,
                                   **patches.arguments(LEAST, 1.0, MOST))
        windows = sorted(patches.accepted)
        for s in found["segments"][0]:
            window = float(s["start"]) - 0.02 * max(0, int(s["tokens"][0]) - NO_TIMES - 1)
            at = min(windows, key=lambda w: abs(w / 100 - window))
            if float(s["start"]) > len(x) / 16000 - 0.005:
                continue
            temperature, ratio, _ = patches.accepted[at]
            lines.append(f"{number} {temperature} {ratio:.4f} de transcribe {float(s['start']):.2f} "
                         f"{float(s['end']):.2f} " + " ".join(str(int(t)) for t in s["tokens"]))
    return lines, patches


def main():
    folder = sys.argv[1]
    model = make_model(int(sys.argv[2]) if len(sys.argv) > 2 else SEED)
    lines, least = find(model)
    print(f"{len(lines)} segments, smallest margin {least:.3g}", file=sys.stderr)
    doubtful, patches = find_doubtful(model)
    print(f"{len(doubtful)} doubtful segments, smallest margins of draws {patches.margin:.3g}, of means "
          f"{patches.log_margin:.3g}, of compression {min(abs(r - MOST) for r in patches.ratios):.3g}", file=sys.stderr)
    if folder == "-":
        print("\n".join(lines + doubtful))
        return
    model.half().save_pretrained(folder)
    make_tokenizer().save(folder + "/tokenizer.json")
    with open(folder + "/preprocessor_config.json", "w") as file:
        json.dump({"feature_size": 10, "hop_length": 160, "n_fft": 400, "nb_max_frames": 2 * POSITIONS,
                   "sampling_rate": 16000}, file, indent=2)
    with open(folder + "/segments.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(folder + "/doubtful.txt", "w") as file:
        file.write("\n".join(doubtful) + "\n")


main()
