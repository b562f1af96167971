"""The peer of the attention rows of `mica-bench sequence`: PyTorch's scaled_dot_product_attention, causal.

    python3 torch_attention.py B H G T D TRAINING THREADS

Speaks as torch_train.py does: its version first; then a number of steps a line, answered by the seconds that they took;
"end" answers the peak of resident memory in bytes.
"""
import resource
import sys
import time

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as error:
    print("no", " ".join(str(error).split()), flush=True)
    sys.exit(3)


def main():
    batch, heads, groups, length, size, training, threads = (int(a) for a in sys.argv[1:8])
    print(torch.__version__, flush=True)
    torch.set_num_threads(threads)
    q, k, v = (torch.rand(batch, n, length, size) * 3.4 - 1.7 for n in (heads, groups, groups))
    for x in (q, k, v):
        x.requires_grad_(bool(training))
    for line in sys.stdin:
        if line.strip() == "end":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            break
        begin = time.perf_counter()
        for _ in range(int(line)):
            if training:
                for x in (q, k, v):
                    x.grad = None
                y = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups != heads)
                (y * y).sum().backward()
            else:
                with torch.no_grad():
                    scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups != heads)
        print(time.perf_counter() - begin, flush=True)


main()
