"""The options of a study: one table for Python, study files and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rankgrove._arguments import require_integer
from rankgrove.data.reading.folds import FOLD_ORDERS
from rankgrove.experiments.views import FEATURE_ORDERS, check_share
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parsing import distinct
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.metrics.python_metric import register_plain

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")
# Options that are whole numbers, with the least value; None: there is none.
_LEAST: dict[str, int | None] = {
    **dict.fromkeys(("folds", "label_shift"), None),
    **dict.fromkeys(("max_folds", "repeats", "early_stopping_rounds", "best_features"), 1),
    "seed": 0,
}
_OPTIONAL = ("folds", "max_folds", "early_stopping_rounds", "best_features")


@dataclass(frozen=True)
class StudyOptions:
    """The options of a study besides data and rankers; see ``rankgrove.compare``."""

    metrics: Any = DEFAULT_METRICS
    preset: str | None = None
    folds: int | None = None
    fold_order: str | None = None
    max_folds: int | None = None
    repeats: int = 1
    baseline: str | None = None
    seed: int = 0
    early_stopping_rounds: int | None = None
    label_shift: int = 0
    train_share: float | None = None
    best_features: int | None = None
    feature_order: str = FEATURE_ORDERS[0]
    blend: bool = False
    naive_twin: bool = False
    title: str = "Comparison of rankers"

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                require_integer(value, name, least)
        if self.folds is not None and self.folds < 3:
            raise ValueError(
                "folds must be at least 3, for training, validation and testing, not "
                f"{self.folds} (--folds on the command line)"
            )
        if self.fold_order is not None and self.fold_order not in FOLD_ORDERS:
            raise ValueError(
                f"fold_order must be one of {', '.join(FOLD_ORDERS)}, not {self.fold_order!r}"
            )
        if self.train_share is not None:
            check_share(self.train_share)
        if self.feature_order not in FEATURE_ORDERS:
            raise ValueError(
                f"feature_order must be one of {', '.join(FEATURE_ORDERS)}, not "
                f"{self.feature_order!r}"
            )

    @property
    def chosen_metrics(self) -> list[Metric]:
        """The metrics under the preset's conventions."""
        one = isinstance(self.metrics, str | Metric) or callable(self.metrics)
        if not one and not isinstance(self.metrics, Iterable):
            raise ValueError(f"metrics must be a name or several, not {self.metrics!r:.60}")
        names = [self.metrics] if one else list(self.metrics)
        if not names:
            raise ValueError("there is no metric: give at least one")
        chosen = [as_metric(m, self.preset if isinstance(m, str) else None) for m in names]
        return [register_plain(m) for m in distinct(chosen)]


NAMES = tuple(option.name for option in fields(StudyOptions))


def split_options(given: Mapping[str, Any]) -> tuple[StudyOptions, dict[str, Any]]:
    """Divide keyword arguments into options of the study and options of reading data."""
    own = {name: value for name, value in given.items() if name in NAMES}
    return StudyOptions(**own), {k: v for k, v in given.items() if k not in NAMES}
