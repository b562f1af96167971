"""graph_torch.py FOLDER write: writes FOLDER/karate (the karate club with PyTorch Geometric's split), FOLDER/molecules
and FOLDER/many (molecules), and first weights FOLDER/DATA-MODEL.safetensors.
graph_torch.py FOLDER compare DATA-MODEL...: PyTorch Geometric trains like the run FOLDER/run-DATA-MODEL; after each
epoch, losses and accuracies are those in history.csv.
graph_torch.py FOLDER time MODEL MICA: prints the user CPU time of a training step of both."""

import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)  # of torch.jit

import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402
from torch_geometric.datasets import KarateClub  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from torch_geometric.nn import GATConv, GCNConv, GINConv, global_add_pool, global_mean_pool  # noqa: E402

MODELS = ("gcn", "gat", "gin")
WIDTH, HEADS, CLASSES = 16, 4, {"karate": 4, "molecules": 3, "many": 3}
TIMED_WIDTH = 64
TOLERANCE = 1e-4  # of a loss

# An atom as written in SMILES: its element, bonds, hydrogens if they are stated, and further features.
CHARGE, AROMATIC, LEFT, RIGHT, ISOTOPE, FEATURES = range(30, 36)
ELEMENTS = "C N O F P S Cl Br I B Si Se other".split()
ATOMS: dict[str, tuple[str, int, int | None, dict[int, float]]] = {
    "C": ("C", 4, None, {}),
    "N": ("N", 3, None, {}),
    "O": ("O", 2, None, {}),
    "S": ("S", 2, None, {}),
    "Cl": ("Cl", 1, None, {}),
    "[SiH2]": ("Si", 2, 2, {}),
    "[O-]": ("O", 1, 0, {CHARGE: -1}),
    "[NH3+]": ("N", 1, 3, {CHARGE: 1}),
    "[13CH3]": ("C", 1, 3, {ISOTOPE: 1}),
    "[C@H]": ("C", 3, 1, {LEFT: 1}),
    "[C@@H]": ("C", 3, 1, {RIGHT: 1}),
    "[Na]": ("other", 1, 0, {}),
}
WEIGHTS = (8, 6, 6, 2, 1, 1, 1, 1, 1, 1, 1, 1)


class Molecule:
    """A random tree of atoms with rings in it, built together with its SMILES string."""

    def __init__(self) -> None:
        self.atoms: list[str] = []
        self.bonds: list[tuple[int, int, int]] = []  # order 5: aromatic
        self.rings = 0
        self.text = self.grow(-1, 0, 0)

    def add(self, atom: str, parent: int, order: int) -> int:
        if parent >= 0:
            self.bonds.append((parent, len(self.atoms), order))
        self.atoms.append(atom)
        return len(self.atoms) - 1

    def ring(self, parent: int, depth: int) -> str:
        """A ring of carbon; one of its atoms has another branch."""
        self.rings += 1
        number = f"%{self.rings + 9}"
        aromatic = random.random() < 0.5
        symbol, order, size = ("c", 5, 6) if aromatic else ("C", 1, random.randint(3, 6))
        first = last = self.add(symbol, parent, 1)
        text = ("-" if aromatic and self.atoms[parent] == "c" else "") + symbol + number
        for k in range(1, size):
            last = self.add(symbol, last, order)
            text += symbol + (number if k == size - 1 else "")
            text += f"({self.grow(last, 1, depth + 1)})" if k == 2 else ""
        self.bonds.append((first, last, order))
        return text

    def grow(self, parent: int, order: int, depth: int) -> str:
        if order == 1 and self.rings < 3 and random.random() < 0.15:
            return self.ring(parent, depth)
        choices = [(a, w) for (a, of), w in zip(ATOMS.items(), WEIGHTS, strict=True) if of[1] >= order]
        atom = random.choices([a for a, _ in choices], [w for _, w in choices])[0]
        here, left, parts = self.add(atom, parent, order), ATOMS[atom][1] - order, []
        while left and depth < 5 and random.random() < 0.65:
            bond = random.choices((1, 2, 3)[:left], (6, 2, 1)[:left])[0]
            parts.append(("", "=", "#")[bond - 1] + self.grow(here, bond, depth + 1))
            left -= bond
        return atom + "".join(f"({part})" for part in parts[:-1]) + "".join(parts[-1:])

    def kind(self) -> int:
        count = [sum(ATOMS[a][0] == e for a in self.atoms if a in ATOMS) for e in "NO"]
        return (count[0] > count[1]) - (count[0] < count[1]) + 1

    def data(self) -> Data:
        x = torch.zeros(len(self.atoms), FEATURES)
        for i, atom in enumerate(self.atoms):
            orders = [order for a, b, order in self.bonds if i in (a, b)]
            element, valence, hydrogens, further = ATOMS.get(atom, ("C", 4, None, {AROMATIC: 1}))
            used = sum(1 if order == 5 else order for order in orders) + (5 in orders)
            x[i, ELEMENTS.index(element)] = 1
            x[i, 13 + min(len(orders), 6)] = 1
            x[i, 20 + min(valence - used if hydrogens is None else hydrogens, 4)] = 1
            for order in orders:
                x[i, 24 + order] = 1
            for feature, value in further.items():
                x[i, feature] = value
        ends = [end for a, b, _ in self.bonds for end in ((a, b), (b, a))]
        edges = torch.tensor(ends, dtype=torch.long).reshape(-1, 2).t().contiguous()
        return Data(x=x, edge_index=edges, y=torch.tensor([self.kind()]))


