"""forecast_torch.py TABLE SEASON HORIZON EPOCHS SEEDS: the network of `mica train --task forecast --validation 0`, in
PyTorch.

TABLE has the columns time and value, without empty cells; its last fifth is the test part. Windows of two seasons less
their last row, in units of the root of the mean square of changes over the horizon; an LSTM of 32 units over them and
the level, dropout 0.2, and beside it a linear function of both; mean absolute error, AdamW at 0.003 with decay 0.01,
one cycle over batches of 32. Prints the mean absolute error of the test, in the table's units, for each seed."""
import sys

import numpy as np
import torch


class Network(torch.nn.Module):
    def __init__(self, window, horizon):
        super().__init__()
        self.linear = torch.nn.Linear(window + 1, horizon)
        self.rnn = torch.nn.LSTM(2, 32, batch_first=True)
        self.head = torch.nn.Linear(32, horizon)
        for layer in (self.linear, self.head):
            torch.nn.init.normal_(layer.weight, std=0.01)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, window, level):
        both = torch.stack([window, level.expand_as(window)], 2)
        state = torch.nn.functional.dropout(self.rnn(both)[1][0][0], 0.2, self.training)
        return self.linear(torch.cat([window, level], 1)) + self.head(state)


def main(path, season, horizon, epochs, seeds):
    torch.set_num_threads(1)
    y = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=1)
    n, window = len(y), 2 * season
    training = n - n // 5
    scale = np.sqrt(np.mean([(y[o : o + horizon] - y[o - 1]) ** 2 for o in range(1, training - horizon + 1)]))
    mean, deviation = y[:training].mean(), y[:training].std()

    def samples(first, end):
        origins = range(first, end - horizon + 1)
        windows = np.array([(y[o - window : o] - y[o - 1]) / scale for o in origins])
        levels = np.array([[(y[o - 1] - mean) / deviation] for o in origins])
        targets = np.array([(y[o : o + horizon] - y[o - 1]) / scale for o in origins])
        return [torch.tensor(v, dtype=torch.float32) for v in (windows, levels, targets)]

    x, level, target = samples(window, training)
    test_x, test_level, test_target = samples(training, n)
    batches = len(x) // 32
    for seed in range(seeds):
        torch.manual_seed(seed)
        net = Network(window, horizon)
        weights = [p for p in net.parameters() if p.dim() > 1]
        biases = [p for p in net.parameters() if p.dim() == 1]
        groups = [{"params": weights, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0}]
        optimizer = torch.optim.AdamW(groups, lr=0.003)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=0.003, total_steps=epochs * batches, cycle_momentum=False
        )
        for _ in range(epochs):
            order = torch.randperm(len(x))
            for b in range(batches):
                rows = order[32 * b : 32 * b + 32]
                loss = (net(x[rows], level[rows]) - target[rows]).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        net.eval()
        with torch.no_grad():
            print((net(test_x, test_level) - test_target).abs().mean().item() * scale)


main(sys.argv[1], *(int(word) for word in sys.argv[2:6]))
