"""Train a ranker on judged data and write it to a model file.

The model keeps the steps up to the best value of the first metric on the validation data.
`rankgrove train RANKER --help` lists the parameters of a ranker.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rankgrove._addresses import file_path, printable
from rankgrove._counts import counted
from rankgrove.cli.help import HelpParser, option_of
from rankgrove.cli.options import (
    add_early_stopping_option,
    add_json_option,
    add_metric_option,
    add_quiet_option,
    add_seed_option,
    add_threads_option,
    add_training_options,
)
from rankgrove.cli.paths import DataPaths, data_path, out_path, refuse_overwriting
from rankgrove.errors import ModelError
from rankgrove.rankers.base.parameters import Choice, Constraint
from rankgrove.training.stopping import STOPPING_RULES

EXAMPLES = """\
  rankgrove train lambdamart train.txt --valid vali.txt --metric ndcg@10 --out model.rg
  rankgrove train lambdamart data.txt --valid-share 0.2 --seed 1 --out model.rg
  rankgrove train mart train.parquet --n-estimators 300 --learning-rate 0.05 --out model.rg
  rankgrove train mart judgments.csv --label rating --query search --out model.rg
  rankgrove train lambdamart train.txt --as-in-paper --valid vali.txt --out model.rg
  rankgrove train lambdamart parts/ --stream --cache codes/ --out model.rg
  rankgrove train lambdamart new.txt --init-model old.rg --out adapted.rg"""

_SET_HERE = ("verbose", "random_state", "n_jobs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand per registered ranker; its options are added when it is chosen."""
    from rankgrove.rankers.base.registry import class_names, ranker_names

    rankers = parser.add_subparsers(
        dest="ranker",
        metavar="RANKER",
        required=True,
        parser_class=_RankerParser,
        title="rankers",
        description=", ".join(ranker_names()),
    )
    for name in ranker_names():
        chosen = rankers.add_parser(name, aliases=[class_names()[name]], ranker_name=name)
        chosen.set_defaults(ranker=name)