class Network(nn.Module):
    """Layers as PyTorch Geometric has them, with ReLU after each, and a dense layer."""

    def __init__(self, model: str, features: int, width: int, classes: int) -> None:
        super().__init__()
        self.sums = model == "gin"
        for k, inputs in enumerate((features, width)):
            if model == "gcn":
                layer: nn.Module = GCNConv(inputs, width)
            elif model == "gat":
                layer = GATConv(inputs, width // HEADS, HEADS)
            else:
                layer = GINConv(nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width)))
            self.add_module(f"conv{k + 1}", layer)
        self.out = nn.Linear(width, classes)

    def forward(self, data: Data) -> torch.Tensor:
        x = torch.relu(self.conv1(data.x, data.edge_index))
        x = torch.relu(self.conv2(x, data.edge_index))
        if isinstance(data, Batch):
            x = (global_add_pool if self.sums else global_mean_pool)(x, data.batch)
        return self.out(x)


def molecules(data: str) -> dict[str, list[Molecule]]:
    random.seed(61)
    counts = {"train": 192, "val": 100} if data == "molecules" else {"train": 1024}
    return {part: [Molecule() for _ in range(count)] for part, count in counts.items()}


def karate() -> tuple[Data, dict[str, torch.Tensor]]:
    data = KarateClub()[0]
    return data, {"train": data.train_mask.nonzero()[:, 0], "val": (~data.train_mask).nonzero()[:, 0]}


