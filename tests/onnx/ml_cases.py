"""Exports of scikit-learn and LightGBM, beside onnxruntime.

write FOLDER: FOLDER/<case>/model.onnx, its data x.npy, and what onnxruntime answers: want_<k>.npy, maps as tensors.
judge FOLDER: compares these with FOLDER/<case>/out, which `mica run --out` wrote."""

import pathlib
import sys
import warnings

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier,
                              HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

warnings.simplefilter("ignore")
F = np.float32


def iris(texts=False):
    x, y = load_iris(return_X_y=True)
    return x.astype(F), load_iris().target_names[y] if texts else y


def cancer():
    x, y = load_breast_cancer(return_X_y=True)
    return x.astype(F), y


def wine():
    x, y = load_wine(return_X_y=True)
    return x.astype(F), y


def diabetes():
    x, y = load_diabetes(return_X_y=True)
    return x.astype(F), y


def holes(data):
    x, y = data
    x = x.copy()
    x[np.random.default_rng(0).random(x.shape) < 0.1] = np.nan
    return x, y


def categories():
    """Two numbers with holes and two columns of codes."""
    draw = np.random.default_rng(1)
    x = draw.normal(size=(300, 4)).astype(F)
    x[:, 2:] = draw.integers(0, [4, 3], (300, 2))
    y = (x[:, 0] + x[:, 2] > 1).astype(int)
    x[::7, 1] = np.nan
    return x, y


def columns():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    codes = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer([("numbers", numbers, [0, 1]), ("codes", codes, [2, 3])])


def cases():
    """name, a fitted model's maker, its data"""
    yield "linear_regression", LinearRegression(), diabetes()
    yield "logistic_regression", LogisticRegression(max_iter=1000), wine()
    yield "logistic_texts", make_pipeline(StandardScaler(), LogisticRegression()), iris(True)
    yield "logistic_binary", make_pipeline(MinMaxScaler(), LogisticRegression()), cancer()
    yield "mlp_classifier", make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=16, max_iter=9)), iris()
    yield "mlp_texts", MLPClassifier(hidden_layer_sizes=8, max_iter=9), iris(True)
    yield "mlp_regressor", make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=16, max_iter=9)), diabetes()
    yield "svc", make_pipeline(StandardScaler(), SVC()), iris()
    yield "svc_binary", make_pipeline(StandardScaler(), SVC()), cancer()
    yield "svc_poly_texts", make_pipeline(StandardScaler(), SVC(kernel="poly")), iris(True)
    yield "svc_probability", make_pipeline(StandardScaler(), SVC(probability=True)), iris()
    yield "svc_probability_binary", make_pipeline(StandardScaler(), SVC(probability=True)), cancer()
    yield "svr", make_pipeline(StandardScaler(), SVR()), diabetes()
    yield "svr_sigmoid", make_pipeline(Normalizer(), SVR(kernel="sigmoid")), diabetes()
    yield "tree_texts", DecisionTreeClassifier(random_state=0), iris(True)
    yield "forest_classifier", RandomForestClassifier(20, random_state=0), wine()
    yield "forest_binary", RandomForestClassifier(20, random_state=0), cancer()
    yield "forest_regressor", RandomForestRegressor(20, random_state=0), diabetes()
    yield "boosting_classifier", GradientBoostingClassifier(n_estimators=20, random_state=0), iris()
    yield "boosting_binary", GradientBoostingClassifier(n_estimators=20, random_state=0), cancer()
    yield "boosting_regressor", GradientBoostingRegressor(n_estimators=30, random_state=0), diabetes()
    yield "histogram_classifier", HistGradientBoostingClassifier(max_iter=20, random_state=0), holes(iris())
    yield "histogram_binary", HistGradientBoostingClassifier(max_iter=20, random_state=0), holes(cancer())
    yield "histogram_regressor", HistGradientBoostingRegressor(max_iter=20, random_state=0), holes(diabetes())
    yield "imputer", make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), holes(iris())
    yield "one_hot", make_pipeline(OneHotEncoder(), LogisticRegression()), (categories()[0][:, 2:], categories()[1])
    yield "columns", make_pipeline(columns(), LogisticRegression()), categories()
    yield "columns_forest", make_pipeline(columns(), RandomForestClassifier(10, random_state=0)), categories()


def take_booleans():
    """skl2onnx 1.20 writes lists of booleans as integers, which onnx 1.23 refuses."""
    from onnx import helper

    make = helper.make_attribute

    def made(key, value, *rest, **named):
        if isinstance(value, (list, tuple, np.ndarray)):
            value = [int(v) if isinstance(v, (bool, np.bool_)) else v for v in value]
        return make(key, value, *rest, **named)

    helper.make_attribute = made


def exports():
    take_booleans()
    for name, model, (x, y) in cases():
        yield name, to_onnx(model.fit(x, y), x[:1]), x
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType as Floats

    quiet = {"n_estimators": 20, "num_leaves": 15, "verbose": -1}
    lightgbm_cases = (("lightgbm_binary", lightgbm.LGBMClassifier(**quiet), cancer()),
                      ("lightgbm_classifier", lightgbm.LGBMClassifier(**quiet), holes(wine())),
                      ("lightgbm_regressor", lightgbm.LGBMRegressor(**quiet), holes(diabetes())))
    for name, model, (x, y) in lightgbm_cases:
        given = [("x", Floats([None, x.shape[1]]))]
        yield name, convert_lightgbm(model.fit(x, y), initial_types=given, target_opset=15), x


def as_array(value):
    if isinstance(value, list):
        return np.array([list(row.values()) for row in value], F)
    return value.astype(str) if value.dtype.kind in "OU" else value


def write_case(folder, model, x):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = x[:: max(1, len(x) // 50)]
    name = session.get_inputs()[0].name
    (folder / "input").write_text(name)
    np.save(folder / "x.npy", x)
    for k, value in enumerate(session.run(None, {name: x})):
        np.save(folder / f"want_{k}.npy", as_array(value))


def wrong(folder, k):
    """What is wrong with output k; "" for nothing. Texts are a line each."""
    want = np.load(folder / f"want_{k}.npy")
    found = list((folder / "out").glob(f"{k}_*"))
    if not found:
        return "missing"
    got = np.array(found[0].read_text().split("\n")[:-1]) if found[0].suffix == ".txt" else np.load(found[0])
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.kind == "U" or want.dtype.kind == "i":
        bad = got != want
    else:
        bad = ~np.isclose(got, want, rtol=1e-4, atol=1e-5)
    return f"{bad.sum()} of {bad.size} elements" if bad.any() else ""


def judge(folder):
    cases_of = sorted(p.parent for p in folder.glob("*/x.npy"))
    faults = [(case.name, k, wrong(case, k)) for case in cases_of for k in range(len(list(case.glob("want_*.npy"))))]
    faults = [fault for fault in faults if fault[2]]
    for fault in faults:
        print("wrong: %s, output %d: %s" % fault)
    print(f"{len(cases_of)} exports, {len(faults)} outputs are wrong")
    return 1 if faults or len(cases_of) < 30 else 0


def main():
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "judge":
        sys.exit(judge(folder))
    for name, model, x in exports():
        write_case(folder / name, model, x)


if __name__ == "__main__":
    main()
