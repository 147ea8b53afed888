"""A first use of an installed wheel: train, save, load and score, with declared dependencies."""

import tempfile
from pathlib import Path

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

data = make_ranking(20, seed=1)
ranker = rankgrove.LambdaMART(n_estimators=5, random_state=1).fit(data)
with tempfile.TemporaryDirectory() as folder:
    ranker.save(Path(folder, "model.rg"))
    loaded = rankgrove.load_model(Path(folder, "model.rg"))
assert np.array_equal(ranker.predict(data), loaded.predict(data))
print(f"rankgrove {rankgrove.__version__}: {rankgrove.evaluate(data, loaded.predict(data))}")
