"""An objective of your own: a function that returns gradients and Hessians."""

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)


def squared_error(scores, y, qid, weight):
    """Return the gradients and Hessians of half the squared error."""
    return weight * (scores - y), weight


own = rankgrove.CustomMART(objective=squared_error, n_estimators=40, random_state=1).fit(train)
mart = rankgrove.MART(n_estimators=40, random_state=1).fit(train)
print(f"own objective: NDCG@10 {own.score(test):.4f}")
print(f"MART:          NDCG@10 {mart.score(test):.4f}")