def write_rows(path: str, rows: list[tuple[object, ...]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write(folder: str) -> None:
    for data in CLASSES:
        os.makedirs(f"{folder}/{data}")
    club, parts = karate()
    head = ("node", *(f"x{k}" for k in range(club.num_features)))
    rows = [(f"n{i}", *map(int, row)) for i, row in enumerate(club.x.tolist())]
    write_rows(f"{folder}/karate/nodes.csv", [head, *rows])
    ends = [(f"n{a}", f"n{b}") for a, b in club.edge_index.t().tolist() if a < b]
    write_rows(f"{folder}/karate/edges.csv", [("source", "target"), *ends])
    for part, nodes in parts.items():
        labels = [(f"n{i}", f"c{club.y[i]}") for i in nodes.tolist()]
        write_rows(f"{folder}/karate/{part}.csv", [("node", "label"), *labels])
    for data in "molecules", "many":
        for part, made in molecules(data).items():
            write_rows(f"{folder}/{data}/{part}.csv", [("smiles", "label"), *((m.text, f"c{m.kind()}") for m in made)])
    for data, features in ("karate", club.num_features), ("molecules", FEATURES):
        for model in MODELS:
            torch.manual_seed(61)
            network = Network(model, features, WIDTH, CLASSES[data])
            weights = dict(network.named_parameters())
            for name, weight in weights.items():
                if name.endswith("bias"):  # PyTorch Geometric's are 0
                    nn.init.normal_(weight, 0, 0.1)
            save_file({k: v.detach().contiguous() for k, v in weights.items()}, f"{folder}/{data}-{model}.safetensors")


def tell(logits: torch.Tensor, kinds: torch.Tensor) -> tuple[torch.Tensor, float]:
    return nn.functional.cross_entropy(logits, kinds), (logits.argmax(1) == kinds).double().mean().item()


def data_of(data: str) -> tuple[dict[str, Data], dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The graphs and classes of each part, and which nodes it asks about; none: about graphs."""
    if data == "karate":
        club, nodes = karate()
        club.x = club.x.double()
        return {part: club for part in nodes}, {part: club.y[at] for part, at in nodes.items()}, nodes
    batches = {part: Batch.from_data_list([m.data() for m in made]) for part, made in molecules(data).items()}
    for batch in batches.values():
        batch.x = batch.x.double()
    return batches, {part: batch.y for part, batch in batches.items()}, {}


def compare(folder: str, data: str, model: str) -> str | None:
    """What differs."""
    run = f"{folder}/run-{data}-{model}"
    with open(f"{run}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    with open(f"{run}/history.csv", encoding="utf-8", newline="") as file:
        history = list(csv.DictReader(file))
    before, after = load_file(f"{folder}/{data}-{model}.safetensors"), load_file(f"{run}/model.safetensors")
    if {k: v.shape for k, v in after.items()} != {k: v.shape for k, v in before.items()}:
        return f"{data} {model}: weights {sorted(set(after) ^ set(before))}, or their shapes"
    if config["facts"]["classes"] != [f"c{k}" for k in range(CLASSES[data])]:
        return f"{data}: classes {config['facts']['classes']}"
    inputs, kinds, nodes = data_of(data)
    network = Network(model, inputs["train"].num_features, WIDTH, CLASSES[data])
    network.load_state_dict(before, strict=False)  # without GINConv's epsilon, which is 0
    network.double()
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[config["settings"]["optimizer"]]
    optimizer = kind(network.parameters(), lr=float(config["settings"]["lr"]))

    def answer(part: str) -> tuple[torch.Tensor, float]:
        logits = network(inputs[part])
        return tell(logits[nodes[part]] if nodes else logits, kinds[part])

    worst = 0.0
    for row in history:
        optimizer.zero_grad()
        loss, accuracy = answer("train")
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            loss_then, accuracy_then = answer("val")
        for name, value in ("loss", loss.item()), ("validation_loss", loss_then.item()):
            worst = max(worst, abs(float(row[name]) - value) / value)
            if not abs(float(row[name]) - value) <= TOLERANCE * value:
                return f"{data} {model}, epoch {row['epoch']}: {name} {row[name]}, PyTorch Geometric's {value:.9g}"
        for name, value in ("accuracy", accuracy), ("validation_accuracy", accuracy_then):
            if not abs(float(row[name]) - value) <= 1e-6:
                return f"{data} {model}, epoch {row['epoch']}: {name} {row[name]}, PyTorch Geometric's {value:.9g}"
    first, last = float(history[0]["loss"]), float(history[-1]["loss"])
    if last > 0.8 * first:
        return f"{data} {model}: loss {first:.4f} -> {last:.4f}; nothing was learnt"
    print(
        f"{data} {model}: {len(history)} epochs, loss {first:.4f} -> {last:.4f}, accuracy {accuracy_then:.4f} as"
        f" PyTorch Geometric's; losses within {worst:.1g}"
    )
    return None


def user(who: int) -> float:
    return resource.getrusage(who).ru_utime


def time_mica(folder: str, model: str, mica: str, epochs: int) -> float:
    command = [mica, "train", "--task", "graph", "--data", f"{folder}/many", "--model", model]
    command += ["--width", str(TIMED_WIDTH), "--dropout", "0", "--optimizer", "adam", "--weight-decay", "0"]
    command += ["--batch", "64", "--validation", "0", "--quiet", "--epochs", str(epochs)]
    command += ["--out", f"{folder}/timed-{model}-{len(os.listdir(folder))}"]
    begin = user(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return user(resource.RUSAGE_CHILDREN) - begin


def time_torch(network: nn.Module, optimizer: torch.optim.Optimizer, batches: object, epochs: int) -> float:
    """Of a step, in seconds."""
    steps, begin = 0, user(resource.RUSAGE_SELF)
    for _ in range(epochs):
        for batch in batches:  # type: ignore[attr-defined]
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(batch), batch.y).backward()
            optimizer.step()
            steps += 1
    return (user(resource.RUSAGE_SELF) - begin) / steps


def time(folder: str, model: str, mica: str) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # and what it starts
    torch.set_num_threads(1)
    made = [m.data() for m in molecules("many")["train"]]
    network = Network(model, FEATURES, TIMED_WIDTH, CLASSES["many"])
    optimizer = torch.optim.Adam(network.parameters(), 0.003)
    loader = DataLoader(made, 64, shuffle=True)
    ready = list(loader)
    few, more = 5, 65
    time_torch(network, optimizer, ready, 2)
    time_mica(folder, model, mica, few)
    rounds = []
    for _ in range(3):
        ours = time_mica(folder, model, mica, more) - time_mica(folder, model, mica, few)
        ours /= (more - few) * len(ready)
        rounds.append((ours, time_torch(network, optimizer, loader, 6), time_torch(network, optimizer, ready, 6)))
    mine, loaded, reused = (statistics.median(r[k] for r in rounds) for k in range(3))
    print(
        f"{model}, ms of user CPU time a step of 64 molecules: Mica {mine * 1e3:.3f}, PyTorch Geometric"
        f" {loaded * 1e3:.2f} ({loaded / mine:.1f} times as much), without making batches {reused * 1e3:.2f}"
        f" ({reused / mine:.1f})"
    )


if __name__ == "__main__":
    if sys.argv[2] == "write":
        write(sys.argv[1])
    elif sys.argv[2] == "compare":
        faults = [fault for pair in sys.argv[3:] if (fault := compare(sys.argv[1], *pair.split("-")))]
        sys.exit("\n".join(faults) or None)
    else:
        time(sys.argv[1], sys.argv[3], sys.argv[4])
