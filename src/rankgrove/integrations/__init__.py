"""rankgrove beside other tools: MLflow, TensorBoard, PyTerrier, ir_datasets, Dask, Ray and others.

Each function needs the library that it is named after, and says so if it is absent; nothing else of
rankgrove does. Stages of Spark ML are in ``rankgrove.integrations.spark_ml``, which Spark imports
by its name.
"""

from __future__ import annotations

from rankgrove.integrations.dask_rankers import DaskRanker
from rankgrove.integrations.experiment_logs import log_metrics, log_to_tensorboard
from rankgrove.integrations.ir_collections import from_ir_datasets, to_ir_measures
from rankgrove.integrations.mlflow_models import log_mlflow_model
from rankgrove.integrations.pyterrier_pipelines import pyterrier_reranker
from rankgrove.integrations.ray_checkpoints import fit_in_ray, ranker_of_checkpoint

__all__ = [
    "DaskRanker",
    "fit_in_ray",
    "from_ir_datasets",
    "log_metrics",
    "log_mlflow_model",
    "log_to_tensorboard",
    "pyterrier_reranker",
    "ranker_of_checkpoint",
    "to_ir_measures",
]
