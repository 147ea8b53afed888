"""The answers of ``rankgrove explain``, each as a table, as plain values and as a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove._counts import counted
from rankgrove._svg import Drawing
from rankgrove.cli.output import escape, table
from rankgrove.explain import (
    DocumentComparison,
    Explanation,
    PartialDependence,
    QueryExplanation,
    interactions,
    partial_dependence,
)
from rankgrove.explain.explanation import feature_names, rows_of_query
from rankgrove.explain.pictures import bars, value_text


class Answer(ABC):
    """An answer in all its forms."""

    @property
    @abstractmethod
    def value(self) -> dict[str, Any]:
        """The answer as plain values, for JSON."""

    @abstractmethod
    def parts(self, n_shown: int) -> list[Any]:
        """Texts and tables for a terminal, with this many features (0: all)."""

    @abstractmethod
    def picture(self) -> Drawing:
        """The answer as a picture."""


def select_query(documents: Any, query: str) -> Any:
    """Return the documents of one query of a Dataset."""
    return documents.select_rows(rows_of_query(documents.groups, query))


@dataclass(frozen=True)
class Importances(Answer):
    """Features with numbers, sorted by the first."""

    title: str
    columns: tuple[str, ...]
    features: tuple[str, ...]
    numbers: Any  # shape (features, columns)

    @property
    def _order(self) -> Any:
        return np.argsort(-self.numbers[:, 0], kind="stable")

    @property
    def value(self) -> dict[str, Any]:
        """Title, and a list of features."""
        rows = [
            {"feature": self.features[j]}
            | dict(zip(self.columns, self.numbers[j].tolist(), strict=True))
            for j in self._order
        ]
        return {"title": self.title, "features": rows}

    def parts(self, n_shown: int) -> list[Any]:
        """Return a table."""
        order = self._order
        shown = order[:n_shown] if n_shown else order
        rows = [
            (escape(self.features[j]), *(f"{number:.6f}" for number in self.numbers[j]))
            for j in shown
        ]
        return [table(["feature", *self.columns], rows, self.title), *_more(order, shown)]

    def picture(self) -> Drawing:
        """Draw bars of the first number."""
        return bars(self.title, [(self.features[j], self.numbers[j, 0]) for j in self._order])


class SplitImportances(Importances):
    """Importances by the splits of a model's trees."""

    @classmethod
    def of(cls, ranker: Any) -> SplitImportances:
        """Compute the answer from a ranker."""
        numbers = np.c_[ranker.importances("gain"), ranker.importances("split")]
        return cls(
            "importance: share of the total gain, share of the splits",
            ("gain", "splits"),
            feature_names(ranker.model_),
            numbers,
        )


class PermutationImportances(Importances):
    """Importances by the loss of a metric when a feature is shuffled."""

    @classmethod
    def of(
        cls, ranker: Any, data: Any, metric: str, n_repeats: int, seed: int
    ) -> PermutationImportances:
        """Compute the answer from a ranker and judged data."""
        losses = ranker.importances(
            "permutation", data, metric=metric, n_repeats=n_repeats, random_state=seed
        )
        names = feature_names(ranker.model_)
        title = f"mean loss of {metric} when a feature is shuffled"
        return cls(title, ("loss",), names, losses[:, None])


class EffectImportances(Importances):
    """Importances by the mean absolute Shapley value."""

    @classmethod
    def of(cls, ranker: Any, data: Any) -> EffectImportances:
        """Compute the answer from a ranker and documents."""
        found: Explanation = ranker.explain(data)
        title = f"mean size of the effect on the {found.scale} of {len(found.values):,} documents"
        return cls(title, ("effect",), found.features, found.importances()[:, None])


