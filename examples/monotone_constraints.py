"""Monotone constraints: the score never falls as a chosen feature grows."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)
feature = "bm25_title"
column = train.feature_names.index(feature)
directions = [1 if name == feature else 0 for name in train.feature_names]

free = rankgrove.LambdaMART(n_estimators=40, random_state=1).fit(train)
bound = rankgrove.LambdaMART(n_estimators=40, random_state=1, monotone=directions).fit(train)

# One document in 50 versions that differ in the feature alone.
documents = np.repeat(test.X[:1], 50, axis=0)
documents[:, column] = np.linspace(0, test.X[:, column].max(), 50)
for name, ranker in (("free", free), ("monotone", bound)):
    falls = int((np.diff(ranker.predict(documents)) < -1e-9).sum())
    print(f"{name:<9} NDCG@10 {ranker.score(test):.4f}, the score falls {falls} times")
assert falls == 0

partial = rankgrove.explain.partial_dependence(bound, test, feature)
partial.plot().save("monotone_constraints.svg")
