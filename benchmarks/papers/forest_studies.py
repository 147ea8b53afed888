"""Further tables and the figures of Ibrahim and Carman, as tables of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from _report import Report
from papers import published, rows
from papers.cells import Cells, Method
from papers.collections import COLLECTIONS
from papers.rows import Settings
from papers.tables import OWN, TITLES, differences
from rankgrove.experiments.significance import paired_t
from rankgrove.rankers.base.registry import ranker_class

MEASURES = ("own ndcg@10", "yahoo err", "own map")
DATA = ("MQ2008", "WEB10K sample")
_NOTE = (
    "The paper's figures are of the whole of WEB10K, or of its first fold; S5 is a sample of 5 % "
    "of the training queries for each tree: 300 there, 23 of MQ2008 and 3 of the WEB10K sample."
)


def _forest(ranker: str, settings: Settings, **own: Any) -> Method:
    """Return a forest as in the paper, with a share of its trees."""
    params = {**ranker_class(ranker).papers["ibrahim-2016"].params, **own}
    return Method(ranker, ranker, {**params, "n_estimators": settings.trees(500)})


def points(
    report: Report,
    cells: Cells,
    name: str,
    methods: Mapping[str, Method],
    *,
    caption: str,
    paper: Mapping[str, Sequence[float]] | None = None,
    measures: Sequence[str] = MEASURES,
    against: str | None = None,
    first: str = "",
) -> None:
    """Measure methods and print a row each: quality, p-value against one of them, CPU seconds."""
    collection, paper = COLLECTIONS[name], paper or {}
    cells.measure(collection, methods.values())
    base = cells.by_query(collection, methods[against], OWN[0]) if against else []
    lines = []
    columns_measured = [*measures, "leaves", "cpu"]
    runs_of = {m: cells.runs(collection, methods[m], columns_measured) for m in methods}
    forests = any(runs[..., -2].any() for runs in runs_of.values() if len(runs))
    for label, method in methods.items():
        runs = runs_of[label]
        if not len(runs):
            continue
        values = list(runs.mean(axis=(0, 1)))
        line = [label, *(f"{value:.4f}" for value in values[: len(measures)])]
        if against:
            ours = cells.by_query(collection, method, OWN[0])
            known = bool(ours and base) and label != against
            line.append(two_sided(ours, base) if known else "")
        line += [f"{values[-2]:.0f}" if values[-2] else ""] if forests else []
        line.append(f"{values[-1]:.2f}")
        if paper:
            line += [f"{value:.4f}" for value in paper.get(label, ())] or ["-"] * len(measures)
        lines.append(line)
    if not lines:
        report.note(f"{name}: {caption}: not measured.")
        return
    columns = [first, *(TITLES[measure] for measure in measures)]
    columns += [f"p against {against}"] if against else []
    columns += ["leaves per tree", "CPU s"] if forests else ["CPU s"]
    columns += [f"paper, {TITLES[measure]}" for measure in measures] if paper else []
    report.table(columns, lines, caption=f"{name}: {caption}")


def two_sided(ours: Any, base: Any) -> str:
    """Return the p-value of the paired t test over the queries of all folds."""
    return f"{paired_t(differences(np.concatenate(ours), np.concatenate(base)))[0]:.4f}"


def samples(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, tables VI, VIII and IX, figures 5 and 13: samples of 5, 30 and 63 % of
    the queries, and RF-hybrid."""
    for name in settings.chosen(*DATA):
        on = settings.on(name)
        table_6 = {
            "RF-point-S5": _forest("rf-point", on, subsample=0.05),
            "RF-list-S5": _forest("rf-list", on, subsample=0.05),
        }
        table_8 = {
            **table_6,
            "RF-point": _forest("rf-point", on),
            "RF-hybrid-L6": _forest("rf-hybrid", on),
        }
        table_9 = {
            f"RF-hybrid-S{share}-L{levels}": _forest(
                "rf-hybrid", on, subsample=share / 100, listwise_levels=levels
            )
            for levels in (4, 6)
            for share in (30, 63)
        }
        points(
            report, cells, name, table_6, caption="samples of 5 % (table VI)",
            paper=published.S5, against="RF-point-S5",
        )  # fmt: skip
        points(
            report, cells, name, table_8, caption="RF-hybrid (table VIII)",
            paper=published.HYBRID, against="RF-point",
        )  # fmt: skip
        points(
            report, cells, name, table_9, caption="samples of RF-hybrid (table IX, figure 5)",
            paper=published.HYBRID_SAMPLES,
        )  # fmt: skip
        shares = (0.05, 0.1, 0.2, 0.3, 0.45, 0.63)
        figure_13 = {f"{share:g}": _forest("rf-point", on, subsample=share) for share in shares}
        caption = "RF-point by share of the queries (figure 13)"
        points(report, cells, name, figure_13, caption=caption, first="share")
    _described(report, settings)


