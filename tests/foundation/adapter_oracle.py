"""adapter_oracle.py GOLDEN: writes adapters of the models in the folder GOLDEN, as peft saves them, and what peft and
transformers compute with them in f32:

adapter/             PEFT folder with random A and B
adapted.f32          logits (T, V) with the adapter
adapter.grad.txt     per tensor of the adapter: name, norm of its gradient, dot product of it and the numbers of pick()
base.grad.txt        the same for all weights of the model without the adapter
adapter.losses.txt   losses of 100 steps that train the adapter of llama further, with torch's AdamW

The loss is the mean cross entropy of tokens 1 to T - 1. Seeds are fixed.
"""
import math
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


def rows_of(step):
    """ids, labels and starts, each (8, 64), as test_adapter_training.c makes them: three texts per row; the loss counts
    two thirds of each."""
    ids, labels, starts = (numpy.zeros((8, 64), numpy.int64) for _ in range(3))
    for r in range(8):
        ends = [20 + r, 45 - r, 64]
        for t in range(64):
            start = max([0] + [end for end in ends if end <= t])
            end = min(end for end in ends if end > t)
            starts[r, t] = start
            ids[r, t] = (ids[r, t - 1] * 17 + 31 + (t * t + r) % 5 if t > start else r * 13 + step % 5 * 29 + t) % 131
            labels[r, t] = -1
            if t > start and t - start > (end - start) // 3:
                labels[r, t - 1] = ids[r, t]
    return ids, labels, starts


def train(where, dtype=torch.float32, steps=100, warmup=3, rate=3e-3):
    model = t.AutoModelForCausalLM.from_pretrained(where, attn_implementation='eager', dtype=dtype)
    adapted = peft.PeftModel.from_pretrained(model, os.path.join(where, 'adapter'), is_trainable=True).to(dtype).train()
    trained = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)
    losses = []
    for step in range(steps):
        ids, labels, starts = (torch.tensor(values) for values in rows_of(step))
        at = torch.arange(64)
        seen = (at[None, None, :] <= at[None, :, None]) & (at[None, None, :] >= starts[:, :, None])
        mask = torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)[:, None]
        logits = adapted(ids, attention_mask=mask, position_ids=at[None].expand(8, 64)).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1)
        cosine = (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
        part = (step + 1) / warmup if step < warmup else cosine
        optimizer.param_groups[0]['lr'] = rate * part
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(loss.item())
    with open(os.path.join(where, 'adapter.losses.txt'), 'w') as file:
        file.writelines('%.8f\n' % loss for loss in losses)
    return losses


if __name__ == '__main__':
    main(sys.argv[1])
    train(os.path.join(sys.argv[1], 'llama'))
