"""A model takes only text whose absent features were read as those of its training data."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.errors import DataError, ModelError
from rankgrove.experiments.convergence import convergence

DOORS = {
    "predict": lambda ranker, data: ranker.predict(data),
    "rank": lambda ranker, data: ranker.rank(data),
    "score": lambda ranker, data: ranker.score(data),
    "staged_predict": lambda ranker, data: ranker.staged_predict(data),
    "apply": lambda ranker, data: ranker.apply(data),
    "explain": lambda ranker, data: ranker.explain(data),
    "compile": lambda ranker, data: ranker.compile().predict(data),
    "top_k": lambda ranker, data: ranker.compile().top_k(data, 3),
    "importances": lambda ranker, data: ranker.importances("permutation", data),
    "convergence": lambda ranker, data: convergence(ranker, data),
    "init_model": lambda ranker, data: rankgrove.MART(n_estimators=1).fit(data, init_model=ranker),
    "eval_set": lambda ranker, data: ranker.fit(_read(data, "zero"), eval_set=data),
}


def _read(data, absent):
    return rankgrove.load(data.source, absent=absent)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = [
        f"{i % 3} qid:{i // 10} "
        + " ".join(f"{f}:{rng.normal():.3f}" for f in (1, 2, 3) if rng.random() < 0.6)
        for i in range(100)
    ]
    path = tmp_path_factory.mktemp("data") / "data.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
@pytest.mark.parametrize("door", DOORS)
def test_other_readings_are_refused(path, door):
    data = rankgrove.load(path, absent="zero")
    ranker = rankgrove.MART(n_estimators=3, random_state=0).fit(data)
    with pytest.raises(
        (DataError, ModelError), match=r"absent features were read as|but as 'zero'"
    ):
        DOORS[door](ranker, rankgrove.load(path, absent="missing"))
    if door != "eval_set":
        DOORS[door](ranker, data)
    DOORS[door](ranker, rankgrove.load(path, absent="zero"))
