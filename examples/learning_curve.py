"""Learning curve: how NDCG grows with the number of training queries."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

data = make_ranking(500, preset="letor4", seed=1)
train, _, test = next(rankgrove.kfold(data, 5, seed=1))
print("training queries   NDCG@10 of the test queries")
for n in (10, 30, 100, 300):
    part = train.select_queries(np.arange(train.n_queries) < n)
    ranker = rankgrove.LambdaMART(n_estimators=50, max_leaf_nodes=7, random_state=1).fit(part)
    print(f"{n:>16}   {ranker.score(test):.4f}")
