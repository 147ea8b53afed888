"""What workers do to score tables and files, and what is refused before they start."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import predict
from rankgrove.distributed.partition_scorer import PartitionScorer, refuse_scores


@pytest.fixture(scope="module")
def data():
    data = make_ranking(10, seed=1)
    data.X[::3, 2] = np.nan
    return data


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.LambdaMART(n_estimators=5, random_state=1).fit(data)


def test_columns_are_found_by_name_and_others_left_out(data, ranker):
    table = to_arrow(data)
    table = table.select(table.column_names[::-1]).append_column("note", [["x"] * data.n_rows])
    scored = PartitionScorer(ranker).of_schema(table.schema).with_scores(table)
    assert scored.column_names == [*table.column_names, "score"]
    np.testing.assert_array_equal(scored["score"].to_numpy(), ranker.predict(data))
    assert (
        PartitionScorer(ranker).of_schema(table.schema).with_scores(table.slice(0, 0)).num_rows == 0
    )


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_a_model_without_names_takes_all_features_but_labels_and_queries(data):
    ranker = rankgrove.RFPoint(n_estimators=3, random_state=1).fit(data.X, data.y, qid=data.qid)
    table = to_arrow(data)
    scores = PartitionScorer(ranker).of_schema(table.schema).table(table)
    np.testing.assert_array_equal(scores, ranker.predict(data.X))


def test_a_column_that_is_not_there_is_named(data, ranker):
    name = data.feature_names[4]
    table = to_arrow(data).drop_columns([name])
    with pytest.raises(rankgrove.DataError, match=name):
        PartitionScorer(ranker).of_schema(table.schema).table(table)


def test_files_are_scored_as_the_model_reads_them(data, ranker, tmp_path):
    rankgrove.write_parquet(data, tmp_path / "a.parquet")
    path = str(tmp_path / "a.parquet")
    table = PartitionScorer(ranker).file_table(path)
    assert table.to_pydict()["path"] == [path] * data.n_rows
    np.testing.assert_array_equal(table["score"].to_numpy(), ranker.predict(data))


def test_what_cannot_be_scored_is_refused(data):
    pairs = rankgrove.RFPair(n_estimators=2, random_state=1).fit(data)
    with pytest.raises(rankgrove.ModelError, match="all documents of a query"):
        predict(pairs, [], on="ray")
    with pytest.raises(rankgrove.DataError, match="column 'score' already"):
        refuse_scores(["qid", "score"])
