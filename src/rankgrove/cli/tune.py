"""Tune the hyperparameters of a ranker with Optuna, on query-wise folds.

RANKER may fix some parameters ("lambdamart:n_estimators=200"); the others that its parameter table
marks for tuning are searched. A trial is judged by the metric on the validation parts of the folds,
and pruned if it is worse than the median; test parts are not used. Every finished fit is stored in
the results folder, so that the same command resumes an interrupted search. Needs optuna
(pip install 'rankgrove[tune]').
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rankgrove.cli.compare import given_study_options, print_how_to_resume
from rankgrove.cli.options import (
    add_data_options,
    add_early_stopping_option,
    add_fold_options,
    add_json_option,
    add_metric_option,
    add_preset_option,
    add_quiet_option,
    add_seed_option,
    data_options,
)
from rankgrove.cli.output import print_json, show

EXAMPLES = """\
  rankgrove tune lambdamart train.txt --trials 50
  rankgrove tune "rf-point:n_estimators=100" MQ2008/ --metric ndcg@10 --max-folds 2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("ranker", metavar="RANKER", help="name, perhaps with fixed parameters")
    parser.add_argument("data", metavar="DATA", help="file or folder of folds")
    parser.add_argument(
        "--trials", type=int, default=50, metavar="N", help="settings to try (default: 50)"
    )
    add_metric_option(parser, ["ndcg@10"])
    add_preset_option(parser)
    add_fold_options(parser)
    add_seed_option(parser)
    add_early_stopping_option(parser)
    parser.add_argument(
        "--out", default="tuning", metavar="FOLDER", help="results folder (default: tuning)"
    )
    add_quiet_option(parser)
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.experiments.store import Store
    from rankgrove.experiments.study import make_study
    from rankgrove.experiments.tuning import Trial, tune

    options = {"metrics": ["ndcg@10"], **given_study_options(arguments)}
    study = make_study(arguments.data, [arguments.ranker], **options, **data_options(arguments))

    def tell(number: int, trial: Trial) -> None:
        if not arguments.quiet:
            end = trial.error or ("given up" if trial.pruned else f"{trial.value:.4f}")
            print(f"trial {number}: {_text(trial.params)}: {end}", file=sys.stderr)

    with Store(arguments.out) as store:
        try:
            found = tune(
                study, store, n_trials=arguments.trials, n_jobs=arguments.n_jobs, on_trial=tell
            )
        except KeyboardInterrupt:
            print_how_to_resume(arguments.out)
            raise
    best = f"{found.spec.use}:{_text(found.best.params)}"
    if arguments.json:
        trials = [
            {"params": dict(t.params), "value": t.value, "pruned": t.pruned, "error": t.error}
            for t in found.trials
        ]
        print_json({"best": best, "value": found.best.value, "trials": trials})
    else:
        show(f"best validation {study.metrics[0]}: {found.best.value:.4f}", f"  {best}")


def _text(params: Any) -> str:
    """Return parameters in the text form of a ranker."""
    return ",".join(f"{name}={value!r}" for name, value in params.items())
