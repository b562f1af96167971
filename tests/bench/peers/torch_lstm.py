"""The peer of the LSTM rows of `mica-bench sequence`: PyTorch runs the same layer.

    python3 torch_lstm.py B T I H TRAINING THREADS

Speaks as torch_train.py does: its version first; then a number of steps a line, answered by the seconds that they took;
"end" answers the peak of resident memory in bytes.
"""
import resource
import sys
import time

try:
    import torch
except ImportError as error:
    print("no", " ".join(str(error).split()), flush=True)
    sys.exit(3)


def main():
    batch, steps, inputs, units, training, threads = (int(a) for a in sys.argv[1:7])
    print(torch.__version__, flush=True)
    torch.set_num_threads(threads)
    layer = torch.nn.LSTM(inputs, units)
    x = torch.rand(steps, batch, inputs) * 3.4 - 1.7
    for line in sys.stdin:
        if line.strip() == "end":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            break
        begin = time.perf_counter()
        for _ in range(int(line)):
            if training:
                layer.zero_grad(set_to_none=True)
                y, _ = layer(x)
                (y * y).sum().backward()
            else:
                with torch.no_grad():
                    layer(x)
        print(time.perf_counter() - begin, flush=True)


main()
