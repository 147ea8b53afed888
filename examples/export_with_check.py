"""Export with a check: the written file gives the same ranks."""

import tempfile
from pathlib import Path

import lightgbm
import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)
ranker = rankgrove.LambdaMART(n_estimators=50, random_state=1).fit(train)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.txt"
    ranker.export(path, to="lightgbm")
    booster = lightgbm.Booster(model_file=str(path))
    difference = np.abs(booster.predict(test.X) - ranker.predict(test)).max()
print(f"largest difference of two scores: {difference:.1e}")
assert difference < 1e-9
