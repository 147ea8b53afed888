"""Warnings of a study: each is shown once per data set, not once per fold, part and fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rankgrove._warning_relay import WarningRelay, relaying_warnings
from rankgrove.errors import DataWarning
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.sources import StudyFold
from rankgrove.experiments.study import Cell
from rankgrove.metrics.file_order import file_order
from rankgrove.metrics.metric import Metric
from rankgrove.training.leakage import warn_of_shared_queries


def _advice(metrics: Sequence[Metric]) -> str:
    leaking = [str(metric) for metric in metrics if metric.params.get("ties") == "input"]
    if not leaking:
        return " (equal scores count by the mean over their orders)"
    return (
        f"; {', '.join(leaking)} break ties in this order, which favours rankers with many equal "
        "scores: those rows are marked"
    )


class StudyWarnings:
    """Shows the warnings of folds and fits, each with the name of the first that raised it."""

    def __init__(self) -> None:
        self._relays: dict[str, WarningRelay] = defaultdict(WarningRelay)

    def check(self, fold: StudyFold, metrics: Sequence[Metric]) -> None:
        """Check the labels of a fold against the metrics, and its parts, before training."""
        train, validation, test = fold.parts
        texts: list[str] = []
        order = file_order(test.y, test.groups)
        if order.predicts_labels:
            texts.append(f"{order}{_advice(metrics)}")
        with relaying_warnings(lambda _, text: texts.append(text)):
            # A fit warns of its validation part under the same name; each warning is shown once.
            warn_of_shared_queries(train, validation, "eval_set 'valid'")
            warn_of_shared_queries(train, test, "the test part")
            for part in (validation, test):
                for metric in metrics:
                    doc_ids = part.doc_ids if metric.ranks_by_doc_id else None
                    metric.prepare(part.y, part.groups, doc_ids=doc_ids)
        self._relay(fold.data, f"{fold.data}, fold {fold.number}", texts)

    def show(self, cell: Cell, outcome: CellOutcome) -> None:
        """Show the warnings of a fit, also those stored with its result."""
        where = f"{cell.data}, fold {cell.fold}, {cell.spec.label}"
        self._relay(cell.data, where, outcome.warnings)

    def _relay(self, data: str, where: str, texts: Sequence[str]) -> None:
        for text in texts:
            self._relays[data].relay(where, DataWarning.__name__, text)
