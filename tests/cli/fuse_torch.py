"""fuse_torch.py FOLDER weights JOIN...: writes FOLDER/rows.csv and, for each join, FOLDER/JOIN.safetensors with first
weights.
fuse_torch.py FOLDER compare JOIN RATE: after one step of gradient descent from these weights over all rows, of which
the run FOLDER/run-JOIN has the result, the change of each weight is the gradient that PyTorch computes, times RATE."""

import csv
import json
import random
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn

ROWS, WIDTH, HEADS, STEPS, CLASSES = 64, 8, 2, 6, 3
TOLERANCE = 1e-4  # of the largest entry of a gradient


def block() -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0, "gelu", batch_first=True, norm_first=True)


class Series(nn.Module):
    """The network encoder over a series: (N, STEPS) to (N, WIDTH)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(1, WIDTH)
        self.positions = nn.Embedding(STEPS, WIDTH)
        self.layers = nn.ModuleList([block()])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers[0](self.embed(x[..., None]) + self.positions.weight)
        return self.head(self.norm(x).mean(1))


class Fused(nn.Module):
    """Rows of two numbers and a series, joined."""

    def __init__(self, join: str) -> None:
        super().__init__()
        self.rows = nn.ModuleDict({"fc1": nn.Linear(2, 2 * WIDTH), "fc2": nn.Linear(2 * WIDTH, WIDTH)})
        self.series = Series()
        self.attends = join == "attention"
        self.join = block() if self.attends else nn.Linear(2 * WIDTH, 2 * WIDTH)
        self.norm = nn.LayerNorm(WIDTH) if self.attends else nn.Identity()
        self.answers = nn.Linear(WIDTH if self.attends else 2 * WIDTH, CLASSES)

    def forward(self, numbers: torch.Tensor, series: torch.Tensor) -> torch.Tensor:
        rows = self.rows["fc2"](torch.relu(self.rows["fc1"](numbers)))
        parts = [self.series(series), rows]
        if self.attends:
            return self.answers(self.norm(self.join(torch.stack(parts, 1))).mean(1))
        return self.answers(torch.relu(self.join(torch.relu(torch.cat(parts, 1)))))


def named(name: str) -> str:
    return name.replace("in_proj_", "in_proj.")


def write(folder: str, joins: list[str]) -> None:
    random.seed(5)
    with open(f"{folder}/rows.csv", "w", encoding="utf-8") as file:
        file.write("age,height,pulse,kind\n")
        for _ in range(ROWS):
            pulse = " ".join(f"{random.gauss(0, 2):.3f}" for _ in range(STEPS))
            file.write(f"{random.gauss(40, 9):.3f},{random.gauss(170, 8):.3f},{pulse},k{random.randrange(CLASSES)}\n")
    for seed, join in enumerate(joins):
        torch.manual_seed(seed)
        network = Fused(join)
        for weight in network.parameters():  # none of them 0 or 1
            nn.init.normal_(weight, 0.1, 0.3)
        save_file({named(k): v.contiguous() for k, v in network.state_dict().items()}, f"{folder}/{join}.safetensors")


def compare(folder: str, join: str, rate: float) -> None:
    with open(f"{folder}/run-{join}/config.json", encoding="utf-8") as file:
        facts = json.load(file)["facts"]
    with open(f"{folder}/rows.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = torch.tensor([[float(row[n]) for n in facts["numbers"]] for row in rows], dtype=torch.float64)
    numbers = (numbers - torch.tensor(facts["row_mean"])) / torch.tensor(facts["row_deviation"])
    series = torch.tensor([[float(n) for n in row["pulse"].split()] for row in rows], dtype=torch.float64)
    series = (series - facts["series_mean"][0]) / facts["series_deviation"][0]
    kinds = torch.tensor([facts["classes"].index(row["kind"]) for row in rows])
    before = load_file(f"{folder}/{join}.safetensors")
    after = load_file(f"{folder}/run-{join}/model.safetensors")
    network = Fused(join).double()
    network.load_state_dict({k: before[named(k)].double() for k in network.state_dict()})
    nn.functional.cross_entropy(network(numbers.double(), series), kinds).backward()
    worst = 0.0
    for name, weight in network.named_parameters():
        assert weight.grad is not None
        got = (before[named(name)].double() - after[named(name)].double()) / rate
        difference = float((got - weight.grad).abs().max() / weight.grad.abs().max().clamp(min=1e-3))
        worst = max(worst, difference)
        if difference > TOLERANCE:
            raise SystemExit(f"{join}: {name} differs by {difference:.2g} of its largest entry")
    if set(after) != set(before):
        raise SystemExit(f"{join}: {sorted(set(after) ^ set(before))}")
    print(f"{join}: {len(before)} gradients within {worst:.1g} of PyTorch's")


if __name__ == "__main__":
    if sys.argv[2] == "weights":
        write(sys.argv[1], sys.argv[3:])
    else:
        compare(sys.argv[1], sys.argv[3], float(sys.argv[4]))
