"""The peer of tests/gpu/curves.sh: PyTorch trains a network on the same pictures in the same way, on an NVIDIA GPU if
there is one.

    python3 torch_curves.py FOLDER cnn|resnet18 f32|bf16 EPOCHS

FOLDER has MNIST's files. Writes a line of JSON with the mean loss of the last epoch. As with Mica, a tenth of the
training pictures is held out, and pictures that fill no batch are left out; weights and the order of pictures are its
own.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F

import torch_train

BATCH, RATE, SIDE = 64, 0.001, 28


def read(folder, name, header):
    return torch.tensor(list(pathlib.Path(folder, name).read_bytes()[header:]), dtype=torch.uint8)


def main():
    folder, name, dtype, epochs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    labels = read(folder, "train-labels-idx1-ubyte", 8).long()
    pictures = read(folder, "train-images-idx3-ubyte", 16).reshape(-1, 1, SIDE, SIDE).float() / 255
    count = len(labels) - len(labels) // 10
    pictures, labels = pictures[:count].to(device), labels[:count].to(device)
    pictures = (pictures - pictures.mean()) / pictures.std()
    model = {"cnn": lambda: torch_train.cnn(SIDE), "resnet18": lambda: torch_train.resnet18(1)}[name]().to(device)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(epochs):
        losses = []
        order = torch.randperm(count, device=device)
        for at in range(0, count - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16"):
                answers = model(pictures[chosen])
            loss = F.cross_entropy(answers.float(), labels[chosen])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    print(json.dumps({"bench": "torch_curves", "model": name, "dtype": dtype, "device": device,
                      "loss": round(torch.stack(losses).mean().item(), 6), "versions": {"pytorch": torch.__version__}}),
          flush=True)


main()
