"""Bagging: ten fits on samples of the queries, no validation set, and how sure the order is."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(100, seed=1), make_ranking(60, seed=2)
single = rankgrove.LambdaMART(n_estimators=100, random_state=1).fit(train)
bag = rankgrove.Bagged(ranker="lambdamart:n_estimators=100", n_bags=10, random_state=1).fit(train)
print(f"one fit          test NDCG@10 {single.score(test):.4f}")
print(f"ten fits, mean   test NDCG@10 {bag.score(test):.4f}, out of bag {bag.oob_score_:.4f}")

found = bag.uncertainty(test, level=0.9)
rows = np.flatnonzero(test.qid == test.qid[0])
places = bag.rank(test)
print("\nthe first five documents of a query, and the places that members give them:")
for row in rows[np.argsort(places[rows])][:5]:
    print(f"place {places[row]:.0f}: from {found.rank_low[row]:.0f} to {found.rank_high[row]:.0f}")
