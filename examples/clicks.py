"""Clicks: training on simulated clicks, naive and corrected for position bias."""

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking, simulate_clicks

judged = make_ranking(100, docs_per_query=15, n_features=8, seed=1)
shown = -judged.y + judged.X[:, 0]  # a production ranking that is wrong about relevance
log = simulate_clicks(judged, n_sessions=4000, ranker=shown, exploration=0.5, seed=2)
rows = log["row"].to_numpy()
clicks = rankgrove.Dataset(
    judged.X[rows],
    log["clicked"].to_numpy().astype(np.float64),
    log["session"].to_numpy().astype(np.int64),
    feature_names=judged.feature_names,
    position=log["position"].to_numpy(),
    propensity=log["propensity"].to_numpy(),
)
for bias in ("none", "ips", "unbiased", "additive"):
    ranker = rankgrove.LambdaMART(n_estimators=20, position_bias=bias, random_state=0).fit(clicks)
    print(f"position_bias={bias!r}: NDCG@10 by true grades {ranker.score(judged):.3f}")
