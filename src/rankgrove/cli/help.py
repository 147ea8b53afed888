"""Help texts: laid out by argparse, coloured on a terminal."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from typing import IO, Any

_HEADING = re.compile(r"^[a-z][a-z ]*:", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


class HelpParser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and knows colour."""

    def __init__(self, **options: Any):
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options
        )
        # Values that begin with a minus are no options: -1, and lists of numbers such as -1,0,1.
        self._negative_number_matcher = re.compile(r"-[\d.][\d.,eE+-]*$")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and help with an option that is misspelt."""
        parsed, unknown = super().parse_known_args(args, namespace)
        for text in unknown:
            option = text.partition("=")[0]
            meant = self._meant(option) if option.startswith("--") else None
            if meant is not None:
                self.error(f"unknown option {option}: did you mean {meant}?")
        return parsed, unknown

    def _meant(self, option: str) -> str | None:
        """Return the option that other libraries call so, or one with nearly this name."""
        from rankgrove.rankers.base.wording import PARAMETERS_ELSEWHERE

        parameter = PARAMETERS_ELSEWHERE.get(option[2:].replace("-", "_"), "")
        meant = "--" + parameter.replace("_", "-")
        if meant in self._option_string_actions:
            return meant
        near = difflib.get_close_matches(option, self._option_string_actions, n=1)
        return near[0] if near else None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Help with a choice that is misspelt."""
        if isinstance(value, str) and action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(value, action.choices, n=1)
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
