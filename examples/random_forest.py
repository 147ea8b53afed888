"""A random forest and its importances."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)
forest = rankgrove.RFPoint(n_estimators=100, random_state=1).fit(train)
print(f"NDCG@10 {forest.score(test):.4f}")
for j in np.argsort(-forest.feature_importances_)[:5]:
    print(f"{train.feature_names[j]:<24} {forest.feature_importances_[j]:.3f}")
forest.plot_importances().save("random_forest.svg")
