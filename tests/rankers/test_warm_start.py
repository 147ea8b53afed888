"""What warm_start refuses to add to the trees of the last fit."""

from __future__ import annotations

import pytest

import rankgrove
from rankgrove.errors import ModelError


def test_warm_start_does_not_mix_leaf_scores(small_data, tmp_path):
    forest = rankgrove.RFPoint(n_estimators=2, random_state=0, warm_start=True).fit(small_data)
    forest.save(tmp_path / "forest.rg")
    for grown in (forest, rankgrove.load_model(tmp_path / "forest.rg")):
        before = grown.predict(small_data)
        grown.set_params(n_estimators=4, leaf_score="power")
        with pytest.raises(ModelError, match="'label' and 'power' do not mix"):
            grown.fit(small_data)
        assert (grown.predict(small_data) == before).all()
        assert grown.set_params(leaf_score="label").fit(small_data).model_.ensemble.n_trees == 4
