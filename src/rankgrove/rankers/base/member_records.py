"""Models of finished members of a bag in a folder, from which another attempt goes on.

A record is data, never code: the arrays of a model, its other values as JSON, and a key of the fit
that it belongs to.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._build import build_digest
from rankgrove._files import replacing
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError, RankgroveError
from rankgrove.models.model import Model, pack_model, unpack_model
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fit_key import code_digests
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameter_encoding import encoded_params
from rankgrove.training.code_digest import is_users
from rankgrove.trees.bin_cache import digest_of


@dataclass(frozen=True)
class MemberRecords:
    """The records of one fit in a folder.

    Attributes
    ----------
    folder : where they are; None: nothing is kept
    key : digest of data, parameters, seed, metrics and code: records of other fits are not read
    """

    folder: Path | None
    key: str = ""

    def read(self, number: int) -> Model | None:
        """Return the model of a member, None if it is not finished yet."""
        path = self._path(number)
        if path is None or not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                values = json.loads(arrays["values"].tobytes())
                own = {name[2:]: arrays[name] for name in arrays.files if name.startswith("m/")}
            return unpack_model(values, own)
        except (
            *(OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile),
            RankgroveError,
        ) as error:
            raise ModelError(f"{path} is no record of a member: {error}; delete it") from error

    def write(self, number: int, model: Model) -> None:
        """Keep the model of a finished member."""
        path = self._path(number)
        if path is None:
            return
        values, arrays = pack_model(model)
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, values=text, **{f"m/{name}": array for name, array in arrays.items()})  # type: ignore[arg-type]
        with replacing(path) as stream:
            stream.write(buffer.getvalue())

    def _path(self, number: int) -> Path | None:
        return None if self.folder is None else self.folder / f"member-{self.key}-{number}.npz"


def records_of(
    folder: Any, ranker: BaseRanker, fit: Fit, unimportant: tuple[str, ...]
) -> MemberRecords:
    """Return the records of a fit in a folder (made if it is missing); None: nothing is kept.

    Parameters
    ----------
    unimportant : parameters that decide how many members there are, not what each learns
    """
    if folder is None:
        return MemberRecords(None)
    if fit.data.X.cache is not None:
        raise ModelError("members of a bag on streamed data cannot be kept in a folder: load them")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    params = {k: v for k, v in encoded_params(ranker).items() if k not in unimportant}
    evaluation = fit.evaluation
    metrics = {
        f"{one.name} {name}": type(evaluate.metric)
        for one in evaluation.sets
        for name, evaluate in one.evaluators.items()
    }
    code = {name: kind for name, kind in metrics.items() if is_users(kind)}
    inputs = [fit.data, *(one.data for one in evaluation.sets)]
    facts = {
        "build": build_digest(),
        "params": params,
        "functions": code_digests({**ranker.get_params(deep=False), **code}),
        "seed": fit.seed,
        "stopping": [evaluation.patience, evaluation.rule_name],
        "metrics": list(metrics),
        "columns": list(map(_columns_of, inputs)),
        "content": digest_of(chain.from_iterable(map(_arrays_of, inputs))),
    }
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    return MemberRecords(place, key.hexdigest()[:16])


def _columns_of(data: RankingInput) -> list[Any]:
    """Return what a member's model keeps of the columns, or metrics of the queries."""
    categories = hashlib.sha256(repr(sorted(data.columns.categories.items())).encode())
    ids = hashlib.sha256(repr(data.groups.ids.tolist()).encode())
    return [data.columns.names, data.absent, categories.hexdigest(), ids.hexdigest()]


def _arrays_of(data: RankingInput) -> Iterator[npt.NDArray[Any]]:
    yield from (data.y, data.groups.offsets)
    yield from (array for array in (data.groups.order, data.weight) if array is not None)
    yield from data.X.arrays()
