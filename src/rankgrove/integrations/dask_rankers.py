"""A ranker that is fitted and predicts on Dask collections, as the estimators of dask-ml do."""

from __future__ import annotations

from typing import Any

from rankgrove._optional import require
from rankgrove.distributed.driver import fit
from rankgrove.distributed.prediction import predict
from rankgrove.rankers.base.estimator import BaseRanker


class DaskRanker:
    """Wraps a ranker: ``fit`` and ``predict`` take Dask collections, and ``predict`` is lazy.

    ::

        ranker = DaskRanker(rankgrove.LambdaMART())
        scores = ranker.fit(frame).predict(frame)  # a dask Series; scores.compute() runs it

    Parameters
    ----------
    ranker : boosted trees or a forest; it is fitted in place, and can be used without Dask then
    client : a Dask ``Client``; None: the current one
    """

    def __init__(self, ranker: BaseRanker, client: Any = None) -> None:
        self.ranker = ranker
        self.client = client

    def fit(self, X: Any, y: Any = None, qid: Any = None, **options: Any) -> DaskRanker:
        """Train on the cluster: a dask dataframe, or dask arrays with labels and queries.

        ``options`` are those of ``rankgrove.distributed.fit``.
        """
        fit(self.ranker, X, y, qid=qid, on=self._client(), **options)
        return self

    def predict(self, X: Any) -> Any:
        """Return the scores as a lazy dask Series or array."""
        return predict(self.ranker, X, on=self._client())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also those of the ranker, as ``ranker__NAME``."""
        params: dict[str, Any] = {"ranker": self.ranker, "client": self.client}
        if deep:
            params |= {f"ranker__{k}": v for k, v in self.ranker.get_params().items()}
        return params

    def set_params(self, **params: Any) -> DaskRanker:
        """Set parameters, of this object or (``ranker__NAME``) of the ranker."""
        for name, value in params.items():
            if name.startswith("ranker__"):
                self.ranker.set_params(**{name.removeprefix("ranker__"): value})
            elif name in ("ranker", "client"):
                setattr(self, name, value)
            else:
                raise ValueError(f"DaskRanker has no parameter {name!r}")
        return self

    def _client(self) -> Any:
        if self.client is not None:
            return self.client
        return require("distributed", "dask", "a fit on Dask").get_client()
