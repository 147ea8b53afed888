"""The ``rankgrove`` command: finds the verb, runs it, and turns failures into exit codes.

A verb is one module of this package with ``add_arguments(parser)``, ``run(arguments)``, a docstring
that becomes its help text, and ``EXAMPLES``; and one line in ``VERBS``. It is imported only when
asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rankgrove import __version__
from rankgrove._files import reason
from rankgrove._plugins import import_failure
from rankgrove.cli.help import HelpParser
from rankgrove.cli.interrupts import Interrupts
from rankgrove.cli.messages import in_options
from rankgrove.cli.paths import refuse_reading_twice
from rankgrove.cli.standard_streams import secure_standard_streams
from rankgrove.errors import DataWarning, GateError, RankgroveError

# Verb -> what it does, in one line. The module of `score-bench` is `score_bench`.
VERBS = {
    "info": "describe a data file (queries, grades, features, warnings) or a model",
    "convert": "write a data file in another format (LETOR text, Parquet, ...)",
    "split": "divide a data file by query into training, validation and test files",
    "join": "match judgments with features that a search engine logged",
    "clicks": "estimate judgments or examination probabilities from logged clicks",
    "rankers": "list the rankers: family, paper, training objective, key parameters",
    "train": "train a ranker on judged data and write it to a model file",
    "predict": "score a data file with a model",
    "evaluate": "compute metrics of a file of scores on judged data",
    "explain": "explain scores and ranks by SHAP values, and show feature importances",
    "show": "draw a tree of a model",
    "compare": "compare rankers on the same folds, and test their differences",
    "report": "write an HTML page of a comparison",
    "tune": "tune the hyperparameters of a ranker",
    "curve": "draw curves of a metric over training size, trees, features, ...",
    "export": "write a model for another library or a search engine",
    "serve": "score documents over HTTP",
    "score-bench": "measure how fast a model scores your data",
    "demo": "compare rankers of all families on synthetic data and write a page",
}

OK, FAILURE, USAGE, WORSE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141

EXIT_CODES = """\
exit codes:
  0    success
  1    the data, a model or a file could not be used; the message on stderr says why
  2    wrong usage of the command line
  3    `compare --fail-if-worse` found a ranker that is significantly worse than the baseline
  130  interrupted by Ctrl-C (`train` writes what it has first)
  141  the reader of a pipe went away (ended by SIGPIPE, as other tools are)"""

EXAMPLES = """\
examples:
  rankgrove info train.txt
  rankgrove convert train.txt train.parquet
  rankgrove train lambdamart train.txt --valid vali.txt --metric ndcg@10 --out model.rg
  rankgrove predict model.rg test.txt --out scores.txt
  rankgrove evaluate scores.txt test.txt --metric ndcg@10 map

`rankgrove VERB --help` explains a verb."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` is None in a process of its own."""
    if argv is None:
        secure_standard_streams()
    try:
        arguments = _parse(list(sys.argv[1:] if argv is None else argv))
        code = USAGE if arguments is None else _run(arguments, in_process=argv is not None)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError as error:
        print(f"rankgrove: {_message(error)}", file=sys.stderr)
        code = FAILURE
    _drop_unwritten()
    if code == BROKEN_PIPE and argv is None and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    return code


def _run(arguments: argparse.Namespace, in_process: bool) -> int:
    warnings.showwarning = partial(_show_warning, arguments, set(), warnings.showwarning)
    interrupts = Interrupts()
    try:
        with contextlib.nullcontext() if in_process else interrupts.raised():
            refuse_reading_twice(arguments)
            arguments.run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:
        return BROKEN_PIPE
    except (Exception, SystemExit) as error:  # code of others may call sys.exit(0)
        if interrupts.seen:
            raise KeyboardInterrupt from error  # a library caught it and failed
        if arguments.debug:
            traceback.print_exc()
        else:
            message = in_options(_message(error), arguments)
            print(f"rankgrove {arguments.verb}: {message}", file=sys.stderr)
        return WORSE if isinstance(error, GateError) else FAILURE
    return OK


def _drop_unwritten() -> None:
    """Discard output that cannot be written, which Python would report again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    arguments: argparse.Namespace,
    shown: set[str],
    usual: Callable[..., None],
    message: Any,
    *where: Any,
) -> None:
    """Show each warning about data once per command."""
    if isinstance(message, DataWarning):
        said = in_options(str(message), arguments)
        if said not in shown:
            shown.add(said)
            print(f"rankgrove {arguments.verb}: {said}", file=sys.stderr)
    else:
        usual(message, *where)


def _parse(argv: list[str]) -> argparse.Namespace | None:
    verbs = "\n".join(f"  {name:<12} {summary}" for name, summary in VERBS.items())
    parser = HelpParser(
        prog="rankgrove",
        description="Learning to rank with tree ensembles.",
        usage="rankgrove [-h] [--version] VERB ...",
        epilog=f"verbs:\n{verbs}\n\n{EXAMPLES}\n\n{EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"rankgrove {__version__}")
    parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
    given = _parse_args(parser, argv[:1])
    if given.verb is None:
        parser.print_help(sys.stderr)
        return None
    if given.verb not in VERBS:
        near = difflib.get_close_matches(given.verb, VERBS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(VERBS)}"
        parser.error(f"unknown verb {given.verb!r}: {hint}")
    rest = _import_modules(argv[1:], parser)
    return _parse_args(verb_parser(given.verb), rest)


def _parse_args(parser: HelpParser, words: list[str]) -> argparse.Namespace:
    try:
        return parser.parse_args(words)
    finally:
        sys.stdout.flush()  # a help text that cannot be written is an error


def verb_parser(verb: str) -> HelpParser:
    """Return the parser of a verb's options."""
    module = importlib.import_module(f"rankgrove.cli.{verb.replace('-', '_')}")
    parser = HelpParser(
        prog=f"rankgrove {verb}",
        description=(module.__doc__ or "").strip(),
        epilog=f"examples:\n{module.EXAMPLES.rstrip()}",
    )
    module.add_arguments(parser)
    parser.add_argument(
        "--import",
        metavar="MODULE",
        help="first import a Python module that registers metrics or rankers; may be repeated",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=module.run, verb=verb)
    return parser


def _import_modules(argv: list[str], parser: HelpParser) -> list[str]:
    """Import what ``--import`` names before options look names up; return the other arguments."""
    rest, words = [], iter(argv)
    for word in words:
        option, equals, module = word.partition("=")
        if option != "--import":
            rest.append(word)
            continue
        module = module if equals else next(words, "")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            is_file = module.endswith(".py") or "/" in module
            hint = " (give the name of the module, not of its file)" if is_file else ""
            parser.error(f"--import {module}: {import_failure(error)}{hint}")
    return rest


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "a module that was called ended it: " + import_failure(error)
    if isinstance(error, RankgroveError | ValueError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {reason(error)}" if error.filename else reason(error)
    if isinstance(error, OSError) and str(error):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})" if str(error) else "not enough memory"
    return f"{type(error).__name__}: {error} (--debug shows where)"
