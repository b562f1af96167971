"""The peers of `mica-bench infer`: ONNX files, inputs and outputs made, and onnxruntime and PyTorch run on them.

    python3 infer.py make NAME|FILE FOLDER SHAPES THREADS   FOLDER/model.onnx (NAME by torchvision or PyTorch, weights
                                                            random; or a copy of FILE), and FOLDER/data with input_0.pb,
                                                            ... and the outputs of onnxruntime; of NAME_int8 what
                                                            onnxruntime quantises, and in FOLDER/f32 what from
    python3 infer.py onnxruntime FOLDER THREADS
    python3 infer.py pytorch NAME FOLDER THREADS
    python3 infer.py openvino FOLDER TYPE THREADS           TYPE f16 or bf16: what it computes in

SHAPES is "NAME=1,3,224,224;..." for inputs whose dimensions are open; others are 1. Speaks as torch_train.py does: its
version, or "no " and why there is none, first; then a number of runs a line, answered by the seconds that they took
(processor time if MICA_BENCH_CPU_TIME is set);
"end" answers the peak of resident memory in bytes.
"""
import os
import resource
import shutil
import sys
import time
import warnings


def torch_model(name):
    import torch
    torch.manual_seed(0)
    if name == "encoder":
        layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
        return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval(), torch.randn(1, 128, 256)
    import torchvision
    return torchvision.models.get_model(name, weights=None).eval(), torch.rand(1, 3, 224, 224) * 2 - 1


def settle(model, x):
    """Running means and variances as those of the input, so that no layer's values vanish or overflow."""
    import torch
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.train()
        norm.momentum = None
    with torch.no_grad():
        model(torch.cat([x, x.flip(3)]) if norms else x)
    model.eval()


def make_model(name, path):
    if os.path.exists(name):
        shutil.copyfile(name, path)
        return
    import torch
    warnings.simplefilter("ignore")  # of the exporter's other form
    model, x = torch_model(name)
    settle(model, x)
    torch.save(model.state_dict(), os.path.join(os.path.dirname(path), "weights.pt"))
    torch.onnx.export(model, x, path, opset_version=17, dynamo=False, input_names=["x"], output_names=["y"])


def quantise(path, to):
    """Weights of int8, a scale a filter, and activations of uint8 whose ranges a few inputs give: Q and DQ nodes."""
    import numpy
    from onnxruntime import quantization

    class Inputs(quantization.CalibrationDataReader):
        def __init__(self):
            random = numpy.random.default_rng(2)
            self.left = [{"x": random.uniform(-1, 1, (1, 3, 224, 224)).astype(numpy.float32)} for _ in range(8)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantization.quantize_static(path, to, Inputs(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)


def session_of(path, threads, exact=False):
    """exact: pairs of Q and DQ are computed as real numbers, since sums of integers saturate on CPUs without VNNI."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    if exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def make(name, folder, shapes, threads):
    import numpy
    from onnx import numpy_helper
    path = os.path.join(folder, "model.onnx")
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    if name.endswith("_int8"):
        real = os.path.join(folder, "f32")
        make(name[:-5], real, shapes, threads)
        quantise(os.path.join(real, "model.onnx"), path)
    else:
        make_model(name, path)
    given = dict(item.split("=") for item in shapes.split(";") if item)
    session = session_of(path, threads, exact=name.endswith("_int8"))
    feeds = {}
    random = numpy.random.default_rng(1)
    for number, port in enumerate(session.get_inputs()):
        shape = [int(n) for n in given[port.name].split(",")] if port.name in given else \
            [n if isinstance(n, int) else 1 for n in port.shape]
        if "int64" in port.type:
            value = numpy.full(shape, 16000, dtype=numpy.int64)  # a rate of samples
        else:
            value = random.uniform(-1, 1, shape).astype(numpy.float16 if "float16" in port.type else numpy.float32)
        feeds[port.name] = value
        with open(os.path.join(data, "input_%d.pb" % number), "wb") as file:
            file.write(numpy_helper.from_array(value, port.name).SerializeToString())
    for number, value in enumerate(session.run(None, feeds)):
        with open(os.path.join(data, "output_%d.pb" % number), "wb") as file:
            file.write(numpy_helper.from_array(value).SerializeToString())


def feeds_of(folder):
    import onnx
    feeds = {}
    for number in range(100):
        path = os.path.join(folder, "data", "input_%d.pb" % number)
        if not os.path.exists(path):
            return feeds
        tensor = onnx.load_tensor(path)
        feeds[tensor.name] = onnx.numpy_helper.to_array(tensor)


def serve(version, run):
    now = time.process_time if os.environ.get("MICA_BENCH_CPU_TIME") else time.perf_counter
    print(version, flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            return
        begin = now()
        for _ in range(int(line)):
            run()
        print(now() - begin, flush=True)


def main():
    what = sys.argv[1]
    try:
        if what == "make":
            import onnxruntime
            silent = os.dup(1)
            os.dup2(2, 1)  # what exporters print is no answer
            make(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
            os.dup2(silent, 1)
            serve(onnxruntime.__version__, lambda: None)
        elif what == "onnxruntime":
            import onnxruntime
            session = session_of(os.path.join(sys.argv[2], "model.onnx"), int(sys.argv[3]))
            feeds = feeds_of(sys.argv[2])
            serve(onnxruntime.__version__, lambda: session.run(None, feeds))
        elif what == "openvino":
            import openvino
            model = openvino.compile_model(os.path.join(sys.argv[2], "model.onnx"), "CPU", {
                "INFERENCE_PRECISION_HINT": sys.argv[3], "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_NUM_THREADS": int(sys.argv[4])})
            request = model.create_infer_request()
            feeds = feeds_of(sys.argv[2])
            serve(openvino.__version__.split("-")[0], lambda: request.infer(feeds))
        else:
            import torch
            torch.set_num_threads(int(sys.argv[4]))
            model, _ = torch_model(sys.argv[2])
            model.load_state_dict(torch.load(os.path.join(sys.argv[3], "weights.pt")))
            x = torch.from_numpy(feeds_of(sys.argv[3])["x"].copy())
            with torch.inference_mode():
                serve(torch.__version__, lambda: model(x))
    except Exception as error:
        print("no", " ".join(str(error).split())[:150], flush=True)
        sys.exit(3)


main()
