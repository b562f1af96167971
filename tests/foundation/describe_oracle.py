"""describe_oracle.py TOOL FOLDER: saves small models of every family and compares what the tool says of them."""
import os
import subprocess
import sys

import torch
import transformers as t

SMALL = {'vocab_size': 131, 'hidden_size': 48, 'intermediate_size': 100, 'num_hidden_layers': 7,
         'num_attention_heads': 6, 'max_position_embeddings': 64, 'bos_token_id': 1, 'eos_token_id': 2,
         'pad_token_id': 0}
GROUPED = dict(SMALL, num_key_value_heads=2)
YARN = {'rope_type': 'yarn', 'rope_theta': 2e4, 'factor': 4.0, 'original_max_position_embeddings': 16}
LLAMA3 = {'rope_type': 'llama3', 'rope_theta': 5e5, 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
          'original_max_position_embeddings': 16}
LONGROPE = {'rope_type': 'longrope', 'rope_theta': 1e4, 'short_factor': [1.0, 1.5, 2.0, 2.5],
            'long_factor': [2.0, 3.0, 4.0, 5.0], 'original_max_position_embeddings': 16}
GEMMA = dict(GROUPED, head_dim=16, sliding_window=4, query_pre_attn_scalar=24)
BERT = {k: v for k, v in SMALL.items() if k not in ('bos_token_id', 'eos_token_id')}

