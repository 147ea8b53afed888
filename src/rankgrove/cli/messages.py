"""Error messages of the library in the words of the command line."""

from __future__ import annotations

import argparse
import re
from pathlib import PurePath

# What is written in Python, followed by what is written here: "label= (--label on the command
# line)", "rankgrove.kfold (rankgrove split on the command line)".
_PYTHON = r"(?:\w+=(?:\[[^]]*\]|'[^']*'|\w*)|rankgrove\.\w+)"
_BOTH = re.compile(_PYTHON + r" \(((?:--|rankgrove )[^)]+?)(?: on the command line)?\)")
_HINT = re.compile(r"(--[\w-]+(?: [^)]*?)?) on the command line")
_PARAMETER = re.compile(r"parameter (\w+)(?: of \w+)?\b")
# (Not those of a metric or a ranker: "ndcg@10(gain=linear)", "mart:subsample=0.5,n_jobs=1".)
_ARGUMENT = re.compile(r"(?<!\w\()(?<![,:])\b(\w+)=('[^']*'|\['[^]]*'\]|[\w.]*\w)")
_BARE_ARGUMENT = re.compile(r"\b(\w+)=(?![\w'\"\[({])")
_NAME = re.compile(r"(?<!['\w=])[a-z]+(?:_[a-z]+)+\b(?!')")
_LIKE = " (like=)"  # the model, in Python
_METHOD = re.compile(r"^fit: ")
_SET = re.compile(r"\beval_set '(valid|test)'")
_DATA_OF_SETS = {"valid": "validation data", "test": "test data"}  # in a verb without the option
# What a user named: text in quotes, and paths. (The mark of a number stands for it meanwhile.)
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w)")
_PATH = re.compile(r"[^\s'\ue000\ue001]*/[^\s'\ue000\ue001]*")
_MARK = re.compile("\ue000(\\d+)\ue001")

# Arguments in Python, and the ``dest`` of the options that are called otherwise.
_OTHER_NAMES = {
    "random_state": "seed",
    "n_trials": "trials",
    "sample_weight": "weight",
    "eval_set": "valid",
    "eval_metric": "metrics",
}


def in_options(message: str, arguments: argparse.Namespace) -> str:
    """Name options instead of Python's arguments, as far as the verb has them.

    ``parameter subsample of MART must be ...`` becomes ``--subsample must be ...``. Names in quotes
    stay as they are: they are columns, or keys of a file.
    """
    options = _options(arguments)

    def parameter(match: re.Match[str]) -> str:
        return options.get(match[1], match[0])

    def argument(match: re.Match[str]) -> str:
        if match[1] not in options:
            return match[0]
        values = re.findall(r"'([^']*)'", match[2]) or [match[2]]
        return " ".join([options[match[1]], *values])

    def name(match: re.Match[str]) -> str:
        return options.get(match[0], match[0])

    def bare(match: re.Match[str]) -> str:
        return options.get(match[1], match[0])

    def evaluation_set(match: re.Match[str]) -> str:
        return f"--{match[1]}" if match[1] in arguments else _DATA_OF_SETS[match[1]]

    message = _SET.sub(evaluation_set, _METHOD.sub("", message.replace(_LIKE, "")))
    message, kept = _without_names(message, arguments)
    message = _HINT.sub(r"\1", _BOTH.sub(r"\1", message))
    message = _ARGUMENT.sub(argument, _PARAMETER.sub(parameter, message))
    message = _NAME.sub(name, _BARE_ARGUMENT.sub(bare, message))
    while _MARK.search(message):  # a quoted text may hold a path
        message = _MARK.sub(lambda mark: kept[int(mark[1])], message)
    return message


def _without_names(message: str, arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Replace what the user named, such as the folder label=1/, by marks; return it, too."""
    kept: list[str] = []
    message = message.replace("\ue000", "\ufffd")  # of the user: it would be taken for a mark

    def mark(text: str) -> str:
        kept.append(text)
        return f"\ue000{len(kept) - 1}\ue001"

    for value in vars(arguments).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, (str, PurePath)) and "=" in str(one):
                message = message.replace(str(one), mark(str(one)))
    message = _QUOTED.sub(lambda quoted: f"'{mark(quoted[1])}'", message)
    return _PATH.sub(lambda path: mark(path[0]), message), kept


def _options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the option of each argument in Python that the verb has.

    A verb whose options are not called like the arguments says so in ``option_names``. What a study
    file may hold is an option only if it was given as one.
    """
    options = {}
    in_file = getattr(arguments, "study", None) is not None
    for dest, value in vars(arguments).items():
        if in_file and value is None:
            continue
        name = dest.removeprefix("set_")
        option = "train-metric" if dest == "set_metric" else name.replace("_", "-")
        options[name] = f"--{option}"
    for name, dest in _OTHER_NAMES.items():
        if dest in options:
            options[name] = "--metric" if dest == "metrics" else f"--{dest}"
    for positional in ("data", "model", "results", "kind", "ranker", "verb", "run", "metrics"):
        options.pop(positional, None)
    return {**options, **getattr(arguments, "option_names", {})}
