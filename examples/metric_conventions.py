"""Conventions: the same ranking measured as other tools measure it."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

test = make_ranking(100, preset="letor4", seed=1)
scores = np.random.default_rng(1).random(len(test.y))
for preset in ("letor4", "trec", "lightgbm", "xgboost", "sklearn"):
    result = rankgrove.evaluate(test.y, scores, qid=test.qid, metrics="ndcg@10", preset=preset)
    print(f"{preset:<10} NDCG@10 {float(result['ndcg@10']):.4f}")
