"""MLflow: a ranker as a model of the ``pyfunc`` flavour, stored as a model file, never pickled."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rankgrove import __version__
from rankgrove._optional import require
from rankgrove.errors import RankgroveError
from rankgrove.formats.container import load_model
from rankgrove.rankers.base.estimator import BaseRanker

_FILE = "model.rg"


def log_mlflow_model(ranker: BaseRanker, name: str = "model", **options: Any) -> Any:
    """Log a fitted ranker as a model of MLflow; return MLflow's description of it.

    ``mlflow.pyfunc.load_model(info.model_uri)`` loads it; its ``predict`` takes a frame or an array
    of features and returns scores. The model file inside is data: loading executes nothing of it.

    Parameters
    ----------
    ranker : a fitted ranker
    name : name of the model
    options : further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``,
        ``signature`` or ``input_example``
    """
    pyfunc = require("mlflow.pyfunc", "mlflow", "logging a model to MLflow")
    options.setdefault("pip_requirements", [f"rankgrove=={__version__}"])
    for given in ("loader_module", "data_path", "python_model"):
        if given in options:
            raise RankgroveError(f"{given} is set by log_mlflow_model: leave it out")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        ranker.save(path)
        return pyfunc.log_model(name=name, loader_module=__name__, data_path=str(path), **options)


class ScoringModel:
    """What MLflow calls: the scores of a loaded ranker."""

    def __init__(self, ranker: BaseRanker) -> None:
        self.ranker = ranker

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return one score per row.

        Parameters
        ----------
        model_input : a frame, whose columns are matched by name, or an array of features
        params : ``{"qid": ...}`` has the query of each row, for models that need it
        """
        return self.ranker.predict(model_input, **(params or {}))


def _load_pyfunc(path: str) -> ScoringModel:
    """Load the model file; MLflow calls this function by its name."""
    return ScoringModel(load_model(path))
