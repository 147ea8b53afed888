"""Collections that had no say in any default: other shapes, other seeds, other real data.

They were declared before anything was measured on them. Nothing may be chosen by them: whoever
changes a default after a look at their figures declares new ones.
"""

from __future__ import annotations

from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import rankgrove
from _judgments import DATA, f1_races, interactions
from rankgrove.datasets import make_ranking

SIMULATED: dict[str, dict[str, Any]] = {
    "held out: 100 lists of 80, little noise": {
        "n_queries": 100,
        "docs_per_query": 80,
        "n_features": 60,
        "noise": 0.5,
        "seed": 101,
    },
    "held out: 500 lists of 20, few relevant": {
        "n_queries": 500,
        "docs_per_query": 20,
        "n_features": 25,
        "grade_shares": [0.8, 0.15, 0.05],
        "seed": 102,
    },
    "held out: letor4 shape": {"n_queries": 300, "preset": "letor4", "seed": 103},
    "held out: yahoo shape": {"n_queries": 150, "preset": "yahoo", "seed": 104},
    "held out: mslr shape": {"n_queries": 150, "preset": "mslr", "seed": 105},
    "held out: missing values": {
        "n_queries": 200,
        "docs_per_query": 40,
        "n_features": 40,
        "missing": 0.3,
        "seed": 106,
    },
}


def held_out(folder: Path = DATA) -> dict[str, Any]:
    """Return the collections that are there, by name."""
    found: dict[str, Any] = {name: make_ranking(**shape) for name, shape in SIMULATED.items()}
    found["held out: sums of curves"] = sums_of_curves()
    found["held out: interactions, lists of 40"] = interactions(200, 40, seed=108)
    races = folder / "f1" / "f1_races.csv.gz"
    if races.exists():
        found["held out: F1 before 2000"] = f1_races(races, 1950, 1999)
    ratings = movielens()
    if ratings is not None:
        found["held out: MovieLens 100K"] = ratings
    return found


def sums_of_curves(n_queries: int = 250, size: int = 25, seed: int = 107) -> Any:
    """Return documents whose relevance is a sum of curves of single features, without products.

    Ten of 30 features have an effect (steps, hinges, parabolas and straight lines), and features
    are correlated in groups of three; grades are quarters of a query.
    """
    rng = np.random.default_rng(seed)
    n_rows, n_features = n_queries * size, 30
    X = rng.normal(size=(n_rows, n_features))
    X += np.repeat(rng.normal(size=(n_rows, n_features // 3)), 3, axis=1)
    utility = rng.normal(0, 2, n_rows)
    for j in range(10):
        column, at = X[:, 3 * j], rng.normal()
        curves = (column > at, np.maximum(column - at, 0), (column - at) ** 2 / 3, column)
        utility += rng.uniform(0.5, 1.5) * curves[j % 4]
    order = utility.reshape(n_queries, size).argsort(axis=1).argsort(axis=1)
    y = (order * 4 // size).ravel()
    return rankgrove.load(X, y, qid=np.repeat(np.arange(n_queries), size))


def movielens() -> Any:
    """Return the ratings of MovieLens 100K: users are queries, films are documents.

    The files are those inside the package recbole (research licence); None without it. Features
    are the year and the genres of the film, how many ratings it has, the age and sex of the user,
    and the share of each genre among the films that the user rated, none of which knows a rating.
    """
    try:
        files = metadata.files("recbole") or []
    except metadata.PackageNotFoundError:
        return None
    import pandas

    def table(kind: str) -> Any:
        path = next(file for file in files if str(file).endswith(f"ml-100k/ml-100k.{kind}"))
        found = pandas.read_csv(StringIO(path.read_text(encoding="utf-8")), sep="\t")
        return found.rename(columns=lambda name: name.partition(":")[0])

    films, users, ratings = table("item"), table("user"), table("inter")
    genres = films["class"].fillna("").str.get_dummies(sep=" ").add_prefix("genre ")
    films = films.assign(year=pandas.to_numeric(films["release_year"], errors="coerce"))
    films = pandas.concat([films[["item_id", "year"]], genres], axis=1)
    users = users.assign(male=(users["gender"] == "M").astype(float))[["user_id", "age", "male"]]
    rows = ratings.merge(films, on="item_id").merge(users, on="user_id")
    rows = rows.sort_values(["user_id", "item_id"], ignore_index=True)
    rows["film ratings"] = rows.groupby("item_id")["rating"].transform("size")
    taste = rows.groupby("user_id")[list(genres)].transform("mean").add_prefix("user ")
    known = [*films.columns[1:], "age", "male", "film ratings"]
    features = pandas.concat([rows[known], taste], axis=1).astype(np.float32)
    return rankgrove.load(features, rows["rating"] - 1, qid=rows["user_id"].to_numpy())
