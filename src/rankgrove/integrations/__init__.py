"""rankgrove beside other tools: MLflow, TensorBoard, Weights & Biases, PyTerrier, ir_datasets.

Each function needs the library that it is named after, and says so if it is absent; nothing else of
rankgrove does.
"""

from __future__ import annotations

from rankgrove.integrations.experiment_logs import log_metrics, log_to_tensorboard
from rankgrove.integrations.ir_collections import from_ir_datasets, to_ir_measures
from rankgrove.integrations.mlflow_models import log_mlflow_model
from rankgrove.integrations.pyterrier_pipelines import pyterrier_reranker

__all__ = [
    "from_ir_datasets",
    "log_metrics",
    "log_mlflow_model",
    "log_to_tensorboard",
    "pyterrier_reranker",
    "to_ir_measures",
]
