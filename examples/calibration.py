"""Calibration: scores become probabilities of relevance, and the error of these is measured."""

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.metrics import reliability

train, valid, test = (make_ranking(n, seed=s) for n, s in ((100, 1), (80, 2), (80, 3)))
ranker = rankgrove.Calibrated(ranker="lambdamart:n_estimators=50", random_state=1)
ranker.fit(train, eval_set=valid)
probabilities = ranker.predict_proba(test)[:, 1]
print(f"NDCG@10 {ranker.score(test):.4f}, calibration error {ranker.score(test, metric='ece'):.4f}")
print("\nprobability   documents   share that is relevant")
for count, probability, share in reliability(probabilities, test.y >= 1, n_bins=5):
    if count:
        print(f"{probability:>11.2f}   {int(count):>9}   {share:>22.2f}")
