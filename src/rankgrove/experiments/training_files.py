"""Models of a study that were trained with the file on which it measures them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from rankgrove._addresses import file_path
from rankgrove.errors import DataWarning, ModelError
from rankgrove.experiments.specs import MODEL, Spec
from rankgrove.rankers.base.provenance import file_facts


def warn_of_training_files(origins: Iterable[Any], specs: Sequence[Spec]) -> None:
    """Warn of models whose training or validation data are a file of the study, byte for byte.

    Every query of a file is a test query of a fold. Of a folder of folds, test parts alone are
    measured, and a model of its training parts is in its right.
    """
    from rankgrove.formats.container import load_model

    for spec in specs:
        if spec.library != MODEL or "{" in spec.target:
            continue
        try:
            record = load_model(spec.target).provenance_ or {}
        except ModelError:
            continue  # it is reported where the model is measured
        seen = [file for file in record.get("files", ()) if "digest" in file]
        for origin in origins:
            if isinstance(origin, str | os.PathLike) and _is_among(origin, seen):
                warnings.warn(
                    f"{spec.label} was trained with {file_path(origin).name}, on which it is "
                    "measured here: its values say nothing about new queries",
                    DataWarning,
                    stacklevel=2,
                )


def _is_among(origin: str | os.PathLike[str], seen: Sequence[dict[str, Any]]) -> bool:
    path = file_path(origin)
    if not path.is_file() or path.stat().st_size not in [file["bytes"] for file in seen]:
        return False
    digest = file_facts(path)["digest"]
    return digest in [file["digest"] for file in seen]