class Interactions(Importances):
    """Pairs of features by their interaction."""

    @classmethod
    def of(cls, ranker: Any, data: Any) -> Interactions:
        """Compute the answer from a ranker and documents, a block of rows at a time."""
        names = feature_names(ranker.model_)
        matrix = ranker.model_.columns.match(data)
        block = max(1, 2**24 // max(1, len(names) ** 2))
        total = np.zeros((len(names), len(names)))
        for start in range(0, len(matrix), block):
            total += np.abs(interactions(ranker, matrix.slice_rows(start, start + block))).sum(
                axis=0
            )
        first, second = np.triu_indices(len(names), 1)
        effects = 2 * total[first, second] / max(len(matrix), 1)
        kept = np.flatnonzero(effects)
        pairs = tuple(f"{names[i]} x {names[j]}" for i, j in zip(first, second, strict=True))
        title = f"mean size of what pairs add beyond their members, {len(matrix):,} documents"
        return cls(title, ("effect",), tuple(pairs[k] for k in kept), effects[kept][:, None])


@dataclass(frozen=True)
class Dependence(Answer):
    """Partial dependence of scores on one feature, or on two."""

    found: PartialDependence

    @classmethod
    def of(cls, ranker: Any, data: Any, features: Sequence[str]) -> Dependence:
        """Compute the answer from a ranker and documents."""
        return cls(
            partial_dependence(ranker, data, features, n_values=20 if len(features) == 1 else 8)
        )

    @property
    def value(self) -> dict[str, Any]:
        """Values and their leads."""
        return self.found.to_dict()

    def parts(self, n_shown: int) -> list[Any]:
        """Return a table of the values tried."""
        found = self.found
        head = [escape(found.features[0])]
        if len(found.features) == 1:
            head.append("lead")
        else:
            head += [escape(f"{found.features[1]} = {value}") for value in found.shown(1)]
        rows = [
            (escape(value), *(f"{lead:+.4f}" for lead in np.ravel(leads)))
            for value, leads in zip(found.shown(0), found.values, strict=True)
        ]
        parts: list[Any] = [table(head, rows, escape(found.title))]
        parts += [
            f"without the {counted(n, 'rarest category')} of {escape(feature)}"
            for feature, n in zip(found.features, found.n_untried, strict=True)
            if n
        ]
        if len(found.features) == 2:
            parts.append(
                f"share of the joint effect beyond the sum of both: {found.interaction:.1%}"
            )
        return parts

    def picture(self) -> Drawing:
        """Draw curves."""
        return self.found.plot()


@dataclass(frozen=True)
class TopOfList(Answer):
    """The features that lift the top of a query's list."""

    query: str
    found: QueryExplanation

    @classmethod
    def of(cls, ranker: Any, data: Any, query: str, top: int) -> TopOfList:
        """Compute the answer from a ranker and the documents of the query."""
        return cls(query, ranker.explain(data).query(top=top))

    @property
    def value(self) -> dict[str, Any]:
        """The list and the effects."""
        return {"query": self.query, **self.found.to_dict()}

    def parts(self, n_shown: int) -> list[Any]:
        """Return tables of the list and of the effects."""
        found = self.found
        listed = found.documents[: max(10, found.top)]
        ranks = table(
            ["document", "rank", found.scale],
            [(escape(d.name), k, f"{d.score:.4f}") for k, d in enumerate(listed, 1)],
            escape(f"query {self.query}: {len(found.documents)} documents"),
        )
        shown = found.effects[:n_shown] if n_shown else found.effects
        effects = table(
            ["feature", "typical value at the top", "effect"],
            [(escape(e.feature), escape(value_text(e.value)), f"{e.effect:+.4f}") for e in shown],
            f"what raises the first {found.top} above the mean of the list",
        )
        return [ranks, effects, *_more(found.effects, shown)]

    def picture(self) -> Drawing:
        """Draw the forces by rank."""
        return self.found.plot(f"query {self.query}: effects of the features on the scores")


@dataclass(frozen=True)
class OneDocument(Answer):
    """The contributions of the features to one document's score."""

    query: str
    name: str
    row: int
    found: Explanation

    @classmethod
    def of(cls, ranker: Any, data: Any, query: str, document: str) -> OneDocument:
        """Compute the answer from a ranker and the documents of the query."""
        found = ranker.explain(data)
        row = found.row_of(document, query)
        return cls(query, found.name_of(row), row, found)

    @property
    def _score(self) -> float:
        return float(self.found.scores[self.row])

    @property
    def value(self) -> dict[str, Any]:
        """The score and the effects."""
        return {
            "query": self.query,
            "document": self.name,
            "score": self._score,
            "scale": self.found.scale,
            "expected": self.found.expected,
            "effects": [vars(effect) for effect in self.found.document(self.row)],
        }

    def parts(self, n_shown: int) -> list[Any]:
        """Return a table of the effects."""
        effects = self.found.document(self.row)
        shown = effects[:n_shown] if n_shown else effects
        rows = [(escape(e.feature), escape(value_text(e.value)), f"{e.effect:+.4f}") for e in shown]
        title = (
            f"query {self.query}, document {self.name}: {self.found.scale} {self._score:.4f}, "
            f"of which {self.found.expected:.4f} before anything is known"
        )
        return [table(["feature", "value", "effect"], rows, escape(title)), *_more(effects, shown)]

    def picture(self) -> Drawing:
        """Draw a waterfall."""
        return self.found.plot(self.row, f"query {self.query}, document {self.name}")


@dataclass(frozen=True)
class TwoDocuments(Answer):
    """The features that rank one document above another."""

    query: str
    found: DocumentComparison

    @classmethod
    def of(cls, ranker: Any, data: Any, query: str, first: str, second: str) -> TwoDocuments:
        """Compute the answer from a ranker and the documents of the query."""
        found: Explanation = ranker.explain(data)
        rows = found.row_of(first, query), found.row_of(second, query)
        return cls(query, found.compare(*rows))

    @property
    def _title(self) -> str:
        return f"query {self.query}: {self.found.title}"

    @property
    def value(self) -> dict[str, Any]:
        """Both documents and the differences."""
        return {"query": self.query, **self.found.to_dict()}

    def parts(self, n_shown: int) -> list[Any]:
        """Return a table of the differences, values side by side."""
        found = self.found
        shown = found.differences[:n_shown] if n_shown else found.differences
        rows = [
            (
                escape(d.feature),
                escape(value_text(d.first)),
                escape(value_text(d.second)),
                f"{d.effect:+.4f}",
            )
            for d in shown
        ]
        head = ["feature", escape(found.first), escape(found.second), "effect"]
        return [table(head, rows, escape(self._title)), *_more(found.differences, shown)]

    def picture(self) -> Drawing:
        """Draw a waterfall from the second document's score to the first's."""
        return self.found.plot(self._title)


def _more(rows: Any, shown: Any) -> list[str]:
    """Return a line about the features that are not in the table."""
    n_more = len(rows) - len(shown)
    return [f"and {n_more} more (--show 0 lists all)"] if n_more > 0 else []
