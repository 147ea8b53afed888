"""A LightGBM model here: the same scores, with explanations and fast scoring."""

import lightgbm
import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)
theirs = lightgbm.LGBMRanker(n_estimators=40, random_state=1, verbose=-1)
theirs.fit(train.X, train.y, group=np.unique(train.qid, return_counts=True)[1])

ranker = rankgrove.from_lightgbm(theirs)
difference = np.abs(ranker.predict(test.X) - theirs.predict(test.X)).max()
print(f"largest difference of two scores: {difference:.1e}")
print(f"NDCG@10 {rankgrove.evaluate(test.y, ranker.predict(test.X), qid=test.qid)['ndcg@10']:.4f}")
assert difference < 1e-9
