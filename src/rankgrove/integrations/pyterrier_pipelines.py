"""PyTerrier: a ranker as the last stage of a retrieval pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove.data.core.dataset import Dataset
from rankgrove.errors import DataError
from rankgrove.rankers.base.estimator import BaseRanker


def pyterrier_reranker(ranker: BaseRanker, **fit_options: Any) -> Any:
    """Return an estimator of PyTerrier that ranks the documents of a pipeline by their features.

    ::

        pipeline = bm25 >> features >> pyterrier_reranker(rankgrove.LambdaMART())
        pipeline.fit(train_topics, qrels, valid_topics, qrels)
        pipeline.search("red shoes")

    The stages before it fill the column ``features``, as PyTerrier's ``**`` and
    ``pt.apply.doc_features`` do. ``fit`` takes documents without a judgment as grade 0, and the
    validation topics, if there are any, as ``eval_set``. A ranker that is fitted already needs no
    ``fit``.

    Parameters
    ----------
    ranker : a ranker; ``fit`` of the pipeline trains it
    fit_options : further arguments of the ranker's ``fit``, such as ``early_stopping_rounds``
    """
    pyterrier = require("pyterrier", "pyterrier", "a stage of a PyTerrier pipeline")

    class Reranker(pyterrier.Estimator):  # type: ignore[misc, name-defined]
        """Replaces score and rank of each document."""

        def fit(
            self,
            topics_or_res_tr: Any,
            qrels_tr: Any,
            topics_or_res_va: Any = None,
            qrels_va: Any = None,
        ) -> Any:
            """Train the ranker on retrieved documents and judgments."""
            options = dict(fit_options)
            if topics_or_res_va is not None and len(topics_or_res_va):
                options["eval_set"] = judged(topics_or_res_va, qrels_va)
            ranker.fit(judged(topics_or_res_tr, qrels_tr), **options)
            return self

        def transform(self, results: Any) -> Any:
            """Return the results with new scores and ranks."""
            pyterrier.validate.result_frame(results, extra_columns=["features"])
            results = results.copy()
            results["score"] = (
                ranker.predict(feature_matrix(results), qid=results["qid"].to_numpy(str))
                if len(results)
                else np.empty(0)
            )
            return pyterrier.model.add_ranks(results)

        def __repr__(self) -> str:
            return f"pyterrier_reranker({ranker!r})"

    return Reranker()


def feature_matrix(results: Any) -> npt.NDArray[np.float64]:
    """Return the features of retrieved documents, one row each."""
    if "features" not in results.columns:
        raise DataError(
            "the results have no column features: put pt.apply.doc_features(...) or another stage "
            "that computes them before the reranker"
        )
    lengths = results["features"].map(len)
    if lengths.nunique() != 1:
        raise DataError(
            f"the documents have from {lengths.min()} to {lengths.max()} features: every document "
            "must have the same"
        )
    return np.stack(results["features"].to_list()).astype(np.float64)


def judged(results: Any, qrels: Any) -> Dataset:
    """Return retrieved documents with their grades."""
    for name, frame, needed in (
        ("results", results, ("qid", "docno")),
        ("qrels", qrels, ("qid", "docno", "label")),
    ):
        absent = [column for column in needed if column not in frame.columns]
        if absent:
            raise DataError(f"the {name} have no column {absent[0]}")
    keys = ["qid", "docno"]
    if qrels.duplicated(keys).any():
        first = qrels[qrels.duplicated(keys)].iloc[0]
        raise DataError(f"the qrels judge document {first['docno']} of query {first['qid']} twice")
    joined = (
        results[keys]
        .astype(str)
        .merge(qrels[[*keys, "label"]].astype(dict.fromkeys(keys, str)), how="left")
    )
    return Dataset(
        feature_matrix(results),
        joined["label"].fillna(0).to_numpy(np.float64),
        qid=joined["qid"].to_numpy(str),
        doc_ids=joined["docno"].to_numpy(str),
    )
