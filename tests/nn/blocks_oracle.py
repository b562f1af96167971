"""blocks_oracle.py [--compare] FILE: writes what layers of published language models give, as transformers computes
them in double, to a file of safetensors, or compares with it: CASE.y, and gradients CASE.d.x and CASE.d.PARAMETER of
the sum of y times noise "g".

Weights, inputs and g are noise of a name's hash, which test_blocks.c makes as well. Factors of rotary frequencies are
stored as CASE.factors and CASE.scale if they are not 1. Written with transformers 5.24 and torch 2.15:

    python3 tests/nn/blocks_oracle.py tests/nn/blocks.safetensors
"""
import importlib
import sys

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import modeling_rope_utils

B, T, C, HIDDEN = 2, 7, 12, 20
torch.set_default_dtype(torch.float64)


class Wide:
    """The module torch, whose single precision is double."""

    def __getattr__(self, name):
        return torch.float64 if name in ("float", "float32") else getattr(torch, name)


torch.Tensor.float = torch.Tensor.double
modeling_rope_utils.torch = Wide()


def noise(name, shape):
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    numbers = []
    for _ in range(int(np.prod(shape))):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append((state >> 33) * 2.0**-30 - 1)
    return np.array(numbers).astype(np.float32).reshape(shape)


def value_of(case, name, shape):
    """Norms are near 1, the rest is in [-0.5, 0.5)."""
    numbers = noise(case + "." + name, shape)
    near_one = "norm" in name and name.endswith("weight")
    return np.float32(1) + np.float32(0.25) * numbers if near_one else np.float32(0.5) * numbers


def plus_one(own):
    return lambda w: w[own] - 1


def transposed(own):
    return lambda w: w[own].T


def by_head(own, heads):
    """Rows of queries, keys and values, a head at a time."""
    return lambda w: w[own].unflatten(0, (3, heads, -1)).transpose(0, 1).flatten(0, 2)


def biased(*layers):
    return [layer + end for layer in layers for end in (".weight", ".bias")]


ATTENTION = {"self_attn.q_proj": "self_attn.q_proj", "self_attn.k_proj": "self_attn.k_proj",
             "self_attn.v_proj": "self_attn.v_proj", "self_attn.out_proj": "self_attn.o_proj"}
GATED = {"gate_proj": "mlp.gate_proj", "up_proj": "mlp.up_proj", "down_proj": "mlp.down_proj"}
NORMS = {"norm1": "input_layernorm", "norm2": "post_attention_layernorm"}
AROUND = {"norm1": "input_layernorm", "norm1_after": "post_attention_layernorm",
          "norm2": "pre_feedforward_layernorm", "norm2_after": "post_feedforward_layernorm"}
HEAD_NORMS = {"self_attn.q_norm": "self_attn.q_norm", "self_attn.k_norm": "self_attn.k_norm"}


