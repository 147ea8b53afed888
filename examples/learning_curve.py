"""Learning curve: how NDCG grows with the number of training queries."""

from pathlib import Path

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.experiments import Curve, curves_svg

data = make_ranking(500, preset="letor4", seed=1)
train, _, test = next(rankgrove.kfold(data, 5, seed=1))
sizes, values = (10, 30, 100, 300), []
print("training queries   NDCG@10 of the test queries")
for n in sizes:
    part = train.select_queries(np.arange(train.n_queries) < n)
    ranker = rankgrove.LambdaMART(n_estimators=50, max_leaf_nodes=7, random_state=1).fit(part)
    values.append(ranker.score(test))
    print(f"{n:>16}   {values[-1]:.4f}")

picture = curves_svg([Curve("LambdaMART", values, sizes)], "Learning curve", "training queries")
Path("learning_curve.svg").write_text(picture)
