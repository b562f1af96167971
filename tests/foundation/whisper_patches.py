"""Makes transformers' generate choose and judge Whisper's tokens as OpenAI's program and Mica do:

- compression is that of the text, by zlib;
- tokens are drawn by Mica's own random numbers, and the best of several texts is taken;
- after a window at a temperature above 0.5, no later window sees what was before;
- the length of one window does not raise the limit of the next one.

    patches = Patches(model, tokenizer, end, first_time, best_of, seed)
    model.generate(..., **patches.arguments(least_log_probability))
"""
import zlib

import torch
from transformers.generation import GenerationMixin
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MASK = 0xFFFFFFFF


def philox(c, key0, key1):
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key0, b & MASK, (a >> 32) ^ c[3] ^ key1, a & MASK]
        key0, key1 = (key0 + 0x9E3779B9) & MASK, (key1 + 0xBB67AE85) & MASK
    return c


def draw_at(seed, seek, temperature, number, token):
    c = philox([seek & MASK, seek >> 32, token, number << 8 | round(10 * temperature)], seed & MASK, seed >> 32)
    return ((c[0] >> 5) * 67108864.0 + (c[1] >> 6)) / 9007199254740992.0


class Patches:
    def __init__(self, model, tokenizer, end, best_of=1, seed=0):
        self.tokenizer, self.end, self.best_of, self.seed = tokenizer, end, best_of, seed
        self.seek = self.temperature = self.number = self.token = 0
        self.reset, self.limit, self.window = 0, None, -1
        self.ratios, self.margin, self.log_margin, self.temperatures, self.accepted = [], 1e9, 1e9, [], {}
        self.plain = {name: getattr(WhisperGenerationMixin, name) for name in
                      ("generate_with_fallback", "_prepare_decoder_input_ids", "_set_max_new_tokens_and_length",
                       "_need_fallback")}
        self.generate, self.multinomial = GenerationMixin.generate, torch.multinomial
        cls = type(model)
        cls._retrieve_compression_ratio = staticmethod(lambda tokens, vocabulary: self.compression(tokens))
        cls._prepare_decoder_input_ids = staticmethod(self.prepare)
        cls.generate_with_fallback = lambda model, *a, **k: self.fall_back(model, *a, **k)
        cls._set_max_new_tokens_and_length = lambda model, *a, **k: self.set_length(model, *a, **k)
        cls._need_fallback = lambda model, *a, **k: self.judge(model, *a, **k)
        GenerationMixin.generate = lambda model, *a, **k: self.generate_best(model, *a, **k)
        torch.multinomial = self.draw

    def arguments(self, least_log_probability=-1.0, no_speech=0.6, compression=2.4):
        self.reset, self.limit, self.accepted = 0, None, {}
        self.least = least_log_probability
        return {"temperature": TEMPERATURES, "compression_ratio_threshold": compression,
                "logprob_threshold": least_log_probability, "no_speech_threshold": no_speech,
                "condition_on_prev_tokens": True, "top_k": 0}

    def text(self, tokens):
        return self.tokenizer.decode([int(t) for t in tokens if t < self.end]).strip()

    def compression(self, tokens):
        text = self.text(tokens).encode()
        ratio = len(text) / len(zlib.compress(text))
        self.ratios.append(ratio)
        return ratio

    def prepare(self, **given):
        segments, condition = given["current_segments"], given["do_condition_on_prev_tokens"]
        if not condition[0]:
            self.reset = len(segments[0])
        given["current_segments"] = [segments[0][self.reset:]]
        given["do_condition_on_prev_tokens"] = [True]
        return self.plain["_prepare_decoder_input_ids"](**given)

    def set_length(self, model, **given):
        config = given["generation_config"]
        self.limit = self.limit or config.max_length
        config.max_length = self.limit
        self.plain["_set_max_new_tokens_and_length"](model, **given)

    def fall_back(self, model, **given):
        self.seek = int(given["seek"][0])
        return self.plain["generate_with_fallback"](model, **given)

    def judge(self, model, sequence, outputs, index, processors, config, vocabulary, temperature):
        mean = float(model._retrieve_avg_logprobs(outputs[index]["scores"], sequence, temperature))
        self.log_margin = min(self.log_margin, abs(mean - self.least))
        needs, skip = self.plain["_need_fallback"](model, sequence, outputs, index, processors, config, vocabulary,
                                                   temperature)
        self.accepted[self.seek] = (temperature, self.ratios[-1], skip)
        return needs, skip

    def generate_best(self, model, *given, **named):
        config = named["generation_config"]
        self.temperature = config.temperature if config.do_sample else 0
        best, found = None, None
        for self.number in range(self.best_of if config.do_sample else 1):
            self.token = 0
            out = self.generate(model, *given, **named)
            start = named["decoder_input_ids"].shape[-1]
            chosen = out["sequences"][0]
            chosen = chosen[len(chosen) - len(out["scores"]):]
            scale = self.temperature or 1
            total = sum(float(torch.log_softmax(s[0].float() * scale, -1)[t])
                        for s, t in zip(out["scores"], chosen, strict=True))
            count = int((chosen != self.end).sum())
            score = total / count if count else -1e30
            del start
            if best is None or score > best:
                best, found = score, out
        return found

    def draw(self, probabilities, num_samples, **named):
        assert num_samples == 1 and len(probabilities) == 1 and not named
        p = probabilities[0].double()
        sums = torch.cumsum(p, 0)
        at = draw_at(self.seed, self.seek, self.temperature, self.number, self.token) * float(sums[-1])
        self.margin = min(self.margin, float((sums - at).abs().min()))
        self.token += 1
        return torch.searchsorted(sums, torch.tensor([at], dtype=torch.float64), right=True).reshape(1, 1)