class Case:
    """module, its classes of a config and of a model or a layer; sizes; own layers and the model's."""

    def __init__(self, module, config, model, layers, change=(), norm="norm", prefix="layers.0.", bare=False, **sizes):
        self.module = importlib.import_module("transformers.models." + module)
        self.modeling = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
        self.modeling.torch = Wide()
        common = {"hidden_size": C, "intermediate_size": HIDDEN, "num_hidden_layers": 1, "vocab_size": 3,
                  "attn_implementation": "eager", "pad_token_id": 0}
        self.config = getattr(transformers, config)(**{**common, **sizes})
        self.config._attn_implementation = "eager"
        self.model = getattr(self.modeling, model)(self.config).double().eval()
        self.layers, self.change, self.prefix, self.bare = layers, dict(change), prefix, bare
        if not bare:
            setattr(self.model, norm, torch.nn.Identity())

    def weights(self, case):
        """Own weights, and the model's by them."""
        theirs = dict(self.model.named_parameters())
        own, given = {}, {}
        for name, layer in self.layers.items():
            for end in ("weight", "bias"):
                key = self.prefix + layer + "." + end
                if key not in theirs:
                    continue
                shape = theirs.pop(key).shape
                full = name + "." + end
                change = self.change.get(full)
                if change is transposed:
                    shape = shape[::-1]
                own[full] = torch.tensor(value_of(case, full, shape)).double().requires_grad_()
                given[key] = change(full)(own) if change else own[full]
        for key, value in theirs.items():
            assert key.startswith(("embed", "wte", "wpe")), key
            given[key] = torch.zeros_like(value)
        return own, given

    def run(self, case):
        own, given = self.weights(case)
        x = torch.tensor(2 * noise(case + ".x", (B, T, C))).double().requires_grad_()
        if self.bare:
            y = torch.func.functional_call(self.model, given, (x, None))
            y = y[0] if isinstance(y, tuple) else y
        else:
            y = torch.func.functional_call(self.model, given, (), {"inputs_embeds": x, "use_cache": False})[0]
        assert y.dtype == torch.float64
        (y * torch.tensor(noise(case + ".g", (B, T, C)))).sum().backward()
        tensors = {"y": y.detach(), "d.x": x.grad}
        tensors.update({"d." + name: w.grad for name, w in own.items()})
        return {case + "." + name: t.numpy().astype(np.float32) for name, t in tensors.items()}

    def rotary(self, case):
        """The factors of frequencies and the scale, unless the base alone makes the frequencies."""
        rotary = getattr(self.model, "rotary_emb", None)
        if rotary is None:
            return {}
        kind = self.config.layer_types[0] if hasattr(rotary, "layer_types") else None
        prefix = kind + "_" if kind else ""
        parameters = self.config.rope_parameters[kind] if kind else self.config.rope_parameters
        frequencies = getattr(rotary, prefix + "inv_freq")
        scale = getattr(rotary, prefix + "attention_scaling")
        pairs = len(frequencies)
        plain = parameters["rope_theta"] ** (-torch.arange(pairs) / pairs)
        factors = plain / frequencies
        assert frequencies.dtype == torch.float64
        if torch.allclose(factors, torch.ones(pairs), atol=1e-12) and scale == 1:
            return {}
        return {case + ".factors": factors.numpy(), case + ".scale": np.array([scale], np.float64)}


def scaling(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 100.0, **more}}


def gemma(layers):
    return [(name + ".weight", plus_one) for name in layers]


