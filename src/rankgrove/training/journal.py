"""Journal of a fit: a record of each finished step, from which another attempt resumes.

A record is data, never code: the metrics measured after the step, its trees as plain arrays, and a
key of the fit that it belongs to.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove.errors import ModelError
from rankgrove.training.progress import Callback, FitProgress, Measured
from rankgrove.trees.growing import Tree
from rankgrove.trees.packing import pack_trees, unpack_trees

OnStep = Callable[[int, bytes, Measured], Any]
"""``on_step(step, record, metrics)``: the number of the step (from 1), its record, and
``{set: {metric: newest value}}``. A true answer ends the training."""


@dataclass(frozen=True)
class StepRecord:
    """Record of one finished step: what is needed to take it again without computing it.

    Attributes
    ----------
    key : identifies the fit (seed, data, parameters): records of another one are refused
    step : its number, from 1
    trees : those that the step added: one per output, or a round of a forest
    measured : metrics of the evaluation sets after the step
    """

    key: Mapping[str, Any]
    step: int
    trees: Sequence[Tree]
    measured: Measured

    def to_bytes(self) -> bytes:
        """Return the record as bytes, with a checksum."""
        head = {"key": dict(self.key), "step": self.step, "measured": self.measured}
        text = np.frombuffer(json.dumps(head).encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, head=text, **pack_trees(self.trees))  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> StepRecord:
        """Build a record from its ``to_bytes``; all of it is validated."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                trees = unpack_trees(arrays)
            return cls(dict(head["key"]), int(head["step"]), trees, head["measured"])
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ModelError(f"a record to resume from cannot be read: {error}") from error

    def refuse_other_fit(self, key: Mapping[str, Any], what: str) -> None:
        """Raise an error if the record belongs to a fit with another key; ``what`` names it."""
        for name, value in key.items():
            if self.key.get(name) != value:
                raise ModelError(
                    f"the record of {what} belongs to another fit: its {name} is "
                    f"{self.key.get(name)!r:.100}, not {value!r:.100}"
                )


class Journal:
    """Records of an earlier attempt to resume from, and a callback that writes those of this one.

    Life: 1. created with the records. 2. the fit takes its ``seed``. 3. ``open`` checks that the
    records belong to this fit. 4. a callback passes a record to ``on_step`` after each step.

    Parameters
    ----------
    records : those of the steps that an earlier attempt finished, in order
    on_step : gets the record of each new step
    keeps : whether any worker has an ``on_step``, so that the key of the fit is needed
    seed : that of the earlier attempt, if it is known without records of steps
    """

    def __init__(
        self,
        records: Sequence[bytes] = (),
        on_step: OnStep | None = None,
        keeps: bool = False,
        seed: int | None = None,
    ) -> None:
        self._earlier_seed = seed
        self.keeps = keeps
        self._finished = [StepRecord.from_bytes(data) for data in records]
        self._on_step = on_step
        self._key: Mapping[str, Any] = {}
        self._newest: Callable[[], Sequence[Tree]] = list

    @property
    def used(self) -> bool:
        """Whether there are records, or will be."""
        return bool(self._finished) or self.keeps

    @property
    def seed(self) -> int | None:
        """The seed of the earlier attempt, None if there was none."""
        if not self._finished:
            return self._earlier_seed
        return int(self._finished[0].key.get("seed", -1))

    @property
    def trees(self) -> list[list[Tree]]:
        """The trees of each finished step."""
        return [list(record.trees) for record in self._finished]

    @property
    def measured(self) -> list[Measured]:
        """The metrics measured after each finished step."""
        return [record.measured for record in self._finished]

    @property
    def callbacks(self) -> list[Callback]:
        """Callbacks that write a record after each new step."""
        return [] if self._on_step is None else [self._write]

    def open(self, key: Mapping[str, Any], newest: Callable[[], Sequence[Tree]]) -> None:
        """Check the records against the key of the fit; ``newest`` returns the newest trees."""
        self._key, self._newest = key, newest
        for number, record in enumerate(self._finished, 1):
            if record.step != number:
                raise ModelError(
                    f"the records to resume from are not in order: number {number} is of step "
                    f"{record.step}"
                )
            record.refuse_other_fit(key, f"step {number}")

    def _write(self, progress: FitProgress) -> Any:
        assert self._on_step is not None
        measured = {
            name: {metric: values[-1] for metric, values in metrics.items()}
            for name, metrics in progress.evals_result.items()
        }
        record = StepRecord(self._key, progress.iteration, self._newest(), measured)
        return self._on_step(progress.iteration, record.to_bytes(), measured)
