"""adapter_oracle.py GOLDEN: writes adapters of the models in the folder GOLDEN, as peft saves them, and what peft and
transformers compute with them in f32:

adapter/             PEFT folder with random A and B
adapted.f32          logits (T, V) with the adapter
adapter.grad.txt     per tensor of the adapter: name, norm of its gradient, dot product of it and the numbers of pick()
base.grad.txt        the same for all weights of the model without the adapter

The loss is the mean cross entropy of tokens 1 to T - 1. Seeds are fixed.
"""
import os
import sys

import numpy
import peft
import torch
import transformers as t

CASES = {'llama': None, 'llama3': None, 'mistral': None, 'qwen2': None, 'qwen3': ['q_proj', 'down_proj'],
         'gemma2': None, 'gemma3': ['o_proj', 'v_proj', 'gate_proj'], 'phi3': ['qkv_proj', 'gate_up_proj'],
         'gpt2': ['c_attn', 'c_fc', 'mlp.c_proj']}
ADAPTERS = ['llama', 'qwen3', 'gemma3', 'phi3', 'gpt2']


def pick(count):
    """Numbers in [-0.5, 0.5) that depend on the index alone."""
    return (numpy.arange(count, dtype=numpy.uint64) * 2654435761 % 2 ** 32) / 2 ** 32 - 0.5


def write_gradients(path, named):
    with open(path, 'w') as file:
        for name, weight in named:
            g = weight.grad.numpy().astype(numpy.float64).ravel()
            file.write('%s %.9g %.9g\n' % (name, numpy.linalg.norm(g), g @ pick(g.size)))


def backward(model, ids):
    logits = model(torch.tensor([ids])).logits[0]
    torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:])).backward()
    return logits.detach().numpy().astype('<f4')


def main(golden):
    for name, targets in CASES.items():
        where = os.path.join(golden, name)
        with open(os.path.join(where, 'ids.txt')) as file:
            ids = [int(word) for word in file.read().split()]
        model = t.AutoModelForCausalLM.from_pretrained(where, attn_implementation='eager', dtype=torch.float32).eval()
        backward(model, ids)
        write_gradients(os.path.join(where, 'base.grad.txt'), model.named_parameters())
        if name not in ADAPTERS:
            continue
        for weight in model.parameters():
            weight.grad = None
        config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=targets or 'all-linear', task_type='CAUSAL_LM',
                                 use_rslora=name == 'qwen3', alpha_pattern={'v_proj': 7} if name == 'gemma3' else {},
                                 fan_in_fan_out=name == 'gpt2')
        adapted = peft.get_peft_model(model, config).eval()
        generator = torch.Generator().manual_seed(3)
        trained = [(n, w) for n, w in adapted.named_parameters() if w.requires_grad]
        for _, weight in trained:
            weight.data = 0.3 * torch.randn(weight.shape, generator=generator)
        backward(adapted, ids).tofile(os.path.join(where, 'adapted.f32'))
        write_gradients(os.path.join(where, 'adapter.grad.txt'),
                        [(n.replace('.default.', '.'), w) for n, w in trained])
        adapted.save_pretrained(os.path.join(where, 'adapter'))
        os.remove(os.path.join(where, 'adapter', 'README.md'))
        adapter_config = os.path.join(where, 'adapter', 'adapter_config.json')
        with open(adapter_config) as file:
            text = file.read().replace(where, name)
        with open(adapter_config, 'w') as file:
            file.write(text)


main(sys.argv[1])