WIDE = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-6}
NARROW = {"num_attention_heads": 2}
GEMMA = {**WIDE, "query_pre_attn_scalar": 5}
CASES = {
    "llama": lambda: Case("llama", "LlamaConfig", "LlamaModel", {**ATTENTION, **GATED, **NORMS}, **WIDE,
                          **scaling("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                    original_max_position_embeddings=64)),
    "mistral": lambda: Case("mistral", "MistralConfig", "MistralModel", {**ATTENTION, **GATED, **NORMS}, **WIDE,
                            sliding_window=3),
    "qwen2": lambda: Case("qwen2", "Qwen2Config", "Qwen2Model", {**ATTENTION, **GATED, **NORMS}, **WIDE,
                          **scaling("yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=4.0)),
    "qwen3": lambda: Case("qwen3", "Qwen3Config", "Qwen3Model", {**ATTENTION, **HEAD_NORMS, **GATED, **NORMS}, **WIDE,
                          max_position_embeddings=4, **scaling("dynamic", factor=2.0)),
    "gemma2": lambda: Case("gemma2", "Gemma2Config", "Gemma2Model", {**ATTENTION, **GATED, **AROUND},
                           gemma(AROUND), **GEMMA, attn_logit_softcapping=2.0, sliding_window=3,
                           layer_types=["sliding_attention"]),
    "gemma3": lambda: Case("gemma3", "Gemma3TextConfig", "Gemma3TextModel",
                           {**ATTENTION, **HEAD_NORMS, **GATED, **AROUND}, gemma([*AROUND, *HEAD_NORMS]), **GEMMA,
                           sliding_window=3, layer_types=["sliding_attention"],
                           rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}),
    "gemma3_full": lambda: Case("gemma3", "Gemma3TextConfig", "Gemma3TextModel",
                                {**ATTENTION, **HEAD_NORMS, **GATED, **AROUND}, gemma([*AROUND, *HEAD_NORMS]),
                                **GEMMA, hidden_activation="gelu", layer_types=["full_attention"],
                                rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0,
                                                                    "rope_theta": 100.0}}),
    "phi3": lambda: Case("phi3", "Phi3Config", "Phi3Model",
                         {"self_attn.in_proj": "self_attn.qkv_proj", "self_attn.out_proj": "self_attn.o_proj",
                          "linear1": "mlp.gate_up_proj", "linear2": "mlp.down_proj", **NORMS}, **NARROW,
                         num_key_value_heads=1, resid_pdrop=0.0, max_position_embeddings=64,
                         original_max_position_embeddings=4,
                         **scaling("longrope", short_factor=[1.0, 1.5], long_factor=[1.25, 3.0],
                                   original_max_position_embeddings=4, partial_rotary_factor=0.67)),
    "gpt2": lambda: Case("gpt2", "GPT2Config", "GPT2Model",
                         {"self_attn.in_proj": "attn.c_attn", "self_attn.out_proj": "attn.c_proj",
                          "linear1": "mlp.c_fc", "linear2": "mlp.c_proj", "norm1": "ln_1", "norm2": "ln_2"},
                         [(name, transposed) for name in ("self_attn.in_proj.weight", "self_attn.out_proj.weight",
                                                          "linear1.weight", "linear2.weight")],
                         norm="ln_f", prefix="h.0.", n_embd=C, n_head=2, n_inner=HIDDEN, n_layer=1, n_positions=T),
    "gpt_neox": lambda: Case("gpt_neox", "GPTNeoXConfig", "GPTNeoXModel",
                             {"self_attn.in_proj": "attention.query_key_value", "self_attn.out_proj": "attention.dense",
                              "linear1": "mlp.dense_h_to_4h", "linear2": "mlp.dense_4h_to_h", **NORMS},
                             [(name, lambda own: by_head(own, 2)) for name in biased("self_attn.in_proj")], **NARROW,
                             norm="final_layer_norm",
                             **scaling("default", partial_rotary_factor=0.67)),
    "phi": lambda: Case("phi", "PhiConfig", "PhiModel",
                        {**ATTENTION, "self_attn.out_proj": "self_attn.dense", "up_proj": "mlp.fc1",
                         "down_proj": "mlp.fc2", "norm1": "input_layernorm"}, **NARROW, norm="final_layernorm",
                        **scaling("default", partial_rotary_factor=0.34)),
    "arcee": lambda: Case("arcee", "ArceeConfig", "ArceeModel",
                          {**ATTENTION, "up_proj": "mlp.up_proj", "down_proj": "mlp.down_proj", **NORMS}, **WIDE,
                          rope_parameters={"rope_type": "default", "rope_theta": 100.0}),
    "clip": lambda: Case("clip", "CLIPTextConfig", "CLIPEncoderLayer",
                         {**ATTENTION, "self_attn.out_proj": "self_attn.out_proj", "up_proj": "mlp.fc1",
                          "down_proj": "mlp.fc2", "norm1": "layer_norm1", "norm2": "layer_norm2"}, prefix="", bare=True,
                         **NARROW),
    "bert": lambda: Case("bert", "BertConfig", "BertLayer",
                         {"self_attn.q_proj": "attention.self.query", "self_attn.k_proj": "attention.self.key",
                          "self_attn.v_proj": "attention.self.value", "self_attn.out_proj": "attention.output.dense",
                          "norm1": "attention.output.LayerNorm", "up_proj": "intermediate.dense",
                          "down_proj": "output.dense", "norm2": "output.LayerNorm"}, prefix="", bare=True, **NARROW),
}

tensors = {}
for name, make in CASES.items():
    case = make()
    tensors.update(case.run(name))
    tensors.update(case.rotary(name))
if sys.argv[1] == "--compare":
    file = load_file(sys.argv[2])
    assert file.keys() == tensors.keys(), file.keys() ^ tensors.keys()
    for name, t in tensors.items():
        assert np.abs(t - file[name]).max() <= 1e-7 * max(np.abs(t).max(), 1), name
    print(f"{len(tensors)} tensors of {len(CASES)} layers agree")
else:
    save_file({name: np.ascontiguousarray(t) for name, t in tensors.items()}, sys.argv[1])
