"""Print hashes of what rankers with every kind of kernel answer, to compare two builds."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import make_ranker
from rankgrove.datasets import make_ranking

TREES = (
    *("mart", "lambdamart", "mcrank", "plrank", "cosmart", "klmart", "xendcg", "yetirank"),
    *("rcrank", "rf-point", "rf-list", "rf-hybrid", "rf-rand", "extra-trees"),
)
LINEAR = ("ranksvm", "listmle", "adarank")
LOSSES: dict[str, dict[str, Any]] = {
    "queryrmse": {},
    "querysoftmax": {},
    "querycrossentropy": {"max_grade": 4},
    "lambdaloss": {},
    "yetiloss": {},
    "pairlogit": {},
    "groupquantile": {},
    "stochasticrank": {},
    "stochasticfilter": {},
    "mart": {"tree": "leafwise", "max_leaf_nodes": 127, "min_samples_leaf": 2},  # nodes of few rows
}


def _show(name: str, values: npt.NDArray[np.float64]) -> None:
    print(name, hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16])


data = make_ranking(40, preset="mslr", seed=1)
for name in TREES:
    ranker = make_ranker(name, n_estimators=5, random_state=3).fit(data)
    _show(name, ranker.predict(data))
    if name == "lambdamart":
        _show("explained", ranker.explain(data).values)
for name in LINEAR:
    _show(name, make_ranker(name, random_state=3).fit(data).predict(data))
for name, params in LOSSES.items():
    ranker = make_ranker(name, n_estimators=5, random_state=3, **params).fit(data)
    _show(name, ranker.predict(data))
