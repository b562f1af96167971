"""Prints the tables of tests/nn/test_message.c: layers of PyTorch Geometric 2.8 on a small graph.

python3 tests/nn/message_pyg.py, where torch and torch_geometric are installed."""
import torch
from torch_geometric.nn import GATConv, GCNConv, GINConv

V, F, W, H = 5, 3, 4, 2
edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]
both = torch.tensor(edges + [(b, a) for a, b in edges]).t()
x = torch.sin(torch.arange(V * F, dtype=torch.float32) * 1.7 + 0.3).view(V, F)
dy = torch.cos(torch.arange(V * W, dtype=torch.float32) * 0.9).view(V, W)
nets = [
    GCNConv(F, W),
    GATConv(F, W // H, heads=H),
    GINConv(torch.nn.Sequential(torch.nn.Linear(F, W), torch.nn.ReLU(), torch.nn.Linear(W, W))),
]


def show(name, t):
    print(f'    {{"{name}", {{' + ", ".join(f"{v:.7g}" for v in t.detach().flatten().tolist()) + "}},")


for net in nets:
    named = sorted(net.named_parameters())
    for k, (_, p) in enumerate(named):
        p.data = torch.sin(torch.arange(p.numel(), dtype=torch.float32) * 0.7 + k + 1).view(p.shape) * 0.5
    input = x.clone().requires_grad_(True)
    y = net(input, both)
    (y * dy).sum().backward()
    show("y", y)
    show("x", input.grad)
    for name, p in named:
        show(name, p.grad)
    print()
