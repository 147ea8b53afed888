"""Further tables and the figures of the papers on boosting, as tables of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from _report import Report
from papers import published, rows
from papers.cells import Cells, Method, method_fold
from papers.collections import COLLECTIONS
from papers.forest_studies import points, two_sided
from papers.rows import Settings
from papers.tables import OWN, TITLES
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.registry import ranker_class

RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
STAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
IGBRT_MEASURES = ("rmse", "yahoo err", "yahoo ndcg@10")


def igbrt_starts(report: Report, cells: Cells, settings: Settings) -> None:
    """Mohan, Chen and Weinberger, table 1 (iGBRT by number of trees of its forest; 0 is GBRT) and
    figures 1 and 2 (learning rates of GBRT and iGBRT)."""
    for name in settings.chosen("MQ2008", "OHSUMED"):
        boosted = rows.igbrt(settings)
        methods = {"0": boosted[1].as_in_paper}
        paper = {"0": published.IGBRT_STARTS[0]}
        for trees in (100, 1000, 10_000):
            count = settings.trees(trees)
            start = replace(
                boosted[0].as_in_paper,
                params={**boosted[0].as_in_paper.params, "n_estimators": count},
            )
            methods[str(trees)] = replace(boosted[2].as_in_paper, start=start)
            paper[str(trees)] = published.IGBRT_STARTS[trees]
        points(
            report, cells, name, methods, caption="iGBRT by trees of its forest (table 1)",
            paper=paper, measures=IGBRT_MEASURES, first="M_RF",
        )  # fmt: skip
        methods = {"RF": boosted[0].as_in_paper}
        for label, system in (("GBRT", boosted[1]), ("iGBRT", boosted[2])):
            for rate in settings.rates(RATES):
                params = {**system.as_in_paper.params, "learning_rate": rate}
                methods[f"{label}, {rate}"] = replace(system.as_in_paper, params=params)
        caption = "learning rates, steps chosen on validation (figures 1 and 2)"
        points(
            report, cells, name, methods, caption=caption, measures=IGBRT_MEASURES, first="alpha"
        )
        for label, system in (("GBRT", boosted[1]), ("iGBRT", boosted[2])):
            for rate in (0.1, 0.5):
                params = {**system.as_in_paper.params, "learning_rate": rate}
                method = replace(system.as_in_paper, params=params, validated=False)
                stages(report, cells, name, f"{label}, alpha={rate}", method, IGBRT_MEASURES)
    report.note(
        f"As in the paper, with {100 * settings.share:g} % of the trees of forests (table 1 has "
        "100, 1000 and 10,000); table 1 of the paper is of Yahoo's set 2."
    )


def stages(
    report: Report,
    cells: Cells,
    name: str,
    label: str,
    method: Method,
    measures: Iterable[str] = OWN,
) -> None:
    """Print the quality on test data after some steps of a fit, mean of the first two folds."""
    collection, measures = COLLECTIONS[name], list(measures)

    def staged(number: int) -> list[list[float]]:
        fold = method_fold(collection, method, number)
        ranker, _ = cells.fitted(collection, method, number, 0, fold)
        before = method.start.params["n_estimators"] if method.start else 0  # trees of the forest
        found = []
        for step, scores in enumerate(ranker.staged_predict(fold.test), 1):
            if step - before in STAGES:
                found.append([
                    float(collection.metrics[m](fold.test.y, scores, groups=fold.test.groups))
                    for m in measures
                ])  # fmt: skip
        return found

    key = ["stages", name, *method.key, measures]
    folds = [cells.kept([*key, number], lambda n=number: staged(n)) for number in range(2)]
    if any(not fold for fold in folds):
        return
    n_stages = min(map(len, folds))
    means = np.mean([fold[:n_stages] for fold in folds], axis=0)
    lines = [
        [TITLES[measure], *(f"{value:.4f}" for value in means[:, m])]
        for m, measure in enumerate(measures)
    ]
    report.table(
        ["steps", *map(str, STAGES[:n_stages])], lines, caption=f"{name}, test: {label}, by steps"
    )


def broof_figures(report: Report, cells: Cells, settings: Settings) -> None:
    """De Sa, Goncalves, Sousa and Salles, figures 1 (convergence), 2 (learning curves) and 3
    (out-of-bag or training errors)."""
    for name in settings.chosen("MQ2008", "WEB10K sample"):
        systems = {system.label: system.as_in_paper for system in rows.broof(settings.on(name))}
        for label in ("BROOF-gradient", "MART", "LambdaMART", "RankBoost", "AdaRank-NDCG"):
            method = replace(systems[label], validated=False)
            stages(report, cells, name, f"{label} (figure 1)", method)
        methods = {
            f"{label}, {share:g}": replace(systems[label], train_share=share)
            for share in (0.1, 0.2, 0.4, 0.7, 1.0)
            for label in ("BROOF-gradient", "BROOF-absolute", "MART", "LambdaMART", "RF")
        }
        caption = "share of the training queries (figure 2)"
        points(report, cells, name, methods, caption=caption, measures=OWN, first="share")
        gradient = systems["BROOF-gradient"]
        for validation in ("oob", "train"):
            params = {**gradient.params, "validation": validation}
            method = replace(gradient, params=params, validated=False)
            stages(report, cells, name, f"BROOF-gradient, {validation} (figure 3)", method)
    report.note(
        f"As in the paper, with {100 * settings.share:g} % of the 300 trees of each forest"
        f" ({100 * settings.share * settings.sample_share:g} % on the WEB10K sample). Figures 1 "
        "and 3: test data of two folds, no early stopping; figure 2: five folds."
    )


def plrank_objectives(report: Report, cells: Cells, settings: Settings) -> None:
    """Xia, Zhai and Wang, table 1 and section 4.3: PLRank by number of permutations."""
    measures = ("yahoo ndcg@1", "yahoo ndcg@3", "yahoo ndcg@10", "yahoo err")
    for name in settings.chosen("MQ2008", "OHSUMED"):
        methods, paper = {}, {}
        for n in (1, 3, 6, 9, 12, 15, 18, 21):
            system = rows.row(
                f"obj={n}", "plrank", "xia-2019", settings, validated=True, n_permutations=n
            )
            methods[f"obj={n}"] = system.as_in_paper
            methods[f"obj={n}, by default"] = system.by_default
            if f"PLRank(obj={n})" in published.PLRANK_YAHOO:
                paper[f"obj={n}"] = published.PLRANK_YAHOO[f"PLRank(obj={n})"]
        caption = "PLRank by number of permutations; the paper's figures are of Yahoo 2010"
        points(report, cells, name, methods, caption=caption, paper=paper, measures=measures)
    report.note("As in the paper: `as_in_paper`, 1000 trees at most, cut by validation NDCG@10.")


def plrank_features(report: Report, cells: Cells, settings: Settings) -> None:
    """Xia, Zhai and Wang, figure 2: linear ListMLE and coordinate ascent by number of features;
    here those that LambdaMART uses most. The paper shows it as a picture without numbers."""
    measures = ("yahoo ndcg@1", "yahoo ndcg@3", "yahoo ndcg@10", "yahoo err")
    for name in settings.chosen("MQ2008", "OHSUMED", "WEB10K sample"):
        n_features = COLLECTIONS[name].folds[0].train.n_features
        methods = {}
        for label, ranker in (("ListMLE", "listmle"), ("coordinate ascent", "coordinate-ascent")):
            system = rows.row(label, ranker, "xia-2019", settings).as_in_paper
            for count in (5, 10, 20, 40, 80, None):
                if count is None or count < n_features:
                    key = f"{label}, {count or n_features}"
                    methods[key] = replace(system, n_features=count)
        caption = "linear rankers by number of features (figure 2)"
        points(report, cells, name, methods, caption=caption, measures=measures, first="features")
    report.note("As in the paper: `as_in_paper`. Means of five folds.")


BOOSTED = ("lambdamart", "mart", "mcrank", "plrank", "cosmart", "klmart", "rcrank", "gbrt")
CLASSICAL = ("listmle", "rankboost", "adarank", "coordinate-ascent", "ranksvm")
FORESTS = ("rf-point", "rf-list", "rf-rand", "rf-pair", "rf", "rf-hybrid", "broof", "igbrt")

# What belongs to the shape of trees: oblivious trees know other limits than leaf-wise ones.
SHAPE = ("tree", "max_leaf_nodes", "max_depth", "min_samples_leaf", "min_child_weight")


def departures(report: Report, cells: Cells, settings: Settings) -> None:
    """Effect of the defaults of boosted and classical rankers that differ from the papers. Each
    parameter alone is set to the paper's value (the shape of trees together with the limits of
    their leaves), with all others at their defaults; then all of them are. For rankers without a
    difference: the values that the paper tunes."""
    _departures((*BOOSTED, *CLASSICAL), report, cells, settings)


def forest_departures(report: Report, cells: Cells, settings: Settings) -> None:
    """Effect of the defaults of forests, and of boosting with forests, that differ from the papers.
    Each parameter alone is set to the paper's value, with all others at their defaults; then all of
    them are."""
    _departures(FORESTS, report, cells, settings)


def _departures(rankers: Sequence[str], report: Report, cells: Cells, settings: Settings) -> None:
    for name in settings.chosen("MQ2008", "OHSUMED"):
        lines = []
        for ranker in rankers:
            lines += _departures_of(ranker, cells, name, settings)
        if not lines:
            report.note(f"{name}: not measured.")
            continue
        columns = ["ranker, paper", "setting", "default", *(TITLES[m] for m in OWN)]
        columns += [f"change of {TITLES[m]}" for m in OWN] + ["p"]
        report.table(columns, lines, caption=f"{name}, preset {COLLECTIONS[name].preset}")
    report.note(
        f"Forests have {100 * settings.share:g} % of the paper's trees, boosted rankers up to as "
        f"many steps as the paper, cut by validation NDCG@10 after {cells.stopping_rounds} steps "
        f"without a better one. Means of five folds, {cells.n_runs} seed(s). p: two-sided paired t "
        "test of NDCG@10 against the default over all test queries; it does not include the "
        "variation between seeds, and one row in 20 is expected below 0.05 by chance."
    )


def _departures_of(ranker: str, cells: Cells, name: str, settings: Settings) -> list[list[Any]]:
    cls, collection = ranker_class(ranker), COLLECTIONS[name]
    paper = next(iter(cls.papers))
    system = rows.row(ranker, ranker, paper, settings, validated=cls.learns_in_steps)
    default = system.by_default
    counted = dict(default.params)
    usual = {parameter.name: parameter.default for parameter in parameter_table(cls)}
    changed = {
        key: value
        for key, value in system.as_in_paper.params.items()
        if key not in counted and value != usual[key]
    }
    shape = [key for key in SHAPE if key in changed] if "tree" in changed else []
    groups = [shape] * bool(shape) + [[key] for key in changed if key not in shape]
    methods = {
        ", ".join(f"{key}={changed[key]}" for key in group): {
            **counted,
            **{key: changed[key] for key in group},
        }
        for group in groups
    }
    if len(groups) > 1:
        methods["all of these"] = {**counted, **changed}
    if not changed:
        tuned = cls.papers[paper].tuned
        methods = {
            f"{key}={value}": {**counted, key: value}
            for key, values in tuned.items()
            for value in values
            if value != usual[key]
        }
    cells.measure(collection, [default])
    base = cells.runs(collection, default, OWN)
    if not len(base):
        return []
    queries = cells.by_query(collection, default, OWN[0])
    lines = [[f"{ranker}, {paper}", "default", "", *_values(base), "", "", ""]]
    for label, params in methods.items():
        method = replace(default, params=params)
        cells.measure(collection, [method])
        runs = cells.runs(collection, method, OWN)
        if not len(base) or not len(runs):
            continue
        difference = runs.mean(axis=(0, 1)) - base.mean(axis=(0, 1))
        change = [f"{value:+.4f}" for value in difference]
        was = str(usual.get(label.partition("=")[0], ""))
        p = two_sided(cells.by_query(collection, method, OWN[0]), queries)
        lines.append(["", label, was, *_values(runs), *change, p])
    return lines


def _values(runs: Any) -> list[str]:
    return [f"{value:.4f}" for value in runs.mean(axis=(0, 1))]


BOOSTING_STUDIES: dict[str, Callable[[Report, Cells, Settings], None]] = {
    "igbrt-starts": igbrt_starts,
    "broof-figures": broof_figures,
    "plrank-objectives": plrank_objectives,
    "plrank-features": plrank_features,
    "departures": departures,
    "departures-forests": forest_departures,
}