class _RankerParser(HelpParser):
    """Options of one ranker, read from its table of parameters only when they are needed."""

    def __init__(self, *, ranker_name: str, **options: Any):
        super().__init__(**options)
        self._name: str | None = ranker_name

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options, then parse."""
        if self._name is not None:
            name, self._name = self._name, None
            _add_ranker_options(self, name)
        parsed, unknown = super().parse_known_args(args, namespace)
        for text in unknown:
            if text.startswith("--"):
                option = text.partition("=")[0]
                self.error(f"unknown option {option}: `{self.prog} --help` lists those that it has")
        return parsed, unknown


def _add_ranker_options(parser: argparse.ArgumentParser, name: str) -> None:
    from rankgrove.rankers.base.registry import ranker_class

    parser.description = (inspect.getdoc(ranker_class(name)) or "").partition("\n\n")[0]
    parser.usage = f"{parser.prog} DATA --out MODEL [options]"
    _add_data_arguments(parser)
    add_metric_option(parser, ["ndcg@10"])
    add_early_stopping_option(parser)
    parser.add_argument(
        "--stopping-rule",
        choices=sorted(STOPPING_RULES),
        help="rule that chooses the best step on validation data (default: best)",
    )
    parser.add_argument("--init-model", metavar="MODEL", help="model to start from")
    add_seed_option(parser)
    add_threads_option(parser)
    loudness = parser.add_mutually_exclusive_group()
    add_quiet_option(loudness)
    loudness.add_argument(
        "--verbose", action="store_true", help="a line per step on standard error, for a log"
    )
    add_json_option(parser)
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )
    add_training_options(parser)
    _add_parameter_options(parser, name)


def _paper(ranker: str, paper: str) -> str:
    """Return the name of a paper that gives the ranker settings, or refuse it."""
    from rankgrove.rankers.base.paper_settings import find_settings
    from rankgrove.rankers.base.registry import ranker_class

    try:
        find_settings(ranker_class(ranker).papers, ranker, paper)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return paper


def _add_parameter_options(parser: argparse.ArgumentParser, name: str) -> None:
    from rankgrove.rankers.base.declaration import parameter_table
    from rankgrove.rankers.base.paper_settings import OWN
    from rankgrove.rankers.base.registry import ranker_class

    papers = ", ".join(ranker_class(name).papers)
    group = parser.add_argument_group(
        f"parameters of {name}", f"papers that give settings: {papers}" if papers else None
    )
    group.add_argument(
        "--as-in-paper",
        metavar="PAPER",
        nargs="?",
        const=OWN,
        type=partial(_paper, name),
        help=f"take the settings of a paper (alone or {OWN}: of the one that brought the ranker); "
        "parameters that are given take the place of the paper's",
    )
    names = {}
    for parameter in parameter_table(ranker_class(name)):
        if parameter.name not in _SET_HERE:
            names[parameter.name] = option_of(parameter.name)
            words = parameter.constraint.describe()
            meaning = f"{parameter.meaning} ({words}; default: {parameter.default})"
            group.add_argument(
                option_of(parameter.name),
                dest=f"set_{parameter.name}",
                type=_reader(parameter.constraint, words),
                default=argparse.SUPPRESS,
                metavar="VALUE",
                help=meaning.replace("%", "%%"),
            )
    parser.set_defaults(option_names=names)


def _add_data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="+",
        action=DataPaths,
        help="training data (LETOR text, Parquet, CSV, ...): a file, several, a folder of "
        "them, a pattern, or - for standard input",
    )
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        help="read the data piece by piece instead of loading them; the model is the same "
        "(default: if training would take more than half of the free memory)",
    )
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep what is made of streamed data here, for the next time (default: "
        "RANKGROVE_CACHE, else nothing is kept)",
    )
    parser.add_argument(
        "--out", required=True, metavar="MODEL", type=out_path, help="model file to write"
    )
    validation = parser.add_mutually_exclusive_group()
    validation.add_argument("--valid", metavar="DATA", type=data_path, help="validation data")
    validation.add_argument(
        "--valid-share",
        metavar="SHARE",
        type=_share,
        help="share of the queries of the training data that is drawn at random (--seed) to be "
        "the validation data",
    )
    parser.add_argument(
        "--test", metavar="DATA", type=data_path, help="data to measure the finished model on"
    )
    parser.add_argument(
        "--note", metavar="TEXT", help="text for the model's provenance, which `info` shows"
    )
    parser.add_argument(
        "--card", metavar="FILE", type=out_path, help="also write a model card (Markdown)"
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, not {text}")
    return share


def _trains_on_a_metric(arguments: argparse.Namespace) -> bool:
    from rankgrove.rankers.base.declaration import parameter_table
    from rankgrove.rankers.base.registry import ranker_class

    return any(one.name == "metric" for one in parameter_table(ranker_class(arguments.ranker)))


def _reader(constraint: Constraint, words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return constraint.parse(text)
        except ModelError as error:
            message = str(error).replace(" on the command line)", ")")
            raise argparse.ArgumentTypeError(message) from None
        except ValueError:
            hint = constraint.hint(text) if isinstance(constraint, Choice) else ""
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}{hint}") from None

    return read


def run(arguments: argparse.Namespace) -> None:
    """Train, save and print a summary; what Ctrl-C leaves is saved, but replaces no other model."""
    from rankgrove.cli.model_data import load_like, load_training, scan_like
    from rankgrove.data.core.dataset import Dataset
    from rankgrove.data.reading.folds import split
    from rankgrove.formats.container import load_model

    _check_outputs(arguments)
    metrics = _metrics(arguments)
    ranker = _ranker(arguments)
    train = load_training(arguments.data, arguments)
    streamed = not isinstance(train, Dataset)
    sets: dict[str, Any] = {}
    if arguments.valid_share is not None:
        shares = (1 - arguments.valid_share, arguments.valid_share)
        train, sets["valid"] = split(train, shares, arguments.seed)
    sets |= {
        name: scan_like(path, train, arguments) if streamed else load_like(path, train, arguments)
        for name, path in (("valid", arguments.valid), ("test", arguments.test))
        if path is not None
    }
    if not streamed:
        _warn_of_tested_queries(ranker, train, sets)
    options: dict[str, Any] = {
        "eval_set": {"valid": sets["valid"]} if "valid" in sets else None,
        "eval_metric": metrics if "valid" in sets else None,
        "early_stopping_rounds": arguments.early_stopping_rounds,
        "stopping_rule": arguments.stopping_rule,
        "init_model": None if arguments.init_model is None else load_model(arguments.init_model),
    }
    start = time.perf_counter()
    interrupted = _interrupted(ranker, train, options)
    if interrupted:
        _keep_finished_models(ranker, arguments)
    seconds = time.perf_counter() - start
    measured = _measured(ranker, sets, metrics)
    ranker.provenance_ = _provenance(train, measured, options["init_model"], arguments)
    ranker.save(arguments.out, card=arguments.card)
    summary: dict[str, Any] = {
        "model": printable(arguments.out),
        "ranker": arguments.ranker,
        "rows": len(train.y),
        "queries": train.n_queries,
        "valid_share": arguments.valid_share,
        "valid_queries": sets["valid"].n_queries if "valid" in sets else None,
        "features": train.n_features,
        "size": ranker.model_.size,
        "steps": ranker.model_.n_steps,
        "best_iteration": getattr(ranker, "best_iteration_", None),
        "stopping_rule": getattr(ranker, "stopping_rule_", None),
        "chosen": getattr(ranker, "reason_", None),
        "seconds": seconds,
        "metrics": measured,
    }
    print(json.dumps(summary) if arguments.json else _summary_text(summary), file=sys.stdout)
    if interrupted:
        raise KeyboardInterrupt


def _warn_of_tested_queries(ranker: Any, train: Any, sets: dict[str, Any]) -> None:
    """Warn if the test data share queries with data that the model is made of."""
    from rankgrove.training.leakage import warn_of_shared_queries

    if "test" not in sets:
        return
    warn_of_shared_queries(train, sets["test"], "eval_set 'test'")
    if "valid" in sets and ranker.learns_in_steps:
        source = "the validation data, which choose the steps of the model"
        warn_of_shared_queries(sets["valid"], sets["test"], "eval_set 'test'", source)


def _measured(
    ranker: Any, sets: dict[str, Any], metrics: Sequence[Any]
) -> dict[str, dict[str, float]]:
    """Return every metric of every set."""
    return {
        name: {str(measure): ranker.score(data, metric=measure) for measure in metrics}
        for name, data in sets.items()
    }


def _provenance(
    train: Any,
    measured: dict[str, dict[str, float]],
    parent: Any,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the record of the training for the model file."""
    from rankgrove.data.reading.loading import files_in, is_folder
    from rankgrove.rankers.base.parameter_encoding import model_digest
    from rankgrove.rankers.base.provenance import feature_ranges, make_provenance

    given = [path for path in (*arguments.data, arguments.valid, arguments.test) if path]
    paths = [
        file
        for path in given
        for file in (files_in(file_path(path)) if is_folder(path) else [file_path(path)])
    ]
    names = {"valid": "validation", "test": "test"}
    record = make_provenance(
        note=arguments.note,
        files=paths,
        parent=None if parent is None else model_digest(parent.model_),
        metrics={names[name]: values for name, values in measured.items()},
    )
    size = {"rows": len(train.y), "queries": train.n_queries, "features": train.n_features}
    ranges = feature_ranges(train)
    return {**record, "data": size, **({"ranges": ranges} if ranges else {})}


