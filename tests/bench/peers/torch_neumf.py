"""The peer of `mica-bench neumf`: PyTorch trains the same network over pairs at random.

    python3 torch_neumf.py dense|sparse USERS ITEMS WIDTH BATCH THREADS

dense: Adam over all rows of the tables; sparse: SparseAdam over the rows that a step reads, Adam over the layers.
Speaks as torch_train.py does.
"""
import resource
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print("no", " ".join(str(error).split()), flush=True)
    sys.exit(3)


class NeuMF(nn.Module):
    def __init__(self, users, items, width, sparse):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, width, sparse=sparse) for n in (users, items, users, items))
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.1)
        self.fc1 = nn.Linear(2 * width, width)
        self.fc2 = nn.Linear(width, width // 2)
        self.products = nn.Linear(width, 1, bias=False)
        self.fc3 = nn.Linear(width // 2, 1)

    def forward(self, user, item):
        p, q, a, b = (table(ids) for table, ids in zip(self.tables, (user, item, user, item)))
        h = F.relu(self.fc2(F.relu(self.fc1(torch.cat((a, b), 1)))))
        return (self.products(p * q) + self.fc3(h)).squeeze(1)


def main():
    sparse = sys.argv[1] == "sparse"
    users, items, width, batch, threads = map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    print(torch.__version__, flush=True)
    net = NeuMF(users, items, width, sparse)
    tables = list(net.tables.parameters())
    layers = [p for name, p in net.named_parameters() if not name.startswith("tables")]
    if sparse:
        optimizers = [torch.optim.SparseAdam(tables, lr=0.001), torch.optim.Adam(layers, lr=0.001)]
    else:
        optimizers = [torch.optim.Adam(tables + layers, lr=0.001)]
    ready = [(torch.randint(users, (batch,)), torch.randint(items, (batch,)), torch.randint(2, (batch,)).float())
             for _ in range(16)]
    at = 0
    for line in sys.stdin:
        if line.strip() == "end":
            break
        begin = time.perf_counter()
        for _ in range(int(line)):
            user, item, label = ready[at % len(ready)]
            at += 1
            for optimizer in optimizers:
                optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(net(user, item), label).backward()
            for optimizer in optimizers:
                optimizer.step()
        print(time.perf_counter() - begin, flush=True)
    print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


main()
