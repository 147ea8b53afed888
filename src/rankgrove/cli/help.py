"""Argument parser of the command line: help texts, and answers to unknown options."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from typing import IO, Any, NoReturn

# Names that people try -> the options of that meaning, of which a verb has one.
_OTHER_NAMES = {
    "--random-state": ("--seed",),
    "--metrics": ("--metric",),
    "--eval-metric": ("--metric",),
    "--eval-at": ("--metric",),
    "--rankers": ("--ranker",),
    "--jobs": ("--workers", "--n-jobs"),
    "--threads": ("--n-jobs",),
    "--n-repeats": ("--repeats", "--shuffles"),
    "--repeats": ("--shuffles",),
    "--query-column": ("--query",),
    "--qid": ("--query",),
    "--data-format": ("--format",),
    "--test": ("--significance-test",),
    "--validation": ("--valid",),
    "--eval-set": ("--valid",),
    "--early-stopping": ("--early-stopping-rounds",),
    "--early-stopping-round": ("--early-stopping-rounds",),
    "--n-iter-no-change": ("--early-stopping-rounds",),
    "--od-wait": ("--early-stopping-rounds",),
    "--output": ("--out",),
}
_HEADING = re.compile(r"^[a-z][a-z ]*:", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def option_of(name: str) -> str:
    """Return the option of a ranker's parameter; --metric is the reported metric of any ranker."""
    return "--train-metric" if name == "metric" else f"--{name.replace('_', '-')}"


class HelpParser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and colours them on a terminal."""

    def __init__(self, **options: Any):
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options
        )
        self.color = False  # (Python 3.14 has colours of its own)
        # Values that begin with a minus are no options: -1, and lists of numbers such as -1,0,1.
        self._negative_number_matcher = re.compile(r"-[\d.][\d.,eE+-]*$")

    def error(self, message: str) -> NoReturn:
        """Print what must be given, and the message; `--help` lists the options."""
        required = [action for action in self._actions if action.required]
        usage = self._get_formatter()
        usage.add_usage(self.usage, required, [])
        options = "" if self.usage else " [options]"
        self.exit(2, f"{usage.format_help().rstrip()}{options}\n{self.prog}: error: {message}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and help with an option that is misspelt or named as in other libraries."""
        words = sys.argv[1:] if args is None else list(args)
        parsed, unknown = super().parse_known_args(words, namespace)
        for text in unknown:
            self._refuse_second_value(words, text)
            option = text.partition("=")[0]
            hint = self._hint(option) if option.startswith("--") else None
            if hint is not None:
                self.error(f"unknown option {option}: {hint}")
        return parsed, unknown

    def _refuse_second_value(self, words: list[str], text: str) -> None:
        """Help with ``--ranker mart lambdamart``, where the option takes one value each time."""
        option = words[words.index(text) - 2] if text in words[2:] else ""
        if self._repeats(option) and not text.startswith("-"):
            self.error(f"unexpected {text!r}: repeat {option} for each value ({option} {text})")

    def _repeats(self, option: str) -> bool:
        """Return whether repetitions of an option accumulate their values."""
        repeated = {a.dest for a in self._actions if isinstance(a, argparse._AppendAction)}
        found = self._option_string_actions.get(option)
        return found is not None and found.dest in repeated

    def _hint(self, option: str) -> str | None:
        """Return advice on an unknown option, if there is any."""
        from rankgrove.rankers.base.wording import ADVICE, PARAMETERS_ELSEWHERE

        known = self._option_string_actions
        name = option[2:].replace("-", "_")
        parameter = PARAMETERS_ELSEWHERE.get(name, "")
        for meant in (*_OTHER_NAMES.get(option, ()), "--" + parameter.replace("_", "-")):
            if meant in known:
                return f"did you mean {meant}?"
        if parameter == "random_state" and "--seed" in known:
            return "did you mean --seed?"
        if name in ADVICE:
            return ADVICE[name]
        near = difflib.get_close_matches(option, known, n=1, cutoff=0.75)
        return f"did you mean {near[0]}?" if near else None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Help with a choice that is misspelt, or another library's name of a loss."""
        from rankgrove.rankers.base.wording import meant_ranker

        if isinstance(value, str) and action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(value, action.choices, n=1)
            meant = meant_ranker(value, ())
            near = [meant] if meant in action.choices else near
            if os.path.exists(value):
                raise argparse.ArgumentError(
                    action, f"{value!r} is a file, but {action.metavar or action.dest} comes first"
                )
            head, colon, params = value.partition(":")
            if colon and head in action.choices:
                options = " ".join(
                    f"{option_of(name.strip())} {given}"
                    for name, _, given in (param.partition("=") for param in params.split(","))
                )
                raise argparse.ArgumentError(
                    action, f"{value!r}: parameters are options here: {head} {options}"
                )
            if near:
                raise argparse.ArgumentError(
                    action, f"unknown choice {value!r}: did you mean {near[0]!r}?"
                )
        super()._check_value(action, value)

    def print_help(self, file: Any = None) -> None:
        """Print the help text."""
        stream: IO[str] = sys.stdout if file is None else file
        text = self.format_help()
        if stream.isatty() and "NO_COLOR" not in os.environ:
            text = _HEADING.sub("\033[1;36m\\g<0>\033[0m", text)
            text = _OPTION.sub("\033[32m\\g<0>\033[0m", text)
        stream.write(text)