def _metrics(arguments: argparse.Namespace) -> list[Any]:
    """Return the metrics to report; none if there is no evaluation set."""
    from rankgrove.metrics.parsing import metric

    validated = arguments.valid is not None or arguments.valid_share is not None
    if arguments.metrics and not validated and arguments.test is None:
        trained = (
            " (what is trained on is --train-metric)" if _trains_on_a_metric(arguments) else ""
        )
        raise ValueError(
            "--metric has no effect without --valid, --valid-share or --test: give data to "
            f"measure{trained}"
        )
    if arguments.early_stopping_rounds is not None and not validated:
        raise ValueError(
            "--early-stopping-rounds needs validation data: give --valid or --valid-share"
        )
    if arguments.stopping_rule is not None and not validated:
        raise ValueError("--stopping-rule needs validation data: give --valid or --valid-share")
    return [metric(name) for name in arguments.metrics or ["ndcg@10"]]


def _ranker(arguments: argparse.Namespace) -> Any:
    """Build the ranker with the given parameters."""
    from rankgrove.rankers.base.paper_settings import find_settings
    from rankgrove.rankers.base.registry import make_ranker, ranker_class

    params = {
        name.removeprefix("set_"): value
        for name, value in vars(arguments).items()
        if name.startswith("set_")
    }
    if arguments.as_in_paper is not None:
        papers = ranker_class(arguments.ranker).papers
        settings = find_settings(papers, arguments.ranker, arguments.as_in_paper)
        params = {**settings.params, **params}
    return make_ranker(
        arguments.ranker,
        random_state=arguments.seed,
        n_jobs=arguments.n_jobs,
        verbose=0 if arguments.quiet else 2 if arguments.verbose else 1,
        **params,
    )


