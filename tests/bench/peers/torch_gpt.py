"""The peer of the GPT rows of `mica-bench sequence`: PyTorch's layers, trained by AdamW, or continuing texts eagerly
with a cache of keys and values.

    python3 torch_gpt.py LAYERS WIDTH HEADS CONTEXT BATCH TOKENS DTYPE THREADS

TOKENS 0 trains, its forward pass under autocast where DTYPE is not f32; else a step reads a prompt of 16 tokens and
writes TOKENS behind it, drawn from the softmax. Speaks as torch_train.py does: its version first; then a number of
steps a line, answered by the seconds that they took; "end" answers the peak of resident memory in bytes.
"""
import contextlib
import resource
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print("no", " ".join(str(error).split()), flush=True)
    sys.exit(3)

VOCABULARY, PROMPT = 256, 16


def autocast(name):
    if name == "f32":
        return contextlib.nullcontext()
    return torch.autocast("cpu", {"f16": torch.float16, "bf16": torch.bfloat16}[name])


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.into, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.linear1, self.linear2 = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x, past=None):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.into(self.norm1(x)).split(width, 2))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x)))), (k, v)


class Gpt(torch.nn.Module):
    def __init__(self, layers, width, heads, context):
        super().__init__()
        self.embed, self.positions = torch.nn.Embedding(VOCABULARY, width), torch.nn.Embedding(context, width)
        self.layers = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, ids, past=None, last=False):
        begin = past[0][0].shape[2] if past else 0
        x = self.embed(ids) + self.positions(torch.arange(begin, begin + ids.shape[1]))
        kept = []
        for i, layer in enumerate(self.layers):
            x, own = layer(x, past[i] if past else None)
            kept.append(own)
        if last:
            x = x[:, -1:]
        return F.linear(self.norm(x), self.embed.weight), kept


def main():
    layers, width, heads, context, batch, tokens = (int(a) for a in sys.argv[1:7])
    dtype, threads = sys.argv[7], int(sys.argv[8])
    print(torch.__version__, flush=True)
    torch.set_num_threads(threads)
    net = Gpt(layers, width, heads, context)
    adam = torch.optim.AdamW(net.parameters(), 1e-3)
    data = torch.randint(VOCABULARY, (batch, context + 1))

    def train():
        adam.zero_grad(set_to_none=True)
        with autocast(dtype):
            logits, _ = net(data[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten())
        loss.backward()
        adam.step()

    @torch.inference_mode()
    def write():
        ids, past = data[:, :PROMPT], None
        for _ in range(tokens):
            logits, past = net(ids, past, last=True)
            ids = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
            ids.tolist()

    for line in sys.stdin:
        if line.strip() == "end":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            break
        begin = time.perf_counter()
        for _ in range(int(line)):
            write() if tokens else train()
        print(time.perf_counter() - begin, flush=True)


main()
