"""Compare rankers on the same folds: means, significant differences, training and scoring time.

DATA is a file (its queries are divided into folds), a folder of folds (Fold1/train.txt ...,
S1.txt ..., set1.train.txt ..., or one train, vali and test file), or several of those. Every
finished fit is stored in the results folder: the same command resumes an interrupted study, and
several processes may work on it together. `rankgrove report` writes the results as an HTML page.

RANKER is one of
  lambdamart                           a name
  rf-hybrid:listwise_levels=4          with parameters
  "rcrank:max_depth=3..6,l2=0|1"       a grid: each fold takes the best on its validation part
  lightgbm:lambdarank, xgboost:rank:ndcg, catboost:YetiRank, sklearn:RandomForestRegressor
                                       another library, optionally with ":name=value,..."
  model:FILE                           a trained model, evaluated on the test part of every fold
  scores:FILE, scores:run{fold}.txt    scores (higher is better), one per row, or a file per fold
  scores:column=NAME                   scores in a column (a feature of text also by its number),
                                       which remains a feature of the rankers (--ignore NAME)
  run:FILE                             a TREC run, or a table of query, document and score. DATA are
                                       then judgments, such as qrels; documents are matched by id,
                                       and a judged query that the run lacks counts 0
A label may come first: "small=lambdamart:max_leaf_nodes=7".

--fail-if-worse METRIC is a quality gate for scripts: the exit code is 3 if a ranker is
significantly worse than the baseline (without --baseline, the first ranker) in the paired test over
queries. It is 1 if the gate cannot decide: a model cannot be evaluated, or there are too few
queries.
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import printable
from rankgrove.cli.options import (
    add_data_options,
    add_early_stopping_option,
    add_fold_options,
    add_json_option,
    add_label_shift_option,
    add_metric_option,
    add_preset_option,
    add_quiet_option,
    add_ranker_option,
    add_repeats_option,
    add_seed_option,
    add_significance_options,
    add_view_options,
    add_workers_option,
    checked,
    data_options,
)
from rankgrove.cli.output import print_json, show, table
from rankgrove.cli.paths import DataPaths, out_path, refuse_overwriting
from rankgrove.cli.run_judgments import JUDGMENT_OPTION_NAMES, judgment_options
from rankgrove.errors import DataError, GateError

if TYPE_CHECKING:
    from rankgrove.experiments.comparison import Comparison
    from rankgrove.experiments.study import Study

EXAMPLES = """\
  rankgrove compare MQ2008/ --ranker lambdamart --ranker plrank --ranker rf-list --preset letor4
  rankgrove compare train.txt --ranker "rcrank:max_depth=3..6" --ranker mart --baseline mart
  rankgrove compare MQ2008/ --ranker lambdamart --ranker lightgbm:lambdarank --repeats 3 --workers 2
  rankgrove compare --study study.toml --out results/
  rankgrove compare MSLR-WEB10K/ --study rcrank --label-shift 1
  rankgrove compare new.csv --ranker model:old.rg --ranker model:new.rg --fail-if-worse ndcg@10
  rankgrove compare qrels.txt --ranker run:bm25.run --ranker run:new.run --preset trec"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "data", nargs="*", action=DataPaths, metavar="DATA", help="file or folder of folds"
    )
    add_ranker_option(parser)
    parser.add_argument(
        "--study",
        metavar="FILE",
        help="TOML file with rankers and options, or the name of a built-in study (missing, "
        "rcrank); options of the command line override it",
    )
    add_metric_option(parser, ["ndcg@10", "map", "mrr"])
    add_preset_option(parser)
    add_fold_options(parser)
    add_repeats_option(parser)
    add_seed_option(parser)
    add_early_stopping_option(parser)
    add_label_shift_option(parser)
    add_view_options(parser)
    parser.add_argument(
        "--blend",
        action="store_true",
        default=None,
        help="also fit a blend of all rankers, with weights found on validation data",
    )
    parser.add_argument(
        "--naive-twin",
        action="store_true",
        default=None,
        help="also fit each ranker with a position_bias without it, for comparison",
    )
    parser.add_argument(
        "--baseline", metavar="LABEL", help="ranker with which the others are compared"
    )
    parser.add_argument(
        "--fail-if-worse",
        metavar="METRIC",
        help="end with exit code 3 if a ranker is significantly worse than the baseline",
    )
    add_run_options(parser)
    add_table_options(parser)
    parser.add_argument(
        "--save-best",
        type=out_path,
        metavar="MODEL",
        help="train the ranker and setting with the best validation metric again, and save it",
    )
    add_data_options(parser)
    parser.set_defaults(repeats=None, seed=None)  # a study file may say otherwise
    parser.set_defaults(option_names=JUDGMENT_OPTION_NAMES)  # beside runs


