"""Significance: is the difference of two rankers more than chance?"""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.experiments import bootstrap_interval, randomisation

train, test = make_ranking(80, seed=1), make_ranking(80, seed=2)
values = []
for name in ("lambdamart", "rf-point"):
    ranker = rankgrove.make_ranker(name, n_estimators=50, random_state=1).fit(train)
    result = rankgrove.evaluate(test.y, ranker.predict(test), qid=test.qid, metrics="ndcg@10")
    values.append(result.per_query[0])
    print(f"{name:<11} NDCG@10 {values[-1].mean():.4f}")

difference = np.array([values[0] - values[1]])
low, high = np.ravel(bootstrap_interval(difference))
print(f"difference {difference.mean():+.4f}, 95% interval {low:+.4f} to {high:+.4f}")
print(f"p-value of the randomisation test: {randomisation(difference)[0]:.3f}")
