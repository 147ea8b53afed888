"""Print a hash of the scores of rankers that use every kind of kernel, to compare two builds."""

from __future__ import annotations

import hashlib

from rankgrove import make_ranker
from rankgrove.datasets import make_ranking

NAMES = (
    *("mart", "lambdamart", "mcrank", "plrank", "cosmart", "klmart", "xendcg", "yetirank"),
    *("rcrank", "rf-point", "rf-list", "rf-hybrid", "rf-rand", "extra-trees"),
)

data = make_ranking(40, preset="mslr", seed=1)
for name in NAMES:
    scores = make_ranker(name, n_estimators=5, random_state=3).fit(data).predict(data)
    print(name, hashlib.sha256(scores.tobytes()).hexdigest()[:16])
