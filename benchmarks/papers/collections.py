"""The data sets of the papers that are available, and the conventions they are measured by.

The files lie beside the repository (``../shared/data``) or where ``--data`` says. LETOR's sets come
in five folds. Of MSLR-WEB10K there is a sample of 111 queries, whose folds are drawn here. TD2003,
TD2004, MQ2007 and the sets of Yahoo! and Seznam.cz are not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rankgrove import Metric, kfold, load, load_folds, metric
from rankgrove.data.core.dataset import concatenate
from rankgrove.data.reading.folds import Fold

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


class DataFolder:
    """Where the files lie; ``--data`` changes it."""

    path = DATA


@dataclass
class Collection:
    """A data set in five folds.

    Attributes
    ----------
    preset : conventions of the evaluation script that belongs to the set
    max_grade : highest label, for ERR
    bm25 : number of the feature, from 0, that is BM25 of the whole document
    """

    name: str
    folder: str
    preset: str
    max_grade: int
    bm25: int

    @property
    def is_there(self) -> bool:
        """Whether the folder of the data has it."""
        return (DataFolder.path / self.folder).is_dir()

    @cached_property
    def folds(self) -> list[Fold]:
        """The five folds; those of a sample are drawn by query."""
        path = DataFolder.path / self.folder
        if not path.is_dir():
            raise SystemExit(f"{path} is missing: --data names the folder that holds {self.name}")
        if self.name == "WEB10K sample":
            parts = [load(file) for file in sorted(path.glob("*.txt.gz"))]
            return list(kfold(concatenate(parts), 5, seed=0))
        return list(load_folds(path))

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """What every cell is measured by: convention and metric."""
        own = {f"own {name}": metric(name, preset=self.preset) for name in ("ndcg@10", "map")}
        yahoo = {f"yahoo ndcg@{k}": metric("ndcg", preset="yahoo", k=k) for k in (1, 3, 10)}
        return {
            **own,
            **yahoo,
            "yahoo err": metric("err", preset="yahoo", max_grade=self.max_grade),
            "ranklib ndcg@10": metric("ndcg@10", preset="ranklib"),
            "rmse": metric("rmse"),
        }


COLLECTIONS = {
    "MQ2008": Collection("MQ2008", "mq2008", "letor4", 2, 24),
    "OHSUMED": Collection("OHSUMED", "ohsumed/QueryLevelNorm", "letor3", 2, 40),
    "WEB10K sample": Collection("WEB10K sample", "mslr-web10k-sample", "mslr", 4, 109),
    "OHSUMED with NULL": Collection("OHSUMED with NULL", "ohsumed/Feature-null", "letor3", 2, 40),
}