def discounts(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, table VII: RF-list-S5 by discount of NDCG. `alpha:a` is log(r + 1)^a,
    `beta:b` is r^b."""
    for name in settings.chosen(*DATA):
        on = settings.on(name)
        methods = {
            label: _forest(
                "rf-list",
                on,
                subsample=0.05,
                metric="ndcg" if label == "alpha:1.0" else f"ndcg(discount={label})",
            )
            for label in published.DISCOUNTS
        }
        points(
            report, cells, name, methods, caption="discounts (table VII)", first="discount",
            paper=published.DISCOUNTS, against="alpha:1.0",
        )  # fmt: skip
    _described(report, settings)


def node_orders(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, table XVI: RF-list-S5 by the order in which nodes are split."""
    for name in settings.chosen(*DATA):
        on = settings.on(name)
        orders = (*published.NODE_ORDERS, "depth-first", "best-first")
        methods = {
            order: _forest("rf-list", on, subsample=0.05, node_order=order) for order in orders
        }
        points(
            report, cells, name, methods, caption="node orders (table XVI)", first="order",
            paper=published.NODE_ORDERS, measures=OWN, against="breadth-first",
        )  # fmt: skip
    _described(report, settings)


def figures(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, figures 4, 6, 7, 8, 10, 11 and 12 (5 and 13 are in `forest-samples`, 9 in
    `algorithms`). The paper shows them as pictures without numbers."""
    for name in settings.chosen(*DATA):
        on = settings.on(name)
        figure_4 = {"0": _forest("rf-point", on)}
        figure_4 |= {
            str(level): _forest("rf-hybrid", on, listwise_levels=level)
            for level in (1, 2, 3, 4, 6, 8, 12)
        }
        figure_4["all (RF-list)"] = _forest("rf-list", on)
        caption = "RF-hybrid by listwise levels (figure 4)"
        points(report, cells, name, figure_4, caption=caption, first="levels", against="0")
        _least_documents(report, cells, name, on)
        _features(report, cells, name, on)
        _training_shares(report, cells, name, on)
        _ensemble_sizes(report, cells, name, on)
    for name in settings.chosen("MQ2008", "OHSUMED", "WEB10K sample"):
        _strength(report, cells, name)
    _described(report, settings)
    report.note("Figure 12 has up to 5000 trees, figure 7 is the mean of 20.")


def _least_documents(report: Report, cells: Cells, name: str, on: Settings) -> None:
    """Figures 6 and 8: n_min, the documents of a node that may be split."""
    sizes = (2, 5, 10, 20, 50)
    methods = {
        f"{ranker}-S5, {size}": _forest(ranker, on, subsample=0.05, min_samples_split=size)
        for ranker in ("rf-point", "rf-list")
        for size in sizes
    }
    caption = "documents of a node that is split at least (figures 6 and 8)"
    points(report, cells, name, methods, caption=caption, first="n_min")


def _features(report: Report, cells: Cells, name: str, on: Settings) -> None:
    """Figure 10: fewer features; here those that LambdaMART uses most."""
    n_features = COLLECTIONS[name].folds[0].train.n_features
    counts = [n for n in (5, 10, 20, 40, 80) if n < n_features]
    methods = {}
    for ranker in ("rf-point", "rf-hybrid"):
        for count in (*counts, None):
            label = f"{ranker}, {n_features if count is None else count}"
            methods[label] = replace(_forest(ranker, on), n_features=count)
    caption = "number of features (figure 10)"
    points(report, cells, name, methods, caption=caption, first="features")


def _training_shares(report: Report, cells: Cells, name: str, on: Settings) -> None:
    """Figure 11: learning curves."""
    boosted = next(row for row in rows.forests(on) if row.label == "lambdamart").as_in_paper
    methods = {}
    for share in (0.05, 0.1, 0.2, 0.5, 1.0):
        for label, method in (
            ("rf-point", _forest("rf-point", on)),
            ("rf-list", _forest("rf-list", on)),
            ("lambdamart", boosted),
        ):
            methods[f"{label}, {share:g}"] = replace(method, train_share=share)
    caption = "share of the training queries (figure 11)"
    points(report, cells, name, methods, caption=caption, first="share")


def _ensemble_sizes(report: Report, cells: Cells, name: str, on: Settings) -> None:
    """Figure 12: RF-point by number of trees; one whole forest is grown and scored in stages."""
    collection = COLLECTIONS[name]
    method = _forest("rf-point", on)
    sizes = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    if on.quick:
        sizes = [1, 2]
    method = replace(method, params={**method.params, "n_estimators": sizes[-1]})

    def staged(number: int) -> list[list[float]]:
        fold = collection.folds[number]
        ranker, _ = cells.fitted(collection, method, number, 0, fold)
        found = []
        for step, scores in enumerate(ranker.staged_predict(fold.test), 1):
            if step in sizes:
                found.append([
                    float(collection.metrics[m](fold.test.y, scores, groups=fold.test.groups))
                    for m in MEASURES
                ])  # fmt: skip
        return found

    key = ["figure 12", name, *method.key]
    folds = [cells.kept([*key, n], lambda n=n: staged(n)) for n in range(5)]
    if any(fold is None for fold in folds):
        return
    means = np.mean(folds, axis=0)
    lines = [
        [str(size), *(f"{value:.4f}" for value in line)]
        for size, line in zip(sizes, means, strict=True)
    ]
    caption = f"{name}: RF-point by number of trees (figure 12)"
    report.table(["trees", *(TITLES[m] for m in MEASURES)], lines, caption=caption)


def _strength(report: Report, cells: Cells, name: str) -> None:
    """Figure 7: expected NDCG of single trees after each split, mean of 20 trees."""
    fold = COLLECTIONS[name].folds[0]

    def curve(method: Method) -> dict[str, Any]:
        forest, _ = cells.fitted(COLLECTIONS[name], method, 0, 0, fold)
        parts = {"train": fold.train, "test": fold.test}
        curves = {part: forest.strength_curve(data).thinned() for part, data in parts.items()}
        return {part: [c.n_splits.tolist(), c.mean.tolist()] for part, c in curves.items()}

    found = {}
    for ranker in ("rf-point", "rf-list"):
        method = _forest(ranker, Settings(20 / 500), max_depth=None)
        key = ["figure 7", name, *method.key]
        found[ranker] = cells.kept(key, lambda method=method: curve(method))
    if any(value is None for value in found.values()):
        return
    steps = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    lines = []
    for ranker, value in found.items():
        for part, (x, y) in value.items():
            at = [np.interp(step, x, y) if step <= max(x) else np.nan for step in steps]
            last = f"{y[-1]:.4f}"
            cells_ = ["" if np.isnan(v) else f"{v:.4f}" for v in at]
            lines.append([f"{ranker}, {part}", *cells_, last])
    caption = f"{name}, Fold1: expected NDCG of a tree by number of splits (figure 7)"
    report.table(["", *map(str, steps), "whole tree"], lines, caption=caption)


def _described(report: Report, settings: Settings) -> None:
    report.note(
        f"Forests as in the paper (`as_in_paper`), with {100 * settings.share:g} % of its 500 trees"
        + (
            f", on the WEB10K sample {100 * settings.sample_share:g} % of these"
            if settings.sample_share != 1
            else ""
        )
        + ". Means of five folds; p-values are of a two-sided paired t-test of NDCG@10 over all "
        f"test queries. {_NOTE}"
    )


FOREST_STUDIES: dict[str, Callable[[Report, Cells, Settings], None]] = {
    "forest-samples": samples,
    "discounts": discounts,
    "node-orders": node_orders,
    "forest-figures": figures,
}
