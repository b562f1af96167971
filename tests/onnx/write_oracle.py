"""write_oracle.py FOLDER: models that Mica wrote, NAME.onnx, pass onnx's checker with all checks, and give in
onnxruntime what Mica gave: NAME.output.BATCH.npy of NAME.input.BATCH.npy, within 1e-4 of the largest number."""

import glob
import os
import sys

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-4


def compare(path: str) -> float:
    """Checks a model and returns the largest relative difference of its outputs."""
    stem = path[: -len(".onnx")]
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    worst = 0.0
    batches = sorted(glob.glob(glob.escape(stem) + ".input.*.npy"))
    if not batches:
        raise SystemExit(f"{path}: no inputs beside it")
    for given in batches:
        want = np.load(given.replace(".input.", ".output."))
        (got,) = session.run(None, {name: np.load(given)})
        if got.shape != want.shape or got.dtype != want.dtype:
            raise SystemExit(f"{given}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}")
        off = np.abs(got.astype(np.float64) - want).max() / max(np.abs(want).max(), 1e-30)
        if not off <= TOLERANCE:
            raise SystemExit(f"{given}: off by {off:.3g}")
        worst = max(worst, off)
    return worst


def main() -> None:
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx")))
    if not paths:
        raise SystemExit("no models")
    for path in paths:
        model = onnx.load(path, load_external_data=False)
        operators = sorted({node.op_type for node in model.graph.node})
        print(f"{os.path.basename(path)}: off by {compare(path):.2e}; {len(model.graph.node)} nodes,", *operators)


if __name__ == "__main__":
    main()
