"""Models with control flow and shapes from data, and with operators of onnxruntime's own: a folder each, with what
onnxruntime gives for several inputs."""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

F, I, B = T.FLOAT, T.INT64, T.BOOL
folder = sys.argv[1]
only = sys.argv[2:]
rng = np.random.default_rng(11)


def port(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def const(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def body(name, nodes, inputs, outputs, initials=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(initials))


def save(name, nodes, inputs, outputs, initials, feeds, opset=17):
    """A model, and a set for each of the feeds."""
    if only and name not in only:
        return
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initials))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    path = os.path.join(folder, name)
    os.makedirs(path)
    onnx.save(model, os.path.join(path, "model.onnx"))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number, feed in enumerate(feeds):
        at = os.path.join(path, f"test_data_set_{number}")
        os.makedirs(at)
        for role, values in (("input", [feed[i.name] for i in inputs]), ("output", session.run(None, feed))):
            for i, value in enumerate(values):
                with open(os.path.join(at, f"{role}_{i}.pb"), "wb") as out:
                    out.write(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def shapes():
    """Values that shapes need, computed from data."""
    save("non_zero", [node("Greater", "x,zero", "m"), node("NonZero", "m", "p"), node("Transpose", "p", "t"),
                      node("GatherND", "x,t", "y")],
         [port("x", F, ["n", 40])], [port("y", F, ["k"])], [const("zero", np.float32(0))],
         [{"x": f32(20, 40)}, {"x": f32(20, 40)}, {"x": -abs(f32(3, 40))}, {"x": f32(7, 40)}])
    save("compress", [node("ReduceSum", "x,one", "s", keepdims=0), node("Greater", "s,zero", "m"),
                      node("Compress", "x,m", "c", axis=0), node("Relu", "c", "y")],
         [port("x", F, [30, 40])], [port("y", F, ["k", 40])], [const("zero", np.float32(0)), const("one", [1])],
         [{"x": f32(30, 40)} for _ in range(3)])
    save("unique", [node("Mul", "x,three", "a"), node("Round", "a", "r"), node("Unique", "r", "y,f,i,c", sorted=1)],
         [port("x", F, [200])], [port("y", F, ["k"]), port("f", I, ["k"]), port("i", I, ["n"]), port("c", I, ["k"])],
         [const("three", np.float32(3))], [{"x": f32(200)} for _ in range(3)])
    save("lengths", [node("Abs", "x", "a"), node("ReduceSum", "a", "s", keepdims=0), node("Cast", "s", "i", to=I),
                     node("Mod", "i,seven", "m"), node("Add", "m,one", "k"), node("Range", "zero,k,one", "r"),
                     node("Cast", "r", "f", to=F), node("Unsqueeze", "k,axis", "e"), node("Slice", "x,axis,e", "z"),
                     node("Mul", "z,f", "y")],
         [port("x", F, [100])], [port("y", F, ["k"])],
         [const("seven", np.int64(7)), const("one", np.int64(1)), const("zero", np.int64(0)), const("axis", [0])],
         [{"x": f32(100)} for _ in range(6)])


def detector():
    """Boxes of a small head, suppressed, and what stays gathered; a second output from before the cut."""
    w, v = 0.3 * f32(4 * 5, 8, 1, 1), 0.2 * f32(4 * 3, 8, 3, 3)
    nodes = [node("Conv", "x,w", "b"), node("Reshape", "b,four", "bb"),
        node("Transpose", "bb", "boxes0", perm=[0, 2, 1]),
             node("Sigmoid", "boxes0", "c"), node("Split", "c,sizes", "xy,wh", axis=2), node("Mul", "wh,half", "h"),
             node("Sub", "xy,h", "low"), node("Add", "xy,h", "high"), node("Concat", "low,high", "boxes", axis=2),
             node("Conv", "x,v", "s", pads=[1, 1, 1, 1]), node("Reshape", "s,three", "ss"),
             node("Sigmoid", "ss", "scores"),
             node("NonMaxSuppression", "boxes,scores,most,iou,least", "kept"),
             node("Gather", "kept,two", "which", axis=1), node("Squeeze", "which,two1", "idx"),
             node("Gather", "boxes,idx", "picked", axis=1), node("Mul", "picked,size", "out"),
             node("ReduceMax", "scores", "best", keepdims=0)]
    initials = [const("w", w), const("v", v), const("four", [1, 4, -1]), const("three", [1, 3, -1]),
                const("sizes", [2, 2]), const("half", np.float32(0.1)), const("most", [20]),
                const("iou", np.array([0.3], np.float32)), const("least", np.array([0.7], np.float32)),
                const("two", [2]), const("two1", [1]), const("size", np.float32(320))]
    w4 = w[:4 * 5]
    initials[0] = const("w", w4)
    feeds = [{"x": f32(1, 8, 12, 12)} for _ in range(4)] + [{"x": f32(1, 8, 16, 8)}]
    # 4 values for each of 5 anchors: scores have 12 / 3 = 4 anchors' worth, so both are cut to one length.
    nodes[1] = node("Reshape", "b4,four", "bb")
    nodes.insert(1, node("Slice", "b,zero0,sixteen,one1", "b4"))
    initials += [const("zero0", [0]), const("sixteen", [16]), const("one1", [1])]
    save("detector", nodes, [port("x", F, [1, 8, "h", "w"])],
         [port("out", F, [1, "k", 4]), port("idx", I, ["k"]), port("best", F, [])], initials, feeds)


def branches():
    then = body("then", [node("MatMul", "h,w", "a")], [], [port("a", F, None)])
    other = body("other", [node("Neg", "h", "b"), node("Concat", "b,b", "bb", axis=1)], [], [port("bb", F, None)])
    save("branch", [node("Relu", "x", "h"), node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s,zero", "c"),
                    node("If", "c", "y", then_branch=then, else_branch=other), node("Tanh", "y", "z"),
                    node("Add", "h,h", "hh")],
         [port("x", F, ["n", 8])], [port("z", F, None), port("hh", F, ["n", 8])],
         [const("zero", np.float32(0)), const("w", f32(8, 5))],
         [{"x": f32(3, 8) + s} for s in (2, -2, 1, -1)] + [{"x": f32(5, 8) + 1}])
    inner = body("inner", [node("Sqrt", "p", "q")], [], [port("q", F, None)])
    inner2 = body("inner2", [node("Sub", "p,one", "q2")], [], [port("q2", F, None)])
    deep = body("deep", [node("Abs", "x", "p"), node("ReduceMax", "p", "m", keepdims=0), node("Greater", "m,two", "k"),
                         node("If", "k", "r", then_branch=inner, else_branch=inner2)], [], [port("r", F, None)])
    flat = body("flat", [node("Identity", "x", "i")], [], [port("i", F, None)])
    chain = []
    value = "x"
    for i in range(5):
        a = body(f"a{i}", [node("Add", f"{value},one", f"u{i}")], [], [port(f"u{i}", F, None)])
        b = body(f"b{i}", [node("Sub", f"{value},one", f"t{i}")], [], [port(f"t{i}", F, None)])
        chain += [node("ReduceMean", value, f"m{i}", keepdims=0), node("Greater", f"m{i},zero", f"c{i}"),
                  node("If", f"c{i}", f"v{i}", then_branch=a, else_branch=b)]
        value = f"v{i}"
    save("branches_in_a_row", chain, [port("x", F, [4, 8])], [port(value, F, None)],
         [const("one", np.float32(0.3)), const("zero", np.float32(0))], [{"x": f32(4, 8)} for _ in range(5)])
    save("branch_in_branch", [node("ReduceMean", "x", "s", keepdims=0), node("Less", "s,zero", "c"),
                              node("If", "c", "y", then_branch=deep, else_branch=flat)],
         [port("x", F, [2, 16])], [port("y", F, None)],
         [const("zero", np.float32(0)), const("one", np.float32(1)), const("two", np.float32(2))],
         [{"x": f32(2, 16) * k + s} for k, s in ((1, -1), (0.1, -0.2), (1, 1))])


def loops():
    step = body("step", [node("MatMul", "v,w", "p"), node("Tanh", "p", "q"), node("Add", "q,v", "v2"),
                         node("ReduceMax", "v2", "m", keepdims=0), node("Less", "m,limit", "on2"),
                         node("ReduceSum", "v2", "row", keepdims=0), node("Identity", "i", "at")],
                [port("i", I, []), port("on", B, []), port("v", F, None)],
                [port("on2", B, []), port("v2", F, None), port("row", F, []), port("at", I, [])])
    save("while", [node("Abs", "x", "a"), node("Loop", ",yes,a", "y,rows,ats", body=step)],
         [port("x", F, [4, 8])], [port("y", F, None), port("rows", F, ["t"]), port("ats", I, ["t"])],
         [const("w", abs(f32(8, 8))), const("limit", np.float32(25)), const("yes", np.array(True))],
         [{"x": f32(4, 8)}, {"x": 0.2 * f32(4, 8)}, {"x": f32(4, 8)}])
    count = body("count", [node("Add", "v,x", "v2"), node("Mul", "v2,decay", "v3"), node("Identity", "on", "on2")],
                 [port("i", I, []), port("on", B, []), port("v", F, [16])], [port("on2", B, []), port("v3", F, [16])])
    save("trips_from_data", [node("ReduceMax", "x", "m", keepdims=0), node("Mul", "m,ten", "k"),
        node("Cast", "k", "n", to=I),
                             node("Loop", "n,,x", "y", body=count)],
         [port("x", F, [16])], [port("y", F, [16])], [const("ten", np.float32(10)), const("decay", np.float32(0.9))],
         [{"x": f32(16)} for _ in range(4)])
    grow = body("grow", [node("Concat", "v,x", "v2", axis=0), node("ReduceSum", "v2", "s", keepdims=0),
                         node("Less", "s,limit", "on2")],
                [port("i", I, []), port("on", B, []), port("v", F, ["k", 3])],
                [port("on2", B, []), port("v2", F, ["k", 3])])
    save("grows", [node("Loop", "most,yes,x", "y", body=grow)], [port("x", F, [1, 3])], [port("y", F, ["k", 3])],
         [const("limit", np.float32(9)), const("yes", np.array(True)), const("most", np.int64(9))],
         [{"x": abs(f32(1, 3))}, {"x": abs(f32(1, 3))}])
    up = body("up", [node("Add", "v,half", "u")], [], [port("u", F, None)])
    down = body("down", [node("Sub", "v,half", "d")], [], [port("d", F, None)])
    zigzag = body("zigzag", [node("ReduceMean", "v", "m", keepdims=0), node("Less", "m,zero", "c"),
                             node("If", "c", "v2", then_branch=up, else_branch=down), node("Abs", "m", "a"),
                             node("Greater", "a,eps", "on2"), node("Gather", "x,i", "g", axis=0)],
                  [port("i", I, []), port("on", B, []), port("v", F, [6])],
                  [port("on2", B, []), port("v2", F, [6]), port("g", F, [6])])
    save("branch_in_loop", [node("ReduceSum", "x,axis", "v0", keepdims=0),
        node("Loop", "most,yes,v0", "y,gs", body=zigzag)],
         [port("x", F, [9, 6])], [port("y", F, [6]), port("gs", F, ["t", 6])],
         [const("zero", np.float32(0)), const("half", np.float32(0.5)), const("eps", np.float32(0.3)),
          const("axis", [0]), const("most", np.int64(8)), const("yes", np.array(True))],
         [{"x": f32(9, 6)} for _ in range(4)])
    inner = body("inner", [node("Mul", "u,half", "u2"), node("ReduceMax", "u2", "m", keepdims=0),
                           node("Greater", "m,one", "on3")],
                 [port("j", I, []), port("on1", B, []), port("u", F, [5])], [port("on3", B, []), port("u2", F, [5])])
    outer = body("outer", [node("Mul", "v,nine", "big"), node("Loop", ",yes,big", "v2", body=inner),
                           node("ReduceSum", "v2", "s", keepdims=0), node("Less", "s,limit", "on2")],
                 [port("i", I, []), port("on", B, []), port("v", F, [5])],
                 [port("on2", B, []), port("v2", F, [5]), port("s", F, [])])
    save("loop_in_loop", [node("Abs", "x", "a"), node("Loop", "most,yes,a", "y,sums", body=outer)],
         [port("x", F, [5])], [port("y", F, [5]), port("sums", F, ["t"])],
         [const("half", np.float32(0.5)), const("one", np.float32(1)), const("nine", np.float32(9)),
          const("limit", np.float32(3)), const("most", np.int64(6)), const("yes", np.array(True))],
         [{"x": f32(5)} for _ in range(3)])
    swap = body("swap", [node("Add", "b,one", "b2"), node("ReduceSum", "b2", "s", keepdims=0),
        node("Less", "s,limit", "on2")],
                [port("i", I, []), port("on", B, []), port("a", F, [4]), port("b", F, [4])],
                [port("on2", B, []), port("b2", F, [4]), port("a", F, [4])])
    save("swaps", [node("Loop", ",yes,x,z", "y,t", body=swap)], [port("x", F, [4]), port("z", F, [4])],
         [port("y", F, [4]), port("t", F, [4])],
         [const("one", np.float32(1)), const("limit", np.float32(12)), const("yes", np.array(True))],
         [{"x": f32(4), "z": f32(4)} for _ in range(3)])
    slices = body("slices", [node("Unsqueeze", "i,axis", "from"), node("Add", "from,two", "to"),
                             node("Slice", "x,from,to,axis", "part"), node("ReduceSum", "part", "s", keepdims=0),
                             node("Add", "v,s", "v2"), node("Less", "v2,limit", "on2")],
                  [port("i", I, []), port("on", B, []), port("v", F, [])], [port("on2", B, []), port("v2", F, [])])
    save("slice_by_trip", [node("Loop", "most,yes,zero", "y", body=slices)], [port("x", F, [12, 3])], [port("y", F,
        [])],
         [const("axis", [0]), const("two", [2]), const("limit", np.float32(4)), const("zero", np.float32(0)),
          const("most", np.int64(10)), const("yes", np.array(True))], [{"x": f32(12, 3)} for _ in range(3)])


def scans():
    step = body("step", [node("MatMul", "h,r", "a"), node("Add", "a,x_t", "b"), node("Tanh", "b", "h2"),
                         node("Mul", "h2,y_t", "o_t")],
                [port("h", F, [2, 6]), port("x_t", F, [2, 6]), port("y_t", F, [2, 6])],
                [port("h2", F, [2, 6]), port("o_t", F, [2, 6])])
    save("long_scan", [node("Scan", "h0,x,y", "h,o", body=step, num_scan_inputs=2, scan_input_axes=[0, 1],
                            scan_input_directions=[0, 1], scan_output_axes=[1], scan_output_directions=[1])],
         [port("h0", F, [2, 6]), port("x", F, ["t", 2, 6]), port("y", F, [2, "t", 6])],
         [port("h", F, [2, 6]), port("o", F, None)], [const("r", 0.3 * f32(6, 6))],
         [{"h0": f32(2, 6), "x": f32(t, 2, 6), "y": f32(2, t, 6)} for t in (1200, 3, 1500)])


def microsoft():
    """What onnxruntime's optimiser and quantiser write."""
    def ms(op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs.split(","), outputs.split(","), domain="com.microsoft", **attributes)

    def one(name, op, inputs, feed, initials=(), outputs=("y",), types=None, **attributes):
        kinds = {np.dtype(np.float32): F, np.dtype(np.int32): T.INT32, np.dtype(np.uint8): T.UINT8,
                 np.dtype(np.int8): T.INT8, np.dtype(np.int64): I}
        ports = [port(k, kinds[v.dtype], list(v.shape)) for k, v in feed.items()]
        outs = [port(o, (types or {}).get(o, F), None) for o in outputs if o]
        save(name, [ms(op, inputs, ",".join(outputs), **attributes)], ports, outs,
             [const(k, v) for k, v in dict(initials).items()], [feed])

    x, w, b = f32(2, 6, 16), f32(16, 48), f32(48)
    one("fused_matmul", "FusedMatMul", "a,b", {"a": f32(3, 5, 4), "b": f32(3, 6, 5)}, transA=1, transB=1, alpha=0.5)
    one("erf_gelu", "Gelu", "x", {"x": x})
    one("bias_gelu", "BiasGelu", "x,b", {"x": x}, {"b": f32(16)})
    one("fast_gelu", "FastGelu", "x,b", {"x": x}, {"b": f32(16)})
    one("quick_gelu", "QuickGelu", "x", {"x": x}, alpha=1.5)
    one("skip_norm", "SkipLayerNormalization", "x,s,g,h,b", {"x": x, "s": f32(2, 6, 16)},
        {"g": f32(16), "h": f32(16), "b": f32(16)}, ("y", "", "", "sum"), epsilon=1e-5)
    one("skip_rms", "SkipSimplifiedLayerNormalization", "x,s,g,b", {"x": x, "s": f32(2, 6, 16)},
        {"g": f32(16), "b": f32(16)}, ("y", "", "", "sum"), epsilon=1e-5)
    ids, kinds = rng.integers(0, 20, (2, 6)).astype(np.int32), rng.integers(0, 2, (2, 6)).astype(np.int32)
    seen = np.array([[1] * 6, [1] * 4 + [0] * 2], np.int32)
    one("embed", "EmbedLayerNormalization", "i,k,w,p,s,g,b,m", {"i": ids, "k": kinds, "m": seen},
        {"w": f32(20, 16), "p": f32(9, 16), "s": f32(2, 16), "g": f32(16), "b": f32(16)}, ("y", "n"),
        {"n": T.INT32}, epsilon=1e-5)
    one("fused_attention", "Attention", "x,w,b", {"x": x}, {"w": w, "b": b}, num_heads=4)
    one("fused_attention_masked", "Attention", "x,w,b,m", {"x": x, "m": seen}, {"w": w, "b": b}, num_heads=4)
    one("fused_attention_lengths", "Attention", "x,w,b,m", {"x": x, "m": np.array([6, 3], np.int32)},
        {"w": w, "b": b}, num_heads=2, scale=0.3)
    one("fused_attention_causal", "Attention", "x,w,b,,p", {"x": x, "p": f32(2, 2, 4, 3, 4)}, {"w": w, "b": b},
        ("y", "now"), num_heads=4, unidirectional=1)
    one("many_heads", "MultiHeadAttention", "q,k,v,b,m", {"q": x, "k": f32(2, 6, 16), "v": f32(2, 6, 16), "m": seen},
        {"b": b}, num_heads=4)
    one("many_heads_bias", "MultiHeadAttention", "q,k,v,,,a", {"q": x, "k": f32(2, 5, 16), "v": f32(2, 5, 16),
                                                               "a": f32(1, 4, 6, 5)}, num_heads=4)
    one("fused_conv", "FusedConv", "x,w,b", {"x": f32(1, 3, 9, 9)}, {"w": f32(4, 3, 3, 3), "b": f32(4)},
        activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    one("fused_gemm", "FusedGemm", "a,b,c", {"a": f32(3, 5)}, {"b": f32(7, 5), "c": f32(7)}, activation="Tanh",
        transB=1)
    u8, i8 = T.UINT8, T.INT8
    a, c = rng.integers(0, 256, (2, 4, 6, 6)).astype(np.uint8), rng.integers(0, 256, (2, 4, 6, 6)).astype(np.uint8)
    s = {"sa": np.float32(1 / 16), "sb": np.float32(1 / 32), "sy": np.float32(1 / 8), "za": np.uint8(120),
         "zb": np.uint8(100), "zy": np.uint8(128)}
    s1 = {k: v for k, v in s.items() if k not in ("sb", "zb")}
    unit = {"sa": s["sa"], "za": s["za"], "sy": np.float32(1 / 256), "zy": np.uint8(0)}
    for op in ("Add", "Mul"):
        one("quantized_" + op.lower(), "QLinear" + op, "a,sa,za,b,sb,zb,sy,zy", {"a": a, "b": c}, s, types={"y": u8})
    one("quantized_sigmoid", "QLinearSigmoid", "a,sa,za,sy,zy", {"a": a}, unit, types={"y": u8})
    one("quantized_leaky", "QLinearLeakyRelu", "a,sa,za,sy,zy", {"a": a}, s1, types={"y": u8}, alpha=0.1)
    one("quantized_average", "QLinearAveragePool", "a,sa,za,sy,zy", {"a": a}, s1, types={"y": u8},
        kernel_shape=[2, 2], strides=[2, 2])
    one("quantized_global", "QLinearGlobalAveragePool", "a,sa,za,sy,zy", {"a": a}, s1, types={"y": u8})
    one("quantized_softmax", "QLinearSoftmax", "a,sa,za,sy,zy", {"a": a}, unit, types={"y": u8}, axis=1, opset=13)
    one("quantized_concat", "QLinearConcat", "sy,zy,a,sa,za,b,sb,zb", {"a": a, "b": c}, s, types={"y": u8}, axis=1)
    m, n = rng.integers(0, 256, (3, 8)).astype(np.uint8), rng.integers(-128, 128, (8, 5)).astype(np.int8)
    q = {"b": n, "sa": np.float32(0.02), "za": np.uint8(130), "sb": (0.01 + abs(f32(5)) / 50).astype(np.float32),
         "zb": np.zeros(5, np.int8), "c": rng.integers(-500, 500, 5).astype(np.int32), "sy": np.float32(0.05),
         "zy": np.uint8(90)}
    one("quantized_gemm", "QGemm", "a,sa,za,b,sb,zb,c,sy,zy", {"a": m}, q, types={"y": u8})
    one("integers_to_float", "MatMulIntegerToFloat", "a,b,sa,sb,za,zb,c", {"a": m},
        {k: v for k, v in q.items() if k[0] in "sbz" and k[1:] != "y" or k == "b"} | {"c": f32(5)})
    one("dynamic_matmul", "DynamicQuantizeMatMul", "x,b,sb,zb,c", {"x": f32(3, 8)},
        {"b": n, "sb": q["sb"], "zb": q["zb"], "c": f32(5)})
    packed = rng.integers(0, 256, (6, 2, 16)).astype(np.uint8)
    one("four_bits", "MatMulNBits", "x,b,s", {"x": f32(3, 64)}, {"b": packed, "s": abs(f32(12))},
        K=64, N=6, bits=4, block_size=32)
    one("four_bits_zeros", "MatMulNBits", "x,b,s,z", {"x": f32(3, 64)},
        {"b": packed, "s": abs(f32(12)), "z": rng.integers(0, 256, 6).astype(np.uint8)}, K=64, N=6, bits=4,
            block_size=32)
    save("rms", [node("SimplifiedLayerNormalization", "x,g", "y", axis=-1, epsilon=1e-5)],
         [port("x", F, [2, 6, 16])], [port("y", F, None)], [const("g", f32(16))], [{"x": x}])


shapes()
detector()
branches()
loops()
scans()
microsoft()