# name, family, config
CASES = [
    ('llama', 'llama', t.LlamaConfig(**GROUPED)),
    ('llama-bias', 'llama', t.LlamaConfig(**GROUPED, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    ('llama-wide-heads', 'llama', t.LlamaConfig(**GROUPED, head_dim=20, rms_norm_eps=1e-5)),
    ('llama-llama3', 'llama', t.LlamaConfig(**GROUPED, rope_parameters=LLAMA3)),
    ('llama-yarn', 'llama', t.LlamaConfig(**GROUPED, rope_parameters=YARN)),
    ('llama-linear', 'llama', t.LlamaConfig(**GROUPED, rope_parameters={'rope_type': 'linear', 'rope_theta': 1e4,
                                                                        'factor': 2.0})),
    ('mistral', 'llama', t.MistralConfig(**GROUPED, sliding_window=4)),
    ('mistral-full', 'llama', t.MistralConfig(**GROUPED, sliding_window=None)),
    ('qwen2', 'qwen2', t.Qwen2Config(**GROUPED)),
    ('qwen2-window', 'qwen2', t.Qwen2Config(**GROUPED, use_sliding_window=True, sliding_window=4,
                                            max_window_layers=5)),
    ('qwen3', 'qwen3', t.Qwen3Config(**GROUPED, head_dim=16)),
    ('qwen3-bias', 'qwen3', t.Qwen3Config(**GROUPED, head_dim=16, attention_bias=True)),
    ('smollm3', 'smollm3', t.SmolLM3Config(**GROUPED)),
    ('smollm3-list', 'smollm3', t.SmolLM3Config(**GROUPED, no_rope_layers=[1, 1, 0, 1, 0, 0, 1], sliding_window=4,
                                                use_sliding_window=True, tie_word_embeddings=False)),
    ('mixtral', 'mixtral', t.MixtralConfig(**GROUPED, num_local_experts=4, num_experts_per_tok=2)),
    ('qwen3moe', 'qwen3moe', t.Qwen3MoeConfig(**GROUPED, head_dim=16, num_experts=6, num_experts_per_tok=3,
                                              moe_intermediate_size=32)),
    ('qwen3moe-normal', 'qwen3moe', t.Qwen3MoeConfig(**GROUPED, head_dim=16, num_experts=6, num_experts_per_tok=3,
                                                     moe_intermediate_size=32, norm_topk_prob=True)),
    ('gemma2', 'gemma2', t.Gemma2Config(**GEMMA)),
    ('gemma3', 'gemma3', t.Gemma3TextConfig(**GEMMA)),
    ('phi3', 'phi3', t.Phi3Config(**GROUPED)),
    ('phi3-long', 'phi3', t.Phi3Config(**GROUPED, rope_parameters=LONGROPE, original_max_position_embeddings=16)),
    ('gpt2', 'gpt2', t.GPT2Config(vocab_size=131, n_embd=48, n_layer=3, n_head=4, n_positions=32, bos_token_id=1,
                                  eos_token_id=2)),
    ('bert', 'bert', t.BertConfig(**BERT)),
    ('bert-relu', 'bert', t.BertConfig(**BERT, hidden_act='relu', type_vocab_size=3)),
    ('roberta', 'roberta', t.RobertaConfig(**BERT)),
    ('distilbert', 'distilbert', t.DistilBertConfig(vocab_size=131, dim=48, hidden_dim=100, n_layers=3, n_heads=4,
                                                    max_position_embeddings=32)),
]
FUNCTIONS = {'gpt2': 'gelu_tanh', 'gemma2': 'geglu_tanh', 'gemma3': 'geglu_tanh', 'bert': 'gelu', 'bert-relu': 'relu',
             'roberta': 'gelu', 'distilbert': 'gelu'}


def first(config, *names, default=None):
    for name in names:
        if getattr(config, name, None) is not None:
            return getattr(config, name)
    return default


def model_of(config):
    torch.manual_seed(1)
    kind = t.AutoModel if config.model_type in ('bert', 'roberta', 'distilbert') else t.AutoModelForCausalLM
    return kind.from_config(config)


def biases(model):
    """Which layers have one, by the names that families give them."""
    names = [name for name, _ in model.named_parameters() if name.endswith('.bias') and 'norm' not in name.lower()]

    def any_of(*parts):
        return float(any(part in name for name in names for part in parts))
    return {'attention_bias': any_of('q_proj', 'qkv_proj', 'c_attn', 'self.query', 'q_lin'),
            'out_bias': any_of('o_proj', 'attn.c_proj', 'attention.output.dense', 'out_lin'),
            'feed_bias': any_of('up_proj', 'mlp.c_fc', 'intermediate.dense', 'lin1')}


def expected(name, family, config, model):
    heads = config.num_attention_heads
    size = first(config, 'head_dim', default=config.hidden_size // heads)
    types = first(config, 'layer_types', default=None)
    local = ''.join('1' if kind == 'sliding_attention' else '0' for kind in types) if types else None
    window = first(config, 'sliding_window', default=0)
    if not types:
        local = ('1' if window and family in ('llama', 'phi3', 'mixtral') else '0') * config.num_hidden_layers
    rope = first(config, 'rope_parameters', default={})
    full, within = rope.get('full_attention', rope), rope.get('sliding_attention', rope)
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    gemma = family in ('gemma2', 'gemma3')
    scale = config.query_pre_attn_scalar if gemma else size
    want = {'family': family, 'function': FUNCTIONS.get(name, 'swiglu'), 'local': local,
            'no_rope': ''.join('01'[not rope] for rope in first(config, 'no_rope_layers', default=[1] * len(local))),
            'width': config.hidden_size,
            'layers': config.num_hidden_layers, 'heads': heads,
            'groups': first(config, 'num_key_value_heads', default=heads), 'head_size': size,
            'experts': first(config, 'num_local_experts', default=0),
            'experts_used': first(config, 'num_experts_per_tok', default=0),
            'normalise_routes': float(first(config, 'norm_topk_prob', default=family == 'mixtral')),
            'hidden': first(config, 'moe_intermediate_size', 'intermediate_size', 'n_inner', 'hidden_dim',
                            default=4 * config.hidden_size),
            'vocabulary': config.vocab_size, 'context': config.max_position_embeddings,
            'types': first(config, 'type_vocab_size', default=0), 'window': window if '1' in local else 0,
            'rotated': size if rope else 0, 'score_scale': scale ** -0.5,
            'epsilon': first(config, 'rms_norm_eps', 'layer_norm_epsilon', 'layer_norm_eps', default=1e-12),
            'embed_scale': config.hidden_size ** 0.5 if gemma else 1,
            'score_cap': first(config, 'attn_logit_softcapping', default=0),
            'logit_cap': first(config, 'final_logit_softcapping', default=0),
            'begin': first(config, 'bos_token_id', default=-1), 'pad': first(config, 'pad_token_id', default=-1)}
    if model.get_output_embeddings() is not None:
        want['tied'] = float(model.get_output_embeddings().weight is model.get_input_embeddings().weight)
    want.update(biases(model))
    for i, end in enumerate(end for end in ends if end is not None):
        want['end.%d' % i] = end
    if rope:
        want.update({'rotary.base': full['rope_theta'], 'rotary.scaling': full['rope_type'],
                     'rotary_local.base': within['rope_theta']})
        if full['rope_type'] != 'default':
            want['rotary.factor'] = full.get('factor', config.max_position_embeddings / 16)
    return want


def main():
    tool, folder = sys.argv[1:]
    for name, family, config in CASES:
        path, model = os.path.join(folder, name), model_of(config)
        model.save_pretrained(path)
        lines = subprocess.run([tool, 'describe', path], check=True, capture_output=True, text=True).stdout
        said = dict(line.split(' ', 1) for line in lines.splitlines())
        for field, value in expected(name, family, config, model).items():
            same = said.get(field) == value if isinstance(value, str) else abs(float(said[field]) - value) <= 1e-15
            assert same, '%s: %s is %s; transformers has %s' % (name, field, said.get(field), value)
        unknown = [field for field in said if field.startswith('unknown.')]
        assert not unknown, '%s: %s' % (name, unknown)
        if 'long' in name:
            assert said['rotary.1'] == '1.5 3', said['rotary.1']
    print(len(CASES), 'models of', len({family for _, family, _ in CASES}), 'families are described alike')


if __name__ == '__main__':
    main()
