"""One declaration of each option of reading, from which all that read follow."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import dataclass, fields

import pytest

import rankgrove
from rankgrove.cli import options as cli_options
from rankgrove.data.reading import arrays, arrow, csv, letor, npz
from rankgrove.data.reading.options import (
    FOR_READERS,
    LoadArguments,
    LoadOptions,
    ScanArguments,
    _option,
    choices_of,
    takes_options,
)
from rankgrove.distributed.partitions import READING_OPTIONS

READERS = (arrays, arrow, csv, letor, npz)
FUNCTIONS = [(rankgrove.load, LoadArguments), (rankgrove.scan, ScanArguments)]


@pytest.mark.parametrize(("function", "declaration"), FUNCTIONS)
def test_signature_and_docstring_are_those_of_the_declaration(function, declaration):
    first, *others = inspect.signature(function).parameters.values()
    assert first.name == "source"
    assert {p.name: p.default for p in others} == {f.name: f.default for f in fields(declaration)}
    for option in fields(declaration):
        assert f"\n{option.name} : " in function.__doc__


@pytest.mark.parametrize(("function", "declaration"), FUNCTIONS)
def test_an_unknown_option_is_refused_by_the_name_of_the_function(function, declaration):
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected .*'lable'"):
        function("train.txt", lable="y")


def test_the_source_may_be_given_by_name(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    assert rankgrove.load(source=path).n_rows == rankgrove.scan(source=path).n_rows == 2


@pytest.mark.parametrize("type", [bool, bool | None])
def test_a_truth_on_the_command_line_is_a_flag(type):
    parser = argparse.ArgumentParser()
    parser.add_argument("--flag", **cli_options._argument_of(type, choices_of(type)))
    given = [parser.parse_args(words).flag for words in ([], ["--flag"], ["--no-flag"])]
    assert given == [None, True, False]


def test_every_option_of_readers_is_accepted_by_one():
    accepted = frozenset().union(*(reader.ACCEPTS for reader in READERS))
    assert accepted == FOR_READERS


def test_the_command_line_offers_and_hands_over_every_option_of_a_group():
    parser = argparse.ArgumentParser()
    cli_options.add_training_options(parser)
    values = {"first_feature": 1, "n_features": 5, "features": ["a", "b"], "ignore": ["c"]}
    values |= {
        "categorical": ["d"],
        "absent": "missing",
        "negative_labels": "drop",
        "shared_queries": "apart",
        "columns": ["e", "f"],
        "header": False,
    }
    words, expected = [], {}
    for option in fields(LoadArguments):
        if option.metadata["group"]:
            value = values.get(option.name, "name")
            flag = option.name.replace("_", "-")
            given = value if isinstance(value, list) else [value]
            is_flag = isinstance(value, bool)
            words += [f"--no-{flag}"] if is_flag else [f"--{flag}", *map(str, given)]
            expected[option.name] = value
    assert cli_options.reading_options(parser.parse_args(words)) == expected
    assert cli_options.reading_options(parser.parse_args([])) == {}
    LoadOptions(**expected)


def test_options_of_a_cluster_are_options_of_load():
    assert set(READING_OPTIONS) < {option.name for option in fields(LoadArguments)}


def test_a_new_option_is_one_field():
    @dataclass(frozen=True)
    class Wider(ScanArguments):
        colour: str | None = _option(None, "colour of the documents", "table")

    @takes_options(Wider)
    def read(source, **options):
        """Read.

        OPTIONS
        """
        return options

    assert read("a", colour="red") == {"colour": "red"}
    assert "colour : colour of the documents" in read.__doc__


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"absent": "none"}, "absent must be one of 'zero', 'missing', not 'none'"),
        ({"shared_queries": "both"}, "shared_queries must be one of 'error', 'merge', 'apart'"),
        ({"first_feature": 2}, "first_feature must be one of 0, 1, not 2"),
        ({"n_features": -1}, "n_features must be between 0 and 10000000, not -1"),
        ({"n_features": 1.5}, r"n_features must be a whole number, not 1\.5"),
        ({"comments": "no"}, "comments must be one of True, False, not 'no'"),
    ],
)
def test_values_are_checked_by_the_declared_type(wrong, message):
    with pytest.raises(ValueError, match=message):
        LoadOptions(**wrong)
