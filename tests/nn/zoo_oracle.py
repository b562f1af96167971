"""zoo_oracle.py FOLDER: torchvision's networks with random weights, and what they make of a batch, as safetensors.

FOLDER gets NAME.safetensors with the weights, and with x and y under "oracle.x" and "oracle.y"."""
import sys

import torch
import torchvision.models as models
from safetensors.torch import save_file

torch.manual_seed(5)
for name, make in (("densenet121", models.densenet121), ("efficientnetb0", models.efficientnet_b0)):
    net = make(weights=None, num_classes=10)
    with torch.no_grad():
        for key, value in net.state_dict().items():
            if key.endswith("running_mean"):
                value.copy_(torch.rand_like(value) - 0.5)
            elif key.endswith("running_var"):
                value.copy_(torch.rand_like(value) + 0.5)
            elif value.dim() == 1 and value.dtype == torch.float32:
                value.copy_(torch.rand_like(value) * 0.5 + (0.75 if key.endswith("weight") else -0.25))
        x = torch.randn(2, 3, 64, 64)
        y = net.eval()(x)
    out = {k: v.contiguous() for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
    save_file({**out, "oracle.x": x, "oracle.y": y.contiguous()}, f"{sys.argv[1]}/{name}.safetensors")
    print(name, sum(p.numel() for p in net.parameters()))
