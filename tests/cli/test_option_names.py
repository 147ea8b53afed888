"""One option name has one meaning over all verbs."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields

import pytest

from rankgrove.cli.help import HelpParser
from rankgrove.cli.main import VERBS, main, verb_parser
from rankgrove.cli.train import _add_ranker_options
from rankgrove.data.reading.options import LoadArguments
from rankgrove.experiments.study_options import StudyOptions
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.registry import ranker_class, ranker_names

# What --out writes differs by verb; the help text says what.
BY_VERB = ("--out",)


def parsers():
    """Yield (verb, parser) of all verbs; `train` has one parser per ranker."""
    for verb in VERBS:
        if verb != "train":
            yield verb, verb_parser(verb)
    for ranker in ranker_names():
        parser = HelpParser(prog="train")
        _add_ranker_options(parser, ranker)
        yield f"train {ranker}", parser


def meaning(action):
    """What an option does, apart from its default and (of --out) what is written."""
    help = re.sub(r" \(default: .*\)$", "", action.help or "")
    if set(action.option_strings) & set(BY_VERB):
        return action.dest
    read = getattr(action.type, "__name__", None)
    return (action.dest, help, read, action.nargs, action.metavar, type(action).__name__)


def test_an_option_name_has_one_meaning_over_all_verbs():
    meanings = defaultdict(lambda: defaultdict(list))
    for verb, parser in parsers():
        for action in parser._actions:
            if action.dest.startswith("set_"):
                continue  # a parameter of the ranker, named and explained as in Python
            for option in action.option_strings:
                meanings[option][meaning(action)].append(verb)
    different = {option: dict(found) for option, found in meanings.items() if len(found) > 1}
    assert different == {}


def test_options_with_one_meaning_have_one_name():
    names = defaultdict(set)
    for _, parser in parsers():
        for action in parser._actions:
            for option in action.option_strings:
                if option.startswith("--") and not option.startswith("--no-"):
                    names[action.dest].add(option)
    assert {dest: found for dest, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("train mart d.txt --out m.rg --random-state 1", "did you mean --seed?"),
        (
            "train lambdamart:n_estimators=5,learning_rate=0.1 d.txt --out m.rg",
            "parameters are options here: lambdamart --n-estimators 5 --learning-rate 0.1",
        ),
        (
            "train StochasticRank:metric=dcg d.txt --out m.rg",
            "parameters are options here: StochasticRank --train-metric dcg",
        ),
        ("train mart d.txt --out m.rg --bagging-seed 1", "did you mean --seed?"),
        ("train mart d.txt --out m.rg --metrics map", "did you mean --metric?"),
        ("train mart d.txt --out m.rg --jobs 2", "did you mean --n-jobs?"),
        ("train mart d.txt --out m.rg --num-leaves 7", "did you mean --max-leaf-nodes?"),
        ("train mart d.txt --out m.rg --l2-regularization 7", "did you mean --l2?"),
        ("train mart d.txt --out m.rg --max-iter 7", "did you mean --n-estimators?"),
        ("train lambdamart d.txt --out m.rg --label-gain 0,1", "did you mean --gain?"),
        ("train mart d.txt --out m.rg --n-iter-no-change 7", "did you mean --early-stopping-roun"),
        ("train mart d.txt --out m.rg --tree depthwise", "did you mean 'levelwise'?"),
        (
            "train mart d.txt --out m.rg --interaction-constraints a,b",
            "did you mean --interactions?",
        ),
        ("train rank:pairwise d.txt --out m.rg", "did you mean 'pairlogit'?"),
        ("train mart d.txt --out m.rg --lambda-l1 7", "did you mean --l1?"),
        ("train mart d.txt --out m.rg --eval-at 7", "did you mean --metric?"),
        ("compare d.txt --test t", "did you mean --significance-test?"),
        ("compare d.txt --ranker mart plrank rf", "'plrank': repeat --ranker for each value"),
        ("compare d.txt --jobs 2", "did you mean --workers?"),
        ("compare d.txt --data-format csv", "did you mean --format?"),
        ("report r --test t", "did you mean --significance-test?"),
        ("demo --rankers mart", "did you mean --ranker?"),
        ("explain m.rg d.csv --query-column q", "did you mean --query?"),
        ("explain m.rg d.csv --permutation --repeats 3", "did you mean --shuffles?"),
    ],
)
def test_an_old_or_foreign_name_is_answered_with_ours(words, answer, capsys):
    with pytest.raises(SystemExit) as exit:
        main(words.split())
    assert exit.value.code == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("compare {} --ranker mart --format markdown", "--table-format markdown"),
        ("explain m.rg {} --query 7968 --document @1", "--query-id"),
        ("explain m.rg {} --query 7968", "--query-id 7968"),
    ],
)
def test_a_value_of_an_option_that_has_another_name_now(words, answer, data_file, capsys):
    assert main(words.format(data_file).split()) == 1
    assert answer in capsys.readouterr().err


# Fields of StudyOptions without a flag. Only a study file sets a title; a curve marks no baseline
# and is not cut by early stopping; a search fits settings of one ranker on all data, once per fold.
WITHOUT_FLAG = {
    "compare": {"title"},
    "curve": {"title", "baseline", "early_stopping_rounds", "blend", "naive_twin"},
    "tune": {
        *("title", "baseline", "label_shift", "repeats", "blend", "naive_twin"),
        *("train_share", "best_features", "feature_order"),
    },
}


@pytest.mark.parametrize("verb", WITHOUT_FLAG)
def test_every_study_option_has_a_flag(verb):
    dests = {action.dest for action in verb_parser(verb)._actions if action.option_strings}
    options = {option.name for option in fields(StudyOptions)}
    assert options - dests == WITHOUT_FLAG[verb]


def test_every_reading_option_has_a_flag():
    """Options without a group are arrays and objects, which a command line cannot take."""
    parsers = [verb_parser(verb) for verb in VERBS if verb != "train"]
    dests = {a.dest for parser in parsers for a in parser._actions if a.option_strings}
    grouped = {option.name for option in fields(LoadArguments) if option.metadata["group"]}
    assert grouped - dests == set()


@pytest.mark.parametrize("ranker", ranker_names())
def test_every_parameter_of_a_ranker_has_a_flag(ranker):
    parser = HelpParser(prog="train")
    _add_ranker_options(parser, ranker)
    dests = {action.dest for action in parser._actions if action.option_strings}
    for parameter in parameter_table(ranker_class(ranker)):
        shared = {"random_state": "seed"}.get(parameter.name, parameter.name)
        assert f"set_{parameter.name}" in dests or shared in dests, parameter.name


def test_every_verb_has_examples():
    for verb in VERBS:
        assert f"rankgrove {verb}" in (verb_parser(verb).epilog or ""), verb


def test_an_option_of_several_words_may_be_repeated():
    """As --metric may: the first words would be dropped without a message."""
    for verb, parser in parsers():
        for action in parser._actions:
            if action.option_strings and action.nargs in ("+", "*"):
                found = (verb, action.option_strings[-1], type(action).__name__)
                assert found == (*found[:2], "_ExtendAction")
