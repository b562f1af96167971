"""rows_torch.py FILE: a table trained by PyTorch's SGD, Adagrad and SparseAdam with sparse gradients, from the file's
weights on its reads, is the file's. Where gradients nearly cancel, Adam's quotients magnify f32's rounding: so PyTorch
runs in f64 and in f32, and the file is as near to the former as the latter is, or within 1e-6."""
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

file = load_file(sys.argv[1])
torch.set_num_threads(1)
rows, width = file["begun"].shape
count = file["ids"].shape[1]
push = ((torch.arange(count * width) * 29) % 41).float().reshape(count, width) / 41 - 0.5
rules = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.SparseAdam}


def train(rule, dtype):
    table = torch.nn.Parameter(file["begun"].to(dtype).clone())
    optimizer = rule([table], 0.05)
    for ids in file["ids"].long():
        x = F.embedding(ids, table, sparse=True)
        loss = (x * push.to(dtype) + x * x / 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return table.detach().double()


wrong = 0
for name, rule in rules.items():
    exact, usual = train(rule, torch.float64), train(rule, torch.float32)
    off = (exact - file[name]).abs().max().item()
    theirs = (exact - usual).abs().max().item()
    moved = (exact - file["begun"]).abs().max().item()
    print(f"{name}: {off:.2g} off at most, PyTorch in f32 {theirs:.2g}; moved by {moved:.2g}")
    wrong += not off <= max(2 * theirs, 1e-6) or not moved > 0.1
sys.exit(wrong)
