"""A comparison: rankers of three families on the same folds, with a table of differences."""

import rankgrove
from rankgrove.datasets import make_ranking

comparison = rankgrove.compare(
    make_ranking(90, seed=1),
    ["lambdamart:n_estimators=40", "rf-point:n_estimators=40", "coordinate-ascent"],
    folds=3,
    metrics=["ndcg@10"],
)
print(comparison)
comparison.plot().save("compare_rankers.svg")
