"""rotary_oracle.py [--compare] FILE: writes what transformers' ROPE_INIT_FUNCTIONS give, computed in double, as rows of
rotary_scalings.def, or compares with them:

    python3 tests/foundation/rotary_oracle.py tests/foundation/rotary_scalings.def
"""
import json
import re
import sys

import torch
import transformers
from transformers import modeling_rope_utils

torch.set_default_dtype(torch.float64)


class Wide:
    """The module torch, whose single precision is double."""

    def __getattr__(self, name):
        return torch.float64 if name in ("float", "float32") else getattr(torch, name)


torch.Tensor.float = torch.Tensor.double
modeling_rope_utils.torch = Wide()

SHORT = [1.0, 1.05, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0]
LONG = [1.0, 1.3, 2.1, 4.5, 9.0, 17.5, 30.0, 61.0]
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 256}
LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": SHORT, "long_factor": LONG,
            "original_max_position_embeddings": 256}

# name, rope_parameters, positions of the model, positions that are used
CASES = [
    ("plain", {"rope_type": "default", "rope_theta": 500.0}, 1024, 1024),
    ("linear", {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}, 1024, 1024),
    ("dynamic", {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}, 1024, 1024),
    ("yarn", YARN, 1024, 1024),
    ("yarn_betas", {**YARN, "rope_theta": 1000.0, "beta_fast": 8.0, "beta_slow": 0.5}, 1024, 1024),
    ("yarn_attention_factor", {**YARN, "attention_factor": 0.8}, 1024, 1024),
    ("yarn_mscale", {**YARN, "factor": 40.0, "mscale": 0.707, "mscale_all_dim": 1.0}, 10240, 8192),
    ("yarn_one_mscale", {**YARN, "mscale": 0.707}, 1024, 1024),
    ("yarn_exact", {**YARN, "truncate": False}, 1024, 1024),
    ("longrope_short", LONGROPE, 1024, 256),
    ("longrope_long", LONGROPE, 1024, 257),
    ("longrope_factor", {**LONGROPE, "factor": 16.0}, 1024, 1024),
    ("longrope_attention_factor", {**LONGROPE, "attention_factor": 1.25}, 1024, 1024),
    ("llama3", {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, 131072, 8192),
    ("llama3_near", {"rope_type": "llama3", "rope_theta": 100.0, "factor": 3.0, "low_freq_factor": 1.5,
                     "high_freq_factor": 2.5, "original_max_position_embeddings": 64}, 1024, 1024),
]


def row(name, parameters, context, positions):
    config = transformers.LlamaConfig(hidden_size=96, num_attention_heads=6, num_key_value_heads=2, head_dim=16,
                                      max_position_embeddings=context, rope_parameters=dict(parameters))
    plain = parameters["rope_theta"] ** (-torch.arange(8) / 8)
    frequencies, scale = plain, 1.0
    if parameters["rope_type"] != "default":
        function = modeling_rope_utils.ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
        frequencies, scale = function(config, seq_len=positions)
    assert frequencies.dtype == torch.float64
    numbers = [repr(f) for f in (plain / frequencies).tolist()]
    factors = ", ".join(numbers[:4]) + ",\n        " + ", ".join(numbers[4:])
    text = json.dumps(parameters).replace('"', "'")  # the test turns them back
    for key in ("long_factor", "low_freq_factor", "original_max_position_embeddings"):
        text = text.replace(f", '{key}", f",\"\n        \" '{key}")
    head = f'SCALING({name}, {context}, {positions},\n        "{text}",\n        {float(scale)!r},\n'
    return head + f"        {factors})"


HEAD = """/* foundation/rotary_scalings.def: factors that divide the frequencies of 16 rotated features, and the scale
 * of cosine and sine. rotary_oracle.py wrote them.
 *
 * SCALING(name, positions of the model, positions used, rope_parameters, scale, factors) */
"""
made = HEAD + "\n".join(row(*case) for case in CASES) + "\n"
if sys.argv[1] == "--compare":
    with open(sys.argv[2], encoding="utf-8") as file:
        stored = file.read()
    number = re.compile(r"\d+\.\d+(?:e[+-]\d+)?")
    assert number.sub("", stored) == number.sub("", made)
    for ours, theirs in zip(number.findall(stored), number.findall(made)):
        assert abs(float(ours) - float(theirs)) <= 1e-12 * float(theirs), (ours, theirs)
    print(f"{len(CASES)} scalings agree")
else:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(made)