def _interrupted(ranker: Any, train: Any, options: dict[str, Any]) -> bool:
    """Fit the ranker; return whether Ctrl-C ended the fit with a partial model."""
    try:
        ranker.fit(train, **options)
    except KeyboardInterrupt:
        if not hasattr(ranker, "model_"):
            raise
        return True
    return False


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written, that replace an input, or that are one file."""
    from rankgrove._files import require_place, same_place
    from rankgrove.formats.container import refuse_foreign_suffix

    refuse_foreign_suffix(arguments.out)
    if arguments.card is not None:
        refuse_overwriting(arguments.card, arguments.init_model)
        if same_place(arguments.card, arguments.out):
            raise ValueError("--card is the file of --out: give the model card a file of its own")
    for output in filter(None, (arguments.out, arguments.card)):
        refuse_overwriting(output, *arguments.data, arguments.valid, arguments.test)
        require_place(output)


def _keep_finished_models(ranker: Any, arguments: argparse.Namespace) -> None:
    """Redirect outputs of an interrupted fit that would replace files, and print where they are."""
    kept = printable(arguments.out) if file_path(arguments.out).exists() else None
    for name in ("out", "card"):
        given = getattr(arguments, name)
        if given is not None and file_path(given).exists():
            path = file_path(given)
            new = path.with_name(f"{path.stem}.interrupted{path.suffix}")
            setattr(arguments, name, os.fspath(new))
    stays = "" if kept is None else f"; {kept} stays as it was"
    print(
        f"rankgrove train: interrupted: what was finished ({ranker.model_.size}) is written to "
        f"{printable(arguments.out)}{stays}",
        file=sys.stderr,
    )


def _summary_text(summary: dict[str, Any]) -> str:
    divided = []
    if summary["valid_share"] is not None:
        divided = [
            f"divided by query: {summary['queries']} for training, "
            f"{summary['valid_queries']} for validation"
        ]
    lines: Sequence[str] = [
        *divided,
        *([] if summary["chosen"] is None else [f"chosen: {summary['chosen']}"]),
        f"{summary['ranker']}: {summary['size']} on {counted(summary['rows'], 'row', spec='')}, "
        f"{counted(summary['queries'], 'query', spec='')}, "
        f"{counted(summary['features'], 'feature', spec='')} in "
        f"{summary['seconds']:.1f} s",
        *(
            f"{name}: " + "  ".join(f"{metric} {value:.4f}" for metric, value in values.items())
            for name, values in summary["metrics"].items()
        ),
        f"written to {summary['model']}",
    ]
    return "\n".join(lines)
