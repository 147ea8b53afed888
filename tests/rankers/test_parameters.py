from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.rankers.base.declaration import declared, param, parameter_table, with_default
from rankgrove.rankers.base.parameters import (
    AnyOf,
    Choice,
    Flag,
    Integer,
    Nothing,
    Real,
    Satisfies,
    check_parameters,
    numbers_reader,
)


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Integer(1), [1, np.int64(7)], [0, 1.0, True, "1", None]),
        (Integer(0, 3), [0, 3], [-1, 4]),
        (Real(0, above=True), [1e-9, 1, np.float32(2)], [0, -1, np.inf, np.nan, True, "1"]),
        (Real(0, 1), [0, 1, 0.5], [-0.1, 1.1]),
        (Flag(), [True, np.bool_(False)], [0, 1, "true", None]),
        (Choice("a", "b"), ["a", "b"], ["c", None, 0, np.array(["a"])]),
        (Nothing(), [None], [0, "none"]),
        (AnyOf(Integer(1), Nothing()), [None, 3], [0, "x"]),
        (Satisfies(callable, "a function"), [len], [3]),
    ],
)
def test_what_is_accepted(constraint, good, bad):
    assert all(constraint.accepts(value) for value in good)
    assert not any(constraint.accepts(value) for value in bad)


@pytest.mark.parametrize(
    ("constraint", "text", "value"),
    [
        (Integer(1), "12", 12),
        (Real(), "1e-3", 0.001),
        (Flag(), "False", False),
        (Flag(), "yes", True),
        (Choice("a", "b"), "b", "b"),
        (AnyOf(Nothing(), Integer(1)), "none", None),
        (AnyOf(Integer(1), Real(0, 1)), "0.5", 0.5),
        (AnyOf(Integer(1), Real(0, 1)), "1", 1),
        (Satisfies(lambda v: True, "numbers", numbers_reader), "1,0,-1", [1, 0, -1]),
    ],
)
def test_what_the_command_line_reads(constraint, text, value):
    result = constraint.parse(text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (Integer(1), "1.5"),
        (Real(), "much"),
        (Flag(), "maybe"),
        (Choice("a"), "b"),
        (Nothing(), "0"),
        (AnyOf(Integer(1), Nothing()), "0"),
        (Satisfies(callable, "a function"), "len"),
    ],
)
def test_what_the_command_line_refuses(constraint, text):
    with pytest.raises(ValueError, match=r"."):
        constraint.parse(text)


def test_error_names_owner_parameter_range_and_value():
    table = {"depth": AnyOf(Integer(1), Nothing())}
    with pytest.raises(ValueError, match=r"parameter depth of Tree must be a whole number >= 1 or"):
        check_parameters("Tree", {"depth": 0}, table)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Integer(), "a whole number"),
        (Integer(0, 3), "a whole number x with 0 <= x <= 3"),
        (Real(0, above=True), "a number > 0"),
        (Real(0, 1, above=True), "a number x with 0 < x <= 1"),
        (Real(None, 1), "a number <= 1"),
        (Choice("a", "b", "c"), "'a', 'b' or 'c'"),
    ],
)
def test_words(constraint, words):
    assert constraint.describe() == words


@declared
class Base:
    """A base."""

    rate: float = param(0.1, Real(0), "how fast")


@declared
class Derived(Base):
    """Derived."""

    size: int = param(3, Integer(1), "how big")
    rate: float = with_default(Base, "rate", 0.5)


def test_declared_class_has_init_table_and_documentation():
    assert (Base().rate, Derived().rate, Derived(size=7).size) == (0.1, 0.5, 7)
    assert [(p.name, p.default) for p in parameter_table(Derived)] == [("rate", 0.5), ("size", 3)]
    assert "rate : a number >= 0, default=0.5\n    how fast" in Derived.__doc__
    assert set(Derived._constraints) == {"rate", "size"}
    with pytest.raises(TypeError):
        Derived(5)


def test_misspelt_parameters_are_told():
    with pytest.raises(TypeError, match="MART has no parameter 'n_estimator': did you mean 'n_est"):
        rankgrove.MART(n_estimator=5)
    with pytest.raises(TypeError, match="'xyz'"):
        rankgrove.MART(xyz=5)


def test_subclasses_have_parameters_of_their_own():
    class Own(rankgrove.MART):
        def __init__(self, n_estimator=5):
            super().__init__(n_estimators=n_estimator)

    assert Own(n_estimator=3).n_estimators == 3
