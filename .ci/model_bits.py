"""Print a hash of the scores of every ranker, to be compared between two builds."""

from __future__ import annotations

import hashlib

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.rankers.base.registry import ranker_names

data = make_ranking(20, preset="mslr", seed=1)
small = make_ranking(25, seed=2)
for name in ranker_names():
    learnt_from = small if name == "rf-pair" else data
    parameters = rankgrove.make_ranker(name).get_params()
    size = {"n_estimators": 5} if "n_estimators" in parameters else {}
    ranker = rankgrove.make_ranker(name, random_state=3, **size)
    scores = ranker.fit(learnt_from).predict(learnt_from)
    print(name, hashlib.sha256(scores.tobytes()).hexdigest()[:16])
