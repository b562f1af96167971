"""make.py FOLDER: writes denoiser.safetensors and schedules.safetensors. Needs torch, diffusers and numpy.

denoiser: diffusers' UNet2DModel in double, a loss and its gradients. schedules: what diffusers' schedulers have, and
pictures that its DDIM scheduler steps through where a fixed function stands for the network."""
import sys

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DModel
from safetensors.numpy import save_file

folder = sys.argv[1]
torch.manual_seed(1)


def denoiser():
    net = UNet2DModel(sample_size=None, in_channels=2, out_channels=2, layers_per_block=1, block_out_channels=(4, 8),
                      down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                      up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                      norm_num_groups=2, attention_head_dim=4, num_class_embeds=3).double()
    for p in net.parameters():  # no zeros: every weight has a part in the result
        torch.nn.init.normal_(p, std=0.3) if p.dim() > 1 else torch.nn.init.normal_(p, mean=0.5, std=0.2)
    for p in net.parameters():  # f32 weights are exact
        p.data = p.data.float().double()
    x = torch.randn(3, 2, 8, 4).float()
    time, label = torch.tensor([0, 7, 999]), torch.tensor([2, 0, 1])
    want = torch.randn(3, 2, 8, 4).float()
    y = net(x.double(), time, class_labels=label).sample
    loss = torch.nn.functional.mse_loss(y, want.double())
    loss.backward()
    out = {"x": x.numpy(), "time": time.int().numpy(), "label": label.int().numpy(), "want": want.numpy(),
           "y": y.detach().float().numpy(), "loss": loss.detach().reshape(1).float().numpy()}
    for name, p in net.named_parameters():
        out["weight." + name] = p.detach().float().numpy()
        out["gradient." + name] = p.grad.float().numpy()
    save_file(out, folder + "/denoiser.safetensors")


def network(x, t):
    """What stands for a network: a function of picture and time."""
    return 0.7 * np.sin(3 * x + 0.002 * float(t))


def schedules():
    out = {}
    for noise, name in (("linear", "linear"), ("cosine", "squaredcos_cap_v2")):
        for target, kind in (("noise", "epsilon"), ("velocity", "v_prediction")):
            s = DDIMScheduler(num_train_timesteps=1000, beta_schedule=name, prediction_type=kind, clip_sample=True,
                              timestep_spacing="trailing")
            out["kept." + noise] = s.alphas_cumprod.double().numpy()
            s.set_timesteps(10)
            out["times"] = np.asarray(s.timesteps, dtype=np.int32)
            x = np.random.RandomState(3).randn(24)
            steps = [x]
            for t in s.timesteps:
                x = s.step(torch.from_numpy(network(x, t)), t, torch.from_numpy(x), eta=0.0,
                           use_clipped_model_output=True).prev_sample.numpy()
                steps.append(x)
            out["drawn.%s.%s" % (noise, target)] = np.stack(steps)
    # By numpy alone, in double.
    t = np.arange(1001) / 1000
    f = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
    out["numpy.cosine"] = np.cumprod(1 - np.minimum(1 - f[1:] / f[:-1], 0.999))
    out["numpy.linear"] = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))
    save_file(out, folder + "/schedules.safetensors")


denoiser()
schedules()
