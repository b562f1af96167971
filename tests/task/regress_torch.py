"""regress_torch.py FOLDER SEEDS: the network that `mica train --task regress` makes of a table, in PyTorch.

FOLDER has train.csv and test.csv, the target last. 128 units with relu, PyTorch's initial values, AdamW at 0.01 with
decay 0.01, one cycle over `epochs` of batches of 64. Prints the root of the mean square error on the test rows for each
seed."""
import sys

import numpy as np
import torch


def read(path):
    rows = torch.tensor(np.loadtxt(path, delimiter=",", skiprows=1), dtype=torch.float64)
    return rows[:, :-1], rows[:, -1:]


def main(folder, seeds):
    torch.set_num_threads(1)
    (x, y), (test_x, test_y) = read(folder + "/train.csv"), read(folder + "/test.csv")
    mean, deviation = x.mean(0), x.std(0, unbiased=False)
    target_mean, target_deviation = y.mean(), y.std(unbiased=False)
    x, test_x = ((v - mean) / deviation for v in (x, test_x))
    x, test_x, y = x.float(), test_x.float(), ((y - target_mean) / target_deviation).float()
    batches = len(x) // 64
    epochs = max(10, min(100, 5000 // -(-len(x) // 64)))
    for seed in range(seeds):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
        weights = [p for p in net.parameters() if p.dim() > 1]
        biases = [p for p in net.parameters() if p.dim() == 1]
        groups = [{"params": weights, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0}]
        optimizer = torch.optim.AdamW(groups, lr=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=0.01, total_steps=epochs * batches, cycle_momentum=False
        )
        for _ in range(epochs):
            order = torch.randperm(len(x))
            for b in range(batches):
                rows = order[64 * b : 64 * b + 64]
                loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        with torch.no_grad():
            errors = net(test_x).double() * target_deviation + target_mean - test_y
        print(errors.square().mean().sqrt().item())


main(sys.argv[1], int(sys.argv[2]))
