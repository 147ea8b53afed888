"""A metric of your own: any function of a query's labels, best score first."""

import rankgrove
from rankgrove.datasets import make_ranking

train, valid, test = (make_ranking(60, seed=seed) for seed in (1, 2, 3))


@rankgrove.register_metric("found", of="ranked")
def found(labels, k=3, relevant_from=1.0):
    """Return 1 if a relevant document is among the first k."""
    return float((labels[:k] >= relevant_from).any())


ranker = rankgrove.LambdaMART(n_estimators=60, random_state=1)
ranker.fit(train, eval_set=valid, eval_metric="found@3", early_stopping_rounds=20)
print(f"trees: {ranker.best_iteration_}")
print(f"found@3 of the test queries: {ranker.score(test, metric='found@3'):.3f}")
