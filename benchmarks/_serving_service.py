"""Serve a model for ``bench_serving.py``: ``python _serving_service.py KIND FOLDER``.

KIND is ``rankgrove``, ``threads`` (rankgrove, with all work handed over to threads) or ``lightgbm``
(the same service around LightGBM's own predict). FOLDER holds ``model.rg`` and ``model.txt``.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.models.model import Model
from rankgrove.serving import service as serving
from rankgrove.serving.http_server import HttpServer
from rankgrove.serving.models import ServedModel
from rankgrove.serving.worker import run_server


class LightGBMModel(Model):
    """A booster where the service expects a model."""

    kind = "lightgbm"

    def __init__(self, columns: Columns, path: Path) -> None:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "booster", lightgbm.Booster(model_file=path))

    def scores(self, X: Any, groups: Any = None, n_jobs: int | None = None) -> np.ndarray:
        return self.booster.predict(X, num_threads=1)

    def with_columns(self, columns: Columns) -> Model:
        raise NotImplementedError

    def get_state(self) -> Any:
        raise NotImplementedError

    @classmethod
    def from_state(cls, values: Any, arrays: Any, columns: Columns) -> Model:
        raise NotImplementedError


def main(kind: str, folder: Path) -> None:
    service = serving.Service({"web": folder / "model.rg"}, n_jobs=1, reload_seconds=0)
    if kind == "lightgbm":
        columns = service.store.get("web").model.columns
        booster = LightGBMModel(columns, folder / "model.txt")
        service.store._models["web"] = ServedModel.prepare("web", booster, 0.0)
    elif kind == "threads":
        serving.SHORT_BODY = 0
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    run_server(HttpServer(service, listener), lambda: print("serving on", address, file=sys.stderr))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
