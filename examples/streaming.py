"""Streaming from Parquet: train on files that need not fit into memory, to the same bits."""

import tempfile
from pathlib import Path

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

data, test = make_ranking(120, seed=1), make_ranking(40, seed=2)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "train.parquet"
    rankgrove.write_parquet(data, path)
    streamed = rankgrove.LambdaMART(n_estimators=40, random_state=1).fit(rankgrove.scan(path))
in_memory = rankgrove.LambdaMART(n_estimators=40, random_state=1).fit(data)
same = np.array_equal(streamed.predict(test), in_memory.predict(test))
print(f"NDCG@10 {streamed.score(test):.4f}; the same bits as in memory: {same}")
assert same