def given_study_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the study that were given."""
    from rankgrove.experiments.study_options import NAMES

    given = {name: getattr(arguments, name, None) for name in NAMES}
    return {name: value for name, value in given.items() if value is not None}


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of running a study and of storing its results."""
    from rankgrove.experiments.memory import read_size

    group = parser.add_argument_group("running")
    group.add_argument(
        "--out", default="results", metavar="FOLDER", help="results folder (default: results)"
    )
    add_workers_option(group)
    group.add_argument(
        "--backend",
        default="loky",
        metavar="NAME",
        help="joblib backend of the workers: loky (default), dask, ray",
    )
    group.add_argument(
        "--memory-limit",
        type=checked(read_size),
        metavar="SIZE",
        help="memory of all running fits together, such as 8GB; a fit that exceeds its share fails",
    )
    group.add_argument("--retry", action="store_true", help="run failed fits again")
    add_quiet_option(group)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of significance tests and of the printed table."""
    group = parser.add_argument_group("the table")
    add_significance_options(group)
    group.add_argument("--by-fold", action="store_true", help="also print a table of the folds")
    group.add_argument(
        "--by-setting",
        action="store_true",
        help="also print every setting of the grids, as papers do",
    )
    group.add_argument(
        "--paper-tests",
        action="store_true",
        help="also print t and Wilcoxon tests against the baseline, with the marks of papers",
    )
    group.add_argument(
        "--table-format",
        choices=("text", "markdown", "latex"),
        default="text",
        help="format of the printed table (default: text)",
    )
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._files import require_place
    from rankgrove.experiments.comparing import fit_best
    from rankgrove.experiments.run_comparison import runs_among
    from rankgrove.experiments.tables import as_json
    from rankgrove.formats.container import refuse_foreign_suffix

    runs = runs_among(arguments.rankers or [])
    if runs:
        _compare_runs(runs, arguments)
        return
    if arguments.save_best:
        refuse_foreign_suffix(arguments.save_best)
        refuse_overwriting(arguments.save_best, arguments.study, *arguments.data)
        require_place(arguments.save_best)
    study = _study(arguments)
    if arguments.save_best:
        refuse_overwriting(arguments.save_best, *_files_of(study))
    _require_baseline_of_tests(arguments, study.baseline)
    if arguments.save_best and study.awaits_its_models:
        raise ValueError("--save-best takes --feature-order lambdamart, not study")
    gate = None if arguments.fail_if_worse is None else _gate_metric(study, arguments)
    comparison = run_and_compare(study, arguments)
    if arguments.json:
        print_json(as_json(comparison))
    else:
        show_comparison(comparison, arguments)
    if arguments.save_best:
        ranker = fit_best(study, comparison, arguments.n_jobs)
        ranker.save(arguments.save_best)
        if not arguments.json:
            show(f"{ranker.ranker_name} is written to {printable(arguments.save_best)}")
    if gate is not None:
        _raise_if_worse(comparison, gate)
    _raise_if_failed(comparison)


def _files_of(study: Study) -> list[str]:
    """Return the files that a study names: its data, models and scores, those of all folds."""
    origins = (source.origin for source in study.sources)
    files = [os.fspath(origin) for origin in origins if isinstance(origin, str | os.PathLike)]
    for spec in study.specs:
        if not spec.trained and spec.column is None:
            pattern = glob.escape(spec.target).format(fold="*", data="*")
            files += [spec.target, *glob.glob(pattern)]
    return files


def _compare_runs(runs: dict[str, str], arguments: argparse.Namespace) -> None:
    """Compare runs against judgments; nothing is trained and nothing is stored."""
    from rankgrove.experiments.run_comparison import compare_runs
    from rankgrove.experiments.study_options import DEFAULT_METRICS
    from rankgrove.experiments.tables import as_json

    if len(arguments.data) != 1:
        raise ValueError(f"runs are measured against one file of judgments, not {arguments.data}")
    of_training = given_study_options(arguments).keys() - {"metrics", "preset", "baseline"}
    others = ("study", "save_best", "memory_limit", "retry", "by_setting")
    for name in [*(name for name in others if getattr(arguments, name)), *sorted(of_training)]:
        raise ValueError(f"--{name.replace('_', '-')} has no effect on runs")
    gate, baseline = arguments.fail_if_worse, arguments.baseline
    _require_baseline_of_tests(arguments, baseline)
    comparison = compare_runs(
        arguments.data[0],
        runs,
        metrics=arguments.metrics or DEFAULT_METRICS,
        preset=arguments.preset,
        baseline=next(iter(runs)) if baseline is None and gate is not None else baseline,
        significance_test=arguments.significance_test,
        alpha=arguments.alpha,
        judgment_options=judgment_options(arguments),
        n_jobs=arguments.n_jobs,
    )
    if gate is not None:
        gate = _measured(gate, arguments.preset, comparison.metrics, len(runs))
    if arguments.json:
        print_json(as_json(comparison))
    else:
        show_comparison(comparison, arguments)
    if gate is not None:
        _raise_if_worse(comparison, gate)


def _require_baseline_of_tests(arguments: argparse.Namespace, baseline: str | None) -> None:
    if arguments.paper_tests and baseline is None:
        raise ValueError("--paper-tests compares rankers with a baseline: give one by --baseline")


def _gate_metric(study: Study, arguments: argparse.Namespace) -> str:
    """Return the metric of the gate; refuse one that is not measured before anything is run."""
    names = [str(measured) for measured in study.metrics]
    return _measured(arguments.fail_if_worse, arguments.preset, names, len(study.specs))


def _measured(text: str, preset: str | None, names: list[str], n_rankers: int) -> str:
    from rankgrove.metrics.parsing import metric

    if n_rankers < 2:
        raise ValueError("--fail-if-worse compares rankers with a baseline: give at least two")
    name = str(metric(text, preset=preset))
    if name not in names:
        raise ValueError(
            f"--fail-if-worse {text} is not measured: --metric names {', '.join(names)}"
        )
    return name


def _raise_if_worse(comparison: Comparison, metric: str) -> None:
    """End with exit code 3 if a ranker is significantly worse than the baseline.

    A comparison that could not have found a difference is an error: the gate must not pass then.
    """
    worse = []
    for data in comparison.datasets:
        results = comparison.results(data)
        failed = next((result for result in results if result.failure), None)
        if failed is not None:
            raise DataError(
                f"the gate cannot decide: {failed.ranker} has no result on {data}: {failed.failure}"
            )
        _, values = comparison.values(data, metric)
        _require_power(values, data, metric, comparison.significance.alpha)
        worse += [f"{r.ranker} on {data}" for r in results if r.marks.get(metric, 0) < 0]
    if worse:
        raise GateError(
            f"significantly worse than {comparison.baseline} by {metric}: {', '.join(worse)}"
        )


def _raise_if_failed(comparison: Comparison) -> None:
    """End with exit code 1 if a ranker has no result, so that scripts notice."""
    failed = [
        (data, result)
        for data in comparison.datasets
        for result in comparison.results(data)
        if result.failure
    ]
    if failed:
        data, result = failed[0]
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise DataError(
            f"{result.ranker} has no result on {data}: {result.failure}{more} (--retry runs failed "
            "fits once more)"
        )


def _require_power(values: Any, data: str, metric: str, alpha: float) -> None:
    """Refuse values from which no paired test could find a difference.

    The smallest two-sided p-value of n queries is 2 / 2^n, and it is corrected over all pairs.
    """
    import numpy as np

    counted = ~np.isnan(values).all(axis=0)
    n_queries, n_rankers = int(counted.sum()), len(values)
    if n_queries == 0 or not np.nan_to_num(values).any():
        raise DataError(
            f"the gate cannot decide: {metric} is 0 for every query and ranker on {data}: no query "
            "has a relevant document"
        )
    smallest = n_rankers * (n_rankers - 1) / 2.0**n_queries
    if smallest > alpha:
        raise DataError(
            f"the gate cannot decide: {n_queries} queries of {data} are too few to find any "
            f"difference (the smallest p-value is {smallest:.2g}, --alpha {alpha:g})"
        )


def run_and_compare(study: Study, arguments: argparse.Namespace) -> Comparison:
    """Run a study with the options of the command line."""
    from rankgrove.experiments.comparing import compare_study
    from rankgrove.experiments.results import Significance
    from rankgrove.experiments.running import Run
    from rankgrove.experiments.store import Store

    run = Run(arguments.workers, arguments.backend, arguments.n_jobs, arguments.memory_limit)
    significance = Significance(arguments.significance_test, arguments.alpha)
    with Store(arguments.out) as store:
        if arguments.retry:
            store.forget_failures()
        verbose = sys.stderr.isatty() and not arguments.quiet
        try:
            comparison = compare_study(study, store, run, significance, verbose=verbose)
        except KeyboardInterrupt:
            print_how_to_resume(arguments.out)
            raise
    if all(result.failure for data in comparison.datasets for result in comparison.results(data)):
        first = comparison.results(comparison.datasets[0])[0]
        raise ValueError(
            f"every fit failed; {first.ranker}: {first.failure} (--retry runs failed fits once "
            "more)"
        )
    return comparison


def print_how_to_resume(folder: str) -> None:
    """Print how to resume a study that Ctrl-C ended."""
    print(
        f"what is finished is kept in {printable(folder)}; the same command goes on from there",
        file=sys.stderr,
    )


def show_comparison(comparison: Comparison, arguments: argparse.Namespace) -> None:
    """Print the tables in the chosen format."""
    from rankgrove.experiments.tables import FORMATS, MoreTables, convention, text_tables

    more = MoreTables(arguments.by_fold, arguments.by_setting, arguments.paper_tests)
    if arguments.table_format != "text":
        text = FORMATS[arguments.table_format](comparison, more)
        sys.stdout.write(text)
        return
    for found in text_tables(comparison, more):
        show(table(found.columns, found.rows, title=found.title))
        for note in found.notes:
            show(_plain(note))
    for sentence in convention(comparison):
        show(_plain(sentence))


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def _study(arguments: argparse.Namespace) -> Study:
    from rankgrove.experiments.study import make_study, read_study_file

    if arguments.format in ("text", "markdown", "latex"):
        raise ValueError(
            f"--format is the format of the data: --table-format {arguments.format} chooses that "
            "of the table"
        )
    content: dict[str, Any] = {}
    if arguments.study is not None:
        content = read_study_file(arguments.study)
    if arguments.rankers:
        content["rankers"] = arguments.rankers
    content |= given_study_options(arguments)
    if arguments.data:
        content["data"] = arguments.data
    if not content.get("data"):
        raise ValueError("there is no DATA: give a file or a folder of folds")
    if not content.get("rankers"):
        raise ValueError("there is no ranker: give at least one --ranker, or a --study")
    study = make_study(**{**content, **data_options(arguments)})
    if arguments.fail_if_worse is not None and study.baseline is None:
        return replace(study, baseline=study.specs[0].label)
    return study
