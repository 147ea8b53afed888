"""Categorical features: a frame with brands goes into fit, and new brands count as missing."""

import warnings

import numpy as np
import pandas as pd

import rankgrove

random = np.random.default_rng(0)
brands = np.array([f"brand {i}" for i in range(300)])
worth = random.normal(size=300)


def products(n_queries: int, first: int) -> pd.DataFrame:
    """Return lists of products whose relevance depends on the brand and the price."""
    code = random.integers(0, 300, 20 * n_queries)
    frame = pd.DataFrame({"qid": first + np.arange(20 * n_queries) // 20})
    frame["brand"] = pd.Categorical(brands[code])
    frame["price"] = random.random(len(frame))
    score = worth[code] - frame.price + random.normal(size=len(frame)) / 2
    return frame.assign(label=np.digitize(score, [0, 1, 2]))


train, test = products(200, 0), products(50, 1000)
for splits in ("subsets", "statistics", "both"):
    ranker = rankgrove.LambdaMART(n_estimators=50, random_state=1, category_splits=splits)
    ranker.fit(rankgrove.load(train))
    print(f"{splits:<11} NDCG@10 {ranker.score(rankgrove.load(test)):.4f}")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ranker.predict(test.assign(brand="never seen"))
print(caught[0].message)
