"""Tuning with scikit-learn: a grid of parameters, and folds that keep queries together."""

import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import rankgrove
from rankgrove.datasets import make_ranking

data = make_ranking(60, seed=1)
with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        rankgrove.LambdaMART(n_estimators=30, random_state=1),
        {"max_leaf_nodes": [4, 8, 16], "learning_rate": [0.05, 0.1]},
        cv=GroupKFold(3),
    )
    search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
results = search.cv_results_
for setting, value in zip(results["params"], results["mean_test_score"], strict=True):
    print(f"NDCG@10 {value:.4f}  {setting}")
print("best:", search.best_params_)
