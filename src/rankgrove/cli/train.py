"""Train a ranker on judged data and write it to a model file.

The model is cut where the first metric was best on the validation data. `rankgrove train RANKER
--help` lists the parameters of a ranker.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from rankgrove._counts import counted
from rankgrove.cli.help import HelpParser
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

EXAMPLES = """\
  rankgrove train lambdamart train.txt --valid vali.txt --metric ndcg@10 --out model.rg
  rankgrove train lambdamart data.txt --valid-share 0.2 --seed 1 --out model.rg
  rankgrove train mart train.parquet --n-estimators 300 --learning-rate 0.05 --out model.rg
  rankgrove train mart judgments.csv --label rating --query search --out model.rg
  rankgrove train lambdamart parts/ --stream --cache codes/ --out model.rg
  rankgrove train lambdamart new.txt --init-model old.rg --out adapted.rg"""

_SET_HERE = ("verbose", "random_state", "n_jobs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand per registered ranker; its options are made when it is chosen."""
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
        return super().parse_known_args(args, namespace)


def _add_ranker_options(parser: argparse.ArgumentParser, name: str) -> None:
    from rankgrove.rankers.base.registry import ranker_class

    parser.description = (inspect.getdoc(ranker_class(name)) or "").partition("\n\n")[0]
    parser.usage = f"{parser.prog} DATA --out MODEL [options]"
    _add_data_arguments(parser)
    add_metric_option(parser, ["ndcg@10"])
    add_early_stopping_option(parser)
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


def _add_parameter_options(parser: argparse.ArgumentParser, name: str) -> None:
    from rankgrove.rankers.base.declaration import parameter_table
    from rankgrove.rankers.base.registry import ranker_class

    group = parser.add_argument_group(f"parameters of {name}")
    for parameter in parameter_table(ranker_class(name)):
        if parameter.name not in _SET_HERE:
            words = parameter.constraint.describe()
            meaning = f"{parameter.meaning} ({words}; default: {parameter.default})"
            group.add_argument(
                _option_of(parameter.name),
                dest=f"set_{parameter.name}",
                type=_reader(parameter.constraint.parse, words),
                default=argparse.SUPPRESS,
                metavar="VALUE",
                help=meaning.replace("%", "%%"),
            )


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


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, not {text}")
    return share


def _option_of(name: str) -> str:
    """Name of the option of a parameter; --metric is what is reported, for every ranker."""
    return "--train-metric" if name == "metric" else f"--{name.replace('_', '-')}"


def _reader(parse: Callable[[str], Any], words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return parse(text)
        except ModelError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}") from None

    return read


def run(arguments: argparse.Namespace) -> None:
    """Train, save and print a summary; a model that Ctrl-C cut short is saved, too."""
    from rankgrove._files import require_place
    from rankgrove.cli.model_data import load_like, load_training, scan_like
    from rankgrove.data.core.dataset import Dataset
    from rankgrove.data.reading.folds import split
    from rankgrove.formats.container import load_model, refuse_foreign_suffix

    refuse_foreign_suffix(arguments.out)
    refuse_overwriting(arguments.out, *arguments.data, arguments.valid, arguments.test)
    require_place(arguments.out)
    metrics = _metrics(arguments)
    ranker = _ranker(arguments)
    train = load_training(arguments.data, arguments)
    streamed = not isinstance(train, Dataset)
    sets: dict[str, Any] = {}
    if arguments.valid_share is not None:
        shares = (1 - arguments.valid_share, arguments.valid_share)
        train, sets["valid"] = split(train, shares, arguments.seed)
    sets |= {
        name: scan_like(path, train, arguments)
        if streamed
        else load_like(path, train.n_features, train.feature_names, arguments)
        for name, path in (("valid", arguments.valid), ("test", arguments.test))
        if path is not None
    }
    options: dict[str, Any] = {
        "eval_set": {"valid": sets["valid"]} if "valid" in sets else None,
        "eval_metric": metrics if "valid" in sets else None,
        "early_stopping_rounds": arguments.early_stopping_rounds,
        "init_model": None if arguments.init_model is None else load_model(arguments.init_model),
    }
    start = time.perf_counter()
    interrupted = _interrupted(ranker, train, options)
    seconds = time.perf_counter() - start
    ranker.save(arguments.out)
    summary: dict[str, Any] = {
        "model": arguments.out,
        "ranker": arguments.ranker,
        "rows": len(train.y),
        "queries": train.n_queries,
        "valid_share": arguments.valid_share,
        "valid_queries": sets["valid"].n_queries if "valid" in sets else None,
        "features": train.n_features,
        "size": ranker.model_.size,
        "steps": ranker.model_.n_steps,
        "best_iteration": getattr(ranker, "best_iteration_", None),
        "seconds": seconds,
        "metrics": {
            name: {str(measure): ranker.score(data, metric=measure) for measure in metrics}
            for name, data in sets.items()
        },
    }
    print(json.dumps(summary) if arguments.json else _summary_text(summary), file=sys.stdout)
    if interrupted:
        raise KeyboardInterrupt


def _metrics(arguments: argparse.Namespace) -> list[Any]:
    """Return what is reported, if there is something to measure."""
    from rankgrove.metrics.parsing import metric

    validated = arguments.valid is not None or arguments.valid_share is not None
    if arguments.metrics and not validated and arguments.test is None:
        raise ValueError(
            "--metric has no effect without --valid, --valid-share or --test: give data to measure"
        )
    if arguments.early_stopping_rounds is not None and not validated:
        raise ValueError(
            "--early-stopping-rounds needs validation data: give --valid or --valid-share"
        )
    return [metric(name) for name in arguments.metrics or ["ndcg@10"]]


def _ranker(arguments: argparse.Namespace) -> Any:
    """Make the ranker with the parameters that were given."""
    from rankgrove.rankers.base.registry import make_ranker

    params = {
        name.removeprefix("set_"): value
        for name, value in vars(arguments).items()
        if name.startswith("set_")
    }
    return make_ranker(
        arguments.ranker,
        random_state=arguments.seed,
        n_jobs=arguments.n_jobs,
        verbose=0 if arguments.quiet else 2 if arguments.verbose else 1,
        **params,
    )


def _interrupted(ranker: Any, train: Any, options: dict[str, Any]) -> bool:
    """Fit the ranker; return whether Ctrl-C ended it when something was finished."""
    try:
        ranker.fit(train, **options)
    except KeyboardInterrupt:
        if not hasattr(ranker, "model_"):
            raise
        print("rankgrove train: interrupted: the model is what was finished", file=sys.stderr)
        return True
    return False


def _summary_text(summary: dict[str, Any]) -> str:
    divided = []
    if summary["valid_share"] is not None:
        divided = [
            f"divided by query: {summary['queries']} for training, "
            f"{summary['valid_queries']} for validation"
        ]
    lines: Sequence[str] = [
        *divided,
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
