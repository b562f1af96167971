"""CTC losses and gradients by the logits that PyTorch computes in double, as cases for test_ctc.c:
python3 test_ctc_torch.py FILE.safetensors

1,000 random shapes, every fifth with empty targets among others, every seventh with labels that do not fit. PyTorch's
gradient is right behind log_softmax only, where it is taken here."""
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

rng = np.random.default_rng(11)
tensors = {}
impossible = empty = 0
for k in range(1000):
    t, n, c = rng.integers(1, 41), rng.integers(1, 6), rng.integers(2, 40)
    s = rng.integers(1, max(2, t))
    blank = int(rng.integers(0, min(c, 3)))
    logits = (rng.standard_normal((t, n, c)) * rng.choice([0.3, 1, 4])).astype(np.float32)
    targets = rng.integers(0, c - 1, (n, s)).astype(np.int32)
    targets += targets >= blank
    frames = rng.integers(1, t + 1, n).astype(np.int32)
    labels = rng.integers(0 if k % 5 == 0 else 1, s + 1, n).astype(np.int32)
    if k % 7:
        labels = np.minimum(labels, np.maximum(frames // 2, 0 if k % 5 == 0 else 1)).astype(np.int32)
    x = torch.tensor(logits).double().requires_grad_()
    arguments = torch.tensor(targets).long(), torch.tensor(frames).long(), torch.tensor(labels).long()
    log_p = torch.log_softmax(x, 2)
    loss = torch.nn.functional.ctc_loss(log_p, *arguments, blank=blank, reduction="none")
    finite = torch.nn.functional.ctc_loss(log_p, *arguments, blank=blank, reduction="none", zero_infinity=True)
    (gradient,) = torch.autograd.grad(finite.sum(), x)
    impossible += int(torch.isinf(loss).sum())
    empty += int((labels == 0).sum())
    for name, value in {"logits": logits, "targets": targets, "logit_lengths": frames, "target_lengths": labels,
                        "blank": np.array([blank], np.int32), "loss": loss.detach().numpy(),
                        "gradient": gradient.numpy()}.items():
        tensors[f"c{k:03d}.{name}"] = np.ascontiguousarray(value)
assert impossible > 100 and empty > 50, (impossible, empty)
print(f"1000 cases, {impossible} impossible and {empty} empty targets")
save_file(tensors, sys.argv[1])
