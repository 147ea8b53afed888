"""Data with categorical features for ``bench_categorical.py``: synthetic and real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Data = tuple[pd.DataFrame, Any, Any]  # features, labels and query ids


def synthetic(n_rows: int, size: int, n_test: int = 100_000, seed: int = 7) -> tuple[Data, Data]:
    """Return training and test documents, 50 per query, with categories as pandas' type."""
    rng = np.random.default_rng(seed)
    n_test = min(n_test, n_rows)
    n = n_rows + n_test
    frequency = 1 / np.arange(1, size + 1)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n).astype(np.float32) for j in range(10)})
    score = frame["x0"].to_numpy() + frame["x1"].to_numpy() * frame["x2"].to_numpy()
    for j in range(4):
        codes = rng.choice(size, n, p=frequency / frequency.sum())
        effect = rng.permutation(np.linspace(-1.5, 1.5, size))
        score = score + effect[codes]
        names = [f"value {code}" for code in rng.permutation(size)]
        frame[f"c{j}"] = pd.Categorical.from_codes(codes, categories=names)
    score = score + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, [0.6, 0.8, 0.92, 0.98]))
    qid = np.arange(n) // 50
    first, last = slice(0, n_rows), slice(n_rows, n)
    return (
        (frame[first].reset_index(drop=True), y[first], qid[first]),
        (frame[last].reset_index(drop=True), y[last], qid[last]),
    )


def formula_one(folder: Path) -> tuple[Data, Data]:
    """Return races before 2010 and since; the label is 4 for the first, 3 for the next two, ..."""
    races = pd.read_csv(folder / "f1_races.csv.gz")
    order = races["finish_order"]
    y = np.select([order <= 1, order <= 3, order <= 6, order <= 10], [4, 3, 2, 1], 0)
    outcomes = [c for c in races if c.startswith("finish") or c in ("points", "retired")]
    X = races.drop(columns=[*outcomes, "race"])
    for column in ("grid", "qualifying"):  # a start from the pit lane is a text
        X[column] = pd.to_numeric(X[column], errors="coerce")
    texts = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return _parts(X, texts, y, races["race"].to_numpy(), (races["year"] >= 2010).to_numpy())


def movielens(folder: Path) -> tuple[Data, Data]:
    """Return the films of four fifths of the users, and of the others."""
    tables = []
    for name in ("inter", "user", "item"):
        table = pd.read_csv(folder / f"ml-100k.{name}", sep="\t")
        tables.append(table.rename(columns=lambda column: column.split(":")[0]))
    rated, users, films = tables
    table = rated.merge(users, on="user_id").merge(films, on="item_id")
    table = table.sort_values(["user_id", "item_id"]).reset_index(drop=True)
    X = pd.DataFrame({"film": table["item_id"].astype(str), "genres": table["class"].astype(str)})
    X["genre"] = X["genres"].str.split().str[0]
    X["gender"], X["occupation"] = table["gender"], table["occupation"]
    X["region"] = table["zip_code"].astype(str).str[0]
    texts = list(X)
    X["age"] = table["age"].astype(float)
    X["year"] = pd.to_numeric(table["release_year"], errors="coerce")
    user = table["user_id"].to_numpy()
    return _parts(X, texts, table["rating"].to_numpy().astype(int) - 1, user, user % 5 == 0)


def cars(folder: Path) -> tuple[Data, Data]:
    """Return four fifths of the choices, and the others; the label of the chosen car is 1."""
    table = pd.read_csv(folder / "car.csv.gz")
    described = ["type", "fuel", "price", "range", "acc", "speed", "pollution"]
    described += ["size", "space", "cost", "station"]
    parts = []
    for number in range(1, 7):
        part = table[["college", "hsg2", "coml5"]].copy()
        for column in described:
            part[column] = table[f"{column}{number}"]
        part["chosen"] = (table["choice"] == f"choice{number}").astype(int)
        parts.append(part.assign(choice=table.index))
    X = pd.concat(parts).sort_values("choice", kind="stable").reset_index(drop=True)
    y, qid = X.pop("chosen").to_numpy(), X.pop("choice").to_numpy()
    return _parts(X, ["type", "fuel"], y, qid, qid % 5 == 0)


def tafeng(folder: Path) -> tuple[Data, Data]:
    """Return 25,000 baskets of 2 to 20 products, each with 15 random others, in order of time."""
    sold = pd.read_csv(folder / "ta_feng.csv.zip")
    sold["day"] = pd.to_datetime(sold["TRANSACTION_DT"])
    sold = sold.drop_duplicates(["day", "CUSTOMER_ID", "PRODUCT_ID"])
    baskets = sold.groupby(["day", "CUSTOMER_ID"])["PRODUCT_ID"]
    size = baskets.transform("size")
    sold = sold[(size >= 2) & (size <= 20)].reset_index(drop=True)
    basket = sold.groupby(["day", "CUSTOMER_ID"]).ngroup().to_numpy()
    products = sold.drop_duplicates("PRODUCT_ID").set_index("PRODUCT_ID")["PRODUCT_SUBCLASS"]
    price = (sold["SALES_PRICE"] / sold["AMOUNT"].clip(lower=1)).groupby(sold["PRODUCT_ID"])
    price = price.median()
    random = np.random.default_rng(0)
    chosen = np.sort(random.choice(basket.max() + 1, 25_000, replace=False))
    bought = pd.DataFrame({"basket": basket, "product": sold["PRODUCT_ID"], "y": 1})
    bought = bought[np.isin(basket, chosen)]
    others = pd.DataFrame({"basket": np.repeat(chosen, 15), "y": 0})
    others["product"] = random.choice(products.index.to_numpy(), len(others))
    table = pd.concat([bought, others]).drop_duplicates(["basket", "product"])
    table = table.sort_values(["basket", "product"]).reset_index(drop=True)
    buyer = sold.assign(basket=basket).drop_duplicates("basket").set_index("basket")
    buyer = buyer.loc[table["basket"]]
    X = pd.DataFrame({"product": table["product"].astype(str)})
    X["class"] = table["product"].map(products).astype(str)
    X["age"] = buyer["AGE_GROUP"].astype(str).to_numpy()
    X["region"] = buyer["PIN_CODE"].astype(str).to_numpy()
    texts = list(X)
    X["price"] = table["product"].map(price).astype(float)
    X["weekday"] = buyer["day"].dt.dayofweek.to_numpy().astype(float)
    qid = table["basket"].to_numpy()
    return _parts(X, texts, table["y"].to_numpy(), qid, qid >= np.quantile(chosen, 0.75))


def _parts(X: pd.DataFrame, texts: list[str], y: Any, qid: Any, is_test: Any) -> tuple[Data, Data]:
    """Return the training and the test part, with queries one after the other."""
    X = X.astype(dict.fromkeys(texts, "category"))
    found = []
    for rows in (np.flatnonzero(~is_test), np.flatnonzero(is_test)):
        rows = rows[np.argsort(pd.factorize(qid[rows])[0], kind="stable")]
        numbers = pd.factorize(qid[rows])[0]
        found.append((X.iloc[rows].reset_index(drop=True), y[rows], numbers))
    return found[0], found[1]


REAL: dict[str, Callable[[Path], tuple[Data, Data]]] = {
    "f1": formula_one,
    "movielens": movielens,
    "cars": cars,
    "tafeng": tafeng,
}
