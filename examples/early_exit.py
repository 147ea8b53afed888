"""Early exit: score the top k with a part of the trees for documents that cannot win."""

import rankgrove
from rankgrove.datasets import make_ranking

train, valid, test = (make_ranking(60, preset="mslr", seed=seed) for seed in (1, 2, 3))
ranker = rankgrove.LambdaMART(n_estimators=100, random_state=1).fit(train)

early_exit = rankgrove.EarlyExit.learn(ranker, valid, k=10, keep=0.999)
print(f"NDCG@10 {early_exit.ndcg:.4f} with all trees, {early_exit.early_ndcg:.4f} with early exit")
print(f"share of the work: {early_exit.share_of_work:.0%}")

query = test.X[test.qid == test.qid[0]]
rows, scores = ranker.compile().top_k(query, k=10, early_exit=early_exit)
print("best documents of the first query:", rows)
